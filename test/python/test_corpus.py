"""The layers of the corpus, from a model's own code to caches in pages, run.

Prompts of several lengths, then steps for all sequences together, are compared with the layer
as it was written, in float64, over all tokens at once.
"""

import dataclasses
import functools

import pytest

import kvc
from emulated import in_every_order
from paged_layers import NUMPY_TYPES, Sequences, largest_error
from targets import CPUS, DEFINITIONS, DEVICES

from corpus.reference import REFERENCES
from corpus.small import SIZES, small

#: Largest L2 error of a row, relative to its norm.
BOUNDS = {"f32": 2e-5, "bf16": 2e-2}
#: That of the layer as written, in float64, against NumPy.
EXACT = 1e-12
PROMPTS = [5, 1, 11]
TARGETS = [DEFINITIONS[0], CPUS[0], CPUS[-1]]

#: Of the layers on a device: each but what it has to be for its features.
HIDDEN = 256
GROUPED = {"query_heads": 8, "kv_heads": 2, "head_dim": 32}
LATENT = {
    "query_heads": 16, "latent": 64, "rotary": 16, "key_width": 32, "value_width": 32,
}  # fmt: skip


@functools.cache
def sequences_of(name, dtype):
    return Sequences(small(name, dtype), PROMPTS, steps=20)


@functools.cache
def wide_sequences_of(name):
    sizes = dict(LATENT if name.startswith("deepseek") else GROUPED)
    if name == "qwen2.5-7b":
        sizes["query_heads"] = 14
    layer = dataclasses.replace(small(name, "bf16"), hidden=HIDDEN, **sizes)
    return Sequences(layer, PROMPTS, steps=3)


@pytest.mark.parametrize("name", SIZES)
def test_as_written(name):
    sequences = sequences_of(name, "f32")
    weights, tokens = sequences.exact
    for got, x in zip(sequences.written, tokens):
        want, _ = REFERENCES[name](sequences.layer, weights, x)
        assert largest_error(got, want) < EXACT


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", SIZES)
def test_steps(name, dtype, target):
    sequences = sequences_of(name, dtype)
    for got, want in zip(sequences.run(sequences.compile(target)), sequences.written):
        assert got.dtype == NUMPY_TYPES[dtype]
        assert largest_error(got, want) < BOUNDS[dtype]


@pytest.mark.parametrize("target", DEVICES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_steps_on_devices(stream_of, name, target):
    sequences = wide_sequences_of(name)
    program = sequences.compile(target)
    device = kvc.Device(target.device)

    def run():
        # The emulator reads its options when a device is opened.
        stream = kvc.Stream(device=device) if target.is_emulator else stream_of(target)
        return sequences.run(program, stream, device)

    outputs = in_every_order(run) if target.is_emulator else run()
    for got, want in zip(outputs, sequences.written):
        assert largest_error(got, want) < BOUNDS["bf16"]
