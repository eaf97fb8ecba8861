"""Layers drawn at random: sizes, what is cached, and how each step is spelled."""

import math
from dataclasses import dataclass, field

import numpy as np

from .elementwise import add, div_number, mul_number, tanh
from .heads import (
    join_heads, repeat_interleave, repeat_kv, repeat_kv_by_broadcast, split_heads,
)  # fmt: skip
from .layer import BYTES, Layer
from .linear import contract, linear, linear_batched, linear_transposed, matmul
from .masks import additive, additive_causal, arange, causal, masked_fill
from .normalize import amax, max_with_index, wide_softmax
from .rope import (
    angles_by_matmul, angles_by_outer, cos_sin, inverse_frequencies, rope_chunks, rope_half,
)  # fmt: skip
from .shapes import cat, cat_by_insertion, split, transpose, unsqueeze
from .text import LARGEST, wide


#: Choices that a failing layer is reduced towards.
SIMPLEST = {
    "kv_heads": 1, "group": 1, "rope": None, "softcap": None, "window": None, "rotary": 0,
    "cache_repeated": False, "one_weight": False, "rotary_first": False, "latent": False,
    "linear": linear, "angles": angles_by_outer, "largest": amax, "scale_at": "scores",
    "mask": "added", "join": cat, "key_width": 4, "value_width": 4, "latent_width": 6,
}  # fmt: skip


def tile(x, group):
    """All heads `group` times: copies next to each other."""
    return cat([x] * group, 1)


def scores_transposed(q, k):
    return matmul(q, transpose(k, 2, 3))


def scores_contracted(q, k):
    return contract(q, k, "bhqd", "bhkd", "bhqk")


def output_multiplied(p, v):
    return matmul(p, v)


def output_contracted(p, v):
    return contract(p, v, "bhqk", "bhkd", "bhqd")


@dataclass(frozen=True, kw_only=True)
class RandomLayer(Layer):
    """Heads in groups, or latent rows that are multiplied by head; what the seed says."""

    hidden: int = 24
    seed: int = 0
    fixed: dict = field(default_factory=dict, hash=False)  # choices that are not drawn
    choice: dict = field(init=False, hash=False)

    name = "random"

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)

        def pick(*options):
            return options[rng.integers(len(options))]

        choice = {
            "latent": int(rng.integers(3)) == 0,
            "kv_heads": pick(1, 2, 3, 4),
            "group": pick(1, 2, 3, 5),
            "key_width": pick(4, 6, 8),
            "value_width": pick(4, 6, 10),
            "latent_width": pick(6, 8, 14),
            "rotary": pick(0, 4, 8),
            "rotary_first": pick(False, True),
            "one_weight": pick(False, True),
            "repeat": pick(repeat_kv, repeat_kv_by_broadcast, tile, "interleave"),
            "cache_repeated": pick(False, True),
            "linear": pick(linear, linear_batched, linear_transposed),
            "scores": pick(scores_transposed, scores_contracted),
            "output": pick(output_multiplied, output_contracted),
            "scale_at": pick("scores", "queries", "both", "divided"),
            "softcap": pick(None, None, 1.5),
            "window": pick(None, None, 1, 3),
            "mask": pick("added", "filled", "by index", "largest"),
            "rope": pick(None, rope_half, rope_chunks),
            "angles": pick(angles_by_matmul, angles_by_outer),
            "largest": pick(amax, max_with_index),
            "join": pick(cat, cat, cat_by_insertion),
        }
        choice.update(self.fixed)
        if choice["latent"]:
            choice.update(group=1, cache_repeated=False)
        object.__setattr__(self, "choice", choice)

    @property
    def title(self):
        return f"A random layer, seed {self.seed}."

    def __getattr__(self, name):
        return self.__dict__["choice"][name]

    @property
    def query_heads(self):
        return self.kv_heads * self.group

    @property
    def rope_width(self):
        """Columns of the keys that are turned."""
        return self.rotary if self.latent else self.key_width

    @property
    def full_key_width(self):
        return self.key_width + (self.rotary if self.latent else 0)

    def weights(self):
        heads, hidden = self.kv_heads, self.hidden
        shapes = {"wq": (self.query_heads * self.full_key_width, hidden)}
        if not self.latent:
            shapes["wk"] = (heads * self.key_width, hidden)
            shapes["wv"] = (heads * self.value_width, hidden)
        else:
            shapes["w_down"] = (self.latent_width + self.rotary, hidden)
            if self.one_weight:
                shapes["w_up"] = (heads * (self.key_width + self.value_width), self.latent_width)
            else:
                shapes["w_up_k"] = (heads * self.key_width, self.latent_width)
                shapes["w_up_v"] = (heads * self.value_width, self.latent_width)
        return {**shapes, "wo": (hidden, self.query_heads * self.value_width)}

    def widths(self):
        heads = self.query_heads if self.cache_repeated else self.kv_heads
        return {"k": (heads, self.full_key_width), "v": (heads, self.value_width)}

    def smallest_bytes(self):
        bytes = BYTES[self.dtype]
        grouped = self.kv_heads * (self.full_key_width + self.value_width)
        if not self.latent or self.join is not cat:
            return bytes * (self.written_bytes() // bytes if self.join is not cat else grouped)
        latent = self.latent_width + self.rotary
        work = 2 * self.latent_width + self.rotary
        allowed = 4 * (self.full_key_width + self.value_width)
        return bytes * (latent if latent < grouped and work <= allowed else grouped)

    def written_bytes(self):
        return BYTES[self.dtype] * sum(heads * width for heads, width in self.widths().values())

    # --- The text ------------------------------------------------------------

    def turn(self, call, x):
        if not self.rope or not self.rope_width:
            return x
        f = call.function
        frequencies = f.dense(inverse_frequencies(1e3, self.rope_width), wide(self.dtype))
        join = None if self.rope is rope_chunks else cat
        angles = self.angles(frequencies, call.positions)
        return self.rope(x, *cos_sin(angles, self.dtype, join=join))

    def grouped_rows(self, call):
        w = call.weights
        q = self.turn(call, split_heads(self.linear(call.x, w.wq), self.query_heads))
        k = self.turn(call, split_heads(self.linear(call.x, w.wk), self.kv_heads))
        return q, k, split_heads(self.linear(call.x, w.wv), self.kv_heads)

    def latent_rows(self, call):
        w = call.weights
        q = split_heads(self.linear(call.x, w.wq), self.query_heads)
        latent = self.linear(call.x, w.w_down)
        if self.rotary:
            latent, shared = split(latent, self.latent_width, self.rotary)
        if self.one_weight:
            both = split_heads(self.linear(latent, w.w_up), self.kv_heads)
            k, v = split(both, self.key_width, self.value_width)
        else:
            k = split_heads(self.linear(latent, w.w_up_k), self.kv_heads)
            v = split_heads(self.linear(latent, w.w_up_v), self.kv_heads)
        if not self.rotary:
            return q, k, v
        widths = [self.key_width, self.rotary]
        parts = split(q, *(widths[::-1] if self.rotary_first else widths))
        plain, turned = parts[::-1] if self.rotary_first else parts
        turned = self.turn(call, turned)
        shared = repeat_kv_by_broadcast(self.turn(call, unsqueeze(shared, 1)), self.kv_heads)
        order = -1 if self.rotary_first else 1
        return cat([plain, turned][::order], -1), cat([k, shared][::order], -1), v

    def repeated(self, x):
        if self.group == 1:
            return x
        if self.repeat == "interleave":
            return repeat_interleave(x, self.group, 1)
        return self.repeat(x, self.group)

    def masked(self, call, scores):
        f = call.function
        least = -LARGEST[self.dtype] if self.mask == "largest" else -math.inf
        if self.mask == "by index" and self.window is None:
            return add(scores, additive_causal(f, call.tokens, call.keys, call.past, self.dtype))
        mask = causal(arange(f, call.tokens, call.past), arange(f, call.keys), self.window)
        if self.mask == "filled":
            return masked_fill(scores, mask, least)
        return add(scores, additive(mask, least, self.dtype))

    def attend(self, call):
        q, k, v = self.latent_rows(call) if self.latent else self.grouped_rows(call)
        if self.cache_repeated:
            k, v = self.repeated(k), self.repeated(v)
        k, v = [call.append(name, new, join=self.join) for name, new in zip("kv", (k, v))]
        keys, values = (k, v) if self.cache_repeated else (self.repeated(k), self.repeated(v))
        scale = self.full_key_width**-0.5
        if self.scale_at == "queries":
            q = mul_number(q, scale)
        if self.scale_at == "both":
            q, keys = mul_number(q, math.sqrt(scale)), mul_number(keys, math.sqrt(scale))
        scores = self.scores(q, keys)
        if self.scale_at == "scores":
            scores = mul_number(scores, scale)
        if self.scale_at == "divided":
            scores = div_number(scores, 1 / scale)
        if self.softcap:
            scores = mul_number(tanh(div_number(scores, self.softcap)), self.softcap)
        out = self.output(wide_softmax(self.masked(call, scores), self.largest), values)
        return self.linear(join_heads(out), call.weights.wo), {"k": k, "v": v}
