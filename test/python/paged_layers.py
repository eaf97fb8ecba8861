"""Layers of test/Corpus as programs with caches in pages, and as they were written."""

import dataclasses
import functools
import pathlib
import sys

import numpy as np

import kvc

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Corpus"))

from corpus.problem import NUMPY_TYPES, draw_weight  # noqa: E402

PAGE = 8


def largest_error(got, want):
    """Returns the largest L2 error of a row, relative to its norm."""
    difference = np.linalg.norm(got.astype(np.float64) - want, axis=-1)
    return (difference / np.linalg.norm(want, axis=-1)).max(initial=0)


class Sequences:
    """Sequences that go through @prefill one by one, and through @decode together.

    Attributes
    ----------
    tokens : list of array, shape (1, prompt + steps, hidden)
    weights : dict of array
    """

    def __init__(self, layer, prompts, steps, seed=0):
        self.layer, self.prompts, self.steps = layer, prompts, steps
        rng = np.random.default_rng(seed)
        self.weights = {name: draw_weight(layer, name, rng) for name in layer.weights()}
        self.tokens = [
            rng.standard_normal((1, prompt + steps, layer.hidden)).astype(NUMPY_TYPES[layer.dtype])
            for prompt in prompts
        ]

    def compile(self, target):
        return kvc.Compiler().compile(
            self.layer.text(), cache_page=PAGE, **target.compile_options()
        )

    def run(self, program, stream=None, device=None):
        """Returns the outputs of each sequence, of the shape of its tokens."""
        pages = sum(-(-x.shape[1] // PAGE) for x in self.tokens)
        pool = kvc.Pool(program["decode"].cache_type, num_pages=pages, device=device)
        sequences = [pool.sequence() for _ in self.prompts]

        def call(name, tokens, sequences):
            count = tokens.shape[1]
            for sequence in sequences:
                sequence.append(count)
            batch = kvc.Batch.from_sequences(sequences, [count] * len(sequences))
            arguments = [tokens, *self.weights.values(), pool.view(), batch]
            return program[name](*arguments, stream=stream)

        outputs = [
            [call("prefill", x[:, :prompt], [sequence])]
            for x, sequence, prompt in zip(self.tokens, sequences, self.prompts)
        ]
        for step in range(self.steps):
            new = [x[:, at + step : at + step + 1] for x, at in zip(self.tokens, self.prompts)]
            rows = call("decode", np.concatenate(new), sequences)
            for output, row in zip(outputs, rows):
                output.append(row[None])
        return [np.concatenate(output, axis=1) for output in outputs]

    @functools.cached_property
    def exact(self):
        """The weights and the tokens in float64."""
        weights = {key: weight.astype(np.float64) for key, weight in self.weights.items()}
        return weights, [x.astype(np.float64) for x in self.tokens]

    @functools.cached_property
    def written(self):
        """What the layer as written gives in float64, all tokens of a sequence at once."""
        layer = dataclasses.replace(self.layer, dtype="f64")
        program = kvc.Compiler().compile(layer.text(), target="definition", precision="f64")
        weights, tokens = self.exact
        outputs = []
        for x in tokens:
            positions = [np.arange(x.shape[1])[None]] if layer.takes_positions else []
            outputs.append(program["prefill"](x, *positions, *weights.values())[0])
        return outputs
