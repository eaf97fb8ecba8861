"""Makes inputs for kvc-run and checks its results.

Each sequence has one token, so that attention gives its value, to each of the
query heads that share a KV head.
"""

import sys
from pathlib import Path

import numpy as np

SHAPE = (3, 2, 32)  # tokens, KV heads, width
GROUP = 4


def bf16_bits(values):
    """Returns the upper halves of float32 numbers, as uint16."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def values():
    return bf16_bits(np.random.default_rng(7).standard_normal(SHAPE))


def make(folder):
    np.save(folder / "v.npy", values())
    values().tofile(folder / "v.bin")


def check(folder, kind, path):
    got = np.load(folder / path)
    want = np.repeat(values(), GROUP, axis=1)
    if kind == "f32":
        want = (want.astype(np.uint32) << 16).view(np.float32)
    assert got.dtype == want.dtype, f"got {got.dtype}, want {want.dtype}"
    np.testing.assert_array_equal(got, want)
    print(f"{path}: {got.dtype}{list(got.shape)} is right")


command, folder, *rest = sys.argv[1:]
{"make": make, "check": check}[command](Path(folder), *rest)
