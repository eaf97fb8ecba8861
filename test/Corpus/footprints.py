#!/usr/bin/env python3
"""Writes or compares the table of docs/Caches.md: what kvc-opt makes of the layers' caches."""

import argparse
import pathlib
import re
import subprocess
import sys

from corpus import LAYERS
from corpus.layer import BYTES

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs" / "Caches.md"
BEGIN, END = "<!-- made by test/Corpus/footprints.py -->\n", "<!-- end -->\n"


def footprint(layer):
    """Returns a token's bytes as the layer's file has them and after the pipeline."""
    command = ["kvc-opt", FOLDER / f"{layer.name}.mlir", "-kvc-optimize-cache-pipeline"]
    command += ["-kvc-footprint=print", "-o", "/dev/null"]
    said = subprocess.run(command, text=True, capture_output=True, check=False)
    # One group of caches in all, with before, after and their ratio.
    lines = re.findall(r"^ +(\S+) +(\d+) +(\d+) +[\d.]+x$", said.stderr, re.MULTILINE)
    if said.returncode or len(lines) != 1:
        sys.exit(f"expected one line of caches for {layer.name}, got: {said.stderr}")
    return int(lines[0][1]), int(lines[0][2])


def full_heads(layer):
    """Returns the bytes of keys and values, as wide as values are, for each query head."""
    width = getattr(layer, "value_width", layer.head_dim)
    return BYTES[layer.dtype] * layer.query_heads * 2 * width


def table():
    """Returns the table's lines."""
    titles = ["layer", "as written", "after the pipeline", "ratio"]
    titles += ["K and V of all query heads", "ratio"]
    lines = [f"| {' | '.join(titles)} |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for make in LAYERS:
        layer = make()
        before, after = footprint(layer)
        full = full_heads(layer)
        lines.append(
            f"| `{layer.name}` | {before:,} | {after:,} | {before / after:.1f} | {full:,} "
            f"| {full / after:.1f} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="write the table")
    what.add_argument("--check", action="store_true", help="fail if it is not what is made")
    options = parser.parse_args()
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    lines = "".join(line + "\n" for line in table())
    made = f"{before}{BEGIN}\n{lines}\n{END}{after}"
    if options.write:
        PAGE.write_text(made)
    elif made != page:
        print(f"{PAGE} is not what is made; 'test/Corpus/footprints.py --write' updates it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
