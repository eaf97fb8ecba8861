"""Attention problems: their MLIR text, data, memory, and right answers."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Union

import numpy as np

import kvc
import kvc.dtypes
import reference

FILLS = {"nan": np.nan, "zero": 0.0, "inf": np.inf}


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
    sinks: bool = False
    lse: bool = True
    append: bool = False

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
        terms = ", ".join(f"%q{i} * {name}" for i, name in enumerate(self.terms))
        sinks = f" sinks(%sinks : tensor<{self.query_heads}xf32>)" if self.sinks else ""
        score = f" score [{', '.join(modifiers)}]" if modifiers else ""
        return (
            f"{out}{', ' + lse if self.lse else ''} = kvc.attention {cache} at {batch} "
            f"terms({terms}) value({self.value}){sinks}{score} "
            f"{{scale = {self.exact_scale:.9e} : f32}}\n"
            f"      : !cache, {', '.join(self.query_texts)} -> {self.result_texts}"
        )

    @property
    def result_texts(self):
        out = self.rows_text(self.query_heads, self.value_width, self.out_dtype)
        return out + (f", tensor<?x{self.query_heads}xf32>" if self.lse else "")

    @property
    def text(self):
        """Returns a module with one function, @attend.

        Its inputs are the queries, with `append` the new rows of each component,
        the cache, the batch, and the sinks.
        """
        inputs = [f"%q{i}: {text}" for i, text in enumerate(self.query_texts)]
        append = ""
        if self.append:
            rows = [(n, self.rows_text(h, w, t)) for n, h, w, t in self.components]
            inputs += [f"%new_{name}: {text}" for name, text in rows]
            append = (
                f"  kvc.append %cache[{', '.join(f'{n}: %new_{n}' for n, _ in rows)}] at %batch\n"
                f"      : !cache, {', '.join(text for _, text in rows)}\n"
            )
        inputs += ["%cache: !cache", "%batch: !kvc.batch"]
        inputs += [f"%sinks: tensor<{self.query_heads}xf32>"] if self.sinks else []
        returned = "%out, %lse" if self.lse else "%out"
        return (
            f"!cache = {self.cache_text}\n"
            f"func.func @attend({', '.join(inputs)}) -> ({self.result_texts}) {{\n"
            f"{append}  {self.attention_text()}\n"
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


@dataclass
class Problem:
    """A config with sequences and data; the data depend on the seed alone.

    `query_lens` may exceed `kv_lens`: the first queries then see no key.
    """

    config: Config
    kv_lens: list
    query_lens: list
    seed: int = 0
    query_scale: float = 1.0
    queries: list = field(init=False)
    stored: dict = field(init=False)
    sinks: Union[np.ndarray, None] = field(init=False)

    def __post_init__(self):
        c, rng = self.config, np.random.default_rng(self.seed)
        tokens = sum(self.query_lens)

        def rows(count, heads, width, dtype):
            values = rng.standard_normal((count, heads, width), np.float32)
            return values.astype(kvc.dtypes.to_numpy(dtype))

        self.stored = {
            name: [rows(n, heads, width, dtype) for n in self.kv_lens]
            for name, heads, width, dtype in c.components
        }
        self.queries = []
        for name in c.terms:
            q = rows(tokens, c.query_heads, c.component(name)[1], "f32") * self.query_scale
            self.queries.append(q.astype(kvc.dtypes.to_numpy(c.query_dtype)))
        self.sinks = rng.standard_normal(c.query_heads, np.float32) if c.sinks else None

    @property
    def query_start(self):
        return np.concatenate([[0], np.cumsum(self.query_lens)]).astype(np.int32)

    def new_rows(self, name):
        """Returns the rows that the new tokens append, shape (tokens, heads, width)."""
        heads, width, dtype = self.config.component(name)
        parts = [np.zeros((0, heads, width), kvc.dtypes.to_numpy(dtype))]
        for values, query_len in zip(self.stored[name], self.query_lens):
            missing = max(0, query_len - len(values))
            parts.append(np.zeros((missing, heads, width), values.dtype))
            parts.append(values[len(values) - (query_len - missing) :])
        return np.concatenate(parts)

    def want(self, rows=None):
        """Returns output and log-sum-exp in float64."""
        c = self.config
        if not self.kv_lens:
            return np.zeros((0, c.query_heads, c.value_width)), np.zeros((0, c.query_heads))
        return reference.attention(
            [(q, self.stored[name]) for q, name in zip(self.queries, c.terms)],
            self.stored[c.value],
            self.query_lens,
            scale=c.exact_scale,
            causal=c.causal,
            window=c.window,
            softcap=c.softcap,
            sinks=self.sinks,
            rows=rows,
        )

    def subset(self, sequences):
        """Returns the problem of some of the sequences, with the same data."""
        result = replace(
            self,
            kv_lens=[self.kv_lens[i] for i in sequences],
            query_lens=[self.query_lens[i] for i in sequences],
        )
        rows = self.rows_of(sequences)
        result.stored = {n: [v[i] for i in sequences] for n, v in self.stored.items()}
        result.queries = [q[rows] for q in self.queries]
        result.sinks = self.sinks
        return result

    def rows_of(self, sequences):
        """Returns the tokens of some sequences, in their order."""
        start = self.query_start
        parts = [np.arange(start[i], start[i + 1]) for i in sequences]
        return np.concatenate([np.zeros(0, int), *parts]).astype(int)


class Memory:
    """A problem's cache in a page pool, and its batch.

    Every slot that no sequence owns holds `fill`, and some pages stay free. The
    pool is in the memory of `device`, by default the host's.
    """

    def __init__(
        self, problem, cache_type, fill="nan", free_pages=3, seed=1, new_tokens=True, device=None
    ):
        self.problem = problem
        pages = [-(-n // cache_type.page_size) for n in problem.kv_lens]
        self.pool = kvc.Pool(
            cache_type, sum(pages) + free_pages, page_order_seed=seed, device=device
        )
        self.view = self.pool.view()
        self.view.fill(FILLS[fill])
        self.sequences = [self.pool.sequence(n) for n in problem.kv_lens]
        for name in problem.stored:
            for sequence, values, query_len in zip(
                self.sequences, problem.stored[name], problem.query_lens
            ):
                # With append, the program writes the new tokens.
                old = len(values) if new_tokens else max(0, len(values) - query_len)
                sequence.write(name, values[:old])

    @cached_property
    def batch(self):
        problem = self.problem
        if all(q <= n for q, n in zip(problem.query_lens, problem.kv_lens)):
            return kvc.Batch.from_sequences(self.sequences, problem.query_lens, self.pool)
        return self.raw_batch()

    def raw_batch(self, **others):
        """Returns the batch over arrays, with a padded table of pages."""
        problem = self.problem
        most = max((len(s.pages) for s in self.sequences), default=0)
        table = np.full((len(self.sequences), most), -1, np.int32)
        slots = []
        for row, sequence, query_len in zip(table, self.sequences, problem.query_lens):
            row[: len(sequence.pages)] = sequence.pages
            own = sequence.slots(max(0, len(sequence) - query_len))
            slots += [np.full(query_len - len(own), -1), own]
        arguments = {
            "query_start": problem.query_start,
            "kv_lens": np.array(problem.kv_lens, np.int32),
            "page_ids": table,
            "slots": np.concatenate([[], *slots]).astype(np.int64),
        }
        return kvc.RawBatch(**{**arguments, **others})


def arguments(problem, memory, view=None, batch=None):
    """Returns the inputs of @attend."""
    result = list(problem.queries)
    if problem.config.append:
        result += [problem.new_rows(name) for name, *_ in problem.config.components]
    result += [view or memory.view, batch or memory.batch]
    return result + ([problem.sinks] if problem.config.sinks else [])


def unwritten(problem):
    """Returns arrays for the results of @attend, full of NaN."""
    c, tokens = problem.config, sum(problem.query_lens)
    dtype = kvc.dtypes.to_numpy(c.out_dtype)
    out = np.full((tokens, c.query_heads, c.value_width), np.nan, dtype)
    if not c.lse:
        return (out,)
    return out, np.full((tokens, c.query_heads), np.nan, np.float32)


def run(function, problem, fill="nan", stream=None, memory=None, **others):
    """Runs @attend over fresh memory; returns output and log-sum-exp or None."""
    memory = memory or Memory(
        problem,
        function.cache_type,
        fill,
        new_tokens=not problem.config.append,
        device=stream and stream.device,
    )
    out = unwritten(problem)
    function(*arguments(problem, memory, **others), out=out, stream=stream)
    return out if problem.config.lse else (out[0], None)


def check(problem, results, rows=None):
    """Compares the results of @attend with the reference, some rows or all."""
    want, want_lse = problem.want(rows)
    out, lse = results
    chosen = slice(None) if rows is None else rows
    reference.check_rows(out[chosen], want, problem.config.out_dtype)
    if lse is not None:
        reference.check_lse(lse[chosen], want_lse)


def same_bits(a, b):
    """Compares arrays bit for bit; NaN equals the same NaN."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
