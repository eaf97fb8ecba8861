"""Inputs for a layer, what it must give, and how a sequence goes through its functions."""

import ml_dtypes
import numpy as np

from .reference import REFERENCES

NUMPY_TYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i64": np.int64}

#: Largest error of an element, relative to the largest element of its tensor.
BOUNDS = {"f64": 1e-12, "f32": 2e-6, "bf16": 2e-2}


def draw_weight(layer, name, rng):
    """Returns a weight of the layer, of such a size that rows keep theirs."""
    shape = layer.weights()[name]
    if name == "inv_freq":
        values = 1e6 ** -(np.arange(shape[0]) / shape[0])
    else:
        values = rng.standard_normal(shape)
        if len(shape) == 2:
            values = values / np.sqrt(shape[1])
    return values.astype(NUMPY_TYPES[layer.weight_dtype(name)])


class Problem:
    """Seeded inputs of a layer, and float64 outputs for the elements as they are rounded.

    Attributes
    ----------
    x : array, shape (batch, tokens, hidden)
    weights : dict of array
    output : array of float64, shape (batch, tokens, hidden)
    caches : dict of array of float64
        After all tokens.
    """

    def __init__(self, layer, batch=2, tokens=9, seed=0):
        self.layer = layer
        rng = np.random.default_rng(seed)
        shape = (batch, tokens, layer.hidden)
        self.x = rng.standard_normal(shape).astype(NUMPY_TYPES[layer.dtype])
        self.weights = {name: draw_weight(layer, name, rng) for name in layer.weights()}
        exact = {name: weight.astype(np.float64) for name, weight in self.weights.items()}
        reference = REFERENCES[layer.name]
        self.output, self.caches = reference(layer, exact, self.x.astype(np.float64))

    def arguments(self, start, stop, caches=()):
        """Returns the arguments of @prefill, or with caches of @decode, for some tokens."""
        arguments = [self.x[:, start:stop]]
        if self.layer.takes_positions:
            batch = self.x.shape[0]
            positions = np.arange(start, stop, dtype=np.int64)
            arguments.append(np.broadcast_to(positions, (batch, stop - start)))
        return [*arguments, *caches, *self.weights.values()]

    def run(self, prefill, decode, prompt):
        """Gives `prompt` tokens to @prefill and each further one to @decode.

        Both are functions from a list of arrays to (output, caches in order). Returns the
        output of all tokens and the last caches.
        """
        output, *caches = prefill(self.arguments(0, prompt))
        outputs = [output]
        for token in range(prompt, self.x.shape[1]):
            output, *caches = decode(self.arguments(token, token + 1, caches))
            outputs.append(output)
        return np.concatenate(outputs, axis=1), caches

    def errors(self, output, caches):
        """Returns the error of each result by name, to be held against BOUNDS."""
        pairs = {"output": (output, self.output)}
        pairs.update((key, (got, self.caches[key])) for key, got in zip(self.caches, caches))
        return {name: _error(name, *pair) for name, pair in pairs.items()}


def _error(name, got, want):
    if got.shape != want.shape:
        raise AssertionError(f"{name}: expected shape {want.shape}, got {got.shape}")
    got = got.astype(np.float64)
    return float(np.abs(got - want).max(initial=0) / np.abs(want).max(initial=1e-300))
