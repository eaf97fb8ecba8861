"""GPU kernels in the emulator, by the same cases as the CPU's.

Each call runs under every policy of asynchronous copies and two random orders of
warps and blocks: with the same bits, and without a report, which would make the
call fail. Slots that no sequence owns hold NaN.
"""

from dataclasses import replace

import numpy as np
import pytest

import kvc
import reference
from emulated import in_every_order, in_order
from problems import (
    Memory, Problem, Rope, arguments, check, check_cache, gqa, mla, run, same_bits, unwritten,
)  # fmt: skip
from targets import DEVICES, FULL, sample
from test_traps import GROUPS, SPLITS, name_of

EMULATORS = [target for target in DEVICES if target.device == "emulator"]
pytestmark = pytest.mark.skipif(not EMULATORS, reason="the emulator is not built")


@pytest.fixture
def target():
    return EMULATORS[0]


@pytest.fixture
def device_stream(stream_of, target):
    return stream_of(target)


@pytest.fixture
def attend_in_every_order(attend, target, device_stream):
    """Returns a function that runs and checks a problem, and gives its results."""

    def call(problem, rows=None, fill="nan", **options):
        function = attend(problem.config, target, **options)
        results = in_every_order(lambda: run(function, problem, fill, device_stream))
        check(problem, results, rows)
        return results

    return call


def decode(dtype="bf16", width=64, **others):
    return gqa(dtype=dtype, width=width, **others)


# --- T1: slots that no sequence owns -----------------------------------------


@pytest.mark.parametrize(
    "config",
    sample(
        [decode(d, w, page=p) for d, w, p in
         (("bf16", 128, 16), ("bf16", 64, 1), ("f16", 64, 3), ("f16", 128, 64))]
        + [decode(window=8), decode(sinks=True, softcap=5.0), decode(append=True)],
        5,
    ),
    ids=name_of,
)  # fmt: skip
def test_t1_unowned_slots_leak_in(attend_in_every_order, config):
    problem = Problem(config, [65, 17, 1], [1, 1, 1])
    zero, nan, inf = (attend_in_every_order(problem, fill=f) for f in ("zero", "nan", "inf"))
    for other in (nan, inf):
        assert same_bits(zero[0], other[0]) and same_bits(zero[1], other[1])


# --- T2, T3: every length ----------------------------------------------------


@pytest.mark.parametrize("config", [decode(), decode("f16", 128, page=3)], ids=name_of)
def test_t2_one_exact_length_is_wrong(attend_in_every_order, config):
    some = [*range(0, 258, 7), 63, 64, 65, 127, 128, 129, 255, 256, 257]
    lens = list(range(258)) if FULL else some
    out, lse = attend_in_every_order(Problem(config, lens, [1] * len(lens)))
    assert np.isfinite(out.astype(np.float32)).all() and np.isfinite(lse[1:]).all()


@pytest.mark.parametrize("config", [decode(), decode("f16")], ids=name_of)
def test_t3_tail_lanes_counted_in_the_sum(attend_in_every_order, config):
    lens = [1, 255, 256, 257, 511]
    problem = Problem(config, lens, [1] * len(lens), query_scale=0.0)
    out, lse = attend_in_every_order(problem)
    group = config.query_heads // config.component(config.value)[0]
    mean = np.stack([v.astype(np.float64).mean(axis=0) for v in problem.stored[config.value]])
    reference.check_rows(out, np.repeat(mean, group, axis=1), config.out_dtype)
    reference.check_lse(lse, np.repeat(np.log(lens)[:, None], config.query_heads, axis=1))


# --- T4, T5: merging parts ---------------------------------------------------


@pytest.mark.parametrize("parts", [2, 3, 8])
def test_t4_merging_empty_parts(attend_in_every_order, parts):
    """A window leaves parts of long sequences without a key that is seen."""
    config = decode(window=40, sinks=parts == 3)
    lens = [64 * parts, 64 * parts - 30, 0, 1]
    out, lse = attend_in_every_order(Problem(config, lens, [1] * 4), split=64)
    if not config.sinks:
        assert (out[2] == 0).all() and np.isneginf(lse[2]).all()


@pytest.mark.parametrize("config", [decode(), decode("f16", out_dtype="f16")], ids=name_of)
def test_t5_log_sum_exp_base_mixed(attend_in_every_order, config):
    """A long sequence in parts, against one pass over it."""
    problem = Problem(config, [4096 + 64], [1])
    parts = attend_in_every_order(problem, split=512)
    whole = attend_in_every_order(problem, split=8192)
    reference.check_lse(parts[1], whole[1])
    reference.check_rows(parts[0], whole[0].astype(np.float64), config.out_dtype)



# --- T7: alignment of causal ---------------------------------------------------


@pytest.mark.parametrize("config", [decode(), decode(window=3), decode("f16")], ids=name_of)
def test_t7_causal_alignment_differs_by_target(attend_in_every_order, config):
    attend_in_every_order(Problem(config, [7, 64, 0, 1, 2], [1] * 5))



# --- T8: features on every path --------------------------------------------------


@pytest.mark.parametrize(
    "config",
    sample(
        [
            decode(d, softcap=cap, **more)
            for d in ("bf16", "f16")
            for cap in (30.0, 50.0)
            for more in ({}, {"window": 12}, {"causal": False, "page": 3})
        ]
        + [decode("bf16", 128, softcap=30.0, sinks=True)],
        6,
    ),
    ids=name_of,
)
def test_t8_feature_dropped_on_one_path(attend_in_every_order, config):
    problem = Problem(config, [100, 6, 300], [1, 1, 1], query_scale=12.0)
    attend_in_every_order(problem)
    uncapped = replace(problem, config=replace(config, softcap=None))
    assert np.abs(problem.want()[0] - uncapped.want()[0]).max() > 0.01


# --- T11: odd groups -------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS)
def test_t11_odd_groups(attend_in_every_order, group):
    kv_heads, dtype = ((2, "bf16"), (1, "f16"))[group % 2]
    config = decode(dtype, query_heads=group * kv_heads, kv_heads=kv_heads)
    attend_in_every_order(Problem(config, [33, 5, 70], [1, 1, 1]))


# --- T12: splits -----------------------------------------------------------------


@pytest.mark.parametrize("split", sample([s for s in SPLITS if s >= 64], 5))
def test_t12_splits_leave_rows_unwritten(attend_in_every_order, split):
    config = decode(kv_heads=1, sinks=True)
    for kv_lens in ([1024, 1, 0, 17, 64, 65], [63]):
        attend_in_every_order(Problem(config, kv_lens, [1] * len(kv_lens)), split=split)
    windowed = decode(window=40)
    attend_in_every_order(Problem(windowed, [1000, 39, 41], [1, 1, 1]), split=split)


# --- T13, T14: offsets that do not fit in 32 bits ----------------------------------


FAR_CASES = [(gqa(8, 8, 128, dtype=dtype, append=True), 1) for dtype in ("bf16", "f16")] + [
    (config, query_len)
    for config, query_len in (
        (gqa(8, 8, 128, dtype="bf16", append=True), 3),
        (gqa(8, 8, 200, value_width=72, dtype="f16", append=True), 2),
        (gqa(8, 8, 128, dtype="bf16", append=True, rope=Rope("k", 128)), 1),
        # 65,538 pages of 64 tokens: beyond 32 bits although there is one head.
        (mla(latent=512, page=64, append=True, rope=Rope("r", 64)), 1),
        (mla(latent=512, page=64, append=True), 4),
    )
]


@pytest.mark.parametrize("config, query_len", FAR_CASES, ids=name_of)
def test_t13_32_bit_wrap(attend, target, device_stream, config, query_len):
    far = 65_537
    problem = Problem(config, [16, 5], [query_len, query_len])
    function = attend(config, target)
    pool = kvc.Pool(function.cache_type, far + 1, device=device_stream.device)
    view = pool.view()
    pages = np.array([[far], [far - 1]], np.int32)
    ends = pages[:, 0].astype(np.int64) * config.page + problem.kv_lens
    slots = np.concatenate([np.arange(end - query_len, end) for end in ends])
    for name, values in problem.stored.items():
        heads, width, _ = config.component(name)
        nan = np.full((config.page, heads, width), np.nan)
        for (page,), rows in zip(pages, values):
            first = int(page) * config.page
            view.write(name, first + np.arange(config.page), nan)
            view.write(name, first + np.arange(len(rows) - query_len), rows[:-query_len])
    batch = kvc.RawBatch(problem.query_start, problem.kv_lens, pages, slots)

    def run_once():
        out = unwritten(problem)
        function(*arguments(problem, None, view, batch), out=out, stream=device_stream)
        return out

    check(problem, in_every_order(run_once))
    for name, values in problem.stored.items():
        for end, rows in zip(ends, values):
            got = view.read(name, np.arange(end - query_len, end))
            assert same_bits(got, rows[-query_len:])


STRIDED_CASES = [(decode(query_heads=2, kv_heads=2, append=True), r) for r in (1, 2, 3, 4)] + [
    (config, rows)
    for config, rows in (
        (gqa(2, 2, 40, value_width=72, dtype="f16", append=True), 3),
        (decode(query_heads=2, kv_heads=2, append=True, rope=Rope("k", 64)), 3),
        (mla(latent=64, rotary=8, append=True), 4),
    )
]


@pytest.mark.parametrize("together", [False, True], ids=["decode", "prefill"])
@pytest.mark.parametrize("config, rows", STRIDED_CASES, ids=name_of)
def test_t14_strided_append(attend, target, device_stream, config, rows, together):
    """The new tokens are those of as many sequences, or `together` those of one."""
    problem = Problem(config, *(([5], [rows]) if together else ([5] * rows, [1] * rows)))
    function = attend(config, target)
    memory = Memory(problem, function.cache_type, new_tokens=False, device=device_stream.device)
    given = arguments(problem, memory)
    count = len(config.terms) + len(config.components)
    for i in range(count):  # queries and new rows
        shape, dtype = given[i].shape, given[i].dtype
        far = kvc.DeviceArray(device_stream.device, shape, dtype, row_stride=2**30)
        far.set(given[i])
        given[i] = far

    def run_once():
        out = unwritten(problem)
        function(*given, out=out, stream=device_stream)
        return out

    check(problem, in_every_order(run_once))
    check_cache(problem, memory)


# --- Any number of processors ------------------------------------------------------


@pytest.mark.parametrize(
    "config, query_len",
    [
        (decode(), 1),
        (decode("f16", 128, page=3, sinks=True, out_dtype="f16", deterministic=True), 1),
        (decode(deterministic=True), 9),
        (gqa(6, 2, 72, value_width=40, dtype="f16", window=90), 5),
        (mla(query_heads=20, latent=64, rotary=8, deterministic=True), 1),
        (mla(query_heads=5, latent=128), 3),
    ],
    ids=name_of,
)
def test_any_number_of_processors(attend, target, device_stream, config, query_len):
    """Right with each, and if deterministic to the same bits."""
    problem = Problem(config, [500, 33, 1, 130], [query_len, 1, 1, query_len])
    function = attend(config, target, split=64)

    def run_once():
        return run(function, problem, stream=device_stream)

    results = []
    for processors in (1, 2, 7, 132):
        results.append(in_order(f"copies=random,seed=3,processors={processors}", run_once))
        check(problem, results[-1])
    if config.deterministic:
        for other in results[1:]:
            assert same_bits(results[0][0], other[0]) and same_bits(results[0][1], other[1])


# --- What is not there -------------------------------------------------------------



@pytest.mark.parametrize("kv_lens", [[], [0], [0, 0, 0]], ids=str)
def test_nothing_to_see(attend_in_every_order, kv_lens):
    out, lse = attend_in_every_order(Problem(decode(), kv_lens, [1] * len(kv_lens)))
    assert (out == 0).all() and np.isneginf(lse).all()
