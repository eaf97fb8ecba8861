"""Llama 3: grouped heads, rotary embedding, a mask that is added to the scores."""

from dataclasses import dataclass

from .elementwise import add, mul_number
from .heads import join_heads, repeat_kv, split_heads
from .layer import GroupedLayer
from .linear import linear, matmul
from .masks import additive_causal
from .normalize import wide_softmax
from .rope import angles_by_matmul, cos_sin, inverse_frequencies, rope_half
from .shapes import transpose
from .text import wide


@dataclass(frozen=True, kw_only=True)
class Llama(GroupedLayer):
    hidden: int = 4096
    query_heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    theta: float = 5e5

    name = "llama-3-8b"
    title = "The attention of one layer of Llama 3 8B (arXiv:2407.21783)."

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, keys and values, by heads.")
        q = split_heads(linear(call.x, w.wq), self.query_heads)
        k = split_heads(linear(call.x, w.wk), self.kv_heads)
        v = split_heads(linear(call.x, w.wv), self.kv_heads)
        f.comment("Rotary embedding.")
        frequencies = f.dense(inverse_frequencies(self.theta, self.head_dim), wide(self.dtype))
        turn = cos_sin(angles_by_matmul(frequencies, call.positions), self.dtype)
        q, k = rope_half(q, *turn), rope_half(k, *turn)
        f.comment("The cache.")
        k, v = call.append("k", k), call.append("v", v)
        f.comment("Attention.")
        keys, values = repeat_kv(k, self.group), repeat_kv(v, self.group)
        scores = mul_number(matmul(q, transpose(keys, 2, 3)), self.head_dim**-0.5)
        mask = additive_causal(f, call.tokens, call.keys, call.past, self.dtype)
        out = matmul(wide_softmax(add(scores, mask)), values)
        return linear(join_heads(out), w.wo), {"k": k, "v": v}
