"""The contents of caches: rows of any layout, what codes stand for, and moving them."""

import itertools
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import kvc
import kvc.codes
import kvc.dtypes
from problems import same_bits
from targets import DEVICES

PLACES = [None, *sorted({target.device for target in DEVICES})]
LAYOUTS = ["row_major", "packed_key", "packed_value"]
BYTES = ["f8E4M3FN", "f8E5M2", "i8", "i4x2"]
ELEMENTS = ["f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "i4x2"]


@pytest.fixture(params=PLACES, ids=lambda kind: kind or "host")
def device(request):
    return request.param and kvc.Device(request.param)


def random_rows(shape, dtype, seed=1):
    """Returns an array of any bits but NaN, which is not equal to itself."""
    dtype = kvc.dtypes.to_numpy(dtype)
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    rows = bits.reshape(-1).view(dtype).reshape(shape)
    with np.errstate(invalid="ignore"):
        isnan = np.isnan(rows.astype(np.float32))
    rows[isnan] = 0
    return rows


# --- Rows ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout, dtype",
    [*itertools.product(LAYOUTS, ELEMENTS), *itertools.product(["lane_key"], BYTES)],
)
def test_rows_come_back(layout, dtype, device):
    component = kvc.Component("x", 3, 12, dtype, layout)
    pool = kvc.Pool(kvc.CacheType(32, [component]), 5, page_order_seed=3, device=device)
    pool.view().fill(0)
    sequence = pool.sequence(70)
    rows = random_rows((70, 3, 12), dtype)
    sequence.write("x", rows[:50])
    sequence.write("x", rows[50:], start=50)
    assert same_bits(sequence.read("x"), rows)
    # Nothing else has been written.
    digits = [
        np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        for array in (pool.view().memory("x"), rows)
    ]
    memory, written = (digit // 16 + digit % 16 for digit in digits)
    assert memory.sum(dtype=np.int64) == written.sum(dtype=np.int64)


def test_rows_of_any_order(device):
    cache = kvc.CacheType(16, [kvc.Component("x", 2, 8, "i4x2", "packed_value")])
    view = kvc.Pool(cache, 4, device=device).view()
    view.fill(0)
    rng = np.random.default_rng(4)
    expected = np.zeros((64, 2, 8), np.uint8)
    for _ in range(20):
        slots = rng.integers(0, 64, rng.integers(0, 9))
        rows = rng.integers(0, 256, (len(slots), 2, 8), np.uint8)
        view.write("x", slots, rows)
        for slot, row in zip(slots, rows):  # the last of equal slots
            expected[slot] = row
        assert (view.read("x", slots) == expected[slots]).all()
    assert (view.read("x", np.arange(64)) == expected).all()
    # Slots and rows may be views of other arrays.
    assert (view.read("x", np.arange(64)[::-3]) == expected[::-3]).all()
    view.write("x", np.arange(0, 64, 2)[::2], expected[::-1][:16])
    assert (view.read("x", np.arange(0, 64, 4)) == expected[::-1][:16]).all()


def test_rows_of_arrays_of_others():
    """Tokens outside heads, and heads outside pages."""
    cache = kvc.CacheType(4, [kvc.Component("k", 2, 8, "i4x2"), kvc.Component("v", 2, 6, "bf16")])
    k = np.zeros((5, 4, 2, 8), np.uint8)
    v = np.zeros((2, 5, 4, 6), ml_dtypes.bfloat16)
    view = kvc.CacheView(cache, {"k": k, "v": v.transpose(1, 2, 0, 3)})
    slots = np.array([7, 0, 19])
    k_rows, v_rows = random_rows((3, 2, 8), "i4x2"), random_rows((3, 2, 6), "bf16")
    view.write("k", slots, k_rows)
    view.write("v", slots, v_rows)
    assert (k[slots // 4, slots % 4] == k_rows).all()
    assert (v[:, slots // 4, slots % 4].transpose(1, 0, 2) == v_rows).all()
    assert np.count_nonzero(k) <= 48 and np.count_nonzero(v) <= 36
    assert same_bits(view.read("v", slots), v_rows) and same_bits(view.read("k", slots), k_rows)


def test_wrong_rows(device):
    cache = kvc.CacheType(
        16, [kvc.Component("k", 2, 8, "i8"), kvc.Component("k.scale", 2, 1, "f32", "static")]
    )
    view = kvc.Pool(cache, 3, device=device).view()
    for slot in (-1, 48, 1 << 60):
        with pytest.raises(kvc.Error, match=f"slot 1: expected one of 3 pages of 16 .*, got {slot}"):
            view.read("k", [0, slot])
        with pytest.raises(kvc.Error, match="slot 1: expected one of 3 pages"):
            view.write("k", [0, slot], np.zeros((2, 2, 8)))
    with pytest.raises(ValueError, match=r"'k': expected values of shape \(2, 2, 8\), got \(2, 16\)"):
        view.write("k", [0, 1], np.zeros((2, 16)))
    with pytest.raises(kvc.Error, match="'k.scale': expected one with rows of tokens, got a static"):
        view.read("k.scale", [0])
    with pytest.raises(KeyError, match="expected a component of k, k.scale, got 'q'"):
        view.read("q", [0])


# --- What codes stand for -------------------------------------------------------


def test_integers_of_four_bits():
    pairs = np.arange(256, dtype=np.uint8)
    codes = kvc.codes.unpack_i4(pairs)
    assert codes.dtype == np.int8 and codes.shape == (512,)
    for pair in range(256):
        for half, digit in enumerate((pair % 16, pair // 16)):
            assert codes[2 * pair + half] == (digit if digit < 8 else digit - 16)
    assert (kvc.codes.pack_i4(codes) == pairs).all()


@pytest.mark.parametrize("width, count, group", [
    (128, 1, 128), (128, 4, 32), (128, 2, 64), (96, 3, 32), (96, 2, 64), (96, 1, 96),
    (136, 2, 128), (136, 1, 136), (136, 5, 32), (32, 1, 32), (256, 2, 128),
])  # fmt: skip
def test_groups(width, count, group):
    assert kvc.codes.scale_group(width, count) == group


def test_no_groups():
    with pytest.raises(ValueError, match="expected the scales of 128 elements in groups of 32.*got 3"):
        kvc.codes.scale_group(128, 3)


def elements(dtype):
    return "i4" if dtype == "i4x2" else dtype


# Element type, scales as #kvc.scale has them.
SCALES = [
    ("i8", "f32"), ("i8", "f16, token"), ("i8", "f32, group = 32"), ("i8", "f32, head, static"),
    ("i8", "f32, tensor, static"), ("i8", "f32, tensor, static = 0.05"), ("i8", "f16, group = 64, static"),
    ("f8E4M3FN", ""), ("f8E5M2", ""), ("f8E4M3FN", "f32, token"), ("f8E5M2", "f16, group = 128"),
    ("f8E4M3FN", "f32, tensor, static = 0.25"), ("i4", "f16, group = 32"), ("i4", "f32, token, zero_point"),
    ("i4", "f16, group = 64, zero_point"), ("i4", "f32, head, static, zero_point"),
    ("i4", "f32, group = 128, static, zero_point"),
]  # fmt: skip


def append_text(cache, heads, width, element="f32"):
    rows = f"tensor<?x{heads}x{width}x{element}>"
    return f"""
!cache = {cache}
func.func @append(%k: {rows}, %v: {rows}, %cache: !cache, %batch: !kvc.batch) {{
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, {rows}, {rows}
  return
}}"""


def cache_text(element, scale, width, page=16, heads=2, layouts=("row_major", "row_major")):
    scale = f" scale<{scale}>" if scale else ""
    parts = [
        f"{name}: {heads}x{width}x{element} layout<{layout}>{scale}"
        for name, layout in zip("kv", layouts)
    ]
    return f"!kvc.cache<page = {page}, {', '.join(parts)}>"


def static_scales(view, rng):
    """Sets the static scales of a cache, if it has any."""
    for component in view.cache_type.components:
        if component.is_static and component.name.endswith(".scale"):
            name = component.name[: -len(".scale")]
            shape = component.heads, component.width
            has_zero = any(c.name == name + ".zero" for c in view.cache_type.components)
            zero = rng.uniform(-1, 1, shape).astype(np.float32) if has_zero else None
            view.set_scales(name, rng.uniform(0.02, 0.5, shape).astype(np.float32), zero)


def stands_for(view, cache_type, name, page, offset, head, w):
    """Returns what one element stands for, from the memory of row-major arrays."""
    components = {c.name: c for c in cache_type.components}
    component = components[name]
    memory = view.memory(name)[page, offset, head]
    width = component.width * (2 if component.dtype == "i4x2" else 1)
    if component.dtype == "i4x2":
        digit = int(memory[w // 2]) >> (4 * (w % 2)) & 15
        code = digit - 16 if digit > 7 else digit
    else:
        code = memory[w]
    result = np.float32(code)

    def companion(suffix):
        other = components.get(name + suffix)
        if other is None:
            return None
        array = view.memory(other.name)
        rows = array if other.is_static else array[page, offset]
        group = next(g for g in (width, 128, 64, 32) if -(-width // g) == other.width)
        return np.float32(rows[head if other.heads > 1 else 0, w // group])

    scale, zero = companion(".scale"), companion(".zero")
    if component.scale:
        scale = np.float32(component.scale)
    result = result if scale is None else result * scale
    return result if zero is None else result + zero


@pytest.mark.parametrize("element, scale", SCALES)
@pytest.mark.parametrize("width", [32, 136])
def test_numbers_of_codes(compiler, element, scale, width):
    """What an append of the definition stored, element by element."""
    rng = np.random.default_rng(5)
    text = append_text(cache_text(element, scale, width), 2, width)
    append = compiler.compile(text, target="definition")["append"]
    pool = kvc.Pool(append.cache_type, 4, page_order_seed=2)
    view, sequence = pool.view(), pool.sequence(19)
    static_scales(view, rng)
    k, v = rng.standard_normal((2, 19, 2, width), np.float32)
    append(k, v, view, kvc.Batch.from_sequences([sequence], [19]))
    for name, values in (("k", k), ("v", v)):
        got = sequence.dequantize(name)
        assert got.dtype == np.float32 and got.shape == (19, 2, width)
        for token, head, w in rng.integers(0, (19, 2, width), (40, 3)):
            page, offset = divmod(int(sequence.slots()[token]), 16)
            want = stands_for(view, pool.cache_type, name, page, offset, head, w)
            assert got[token, head, w] == want
        if "static" not in scale:  # ... and it is what went in, within half a step
            steps = {"i8": 250, "i4": 13, "f8E4M3FN": 15.9, "f8E5M2": 7.9}[element]
            assert np.abs(got - values).max() <= np.abs(values).max() / steps


@pytest.mark.parametrize("element, scale", [
    ("bf16", ""), ("f16", ""), ("i8", "f32, token"), ("f8E4M3FN", "f16, group = 32"), ("f8E5M2", ""),
    ("i4", "f32, token"), ("i4", "f16, group = 32, zero_point"),
])  # fmt: skip
@pytest.mark.parametrize("target", ["definition", "cpu"])
def test_programs_pack_pages_as_the_runtime_reads_them(compiler, target, element, scale):
    """The rows of packed pages are those of row-major ones, bit for bit."""
    rows = element if element in ("bf16", "f16") else "f32"
    dtype = kvc.dtypes.to_numpy(rows)
    k, v = np.random.default_rng(8).standard_normal((2, 75, 2, 40), np.float32).astype(dtype)
    exported = []
    orders = [["row_major"] * 2, LAYOUTS[1:]]
    if rows == "f32":  # codes
        orders.append(["lane_key", "row_major"])
    for layouts in orders:
        cache = cache_text(element, scale, 40, page=32, layouts=layouts)
        append = compiler.compile(append_text(cache, 2, 40, rows), target=target)["append"]
        pool = kvc.Pool(append.cache_type, 5, page_order_seed=4)
        sequence = pool.sequence(75)
        append(k, v, pool.view(), kvc.Batch.from_sequences([sequence], [75]))
        exported.append(sequence.export())
        assert [pool.cache_type.components[pool.cache_type.index(n)].layout for n in "kv"] == layouts
    for other in exported[1:]:
        for name, array in exported[0].items():
            assert array.tobytes() == other[name].tobytes()


def test_plain_elements_stand_for_themselves(device):
    cache = kvc.CacheType(16, [kvc.Component("k", 2, 8, "bf16", "packed_key")])
    sequence = kvc.Pool(cache, 3, device=device).sequence(20)
    sequence.write("k", random_rows((20, 2, 8), "bf16"))
    assert same_bits(sequence.dequantize("k"), sequence.read("k").astype(np.float32))


def test_codes_without_scales():
    cache = kvc.CacheType(16, [kvc.Component("k", 2, 8, "i8")])
    sequence = kvc.Pool(cache, 3).sequence(20)
    with pytest.raises(ValueError, match="expected scales of component 'k', whose elements are codes "
                                         "of i8, got neither an array 'k.scale' nor a constant"):  # fmt: skip
        sequence.dequantize("k")


# --- Static scales ----------------------------------------------------------------


def static_type():
    return kvc.CacheType(16, [
        kvc.Component("k", 2, 8, "i4x2", "packed_key"),
        kvc.Component("k.scale", 2, 1, "f16", "static"),
        kvc.Component("k.zero", 2, 1, "f16", "static"),
        kvc.Component("v", 2, 16, "i8"),
        kvc.Component("v.scale", 1, 1, "f32", "static"),
        kvc.Component("w", 2, 16, "i8"),
        kvc.Component("w.scale", 2, 1, "f32"),
    ])  # fmt: skip


def test_static_scales(device):
    pool = kvc.Pool(static_type(), 3, layers=2, device=device)
    view = pool.view(1)
    assert np.isnan(view.memory("k.scale")).all() and view.memory("k.scale").shape == (2, 1)
    view.set_scales("v", 0.5)
    view.set_scales("k", [[0.25], [2]], zero=-1)
    assert view.memory("v.scale").tolist() == [[0.5]]
    assert view.memory("k.scale").tolist() == [[0.25], [2]]
    assert view.memory("k.zero").tolist() == [[-1], [-1]]
    assert np.isnan(pool.view(0).memory("k.scale")).all()
    sequence = pool.sequence(18)
    rows = random_rows((18, 2, 8), "i4x2")
    sequence.write("k", rows, layer=1)
    assert same_bits(sequence.read("k", layer=1), rows)
    want = kvc.codes.unpack_i4(rows).astype(np.float32) * [[0.25], [2]] - 1
    assert (sequence.dequantize("k", layer=1) == want).all()
    assert view.memory("k.scale").tolist() == [[0.25], [2]]  # as before
    if device is None:
        view.memory("k.scale")[...] = 3
        assert view.memory("k.scale").tolist() == [[3], [3]]


def test_wrong_static_scales(device):
    view = kvc.Pool(static_type(), 3, device=device).view()
    with pytest.raises(ValueError, match="'k': expected zero points, got none"):
        view.set_scales("k", 1)
    with pytest.raises(ValueError, match="'v': expected no zero points, got some"):
        view.set_scales("v", 1, zero=0)
    with pytest.raises(ValueError, match="'w': expected static scales to set, but appends compute them"):
        view.set_scales("w", 1)
    with pytest.raises(ValueError, match="'k.scale': expected static scales .*, but it has none in memory"):
        view.set_scales("k.scale", 1)
    with pytest.raises(KeyError, match="got 'q'"):
        view.set_scales("q", 1)
    with pytest.raises(ValueError, match=r"'k.zero': expected an array that broadcasts to shape \(2, 1\), "
                                         r"got \(3,\)"):  # fmt: skip
        view.set_scales("k", 1, zero=[1, 2, 3])
    assert np.isnan(view.memory("k.scale")).all()  # nothing has changed


# --- Moving contents ----------------------------------------------------------------


def moved_type(page, layouts):
    k, v = layouts
    return kvc.CacheType(page, [
        kvc.Component("k", 2, 32, "i4x2", k),
        kvc.Component("k.scale", 2, 2, "f16"),
        kvc.Component("k.zero", 2, 2, "f16"),
        kvc.Component("v", 2, 64, "f8E4M3FN", v),
        kvc.Component("v.scale", 2, 1, "f32", "static"),
        kvc.Component("r", 1, 16, "bf16", k),
    ])  # fmt: skip


def filled(pool, length, seed=6, layer=0):
    sequence = pool.sequence(length)
    for component in pool.cache_type.components:
        if not component.is_static:
            shape = length, component.heads, component.width
            sequence.write(component.name, random_rows(shape, component.dtype, seed), layer=layer)
    return sequence


@pytest.mark.parametrize("page, layouts", [
    (16, LAYOUTS[1:]), (32, LAYOUTS[1:]), (5, ["row_major"] * 2), (48, ["packed_value", "lane_key"]),
])  # fmt: skip
def test_contents_move(tmp_path, page, layouts, device):
    pool = kvc.Pool(moved_type(16, LAYOUTS[1:]), 4, layers=2, device=device)
    pool.view(1).set_scales("v", [[0.5], [0.25]])
    sequence = filled(pool, 37, layer=1)
    arrays = sequence.export(layer=1)
    assert [*arrays][:-1] == ["k", "k.scale", "k.zero", "v", "v.scale", "r"]
    assert arrays["v.scale"].shape == (2, 1) and arrays["k"].shape == (37, 2, 32)
    assert arrays["r"].dtype == ml_dtypes.bfloat16 and arrays["v"].dtype == ml_dtypes.float8_e4m3fn

    np.savez(tmp_path / "sequence.npz", **arrays)
    other = kvc.Pool(moved_type(page, layouts), 20, page_order_seed=1)
    moved = other.sequence(37)
    moved.load(np.load(tmp_path / "sequence.npz"))
    for name, array in moved.export().items():
        assert array.tobytes() == arrays[name].tobytes() and array.dtype == arrays[name].dtype
    assert (moved.dequantize("k") == sequence.dequantize("k", layer=1)).all()
    # A second sequence of the layer, whose static scales are there now.
    again = other.sequence(37)
    again.load(arrays)
    assert same_bits(again.read("v"), arrays["v"])
    # And back to a device, straight from memory.
    sequence.load(moved.export(), layer=1)
    assert same_bits(sequence.read("k", layer=1), arrays["k"])
    assert sequence.pool.sequence().export(layer=1)["k"].shape == (0, 2, 32)


def test_wrong_contents(device):
    cache = moved_type(16, LAYOUTS[1:])
    arrays = filled(kvc.Pool(cache, 4), 20).export()
    arrays["v.scale"] = np.full((2, 1), 0.5, np.float32)
    pool = kvc.Pool(cache, 9, device=device)
    sequence = pool.sequence(20)
    before = {name: array.copy() for name, array in sequence.export().items()}

    def refused(match, sequence=sequence, **changes):
        changed = {name: array for name, array in {**arrays, **changes}.items() if array is not None}
        with pytest.raises(ValueError, match=match):
            sequence.load(changed)
        for name, array in sequence.export().items() if len(sequence) == 20 else ():
            assert array.tobytes() == before[name].tobytes()

    refused(r"expected arrays k, k.scale, k.zero, r, v, v.scale, got k.scale, k.zero, r, v, v.scale", k=None)
    refused(r"got k, k.scale, k.zero, q, r, v", q=np.zeros(3))
    refused(r"'k': expected an array of shape \(20, 2, 32\), got \(19, 2, 32\)", k=arrays["k"][1:])
    refused(r"'k': expected an array of shape \(21, 2, 32\), got \(20, 2, 32\)", pool.sequence(21))
    refused(r"'v.scale': expected an array of shape \(2, 1\), got \(1, 1\)", **{"v.scale": np.ones((1, 1))})
    refused("'k.scale': expected elements of f16, got float32",
            **{"k.scale": arrays["k.scale"].astype(np.float32)})  # fmt: skip
    refused("'r': expected elements of bf16, got uint16", r=arrays["r"].view(np.uint16))
    # A file of NumPy has forgotten which elements of 8 bits these were, but not `export`.
    types = arrays["kvc.element_types"].copy()
    types[3] = "v: 2x64xf8E5M2"
    refused("expected an array of 'v: 2x64xf8E4M3FN', got one of 'v: 2x64xf8E5M2'",
            v=arrays["v"].view("V1"), **{"kvc.element_types": types})  # fmt: skip
    # Static scales are of the whole layer.
    pool.view().set_scales("v", 0.75)
    before = {name: array.copy() for name, array in sequence.export().items()}
    refused("'v.scale': expected what layer 0 of the pool has, since all its sequences share it")


def test_constant_scales_move_with_their_codes():
    def make(scale):
        component = kvc.Component("k", 1, 8, "i8", scale=scale)
        return kvc.Pool(kvc.CacheType(16, [component]), 2).sequence(3)

    arrays = make(0.5).export()
    make(0.5).load(arrays)
    with pytest.raises(ValueError, match="expected an array of 'k: 1x8xi8 scale = 0.25', got one of "
                                         "'k: 1x8xi8 scale = 0.5'"):  # fmt: skip
        make(0.25).load(arrays)


# --- The example of the documentation -----------------------------------------------


def test_the_example_of_the_documentation(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "Runtime.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in examples:
        exec(compile(example, "docs/Runtime.md", "exec"), names)
