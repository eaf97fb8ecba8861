"""A layer as people write it by hand in PyTorch: repeat_interleave, past and new joined."""

import math
from dataclasses import dataclass

from .elementwise import add, mul_number
from .heads import join_heads, repeat_interleave
from .layer import GroupedLayer
from .linear import linear, matmul
from .masks import additive, arange, causal
from .normalize import wide_softmax
from .shapes import transpose, unflatten


@dataclass(frozen=True, kw_only=True)
class PyTorchLayer(GroupedLayer):
    hidden: int = 4096
    query_heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128

    name = "grouped"
    title = "A grouped-query layer of plain PyTorch: 32 query heads over 8, without positions."
    takes_positions = False
    token_axis = 1

    def cache_shape(self, name, batch, tokens):
        heads, width = self.widths()[name]
        return (batch, tokens, heads, width)

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, keys and values, by heads.")
        q = unflatten(linear(call.x, w.wq), -1, self.query_heads, self.head_dim)
        k = unflatten(linear(call.x, w.wk), -1, self.kv_heads, self.head_dim)
        v = unflatten(linear(call.x, w.wv), -1, self.kv_heads, self.head_dim)
        f.comment("The cache.")
        k, v = call.append("k", k, axis=1), call.append("v", v, axis=1)
        f.comment("Heads repeated, then before tokens.")
        q = transpose(q, 1, 2)
        keys = transpose(repeat_interleave(k, self.group, 2), 1, 2)
        values = transpose(repeat_interleave(v, self.group, 2), 1, 2)
        f.comment("Scaled dot product attention, causal for more than one token.")
        scores = mul_number(matmul(q, transpose(keys, 2, 3)), 1 / math.sqrt(self.head_dim))
        if call.tokens != 1:
            # A lower triangle: both counts start at the first key.
            mask = causal(arange(f, call.tokens), arange(f, call.keys))
            scores = add(scores, additive(mask, -math.inf, self.dtype))
        out = matmul(wide_softmax(scores), values)
        f.comment("Projected out.")
        return linear(join_heads(out), w.wo), {"k": k, "v": v}
