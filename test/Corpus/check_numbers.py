#!/usr/bin/env python3
"""Compares a layer's text, lowered by MLIR's own passes, with float64 NumPy.

Sequences go through @prefill and then, token by token, through @decode. The layer is small.
"""

import argparse
import pathlib
import sys

from corpus.problem import BOUNDS, NUMPY_TYPES, Problem
from corpus.small import SIZES, small
from corpus.upstream import Module


def check(name, dtype, folder, cc):
    """Prints the errors, and returns whether all are within bounds."""
    layer = small(name, dtype)
    module = Module(layer.text(), folder / f"{name}-{dtype}", cc)
    results = [(rank, NUMPY_TYPES[dtype]) for rank in (3, *[4 for _ in layer.widths()])]
    good = True
    for batch, tokens, prompt in [(2, 9, 6), (1, 4, 1), (3, 2, 0)]:
        problem = Problem(layer, batch, tokens)
        errors = problem.errors(
            *problem.run(
                lambda arguments: module.call("prefill", arguments, results),
                lambda arguments: module.call("decode", arguments, results),
                prompt,
            )
        )
        within = all(error <= BOUNDS[dtype] for error in errors.values())
        listed = ", ".join(f"{key} {error:.1e}" for key, error in errors.items())
        what = f"{name} {dtype}, batch {batch}, {prompt} of {tokens} tokens at once"
        print(f"{'PASS' if within else 'FAIL'} {what}: {listed}")
        good = good and within
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SIZES), help="layers (default: all)")
    parser.add_argument("--dtype", default="f64", choices=BOUNDS, help="element type")
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="to compile in")
    parser.add_argument("--cc", default="cc", help="C compiler (default: cc)")
    options = parser.parse_args()
    passed = [check(name, options.dtype, options.folder, options.cc) for name in options.names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
