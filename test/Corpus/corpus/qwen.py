"""Qwen 2.5, with biases and groups of seven, and Qwen 3, with norms of queries and keys."""

import math
from dataclasses import dataclass

from .elementwise import add, mul_number
from .heads import join_heads, repeat_kv, repeat_kv_by_broadcast, split_heads
from .layer import GroupedLayer
from .linear import contract, linear, linear_transposed, matmul
from .masks import additive, arange, causal, masked_fill
from .normalize import max_with_index, rms_norm, square_by_product, wide_softmax
from .rope import (
    angles_by_matmul, angles_by_outer, computed_inverse_frequencies, cos_sin, rope_half,
)  # fmt: skip
from .shapes import transpose, unflatten, unsqueeze
from .text import LARGEST, wide


@dataclass(frozen=True, kw_only=True)
class Qwen2(GroupedLayer):
    hidden: int = 3584
    query_heads: int = 28
    kv_heads: int = 4
    head_dim: int = 128
    theta: float = 1e6

    name = "qwen2.5-7b"
    title = "The attention of one layer of Qwen 2.5 7B (arXiv:2412.15115)."

    def weights(self):
        shapes = super().weights()
        return {**shapes, **{f"b{name}": shapes[f"w{name}"][:1] for name in "qkv"}}

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, keys and values, by heads.")
        q = split_heads(linear(call.x, w.wq, w.bq), self.query_heads)
        k = split_heads(linear(call.x, w.wk, w.bk), self.kv_heads)
        v = split_heads(linear(call.x, w.wv, w.bv), self.kv_heads)
        f.comment("Rotary embedding, with frequencies computed here.")
        frequencies = computed_inverse_frequencies(f, self.theta, self.head_dim, wide(self.dtype))
        turn = cos_sin(angles_by_outer(frequencies, call.positions), self.dtype)
        q, k = rope_half(q, *turn), rope_half(k, *turn)
        f.comment("The cache.")
        k, v = call.append("k", k), call.append("v", v)
        f.comment("Attention.")
        keys, values = [repeat_kv_by_broadcast(x, self.group) for x in (k, v)]
        scores = mul_number(matmul(q, transpose(keys, 2, 3)), self.head_dim**-0.5)
        mask = causal(arange(f, call.tokens, call.past), arange(f, call.keys))
        probabilities = wide_softmax(masked_fill(scores, mask, -math.inf), max_with_index)
        return linear(join_heads(matmul(probabilities, values)), w.wo), {"k": k, "v": v}


@dataclass(frozen=True, kw_only=True)
class Qwen3(GroupedLayer):
    hidden: int = 4096
    query_heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    epsilon: float = 1e-6

    name = "qwen3-8b"
    title = "The attention of one layer of Qwen 3 8B (arXiv:2505.09388)."

    def weights(self):
        norm = (self.head_dim,)
        norms = {"q_norm": norm, "k_norm": norm}
        return {**super().weights(), **norms, "inv_freq": (self.head_dim // 2,)}

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, keys and values, by heads; each head's rows are normalized.")
        q = unflatten(linear_transposed(call.x, w.wq), -1, self.query_heads, self.head_dim)
        k = unflatten(linear_transposed(call.x, w.wk), -1, self.kv_heads, self.head_dim)
        q = transpose(rms_norm(q, w.q_norm, self.epsilon, square_by_product), 1, 2)
        k = transpose(rms_norm(k, w.k_norm, self.epsilon, square_by_product), 1, 2)
        v = split_heads(linear_transposed(call.x, w.wv), self.kv_heads)
        f.comment("Rotary embedding, with frequencies from outside.")
        turn = cos_sin(angles_by_matmul(w.inv_freq, call.positions), self.dtype)
        q, k = rope_half(q, *turn), rope_half(k, *turn)
        f.comment("The cache.")
        k, v = call.append("k", k), call.append("v", v)
        f.comment("Attention; the mask compares the positions given.")
        keys, values = repeat_kv(k, self.group), repeat_kv(v, self.group)
        scores = contract(q, keys, "bhqd", "bhkd", "bhqk")
        mask = causal(call.positions, arange(f, call.keys))
        mask = unsqueeze(additive(mask, -LARGEST[self.dtype], self.dtype), 1)
        probabilities = wide_softmax(add(mul_number(scores, self.head_dim**-0.5), mask))
        out = contract(probabilities, values, "bhqk", "bhkd", "bhqd")
        return linear_transposed(join_heads(out), w.wo), {"k": k, "v": v}
