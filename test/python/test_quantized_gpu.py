"""Quantised caches on the GPU, in the emulator.

Attention over codes and scales that these tests draw, against float64 NumPy on what
they stand for by a decoder of their own; and the bytes of appends against those of the
definition. Free pages and unused slots hold NaN, or codes that are.
"""

import json
import os
from dataclasses import dataclass
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

import kvc
import reference
from emulated import in_every_order, in_order
from targets import DEVICES, sample

EMULATORS = [target for target in DEVICES if target.device == "emulator"]
pytestmark = pytest.mark.skipif(not EMULATORS, reason="the emulator is not built")

FLOATS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}


@dataclass(frozen=True)
class Part:
    """A component of a cache: `element` with `scale`, what scale<...> holds, or "" for none."""

    width: int
    element: str = "f8E4M3FN"
    scale: str = ""

    @property
    def text(self):
        return f"{self.width}x{self.element}" + (f" scale<{self.scale}>" if self.scale else "")

    @property
    def group(self):
        words = [word.strip() for word in self.scale.split(",")]
        sizes = [int(word.split("=")[1]) for word in words if word.startswith("group")]
        return sizes[0] if sizes else self.width


@dataclass(frozen=True)
class Case:
    """An attention: of k and v, or with `rotary` of the latent c and of r beside it."""

    k: Part
    v: Part
    heads: int = 2
    group: int = 4
    page: int = 16
    query: str = "bf16"
    rotary: Part = None
    modifiers: str = "#kvc.causal"
    schedule: str = ""

    def __str__(self):
        words = [part.text.replace("scale", "").replace(" ", "") for part in self.parts.values()]
        return "-".join([*words, f"{self.heads}x{self.group}", f"p{self.page}", self.query])

    @property
    def is_latent(self):
        return self.rotary is not None

    @property
    def parts(self):
        return {"c": self.k, "r": self.rotary} if self.is_latent else {"k": self.k, "v": self.v}

    @property
    def terms(self):
        return ["c", "r"] if self.is_latent else ["k"]

    @property
    def value(self):
        return "c" if self.is_latent else "v"

    @property
    def text(self):
        query_heads = self.heads * self.group
        arrays = ", ".join(f"{n}: {self.heads}x{p.text}" for n, p in self.parts.items())
        types = [f"tensor<?x{query_heads}x{self.parts[n].width}x{self.query}>" for n in self.terms]
        out = f"tensor<?x{query_heads}x{self.parts[self.value].width}x{self.query}>"
        lse = f"tensor<?x{query_heads}xf32>"
        inputs = ", ".join(f"%q{i}: {t}" for i, t in enumerate(types))
        terms = ", ".join(f"%q{i} * {n}" for i, n in enumerate(self.terms))
        schedule = f", schedule = {self.schedule}" if self.schedule else ""
        return f"""
!cache = !kvc.cache<page = {self.page}, {arrays}>
func.func @attend({inputs}, %cache: !cache, %batch: !kvc.batch) -> ({out}, {lse}) {{
  %o, %l = kvc.attention %cache at %batch terms({terms}) value({self.value})
      score [{self.modifiers}] {{scale = {self.scale} : f32{schedule}}}
      : !cache, {", ".join(types)} -> {out}, {lse}
  return %o, %l : {out}, {lse}
}}"""

    @property
    def scale(self):
        return 0.09


def draw(rng, shape, part):
    """Returns random numbers of a part's elements as its memory has them, and as float64."""
    if part.element in TYPES:
        values = rng.standard_normal(shape).astype(TYPES[part.element])
        return values, values.astype(np.float64)
    if part.element in FLOATS:
        values = (rng.standard_normal(shape) * 2).astype(FLOATS[part.element])
        return values, values.astype(np.float64)
    if part.element == "i8":
        values = rng.integers(-127, 128, shape).astype(np.int8)
        return values, values.astype(np.float64)
    low = -8 if "zero_point" in part.scale else -7
    values = rng.integers(low, 8, shape)
    pairs = (values[..., ::2] & 15) | (values[..., 1::2] << 4)
    return pairs.astype(np.uint8).astype(np.int8), values.astype(np.float64)


class Cache:
    """A pool in the emulator with random contents, and what they stand for."""

    def __init__(self, case, cache_type, device, kv_lens, seed=0):
        self.case, rng = case, np.random.default_rng(seed)
        counts = [-(-n // case.page) for n in kv_lens]
        self.pool = kvc.Pool(cache_type, sum(counts) + 2, page_order_seed=1, device=device)
        self.view = self.pool.view()
        self.sequences = [self.pool.sequence(n) for n in kv_lens]
        self.slots = [np.array(s.slots(0), np.int64) for s in self.sequences]
        self.stored = {name: self._fill(rng, name, part) for name, part in case.parts.items()}

    def batch(self, query_lens):
        """Returns the batch, of which sequences without a key may have queries too."""
        most = max(len(s.pages) for s in self.sequences)
        table = np.full((len(self.sequences), most), -1, np.int32)
        for row, sequence in zip(table, self.sequences):
            row[: len(sequence.pages)] = sequence.pages
        return kvc.RawBatch(
            query_start=np.concatenate([[0], np.cumsum(query_lens)]).astype(np.int32),
            kv_lens=np.array([len(slots) for slots in self.slots], np.int32),
            page_ids=table,
            slots=np.full(sum(query_lens), -1, np.int64),
        )

    def _write(self, name, draw_rows):
        """Fills an array with NaN and the slots of the sequences with rows; returns these."""
        memory = self.view._copy(name)
        bits = memory.view(np.dtype(f"u{memory.itemsize}"))
        bits[...] = np.iinfo(bits.dtype).max
        page, rows = self.case.page, []
        for slots in self.slots:
            stored, numbers = draw_rows((len(slots), memory.shape[2]))
            memory[slots // page, slots % page] = stored.view(memory.dtype)
            rows.append(numbers)
        self.view._update(name, memory)
        return rows

    def _write_static(self, name, values):
        memory = self.view._copy(name)
        memory[...] = values.reshape(memory.shape)
        self.view._update(name, memory)

    def _scales(self, rng, name, part):
        """Returns for each sequence numbers of shape (tokens, heads, groups)."""
        dtype = TYPES[part.scale.split(",")[0].strip()]
        groups = -(-part.width // part.group)
        unit = {"i8": 0.01, "i4": 0.15}.get(part.element, 0.6)

        def numbers(shape):
            values = (unit * np.exp(0.5 * rng.standard_normal(shape))).astype(dtype)
            if name.endswith(".zero"):
                values = (rng.standard_normal(shape) * 0.3).astype(dtype)
            return values, values.astype(np.float64)

        if "static" in part.scale:
            shape = (1 if "tensor" in part.scale else self.case.heads, groups)
            stored, values = numbers(shape)
            self._write_static(name, stored)
            return [np.broadcast_to(values, (len(s), self.case.heads, groups)) for s in self.slots]
        return self._write(name, lambda shape: numbers((*shape, groups)))

    def _fill(self, rng, name, part):
        rows = self._write(name, lambda shape: draw(rng, (*shape, part.width), part))
        if not part.scale:
            return rows
        if "static =" in part.scale:
            constant = np.float32(part.scale.split("static =")[1])
            return [codes * np.float64(constant) for codes in rows]
        column = np.arange(part.width) // part.group
        scales = self._scales(rng, f"{name}.scale", part)
        rows = [codes * scale[..., column] for codes, scale in zip(rows, scales)]
        if "zero_point" in part.scale:
            zeros = self._scales(rng, f"{name}.zero", part)
            rows = [codes + zero[..., column] for codes, zero in zip(rows, zeros)]
        return rows


@pytest.fixture(scope="module")
def stream():
    return kvc.Stream(device=kvc.Device("emulator"))


def attend(case, kv_lens, query_lens, stream, seed=0, orders=True, **options):
    """Runs a case and compares it with float64; returns the output."""
    function = kvc.Compiler().compile(case.text, target="gpu", **options)["attend"]
    cache = Cache(case, function.cache_type, stream.device, kv_lens, seed)
    batch = cache.batch(query_lens)
    rng, tokens = np.random.default_rng(seed + 1), sum(query_lens)
    query_heads = case.heads * case.group
    queries = [
        rng.standard_normal((tokens, query_heads, case.parts[name].width)).astype(TYPES[case.query])
        for name in case.terms
    ]

    def run_once():
        return function(*queries, cache.view, batch, stream=stream)

    out, lse = in_every_order(run_once) if orders else in_order("copies=lazy", run_once)
    words = case.modifiers
    want, want_lse = reference.attention(
        [(q, cache.stored[name]) for q, name in zip(queries, case.terms)],
        cache.stored[case.value],
        query_lens,
        scale=float(np.float32(case.scale)),
        causal="causal" in words,
        softcap=float(words.split("softcap<")[1].split(">")[0]) if "softcap" in words else None,
        window=int(words.split("window<")[1].split(">")[0]) if "window" in words else None,
    )
    reference.check_rows(out, want, case.query)
    reference.check_lse(lse, want_lse)
    return out


LENS = [0, 1, 15, 16, 17, 100, 300]
COLUMNS = ("<form = columns, rows = 16, keys = 32, stages = 2, warps = 2, "
           "query_tokens = 1>")  # fmt: skip
F8, I8, I4 = ("f8E4M3FN", "i8", "i4")

# Of each element every scheme, and of the rest a spread.
DECODE = [
    Case(Part(128, F8, "f32"), Part(128, F8, "f32"), page=64),
    Case(Part(128, F8), Part(128, F8), query="f16"),
    Case(Part(128, "f8E5M2", "f16, head, static"), Part(128, "f8E5M2", "f32, tensor, static")),
    Case(Part(64, F8, "f32, tensor, static = 0.05"), Part(64, F8, "f32, tensor, static = 0.25")),
    Case(Part(128, F8, "f32, group = 32"), Part(128, F8, "f32, group = 64"), page=1),
    Case(Part(128, I8, "f32"), Part(128, I8, "f32"), page=64),
    Case(Part(128, I8, "f16, group = 32"), Part(128, I8, "f16, group = 32"), query="f16"),
    Case(Part(128, I8, "f32, group = 64, static"), Part(128, I8, "f32, head, static"), group=3),
    Case(Part(128, I4, "f32"), Part(128, I4, "f32"), page=64),
    Case(Part(128, I4, "f16, group = 32, zero_point"), Part(128, I4, "f16, zero_point")),
    Case(Part(128, I4, "f32, zero_point"), Part(128, I4, "f16, group = 32, zero_point"), page=64),
    Case(Part(64, I4, "f32, group = 32, static, zero_point"),
         Part(64, I4, "f32, head, static, zero_point"), group=7),
    # Widths that are no whole chunks of 16 bytes.
    Case(Part(80, I4, "f32"), Part(80, I4, "f32, group = 32")),
    Case(Part(96, I4, "f32, group = 64"), Part(112, I4, "f32"), page=64),
    Case(Part(72, F8, "f32"), Part(8, F8, "f32"), group=5),
    Case(Part(80, I8, "f32, group = 32"), Part(40, I8, "f32"), query="f16"),
    # Components of other types beside them.
    Case(Part(128, I8, "f32"), Part(128, "bf16")),
    Case(Part(128, "f16"), Part(128, I4, "f32"), query="f16"),
    # Groups of query heads: beyond 8 another form.
    Case(Part(128, F8, "f32"), Part(128, F8, "f32"), group=1),
    Case(Part(128, I4, "f32"), Part(128, I8, "f32"), group=16, heads=1),
    Case(Part(64, I8, "f32"), Part(64, I4, "f32"), group=48, heads=1),
    Case(Part(128, I8, "f32"), Part(128, I4, "f32, group = 32"), group=5,
         modifiers="#kvc.softcap<20.0>, #kvc.causal, #kvc.window<40>"),
    # Warps that share the columns, of one chunk each: beside the last one lies another slot.
    Case(Part(64, F8), Part(32, F8), group=16, heads=1,
         schedule=f"#kvc.gpu_schedule<decode = {COLUMNS}, prefill = {COLUMNS}, split = 64>"),
]  # fmt: skip


@pytest.mark.parametrize("case", DECODE, ids=str)
def test_decode(stream, case):
    attend(case, LENS, [1] * len(LENS), stream)


def test_page_ids_in_several_registers(stream):
    # 128 rows a warp, on pages that begin with the first of them, or within.
    form = "<form = tokens_m, rows = 8, keys = 256, stages = 2, warps = 2, query_tokens = 1>"
    schedule = f"#kvc.gpu_schedule<decode = {form}, prefill = {form}, split = 256>"
    for page in (1, 3):
        case = Case(Part(128, I4, "f32"), Part(128, I4, "f32"), page=page, schedule=schedule)
        attend(case, [1, 700, 255, 513], [1] * 4, stream)


PREFILL = [
    Case(Part(128, F8, "f32"), Part(128, F8, "f32"), page=64),
    Case(Part(128, I8, "f32"), Part(128, I8, "f16, group = 32"), page=1, query="f16"),
    Case(Part(128, I4, "f16, group = 32, zero_point"), Part(128, I4, "f16, zero_point"), group=7),
    Case(Part(80, I4, "f32, head, static"), Part(80, I4, "f32, group = 64"), group=1),
    Case(Part(64, "f8E5M2"), Part(64, "bf16"), group=3),
]


@pytest.mark.parametrize("case", PREFILL, ids=str)
def test_prefill(stream, case):
    attend(case, [0, 1, 40, 17, 150], [0, 1, 40, 3, 70], stream)


LATENT = [
    Case(Part(512, F8, "f32, group = 128"), None, heads=1, group=16, page=64,
         rotary=Part(64, "bf16")),
    Case(Part(512, I8, "f32"), None, heads=1, group=16, rotary=Part(64, "bf16")),
    Case(Part(256, I4, "f32"), None, heads=1, group=16, rotary=Part(64, I8, "f32")),
    # A warp has columns of two groups, and only keys of its own to sum zero points of.
    Case(Part(512, I8, "f32, group = 32"), None, heads=1, group=5, rotary=Part(64, "bf16")),
    Case(Part(512, I4, "f16, group = 64, zero_point"), None, heads=1, group=40,
         rotary=Part(64, "bf16")),
    Case(Part(512, I4, "f32, group = 32, static, zero_point"), None, heads=1, group=16,
         rotary=Part(64, "bf16")),
    # Columns that are added so that each warp has whole blocks of them take memory too.
    Case(Part(448, I4, "f32"), None, heads=1, group=16, rotary=Part(64, "bf16")),
    Case(Part(272, I8, "f32"), None, heads=1, group=16, rotary=Part(64, "bf16")),
]  # fmt: skip


@pytest.mark.parametrize("case", LATENT, ids=str)
def test_latent(stream, case):
    attend(case, [1, 17, 100], [1, 1, 1], stream, orders=False)
    attend(case, [5, 70], [5, 20], stream, orders=False)


# --- Append ----------------------------------------------------------------------


@dataclass(frozen=True)
class Append:
    """An append of one component k from rows of `rows`."""

    part: Part
    rows: str = "bf16"
    heads: int = 2
    page: int = 16
    rotary: int = 0
    counts: bool = False

    def __str__(self):
        words = [self.part.text.replace(" ", ""), self.rows, f"p{self.page}"]
        return "-".join(words + ["rope"] * bool(self.rotary) + ["count"] * self.counts)

    @property
    def text(self):
        rows = f"tensor<?x{self.heads}x{self.part.width}x{self.rows}>"
        rope = (
            f"%r = kvc.rope %k at %batch {{rotary_width = {self.rotary} : i64, "
            f"theta = 1.0e4 : f64}} : {rows}"
            if self.rotary
            else ""
        )
        count = "tensor<?xi32>"
        return f"""
!cache = !kvc.cache<page = {self.page}, k: {self.heads}x{self.part.text}>
func.func @write(%k: {rows}, %cache: !cache, %batch: !kvc.batch){f" -> {count}" * self.counts} {{
  {rope}
  {"%n = " * self.counts}kvc.append %cache[k: {"%r" if self.rotary else "%k"}] at %batch
      : !cache, {rows}{f" -> {count}" * self.counts}
  return{f" %n : {count}" * self.counts}
}}"""


APPENDS = [
    *(Append(Part(128, e, "f32"), rows) for e in (F8, "f8E5M2", I8, I4) for rows in ("bf16", "f32")),
    Append(Part(128, I4, "f16, group = 32, zero_point"), "f16", page=1),
    Append(Part(80, I4, "f16, group = 32"), counts=True),
    Append(Part(72, I8, "f16, group = 64"), "f16", counts=True),
    Append(Part(200, F8, "f32, group = 128"), "f32", page=64),
    Append(Part(8, I4, "f32, zero_point"), "f32"),
    Append(Part(24, F8, "f32, head, static"), counts=True),
    Append(Part(40, I8, "f16, tensor, static")),
    Append(Part(96, I4, "f32, group = 32, static, zero_point"), "f16"),
    Append(Part(64, F8), "f32"),
    Append(Part(64, I8, "f32, tensor, static = 0.05"), "f32"),
    Append(Part(128, F8, "f32"), rotary=128),
    Append(Part(80, I4, "f16, group = 32"), "f16", rotary=32),
    Append(Part(64, I8, "f32"), rotary=64, counts=True),
]  # fmt: skip


def special_rows(case, tokens, seed=0):
    """Returns rows of many sizes, with zeros of both signs, NaN, infinities and large ones."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((tokens, case.heads, case.part.width)).astype(np.float32)
    rows *= np.exp(3 * rng.standard_normal((tokens, case.heads, 1))).astype(np.float32)
    with np.errstate(over="ignore"):
        rows[1] = 0.0
        rows[2] = -0.0
        rows[3, :, ::2] = -0.0
        rows[4, :, 3] = np.nan
        rows[5, 0, :] = np.inf
        rows[6, :, 5] = -np.inf
        rows[7] *= np.float32(1e30)
        rows[8] *= np.float32(1e-30)
        rows[9] = 7.0
        return rows.astype(TYPES[case.rows])


@pytest.mark.parametrize("case", APPENDS, ids=str)
def test_append_stores_the_bytes_of_the_definition(stream, case):
    tokens = 37
    rows = special_rows(case, tokens)
    if case.rotary:
        rows = np.where(np.isfinite(rows.astype(np.float32)), rows, rows.dtype.type(1))
    memories, counts = [], []
    for target, device in (("definition", None), ("gpu", stream.device)):
        function = kvc.Compiler().compile(case.text, target=target)["write"]
        pool = kvc.Pool(function.cache_type, 40, debug_fill=True, device=device)
        view = pool.view()
        for component in function.cache_type.components:
            if component.layout == "static":
                memory = view._copy(component.name)
                # Rows of a zero scale are of code 0.
                memory[...] = np.linspace(0, 0.3, memory.size).reshape(memory.shape)
                view._update(component.name, memory)
        sequence = pool.sequence(tokens)
        slots = np.array(sequence.slots(0), np.int64)
        slots[11] = -1
        batch = kvc.RawBatch(
            query_start=np.array([0, tokens], np.int32),
            kv_lens=np.array([tokens], np.int32),
            page_ids=np.array([sequence.pages], np.int32),
            slots=slots,
        )
        result = function(rows, view, batch, stream=stream if device else None)
        counts.append(result)
        memories.append(
            {c.name: np.array(view.memory(c.name)) for c in function.cache_type.components}
        )
    for name, want in memories[0].items():
        assert memories[1][name].tobytes() == want.tobytes(), name
    if case.counts:
        assert counts[0].tobytes() == counts[1].tobytes() and counts[0][11] == 0


# --- What kernels move --------------------------------------------------------------


@pytest.mark.parametrize("width", [48, 64, 80, 96, 128, 256])
@pytest.mark.parametrize("element", [F8, I8, I4])
def test_copies_and_operands_meet_no_bank_twice(stream, element, width, tmp_path):
    """And each code and scale is copied once."""
    case = Case(Part(width, element, "f32"), Part(width, element, "f32"), page=64)
    tokens, path = 1024, tmp_path / "counters.jsonl"
    function = kvc.Compiler().compile(case.text, target="gpu")["attend"]
    cache = Cache(case, function.cache_type, stream.device, [tokens])
    query = np.ones((1, case.heads * case.group, width), TYPES[case.query])
    with mock.patch.dict(os.environ, KVC_EMULATOR=f"copies=lazy,counters={path}"):
        function(query, cache.view, cache.batch([1]), stream=stream)
    counters = [json.loads(line)["counters"] for line in path.read_text().splitlines()]
    for name in ("matrix_loads", "copy_stores"):
        assert sum(launch[name]["conflicts"] for launch in counters) == 0, name
    row = width // (2 if element == I4 else 1)
    if row % 32 == 0:  # of whole sectors
        assert 32 * sum(launch["copies"]["sectors"] for launch in counters) == (
            2 * tokens * case.heads * (row + 4)
        )
