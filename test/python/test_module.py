"""The package itself: types, memory, descriptions, and what it emits."""

import doctest
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import kvc
import kvc.dtypes
from problems import Memory, Problem, arguments, gqa, same_bits
from targets import CPUS


def test_the_example_of_the_package():
    result = doctest.testmod(kvc)
    assert result.attempted > 5 and result.failed == 0


def test_versions():
    assert kvc.runtime_version() in kvc.compiler_version()
    assert "LLVM" in kvc.compiler_version()


@pytest.mark.parametrize("name", ["f32", "f16", "bf16", "i8", "i32", "i64", "f8E4M3FN", "f8E5M2"])
def test_element_types_have_a_name_each(name):
    dtype = kvc.dtypes.to_numpy(name)
    assert kvc.dtypes.from_numpy(dtype) == name
    array = np.zeros((2, 3), dtype).T
    assert np.shares_memory(kvc.dtypes.bits(array), array)
    assert kvc.dtypes.bits(array).strides == array.strides


def test_unknown_element_types():
    with pytest.raises(TypeError, match="'i4'"):
        kvc.dtypes.to_numpy("i4")
    with pytest.raises(TypeError, match="got complex64"):
        kvc.dtypes.from_numpy(np.dtype(np.complex64))


# --- Layouts: the formulas of kvc-rt/abi.h, element by element -------------------


def offset(layout, page_size, width, pair, token, w):
    """Returns the offset of an element within its head's part of a packed page."""
    if layout == "packed_key":
        inner = (token // 16, w // pair, token % 16, w % pair)
        extents = (page_size // 16, width // pair, 16, pair)
    else:
        inner = (token // pair, w, token % pair)
        extents = (page_size // pair, width, pair)
    result = 0
    for index, extent in zip(inner, extents):
        result = result * extent + index
    return result


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("layout", ["packed_key", "packed_value"])
def test_packed_layouts_follow_their_formula(layout, dtype):
    page_size, heads, width = 32, 3, 10
    component = kvc.Component("x", heads, width, dtype, layout)
    pair = 2 if dtype == "bf16" else 1
    pool = kvc.Pool(kvc.CacheType(page_size, [component]), 5, page_order_seed=3)
    sequence = pool.sequence(70)
    values = np.random.default_rng(1).standard_normal((70, heads, width))
    values = values.astype(kvc.dtypes.to_numpy(dtype))
    sequence.write("x", values)
    memory = pool.view().memory("x")
    assert memory.shape == (5, heads, page_size * width)
    for token in range(70):
        page = sequence.pages[token // page_size]
        for w in range(width):
            at = offset(layout, page_size, width, pair, token % page_size, w)
            assert same_bits(memory[page, :, at].copy(), values[token, :, w].copy())
    assert same_bits(sequence.read("x"), values)


@pytest.mark.parametrize("page_size", [1, 3, 16])
def test_row_major_pages_are_hnd(page_size):
    components = [kvc.Component("k", 2, 8, "f32"), kvc.Component("v", 3, 5, "bf16")]
    pool = kvc.Pool(kvc.CacheType(page_size, components), 40, page_order_seed=1)
    sequence = pool.sequence(30)
    rng = np.random.default_rng(2)
    for name, heads, width in (("k", 2, 8), ("v", 3, 5)):
        values = rng.standard_normal((30, heads, width)).astype(pool.view().memory(name).dtype)
        sequence.write(name, values[:20])
        sequence.write(name, values[20:], start=20)
        memory = pool.view().memory(name)
        assert memory.shape == (40, page_size, heads, width)
        assert memory.strides[1] == width * memory.itemsize
        for token in range(30):
            page = sequence.pages[token // page_size]
            assert same_bits(memory[page, token % page_size].copy(), values[token])
        assert same_bits(sequence.read(name), values)


def test_pools_fill_with_nan_and_keep_their_views_alive():
    cache_type = kvc.CacheType(4, [kvc.Component("k", 1, 8, "bf16")])
    pool = kvc.Pool(cache_type, 2, layers=2, debug_fill=True)
    sequence = pool.sequence(4)
    sequence.write("k", np.ones((4, 1, 8)), layer=1)
    memory = pool.view(1).memory("k")
    assert np.isnan(pool.view(0).memory("k").astype(np.float32)).all()
    assert (memory[sequence.pages[0]] == 1).all()
    sequence.free()
    assert np.isnan(memory.astype(np.float32)).all()
    del pool, sequence
    assert np.isnan(memory.astype(np.float32)).all()


def test_sequences_and_batches():
    pool = kvc.Pool(kvc.CacheType(4, [kvc.Component("k", 1, 8, "f32")]), 10)
    a, b = pool.sequence(), pool.sequence(5)
    assert len(a) == 0 and a.pages == [] and b.pages == [0, 1]
    a.append(9)
    assert a.pages == [2, 3, 4] and a.slots(7).tolist() == [15, 16] and len(a) == 9
    assert pool.stats() == {"total_pages": 10, "free_pages": 5, "used_pages": 5, "used_tokens": 14,
                            "bytes_per_page": 128}  # fmt: skip
    batch = kvc.Batch.from_sequences([b, a], [0, 3])
    arrays = {name: array.tolist() for name, array in batch.arrays().items()}
    assert arrays == {
        "query_start": [0, 0, 3],
        "kv_lens": [5, 9],
        "page_ids": [0, 1, 2, 3, 4],
        "page_start": [0, 2, 5],
        "slots": [14, 15, 16],
        "positions": [6, 7, 8],
    }
    assert (batch.num_tokens, batch.max_query_len, batch.max_kv_len) == (3, 3, 9)
    raw = kvc.RawBatch([0, 0, 3], [5, 9], [[0, 1, -1], [2, 3, 4]], [14, 15, 16])
    assert raw.arrays()["positions"].tolist() == [6, 7, 8] and "page_start" not in raw.arrays()
    assert (raw.num_tokens, raw.max_query_len, raw.max_kv_len) == (3, 3, 9)


def test_functions_describe_themselves(compiler):
    config = gqa(dtype="bf16", append=True, sinks=True)
    program = compiler.compile(config.text, target="definition", layout="packed")
    assert list(program) == ["attend"] and len(program) == 1 and program.milliseconds > 0
    function = program["attend"]
    assert function.name == "attend" and "nothing" not in program
    assert [a.kind for a in function.args] == ["tensor"] * 3 + ["cache", "batch", "tensor"]
    query, key, sinks = function.args[0], function.args[1], function.args[5]
    assert (query.shape, query.dtype, query.rows_are_tokens) == ((None, 4, 64), "bf16", True)
    assert key.shape == (None, 2, 64) and not sinks.rows_are_tokens and sinks.shape == (4,)
    assert [(r.shape, r.dtype) for r in function.results] == [
        ((None, 4, 64), "bf16"), ((None, 4), "f32")]  # fmt: skip
    assert function.cache_type == kvc.CacheType(
        16,
        [
            kvc.Component("k", 2, 64, "bf16", "packed_key"),
            kvc.Component("v", 2, 64, "bf16", "packed_value"),
        ],
    )
    rows = compiler.compile(config.text, target="definition", layout="row_major")["attend"]
    assert {c.layout for c in rows.cache_type.components} == {"row_major"}
    assert rows.cache_type != function.cache_type
    assert rows.cache_type.fingerprint != function.cache_type.fingerprint
    assert hash(rows.cache_type) == hash(kvc.CacheType(16, rows.cache_type.components))


def test_fingerprint_is_the_hash_of_the_structure():
    """FNV-1a over the 328 bytes of kvc_cache_type_t."""
    components = [
        kvc.Component("k", 8, 128, "bf16", "packed_key"),
        kvc.Component("v", 1, 64, "i8", scale=0.5),
    ]
    content = np.array([16, 2], np.int32).tobytes()
    for name, numbers, scale in ((b"k", [8, 128, 3, 1], 0), (b"v", [1, 64, 6, 0], 0.5)):
        content += name.ljust(16, b"\0") + np.array(numbers, np.int32).tobytes()
        content += np.array([scale, 0], np.float32).tobytes()
    value = 14695981039346656037
    for byte in content.ljust(328, b"\0"):
        value = (value ^ byte) * 1099511628211 % 2**64
    assert kvc.CacheType(16, components).fingerprint == value


@pytest.mark.parametrize("target", [{"target": "definition"}, CPUS[0].compile_options(),
                                    {"target": "gpu"}],
                         ids=["definition", "cpu", "gpu"])  # fmt: skip
def test_everything_that_is_emitted(compiler, target):
    text = gqa(dtype="bf16").text
    code = compiler.compile(text, emit="object", program_name="mine", **target)
    assert isinstance(code, bytes) and code[:4] == b"\x7fELF" and b"mine_program_query" in code
    ir = compiler.compile(text, emit="llvmir", **target)
    assert isinstance(ir, str) and "define" in ir and "@kvc_program_query" in ir
    assert "llvm.func" in compiler.compile(text, emit="mlir", **target)


def test_programs_for_a_gpu_hold_their_kernels(compiler):
    """They are compiled and described anywhere; running them takes a device."""
    text = gqa(dtype="bf16", append=True).text
    program = compiler.compile(text, target="gpu", program_name="mine")
    assert program.target == "sm_90a" and list(program) == ["attend"]
    assert {c.layout for c in program["attend"].cache_type.components} == {"row_major"}
    assert b".entry attend_attention_decode(" in compiler.compile(text, target="gpu", emit="object")


def test_results_are_made_where_none_are_given(compiler):
    config = gqa(dtype="bf16")
    function = compiler.compile(config.text, target="definition")["attend"]
    pool = kvc.Pool(function.cache_type, 4)
    sequence = pool.sequence(3)
    for name in ("k", "v"):
        sequence.write(name, np.ones((3, 2, 64)))
    batch = kvc.Batch.from_sequences([sequence], [2])
    q = np.ones((2, 4, 64), ml_dtypes.bfloat16)
    out, lse = function(q, pool.view(), batch)
    assert out.dtype == ml_dtypes.bfloat16 and (out == 1).all() and lse.dtype == np.float32
    mine = np.zeros((2, 4), np.float32)
    results = function(q, pool.view(), batch, out=(None, mine))
    assert results[1] is mine and same_bits(mine, lse) and same_bits(results[0], out)


def test_a_module_with_several_functions(compiler):
    text = gqa().text + gqa().text.split("\n", 1)[1].replace("@attend", "@again")
    program = compiler.compile(text, target="definition")
    assert list(program) == ["attend", "again"]
    with pytest.raises(KeyError):
        program["nobody"]


# --- The interpreter lock ----------------------------------------------------------


def longest_pause(work):
    """Returns how long `work` takes and how long this thread stood still meanwhile."""
    times = []

    def timed():
        times.append(time.monotonic())
        work()
        times.append(time.monotonic())

    thread = threading.Thread(target=timed)
    thread.start()
    ticks = []
    while thread.is_alive():
        ticks.append(time.monotonic())
        time.sleep(0.001)
    start, end = times
    inside = [start, *(tick for tick in ticks if start < tick < end), end]
    return end - start, max(b - a for a, b in zip(inside, inside[1:]))


@pytest.mark.parametrize("what", ["compile", "run"])
def test_other_threads_go_on_meanwhile(compiler, what):
    config = gqa(dtype="bf16", width=128)
    if what == "compile":
        works = [lambda: compiler.compile(config.text, target="definition")]
    else:
        function = compiler.compile(config.text, target="definition")["attend"]
        problem = Problem(config, [1500], [60])
        given = arguments(problem, Memory(problem, function.cache_type))
        stream = kvc.Stream(1)
        works = [lambda: function(*given, stream=stream)]
    # A busy machine may stop this thread, but not every time.
    pauses = [longest_pause(work) for work in works * 10]
    assert any(pause < 0.5 * total for total, pause in pauses), pauses
