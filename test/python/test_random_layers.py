"""Layers drawn at random, from how a model may spell them to caches in pages, run.

The seed names the layer; test/Corpus/check_random.py shows and reduces it.
"""

import os

import numpy as np
import pytest

import kvc
from paged_layers import Sequences, largest_error
from targets import CPUS, DEVICES, FULL

from corpus.random_layer import RandomLayer

BOUNDS = {"f32": 2e-5, "bf16": 3e-2}
COUNTS = {"cpu": 1000 if FULL else 24, "device": 300 if FULL else 10}
FIRST = int(os.environ.get("KVC_TEST_SEED", "0"))


def draw(seed, dtype):
    """Returns a layer whose caches can be paged, and a few sequences."""
    rng = np.random.default_rng([seed, 1])
    widths = {"key_width": (8, 16, 24), "value_width": (8, 16, 24), "latent_width": (16, 24, 40)}
    fixed = {key: int(rng.choice(options)) for key, options in widths.items()}
    layer = RandomLayer(seed=seed, dtype=dtype, fixed={**fixed, "rotary": int(rng.choice([0, 8]))})
    prompts = [int(rng.integers(0, 12)) for _ in range(rng.integers(1, 4))]
    return Sequences(layer, prompts, steps=int(rng.integers(1, 5)), seed=seed)


def check(sequences, outputs):
    for got, want in zip(outputs, sequences.written):
        assert largest_error(got, want) < BOUNDS[sequences.layer.dtype], sequences.layer.choice


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNTS["cpu"]))
def test_on_cpu(seed):
    sequences = draw(seed, "f32")
    check(sequences, sequences.run(sequences.compile(CPUS[seed % len(CPUS)])))


@pytest.mark.parametrize("target", DEVICES, ids=str)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNTS["device"]))
def test_on_devices(seed, target, stream_of):
    sequences = draw(seed, "bf16")
    program = sequences.compile(target)
    check(sequences, sequences.run(program, stream_of(target), kvc.Device(target.device)))
