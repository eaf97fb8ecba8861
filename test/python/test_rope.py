"""Rotary position embedding on every target."""

import numpy as np

import kvc
import reference
from targets import on_targets, sample


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


@on_targets("case", CASES, ids=lambda c: "-".join(map(str, c)))
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
    programs(rope_text(*case), target)["rope"](*given, out=out, stream=stream)
    want = reference.rope(x, positions, rotary, theta=theta, frequencies=frequencies, style=style)
    reference.check_rows(out, want, dtype)
    np.testing.assert_array_equal(out[..., rotary:], x[..., rotary:])


@on_targets("dtype", ["f32", "bf16"])
def test_rope_append_and_attention_in_one_function(programs, stream, dtype, target):
    q, kv = f"tensor<?x4x64x{dtype}>", f"tensor<?x2x64x{dtype}>"
    cache = f"!kvc.cache<page = 16, k: 2x64x{dtype}, v: 2x64x{dtype}>"
    rotated = "{theta = 1.0e4 : f64, rotary_width = 64 : i64}"
    text = f"""
    !cache = {cache}
    func.func @step(%q: {q}, %k: {kv}, %v: {kv}, %cache: !cache, %batch: !kvc.batch) -> {q} {{
      %rq = kvc.rope %q at %batch {rotated} : {q}
      %rk = kvc.rope %k at %batch {rotated} : {kv}
      kvc.append %cache[k: %rk, v: %v] at %batch : !cache, {kv}, {kv}
      %out = kvc.attention %cache at %batch terms(%rq * k) value(v) score [#kvc.causal]
          {{scale = 0.125 : f32}} : !cache, {q} -> {q}
      return %out : {q}
    }}"""
    function = programs(text, target)["step"]
    pool = kvc.Pool(function.cache_type, 16, debug_fill=True)
    sequences = [pool.sequence(n) for n in (20, 7)]
    rng = np.random.default_rng(3)
    lens = [20, 7]
    numpy_dtype = kvc.dtypes.to_numpy(dtype)
    x, k, v = (rng.standard_normal((27, h, 64)).astype(numpy_dtype) for h in (4, 2, 2))
    batch = kvc.Batch.from_sequences(sequences, lens)
    out = function(x, k, v, pool.view(), batch, stream=stream)

    def rotate(rows, length):
        """Rotates and rounds, as a tensor between two operations is."""
        return reference.rope(rows, range(length), 64, theta=1e4).astype(numpy_dtype)

    starts = [0, 20, 27]
    parts = list(zip(starts, starts[1:]))
    queries = np.concatenate([rotate(x[a:b], b - a) for a, b in parts])
    keys = [rotate(k[a:b], b - a) for a, b in parts]
    values = [v[a:b] for a, b in parts]
    want, _ = reference.attention([(queries, keys)], values, lens, scale=0.125, causal=True)
    for sequence, rows in zip(sequences, keys):
        reference.check_rows(sequence.read("k"), rows.astype(np.float64), dtype)
    reference.check_rows(out, want, dtype)
