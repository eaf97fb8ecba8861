#!/usr/bin/env python3
"""Compares a layer's text, lowered by MLIR's own passes, with float64 NumPy.

Sequences go through @prefill and then, token by token, through @decode. The layer is small.
With --optimise, kvc-opt raises attention, shrinks the caches, and says in linalg what it
found, before; outputs are compared then, as the caches are others. With --constants, weights
are constants of the module rather than arguments.
"""

import argparse
import pathlib
import re
import subprocess
import sys

from corpus.problem import BOUNDS, NUMPY_TYPES, Problem
from corpus.small import SIZES, small
from corpus.upstream import Module


#: The scale of an attention is f32.
OPTIMISED_BOUNDS = {**BOUNDS, "f64": 1e-7}


def optimise(text, decompose=True, strategy="absorb", precompute="auto"):
    """Returns the module as kvc-opt leaves it, in linalg if `decompose`."""
    settings = f"page=0 strategy={strategy} precompute={precompute}"
    passes = [f"kvc-optimize-cache-pipeline{{{settings}}}"]
    if decompose:
        passes.append("func.func(kvc-decompose-dense,canonicalize,cse)")
    command = ["kvc-opt", "-", f"-pass-pipeline=builtin.module({','.join(passes)})"]
    optimised = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if optimised.returncode:
        sys.exit(optimised.stderr)
    return optimised.stdout


def with_constants(text, weights):
    """Returns the module with constants in place of the arguments of these names."""

    def define(match):
        signature, constants = match.group(), []
        for name, values in weights.items():
            argument = re.search(rf",\s*%{name}: (tensor<[^>]*>)", signature)
            signature = signature.replace(argument.group(), "")
            elements, type = values.tobytes().hex(), argument.group(1)
            constants.append(f'%{name} = arith.constant dense<"0x{elements}"> : {type}')
        return "\n".join([signature, *constants])

    return re.sub(r"func\.func @\w+\(.*?\{$", define, text, flags=re.DOTALL | re.MULTILINE)


def cache_ranks(text):
    """Returns the ranks of the caches that @prefill returns."""
    results = re.search(r"func\.func @prefill.*", text).group().split("->")[1]
    types = re.findall(r"tensor<([^>]*)> \{kvc\.cache", results)
    return [shape.count("x") for shape in types]


def check(name, dtype, folder, options):
    """Prints the errors, and returns whether all are within bounds."""
    layer = small(name, dtype)
    bounds = OPTIMISED_BOUNDS if options.optimise else BOUNDS
    good, module = True, None
    for batch, tokens, prompt in [(2, 9, 6), (1, 4, 1), (3, 2, 0)]:
        problem = Problem(layer, batch, tokens)
        if module is None or options.constants:
            target = folder / f"{name}-{dtype}-{batch}"
            module, ranks = compile_layer(layer, problem, target, options)
        results = [(rank, NUMPY_TYPES[dtype]) for rank in (3, *ranks)]
        given = -len(problem.weights) if options.constants else None
        output, caches = problem.run(
            lambda arguments: module.call("prefill", arguments[:given], results),
            lambda arguments: module.call("decode", arguments[:given], results),
            prompt,
        )
        errors = problem.errors(output, [] if options.optimise else caches)
        within = all(error <= bounds[dtype] for error in errors.values())
        listed = ", ".join(f"{key} {error:.1e}" for key, error in errors.items())
        what = f"{name} {dtype}, batch {batch}, {prompt} of {tokens} tokens at once"
        print(f"{'PASS' if within else 'FAIL'} {what}: {listed}")
        good = good and within
    return good


def compile_layer(layer, problem, folder, options):
    """Returns the compiled layer, and the ranks of its caches."""
    text = layer.text()
    if options.constants:
        text = with_constants(text, problem.weights)
    if options.optimise:
        text = optimise(text, strategy=options.strategy, precompute=options.precompute)
    ranks = cache_ranks(text) if options.optimise else [4 for _ in layer.widths()]
    return Module(text, folder, options.cc), ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SIZES), help="layers (default: all)")
    parser.add_argument("--dtype", default="f64", choices=BOUNDS, help="element type")
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="to compile in")
    parser.add_argument("--optimise", action="store_true", help="by kvc-opt, first")
    parser.add_argument(
        "--strategy",
        default="absorb",
        choices=["absorb", "expand", "auto"],
        help="with --optimise: attention over latent rows",
    )
    parser.add_argument(
        "--precompute",
        default="auto",
        choices=["none", "auto", "all"],
        help="with --optimise: products of constant weights",
    )
    parser.add_argument("--constants", action="store_true", help="weights are constants")
    parser.add_argument("--cc", default="cc", help="C compiler (default: cc)")
    options = parser.parse_args()
    passed = [check(name, options.dtype, options.folder, options) for name in options.names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
