"""What the layers have in common: the two functions of a file and their signatures."""

from dataclasses import dataclass
from types import SimpleNamespace

from .shapes import cat
from .text import Function, Module, Tensor, wide

BYTES = {"bf16": 2, "f32": 4, "f64": 8}


@dataclass
class Call:
    """One function in the making: its arguments, by what they are.

    `past` is the number of cached tokens, 0 in @prefill; `caches` are the cached tensors, none
    in @prefill; `positions` is None for a layer without that argument.
    """

    function: Function
    x: Tensor
    past: object
    positions: Tensor
    caches: dict
    weights: SimpleNamespace

    @property
    def batch(self):
        return self.x.shape[0]

    @property
    def tokens(self):
        return self.x.shape[1]

    @property
    def keys(self):
        """Tokens that are cached after the call."""
        return self.function.sum(self.past, self.tokens)

    def append(self, name, new, axis=2, join=cat):
        """Concatenates what is cached and the new rows."""
        return join([self.caches[name], new], axis) if self.caches else new


@dataclass(frozen=True, kw_only=True)
class Layer:
    """An attention layer with a cache of keys and values.

    A subclass says the sizes of its model as defaults of its fields, and writes `attend`.
    """

    hidden: int
    dtype: str = "bf16"

    name = None  # of the file
    title = None  # a sentence on top of the file
    takes_positions = True
    token_axis = 2  # of a cache

    def weights(self):
        """Returns the shapes of the weights by name; those of matrices are (outputs, inputs)."""
        raise NotImplementedError

    def weight_dtype(self, name):
        return wide(self.dtype) if name == "inv_freq" else self.dtype

    def widths(self):
        """Returns the heads and the width of each cached tensor by name."""
        raise NotImplementedError

    def cache_shape(self, name, batch, tokens):
        heads, width = self.widths()[name]
        return (batch, heads, tokens, width)

    def attend(self, call):
        """Writes the layer; returns its output and the caches by name."""
        raise NotImplementedError

    def smallest_bytes(self):
        """Bytes per token in the smallest cache from which attention can be computed."""
        return BYTES[self.dtype] * sum(heads * width for heads, width in self.widths().values())

    # --- The file ------------------------------------------------------------

    def text(self):
        """Returns the module's text, with @prefill and @decode."""
        module = Module()
        self._write(module, "prefill")
        self._write(module, "decode")
        return module.text(f"// {self.title}\n// Made by test/Corpus/generate.py.\n\n")

    def _write(self, module, name):
        f, decodes = Function(module, name), name == "decode"
        tokens = 1 if decodes else "%tokens"
        x = f.argument("x", ("%batch", tokens, self.hidden), self.dtype)
        positions = None
        if self.takes_positions:
            positions = f.argument("position_ids", x.shape[:2], "i64", "kvc.positions")
        caches = {}
        if decodes:
            for key in self.widths():
                shape = self.cache_shape(key, "%batch", "%past")
                caches[key] = f.argument(f"past_{key}", shape, self.dtype, f'kvc.cache = "{key}"')
        weights = {
            key: f.argument(key, shape, self.weight_dtype(key))
            for key, shape in self.weights().items()
        }
        f.measure(x, 0)
        f.measure(x, 1)
        if decodes:
            f.measure(caches["k"], self.token_axis)
        past = "%past" if decodes else 0
        call = Call(f, x, past, positions, caches, SimpleNamespace(**weights))
        out, results = self.attend(call)
        f.give(out)
        for key, cache in results.items():
            f.give(cache, f'kvc.cache = "{key}"')


@dataclass(frozen=True, kw_only=True)
class GroupedLayer(Layer):
    """A layer in which groups of query heads share a KV head."""

    query_heads: int
    kv_heads: int
    head_dim: int

    @property
    def group(self):
        return self.query_heads // self.kv_heads

    def weights(self):
        queries, keys = self.query_heads * self.head_dim, self.kv_heads * self.head_dim
        shapes = {"wq": (queries, self.hidden), "wk": (keys, self.hidden)}
        return {**shapes, "wv": (keys, self.hidden), "wo": (self.hidden, queries)}

    def widths(self):
        return {"k": (self.kv_heads, self.head_dim), "v": (self.kv_heads, self.head_dim)}
