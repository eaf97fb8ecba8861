"""Rotary position embedding on every target."""

import numpy as np
import pytest

import kvc
import reference
from problems import Problem, Rope, check, check_cache, gqa, mla, place, run
from refusals import Expectation
from targets import on_targets, sample
from test_attention import shapes_of


def rope_text(heads, width, dtype, rotary, style, theta):
    """Returns a module whose function @rope rotates; frequencies if theta is None."""
    rows = f"tensor<?x{heads}x{width}x{dtype}>"
    frequencies = f"tensor<{rotary // 2}xf32>"
    given = "" if theta else f" frequencies(%f : {frequencies})"
    options = [f"rotary_width = {rotary} : i64", f"style = #kvc<rope_style {style}>"]
    options += [f"theta = {theta:e} : f64"] if theta else []
    argument = "" if theta else f", %f: {frequencies}"
    return (
        f"func.func @rope(%x: {rows}, %batch: !kvc.batch{argument}) -> {rows} {{\n"
        f"  %y = kvc.rope %x at %batch{given} {{{', '.join(options)}}} : {rows}\n"
        f"  return %y : {rows}\n}}\n"
    )


CASES = sample(
    [
        (heads, width, dtype, rotary, style, theta)
        for dtype in ("f32", "bf16", "f16")
        for heads, width, rotary in ((4, 64, 64), (3, 40, 22), (1, 128, 2), (2, 72, 72), (5, 8, 6))
        for style in ("half", "interleaved")
        for theta in (1e4, 5e5, None)
    ],
    14,
)


@on_targets("case", CASES, ids=lambda c: "-".join(map(str, c)), devices=True)
def test_matches_the_reference(programs, stream, case, target):
    heads, width, dtype, rotary, style, theta = case
    positions = np.array([0, 1, 7, 4095, 131_071, 1_000_003, 2, 2**24 + 1], np.int32)
    tokens = len(positions)
    rng = np.random.default_rng(rotary)
    x = rng.standard_normal((tokens, heads, width)).astype(kvc.dtypes.to_numpy(dtype))
    frequencies = None if theta else rng.random(rotary // 2).astype(np.float32)
    batch = kvc.RawBatch([0, 3, tokens], [3, tokens], np.zeros((2, 1)), np.full(tokens, -1),
                         positions)  # fmt: skip
    given = [x, batch] + ([] if theta else [frequencies])
    out = np.full(x.shape, np.nan, x.dtype)
    refusal = Expectation(r"\bf32\b", must=False) if dtype == "f32" else None
    programs(rope_text(*case), target, refusal)["rope"](*given, out=out, stream=stream)
    want = reference.rope(x, positions, rotary, theta=theta, frequencies=frequencies, style=style)
    reference.check_rows(out, want, dtype)
    np.testing.assert_array_equal(out[..., rotary:], x[..., rotary:])


TURNED = [
    gqa(dtype=dtype, append=True, rope=rope, **more)
    for dtype in ("f32", "bf16", "f16")
    for rope, more in (
        (Rope("k", 64), {}),
        (Rope("k", 32, "interleaved", 5e5), {"width": 72, "value_width": 40, "page": 3}),
    )
] + [mla(append=True, rope=Rope("r", 64, "interleaved")), gqa(dtype="bf16", rope=Rope("k", 64))]


@on_targets("config", TURNED, ids=shapes_of, devices=True)
@pytest.mark.parametrize("query_lens", [[1, 1, 1], [20, 7, 2]], ids=str)
def test_rope_append_and_attention_in_one_function(attend, stream, config, target, query_lens):
    """Rotated, appended as they were rounded, and attended to as the cache holds them."""
    problem = Problem(config, [20, 7, 40], query_lens)
    function = attend(config, target)
    memory = place(function, problem, stream=stream)
    check(problem, run(function, problem, stream=stream, memory=memory))
    check_cache(problem, memory)
