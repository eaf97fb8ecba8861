#!/usr/bin/env python3
"""Deletes each barrier, wait and commit of kvc's GPU kernels, one at a time, and
looks whether the emulator notices.

A mutant is a kernel without one statement that orders memory. It is caught if a
run of it ends with a report, or with a wrong result. A mutant that survives means
that a check is too weak, or that the statement is not needed.

  tools/mutate-kernels.py                 all mutants
  tools/mutate-kernels.py --sample=10     some of them, spread evenly
  tools/mutate-kernels.py --markdown      the table of docs/Testing.md
"""

import argparse
import collections
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parents[1]

#: Statements that order memory, by the name that the table gives them.
STATEMENTS = {
    "bar.sync": r"\bbar(rier)?(\.cta)?\.(sync|arrive|red)\b",
    "barrier.cluster": r"\bbarrier\.cluster\.(arrive|wait)\b",
    "bar.warp.sync": r"\bbar\.warp\.sync\b",
    "fence": r"\b(fence|membar)\.",
    "cp.async.commit_group": r"\bcp\.async\.commit_group\b",
    "cp.async.wait_group": r"\bcp\.async\.wait_(group|all)\b",
}

#: What each mutant runs on until it is caught: lengths of the sequences, new tokens of
#: each, options of the emulator. Short and long sequences, more of them than blocks, a
#: part of a tile, a window over the end of an item; one new token is decode, more are
#: prefill.
MANY = ",".join(str(1 + 37 * i % 131) for i in range(24))
RUNS = (
    ("1,17,300", "1", "copies=lazy"),
    (MANY, "1", "copies=lazy,processors=1"),
    ("2600,64,129", "1", "copies=random,seed=5"),
    ("1,37,256", "1,20,70", "copies=lazy"),
    ("131,9,64,70,5,33", "70,9,1,64,5,2", "copies=lazy,processors=1"),
    ("2500,64,129", "9,64,1", "copies=random,seed=5"),
    # Narrow heads have larger tiles, and more blocks that run at once.
    ("700,900,1300,2500,640", "1", "copies=lazy,processors=1"),
    (
        ",".join(str(40 + 37 * i % 131) for i in range(60)),
        ",".join(str(2 + 7 * i % 38) for i in range(60)),
        "copies=lazy,processors=1",
    ),
)


@dataclass(frozen=True)
class Variant:
    """One attention kernel, as the compiler specialises it."""

    dtype: str
    width: int
    kv_heads: int
    group: int
    features: bool  # window, softcap, sinks, log-sum-exp

    def __str__(self):
        features = ", window, softcap, sinks, lse" if self.features else ""
        return f"{self.dtype} x {self.width}, group {self.group}{features}"

    @property
    def text(self):
        heads = self.kv_heads * self.group
        rows = f"tensor<?x{heads}x{self.width}x{self.dtype}>"
        new = f"tensor<?x{self.kv_heads}x{self.width}x{self.dtype}>"
        component = f"{self.kv_heads}x{self.width}x{self.dtype}"
        lse = f", tensor<?x{heads}xf32>" if self.features else ""
        score = "[#kvc.causal, #kvc.window<100>, #kvc.softcap<30.0>]" if self.features else (
            "[#kvc.causal]"
        )
        sinks = f" sinks(%sinks : tensor<{heads}xf32>)" if self.features else ""
        sinks_input = f", %sinks: tensor<{heads}xf32>" if self.features else ""
        outputs = "%o, %lse" if self.features else "%o"
        return f"""\
!cache = !kvc.cache<page = 16, k: {component}, v: {component}>
func.func @attend(%q: {rows}, %k: {new}, %v: {new}, %cache: !cache,
                  %batch: !kvc.batch{sinks_input}) -> ({rows}{lse}) {{
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, {new}, {new}
  {outputs} = kvc.attention %cache at %batch terms(%q * k) value(v){sinks}
      score {score} {{scale = {self.width**-0.5:.9e} : f32}}
      : !cache, {rows} -> {rows}{lse}
  return {outputs} : {rows}{lse}
}}
"""


VARIANTS = [
    Variant(dtype, width, 2, group, features)
    for dtype, width, (group, features) in itertools.product(
        ("bf16", "f16"), (64, 128), ((4, False), (8, True), (24, False))
    )
]


@dataclass(frozen=True)
class Mutant:
    """A variant without the statement at one line of its PTX."""

    variant: Variant
    kernel: str
    line: int
    name: str


class Runner:
    """Compiles and runs variants with the programs of a build."""

    def __init__(self, build, folder):
        self.build = pathlib.Path(build)
        self.folder = pathlib.Path(folder)

    def path(self, variant):
        path = self.folder / (re.sub(r"\W+", "-", str(variant)) + ".mlir")
        if not path.exists():
            path.write_text(variant.text)
        return path

    def mutants(self, variant):
        """Returns the mutants of a variant, in the order of its text."""
        command = [self.build / "bin/kvc-translate", "--kvc-to-ptx", self.path(variant)]
        ptx = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        found, kernel = [], None
        for line, text in enumerate(ptx.splitlines(), 1):
            entry = re.search(r"\.entry\s+(\w+)", text)
            kernel = entry.group(1) if entry else kernel
            for name, pattern in STATEMENTS.items():
                if re.search(pattern, text.split("//")[0]):
                    found.append(Mutant(variant, kernel, line, name))
        return found

    def run(self, variant, lengths, query_lens, options):
        """Returns None if a run is right, else what the emulator said."""
        command = [
            *(self.build / "bin/kvc-run", self.path(variant), "--device=emulator"),
            *("--verify", f"--lengths={lengths}", f"--query-lens={query_lens}"),
        ]
        done = subprocess.run(
            command,
            env={**os.environ, "KVC_EMULATOR": f"{options},max-instructions=20000000"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode == 0:
            return None
        report = re.search(r"error: ([a-z ]+): ", done.stdout)
        if report:
            return report.group(1)
        if "FAIL" in done.stdout:
            return "wrong result"
        raise RuntimeError(f"unexpected end of {command}:\n{done.stdout}")

    def catch(self, mutant):
        """Returns what the first run that notices the mutant said; None if none."""
        for lengths, query_lens, options in RUNS:
            said = self.run(mutant.variant, lengths, query_lens, f"{options},omit={mutant.line}")
            if said:
                return said
        return None


def print_table(results, markdown):
    """Prints, for each kind of statement, how many mutants were caught and how."""
    rows = [("statement", "mutants", "caught", "noticed as")]
    for name in STATEMENTS:
        said = [how for mutant, how in results if mutant.name == name]
        if not said:
            continue
        counts = collections.Counter(how for how in said if how)
        noticed = ", ".join(f"{how} ({count})" for how, count in counts.most_common())
        rows.append((name, str(len(said)), str(sum(map(bool, said))), noticed))
    caught = sum(1 for _, how in results if how)
    rows.append(("all", str(len(results)), str(caught), ""))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for number, row in enumerate(rows):
        if markdown:
            print("| " + " | ".join(row) + " |")
            if number == 0:
                print("| --- | ---: | ---: | --- |")
        else:
            cells = [row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])]
            print("  ".join(cells + [row[3]]).rstrip())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default=ROOT / "build", help="build folder (default: build)")
    parser.add_argument("--sample", type=int, help="run only so many mutants, spread evenly")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.build, folder)
        mutants = [m for variant in VARIANTS for m in runner.mutants(variant)]
        total = len(mutants)
        if options.sample and options.sample < total:
            # One further each time, so that not all are the same statement.
            mutants = [
                mutants[(i * total // options.sample + i) % total]
                for i in range(options.sample)
            ]
        used = sorted({m.variant for m in mutants}, key=VARIANTS.index)
        for variant in used:
            for run in RUNS:
                said = runner.run(variant, *run)
                if said:
                    sys.exit(f"error: {variant}: the kernel itself is not right: {said}")
        results = []
        for number, mutant in enumerate(mutants, 1):
            said = runner.catch(mutant)
            results.append((mutant, said))
            print(
                f"[{number}/{len(mutants)}] {mutant.variant}: line {mutant.line}, "
                f"{mutant.name}: {said or 'SURVIVES'}",
                file=sys.stderr,
                flush=True,
            )
    print_table(results, options.markdown)
    survivors = [mutant for mutant, said in results if not said]
    for mutant in survivors:
        print(f"survives: {mutant.variant}: {mutant.kernel}, line {mutant.line}, {mutant.name}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
