"""gpt-oss: a sink in each head's softmax, a short window, biases, and YaRN."""

from dataclasses import dataclass

from .elementwise import add, mul_number, sub
from .heads import join_heads, repeat_kv, split_heads
from .layer import GroupedLayer
from .linear import linear_onto_bias, matmul
from .masks import additive, arange, causal
from .normalize import amax, wide_softmax
from .rope import (
    Yarn, angles_by_matmul, cos_sin, rope_chunks, yarn_inverse_frequencies, yarn_magnitude,
)  # fmt: skip
from .shapes import cat, empty, narrow, transpose, unflatten, unsqueeze
from .text import LARGEST, wide


@dataclass(frozen=True, kw_only=True)
class GptOss(GroupedLayer):
    hidden: int = 2880
    query_heads: int = 64
    kv_heads: int = 8
    head_dim: int = 64
    theta: float = 1.5e5
    yarn: Yarn = Yarn(factor=32.0, whole_pairs=False)
    window: int = 128

    name = "gpt-oss-20b"
    title = "The attention of one layer with a window of gpt-oss-20b (arXiv:2508.10925)."
    takes_positions = False

    def weights(self):
        shapes = super().weights()
        biases = {f"b{name}": shapes[f"w{name}"][:1] for name in "qkvo"}
        return {**shapes, **biases, "sinks": (self.query_heads,)}

    def softmax_with_sinks(self, scores, sinks):
        """Each head's sink is one more column, which takes part and is then dropped."""
        batch, heads, tokens, keys = scores.shape
        column = empty(scores.function, (batch, heads, tokens, 1), self.dtype)
        maps = [[0, "d1", 0, 0], ["d0", "d1", "d2", "d3"]]
        sinks = unflatten(sinks, 0, 1, heads, 1, 1)
        column = scores.function.generic([sinks], maps, column, lambda b, s, _: s)
        joined = cat([scores, column], -1)
        return narrow(wide_softmax(sub(joined, amax(joined))), -1, 0, keys)

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, keys and values, by heads.")
        q = split_heads(linear_onto_bias(call.x, w.wq, w.bq), self.query_heads)
        k = split_heads(linear_onto_bias(call.x, w.wk, w.bk), self.kv_heads)
        v = split_heads(linear_onto_bias(call.x, w.wv, w.bv), self.kv_heads)
        f.comment("Rotary embedding; the positions are those after the cached tokens.")
        positions = arange(f, call.tokens, call.past)
        frequencies = yarn_inverse_frequencies(self.theta, self.head_dim, self.yarn)
        angles = angles_by_matmul(f.dense(frequencies, wide(self.dtype)), unsqueeze(positions, 0))
        magnitude = yarn_magnitude(self.yarn.factor)
        turn = cos_sin(angles, self.dtype, magnitude, join=None)
        q, k = rope_chunks(q, *turn), rope_chunks(k, *turn)
        f.comment("The cache.")
        k, v = call.append("k", k), call.append("v", v)
        f.comment("Attention in a window, with sinks.")
        keys, values = repeat_kv(k, self.group), repeat_kv(v, self.group)
        scores = mul_number(matmul(q, transpose(keys, 2, 3)), self.head_dim**-0.5)
        mask = causal(positions, arange(f, call.keys), self.window)
        scores = add(scores, additive(mask, -LARGEST[self.dtype], self.dtype))
        out = matmul(self.softmax_with_sinks(scores, w.sinks), values)
        return linear_onto_bias(join_heads(out), w.wo, w.bo), {"k": k, "v": v}
