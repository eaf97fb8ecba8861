"""The programs of a pack, and the batches that each is checked with.

The compiler takes them from here when a pack is made, and the checks read them again on
the other machine, with configs.py and quantized.py of test/python.
"""

from dataclasses import dataclass
from typing import Optional

import kvc.dtypes
import quantized
from configs import Config, Foreign, Rope, gqa, merge_text, mla
from quantized import Stored


@dataclass(frozen=True)
class Batch:
    """Tokens of each sequence, and how many of them are new.

    `is_long`: not tried with --quick.
    """

    kv_lens: tuple
    query_lens: tuple
    is_long: bool = False


@dataclass(frozen=True)
class Case:
    """A program of one attention, which `config` describes.

    `timed` names the table of timing.py that it is in. `split` is that of
    kvc-translate, `cluster` that of kvc-plan.
    """

    family: str
    name: str
    config: Config
    batches: tuple
    split: Optional[int] = None
    timed: Optional[str] = None
    cluster: Optional[int] = None

    @property
    def text(self):
        return self.config.text

    @property
    def page(self):
        return self.config.page

    @property
    def inputs(self):
        """Returns queries and new rows of a call: heads, width and dtype of each."""
        c = self.config
        queries = [(c.query_heads, c.component(name)[1], c.query_dtype) for name in c.terms]
        return queries + [component[1:] for component in c.components if c.append]

    @property
    def results(self):
        """Returns results of a call: what follows the tokens in the shape, and dtype."""
        c = self.config
        lse = [((c.query_heads,), "f32")] if c.lse else []
        return [((c.query_heads, c.value_width), c.out_dtype), *lse]

    @property
    def token_bytes(self):
        """Returns bytes of the keys and values of a token."""
        return sum(
            heads * width * kvc.dtypes.to_numpy(dtype).itemsize
            for _, heads, width, dtype in self.config.components
        )

    @property
    def product_columns(self):
        """Returns columns of the two products, over all query heads."""
        c = self.config
        return c.query_heads * (sum(c.component(n)[1] for n in c.terms) + c.value_width)


@dataclass(frozen=True)
class Quantized:
    """A program of an append and an attention over a cache of codes."""

    family: str
    name: str
    case: quantized.Case
    batches: tuple
    timed: Optional[str] = None
    split, cluster = None, None

    @property
    def text(self):
        return self.case.text

    @property
    def page(self):
        return self.case.page

    @property
    def inputs(self):
        c = self.case
        queries = [(c.query_heads, width, c.dtype) for width in c.key_widths]
        return queries + [(c.heads, width, c.dtype) for _, _, width in c.components]

    @property
    def results(self):
        c = self.case
        width = c.widths[0] if c.latent else c.widths[1]
        return [((c.query_heads, width), c.dtype), ((c.query_heads,), "f32"), ((), "i32")]

    @property
    def token_bytes(self):
        """Returns bytes of the codes, scales and zero points of a token."""
        return self.case.heads * sum(
            stored.row_bytes(width) for _, stored, width in self.case.components
        )

    @property
    def product_columns(self):
        c = self.case
        return c.query_heads * (sum(c.key_widths) + (c.widths[0] if c.latent else c.widths[1]))


@dataclass(frozen=True)
class Merge:
    """A program that merges parts; its batches are numbers of tokens."""

    family: str
    name: str
    parts: int
    heads: int
    width: int
    dtype: str
    sinks: bool = False
    tokens: tuple = (1, 5, 33)
    split, timed, cluster = None, None, None

    @property
    def text(self):
        return merge_text(self.parts, self.heads, self.width, self.dtype, sinks=self.sinks)


def decode(config, *long):
    """Returns batches of at most one new token a sequence; `long` are further lengths."""
    page, window = config.page, config.window
    around = tuple(sorted({n for n in (page - 1, page, page + 1) if n > 0}))
    # Ends of tiles of 64 keys, and of splits of 256.
    edges = (63, 64, 65, 129)
    edges += (window - 1, window, window + 1) if window else ()
    full = ((1023, 1024, 1025, 2500), (), (0, 0), tuple(1 + 37 * i % 300 for i in range(40)))

    def batch(lens, is_long):
        return Batch(lens, tuple(min(n, 1) for n in lens), is_long)

    short = [batch(lens, False) for lens in ((1, 0, *around), edges)]
    return (*short, *(batch(lens, True) for lens in (*full, *long)))


def prefill(*long):
    """Returns batches of several new tokens: whole prompts, parts of them, and a decode."""
    return (
        Batch((70, 16, 1), (70, 5, 1)),
        Batch((130, 64, 33, 0), (33, 64, 1, 0)),
        Batch((513, 200, 1), (257, 200, 1), is_long=True),
        Batch((1100,), (300,), is_long=True),
        *(Batch((n,), (n,), is_long=True) for n in long),
    )


def both(config, *long):
    return decode(config, *long) + prefill()


def _decodes():
    def case(name, *shape, long=(), timed=None, split=None, cluster=None, dtype="bf16", page=64,
             **others):  # fmt: skip
        config = gqa(*shape, dtype=dtype, page=page, **{"lse": False, **others})
        return Case("decode", name, config, decode(config, *long), split, timed, cluster)

    return (
        case("llama-3-8b-append", 32, 8, 128, append=True, timed="decode",
             long=((1, 9000), (20000,))),
        case("llama-3-8b-no-clusters", 32, 8, 128, append=True, timed="decode", cluster=1),
        case("llama-3-8b", 32, 8, 128, lse=True, long=((1, 9000), (20000,))),
        case("llama-3-8b-split-64", 32, 8, 128, page=16, split=64, long=((3, 4500),)),
        case("llama-3-70b", 64, 8, 128, timed="decode"),
        case("qwen2.5-7b", 28, 4, 128, append=True, timed="decode"),
        case("mha-32", 32, 32, 128, timed="decode"),
        case("gpt2", 12, 12, 64, dtype="f16", page=16, append=True, lse=True),
        case("falcon-7b", 71, 1, 64, append=True),
        case("group-3-f16-all", 6, 2, 64, dtype="f16", page=5, window=150, softcap=3.0,
             sinks=True, lse=True),
        case("group-16-window", 16, 1, 128, dtype="f16", page=32, window=1024, lse=True,
             long=((9000, 700),)),
        case("group-8-softcap-sinks", 16, 2, 128, page=16, softcap=20.0, sinks=True, lse=True),
        case("page-1", 8, 2, 64, page=1, append=True),
        case("group-128", 128, 1, 128, dtype="f16", page=128, lse=True),
        case("not-causal", 4, 4, 64, dtype="f16", page=24, causal=False),
        case("width-80", 8, 2, 80, page=16, lse=True),
        case("width-256", 16, 2, 256, dtype="f16", page=16, lse=True),
    )  # fmt: skip


def _prefills():
    def case(name, *shape, long=(), timed=None, dtype="bf16", page=64, **others):
        config = gqa(*shape, dtype=dtype, page=page, **others)
        return Case("prefill", name, config, prefill(*long), timed=timed)

    return (
        case("prefill-llama-3-8b", 32, 8, 128, lse=False, timed="prefill", long=(1024,)),
        case("prefill-mha-16", 16, 16, 128, lse=False, timed="prefill"),
        case("prefill-gemma-2", 16, 8, 256, lse=False, window=96, softcap=50.0, timed="prefill"),
        case("prefill-gpt-oss", 16, 2, 64, page=16, window=128, sinks=True, timed="prefill"),
        case("prefill-falcon-7b", 71, 1, 64, page=16),
        case("prefill-qwen2.5-7b", 28, 4, 128, dtype="f16", page=16),
        case("prefill-width-80", 6, 2, 80, dtype="f16", page=7, window=50, softcap=5.0),
        case("prefill-not-causal", 4, 1, 64, page=24, causal=False),
        case("prefill-alibi", 12, 12, 64, dtype="f16", page=16, alibi=True),
    )


def _latents():
    def case(name, heads, dtype="bf16", timed=None, **others):
        config = mla(heads, latent=512, dtype=dtype, page=64, **{"lse": False, **others})
        return Case("MLA", name, config, both(config), timed=timed)

    return (
        case("mla-16", 16, timed="MLA"),
        case("mla-64", 64, timed="MLA"),
        case("mla-128", 128, timed="MLA"),
        case("mla-16-append-rope", 16, append=True, rope=Rope("r", 64, "interleaved"),
             timed="MLA"),
        case("mla-16-f16", 16, dtype="f16", lse=True),
    )  # fmt: skip


def _others():
    def case(family, name, config, **others):
        return Case(family, name, config, both(config), **others)

    half, interleaved = Rope("k", 128, theta=5e5), Rope("k", 64, "interleaved")
    small = {"page": 16, "append": True}
    return (
        case("append, rope", "append-prefill", gqa(8, 2, 128, dtype="bf16", **small)),
        case("append, rope", "rope", gqa(8, 2, 128, dtype="bf16", page=16, rope=half)),
        case("append, rope", "rope-append", gqa(8, 2, 128, dtype="bf16", rope=half, **small)),
        case("append, rope", "rope-append-f16",
             gqa(7, 1, 128, dtype="f16", rope=interleaved, **small)),
        case("alibi", "alibi", gqa(12, 4, 64, dtype="bf16", alibi=True, page=16)),
        case("deterministic", "deterministic",
             gqa(8, 2, 128, dtype="bf16", page=16, deterministic=True)),
        case("deterministic", "deterministic-mla", mla(20, latent=512, deterministic=True)),
        *(case("buffers of an engine", f"foreign-{order}{'-fused' * fused}",
               gqa(8, 2, 128, dtype="bf16", append=True,
                   foreign=Foreign(order, fused, table=not fused, max_query_len=512,
                                   max_kv_len=4096)))
          for order in ("nhd", "hnd") for fused in (False, True)),
        Merge("merge", "merge-3-bf16", 3, 8, 128, "bf16"),
        Merge("merge", "merge-9-f16-sinks", 9, 3, 64, "f16", sinks=True),
        Merge("merge", "merge-2-f32", 2, 4, 80, "f32"),
    )  # fmt: skip


def _codes():
    token = {"scheme": "token"}

    def case(name, k, v, timed=None, **others):
        config = quantized.Case(k, v, **{"width": 128, "page": 64, **others})
        batches = (
            Batch((1, 0, 63, 64, 65), (1, 0, 1, 1, 1)),
            Batch((129, 300, 15), (1, 1, 1)),
            Batch((70, 16, 1), (70, 5, 1)),
            Batch((1023, 2500), (1, 1), is_long=True),
            Batch((513, 200, 1), (257, 200, 1), is_long=True),
        )
        return Quantized("codes", name, config, batches, timed)

    llama = {"heads": 8, "group": 4}
    f8, i8, i4 = (Stored(element, **token) for element in ("f8E4M3FN", "i8", "i4"))
    fine = {"dtype": "f16", "scheme": 32}
    return (
        case("codes-f8", f8, f8, "codes", **llama),
        case("codes-i8", i8, i8, "codes", **llama),
        case("codes-i4", i4, i4, "codes", **llama),
        case("codes-i8-i4-group-7", i8, i4, group=7, page=16, dtype="f16"),
        case("codes-i4-zero", Stored("i4", zero=True, **fine), Stored("i4", zero=True, **fine)),
        case("codes-f8-static", Stored("f8E5M2", "tensor", static=True),
             Stored("f8E4M3FN", "head", static=True), group=16, heads=1),
        case("codes-f8-plain", Stored("f8E4M3FN"), Stored("f8E5M2"), page=1, width=64),
        case("codes-i8-bf16", Stored("i8", 64), Stored("bf16"), group=12, softcap=20.0),
        case("codes-mla-f8", Stored("f8E4M3FN", 128), Stored("bf16"), "codes", heads=1, group=16,
             width=512, latent=True),
        case("codes-mla-i4", Stored("i4", "token"), Stored("i8", "token"), heads=1, group=16,
             width=256, latent=True, page=16),
    )  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """A whole layer of test/Corpus, whose caches the compiler pages."""

    family: str
    name: str
    layer: str
    split, timed, cluster = None, None, None


_LAYERS = tuple(
    Layer("whole layers", f"layer-{name}", name)
    for name in ("grouped", "llama-3-8b", "gemma-2-9b", "gpt-oss-20b", "deepseek-v2-lite",
                 "deepseek-v3")
)  # fmt: skip

CASES = (*_decodes(), *_prefills(), *_latents(), *_others(), *_codes(), *_LAYERS)

#: What the project's own test packs: each family, in its smallest shape.
SMALL = (
    "llama-3-8b-append", "group-3-f16-all", "page-1", "prefill-gpt-oss", "prefill-width-80",
    "mla-16-append-rope", "rope-append-f16", "deterministic", "foreign-hnd-fused", "merge-3-bf16",
    "layer-deepseek-v3", "codes-i8-i4-group-7", "codes-f8-plain",
)  # fmt: skip
