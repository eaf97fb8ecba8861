"""The layers of the corpus, from a model's own code to caches in pages, run.

Prompts of several lengths, then steps for all sequences together, are compared with the layer
as it was written, in float64, over all tokens at once.
"""

import dataclasses
import functools
import pathlib
import sys

import numpy as np
import pytest

import kvc
from emulated import in_every_order
from targets import CPUS, DEFINITIONS, DEVICES

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Corpus"))

from corpus.problem import NUMPY_TYPES, Problem  # noqa: E402
from corpus.reference import REFERENCES  # noqa: E402
from corpus.small import SIZES, small  # noqa: E402

#: Largest L2 error of a row, relative to its norm.
BOUNDS = {"f32": 2e-5, "bf16": 2e-2}
#: That of the layer as written, in float64, against NumPy.
EXACT = 1e-12
PROMPTS = [5, 1, 11]
PAGE = 8
TARGETS = [DEFINITIONS[0], CPUS[0], CPUS[-1]]

#: Of the layers on a device: each but what it has to be for its features.
HIDDEN = 256
GROUPED = {"query_heads": 8, "kv_heads": 2, "head_dim": 32}
LATENT = {
    "query_heads": 16, "latent": 64, "rotary": 16, "key_width": 32, "value_width": 32,
}  # fmt: skip


def largest_error(got, want):
    """Returns the largest L2 error of a row, relative to its norm."""
    difference = np.linalg.norm(got.astype(np.float64) - want, axis=-1)
    return (difference / np.linalg.norm(want, axis=-1)).max(initial=0)


class Sequences:
    """Sequences that go through @prefill one by one, and through @decode together."""

    def __init__(self, layer, steps):
        self.layer, self.steps = layer, steps
        problems = [
            Problem(layer, batch=1, tokens=prompt + steps, seed=seed)
            for seed, prompt in enumerate(PROMPTS)
        ]
        self.weights = problems[0].weights
        self.tokens = [problem.x for problem in problems]

    def run(self, program, stream=None, device=None):
        """Returns the outputs of each sequence, of shape (1, tokens, hidden)."""
        pages = sum(-(-x.shape[1] // PAGE) for x in self.tokens)
        pool = kvc.Pool(program["decode"].cache_type, num_pages=pages, device=device)
        sequences = [pool.sequence() for _ in PROMPTS]

        def call(name, tokens, sequences):
            count = tokens.shape[1]
            for sequence in sequences:
                sequence.append(count)
            batch = kvc.Batch.from_sequences(sequences, [count] * len(sequences))
            arguments = [tokens, *self.weights.values(), pool.view(), batch]
            return program[name](*arguments, stream=stream)

        outputs = [
            [call("prefill", x[:, :prompt], [sequence])]
            for x, sequence, prompt in zip(self.tokens, sequences, PROMPTS)
        ]
        for step in range(self.steps):
            tokens = [x[:, at + step : at + step + 1] for x, at in zip(self.tokens, PROMPTS)]
            rows = call("decode", np.concatenate(tokens), sequences)
            for output, row in zip(outputs, rows):
                output.append(row[None])
        return [np.concatenate(output, axis=1) for output in outputs]

    @functools.cached_property
    def expected(self):
        """What the layer as written gives in float64, all tokens of a sequence at once."""
        layer = dataclasses.replace(self.layer, dtype="f64")
        written = kvc.Compiler().compile(layer.text(), target="definition", precision="f64")
        weights = {key: weight.astype(np.float64) for key, weight in self.weights.items()}
        outputs = []
        for x in self.tokens:
            problem = Problem(layer, batch=1, tokens=x.shape[1])
            problem.x, problem.weights = x.astype(np.float64), weights
            output, *_ = written["prefill"](*problem.arguments(0, x.shape[1]))
            reference, _ = REFERENCES[layer.name](layer, weights, problem.x)
            assert largest_error(output, reference) < EXACT
            outputs.append(output)
        return outputs


@functools.cache
def sequences_of(name, dtype):
    return Sequences(small(name, dtype), steps=20)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", SIZES)
def test_steps(name, dtype, target):
    sequences = sequences_of(name, dtype)
    program = kvc.Compiler().compile(
        sequences.layer.text(), cache_page=PAGE, **target.compile_options()
    )
    for got, want in zip(sequences.run(program), sequences.expected):
        assert got.dtype == NUMPY_TYPES[dtype]
        assert largest_error(got, want) < BOUNDS[dtype]


@functools.cache
def wide_sequences_of(name):
    layer = small(name, "bf16")
    sizes = LATENT if name.startswith("deepseek") else GROUPED
    own = {"query_heads": 14} if name == "qwen2.5-7b" else {}
    return Sequences(dataclasses.replace(layer, hidden=HIDDEN, **{**sizes, **own}), steps=3)


@pytest.mark.parametrize("target", DEVICES, ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_steps_on_devices(stream_of, name, target):
    sequences = wide_sequences_of(name)
    program = kvc.Compiler().compile(
        sequences.layer.text(), cache_page=PAGE, **target.compile_options()
    )
    device = kvc.Device(target.device)

    def run():
        stream = kvc.Stream(device=device) if target.is_emulator else stream_of(target)
        return sequences.run(program, stream, device)

    outputs = in_every_order(run) if target.is_emulator else run()
    for got, want in zip(outputs, sequences.expected):
        assert largest_error(got, want) < BOUNDS["bf16"]
