#!/usr/bin/env python3
"""Writes the files of this folder from the package `corpus`, or compares them with it."""

import argparse
import pathlib
import sys

from corpus import LAYERS

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="write the files")
    what.add_argument("--check", action="store_true", help="fail if a file is not what is made")
    options = parser.parse_args()
    made = {f"{layer.name}.mlir": layer().text() for layer in LAYERS}
    if options.write:
        for name, text in made.items():
            (FOLDER / name).write_text(text)
        return 0
    found = {path.name: path.read_text() for path in FOLDER.glob("*.mlir")}
    different = sorted(name for name in {*made, *found} if made.get(name) != found.get(name))
    for name in different:
        print(f"{name} is not what the package makes; 'test/Corpus/generate.py --write' updates it")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
