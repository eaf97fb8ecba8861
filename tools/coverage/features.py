"""The rows of the coverage table: one attention, or what stands in for it, each."""

from dataclasses import dataclass, replace
from typing import Callable, Union

import numpy as np

import kvc
import reference
from configs import Config, Foreign, Rope, gqa, merge_text, mla, two_attentions
from problems import Memory, Problem, check, run, unwritten
from quantized import Case, Data, Stored, fill

#: Lengths of the sequences, and the new tokens of each by phase.
KV_LENS = [20, 7]
QUERY_LENS = {"decode": [1, 1], "prefill": [9, 2]}


@dataclass(frozen=True)
class Attention:
    """A function with one attention, by the element type."""

    subject: str
    name: str
    config: Callable[[str], Config]

    def text(self, dtype):
        return self.config(dtype).text

    def run(self, program, dtype, phase, stream):
        """Runs the function, and compares what it gives with the reference."""
        problem = Problem(self.config(dtype), KV_LENS, QUERY_LENS[phase])
        check(problem, run(program["attend"], problem, stream=stream))


@dataclass(frozen=True)
class Attentions:
    """A function with two attentions over two caches."""

    subject: str
    name: str

    def configs(self, dtype):
        return base(dtype, lse=True), base(dtype, width=64, lse=True, window=9)

    def text(self, dtype):
        return two_attentions(*self.configs(dtype))

    def run(self, program, dtype, phase, stream):
        function = program["attend"]
        problems = [Problem(c, KV_LENS, QUERY_LENS[phase]) for c in self.configs(dtype)]
        types = [a.cache_type for a in function.args if a.kind == "cache"]
        memories = [Memory(p, t, device=stream.device) for p, t in zip(problems, types)]
        out = [array for problem in problems for array in unwritten(problem)]
        queries, views = [p.queries[0] for p in problems], [m.view for m in memories]
        function(*queries, *views, memories[0].batch, out=tuple(out), stream=stream)
        check(problems[0], out[:2])
        check(problems[1], out[2:])


@dataclass(frozen=True)
class Merge:
    """A function that merges parts; its rows are tokens of either phase."""

    subject: str
    name: str
    parts: int

    def text(self, dtype):
        return merge_text(self.parts, 4, 64, dtype)

    def run(self, program, dtype, phase, stream):
        rng, tokens = np.random.default_rng(0), sum(QUERY_LENS[phase])
        element = kvc.dtypes.to_numpy(dtype)
        outputs = rng.standard_normal((self.parts, tokens, 4, 64)).astype(element)
        lses = rng.standard_normal((self.parts, tokens, 4)).astype(np.float32)
        out, lse = np.empty_like(outputs[0]), np.empty_like(lses[0])
        program["merge"](*outputs, *lses, out=(out, lse), stream=stream)
        want, want_lse = reference.merge(list(outputs), list(lses))
        reference.check_rows(out, want, dtype)
        reference.check_lse(lse, want_lse)


@dataclass(frozen=True)
class Quantized:
    """A function that appends to a quantised cache and attends over it."""

    subject: str
    name: str
    k: Stored
    v: Union[Stored, None] = None  # as k; of a latent cache, plain rows beside it
    latent: bool = False
    width: int = 128

    def case(self, dtype):
        v = Stored(dtype) if self.latent else self.v or self.k
        if self.latent:
            return Case(self.k, v, dtype, 1, 16, 512, latent=True)
        return Case(self.k, v, dtype, 2, 4, self.width)

    def text(self, dtype):
        return self.case(dtype).text

    def run(self, program, dtype, phase, stream):
        data, query_lens = Data(self.case(dtype), KV_LENS), QUERY_LENS[phase]
        (out, lse, _), _, _ = fill(program["attend"], data, query_lens, stream)
        want, want_lse = data.want(query_lens)
        reference.check_rows(out, want, dtype)
        reference.check_lse(lse, want_lse)


def quantized():
    """Yields a row for each element and scheme, and some mixtures."""
    for element in ("f8E4M3FN", "f8E5M2", "i8", "i4"):
        schemes = [("tensor", True), ("head", True), ("token", False), (32, False), (64, False),
                   (128, False), (32, True)]  # fmt: skip
        kinds = [Stored(element)] if element.startswith("f8") else []
        kinds += [Stored(element, "tensor", static=True, constant=0.05)]
        kinds += [Stored(element, scheme, static=static) for scheme, static in schemes]
        kinds += [Stored(element, "token", "f16")]
        if element == "i4":
            zero = [("token", False), (32, False), ("head", True)]
            kinds += [Stored(element, scheme, "f16", static, zero=True) for scheme, static in zero]
        for kind in kinds:
            yield Quantized("keys and values", str(kind), kind)
    i8, i4 = Stored("i8", "token"), Stored("i4", 32, "f16", zero=True)
    yield Quantized("keys, values", f"{i8}, {i4}", i8, i4)
    for kind in (Stored("i8", 32), Stored("i4", 32, "f16", zero=True)):
        yield Quantized("keys and values of width 256", str(kind), kind, width=256)
    for kind in (Stored("f8E4M3FN", 128), Stored("i8", "token"), Stored("i8", 32),
                 Stored("i4", "token", zero=True), Stored("i4", 32, zero=True)):  # fmt: skip
        yield Quantized("latent 512, rotary 64 as the queries", str(kind), kind, latent=True)


def base(dtype, query_heads=8, kv_heads=2, width=128, **others):
    """Llama's width and pages, with fewer heads."""
    return gqa(query_heads, kv_heads, width, dtype=dtype, **{"lse": False, **others})


def attention(subject, name, make=base, **others):
    return Attention(subject, name, lambda dtype: make(dtype=dtype, **others))


def terms(widths, value_width, dtype="bf16"):
    """Returns attention with a score term of each width."""
    names = "abc"[: len(widths)]
    components = [(name, 2, width, dtype) for name, width in zip(names, widths)]
    return Config(
        query_heads=8,
        components=(*components, ("v", 2, value_width, dtype)),
        terms=tuple(names),
        query_dtype=dtype,
        out_dtype=dtype,
        lse=False,
    )


def value_is_key(dtype):
    return replace(base(dtype), components=(("k", 2, 128, dtype),), value="k")


FEATURES = [
    *(attention("query heads a KV head", str(group), query_heads=2 * group)
      for group in (1, 2, 3, 4, 5, 7, 8, 16, 48, 71, 128)),
    *(attention("width", str(width), width=width)
      for width in (8, 40, 64, 72, 80, 96, 112, 128, 192, 256, 576)),
    *(attention("width of keys, of values", f"{width}, {value_width}", width=width,
                value_width=value_width)
      for width, value_width in ((192, 128), (64, 128), (40, 72), (128, 8))),
    attention("score terms", "64 + 24", terms, widths=(64, 24), value_width=40),
    attention("score terms", "64 + 8 + 16", terms, widths=(64, 8, 16), value_width=64),
    attention("value is a key", "128", value_is_key),
    *(attention("latent 512 + rotary 64, query heads", str(heads), mla, query_heads=heads,
                latent=512, lse=False)
      for heads in (1, 16, 128)),
    *(attention("tokens a page", str(page), page=page) for page in (1, 3, 8, 16, 64, 256)),
    *(attention("buffers of an engine", f"{order.upper()}{', fused' * fused}",
                foreign=Foreign(order, fused))
      for order in ("nhd", "hnd") for fused in (False, True)),
    attention("buffers of an engine", "page ids in compressed rows", foreign=Foreign(table=False)),
    attention("scores", "not causal", causal=False),
    attention("scores", "window", window=9),
    attention("scores", "softcap", softcap=30.0),
    attention("scores", "ALiBi", alibi=True),
    attention("scores", "sinks", sinks=True, out_dtype="f32"),
    attention("scores", "window, softcap, sinks", window=9, softcap=30.0, sinks=True,
              out_dtype="f32"),
    attention("results", "log-sum-exp", lse=True),
    attention("results", "f32 output", out_dtype="f32"),
    attention("results", "deterministic", deterministic=True),
    attention("queries", "f32", query_dtype="f32", out_dtype="f32"),
    attention("before attention", "append", append=True),
    attention("before attention", "append with rope", append=True, rope=Rope("k", 128)),
    attention("before attention", "append with interleaved rope", append=True,
              rope=Rope("k", 64, "interleaved")),
    Attentions("in one function", "two attentions"),
    Merge("in one function", "merge of 3 parts", 3),
    *quantized(),
]  # fmt: skip
