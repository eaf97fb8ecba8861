"""Faults that attention systems have shipped, each by an input that shows it.

On the emulator each call runs in every order, to the same bits.
"""

import mmap
from dataclasses import replace

import numpy as np
import pytest

import kvc
import reference
from configs import merge_text
from emulated import EveryOrder
from problems import Memory, Problem, Rope, arguments, check, gqa, mla, run, same_bits, unwritten
from refusals import gpu_refusal
from targets import FULL, on_targets, sample

GROUPS = [1, 3, 5, 6, 7, 9, 12, 16, 24, 32, 48, 71, 128]
SPLITS = [1, 16, 17, 32, 64, 96, 128, 500, 512, 1000, 2048, 4096, 10**6]


def name_of(value):
    """Returns a short name of a case."""
    if isinstance(value, tuple):
        return "-".join(map(name_of, value))
    if not hasattr(value, "components"):
        return str(value)
    _, heads, width, dtype = value.components[0]
    return f"{value.query_heads}over{heads}x{width}{dtype}-p{value.page}"


def sparse(count, dtype):
    """Returns an array of `count` zeros that takes memory only where it is written."""
    dtype = kvc.dtypes.to_numpy(dtype)
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    memory = mmap.mmap(-1, count * dtype.itemsize, flags=flags)
    return np.frombuffer(memory, np.uint8).view(dtype)


@pytest.fixture
def programs(programs):
    """Returns what conftest.py's does; on the emulator, programs that run in every order."""

    def get(text, target, refusal=None, **options):
        program = programs(text, target, refusal, **options)
        return EveryOrder(program) if target.is_emulator else program

    return get


# --- T1: slots that no sequence owns -----------------------------------------


@on_targets(
    "config",
    sample(
        [gqa(dtype=d, page=p) for d in ("bf16", "f32", "f16") for p in (16, 1, 3, 64)]
        + [mla(page=16), mla(page=8, dtype="f32"), gqa(window=8), gqa(sinks=True, softcap=5.0)],
        10,
    )
    + [
        gqa(width=40, value_width=72, dtype="f16"),
        gqa(dtype="bf16", width=256, append=True, rope=Rope("k", 64)),
    ],
    ids=name_of,
    devices=True,
)
@pytest.mark.parametrize("query_lens", [[1, 1, 1], [3, 17, 1]], ids=str)
def test_t1_unowned_slots_leak_in(attend, stream, config, target, query_lens):
    problem = Problem(config, [65, 17, 1], query_lens)
    results = {
        fill: run(attend(config, target), problem, fill, stream) for fill in ("zero", "nan", "inf")
    }
    check(problem, results["zero"])
    for fill in ("nan", "inf"):
        assert same_bits(results["zero"][0], results[fill][0])
        assert same_bits(results["zero"][1], results[fill][1])


# --- T2, T3: every length ----------------------------------------------------


@on_targets("config", [gqa(dtype="bf16"), gqa(page=3, width=8), gqa(dtype="f16", width=40),
                       mla(query_heads=4, latent=64, rotary=8)],
            ids=name_of, devices=True)  # fmt: skip
def test_t2_one_exact_length_is_wrong(attend, stream, config, target):
    lens = list(range(258))
    if target.is_emulator and not FULL:
        lens = [*range(0, 258, 11), 63, 64, 65, 127, 128, 129, 255, 256, 257]
    problem = Problem(config, lens, [1] * len(lens))
    out, lse = run(attend(config, target), problem, stream=stream)
    assert np.isfinite(out.astype(np.float32)).all() and np.isfinite(lse[1:]).all()
    check(problem, (out, lse))


@on_targets("config", [gqa(dtype="bf16"), gqa(page=8), gqa(dtype="f16", width=40, value_width=24),
                       mla(query_heads=3, latent=64, rotary=8)],
            ids=name_of, devices=True)  # fmt: skip
def test_t2_one_exact_query_length_is_wrong(attend, stream, config, target):
    lens = list(range(20)) + [31, 32, 33, 63, 64, 65, 127, 128, 129]
    if target.is_emulator and not FULL:
        lens = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65]
    problem = Problem(config, [n + 5 for n in lens], lens)
    rows = None if FULL else reference.sampled_rows(lens, 200)
    check(problem, run(attend(config, target), problem, stream=stream), rows)


@on_targets("config", [gqa(dtype=d) for d in ("bf16", "f32", "f16")] + [mla()], ids=name_of,
            devices=True)  # fmt: skip
def test_t3_tail_lanes_counted_in_the_sum(attend, stream, config, target):
    lens = [1, 255, 256, 257, 511]
    problem = Problem(config, lens, [1] * len(lens), query_scale=0.0)
    out, lse = run(attend(config, target), problem, stream=stream)
    check(problem, (out, lse))
    group = config.query_heads // config.component(config.value)[0]
    mean = np.stack([v.astype(np.float64).mean(axis=0) for v in problem.stored[config.value]])
    reference.check_rows(out, np.repeat(mean, group, axis=1), config.out_dtype)
    reference.check_lse(lse, np.repeat(np.log(lens)[:, None], config.query_heads, axis=1))


# --- T4, T5: merging ---------------------------------------------------------


@on_targets(
    "case",
    sample([(p, d, s) for p in (2, 3, 8, 1) for d in ("f32", "bf16", "f16") for s in (0, 1)], 8),
    ids=name_of,
    devices=True,
)
def test_t4_merging_empty_parts(programs, stream, case, target):
    parts, dtype, with_sinks = case
    tokens, heads, width = 7, 3, 40
    rng = np.random.default_rng(parts)
    numpy_dtype = kvc.dtypes.to_numpy(dtype)
    outputs = [rng.standard_normal((tokens, heads, width)).astype(numpy_dtype)
               for _ in range(parts)]  # fmt: skip
    lses = [rng.standard_normal((tokens, heads)).astype(np.float32) * 5 for _ in range(parts)]
    for part in range(parts):
        # Token 0: all parts are empty; token 1: all but the last; token 2: some;
        # the rest: none. What an empty part holds does not count.
        for token, empty in ((0, True), (1, part < parts - 1), (2, part % 2 == 0)):
            if empty:
                lses[part][token] = -np.inf
                outputs[part][token] = np.nan
    sinks = rng.standard_normal(heads).astype(np.float32) if with_sinks else None
    merge = programs(merge_text(parts, heads, width, dtype, with_sinks), target)["merge"]
    out = np.full((tokens, heads, width), np.nan, numpy_dtype)
    lse = np.full((tokens, heads), np.nan, np.float32)
    merge(*outputs, *lses, *([sinks] if with_sinks else []), out=(out, lse), stream=stream)
    want, want_lse = reference.merge(outputs, lses, sinks)
    reference.check_rows(out, want, dtype)
    reference.check_lse(lse, want_lse)
    assert (out[0] == 0).all()
    if not with_sinks:
        assert np.isneginf(lse[0]).all()


def merged_text(config):
    """Returns a module with @attend, which merges a prefix and the new tokens."""
    rows, lse = config.result_texts.split(", ")
    prefix = replace(config, causal=False)  # every new token sees all of it
    inputs = [f"%q{i}: {text}" for i, text in enumerate(config.query_texts)]
    return (
        f"!cache = {config.cache_text}\n"
        f"func.func @attend({', '.join(inputs)}, %cache: !cache, %prefix: !kvc.batch, "
        f"%new: !kvc.batch) -> ({rows}, {lse}) {{\n"
        f"  {prefix.attention_text(batch='%prefix', out='%o0', lse='%l0')}\n"
        f"  {config.attention_text(batch='%new', out='%o1', lse='%l1')}\n"
        f"  %o, %l = kvc.merge outputs(%o0, %o1 : {rows}, {rows}) lses(%l0, %l1 : {lse}, {lse})\n"
        f"      : {rows}, {lse}\n  return %o, %l : {rows}, {lse}\n}}\n"
    )


@on_targets("config", [gqa(), gqa(dtype="f16", out_dtype="f32"), gqa(dtype="bf16"),
                       mla(query_heads=2, latent=32, rotary=8, dtype="f16")],
            ids=name_of, devices=True)  # fmt: skip
def test_t5_log_sum_exp_base_mixed(programs, attend, stream, config, target):
    prefix, new = (512, 17) if target.is_emulator else (4096, 64)
    problem = Problem(config, [prefix + new], [new])
    refusal = gpu_refusal(config) if target.is_gpu else None
    function = programs(merged_text(config), target, refusal)["attend"]
    memory = Memory(problem, function.cache_type, device=stream.device)
    pages = np.array(memory.sequences[0].pages, np.int32)
    split = prefix // config.page
    batches = [
        kvc.RawBatch([0, new], [n], ids[None], np.full(new, -1))
        for n, ids in ((prefix, pages[:split]), (new, pages[split:]))
    ]
    out, lse = unwritten(problem)
    function(*problem.queries, memory.view, *batches, out=(out, lse), stream=stream)
    rows = reference.sampled_rows([new], 12)
    check(problem, (out, lse), rows)
    whole = run(attend(config, target), problem, stream=stream)
    check(problem, whole, rows)
    reference.check_lse(lse, whole[1])


# --- T7: alignment of causal ---------------------------------------------------


@on_targets("config", [gqa(), gqa(dtype="bf16"), gqa(window=3), gqa(width=8, page=1),
                       gqa(dtype="f16", window=3, width=72), mla(query_heads=3, latent=64)],
            ids=name_of, devices=True)  # fmt: skip
def test_t7_causal_alignment_differs_by_target(attend, stream, config, target):
    cases = [(kv, q) for kv in (7, 64) for q in (1, 2, 5)] + [(3, 5), (0, 2), (5, 5), (1, 4)]
    problem = Problem(config, [kv for kv, _ in cases], [q for _, q in cases])
    results = run(attend(config, target), problem, stream=stream)
    check(problem, results)
    chosen = (1, 5, 6) if target.is_emulator else range(len(cases))
    for i in chosen:  # each alone, too
        alone = problem.subset([i])
        check(alone, run(attend(config, target), alone, stream=stream))


# --- T8: features on every path --------------------------------------------------


@on_targets(
    "config",
    sample(
        [
            gqa(dtype=d, softcap=cap, **more)
            for d in ("f32", "bf16", "f16")
            for cap in (30.0, 50.0)
            # A sink leaves so little that f16 could not hold it to its bound.
            for more in (
                {},
                {"window": 12},
                {"sinks": True, "out_dtype": "f32"},
                {"causal": False, "page": 3},
            )
        ],
        8,
    )
    + [mla(query_heads=3, latent=64, softcap=30.0), gqa(dtype="f16", width=40, softcap=50.0)],
    ids=name_of,
    devices=True,
)
@pytest.mark.parametrize("query_lens", [[1, 1, 1], [1, 6, 40]], ids=str)
def test_t8_feature_dropped_on_one_path(attend, stream, config, target, query_lens):
    problem = Problem(config, [100, 6, 300], query_lens, query_scale=12.0)
    check(problem, run(attend(config, target), problem, stream=stream))
    # The cap matters at all in this problem.
    uncapped = replace(problem, config=replace(config, softcap=None))
    assert np.abs(problem.want()[0] - uncapped.want()[0]).max() > 0.01


# --- T11: odd groups -------------------------------------------------------------


@on_targets(
    "case",
    [(g, kv, d) for i, g in enumerate(GROUPS) for kv, d in
     (((2, "bf16"), (1, "f32"), (1, "f16")) if FULL else
      (((2, "bf16"), (1, "f32"), (1, "f16"))[i % 3],))],
    ids=name_of,
    devices=True,
)  # fmt: skip
@pytest.mark.parametrize("query_lens", [[1, 1, 1], [2, 5, 1]], ids=str)
def test_t11_odd_groups(attend, stream, case, target, query_lens):
    group, kv_heads, dtype = case
    config = gqa(query_heads=group * kv_heads, kv_heads=kv_heads, dtype=dtype)
    problem = Problem(config, [33, 5, 70], query_lens)
    check(problem, run(attend(config, target), problem, stream=stream))


@on_targets("heads", GROUPS if FULL else GROUPS[::3] + [128], ids=name_of, devices=True)
@pytest.mark.parametrize("query_lens", [[1, 1], [2, 5]], ids=str)
def test_t11_odd_heads_of_a_latent(attend, stream, heads, target, query_lens):
    config = mla(query_heads=heads, latent=64, rotary=8, dtype="f16")
    problem = Problem(config, [33, 70], query_lens)
    check(problem, run(attend(config, target), problem, stream=stream))


# --- T12: splits -----------------------------------------------------------------


@on_targets("split", sample(SPLITS, 6), ids=name_of, cpus=2, devices=True)
def test_t12_splits_leave_rows_unwritten(attend, stream, split, target):
    config = gqa(dtype="bf16", width=32, kv_heads=1, sinks=True)
    function = attend(config, target, split=split)
    for kv_lens in ([1024, 1, 0, 17, 64, 65], [1024], [63]):
        problem = Problem(config, kv_lens, [1] * len(kv_lens))
        check(problem, run(function, problem, stream=stream))
    # The same splits of a window's keys, most of which are before it.
    windowed = gqa(dtype="f16", width=32, window=40)
    problem = Problem(windowed, [1000, 39, 41], [1, 1, 1])
    check(problem, run(attend(windowed, target, split=split), problem, stream=stream))


@on_targets("split", [16, 64], ids=name_of, devices=True)
@pytest.mark.parametrize("config", [gqa(dtype="bf16", width=32), mla(query_heads=3, latent=64)],
                         ids=name_of)  # fmt: skip
def test_t12_splits_of_prefill(attend, stream, split, config, target):
    problem = Problem(config, [300, 40, 1, 0], [20, 40, 1, 2])
    check(problem, run(attend(config, target, split=split), problem, stream=stream))


# --- T13, T14: offsets that do not fit in 32 bits ----------------------------------


@on_targets("dtype", ["bf16", "f32", "f16"], ids=name_of)
def test_t13_32_bit_wrap(attend, stream, dtype, target):
    far = 65_537
    config = gqa(query_heads=8, kv_heads=8, width=128, dtype=dtype)
    problem = Problem(config, [16, 5], [1, 1])
    function = attend(config, target)
    cache_type = function.cache_type
    # One buffer of both components, page by page.
    count = 8 * 16 * 128
    buffer = sparse((far + 1) * 2 * count, dtype).reshape(far + 1, 2, count)
    if cache_type.components[0].layout == "row_major":
        arrays = {"k": buffer[:, 0].reshape(far + 1, 16, 8, 128, copy=False),
                  "v": buffer[:, 1].reshape(far + 1, 16, 8, 128, copy=False)}  # fmt: skip
    else:
        arrays = {"k": buffer[:, 0].reshape(far + 1, 8, 16 * 128, copy=False),
                  "v": buffer[:, 1].reshape(far + 1, 8, 16 * 128, copy=False)}  # fmt: skip
    view = kvc.CacheView(cache_type, arrays)
    # Were the offset cut to 32 bits, these pages would be read.
    buffer[:4] = np.nan
    pages = np.array([[far], [far - 1]], np.int32)
    buffer[far - 1 :] = np.nan
    for name, values in problem.stored.items():
        for (page,), rows in zip(pages, values):
            view.write(name, page * 16 + np.arange(len(rows)), rows)
    batch = kvc.RawBatch([0, 1, 2], problem.kv_lens, pages, np.full(2, -1))
    out, lse = function(*problem.queries, view, batch, stream=stream)
    check(problem, (out, lse))


@on_targets("dtype", ["bf16", "f32"], ids=name_of)
def test_t13_append_to_a_far_page(attend, stream, dtype, target):
    far = 65_537
    config = gqa(query_heads=8, kv_heads=8, width=128, dtype=dtype, append=True)
    problem = Problem(config, [1], [1])
    function = attend(config, target)
    pool = kvc.Pool(function.cache_type, far + 1)
    slot = far * 16 + 3
    pages = np.array([[far]], np.int32)
    batch = kvc.RawBatch([0, 1], [4], pages, np.array([slot]))
    view = pool.view()
    for name in ("k", "v"):
        view.write(name, far * 16 + np.arange(3), np.zeros((3, 8, 128)))
    function(*arguments(problem, None, view, batch), stream=stream)
    for name in ("k", "v"):
        assert same_bits(view.read(name, [slot])[0], problem.new_rows(name)[0])
        assert (view.read(name, far * 16 + np.arange(3)) == 0).all()
        assert (view.read(name, np.arange(64)) == 0).all()


@on_targets("case", sample([(d, r) for d in ("bf16", "f16", "f32") for r in (1, 2, 3, 4)], 6),
            ids=name_of)  # fmt: skip
def test_t14_strided_append(attend, stream, case, target):
    dtype, rows = case
    config = gqa(query_heads=2, kv_heads=2, width=16, dtype=dtype, append=True)
    problem = Problem(config, [5] * rows, [1] * rows)
    function = attend(config, target)
    memory = Memory(problem, function.cache_type, new_tokens=False)
    given = arguments(problem, memory)
    for i in (0, 1, 2):  # query, key, value
        base = sparse((rows - 1) * 2**30 + 32, dtype)
        size = base.itemsize
        far = np.lib.stride_tricks.as_strided(
            base, (rows, 2, 16), (2**30 * size, 16 * size, size), writeable=True
        )
        far[...] = given[i]
        given[i] = far
    check(problem, function(*given, stream=stream))
    for name in ("k", "v"):
        for sequence, values in zip(memory.sequences, problem.stored[name]):
            assert same_bits(sequence.read(name), values)
