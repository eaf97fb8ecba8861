#!/usr/bin/env python3
"""Compares random layers as kvc-opt optimises them with the text as it was.

Both run as MLIR's own passes lower them, in f64: a prompt, then tokens one by one. Attention
has to be found in both functions, and the caches have to be the smallest there are. Prints the
seed of each layer that fails; --seed=N --count=1 --print shows its text, --reduce a simpler
one.
"""

import argparse
import pathlib
import re
import sys
import time
from dataclasses import replace

import numpy as np
from check_numbers import cache_ranks, optimise
from corpus.problem import NUMPY_TYPES
from corpus.random_layer import SIMPLEST, RandomLayer
from corpus.upstream import Module

#: Largest difference, relative to the largest element: the scale of an attention is f32.
BOUND = 1e-6


def rename(text, prefix):
    """Returns the functions and maps of a module under other names."""
    text = re.sub(r"@(prefill|decode)\b", rf"@{prefix}\1", text)
    return re.sub(r"#map", f"#{prefix}map", text)


def merge(first, second):
    """Returns one module of the functions of two."""
    maps, bodies = [], []
    for text in (first, second):
        maps += re.findall(r"^#\w+ = .*$", text, re.MULTILINE)
        bodies.append(text[re.search(r"^module.*{$", text, re.M).end() : text.rindex("}")])
    return "\n".join([*maps, "module {", *bodies, "}"])


def cached_bytes(text):
    """Returns the bytes a token of the caches that @prefill returns."""
    results = re.search(r"func\.func @prefill.*", text).group().split("->")[1]
    total = 0
    for shape in re.findall(r"tensor<([^>]*)xf64> \{kvc\.cache", results):
        total += 8 * int(np.prod([int(size) for size in shape.split("x") if size != "?"]))
    return total


def run(module, prefix, layer, rng, ranks):
    """Returns the output of all tokens; the inputs are drawn from `rng`."""
    batch, tokens, prompt = (int(rng.integers(*bounds)) for bounds in ((1, 4), (1, 8), (0, 6)))
    prompt = min(prompt, tokens)
    x = rng.standard_normal((batch, tokens, layer.hidden))
    weights = [
        rng.standard_normal(shape) / np.sqrt(shape[-1]) for shape in layer.weights().values()
    ]
    results = [(rank, NUMPY_TYPES["f64"]) for rank in (3, *ranks)]
    outputs, caches = [], None
    for start, stop in [(0, prompt), *((t, t + 1) for t in range(prompt, tokens))]:
        positions = np.tile(np.arange(start, stop, dtype=np.int64), (batch, 1))
        name = f"{prefix}prefill" if caches is None else f"{prefix}decode"
        arguments = [x[:, start:stop], positions, *(caches or []), *weights]
        output, *caches = module.call(name, arguments, results)
        outputs.append(output)
    return np.concatenate(outputs, axis=1)


def reduce(layer, folder, cc):
    """Returns a simpler layer that fails too: choices are made simple while it does."""
    for number, (key, value) in enumerate(SIMPLEST.items()):
        simpler = replace(layer, fixed={**layer.fixed, key: value})
        if layer.choice[key] != value and check(simpler, folder / f"reduced-{number}", cc):
            layer = simpler
    return layer


def check(layer, folder, cc):
    """Returns what is wrong with a layer, or None."""
    plain = layer.text()
    optimised = optimise(plain)
    raised = optimise(plain, decompose=False)
    if raised.count("kvc.dense_attention") != 2:
        return "attention was not found"
    if cached_bytes(raised) != layer.smallest_bytes():
        return f"{cached_bytes(raised)} bytes a token, expected {layer.smallest_bytes()}"
    module = Module(merge(rename(plain, "plain_"), rename(optimised, "small_")), folder, cc)
    want = run(module, "plain_", layer, np.random.default_rng(layer.seed), (4, 4))
    rng = np.random.default_rng(layer.seed)
    got = run(module, "small_", layer, rng, cache_ranks(raised))
    error = np.abs(got - want).max(initial=0) / np.abs(want).max(initial=1e-300)
    return None if error <= BOUND else f"error {error:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--count", type=int, default=150, help="layers")
    parser.add_argument("--reduce", action="store_true", help="those that fail")
    parser.add_argument("--print", action="store_true", help="their texts")
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="to compile in")
    parser.add_argument("--cc", default="cc", help="C compiler (default: cc)")
    options = parser.parse_args()
    print(f"seeds {options.seed} to {options.seed + options.count - 1}", flush=True)
    failed, begin = 0, time.monotonic()
    for done in range(options.count):
        seed = options.seed + done
        layer = RandomLayer(seed=seed, dtype="f64")
        if options.print:
            print(layer.text())
        # A library of its own: one that is loaded is not loaded again.
        problem = check(layer, options.folder / str(seed), options.cc)
        if problem:
            failed += 1
            print(f"FAIL seed {seed}: {problem}", flush=True)
            if options.reduce:
                reduced = reduce(layer, options.folder / str(seed), options.cc)
                print(f"seed {seed} reduced: {reduced.choice}", flush=True)
        if (done + 1) % 50 == 0:
            spent = time.monotonic() - begin
            print(f"{done + 1} of {options.count}, {failed} failed, {spent:.0f} s", flush=True)
    print(f"{options.count} layers, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
