"""Attention over paged caches against the float64 reference, on every target."""

from dataclasses import replace

import numpy as np
import pytest

import kvc
import reference
from configs import two_attentions
from problems import (
    Config, Memory, Problem, arguments, check, gqa, mla, run, same_bits, unwritten,
)  # fmt: skip
from targets import DEVICES, on_targets, sample

DECODE = [1] * 8
DECODE_LENS = [1, 2, 15, 16, 17, 33, 64, 100]
MIXED = ([0, 1, 5, 40, 7, 64, 3], [0, 1, 5, 1, 3, 33, 0])  # kv_lens, query_lens


def shapes_of(config):
    """Returns a name that tells configs apart."""
    components = "_".join(f"{n}{h}x{w}{t}" for n, h, w, t in config.components)
    parts = [f"q{config.query_heads}{config.query_dtype}", components, f"p{config.page}"]
    parts += [] if config.causal else ["all"]
    parts += [f"w{config.window}"] if config.window is not None else []
    parts += [f"cap{config.softcap:g}"] if config.softcap is not None else []
    parts += ["alibi"] if config.alibi else []
    parts += ["sinks"] if config.sinks else []
    return "-".join(parts)


WIDTHS = [
    gqa(width=width, dtype=dtype)
    for dtype in ("bf16", "f32", "f16")
    for width in (8, 40, 64, 72, 80, 96, 112, 128, 192, 256, 576)
]
VALUE_WIDTHS = [
    gqa(width=width, value_width=value_width, dtype=dtype)
    for dtype in ("bf16", "f16", "f32")
    for width, value_width in ((64, 128), (192, 128), (40, 72), (128, 8), (8, 256))
]
PAGES = [
    gqa(page=page, dtype=dtype)
    for dtype in ("bf16", "f16", "f32")
    for page in (1, 2, 3, 8, 16, 48, 64, 256)
]
HEADS = [
    gqa(query_heads=kv * group, kv_heads=kv, dtype=dtype)
    for dtype in ("bf16", "f16", "f32")
    for kv, group in ((8, 1), (1, 8), (1, 1), (3, 2), (2, 5), (8, 4))
]
LATENTS = [
    mla(query_heads=heads, latent=latent, rotary=rotary, dtype=dtype)
    for dtype in ("bf16", "f16", "f32")
    for heads, latent, rotary in ((16, 128, 64), (128, 512, 64), (5, 64, 8))
]
MODIFIERS = [
    gqa(dtype=dtype, **modifiers)
    for dtype in ("f32", "bf16", "f16")
    for modifiers in (
        {"causal": False},
        {"window": 1},
        {"window": 7},
        {"window": 33},
        {"softcap": 3.0},
        {"sinks": True},
        {"window": 20, "softcap": 30.0, "sinks": True},
        {"causal": False, "softcap": 50.0, "sinks": True},
        {"scale": 1.0},
        {"scale": 0.0},
        {"lse": False},
    )
]
# Queries, cache and output of different types; key and value too.
MIXED_TYPES = [
    gqa(dtype=cache, query_dtype=query, out_dtype=out)
    for cache, query, out in (
        ("bf16", "f32", "f32"),
        ("f16", "f32", "f32"),
        ("f32", "bf16", "f32"),
        ("bf16", "f16", "bf16"),
        ("f16", "bf16", "f16"),
        ("bf16", "bf16", "f32"),
    )
] + [
    Config(components=(("k", 2, 64, k), ("v", 2, 64, v)), query_dtype=q, out_dtype=q)
    for k, v, q in (("bf16", "f16", "bf16"), ("f32", "bf16", "f32"), ("f16", "f32", "f16"))
]
# Two terms of different heads, widths and types; a value that is no term.
TERMS = [
    Config(
        query_heads=6,
        components=(("a", 2, 64, "bf16"), ("b", 2, 24, "f32"), ("v", 2, 40, "f16")),
        terms=("a", "b"),
        query_dtype="f32",
        out_dtype="f32",
    ),
    Config(
        query_heads=4,
        components=(("k", 4, 32, "f16"), ("unused", 1, 8, "f16"), ("v", 4, 16, "f16")),
        query_dtype="f16",
        out_dtype="f16",
    ),
    Config(
        query_heads=8,
        components=(("x", 2, 64, "bf16"), ("y", 2, 8, "bf16"), ("z", 2, 16, "bf16")),
        terms=("x", "y", "z"),
        value="y",
        query_dtype="bf16",
        out_dtype="bf16",
    ),
]
# Slopes of powers of two and of numbers between them; both axes that a row may have:
# several query heads of a KV head, and several KV heads.
ALIBI = [
    gqa(query_heads=heads, kv_heads=kv, dtype=dtype, alibi=True, **modifiers)
    for dtype in ("bf16", "f32", "f16")
    for heads, kv, modifiers in (
        (1, 1, {}),
        (8, 2, {}),
        (6, 2, {}),
        (12, 1, {"window": 20}),
        (7, 7, {"softcap": 5.0, "sinks": True}),
        (4, 2, {"causal": False}),
        (20, 4, {"page": 3}),
    )
] + [
    mla(query_heads=24, latent=64, rotary=16, dtype=dtype, alibi=True)
    for dtype in ("bf16", "f32", "f16")
]
ALL = (
    sample(WIDTHS, 11)
    + sample(VALUE_WIDTHS, 5)
    + sample(PAGES, 8)
    + sample(HEADS, 6)
    + sample(LATENTS, 3)
    + sample(MODIFIERS, 11)
    + sample(ALIBI, 8)
    + sample(MIXED_TYPES, 6)
    + TERMS
)


@on_targets("config", ALL, ids=shapes_of, devices=True)
@pytest.mark.parametrize("phase", ["decode", "mixed"])
def test_matches_the_reference(attend, stream, config, target, phase):
    kv_lens, query_lens = (DECODE_LENS, DECODE) if phase == "decode" else MIXED
    problem = Problem(config, kv_lens, query_lens)
    check(problem, run(attend(config, target), problem, stream=stream))


@on_targets("config", [gqa(), gqa(dtype="bf16", page=3), mla()], ids=shapes_of, devices=True)
@pytest.mark.parametrize(
    "kv_lens, query_lens",
    [
        ([], []),
        ([0], [0]),
        ([0], [1]),
        ([1], [0]),
        ([0, 0, 0], [1, 0, 2]),
        ([0, 9, 0], [1, 1, 1]),
    ],
    ids=str,
)
def test_empty_batches_sequences_and_queries(attend, stream, config, target, kv_lens, query_lens):
    problem = Problem(config, kv_lens, query_lens)
    out, lse = run(attend(config, target), problem, stream=stream)
    check(problem, (out, lse))
    for row, kv_len in enumerate(np.repeat(kv_lens, query_lens)):
        if kv_len == 0:
            assert (out[row] == 0).all() and np.isneginf(lse[row]).all()


@on_targets("config", [gqa(sinks=True), gqa(sinks=True, dtype="bf16")], ids=shapes_of,
            devices=True)  # fmt: skip
def test_a_query_that_sees_only_its_sink(attend, stream, config, target):
    problem = Problem(config, [0, 2, 5], [1, 4, 1])
    out, lse = run(attend(config, target), problem, stream=stream)
    check(problem, (out, lse))
    for row in (0, 1, 2):  # more new tokens than tokens: the first two see none
        assert (out[row] == 0).all()
        reference.check_lse(lse[row], problem.sinks)


@on_targets("config", [gqa(query_heads=16, dtype="bf16", width=64), gqa(dtype="bf16", width=64),
                       gqa(dtype="f32", width=64)], ids=shapes_of)  # fmt: skip
def test_an_infinite_value_is_infinite_in_its_column_alone(attend, stream, config, target):
    problem = Problem(config, [1, 40], [1, 1], query_scale=0.1)
    finite, _ = run(attend(config, target), problem, stream=stream)
    for rows, token in zip(problem.stored["v"], (0, 17)):
        rows[token, :, 5], rows[token, :, 6] = np.inf, -np.inf
    out, lse = run(attend(config, target), problem, stream=stream)
    assert np.isposinf(out[..., 5].astype(np.float32)).all()
    assert np.isneginf(out[..., 6].astype(np.float32)).all()
    others = [column for column in range(64) if column not in (5, 6)]
    assert same_bits(out[..., others], finite[..., others])


@on_targets("config", [gqa(dtype="bf16", width=128), gqa(query_heads=7, kv_heads=1)],
            ids=shapes_of, devices=True)  # fmt: skip
def test_long_sequences_by_sampled_rows(attend, stream, config, target):
    problem = Problem(config, [3000, 1000, 129], [3, 200, 129])
    if target.is_emulator:
        problem = Problem(config, [1500, 300, 65], [3, 70, 65])
    rows = reference.sampled_rows(problem.query_lens, 40)
    check(problem, run(attend(config, target), problem, stream=stream), rows)


@on_targets("config", [gqa(dtype="bf16", kv_heads=1), gqa(window=1000, sinks=True),
                       gqa(dtype="f16", window=1000, sinks=True, out_dtype="f32"),
                       gqa(dtype="bf16", query_heads=6, alibi=True)],
            ids=shapes_of, devices=True)  # fmt: skip
def test_long_decode(attend, stream, config, target):
    lens = [2500, 1, 1025, 1024, 0] if target.is_emulator else [9000, 1, 4097, 4096, 0]
    problem = Problem(config, lens, [1] * len(lens))
    check(problem, run(attend(config, target), problem, stream=stream))


@on_targets("config", [gqa(page=8), gqa(dtype="bf16"), mla(dtype="f16")], ids=shapes_of,
            devices=True)  # fmt: skip
def test_strided_queries_and_outputs(attend, stream, config, target):
    problem = Problem(config, *MIXED)
    plain = run(attend(config, target), problem, stream=stream)
    # Queries inside wider rows, heads before tokens; outputs likewise.
    for i, q in enumerate(problem.queries):
        tokens, heads, width = q.shape
        wide = np.full((heads, tokens, width + 24), np.nan, q.dtype)
        wide[:, :, 8 : 8 + width] = q.transpose(1, 0, 2)
        problem.queries[i] = wide[:, :, 8 : 8 + width].transpose(1, 0, 2)
    tokens, heads, width = plain[0].shape
    around = np.full((tokens + 2, heads + 3, width + 8), 7.0, plain[0].dtype)
    out = around[1:-1, 2:-1, 4:-4]
    lse = np.full((tokens, 2 * heads), 7.0, np.float32)
    function = attend(config, target)
    memory = Memory(problem, function.cache_type)
    results = function(*arguments(problem, memory), out=(out, lse[:, :heads]), stream=stream)
    assert results[0] is out
    assert same_bits(out.copy(), plain[0]) and same_bits(lse[:, :heads].copy(), plain[1])
    # Nothing beside the output was written.
    out[...] = 7.0
    assert (around == 7.0).all() and (lse[:, heads:] == 7.0).all()


@on_targets("config", [gqa(page=8), gqa(dtype="bf16")], ids=shapes_of, devices=True)
def test_padded_table_is_the_same_as_compressed_rows(attend, stream, config, target):
    problem = Problem(config, *MIXED)
    function = attend(config, target)
    memory = Memory(problem, function.cache_type)
    a = run(function, problem, stream=stream, memory=memory)
    b = run(function, problem, stream=stream, memory=memory, batch=memory.raw_batch())
    check(problem, a)
    assert same_bits(a[0], b[0]) and same_bits(a[1], b[1])


@on_targets("config", [gqa(page=8), gqa(dtype="bf16"), gqa(dtype="f16", window=9)],
            ids=shapes_of, devices=True)  # fmt: skip
def test_nan_in_a_visible_slot_reaches_the_output(attend, stream, config, target):
    for name in ("k", "v"):
        changed = Problem(config, [40, 40], [1, 1])
        changed.stored[name][1][35, 1, 3] = np.nan
        out, lse = run(attend(config, target), changed, stream=stream)
        check(changed, (out, lse))
        assert not np.isnan(out[0]).any() and not np.isnan(out[1, :2]).any()
        assert np.isnan(out[1, 2:]).any(axis=-1).all()


@on_targets("config", [gqa(dtype="bf16", window=9), gqa(window=3, page=3)], ids=shapes_of,
            devices=True)  # fmt: skip
def test_keys_before_every_window_do_not_matter(attend, stream, config, target):
    clean = Problem(config, [70, 12], [1, 1])
    dirty = Problem(config, [70, 12], [1, 1])
    for values in dirty.stored.values():
        for array in values:
            array[: len(array) - config.window] = np.nan
    a = run(attend(config, target), clean, stream=stream)
    b = run(attend(config, target), dirty, stream=stream)
    check(clean, a)
    check(clean, b)


@on_targets("config", [gqa(dtype="bf16", window=9), gqa(window=3, page=3)], ids=shapes_of,
            devices=True)  # fmt: skip
def test_pages_before_every_window_may_be_any(attend, stream, config, target):
    problem = Problem(config, [70, 12, 130], [1, 1, 4])
    function = attend(config, target)
    memory = Memory(problem, function.cache_type)
    want = run(function, problem, stream=stream, memory=memory)
    table = memory.raw_batch().arrays()["page_ids"].reshape(3, -1).copy()
    for row, kv_len, query_len in zip(table, problem.kv_lens, problem.query_lens, strict=True):
        row[: max(0, kv_len - query_len - config.window + 1) // config.page] = table.max()
    batch = memory.raw_batch(page_ids=table)
    got = run(function, problem, stream=stream, memory=memory, batch=batch)
    assert same_bits(got[0], want[0]) and same_bits(got[1], want[1])


@on_targets(
    "configs",
    [
        (gqa(dtype=dtype, page=page), gqa(6, 2, 40, dtype=dtype, page=page, window=9))
        for dtype, page in (("bf16", 16), ("f16", 3))
    ],
    ids=lambda configs: shapes_of(configs[0]),
    devices=True,
)
def test_several_attentions_in_one_function(programs, stream, configs, target):
    function = programs(two_attentions(*configs), target)["attend"]
    problems = [Problem(config, *MIXED, seed=seed) for seed, config in enumerate(configs)]
    types = [a.cache_type for a in function.args if a.kind == "cache"]
    memories = [Memory(p, t, device=stream.device) for p, t in zip(problems, types)]
    out = (*unwritten(problems[0]), *unwritten(problems[1]))
    # Both pools hand out their pages in the same order.
    views = [memory.view for memory in memories]
    queries = [problem.queries[0] for problem in problems]
    function(*queries, *views, memories[0].batch, out=out, stream=stream)
    check(problems[0], out[:2])
    check(problems[1], out[2:])


@on_targets("config", [gqa(dtype="bf16"), gqa(dtype="f16", window=50), mla()], ids=shapes_of,
            devices=True)  # fmt: skip
@pytest.mark.parametrize("query_lens", [[1, 1, 1, 1], [2, 40, 3, 9]], ids=str)
def test_deterministic(attend, stream, config, target, query_lens):
    config = replace(config, deterministic=True)
    problem = Problem(config, [700, 40, 3, 130], query_lens)
    function = attend(config, target, split=64)
    out, lse = run(function, problem, stream=stream)
    check(problem, (out, lse))
    for chosen in ([0], [3, 0, 2]):
        some, some_lse = run(function, problem.subset(chosen), stream=stream)
        rows = problem.rows_of(chosen)
        assert same_bits(some, out[rows]) and same_bits(some_lse, lse[rows])


@pytest.mark.parametrize("target", DEVICES, ids=str)
def test_packed_layouts_are_refused_on_devices(compiler, target):
    config = gqa(dtype="bf16")
    text = config.text.replace("k: 2x64xbf16", "k: 2x64xbf16 layout<packed_key>")
    with pytest.raises(kvc.CompileError, match="'k' of layout packed_key"):
        compiler.compile(text, **target.compile_options())
