#!/usr/bin/env python3
"""Writes or compares what the package `corpus` makes: the layers, a table of docs/Corpus.md."""

import argparse
import pathlib
import sys

from corpus import LAYERS, footprint

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs" / "Corpus.md"
BEGIN, END = "<!-- made by test/Corpus/generate.py -->\n", "<!-- end -->\n"


def page_with_table(page):
    """Returns the page with the table between its two marks made anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    lines = "".join(line + "\n" for line in footprint.table())
    return f"{before}{BEGIN}\n{lines}\n{END}{after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="write the files")
    what.add_argument("--check", action="store_true", help="fail if a file is not what is made")
    options = parser.parse_args()
    found = {path: path.read_text() for path in [*FOLDER.glob("*.mlir"), PAGE]}
    made = {FOLDER / f"{layer.name}.mlir": layer().text() for layer in LAYERS}
    made[PAGE] = page_with_table(found[PAGE])
    different = sorted(path for path in {*made, *found} if made.get(path) != found.get(path))
    for path in different:
        if options.check:
            print(f"{path} is not what is made; 'test/Corpus/generate.py --write' updates it")
        elif path in made:
            path.write_text(made[path])
        else:
            path.unlink()
    return 1 if options.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
