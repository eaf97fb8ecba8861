"""Quantised caches: codes and scales bit for bit, attention over them, on every target."""

import functools
import itertools

import numpy as np
import pytest

import kvc
import reference
from quantized import (LARGEST, Case, Data, Stored, append, encode, fill, make_cache, pairwise,
                       quantize, unpack)  # fmt: skip
from targets import CPUS, DEFINITIONS, DEVICES, FULL, sample

# --- Cases ------------------------------------------------------------------------

ELEMENTS = ("f8E4M3FN", "f8E5M2", "i8", "i4")
SCHEMES = (
    (None, False, None), ("tensor", True, None), ("tensor", True, 0.04), ("head", True, None),
    ("token", False, None), (32, False, None), (64, False, None), (128, False, None),
    (32, True, None),
)  # fmt: skip
AXES = {
    "k": ELEMENTS + ("f32", "bf16"),
    "v": ELEMENTS + ("f32", "bf16"),
    "scheme": SCHEMES,
    "dtype": ("f32", "f16"),
    "zero": (False, True),
    "phase": ("decode", "prefill", "mla"),
    "target": (DEFINITIONS[1], DEFINITIONS[3], *CPUS, *DEVICES),
    "rows": ("bf16", "f16", "f32"),
    "group": (1, 3, 4, 8, 16),
    "width": (8, 64, 80, 128, 192),
    "page": (1, 16, 48, 64),
}


def stored(element, row):
    """Returns how a component of these elements is stored, with what the row asks for."""
    scheme, static, constant = row["scheme"]
    if element not in ELEMENTS or scheme is None:
        return Stored(element)
    zero = row["zero"] and element == "i4" and constant is None
    return Stored(element, scheme, row["dtype"], static, zero, constant)


def is_valid(row):
    elements = {row["k"], row["v"]}
    plain = elements - set(ELEMENTS)
    if not elements & set(ELEMENTS) or (plain and plain != {row["rows"]}):
        return False
    if row["scheme"][0] is None and elements & {"i8", "i4"}:
        return False
    if row["target"].is_gpu and row["rows"] == "f32":  # its products are of 16 bits
        return False
    return not row["zero"] or ("i4" in elements and row["scheme"][2] is None and row["scheme"][0])


def case_of(row):
    latent = row["phase"] == "mla"
    group = row["group"] * 4 if latent else row["group"]
    return Case(
        stored(row["k"], row), stored(row["v"], row), row["rows"], 1 if latent else 2, group,
        row["width"], page=row["page"], latent=latent, softcap=20.0 if row["group"] == 3 else None,
    )  # fmt: skip


ROWS = pairwise(AXES, is_valid)
LENGTHS = {"decode": ([1, 17, 100, 65], [1, 1, 1, 1]), "prefill": ([5, 64, 33], [5, 20, 1]),
           "mla": ([70, 1, 16], [1, 1, 1])}  # fmt: skip


@functools.lru_cache(maxsize=1)  # phases of one case follow each other
def compiled(text, target):
    return kvc.Compiler().compile(text, **target.compile_options())["attend"]


def check_stored(data, sequences):
    """Compares codes, scales and zero points with what NumPy makes of the rows."""
    for name, stored_as, _ in data.case.components:
        if not stored_as.is_quantized:
            continue
        for index, sequence in enumerate(sequences):
            codes, scales, zeros = data.quantized(name, index)
            got = sequence.read(name)
            got = unpack(got) if stored_as.element == "i4" else got
            assert got.tobytes() == codes.tobytes(), f"codes of '{name}', sequence {index}"
            if stored_as.static or scales is None:
                continue
            assert sequence.read(name + ".scale").tobytes() == scales.tobytes(), name
            if zeros is not None:
                assert sequence.read(name + ".zero").tobytes() == zeros.tobytes(), name


def check_row(row, stream_of):
    """Appends and attends, and compares with NumPy what is stored and what comes out."""
    case = case_of(row)
    kv_lens, query_lens = LENGTHS[row["phase"]]
    data = Data(case, kv_lens)
    function = compiled(case.text, row["target"])
    results, sequences, _ = fill(function, data, query_lens, stream_of(row["target"]))
    check_stored(data, sequences)
    want, lse = data.want(query_lens)
    reference.check_rows(results[0], want, case.dtype)
    reference.check_lse(results[1], lse)
    assert (results[2] == 0).all()


def name_of(row):
    return f"{case_of(row)}-{row['phase']}-{row['target']}"


@pytest.mark.parametrize("row", ROWS, ids=map(name_of, ROWS))
def test_pairwise(row, stream_of):
    check_row(row, stream_of)


def random_row(seed):
    """Returns a valid row of the product of all axes, of which there are millions."""
    rng = np.random.default_rng(seed)
    while True:
        row = {name: values[rng.integers(len(values))] for name, values in AXES.items()}
        if is_valid(row):
            return row


@pytest.mark.parametrize("seed", range(2000 if FULL else 20))
def test_random_row(seed, stream_of):
    row = random_row(seed)
    print(name_of(row))
    check_row(row, stream_of)


def test_pairwise_set_is_complete_and_small():
    assert len(ROWS) <= 400
    for a, b in itertools.combinations(AXES, 2):
        seen = {(str(row[a]), str(row[b])) for row in ROWS}
        for x, y in itertools.product(AXES[a], AXES[b]):
            rows = ({**row, a: x, b: y} for row in ROWS)
            assert (str(x), str(y)) in seen or not any(map(is_valid, rows)), (a, x, b, y)


# --- Properties -------------------------------------------------------------------

KINDS = [
    Stored("f8E4M3FN", "token"), Stored("f8E5M2", "token", "f16"), Stored("i8", "token"),
    Stored("i8", 64, "f16"), Stored("i4", 32), Stored("i4", 32, "f16", zero=True),
    Stored("i4", "token", zero=True), Stored("f8E4M3FN"), Stored("i8", "head", static=True),
]  # fmt: skip
HOSTS = [DEFINITIONS[0], DEFINITIONS[2], CPUS[0], CPUS[len(CPUS) // 2]]


def on_kinds(test, devices=True, kinds=KINDS):
    """Parametrises a test by kinds of storage and targets; those of devices have all kinds."""
    pairs = sample([(k, t) for k in kinds for t in HOSTS], len(kinds) * 2)
    pairs += [(k, t) for k in kinds for t in DEVICES] if devices else []
    ids = [f"{k}-{t}".replace(" ", "") for k, t in pairs]
    return pytest.mark.parametrize("kind, target", pairs, ids=ids)(test)


def on_hosts(test):
    return on_kinds(test, devices=False)


def on_scaled_kinds(test):
    return on_kinds(test, kinds=[kind for kind in KINDS if kind.scheme is not None])


def rows_of(target):
    """Returns the type of rows that tells errors of a target best."""
    return "f16" if target.is_gpu else "f32"


def contents(view):
    return {c.name: np.array(view.memory(c.name)).tobytes() for c in view.cache_type.components}


@on_kinds
def test_streaming_gives_the_bytes_of_appending_at_once(kind, target, stream):
    case = Case(kind, kind, rows_of(target), width=96)
    data = Data(case, [40, 7])
    function = compiled(case.text, target)
    pool, view = make_cache(function, data, 8, stream.device)
    sequences = [pool.sequence(), pool.sequence()]
    append(function, data, sequences, view, [0, 0], [40, 7], stream=stream)
    at_once = contents(view)
    pool, view = make_cache(function, data, 8, stream.device)
    sequences = [pool.sequence(), pool.sequence()]
    for sequence, count in zip(sequences, data.kv_lens):  # the same pages
        sequence.append(count)
    places = [s.slots() for s in sequences]
    for step in range(40):
        rows = [(i, step) for i in (0, 1) if step < data.kv_lens[i]]
        batch = kvc.RawBatch(
            query_start=np.arange(len(rows) + 1, dtype=np.int32),
            kv_lens=np.array([step + 1] * len(rows), np.int32),
            page_ids=np.array([sequences[i].pages + [0] * (3 - len(sequences[i].pages))
                               for i, _ in rows], np.int32),
            slots=np.array([places[i][t] for i, t in rows], np.int64),
        )  # fmt: skip
        take = lambda arrays, rows=rows: np.stack([arrays[i][t] for i, t in rows])
        function(take(data.queries[0]), take(data.rows["k"]), take(data.rows["v"]), view, batch,
                 stream=stream)
    assert contents(view) == at_once


@on_kinds
def test_appending_disturbs_no_neighbour(kind, target, stream):
    # T9: old tokens beside new ones, in the bytes of words and in blocks.
    case = Case(kind, kind, rows_of(target), width=40)
    data = Data(case, [129])
    function = compiled(case.text, target)
    pasts = (1, 2, 3, 4, 15, 16, 17, 31, 63, 64, 65, 127, 128)
    for past in pasts[::4] if target.is_emulator and not FULL else pasts:
        pool, view = make_cache(function, data, 10, stream.device)
        sequences = [pool.sequence()]
        append(function, data, sequences, view, [0], [past], stream=stream)
        append(function, data, sequences, view, [past], [129], stream=stream)
        check_stored(data, sequences)


@on_hosts
def test_what_nobody_owns_does_not_matter(kind, target):
    # T1, T10: NaN or other bytes in free slots, and in their scales.
    case = Case(kind, kind, "bf16", width=128)
    lens = [65, 17, 1]
    data = Data(case, lens)
    function = compiled(case.text, target)
    results = []
    for byte in (0xFF, 0x00, 0x7F, 0x80):
        pool, view = make_cache(function, data)
        for c in view.cache_type.components:
            if c.layout != "static":
                np.asarray(view.memory(c.name)).view(np.uint8)[...] = byte
        sequences = [pool.sequence() for _ in lens]
        append(function, data, sequences, view, [0] * 3, [n - 1 for n in lens])
        results.append(append(function, data, sequences, view, [n - 1 for n in lens], lens))
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other))
    want, _ = data.want([1] * 3)
    reference.check_rows(results[0][0], want, "bf16")


@on_scaled_kinds
def test_scales_are_applied_once(kind, target, stream):
    # T15: twice the scale of the keys is twice the scores, of the values twice the output.
    case = Case(kind, kind, rows_of(target))
    lens = [33, 5]
    data = Data(case, lens)
    function = compiled(case.text, target)
    _, sequences, view = fill(function, data, [1, 1], stream)
    batch = kvc.RawBatch(
        query_start=np.array([0, 1, 2], np.int32), kv_lens=np.array(lens, np.int32),
        page_ids=np.array([s.pages + [0] * (3 - len(s.pages)) for s in sequences], np.int32),
        slots=np.full(2, -1, np.int64),
    )  # fmt: skip
    last = lambda arrays: np.stack([a[-1] for a in arrays])
    queries = last(data.queries[0])
    rows = [last(data.rows[n]) for n in ("k", "v")]
    run = lambda q: function(q, *rows, view, batch, stream=stream)[:2]
    base, base_lse = run(queries)
    for name in ("v", "k"):
        if kind.static:
            scales, zeros = data.static[name]
            view.set_scales(name, scales * 2, None if zeros is None else zeros * 2)
        for suffix in (".scale", ".zero") if kind.zero else (".scale",):
            for sequence in sequences if not kind.static else ():
                sequence.write(name + suffix, sequence.read(name + suffix) * 2)
        if name == "v":
            out, lse = run(queries)
            reference.check_rows(out, 2 * base.astype(np.float64), case.dtype)
            reference.check_lse(lse, base_lse)
            base = out
    out, lse = run(queries * queries.dtype.type(0.5))
    reference.check_rows(out, base.astype(np.float64), case.dtype)
    reference.check_lse(lse, base_lse)


@on_kinds
@pytest.mark.parametrize("width", [80, 96, 112])
def test_range_of_real_lanes_only(kind, target, stream, width):
    # T16: lanes past the width are no zeros in the range of [3, 4].
    case = Case(kind, kind, rows_of(target), width=width)
    data = Data(case, [20])
    rng = np.random.default_rng(2)
    for name in case.names:
        data.rows[name] = [rng.uniform(3, 4, (20, 2, width)).astype(data.rows[name][0].dtype)]
    function = compiled(case.text, target)
    results, sequences, _ = fill(function, data, [20], stream)
    check_stored(data, sequences)
    if kind.zero:  # 15 steps of at most 1 / 15
        error = np.abs(data.numbers("k", 0) - data.rows["k"][0])
        assert error.max() < 0.5 / 15 + 0.01
    want, _ = data.want([20])
    reference.check_rows(results[0], want, case.dtype)


@on_kinds
def test_equal_scores_give_the_mean(kind, target, stream):
    # T6: no probability saturates or is lost.
    case = Case(kind, kind, rows_of(target), heads=1, group=2, page=64)
    length = 512 if target.is_emulator and not FULL else 8192 if FULL else 2048
    data = Data(case, [length])
    data.queries[0] = [np.zeros_like(data.queries[0][0])]
    function = compiled(case.text, target)
    pool, view = make_cache(function, data, device=stream.device)
    sequences = [pool.sequence()]
    appended = 0
    while appended < length - 1:  # few queries, as each looks at all before it
        step = min(length - 1 - appended, 256)
        append(function, data, sequences, view, [appended], [appended + step],
               stream=stream)
        appended += step
    out, _, _ = append(function, data, sequences, view, [length - 1], [length],
                       stream=stream)
    mean = data.numbers("v", 0).mean(axis=0)
    reference.check_rows(out[0], np.repeat(mean, 2, axis=0), case.dtype)


@on_kinds
def test_what_is_not_finite_is_counted_and_stays_alone(kind, target, stream):
    case = Case(kind, kind, rows_of(target), width=72)
    lens = [24, 3]
    data, clean = Data(case, lens), Data(case, lens)
    spoiled = [(0, 3, 0, 5, np.nan), (0, 3, 1, 70, np.inf), (0, 9, 1, 0, -np.inf),
               (1, 2, 0, 33, np.nan)]  # fmt: skip
    for sequence, token, head, w, value in spoiled:
        data.rows["k"][sequence][token, head, w] = value
        if token == 9:
            data.rows["v"][sequence][token, head, w] = value
    function = compiled(case.text, target)
    pool, view = make_cache(function, data, device=stream.device)
    sequences = [pool.sequence(), pool.sequence()]
    _, _, count = append(function, data, sequences, view, [0, 0], lens, stream=stream)
    want = np.zeros(27, np.int32)
    want[[3, 9, 24 + 2]] = 2, 2, 1
    assert (count == want).all()
    check_stored(data, sequences)
    # Other tokens have the codes that they would have without.
    codes, scales, _ = clean.quantized("k", 0)
    others = [t for t in range(24) if t not in (3, 9)]
    got = sequences[0].read("k")
    got = unpack(got) if kind.element == "i4" else got
    assert got[others].tobytes() == codes[others].tobytes()


def test_numpy_model_rounds_as_documented():
    """The reference itself, on numbers that can be checked by hand."""
    for element, x, code in [
        ("i8", [0.5, 1.5, -2.5, 126.5, 127.6, 1e30], [0, 2, -2, 126, 127, 127]),
        ("i4", [0.5, 7.5, -9.0], [0, 7, -7]),
        ("f8E4M3FN", [448.0, 464.0, 1e9, 2.0**-10, 2.0**-9], [448, 448, 448, 0, 2.0**-9]),
    ]:
        got = encode(Stored(element, "token"), np.array(x, np.float32)).astype(np.float64)
        assert got.tolist() == code
    rows = np.array([[[3.0, 4.0] + [3.5] * 6]], np.float32)
    codes, scales, zeros = quantize(Stored("i4", "token", zero=True), rows)
    assert codes.min() == -8 and codes.max() == 7
    assert abs(scales[0, 0, 0] - 1 / 15) < 1e-7 and abs(zeros[0, 0, 0] - (3 + 8 / 15)) < 1e-6
    assert set(LARGEST) == set(ELEMENTS)
