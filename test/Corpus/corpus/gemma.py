"""Gemma 2: capped scores, and a cache of fixed length that new rows are written into."""

from dataclasses import dataclass

from .elementwise import add, div_number, mul_number, tanh
from .heads import join_heads, repeat_kv, split_heads
from .layer import GroupedLayer
from .linear import linear, matmul
from .masks import additive, arange, causal
from .normalize import wide_softmax
from .rope import angles_by_matmul, cos_sin, inverse_frequencies, rope_half
from .shapes import full, insert, transpose, unsqueeze
from .text import LARGEST, wide


@dataclass(frozen=True, kw_only=True)
class Gemma2(GroupedLayer):
    hidden: int = 3584
    query_heads: int = 16
    kv_heads: int = 8
    head_dim: int = 256
    theta: float = 1e4
    score_width: int = 256  # the scale is 1 / sqrt(score_width)
    softcap: float = 50.0
    capacity: int = 8192  # tokens of the cache

    name = "gemma-2-9b"
    title = "The attention of one layer without a window of Gemma 2 9B (arXiv:2408.00118)."

    def cache_shape(self, name, batch, tokens):
        return super().cache_shape(name, batch, self.capacity)

    def write(self, call, name, new):
        """Writes the new rows where the first of them stands; @prefill begins with zeros."""
        f = call.function
        if not call.caches:
            empty_cache = full(f, self.cache_shape(name, call.batch, None), 0.0, self.dtype)
            return insert(new, empty_cache, [0, 0, 0, 0])
        zero, positions = f.constant(0, "index").name, call.positions
        text = f"tensor.extract {positions.name}[{zero}, {zero}] : {positions.type}"
        first = f.scalar(text, "i64").name
        place = f.scalar(f"arith.index_cast {first} : i64 to index", "index").name
        return insert(new, call.caches[name], [0, 0, place, 0])

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
        k, v = self.write(call, "k", k), self.write(call, "v", v)
        f.comment("Attention over all rows of the cache; the mask leaves out those not written.")
        keys, values = repeat_kv(k, self.group), repeat_kv(v, self.group)
        scores = mul_number(matmul(q, transpose(keys, 2, 3)), self.score_width**-0.5)
        scores = mul_number(tanh(div_number(scores, self.softcap)), self.softcap)
        mask = causal(call.positions, arange(f, self.capacity))
        mask = unsqueeze(additive(mask, -LARGEST[self.dtype], self.dtype), 1)
        out = matmul(wide_softmax(add(scores, mask)), values)
        return linear(join_heads(out), w.wo), {"k": k, "v": v}
