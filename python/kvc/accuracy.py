"""What quantised caches cost in accuracy: ``python -m kvc.accuracy --help``.

Appends keys and values to caches of several types and attends over them with kvc, and
compares with attention in float64 over the keys and values as they came.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence as AnySequence
from dataclasses import dataclass
from typing import Any, Union

import ml_dtypes
import numpy as np

from . import codes, dtypes
from .batch import Batch
from .cache import CacheType, CacheView, Pool
from .compiler import Compiler
from .errors import Error
from .scatter import Point, scatter_svg

_PAGE = 16
# Caches that are compared if none are given: of what, the element and scales of keys,
# and those of values.
DEFAULT_CACHES = (
    ("bf16", "bf16"),
    ("f8E4M3FN", "f8E4M3FN"),
    ("f8E5M2", "f8E5M2"),
    ("f8E4M3FN scale<f32, token>", "f8E4M3FN scale<f32, token>"),
    ("i8 scale<f32, head, static>", "i8 scale<f32, head, static>"),
    ("i8 scale<f32, token>", "i8 scale<f32, token>"),
    ("i8 scale<f16, group = 32>", "i8 scale<f16, group = 32>"),
    ("i8 scale<f32, token>", "i4 scale<f16, group = 32, zero_point>"),
    ("i4 scale<f16, token>", "i4 scale<f16, token>"),
    ("i4 scale<f16, group = 64>", "i4 scale<f16, group = 64>"),
    ("i4 scale<f16, group = 32>", "i4 scale<f16, group = 32>"),
    ("i4 scale<f16, group = 32, zero_point>", "i4 scale<f16, group = 32, zero_point>"),
)
_OUTLIER_CHANNELS, _OUTLIER_FACTOR = 4, 20.0
_LARGEST = {"i8": 127, "i4x2": 7, "f8E4M3FN": 448, "f8E5M2": 57344}
_COMPONENT = re.compile(r"(?:^|,)\s*\"?([\w.]+)\"?\s*:\s*(\d+)x(\d+)x(\w+)")


class InputError(Exception):
    """What is wrong with the command line or a file."""


# --- Data ----------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Keys and values of one sequence, and queries that each see all of it.

    Attributes
    ----------
    keys, values : array of float32, shape (tokens, kv_heads, width)
    queries : array of float32, shape (queries, query_heads, width)
    name : str
        What it is, for reports.
    """

    keys: np.ndarray
    values: np.ndarray
    queries: np.ndarray
    name: str


def make_data(
    kind: str,
    tokens: int,
    shapes: tuple[int, int, int, int],
    query_heads: int,
    queries: int,
    seed: int,
) -> Data:
    """Returns synthetic data.

    Parameters
    ----------
    kind : {"gaussian", "outliers"}
        Normally distributed; "outliers" makes 4 channels of each head of the keys 20
        times larger, as they are in language models (KIVI, arXiv:2402.02750).
    tokens, query_heads, queries, seed : int
    shapes : tuple of int
        KV heads and width of keys, and of values.
    """
    rng = np.random.default_rng(seed)
    key_heads, key_width, value_heads, value_width = shapes
    keys = rng.standard_normal((tokens, key_heads, key_width), np.float32)
    values = rng.standard_normal((tokens, value_heads, value_width), np.float32)
    rows = rng.standard_normal((queries, query_heads, key_width), np.float32)
    if kind == "outliers":
        for head in range(key_heads):
            count = min(_OUTLIER_CHANNELS, key_width)
            keys[:, head, rng.choice(key_width, count, replace=False)] *= _OUTLIER_FACTOR
    return Data(keys, values, rows, f"{kind}, seed {seed}")


def _load_array(file: Any, path: str, name: str) -> np.ndarray:
    array = file[name]
    if array.dtype == np.dtype("V2"):  # what NumPy's files keep of bf16
        array = array.view(ml_dtypes.bfloat16)
    is_float = array.dtype.kind == "f" or array.dtype == np.dtype(ml_dtypes.bfloat16)
    if not is_float or array.ndim != 3 or array.size == 0:
        raise InputError(
            f"'{path}': expected '{name}' to be an array of floats with 3 dimensions and at "
            f"least one element, got {array.dtype} of shape {array.shape}"
        )
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise InputError(f"'{path}': expected numbers in '{name}' that are finite in f32")
    return array


def load_data(path: str, query_heads: Union[int, None], queries: int, seed: int) -> Data:
    """Returns the data of a file of NumPy, as ``--kv`` takes it.

    Raises
    ------
    InputError
        If it cannot be read, or its arrays do not fit each other.
    """
    try:
        file = np.load(path)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read '{path}': {error}") from None
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise InputError(f"'{path}': expected a file of numpy.savez, got a single array")
    with file:
        missing = [name for name in ("k", "v") if name not in file]
        if missing:
            raise InputError(
                f"'{path}': expected arrays k and v, got {', '.join(file.files) or 'none'}"
            )
        keys, values = (_load_array(file, path, name) for name in ("k", "v"))
        rows = _load_array(file, path, "q") if "q" in file else None
    if keys.shape[:2] != values.shape[:2]:
        raise InputError(
            f"'{path}': expected k and v of as many tokens and heads, got shapes {keys.shape} "
            f"and {values.shape}"
        )
    if rows is None:
        heads = query_heads or keys.shape[1]
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((queries, heads, keys.shape[2]), np.float32)
        return Data(keys, values, rows, f"{path}, normally distributed queries of seed {seed}")
    if query_heads not in (None, rows.shape[1]):
        raise InputError(f"'{path}': expected q of {query_heads} heads, got {rows.shape[1]}")
    if rows.shape[2] != keys.shape[2]:
        raise InputError(
            f"'{path}': expected q and k of the same width, got {rows.shape[2]} and "
            f"{keys.shape[2]}"
        )
    return Data(keys, values, rows, path)


def reference(data: Data, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns attention in float64, and the log-sum-exp of the scores.

    Returns
    -------
    output : array of float64, shape (queries, query_heads, width)
    lse : array of float64, shape (queries, query_heads)
    """
    queries, heads, _ = data.queries.shape
    kv_heads = data.keys.shape[1]
    output = np.empty((queries, heads, data.values.shape[2]))
    lse = np.empty((queries, heads))
    for head in range(heads):
        kv_head = head // (heads // kv_heads)
        scores = data.queries[:, head].astype(np.float64) @ data.keys[:, kv_head].T.astype(
            np.float64
        )
        scores *= scale
        largest = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - largest)
        total = weights.sum(axis=1, keepdims=True)
        output[:, head] = weights / total @ data.values[:, kv_head].astype(np.float64)
        lse[:, head] = (largest + np.log(total))[:, 0]
    return output, lse


# --- Caches --------------------------------------------------------------------


@dataclass(frozen=True)
class CacheText:
    """What stands between the brackets of ``!kvc.cache<...>``, with components k and v."""

    text: str
    shapes: tuple[int, int, int, int]  # KV heads and width, of k and of v
    elements: tuple[str, str]

    @classmethod
    def parse(cls, text: str) -> "CacheText":
        """Finds what has to be known to make a program; the compiler checks the rest."""
        text = text.strip()
        if text.startswith("!kvc.cache<") and text.endswith(">"):
            text = text[len("!kvc.cache<") : -1].strip()
        found = {name: rest for name, *rest in _COMPONENT.findall(text)}
        if set(found) != {"k", "v"}:
            raise InputError(
                "expected --cache of a page size and components k and v, such as 'page = 16, "
                f"k: 8x128xi8 scale<f32, token>, v: 8x128xf16', got '{text}'"
            )
        (kh, kw, ke), (vh, vw, ve) = found["k"], found["v"]
        return cls(text, (int(kh), int(kw), int(vh), int(vw)), (ke, ve))

    @property
    def label(self) -> str:
        """The text without what all caches have in common."""
        return re.sub(r"(:\s*)\d+x\d+x", r"\1", re.sub(r"^page\s*=\s*\d+\s*,\s*", "", self.text))


def default_caches(shapes: tuple[int, int, int, int]) -> list[CacheText]:
    """Returns the caches that are compared if none are given."""
    kh, kw, vh, vw = shapes
    return [
        CacheText.parse(f"page = {_PAGE}, k: {kh}x{kw}x{k}, v: {vh}x{vw}x{v}")
        for k, v in DEFAULT_CACHES
    ]


def _program_text(cache: CacheText, query_heads: int, scale: float) -> str:
    kh, kw, vh, vw = cache.shapes
    rows = [e if e in ("f32", "f16", "bf16") else "f32" for e in cache.elements]
    k, v = f"tensor<?x{kh}x{kw}x{rows[0]}>", f"tensor<?x{vh}x{vw}x{rows[1]}>"
    q, o = f"tensor<?x{query_heads}x{kw}xf32>", f"tensor<?x{query_heads}x{vw}xf32>"
    lse = f"tensor<?x{query_heads}xf32>"
    return f"""
!cache = !kvc.cache<{cache.text}>
func.func @append(%k: {k}, %v: {v}, %cache: !cache, %batch: !kvc.batch) {{
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, {k}, {v}
  return
}}
func.func @attend(%q: {q}, %cache: !cache, %batch: !kvc.batch) -> ({o}, {lse}) {{
  %o, %l = kvc.attention %cache at %batch terms(%q * k) value(v)
      {{scale = {scale:.9e} : f32}} : !cache, {q} -> {o}, {lse}
  return %o, %l : {o}, {lse}
}}"""


def calibrate(view: CacheView, name: str, rows: np.ndarray) -> None:
    """Sets the static scales of a component, if it has any, to what `rows` need.

    As an append computes them of the elements that share one, here those of all tokens.

    Parameters
    ----------
    view : CacheView
    name : str
        The component.
    rows : array of float32, shape (tokens, heads, width)
    """
    components = {c.name: c for c in view.cache_type.components}
    scales = components.get(f"{name}.scale")
    if scales is None or not scales.is_static:
        return
    width = rows.shape[2]
    group = codes.scale_group(width, scales.width)
    axes = (0, 1, 2) if scales.heads == 1 and scales.width == 1 else (0, 2)
    parts = [rows[:, :, first : first + group] for first in range(0, width, group)]
    shape = (scales.heads, scales.width)
    low = np.stack([part.min(axis=axes) for part in parts], axis=-1).reshape(shape)
    high = np.stack([part.max(axis=axes) for part in parts], axis=-1).reshape(shape)
    if f"{name}.zero" in components:
        scale = high / 15 - low / 15
        view.set_scales(name, scale, low + 8 * scale)
    else:
        view.set_scales(name, np.maximum(high, -low) / _LARGEST[components[name].dtype])


def bytes_per_token(cache_type: CacheType) -> int:
    """Returns the bytes that a token takes, scales and zero points included."""
    return sum(
        c.heads * c.width * dtypes.to_numpy(c.dtype).itemsize
        for c in cache_type.components
        if not c.is_static
    )


# --- Measuring -----------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """Errors of many rows."""

    median: float
    p99: float
    worst: float

    @classmethod
    def of(cls, errors: np.ndarray) -> "Spread":
        return cls(
            float(np.median(errors)), float(np.quantile(errors, 0.99)), float(errors.max())
        )


@dataclass(frozen=True)
class Result:
    """What one cache came to.

    Attributes
    ----------
    row_error : Spread
        Relative L2 error of an output row: of one query and one query head.
    lse_error : Spread
        Absolute error of a row's log-sum-exp.
    """

    cache: CacheText
    bytes_per_token: int
    bytes_of_bf16: int
    row_error: Spread
    lse_error: Spread

    @property
    def ratio(self) -> float:
        """How many times fewer bytes than in bf16."""
        return self.bytes_of_bf16 / self.bytes_per_token


def measure(
    cache: CacheText,
    data: Data,
    expected: tuple[np.ndarray, np.ndarray],
    scale: float,
    target: str,
    compiler: Compiler,
) -> Result:
    """Appends and attends with kvc, and compares.

    Raises
    ------
    Error
        If the cache's type, or the target, is not supported.
    """
    tokens, queries = len(data.keys), len(data.queries)
    program = compiler.compile(_program_text(cache, data.queries.shape[1], scale), target=target)
    append, attend = program["append"], program["attend"]
    cache_type = append.cache_type
    pages = -(-max(tokens, queries) // cache_type.page_size)
    pool = Pool(cache_type, pages)
    view, sequence = pool.view(), pool.sequence(tokens)
    calibrate(view, "k", data.keys)
    calibrate(view, "v", data.values)
    rows = [
        array.astype(dtypes.to_numpy(append.args[index].dtype))
        for index, array in enumerate((data.keys, data.values))
    ]
    append(*rows, view, Batch.from_sequences([sequence], [tokens]))
    outputs, lses = [], []
    for first in range(0, queries, tokens):  # a batch has no more queries than tokens
        part = data.queries[first : first + tokens]
        output, lse = attend(part, view, Batch.from_sequences([sequence], [len(part)]))
        outputs.append(output)
        lses.append(lse)
    want, want_lse = expected
    difference = np.linalg.norm(np.concatenate(outputs) - want, axis=2)
    norm = np.linalg.norm(want, axis=2)
    none = np.where(difference > 0, math.inf, 0.0)  # the error of a row of zeros
    errors = np.divide(difference, norm, out=none, where=norm > 0)
    kh, kw, vh, vw = cache.shapes
    return Result(
        cache,
        bytes_per_token(cache_type),
        2 * (kh * kw + vh * vw),
        Spread.of(errors),
        Spread.of(np.abs(np.concatenate(lses) - want_lse)),
    )


# --- Reports -------------------------------------------------------------------


def _describe(data: Data, target: str) -> str:
    tokens, kv_heads, width = data.keys.shape
    queries, heads, _ = data.queries.shape
    return (
        f"{data.name}: {tokens} tokens, {kv_heads} KV heads, widths {width} and "
        f"{data.values.shape[2]}, {queries} queries of {heads} heads, target {target}"
    )


def table(results: AnySequence[Result], data: Data, target: str) -> str:
    """Returns the table that the command prints."""
    heads = [
        ("bytes", "a token"),
        ("bf16 /", "this"),
        ("row error", "median"),
        ("row error", "99%"),
        ("row error", "worst"),
        ("LSE error", "median"),
        ("LSE error", "worst"),
        ("", "cache"),
    ]
    lines = [
        [
            f"{r.bytes_per_token:,}",
            f"{r.ratio:.2f}",
            f"{r.row_error.median:.2e}",
            f"{r.row_error.p99:.2e}",
            f"{r.row_error.worst:.2e}",
            f"{r.lse_error.median:.2e}",
            f"{r.lse_error.worst:.2e}",
            r.cache.label,
        ]
        for r in results
    ]
    rows = [[head[0] for head in heads], [head[1] for head in heads], *lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    text = [
        "  ".join(
            cell.ljust(width) if i == len(heads) - 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
    notes = (
        "row error: L2 norm of an output row's error over that of the row, without unit; "
        "LSE error: absolute, in nats"
    )
    return "\n".join([_describe(data, target), notes, "", *text])


def to_json(results: AnySequence[Result], data: Data, target: str, seed: int) -> dict:
    """Returns what ``--json`` prints."""

    def spread(errors: Spread) -> dict:
        return {
            "median": errors.median,
            "p99": errors.p99,
            "worst": errors.worst if math.isfinite(errors.worst) else None,
        }

    tokens, kv_heads, width = data.keys.shape
    return {
        "data": data.name,
        "seed": seed,
        "target": target,
        "tokens": tokens,
        "kv_heads": kv_heads,
        "key_width": width,
        "value_width": data.values.shape[2],
        "queries": len(data.queries),
        "query_heads": data.queries.shape[1],
        "caches": [
            {
                "cache": r.cache.text,
                "bytes_per_token": r.bytes_per_token,
                "bytes_per_token_of_bf16": r.bytes_of_bf16,
                "ratio_to_bf16": r.ratio,
                "row_error": spread(r.row_error),
                "lse_error": spread(r.lse_error),
            }
            for r in results
        ],
    }


def plot(results: AnySequence[Result], data: Data, target: str) -> str:
    """Returns the document that ``--plot`` writes."""
    # What has no error at all is drawn as the smallest of f32.
    points = [
        Point(r.bytes_per_token, max(r.row_error.median, 1e-8), r.cache.label) for r in results
    ]
    return scatter_svg(
        points,
        _describe(data, target),
        "bytes a token and layer, scales included",
        "median relative L2 error of an output row",
    )


# --- The command ---------------------------------------------------------------


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got '{text}'")
    return number


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got '{text}'")
    return number


def _scale(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"expected a finite number, got '{text}'")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kvc.accuracy",
        description="Says what cache types cost in accuracy and take in bytes: appends keys "
        "and values with kvc, attends over them, and compares with attention in float64 over "
        "the keys and values as they came. Each query sees all tokens.",
        epilog="exit status: 0, or 1 after a message about a cache or a file, or 2 about the "
        "command line",
    )
    parser.add_argument(
        "--cache",
        action="append",
        metavar="TEXT",
        help="a cache type, as it stands in !kvc.cache<...>, with components k and v: "
        "'page = 16, k: 8x128xi8 scale<f32, token>, v: 8x128xf16'; may be repeated (default: a "
        "dozen types of the shape of the data). Static scales are set to what the keys and "
        "values need",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--kv",
        metavar="FILE.npz",
        help="keys and values: arrays k and v [tokens, KV heads, width], and queries q "
        "[queries, query heads, width] if there are any, as numpy.savez writes them",
    )
    source.add_argument(
        "--data",
        choices=["gaussian", "outliers"],
        default="gaussian",
        help="synthetic keys, values and queries: normally distributed, or with "
        f"{_OUTLIER_CHANNELS} channels of each head of the keys {_OUTLIER_FACTOR:g} times "
        "larger (default: %(default)s)",
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of what is random (default: 0)")
    parser.add_argument(
        "--tokens", type=_positive, metavar="N", help="of synthetic data (default: 2048)"
    )
    parser.add_argument(
        "--kv-heads",
        type=_positive,
        metavar="N",
        help="of synthetic data (default: 8, or those of --cache)",
    )
    parser.add_argument(
        "--width",
        type=_positive,
        metavar="N",
        help="of synthetic data (default: 128, or those of --cache)",
    )
    parser.add_argument(
        "--query-heads",
        type=_positive,
        metavar="N",
        help="a multiple of the KV heads (default: 4 times as many; with --kv as many)",
    )
    parser.add_argument(
        "--queries", type=_positive, metavar="N", help="rows of queries (default: 64)"
    )
    parser.add_argument(
        "--scale", type=_scale, metavar="X", help="of the scores (default: 1 / sqrt(width))"
    )
    parser.add_argument(
        "--target",
        choices=["cpu", "definition"],
        default="cpu",
        help="what kvc compiles for: kernels of this CPU, or the definition as loops, which is "
        "slow (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--plot", metavar="FILE.svg", help="also draw bytes a token against error, as SVG"
    )
    return parser


def _shapes(caches: Iterable[CacheText], options: argparse.Namespace) -> tuple[int, int, int, int]:
    """Returns the shapes of synthetic data."""
    given = {cache.shapes for cache in caches}
    if len(given) > 1:
        raise InputError(f"expected caches of one shape, got {sorted(given)}")
    heads, width = options.kv_heads, options.width
    if not given:
        return (heads or 8, width or 128) * 2
    kh, kw, vh, vw = shapes = given.pop()
    if heads not in (None, kh) or width not in (None, kw):
        raise InputError(
            f"expected --kv-heads and --width as in --cache ({kh} and {kw}), got {heads or kh} "
            f"and {width or kw}"
        )
    return shapes


def _make_data(caches: AnySequence[CacheText], options: argparse.Namespace) -> Data:
    queries = options.queries or 64
    if options.kv:
        for name in ("tokens", "kv_heads", "width"):
            if getattr(options, name) is not None:
                raise InputError(f"option --{name.replace('_', '-')} has no meaning with --kv")
        data = load_data(options.kv, options.query_heads, queries, options.seed)
        if options.queries not in (None, len(data.queries)):
            raise InputError(
                f"expected --queries to be that of q in '{options.kv}' ({len(data.queries)}), "
                f"got {options.queries}"
            )
    else:
        shapes = _shapes(caches, options)
        heads = options.query_heads or 4 * shapes[0]
        data = make_data(
            options.data, options.tokens or 2048, shapes, heads, queries, options.seed
        )
    kv_heads, heads = data.keys.shape[1], data.queries.shape[1]
    if heads % kv_heads:
        raise InputError(
            f"expected query heads ({heads}) to be a multiple of KV heads ({kv_heads})"
        )
    for cache in caches:
        if cache.shapes != (*data.keys.shape[1:], *data.values.shape[1:]):
            raise InputError(
                f"expected --cache of the data's shapes, k: {kv_heads}x{data.keys.shape[2]} and "
                f"v: {data.values.shape[1]}x{data.values.shape[2]}, got '{cache.text}'"
            )
    return data


def run(options: argparse.Namespace) -> str:
    """Does what the command line says, and returns what to print.

    Raises
    ------
    InputError, Error, OSError
        If something is wrong with the command line or a file, or with a cache.
    """
    caches = [CacheText.parse(text) for text in options.cache or ()]
    data = _make_data(caches, options)
    shapes = (*data.keys.shape[1:], *data.values.shape[1:])
    caches = caches or default_caches(shapes)
    scale = data.keys.shape[2] ** -0.5 if options.scale is None else options.scale
    # What the program has as its constant.
    scale = float(np.float32(scale))
    expected = reference(data, scale)
    compiler = Compiler()
    results = []
    for cache in caches:
        try:
            results.append(measure(cache, data, expected, scale, options.target, compiler))
        except Error as error:
            raise InputError(f"cache '{cache.text}': {error}") from None
    if options.plot:
        with open(options.plot, "w", encoding="utf-8") as file:
            file.write(plot(results, data, options.target))
    if options.json:
        return json.dumps(to_json(results, data, options.target, options.seed), indent=2)
    return table(results, data, options.target)


def main(arguments: Union[AnySequence[str], None] = None) -> int:
    """Runs the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    try:
        print(run(options))
    except (InputError, OSError) as error:
        print(f"kvc.accuracy: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
