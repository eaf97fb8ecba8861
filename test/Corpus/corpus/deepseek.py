"""DeepSeek V2 and V3: latent attention that caches keys and values of every head."""

from dataclasses import dataclass

from .elementwise import add, mul_number
from .heads import join_heads, split_heads
from .layer import BYTES, Layer
from .linear import linear, matmul
from .masks import additive_causal
from .normalize import rms_norm, wide_softmax
from .rope import (
    Yarn, angles_by_matmul, angles_by_outer, cos_sin, halves_of_pairs, rope_half, rope_pairs,
    yarn_inverse_frequencies, yarn_magnitude,
)  # fmt: skip
from .shapes import cat, empty, split, transpose, unsqueeze
from .text import wide


@dataclass(frozen=True, kw_only=True)
class DeepSeek(Layer):
    """One weight makes keys and values of a latent row; a rotary part is shared by the heads."""

    query_heads: int
    latent: int = 512
    rotary: int = 64
    key_width: int = 128  # of the part without rotary embedding
    value_width: int = 128
    theta: float = 1e4
    yarn: Yarn
    epsilon: float = 1e-6

    @property
    def head_dim(self):
        return self.key_width + self.rotary

    @property
    def scale(self):
        yarn = self.yarn
        return self.head_dim**-0.5 * yarn_magnitude(yarn.factor, yarn.score_strength) ** 2

    @property
    def magnitude(self):
        """How much cosines and sines are scaled."""
        factor = self.yarn.factor
        over = yarn_magnitude(factor, self.yarn.score_strength)
        return yarn_magnitude(factor, self.yarn.strength) / over

    def query_weights(self):
        raise NotImplementedError

    def project_queries(self, call):
        raise NotImplementedError

    def turn(self, call, *parts):
        """Writes the rotary embedding of the given parts of queries and keys."""
        raise NotImplementedError

    def weights(self):
        return {
            **self.query_weights(),
            "wkv_a": (self.latent + self.rotary, self.hidden),
            "kv_a_norm": (self.latent,),
            "wkv_b": (self.query_heads * (self.key_width + self.value_width), self.latent),
            "wo": (self.hidden, self.query_heads * self.value_width),
        }

    def widths(self):
        return {"k": (self.query_heads, self.head_dim), "v": (self.query_heads, self.value_width)}

    def smallest_bytes(self):
        return BYTES[self.dtype] * (self.latent + self.rotary)

    def frequencies(self, f):
        values = yarn_inverse_frequencies(self.theta, self.rotary, self.yarn)
        return f.dense(values, wide(self.dtype))

    def attend(self, call):
        f, w = call.function, call.weights
        f.comment("Queries, without and with rotary embedding.")
        q = split_heads(self.project_queries(call), self.query_heads)
        q, q_rotary = split(q, self.key_width, self.rotary)
        f.comment("The latent row and the rotary part of the keys, then keys and values of it.")
        latent, k_rotary = split(linear(call.x, w.wkv_a), self.latent, self.rotary)
        kv = linear(rms_norm(latent, w.kv_a_norm, self.epsilon), w.wkv_b)
        k, v = split(split_heads(kv, self.query_heads), self.key_width, self.value_width)
        q_rotary, k_rotary = self.turn(call, q_rotary, unsqueeze(k_rotary, 1))
        f.comment("Queries and keys of full width; the rotary part of the keys is every head's.")
        q = cat([q, q_rotary], -1)
        k = cat([k, self.of_every_head(k_rotary)], -1)
        f.comment("The cache.")
        k, v = call.append("k", k), call.append("v", v)
        f.comment("Attention.")
        scores = mul_number(matmul(q, transpose(k, 2, 3)), self.scale)
        mask = additive_causal(f, call.tokens, call.keys, call.past, self.dtype)
        out = matmul(wide_softmax(add(scores, mask)), v)
        return linear(join_heads(out), w.wo), {"k": k, "v": v}

    def of_every_head(self, x):
        """(batch, 1, tokens, width) to (batch, heads, tokens, width)."""
        shape = (x.shape[0], self.query_heads, *x.shape[2:])
        maps = [["d0", 0, "d2", "d3"], ["d0", "d1", "d2", "d3"]]
        init = empty(x.function, shape, x.dtype)
        return x.function.generic([x], maps, init, lambda b, s, _: s)

@dataclass(frozen=True, kw_only=True)
class DeepSeekV3(DeepSeek):
    hidden: int = 7168
    query_heads: int = 128
    query_latent: int = 1536
    yarn: Yarn = Yarn()

    name = "deepseek-v3"
    title = "The attention of one layer of DeepSeek-V3 (arXiv:2412.19437)."

    def query_weights(self):
        return {
            "wq_a": (self.query_latent, self.hidden),
            "q_a_norm": (self.query_latent,),
            "wq_b": (self.query_heads * self.head_dim, self.query_latent),
        }

    def project_queries(self, call):
        w = call.weights
        return linear(rms_norm(linear(call.x, w.wq_a), w.q_a_norm, self.epsilon), w.wq_b)

    def turn(self, call, *parts):
        f = call.function
        f.comment("Rotary embedding of pairs, whose elements are moved apart first.")
        angles = angles_by_matmul(self.frequencies(f), call.positions)
        turn = cos_sin(angles, self.dtype, self.magnitude)
        return [rope_half(halves_of_pairs(x), *turn) for x in parts]


@dataclass(frozen=True, kw_only=True)
class DeepSeekV2Lite(DeepSeek):
    hidden: int = 2048
    query_heads: int = 16
    yarn: Yarn = Yarn(strength=0.707, score_strength=0.707)

    name = "deepseek-v2-lite"
    title = "The attention of one layer of DeepSeek-V2-Lite (arXiv:2405.04434)."

    def query_weights(self):
        return {"wq": (self.query_heads * self.head_dim, self.hidden)}

    def project_queries(self, call):
        return linear(call.x, call.weights.wq)

    def turn(self, call, *parts):
        f = call.function
        f.comment("Rotary embedding of pairs, as complex numbers.")
        angles = angles_by_outer(self.frequencies(f), call.positions)
        turn = cos_sin(angles, wide(self.dtype), self.magnitude, join=None)
        return [rope_pairs(x, *turn) for x in parts]
