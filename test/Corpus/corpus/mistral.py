"""Mistral: a sliding window, positions that follow from the cache, older spellings."""

import math
from dataclasses import dataclass

from .elementwise import add, mul_number
from .heads import join_heads, repeat_kv, split_heads
from .layer import GroupedLayer
from .linear import linear_batched, matmul
from .masks import additive, arange, causal
from .normalize import wide_softmax
from .rope import angles_by_outer, cos_sin, inverse_frequencies, rope_half
from .shapes import cat_by_insertion, transpose, unsqueeze
from .text import wide


@dataclass(frozen=True, kw_only=True)
class Mistral(GroupedLayer):
    hidden: int = 4096
    query_heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    theta: float = 1e4
    window: int = 4096

    name = "mistral-7b"
    title = "The attention of one layer of Mistral 7B (arXiv:2310.06825)."
    takes_positions = False

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, keys and values, by heads.")
        q = split_heads(linear_batched(call.x, w.wq), self.query_heads)
        k = split_heads(linear_batched(call.x, w.wk), self.kv_heads)
        v = split_heads(linear_batched(call.x, w.wv), self.kv_heads)
        f.comment("Rotary embedding; the positions are those after the cached tokens.")
        positions = arange(f, call.tokens, call.past)
        frequencies = f.dense(inverse_frequencies(self.theta, self.head_dim), wide(self.dtype))
        angles = angles_by_outer(frequencies, unsqueeze(positions, 0))
        turn = cos_sin(angles, self.dtype, join=cat_by_insertion)
        q, k = [rope_half(x, *turn, join=cat_by_insertion) for x in (q, k)]
        f.comment("The cache.")
        k, v = [call.append(name, new, join=cat_by_insertion) for name, new in zip("kv", (k, v))]
        f.comment("Attention in a window; queries and keys share the scale.")
        keys, values = repeat_kv(k, self.group), repeat_kv(v, self.group)
        root = math.sqrt(1 / math.sqrt(self.head_dim))
        scores = matmul(mul_number(q, root), mul_number(transpose(keys, 2, 3), root))
        mask = causal(positions, arange(f, call.keys), self.window)
        probabilities = wide_softmax(add(scores, additive(mask, -math.inf, self.dtype)))
        return linear_batched(join_heads(matmul(probabilities, values)), w.wo), {"k": k, "v": v}
