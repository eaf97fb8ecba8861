"""The programs of a pack: what they compute, as MLIR text and as facts."""

from dataclasses import asdict, dataclass
from typing import Optional


@dataclass(frozen=True)
class Variant:
    """Decode attention over a paged cache; with `append` it also writes the new rows.

    `kv_lens` are the batches that are checked; each sequence has one new token,
    but for those of length 0. Those in `long` are not tried with --quick.
    """

    name: str
    query_heads: int
    kv_heads: int
    width: int
    dtype: str
    page: int
    causal: bool = True
    window: Optional[int] = None
    softcap: Optional[float] = None
    sinks: bool = False
    lse: bool = False
    append: bool = False
    split: Optional[int] = None
    checked: bool = True
    timed: bool = False
    long: tuple = ()

    @property
    def scale(self):
        return {64: 0.125, 128: 0.08838834613561630}[self.width]

    @property
    def text(self):
        """Returns a module with one function, @attend.

        Its inputs are the queries, with `append` the new keys and values, with
        `sinks` the sinks, the cache and the batch.
        """
        h, w, t = self.kv_heads, self.width, self.dtype
        rows, new = f"tensor<?x{self.query_heads}x{w}x{t}>", f"tensor<?x{h}x{w}x{t}>"
        sinks = f"tensor<{self.query_heads}xf32>"
        inputs = [f"%q: {rows}"]
        lines = []
        if self.append:
            inputs += [f"%k: {new}", f"%v: {new}"]
            lines.append(f"  kvc.append %cache[k: %k, v: %v] at %batch : !cache, {new}, {new}")
        if self.sinks:
            inputs.append(f"%sinks: {sinks}")
        inputs += ["%cache: !cache", "%batch: !kvc.batch"]
        modifiers = [f"#kvc.softcap<{self.softcap!r}>"] if self.softcap is not None else []
        modifiers += ["#kvc.causal"] if self.causal else []
        modifiers += [f"#kvc.window<{self.window}>"] if self.window is not None else []
        score = f" score [{', '.join(modifiers)}]" if modifiers else ""
        taken = f" sinks(%sinks : {sinks})" if self.sinks else ""
        results = rows + (f", tensor<?x{self.query_heads}xf32>" if self.lse else "")
        names = "%out, %lse" if self.lse else "%out"
        lines.append(
            f"  {names} = kvc.attention %cache at %batch terms(%q * k) value(v){taken}{score} "
            f"{{scale = {self.scale:.9e} : f32}} : !cache, {rows} -> {results}"
        )
        lines.append(f"  return {names} : {results}")
        body = "\n".join(lines)
        return (
            f"!cache = !kvc.cache<page = {self.page}, k: {h}x{w}x{t}, v: {h}x{w}x{t}>\n"
            f"func.func @attend({', '.join(inputs)}) -> ({results}) {{\n{body}\n}}\n"
        )

    def facts(self):
        return {**asdict(self), "scale": self.scale}


_LONG = ((1, 9000), (20000,))

VARIANTS = (
    Variant("llama-3-8b-append", 32, 8, 128, "bf16", 64, append=True, long=_LONG),
    Variant("llama-3-8b", 32, 8, 128, "bf16", 64, timed=True, long=_LONG),
    Variant("llama-3-8b-split-64", 32, 8, 128, "bf16", 16, split=64, long=((3, 4500),)),
    Variant("llama-3-70b", 64, 8, 128, "bf16", 64, timed=True),
    Variant("qwen2.5-7b", 28, 4, 128, "bf16", 64, append=True, timed=True),
    Variant("mha-32", 32, 32, 128, "bf16", 64, timed=True),
    Variant("gpt2", 12, 12, 64, "f16", 16, append=True, lse=True),
    Variant("falcon-7b", 71, 1, 64, "bf16", 64, append=True),
    Variant("f16-all", 6, 2, 64, "f16", 5, window=150, softcap=3.0, sinks=True, lse=True),
    Variant("f16-window", 16, 1, 128, "f16", 32, window=1024, lse=True, long=((9000, 700),)),
    Variant("bf16-softcap-sinks", 16, 2, 128, "bf16", 16, softcap=20.0, sinks=True, lse=True),
    Variant("page-1", 8, 2, 64, "bf16", 1, append=True),
    Variant("group-128", 128, 1, 128, "f16", 128, lse=True),
    Variant("not-causal", 4, 4, 64, "f16", 24, causal=False),
)

#: What the project's own test packs.
SMALL = ("llama-3-8b-append", "f16-all", "page-1")
