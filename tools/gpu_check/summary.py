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


def _lengths(lengths):
    text = ",".join(map(str, lengths)) or "none"
    return text if len(text) <= 40 else text[:36] + " ..."


def _describe_kernels(stage):
    rows = sorted(stage["rows"], key=lambda row: row["program"])
    untried = {row["program"] for row in rows}
    untried -= {row["program"] for row in rows if row["status"] == "pass"}
    lines = table(
        ["program", "kv lengths", "row error", "emulator", "status"],
        [
            [r["program"], _lengths(r["lengths"]), f"{r['error']:.1e}", r["emulator"], r["status"]]
            for r in rows
        ],
    )
    bad = [row for row in rows if row["status"] == "fail"]
    lines += [f"fail: {r['program']} {_lengths(r['lengths'])}: {r['text']}" for r in bad]
    passed = sum(row["status"] == "pass" for row in rows)
    left_out = len(rows) - passed - len(bad)
    lines.append(f"{passed} batches pass, {len(bad)} fail, {left_out} left out")
    lines += [f"no batch of {program} passes" for program in sorted(untried)]
    return lines, not bad and not untried


def _describe_timing(stage):
    lines = [
        f"copy by {name}: {rate:.0f} GB/s, read and written"
        for name, rate in stage["copy_GB_per_s"].items()
    ]
    loads = sorted(stage["load_ms"].values())
    if loads:
        lines.append(f"loading a program: {loads[0]:.0f} to {loads[-1]:.0f} ms")
    version = stage["torch"]
    lines += [f"PyTorch {version}" if version else "PyTorch: none", ""]
    header = ["program", "batch", "length", "KV MB", "ms", "spread", "GB/s", "of copy"]
    rows = []
    for r in stage["decode"]:
        row = [r["program"], r["batch"], r["length"], f"{r['megabytes']:.1f}", f"{r['time']:.4f}"]
        row += [f"{100 * r['spread']:.0f}%", f"{r['rate']:.0f}", f"{r['share']:.2f}"]
        if version:
            has_peer = r["peer_time"] is not None
            row += [f"{r['peer_time']:.4f}" if has_peer else "-", r["peer"] or "none"]
            row += [f"{r['ratio']:.2f}" if has_peer else "-"]
        rows.append(row)
    header += ["SDPA ms", "by", "SDPA / kvc"] if version else []
    lines += table(header, rows)
    lines += [f"left out: {text}" for text in stage["left_out"]]
    lines += [f"fail: {text}" for text in stage["not_timed"]]
    return lines, bool(rows) and not stage["not_timed"]
