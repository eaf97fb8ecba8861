"""The reference itself: against sums written out, and its checks against errors."""

import math

import ml_dtypes
import numpy as np
import pytest

import reference


def written_out(q, k, v, query, query_len, scale, causal, window, softcap, slope, sink):
    """Attention of one query of one head with scalar arithmetic."""
    kv_len = len(k)
    position = kv_len - query_len + query
    scores = []
    for j in range(kv_len):
        if causal and j > position:
            continue
        if window is not None and j <= position - window:
            continue
        s = scale * sum(float(a) * float(b) for a, b in zip(q, k[j]))
        if softcap is not None:
            s = softcap * math.tanh(s / softcap)
        s -= slope * (position - j)
        scores.append((j, s))
    total = math.fsum(math.exp(s) for _, s in scores)
    total += 0 if sink is None else math.exp(sink)
    if total == 0:
        return np.zeros(v.shape[1]), -math.inf
    out = sum((math.exp(s) / total * v[j].astype(float) for j, s in scores), np.zeros(v.shape[1]))
    return out, math.log(total)


@pytest.mark.parametrize("causal, window", [(False, None), (True, None), (True, 3), (True, 1)])
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_attention_matches_sums_written_out(causal, window, softcap, alibi, with_sinks):
    rng = np.random.default_rng(1)
    query_lens, kv_lens = [1, 3, 4, 0, 2], [5, 3, 2, 4, 0]
    q = rng.standard_normal((10, 6, 4))
    keys = [rng.standard_normal((n, 2, 4)) for n in kv_lens]
    values = [rng.standard_normal((n, 2, 5)) for n in kv_lens]
    sinks = rng.standard_normal(6) if with_sinks else None
    # Of 4 heads, and the first and third of 8.
    slopes = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    out, lse = reference.attention(
        [(q, keys)],
        values,
        query_lens,
        scale=0.7,
        causal=causal,
        window=window,
        softcap=softcap,
        alibi=alibi,
        sinks=sinks,
    )
    row = 0
    for sequence, query_len in enumerate(query_lens):
        for query in range(query_len):
            for head in range(6):
                want, want_lse = written_out(
                    q[row, head],
                    keys[sequence][:, head // 3],
                    values[sequence][:, head // 3],
                    query,
                    query_len,
                    0.7,
                    causal,
                    window,
                    softcap,
                    slopes[head] if alibi else 0.0,
                    None if sinks is None else sinks[head],
                )
                np.testing.assert_allclose(out[row, head], want, rtol=1e-12, atol=1e-14)
                np.testing.assert_allclose(lse[row, head], want_lse, rtol=1e-12)
            row += 1


def test_alibi_slopes_are_those_of_the_paper():
    np.testing.assert_array_equal(
        reference.alibi_slopes(8), [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    )
    np.testing.assert_allclose(reference.alibi_slopes(16), 0.5 ** np.arange(0.5, 8.5, 0.5))
    np.testing.assert_array_equal(reference.alibi_slopes(1), [1 / 256])
    for heads in range(1, 200):
        n = 2 ** int(math.log2(heads))
        want = [
            2 ** (-8 * (h + 1) / n) if h < n else 2 ** (-4 * (2 * (h - n) + 1) / n)
            for h in range(heads)
        ]
        np.testing.assert_allclose(reference.alibi_slopes(heads), want, rtol=1e-14)


def test_two_terms_are_one_term_of_both_widths():
    rng = np.random.default_rng(2)
    q = rng.standard_normal((2, 4, 12))
    k = rng.standard_normal((7, 1, 12))
    v = rng.standard_normal((7, 1, 3))
    one = reference.attention([(q, [k])], [v], [2], scale=0.5, causal=True)
    terms = [(q[..., :8], [k[..., :8]]), (q[..., 8:], [k[..., 8:]])]
    two = reference.attention(terms, [v], [2], scale=0.5, causal=True)
    np.testing.assert_allclose(one[0], two[0], rtol=1e-12)
    np.testing.assert_allclose(one[1], two[1], rtol=1e-12)


def test_rows_of_a_sample_are_those_of_the_whole():
    rng = np.random.default_rng(3)
    query_lens, kv_lens = [5, 1, 9], [7, 4, 9]
    q = rng.standard_normal((15, 2, 4))
    keys = [rng.standard_normal((n, 1, 4)) for n in kv_lens]
    rows = reference.sampled_rows(query_lens, 8)
    assert {0, 4, 5, 6, 14} <= set(rows) and 8 <= len(rows) < 15
    whole = reference.attention([(q, keys)], keys, query_lens, scale=1.0, causal=True)
    some = reference.attention([(q, keys)], keys, query_lens, scale=1.0, causal=True, rows=rows)
    np.testing.assert_array_equal(some[0], whole[0][rows])
    np.testing.assert_array_equal(some[1], whole[1][rows])


def test_hidden_keys_do_not_matter_and_visible_ones_do():
    q = np.ones((1, 1, 4))
    k = np.ones((3, 1, 4))
    k[0] = np.nan
    hidden, _ = reference.attention([(q, [k])], [k], [1], scale=1.0, causal=True, window=2)
    assert np.isfinite(hidden).all()
    seen, _ = reference.attention([(q, [k])], [k], [1], scale=1.0, causal=True, window=3)
    assert np.isnan(seen).all()


def test_merge_of_parts_is_one_pass():
    rng = np.random.default_rng(4)
    q = rng.standard_normal((2, 4, 8))
    k, v = rng.standard_normal((9, 2, 8)), rng.standard_normal((9, 2, 6))
    sinks = rng.standard_normal(4)
    whole = reference.attention([(q, [k])], [v], [2], scale=0.3, sinks=sinks)
    bounds = [(0, 4), (4, 4), (4, 9)]
    parts = [reference.attention([(q, [k[a:b]])], [v[a:b]], [2], scale=0.3) for a, b in bounds]
    parts[1][0][:] = np.nan  # empty: its output does not count
    out, lse = reference.merge([p[0] for p in parts], [p[1] for p in parts], sinks)
    np.testing.assert_allclose(out, whole[0], rtol=1e-12)
    np.testing.assert_allclose(lse, whole[1], rtol=1e-12)


def test_merge_of_empty_parts_is_empty():
    outputs = [np.full((1, 2, 3), np.nan)] * 2
    lses = [np.full((1, 2), -np.inf)] * 2
    out, lse = reference.merge(outputs, lses)
    assert (out == 0).all() and np.isneginf(lse).all()
    out, lse = reference.merge(outputs, lses, sinks=np.array([0.5, -1.0]))
    assert (out == 0).all()
    np.testing.assert_allclose(lse, [[0.5, -1.0]])


def test_append_skips_negative_slots():
    storage = np.zeros((4, 1, 2))
    reference.append(storage, [2, -1, 0], np.arange(6).reshape(3, 1, 2) + 1)
    np.testing.assert_array_equal(storage[:, 0], [[5, 6], [0, 0], [1, 2], [0, 0]])


@pytest.mark.parametrize("style, pair", [("half", (1, 4)), ("interleaved", (2, 3))])
def test_rope_rotates_pairs(style, pair):
    x = np.arange(1.0, 9.0).reshape(1, 1, 8)
    out = reference.rope(x, [3], 6, theta=100.0, style=style)[0, 0]
    angle = 3 * 100.0 ** (-2 / 6)
    a, b = x[0, 0, pair[0]], x[0, 0, pair[1]]
    np.testing.assert_allclose(
        out[list(pair)],
        [a * math.cos(angle) - b * math.sin(angle), b * math.cos(angle) + a * math.sin(angle)],
    )
    np.testing.assert_array_equal(out[6:], x[0, 0, 6:])
    same = reference.rope(x, [3], 6, frequencies=100.0 ** (-np.arange(3) / 3), style=style)
    np.testing.assert_allclose(same[0, 0], out)


# --- The checks --------------------------------------------------------------

ROW = np.random.default_rng(5).standard_normal((3, 2, 64))


@pytest.mark.parametrize("dtype", reference.ROW_BOUNDS)
def test_check_rows_accepts_errors_within_the_bound(dtype):
    bound = reference.ROW_BOUNDS[dtype]
    reference.check_rows(ROW, ROW, dtype)
    reference.check_rows(ROW * (1 + 0.99 * bound), ROW, dtype)
    reference.check_rows(np.zeros((0, 2, 64)), np.zeros((0, 2, 64)), dtype)


@pytest.mark.parametrize("dtype", reference.ROW_BOUNDS)
def test_check_rows_finds_one_bad_row(dtype):
    got = ROW.copy()
    got[1, 1] *= 1 + 1.01 * reference.ROW_BOUNDS[dtype]
    with pytest.raises(AssertionError, match=r"L2 error .* in row \(1, 1\); 1 of 6"):
        reference.check_rows(got, ROW, dtype)


def test_check_rows_finds_one_bad_element():
    # The row is so wide that a single element hides in its norm.
    want = np.ones((1, 10_000))
    got = want.copy()
    got[0, 7] += 3.9 * 1e-3
    reference.check_rows(got, want, "f16")
    got[0, 7] = 1 + 4.1 * 1e-3
    with pytest.raises(AssertionError, match="error of an element"):
        reference.check_rows(got, want, "f16")


def test_check_rows_wants_exact_zeros():
    zeros = np.zeros((1, 8))
    reference.check_rows(zeros, zeros, "bf16")
    with pytest.raises(AssertionError, match="L2 error"):
        reference.check_rows(zeros + 1e-30, zeros, "bf16")


@pytest.mark.parametrize(
    "got, want",
    [
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.inf, 1.0),
        (np.inf, -np.inf),
        (-np.inf, 0.0),
        (np.nan, np.inf),
    ],
)
def test_checks_tell_special_values_from_all_others(got, want):
    with pytest.raises(AssertionError, match="in one only"):
        reference.check_rows(np.array([[got, 1.0]]), np.array([[want, 1.0]]), "bf16")
    with pytest.raises(AssertionError, match="in one only"):
        reference.check_lse(np.array([got]), np.array([want]))


def test_check_rows_compares_the_rest_of_a_row_with_nan():
    want = np.array([[np.nan, 1.0, 2.0]])
    reference.check_rows(want, want, "f32")
    with pytest.raises(AssertionError, match="L2 error"):
        reference.check_rows(np.array([[np.nan, 1.0, 2.1]]), want, "f32")


def test_check_rows_takes_bfloat16_and_refuses_other_shapes():
    reference.check_rows(ROW.astype(ml_dtypes.bfloat16), ROW, "bf16")
    with pytest.raises(AssertionError, match="L2 error"):
        reference.check_rows(ROW.astype(ml_dtypes.bfloat16), ROW, "f16")
    with pytest.raises(AssertionError, match="shape"):
        reference.check_rows(ROW[:2], ROW, "f32")


def test_check_lse_bounds():
    want = np.array([0.0, 100.0, -np.inf])
    reference.check_lse(want + [0.99e-4, 1.09e-3, 0], want)
    for error in ([1.01e-4, 0, 0], [0, 1.12e-3, 0]):
        with pytest.raises(AssertionError, match="1 of 3 entries"):
            reference.check_lse(want + error, want)
    with pytest.raises(AssertionError, match="-inf in one only"):
        reference.check_lse(np.array([0.0, 100.0, -1e30]), want)
