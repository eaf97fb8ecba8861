"""Configurations of attention, and their MLIR text."""

from dataclasses import dataclass
from typing import Union

import numpy as np

import reference


@dataclass(frozen=True)
class Rope:
    """Rotary embedding of the query of one term, and of the new rows of its component."""

    component: str
    rotary_width: int
    style: str = "half"
    theta: float = 1e4

    def turn(self, rows, positions):
        """Returns rows rotated, in float64."""
        return reference.rope(
            rows, positions, self.rotary_width, theta=self.theta, style=self.style
        )

    def text(self, result, operand, batch, rows):
        return (
            f"  {result} = kvc.rope {operand} at {batch} {{theta = {self.theta:e} : f64, "
            f"rotary_width = {self.rotary_width} : i64, style = #kvc<rope_style {self.style}>}} "
            f": {rows}\n"
        )


@dataclass(frozen=True)
class Foreign:
    """How an engine keeps cache and batch: strided buffers and arrays.

    `order` is nhd or hnd; `fused` puts all components in one buffer; `table` is a
    padded block table, else page ids are in compressed rows. The bounds are those of
    the batch.
    """

    order: str = "nhd"
    fused: bool = False
    table: bool = True
    max_query_len: int = 64
    max_kv_len: int = 64


@dataclass(frozen=True)
class Config:
    """One attention, as the compiler sees it.

    `components` are (name, KV heads, width, element type); `terms` pair a query of
    each named component, `value` names what is summed.
    """

    query_heads: int = 4
    components: tuple = (("k", 2, 64, "f32"), ("v", 2, 64, "f32"))
    terms: tuple = ("k",)
    value: str = "v"
    page: int = 16
    query_dtype: str = "f32"
    out_dtype: str = "f32"
    scale: Union[float, None] = None
    causal: bool = True
    window: Union[int, None] = None
    softcap: Union[float, None] = None
    alibi: bool = False
    sinks: bool = False
    lse: bool = True
    deterministic: bool = False
    append: bool = False
    rope: Union[Rope, None] = None
    foreign: Union[Foreign, None] = None

    def component(self, name):
        """Returns KV heads, width and element type of a component."""
        return next(c[1:] for c in self.components if c[0] == name)

    @property
    def value_width(self):
        return self.component(self.value)[1]

    @property
    def exact_scale(self):
        """The scale, as the f32 that the text holds."""
        width = sum(self.component(name)[1] for name in self.terms)
        return float(np.float32(width**-0.5 if self.scale is None else self.scale))

    @property
    def cache_text(self):
        components = ", ".join(f"{n}: {h}x{w}x{t}" for n, h, w, t in self.components)
        return f"!kvc.cache<page = {self.page}, {components}>"

    def rows_text(self, heads, width, dtype):
        return f"tensor<?x{heads}x{width}x{dtype}>"

    @property
    def query_texts(self):
        return [
            self.rows_text(self.query_heads, self.component(name)[1], self.query_dtype)
            for name in self.terms
        ]

    def attention_text(self, cache="%cache", batch="%batch", out="%out", lse="%lse"):
        """Returns the attention operation alone."""
        modifiers = ["#kvc.causal"] if self.causal else []
        modifiers += [f"#kvc.window<{self.window}>"] if self.window is not None else []
        modifiers += [f"#kvc.softcap<{self.softcap!r}>"] if self.softcap is not None else []
        modifiers += ["#kvc.alibi"] if self.alibi else []
        queries = [
            f"%turned{i}" if self.rope and name == self.rope.component else f"%q{i}"
            for i, name in enumerate(self.terms)
        ]
        terms = ", ".join(f"{q} * {name}" for q, name in zip(queries, self.terms))
        sinks = f" sinks(%sinks : tensor<{self.query_heads}xf32>)" if self.sinks else ""
        score = f" score [{', '.join(modifiers)}]" if modifiers else ""
        return (
            f"{out}{', ' + lse if self.lse else ''} = kvc.attention {cache} at {batch} "
            f"terms({terms}) value({self.value}){sinks}{score} "
            f"{{scale = {self.exact_scale:.9e} : f32{', deterministic' * self.deterministic}}}\n"
            f"      : !cache, {', '.join(self.query_texts)} -> {self.result_texts}"
        )

    @property
    def result_texts(self):
        out = self.rows_text(self.query_heads, self.value_width, self.out_dtype)
        return out + (f", tensor<?x{self.query_heads}xf32>" if self.lse else "")

    @property
    def rope_text(self):
        """Returns the operations that turn what the config's rope names, or nothing."""
        if not self.rope:
            return ""
        name = self.rope.component
        heads, width, dtype = self.component(name)
        term = self.terms.index(name)
        text = self.rope.text(f"%turned{term}", f"%q{term}", "%batch", self.query_texts[term])
        if self.append:
            rows = self.rows_text(heads, width, dtype)
            text += self.rope.text(f"%turned_{name}", f"%new_{name}", "%batch", rows)
        return text

    @property
    def append_text(self):
        """Returns the operation that appends the new rows, or nothing."""
        if not self.append:
            return ""
        turned = self.rope.component if self.rope else None
        values = [
            f"{n}: {'%turned_' if n == turned else '%new_'}{n}" for n, *_ in self.components
        ]
        types = [self.rows_text(h, w, t) for _, h, w, t in self.components]
        return (
            f"  kvc.append %cache[{', '.join(values)}] at %batch\n"
            f"      : !cache, {', '.join(types)}\n"
        )

    @property
    def buffer_texts(self):
        """Returns the types of a foreign cache's buffers."""
        count = len(self.components)

        def memref(heads, width, dtype, outer=""):
            inner = (self.page, heads) if self.foreign.order == "nhd" else (heads, self.page)
            return f"memref<?x{outer}{inner[0]}x{inner[1]}x{width}x{dtype}>"

        if self.foreign.fused:
            return [memref(*self.components[0][1:], f"{count}x")]
        return [memref(*component[1:]) for component in self.components]

    @property
    def edge(self):
        """Returns (inputs, text): what stands for cache and batch in the function."""
        if not self.foreign:
            return ["%cache: !cache", "%batch: !kvc.batch"], ""
        foreign, memrefs = self.foreign, self.buffer_texts
        buffers = [f"%buffer{i}" for i in range(len(memrefs))]
        ids = {"%table": "tensor<?x?xi32>"} if foreign.table else {
            "%page_start": "tensor<?xi32>", "%page_ids": "tensor<?xi32>"}  # fmt: skip
        arrays = {"%start": "tensor<?xi32>", "%lens": "tensor<?xi32>", **ids,
                  "%slots": "tensor<?xi64>", "%positions": "tensor<?xi32>"}  # fmt: skip
        op = "batch_from_block_table" if foreign.table else "batch_from_csr"
        inputs = [f"{n}: {t}" for n, t in (*zip(buffers, memrefs), *arrays.items())]
        return inputs, (
            f"  %cache = kvc.cache_from_buffers {', '.join(buffers)} order {foreign.order}"
            f"{' fused' * foreign.fused}\n      : {', '.join(memrefs)} -> !cache\n"
            f"  %batch = kvc.{op} {', '.join(arrays)}\n"
            f"      max_query_len {foreign.max_query_len} max_kv_len {foreign.max_kv_len}\n"
            f"      : {', '.join(arrays.values())}\n"
        )

    @property
    def text(self):
        """Returns a module with one function, @attend.

        Its inputs are the queries, with `append` the new rows of each component,
        the cache and the batch or what they are made from, and the sinks.
        """
        inputs = [f"%q{i}: {text}" for i, text in enumerate(self.query_texts)]
        if self.append:
            inputs += [f"%new_{n}: {self.rows_text(h, w, t)}" for n, h, w, t in self.components]
        edge_inputs, edge = self.edge
        inputs += edge_inputs
        inputs += [f"%sinks: tensor<{self.query_heads}xf32>"] if self.sinks else []
        returned = "%out, %lse" if self.lse else "%out"
        return (
            f"!cache = {self.cache_text}\n"
            f"func.func @attend({', '.join(inputs)}) -> ({self.result_texts}) {{\n"
            f"{edge}{self.rope_text}{self.append_text}  {self.attention_text()}\n"
            f"  return {returned} : {self.result_texts}\n}}\n"
        )


def gqa(query_heads=4, kv_heads=2, width=64, value_width=None, dtype="f32", **others):
    """Returns the config of grouped-query attention, all elements of one type."""
    components = (
        ("k", kv_heads, width, dtype),
        ("v", kv_heads, width if value_width is None else value_width, dtype),
    )
    others = {"query_dtype": dtype, "out_dtype": dtype, **others}
    return Config(query_heads=query_heads, components=components, **others)


def mla(query_heads=16, latent=128, rotary=64, dtype="bf16", **others):
    """Returns the config of absorbed multi-head latent attention."""
    components = (("c", 1, latent, dtype), ("r", 1, rotary, dtype))
    others = {"query_dtype": dtype, "out_dtype": dtype, **others}
    return Config(
        query_heads=query_heads, components=components, terms=("c", "r"), value="c", **others
    )


def two_attentions(first, second):
    """Returns a module whose @attend reads two caches at the places of one batch."""
    texts = []
    for index, config in enumerate((first, second)):
        text = config.attention_text(f"%cache{index}", out=f"%out{index}", lse=f"%lse{index}")
        texts.append(text.replace("%q0", f"%q{index}").replace("!cache", f"!cache{index}"))
    inputs = [f"%q{i}: {c.query_texts[0]}" for i, c in enumerate((first, second))]
    inputs += ["%cache0: !cache0", "%cache1: !cache1", "%batch: !kvc.batch"]
    results = f"{first.result_texts}, {second.result_texts}"
    return (
        f"!cache0 = {first.cache_text}\n!cache1 = {second.cache_text}\n"
        f"func.func @attend({', '.join(inputs)}) -> ({results}) {{\n"
        f"  {texts[0]}\n  {texts[1]}\n"
        f"  return %out0, %lse0, %out1, %lse1 : {results}\n}}\n"
    )


def merge_text(parts, heads, width, dtype, sinks=False):
    """Returns a module whose function @merge merges `parts` parts."""
    rows, lse = f"tensor<?x{heads}x{width}x{dtype}>", f"tensor<?x{heads}xf32>"
    outputs, lses = [f"%o{i}" for i in range(parts)], [f"%l{i}" for i in range(parts)]
    inputs = [f"{o}: {rows}" for o in outputs] + [f"{x}: {lse}" for x in lses]
    inputs += [f"%sinks: tensor<{heads}xf32>"] if sinks else []
    given = f" sinks(%sinks : tensor<{heads}xf32>)" if sinks else ""
    return (
        f"func.func @merge({', '.join(inputs)}) -> ({rows}, {lse}) {{\n"
        f"  %o, %l = kvc.merge outputs({', '.join(outputs)} : {', '.join([rows] * parts)})\n"
        f"      lses({', '.join(lses)} : {', '.join([lse] * parts)}){given} : {rows}, {lse}\n"
        f"  return %o, %l : {rows}, {lse}\n}}\n"
    )
