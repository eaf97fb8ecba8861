#!/usr/bin/env python3
"""Asks the compiler which combinations it takes, and how, and prints docs/Coverage.md.

  tools/coverage-table.py             print the page
  tools/coverage-table.py --write     update docs/Coverage.md
  tools/coverage-table.py --check     say how docs/Coverage.md differs, if it does

Takes the kvc-opt and the Python package of a build, and runs the GPU's kernels on its
emulator.
"""

import argparse
import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "Coverage.md"

TITLES = {"definition": "Definition", "cpu": "CPU", "gpu": "GPU"}
INTRODUCTION = """\
<!-- Made by tools/coverage-table.py, which asks the compiler; 'tools/coverage-table.py --write' makes it anew. -->
# What is covered

Each cell is what the compiler says to one combination: decode / prefill, for caches, queries and outputs of one element
type, unless the row says otherwise. Rows differ from 8 query heads over 2 KV heads of width 128, causal, with pages of 16
tokens in kvc's pool, in what they name.

| cell | definition | CPU (`avx512_bf16`) | GPU |
| --- | --- | --- | --- |
| fast | | kernels over packed pages | a form of `#kvc.gpu_stream` made for the phase |
| generic | loops | kernels over row-major pages | the form `columns`, or what a remark names |
| refused | a message | a message | a message of the compiler, or of the call |

Every cell of the GPU that is not refused has run on the emulator, and agreed with float64 NumPy; `test/python` does the same
for the others with more shapes. A number stands for the compiler's words below.
"""


def number(words, why):
    """Returns the number of some words, a new one if they are new."""
    if why not in words:
        words.append(why)
    return words.index(why) + 1


def cell(answers, phases, words):
    texts = []
    for phase in phases:
        answer = answers[phase]
        texts.append(answer.kind + (f" {number(words, answer.why)}" if answer.why else ""))
    return " / ".join(texts)


def render(features, answered, dtypes, phases):
    """Returns the page; `answered[target, dtype]` has an answer for each feature."""
    words, lines = [], []
    for target in TITLES:
        lines.append(f"\n## {TITLES[target]}\n")
        lines.append("| what | " + " | ".join(dtypes) + " |")
        lines.append("| --- |" + " --- |" * len(dtypes))
        for index, feature in enumerate(features):
            cells = [cell(answered[target, dtype][index], phases, words) for dtype in dtypes]
            lines.append(f"| {feature.subject}: {feature.name} | " + " | ".join(cells) + " |")
    lines += ["\n## The compiler's words\n"]
    lines += [f"{i}. {word}" for i, word in enumerate(words, 1)]
    return INTRODUCTION + "\n".join(lines) + "\n"


def make_page(build):
    """Returns the page as this build says it."""
    sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "test" / "python"), str(build / "python")]
    from coverage import answers
    from coverage.features import FEATURES

    program = build / "bin" / "kvc-opt"
    gpu = answers.GPU(program)
    answered = {}
    for dtype in answers.DTYPES:
        texts = [feature.text(dtype) for feature in FEATURES]
        answered["definition", dtype] = answers.ask_definition(program, texts)
        answered["cpu", dtype] = answers.ask_cpu(program, texts)
        answered["gpu", dtype] = gpu.ask(FEATURES, dtype)
    return render(FEATURES, answered, answers.DTYPES, answers.PHASES)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="build folder (default: build)")  # fmt: skip
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="update docs/Coverage.md")
    what.add_argument("--check", action="store_true", help="compare with docs/Coverage.md")
    options = parser.parse_args()
    page = make_page(options.build.resolve())
    if options.write:
        PAGE.write_text(page)
    elif options.check:
        old = PAGE.read_text() if PAGE.exists() else ""
        different = difflib.unified_diff(
            old.splitlines(), page.splitlines(), "docs/Coverage.md", "the compiler", n=0, lineterm=""
        )  # fmt: skip
        lines = list(different)
        print("\n".join(lines) or "docs/Coverage.md is what the compiler says")
        return 1 if lines else 0
    else:
        print(page, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
