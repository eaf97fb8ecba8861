"""Attention problems: configurations with data, and their right answers."""

from dataclasses import dataclass, field, replace
from typing import Union

import numpy as np

import kvc
import kvc.dtypes
import reference
from configs import Config, Foreign, Rope, gqa, mla
from memories import FILLS, Buffers, Memory

__all__ = [
    "FILLS", "Buffers", "Config", "Foreign", "Memory", "Problem", "Rope", "arguments", "check",
    "check_cache", "gqa", "mla", "place", "run", "same_bits", "unwritten",
]  # fmt: skip


def settle(rng, rows, turn):
    """Redraws elements of 16 bits until it is sure how what they are turned to is rounded.

    Rotation in f32 differs from that in f64 by so little that it only shows where
    the result lies next to the middle between two numbers.
    """
    if rows.dtype == np.float32:
        return
    while True:
        exact = turn(rows)
        slack = 4e-6 * np.abs(rows.astype(np.float64)).max(axis=-1, keepdims=True, initial=0.0)
        unsure = (exact - slack).astype(rows.dtype) != (exact + slack).astype(rows.dtype)
        if not unsure.any():
            return
        rows[unsure] = rng.standard_normal(int(unsure.sum())).astype(rows.dtype)


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
        self.unturned_rows = None
        if c.rope:
            self._turn(rng)

    def _turn(self, rng):
        """Settles what is rotated, and stores the new rows as the rotation leaves them."""
        c, name = self.config, self.config.rope.component
        term = c.terms.index(name)
        settle(rng, self.queries[term], lambda rows: c.rope.turn(rows, self.positions))
        if not c.append:
            return
        rows = self.new_rows(name)
        settle(rng, rows, lambda rows: c.rope.turn(rows, self.positions))
        self.unturned_rows = rows
        turned = c.rope.turn(rows, self.positions).astype(rows.dtype)
        for values, start, query_len in zip(self.stored[name], self.query_start, self.query_lens):
            count = min(query_len, len(values))
            end = start + query_len
            values[len(values) - count :] = turned[end - count : end]

    @property
    def positions(self):
        """Returns the positions of the new tokens: the last ones of each sequence."""
        pairs = zip(self.kv_lens, self.query_lens)
        parts = [np.arange(kv - q, kv, dtype=np.int32) for kv, q in pairs]
        return np.concatenate([np.zeros(0, np.int32), *parts])

    @property
    def attended_queries(self):
        """Returns the queries as attention sees them: rotated and rounded, if at all."""
        rope = self.config.rope
        return [
            rope.turn(q, self.positions).astype(q.dtype) if rope and name == rope.component else q
            for q, name in zip(self.queries, self.config.terms)
        ]

    @property
    def query_start(self):
        return np.concatenate([[0], np.cumsum(self.query_lens)]).astype(np.int32)

    def new_rows(self, name):
        """Returns the rows that the new tokens append, shape (tokens, heads, width)."""
        if self.unturned_rows is not None and name == self.config.rope.component:
            return self.unturned_rows
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
            [(q, self.stored[name]) for q, name in zip(self.attended_queries, c.terms)],
            self.stored[c.value],
            self.query_lens,
            scale=c.exact_scale,
            causal=c.causal,
            window=c.window,
            softcap=c.softcap,
            alibi=c.alibi,
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
        if self.unturned_rows is not None:
            result.unturned_rows = self.unturned_rows[rows]
        result.sinks = self.sinks
        return result

    def rows_of(self, sequences):
        """Returns the tokens of some sequences, in their order."""
        start = self.query_start
        parts = [np.arange(start[i], start[i + 1]) for i in sequences]
        return np.concatenate([np.zeros(0, int), *parts]).astype(int)


def arguments(problem, memory, view=None, batch=None):
    """Returns the inputs of @attend."""
    result = list(problem.queries)
    if problem.config.append:
        result += [problem.new_rows(name) for name, *_ in problem.config.components]
    if problem.config.foreign:
        result += [*memory.buffers, *memory.arrays()]
    else:
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


def place(function, problem, fill="nan", stream=None):
    """Returns fresh memory for a call of @attend, without the tokens that it appends."""
    new_tokens = not problem.config.append
    if problem.config.foreign:
        return Buffers(problem, fill, new_tokens=new_tokens)
    device = stream and stream.device
    return Memory(problem, function.cache_type, fill, new_tokens=new_tokens, device=device)


def run(function, problem, fill="nan", stream=None, memory=None, **others):
    """Runs @attend over fresh memory; returns output and log-sum-exp or None."""
    memory = memory or place(function, problem, fill, stream)
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


def check_cache(problem, memory):
    """Compares what the cache holds of each sequence, bit for bit but for rotated f32 rows."""
    rope = problem.config.rope
    for name, sequences in problem.stored.items():
        for index, rows in enumerate(sequences):
            got = memory.read(name, index)
            if rope and name == rope.component and rows.dtype == np.float32:
                reference.check_rows(got, rows, "f32", f"component '{name}'")
            else:
                assert same_bits(got, rows), f"component '{name}' of sequence {index}"


def same_bits(a, b):
    """Compares arrays bit for bit; NaN equals the same NaN."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
