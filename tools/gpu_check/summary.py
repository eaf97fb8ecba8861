"""The tables at the end of a run."""

from collections import defaultdict

from gpu_check.report import table

_MOST_EXAMPLES = 40


def describe(results):
    """Returns the lines of the summary, and whether all is well."""
    lines, is_good = [], True
    about = results.get("about", {})
    lines.append(
        f"{about.get('device', results['device'])}, driver {about.get('driver', '?')}, "
        f"{results['date']}, commit {results['commit'][:12]}, {results['seconds']} s"
    )
    for name, describe_stage in (
        ("probes", _describe_probes),
        ("kernels", _describe_kernels),
        ("timing", _describe_timing),
    ):
        if name not in results:
            continue
        stage = results[name]
        lines += ["", f"== {name}"]
        if "failed" in stage:
            lines.append(f"FAIL: {stage['failed']}")
            is_good = False
            continue
        if "cut" in stage:
            lines.append(f"FAIL: {stage['cut']}; until then:")
            is_good = False
        more, stage_is_good = describe_stage(stage)
        lines += more
        is_good = is_good and stage_is_good
    lines += ["", "PASS" if is_good else "FAIL"]
    return lines, is_good


def _describe_probes(stage):
    columns = ("equal", "within bounds", "differs", "failed", "left out")
    families = defaultdict(lambda: dict.fromkeys(columns, 0))
    verdicts = stage["verdicts"]
    for verdict in verdicts:
        families[verdict["opcodes"][0].split(".")[0]][verdict["status"]] += 1
    rows = [
        [name, sum(f.values()), *(f[c] for c in columns)] for name, f in sorted(families.items())
    ]
    total = [sum(row[i] for row in rows) for i in range(1, 7)]
    lines = table(["instruction", "probes", "same bits", *columns[1:]], rows + [["all", *total]])
    approximations = [v for v in verdicts if "max_error" in v]
    if approximations:
        lines += [
            "",
            "Approximations: results by their distance in ulps, and the largest error as a",
        ]
        lines += ["share of what PTX allows:"]
        header = ["instruction", "0", "1", "2", "to 4", "to 8", "to 16", "more", "max ulp"]
        lines += table(
            [*header, "device", "emulator"],
            [
                [v["name"], *v["ulps"], v["max_ulp"], *(f"{e:.2f}" for e in v["max_error"])]
                for v in approximations
            ],
        )
    bad = [v for v in verdicts if v["status"] in ("differs", "failed")]
    for verdict in bad[:_MOST_EXAMPLES]:
        share = f"{verdict['different']} of {verdict['compared']}: " if verdict["different"] else ""
        lines.append(f"{verdict['status']}: {verdict['name']}: {share}{verdict['text']}")
    if len(bad) > _MOST_EXAMPLES:
        lines.append(f"and {len(bad) - _MOST_EXAMPLES} more")
    lines += [f"no probe: {opcode}" for opcode in stage["without_probe"]]
    emitted = len(stage["emitted"])
    lines.append(f"{emitted - len(stage['without_probe'])} of kvc's {emitted} opcodes have a probe")
    return lines, not bad and not stage["without_probe"]


def _describe_kernels(stage):
    rows = stage["rows"]
    untried = {row["program"] for row in rows}
    untried -= {row["program"] for row in rows if row["status"] == "pass"}
    lines = table(
        ["family", "program", "kv lengths / new tokens", "row error", "emulator", "status"],
        [
            [r["family"], r["program"], r["batch"], f"{r['error']:.1e}", r["emulator"], r["status"]]
            for r in sorted(rows, key=lambda row: (row["family"], row["program"]))
        ],
    )
    bad = [row for row in rows if row["status"] == "fail"]
    lines += [f"fail: {r['program']} {r['batch']}: {r['text']}" for r in bad]
    passed = sum(row["status"] == "pass" for row in rows)
    left_out = len(rows) - passed - len(bad)
    lines.append(f"{passed} batches pass, {len(bad)} fail, {left_out} left out")
    lines += [f"no batch of {program} passes" for program in sorted(untried)]
    return lines, not bad and not untried


#: What is worth knowing of the rows of each table.
_RATES = {"decode": ("GB/s", "of copy"), "codes": ("GB/s", "of copy"), "prefill": ("TFLOP/s",),
          "MLA": ("GB/s", "of copy", "TFLOP/s")}  # fmt: skip


def _timing_table(name, rows):
    """Returns a table; of each peer its time, and in brackets that over kvc's."""
    peers = sorted({peer for row in rows for peer in row["peers"]})
    header = ["program", "batch", "length", "KV MB", "ms", "spread", *_RATES[name]]
    lines = []
    for r in rows:
        rates = {"GB/s": f"{r['rate']:.0f}", "of copy": f"{r['share']:.2f}",
                 "TFLOP/s": f"{r['teraflops']:.1f}"}  # fmt: skip
        line = [r["program"], r["batch"], r["length"], f"{r['megabytes']:.1f}"]
        line += [f"{r['time']:.4f}", f"{100 * r['spread']:.0f}%", *(rates[n] for n in _RATES[name])]
        for peer in peers:
            time = r["peers"].get(peer)
            line += ["-", "-"] if time is None else [f"{time:.4f}", f"{time / r['time']:.2f}"]
        lines.append(line)
    header += [text for peer in peers for text in (f"{peer} ms", "/ kvc")]
    return ["", f"-- {name}", *table(header, lines)]


def _describe_timing(stage):
    lines = [f"{name}: {rate:.0f}" for name, rate in stage["rates"].items()]
    loads = sorted(stage["load_ms"].values())
    if loads:
        lines.append(f"loading a program: {loads[0]:.0f} to {loads[-1]:.0f} ms")
    versions = ", ".join(f"{name} {version}" for name, version in stage["peers"].items())
    lines.append(f"beside kvc: {versions or 'nothing'}")
    for name in _RATES:
        rows = [row for row in stage["rows"] if row["table"] == name]
        lines += _timing_table(name, rows) if rows else []
    lines += [f"left out: {text}" for text in stage["left_out"]]
    lines += [f"fail: {text}" for text in stage["not_timed"]]
    return lines, bool(stage["rows"]) and not stage["not_timed"]


def write_page(path, lines):
    """Writes the summary as a page that can stay in docs."""
    path.write_text("\n".join([f"# {lines[0]}", "", "```", *lines[1:], "```", ""]))
