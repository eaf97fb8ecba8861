"""Quantised caches: types, problems, and in NumPy what their codes stand for.

Written from the text of `#kvc.scale` and from nothing of the compiler: elements of 8 bits
by ml_dtypes, integers by NumPy's rounding.
"""

import itertools
from dataclasses import dataclass
from typing import Union

import ml_dtypes
import numpy as np

import kvc
import kvc.dtypes
import reference

FLOATS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "i8": 127.0, "i4": 7.0}


@dataclass(frozen=True)
class Stored:
    """How a component is stored: element, and scales if any.

    `scheme` is None, "tensor", "head", "token" or the elements of a group.
    """

    element: str
    scheme: Union[str, int, None] = None
    dtype: str = "f32"
    static: bool = False
    zero: bool = False
    constant: Union[float, None] = None

    def __str__(self):
        if self.scheme is None:
            return self.element
        scheme = self.scheme if isinstance(self.scheme, str) else f"group = {self.scheme}"
        static = ", static" * self.static
        if self.constant is not None:
            static += f" = {self.constant!r}"
        return f"{self.element} scale<{self.dtype}, {scheme}{static}{', zero_point' * self.zero}>"

    @property
    def is_quantized(self):
        return self.element in LARGEST

    def row_bytes(self, width):
        """Returns bytes of a row of codes, with its scales and zero points."""
        bits = 4 if self.element == "i4" else 8 * kvc.dtypes.to_numpy(self.element).itemsize
        if self.scheme is None or self.static or self.constant is not None:
            return width * bits // 8
        arrays = 2 if self.zero else 1
        size = kvc.dtypes.to_numpy(self.dtype).itemsize
        return width * bits // 8 + arrays * len(self.groups(width)) * size

    def group(self, width):
        return self.scheme if isinstance(self.scheme, int) else width

    def groups(self, width):
        """Returns the columns of each scale."""
        size = self.group(width)
        return [slice(begin, min(begin + size, width)) for begin in range(0, width, size)]


def to_scale(values, dtype):
    """Rounds to the type of scales, without overflow."""
    if dtype == "f32":
        return values.astype(np.float32)
    return np.clip(values, -65504, 65504).astype(np.float16)


def encode(stored, x):
    """Returns the codes nearest to f32 `x`: arrays of the element, int8 for integers."""
    with np.errstate(invalid="ignore", over="ignore"):
        if stored.element in FLOATS:
            largest = np.float32(LARGEST[stored.element])
            clipped = np.where(np.isnan(x), x, np.clip(x, -largest, largest))
            codes = clipped.astype(np.float32).astype(FLOATS[stored.element])
            bits = codes.view(np.uint8)
            bits[np.isnan(x)] = 0x7F
            return codes
        low = -8 if stored.zero else -LARGEST[stored.element]
        rounded = np.rint(np.clip(x, low, LARGEST[stored.element]))
        return np.where(np.isnan(x), 0, rounded).astype(np.int8)


def quantize(stored, rows, static=None):
    """Quantises rows as an append does.

    Parameters
    ----------
    stored : Stored
    rows : array, shape (tokens, heads, width)
    static : (scales, zeros), optional
        What does not come from the rows, shape (heads, groups) each.

    Returns
    -------
    codes : array, shape (tokens, heads, width)
    scales, zeros : array of the scales' type, shape (tokens, heads, groups), or None
    """
    x = rows.astype(np.float32)
    width = x.shape[2]
    codes, scales, zeros = [], [], []
    for index, columns in enumerate(stored.groups(width)):
        part = x[:, :, columns]
        scale, zero = None, None
        if stored.constant is not None:
            scale = np.full(part.shape[:2], stored.constant, np.float32)
        elif stored.static:
            scale = np.broadcast_to(static[0][:, index], part.shape[:2])
            zero = np.broadcast_to(static[1][:, index], part.shape[:2]) if stored.zero else None
        elif stored.scheme is not None:
            finite = np.isfinite(part)
            none = ~finite.any(axis=2)
            low = np.where(none, 0, np.where(finite, part, np.inf).min(axis=2)).astype(np.float32)
            high = np.where(none, 0, np.where(finite, part, -np.inf).max(axis=2))
            high = high.astype(np.float32)
            if stored.zero:
                steps = np.float32(15)
                scale = to_scale(high / steps - low / steps, stored.dtype)
                zero = to_scale(low + scale.astype(np.float32) * np.float32(8), stored.dtype)
            else:
                scale = to_scale(
                    np.maximum(-low, high) / np.float32(LARGEST[stored.element]), stored.dtype
                )
        if scale is None:
            codes.append(encode(stored, part))
            continue
        scale32 = scale.astype(np.float32)[:, :, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shifted = part if zero is None else part - zero.astype(np.float32)[:, :, None]
            code = encode(stored, shifted / scale32)
        codes.append(np.where(scale32 == 0, np.zeros_like(code), code))
        scales.append(scale)
        zeros.append(zero)
    stack = lambda arrays: np.stack(arrays, axis=2) if arrays and arrays[0] is not None else None
    return np.concatenate(codes, axis=2), stack(scales), stack(zeros)


def dequantize(stored, codes, scales, zeros):
    """Returns what codes stand for, in float64."""
    x = codes.astype(np.float64)
    if scales is None:
        return x if stored.constant is None else x * np.float64(np.float32(stored.constant))
    for index, columns in enumerate(stored.groups(x.shape[2])):
        x[:, :, columns] *= scales[:, :, index : index + 1].astype(np.float64)
        if zeros is not None:
            x[:, :, columns] += zeros[:, :, index : index + 1].astype(np.float64)
    return x


def unpack(codes):
    """Returns int8 codes from bytes of two 4-bit integers, the first in the low half."""
    low, high = codes.astype(np.uint8) & 15, codes.astype(np.uint8) >> 4
    shape = *codes.shape[:-1], 2 * codes.shape[-1]
    both = np.stack([low, high], axis=-1).reshape(shape).astype(np.int8)
    return np.where(both > 7, both - 16, both).astype(np.int8)


@dataclass(frozen=True)
class Case:
    """Grouped or latent attention over a quantised cache, with an append."""

    k: Stored
    v: Stored
    dtype: str = "bf16"
    heads: int = 2
    group: int = 4
    width: int = 64
    value_width: Union[int, None] = None
    page: int = 16
    softcap: Union[float, None] = None
    latent: bool = False  # one component c for keys and values, and r beside it
    layouts: tuple = ("", "")

    def __str__(self):
        words = [str(self.k), str(self.v), self.dtype, f"{self.heads}x{self.group}x{self.width}"]
        return "-".join(words + [f"page{self.page}"] + ["mla"] * self.latent).replace(" ", "")

    @property
    def widths(self):
        if self.latent:
            return self.width, 64
        return self.width, self.value_width or self.width

    @property
    def names(self):
        return ("c", "r") if self.latent else ("k", "v")

    @property
    def components(self):
        """Yields name, Stored and width."""
        return list(zip(self.names, (self.k, self.v), self.widths))

    @property
    def query_heads(self):
        return self.heads * self.group

    @property
    def scale(self):
        return float(np.float32(sum(self.key_widths) ** -0.5))

    @property
    def key_widths(self):
        return self.widths if self.latent else self.widths[:1]

    @property
    def text(self):
        parts = []
        for (name, stored, width), layout in zip(self.components, self.layouts):
            element, *scale = str(stored).split(" ", 1)
            parts.append(" ".join([f"{name}: {self.heads}x{width}x{element}", *filter(None, [layout]),
                                   *scale]))  # fmt: skip
        rows = [f"tensor<?x{self.heads}x{w}x{self.dtype}>" for w in self.widths]
        queries = [f"tensor<?x{self.query_heads}x{w}x{self.dtype}>" for w in self.key_widths]
        out_width = self.widths[0] if self.latent else self.widths[1]
        out = f"tensor<?x{self.query_heads}x{out_width}x{self.dtype}>"
        lse = f"tensor<?x{self.query_heads}xf32>"
        a, b = self.names
        inputs = [f"%q{i}: {t}" for i, t in enumerate(queries)]
        inputs += [f"%new_{n}: {t}" for n, t in zip(self.names, rows)]
        terms = ", ".join(f"%q{i} * {n}" for i, n in enumerate(self.names[: len(queries)]))
        score = "#kvc.causal" + (f", #kvc.softcap<{self.softcap!r}>" if self.softcap else "")
        counted = any(s.is_quantized for s in (self.k, self.v))
        return (
            f"!cache = !kvc.cache<page = {self.page}, {', '.join(parts)}>\n"
            f"func.func @attend({', '.join(inputs)}, %cache: !cache, %batch: !kvc.batch)\n"
            f"    -> ({out}, {lse}{', tensor<?xi32>' * counted}) {{\n"
            f"  {'%n = ' * counted}kvc.append %cache[{a}: %new_{a}, {b}: %new_{b}] at %batch\n"
            f"      : !cache, {', '.join(rows)}{' -> tensor<?xi32>' * counted}\n"
            f"  %out, %lse = kvc.attention %cache at %batch terms({terms})\n"
            f"      value({a if self.latent else b}) score [{score}] {{scale = {self.scale:.9e} : f32}}\n"
            f"      : !cache, {', '.join(queries)} -> {out}, {lse}\n"
            f"  return %out, %lse{', %n' * counted} : {out}, {lse}{', tensor<?xi32>' * counted}\n}}\n"
        )


class Data:
    """New rows and queries of sequences, static scales, and what a cache holds of them."""

    def __init__(self, case, kv_lens, seed=0, spread=2.0):
        self.case, self.kv_lens = case, kv_lens
        rng = np.random.default_rng(seed)
        dtype = kvc.dtypes.to_numpy(case.dtype)

        def draw(count, heads, width, spread=1.0):
            values = rng.standard_normal((count, heads, width), np.float32) * spread
            return values.astype(dtype)

        self.rows = {
            name: [draw(n, case.heads, width, spread) for n in kv_lens]
            for name, _, width in case.components
        }
        self.queries = [
            [draw(n, case.query_heads, width) for n in kv_lens] for width in case.key_widths
        ]
        self.static = {}
        for name, stored, width in case.components:
            if stored.static and stored.constant is None:
                shape = (1 if stored.scheme == "tensor" else case.heads, len(stored.groups(width)))
                size = 3 * spread / LARGEST[stored.element]
                scales = to_scale(rng.uniform(0.8, 1.2, shape).astype(np.float32) * np.float32(size),
                                  stored.dtype)  # fmt: skip
                zeros = to_scale(rng.uniform(-0.5, 0.5, shape).astype(np.float32), stored.dtype)
                self.static[name] = scales, zeros if stored.zero else None

    def set_static(self, view):
        """Writes static scales and zero points to a cache."""
        for name, (scales, zeros) in self.static.items():
            view.set_scales(name, scales, zeros)

    def quantized(self, name, index):
        """Returns codes, scales and zero points of a sequence's component."""
        stored = dict((n, s) for n, s, _ in self.case.components)[name]
        static = self.static.get(name)
        if static is not None:
            heads = self.case.heads
            static = tuple(None if a is None else np.broadcast_to(a, (heads, a.shape[1]))
                           for a in static)  # fmt: skip
        return quantize(stored, self.rows[name][index], static)

    def numbers(self, name, index):
        """Returns what the cache holds of a component, in float64."""
        stored = dict((n, s) for n, s, _ in self.case.components)[name]
        if not stored.is_quantized:
            return self.rows[name][index].astype(kvc.dtypes.to_numpy(stored.element)).astype(float)
        return dequantize(stored, *self.quantized(name, index))

    def want(self, query_lens):
        """Returns output and log-sum-exp of the last tokens of each sequence."""
        case = self.case
        held = {n: [self.numbers(n, i) for i in range(len(self.kv_lens))] for n in case.names}
        terms = []
        for name, queries in zip(case.names, self.queries):
            new = [q[len(q) - n :] for q, n in zip(queries, query_lens)]
            terms.append((np.concatenate(new), held[name]))
        value = case.names[0] if case.latent else case.names[1]
        return reference.attention(
            terms, held[value], query_lens, scale=case.scale, causal=True, softcap=case.softcap
        )


def make_cache(function, data, pages=None, device=None):
    """Returns a pool, and a view of it full of NaN with the static scales of `data`."""
    size = function.cache_type.page_size
    pages = pages or sum(-(-n // size) for n in data.kv_lens) + 3
    pool = kvc.Pool(function.cache_type, pages, debug_fill=True, page_order_seed=5, device=device)
    view = pool.view()
    data.set_static(view)
    return pool, view


def append(function, data, sequences, view, begin, end, **others):
    """Appends tokens begin[i] .. end[i] of each sequence; returns the function's results."""
    for sequence, first, last in zip(sequences, begin, end):
        sequence.append(last - first)
    counts = [last - first for first, last in zip(begin, end)]
    batch = kvc.Batch.from_sequences(sequences, counts)
    ranges = [slice(first, last) for first, last in zip(begin, end)]
    take = lambda arrays: np.concatenate([a[r] for a, r in zip(arrays, ranges)])
    queries = [take(arrays) for arrays in data.queries]
    rows = [take(data.rows[name]) for name in data.case.names]
    return function(*queries, *rows, view, batch, **others)


def fill(function, data, query_lens, stream=None):
    """Appends all tokens, the last in a call of their own; returns its results and the cache."""
    pool, view = make_cache(function, data, device=stream and stream.device)
    sequences = [pool.sequence() for _ in data.kv_lens]
    old = [n - q for n, q in zip(data.kv_lens, query_lens)]
    if any(old):
        append(function, data, sequences, view, [0] * len(old), old, stream=stream)
    results = append(function, data, sequences, view, old, data.kv_lens, stream=stream)
    return results, sequences, view


def pairwise(axes, is_valid=lambda row: True, seed=0):
    """Returns rows that have every pair of values of two axes that a valid row can have.

    Greedy: each row is the best of some random ones that complete a missing pair.
    """
    rng = np.random.default_rng(seed)
    names = list(axes)
    missing = set()
    for a, b in itertools.combinations(range(len(names)), 2):
        for x, y in itertools.product(range(len(axes[names[a]])), range(len(axes[names[b]]))):
            missing.add((a, x, b, y))
    rows = []
    while missing:
        a, x, b, y = sorted(missing)[int(rng.integers(len(missing)))]
        best, covered = None, {(a, x, b, y)}
        for _ in range(60):
            place = [int(rng.integers(len(axes[n]))) for n in names]
            place[a], place[b] = x, y
            row = {n: axes[n][i] for n, i in zip(names, place)}
            if not is_valid(row):
                continue
            places = itertools.combinations(enumerate(place), 2)
            pairs = {(i, p, j, q) for (i, p), (j, q) in places} & missing
            if best is None or len(pairs) > len(covered):
                best, covered = row, pairs
        if best is not None:
            rows.append(best)
        missing -= covered  # or no valid row has it
    return rows
