"""What kvc's operations compute, in float64 NumPy.

Written from the operations' formulas and from nothing of the compiler. A
sequence's keys and values are dense arrays here, one array a sequence; pages,
layouts and batches are the caller's business. `check_rows` and `check_lse` hold
the one table of tolerances of docs/Testing.md.
"""

import numpy as np

# Relative L2 error of one row, by the element type of the output.
ROW_BOUNDS = {"f64": 1e-12, "f32": 1e-5, "f16": 1e-3, "bf16": 5e-3}
# No element of a row may be off by more than this many times the bound times
# the row's largest element.
ELEMENT_FACTOR = 4
LSE_ABSOLUTE, LSE_RELATIVE = 1e-4, 1e-5


def visible_keys(query, query_len, kv_len, causal=False, window=None):
    """Returns the first key that query `query` of a sequence sees, and one past the last.

    The queries are the last `query_len` of `kv_len` tokens.
    """
    first, last = 0, kv_len
    if causal:
        position = kv_len - query_len + query
        last = min(kv_len, position + 1)
        if window is not None:
            first = max(0, position - window + 1)
    return first, max(first, last)


def alibi_slopes(heads):
    """Returns the slope of each head (Press et al., arXiv:2108.12409).

    For a power of two, the powers of 2^(-8 / heads); else those of the next power of
    two below, and every second one of the next above.
    """
    if heads & (heads - 1) == 0:
        return 2.0 ** (-8.0 / heads * np.arange(1, heads + 1))
    below = 1 << (heads.bit_length() - 1)
    return np.concatenate([alibi_slopes(below), alibi_slopes(2 * below)[::2][: heads - below]])


def softmax_with_sinks(scores, sinks):
    """Returns weights and log-sum-exp of scores along the last axis.

    Parameters
    ----------
    scores : array, shape (heads, keys)
    sinks : array, shape (heads,), or None
        Logits that take part without a value.
    """
    columns = scores if sinks is None else np.concatenate([scores, sinks[:, None]], axis=1)
    heads, keys = scores.shape
    if columns.shape[1] == 0:
        return np.zeros((heads, 0)), np.full(heads, -np.inf)
    largest = columns.max(axis=1)
    # A row of -inf alone sees nothing.
    shift = np.where(np.isneginf(largest), 0.0, largest)
    exponentials = np.exp(columns - shift[:, None])
    total = exponentials.sum(axis=1)
    with np.errstate(divide="ignore"):
        lse = shift + np.log(total)
    weights = exponentials[:, :keys] / np.where(total == 0, 1.0, total)[:, None]
    return weights, lse


def attention(
    terms,
    values,
    query_lens,
    *,
    scale,
    causal=False,
    window=None,
    softcap=None,
    alibi=False,
    sinks=None,
    rows=None,
):
    """Attention of a ragged batch.

    Parameters
    ----------
    terms : list of (array, list of array)
        Queries, shape (tokens, query heads, width), and for each sequence its
        keys, shape (kv_len, KV heads, width).
    values : list of array
        For each sequence its values, shape (kv_len, KV heads, value width).
    query_lens : list of int
        New tokens of each sequence, the last ones of its kv_len.
    scale : float
    causal : bool
    window, softcap : optional
    alibi : bool
        Whether scores, after the softcap, fall with the distance of the key.
    sinks : array, shape (query heads,), optional
    rows : list of int, optional
        The tokens to compute; default: all.

    Returns
    -------
    output : array of float64, shape (rows, query heads, value width)
    lse : array of float64, shape (rows, query heads)
    """
    query_heads = terms[0][0].shape[1]
    starts = np.concatenate([[0], np.cumsum(query_lens)]).astype(int)
    rows = range(starts[-1]) if rows is None else rows
    width = values[0].shape[2] if values else 0
    output = np.zeros((len(rows), query_heads, width))
    lse = np.full((len(rows), query_heads), -np.inf)
    sinks = None if sinks is None else np.asarray(sinks, np.float64)
    for place, row in enumerate(rows):
        sequence = int(np.searchsorted(starts, row, side="right")) - 1
        kv_len, kv_heads, _ = values[sequence].shape
        first, last = visible_keys(
            row - starts[sequence], query_lens[sequence], kv_len, causal, window
        )
        grouped = (kv_heads, query_heads // kv_heads)
        scores = np.zeros((*grouped, last - first))
        for queries, keys in terms:
            q = queries[row].astype(np.float64).reshape(*grouped, queries.shape[2])
            k = keys[sequence][first:last].astype(np.float64)
            scores += q @ k.transpose(1, 2, 0)
        scores = scores.reshape(query_heads, last - first) * scale
        if softcap is not None:
            scores = softcap * np.tanh(scores / softcap)
        if alibi:
            position = kv_len - query_lens[sequence] + row - starts[sequence]
            scores += alibi_slopes(query_heads)[:, None] * (np.arange(first, last) - position)
        weights, lse[place] = softmax_with_sinks(scores, sinks)
        v = values[sequence][first:last].astype(np.float64)
        weights = weights.reshape(*grouped, last - first)
        output[place] = (weights @ v.transpose(1, 0, 2)).reshape(query_heads, width)
    return output, lse


def sampled_rows(query_lens, count, seed=0):
    """Returns `count` tokens or more of a batch, sorted.

    The first and the last of each sequence are always among them.
    """
    starts = np.concatenate([[0], np.cumsum(query_lens)]).astype(int)
    chosen = {int(row) for s, e in zip(starts, starts[1:]) if e > s for row in (s, e - 1)}
    extra = np.random.default_rng(seed).permutation(starts[-1])
    for row in extra[: max(0, count - len(chosen))]:
        chosen.add(int(row))
    return sorted(chosen)


def append(storage, slots, values):
    """Writes row t of `values` at `slots[t]` of `storage`, unless that is -1.

    Parameters
    ----------
    storage : array, shape (slots, heads, width)
    slots : array of int, shape (tokens,)
    values : array, shape (tokens, heads, width)
    """
    for slot, row in zip(slots, values):
        if slot != -1:
            storage[slot] = row


def merge(outputs, lses, sinks=None):
    """Merges attention over disjoint sets of keys.

    Parameters
    ----------
    outputs : list of array, shape (tokens, heads, width)
    lses : list of array, shape (tokens, heads)
    sinks : array, shape (heads,), optional

    Returns
    -------
    output : array of float64, shape (tokens, heads, width)
    lse : array of float64, shape (tokens, heads)
    """
    tokens, heads, width = outputs[0].shape
    output = np.zeros((tokens, heads, width))
    lse = np.zeros((tokens, heads))
    for token in range(tokens):
        for head in range(heads):
            logits = np.array([part[token, head] for part in lses], np.float64)
            sink = None if sinks is None else np.asarray(sinks[head : head + 1], np.float64)
            weights, total = softmax_with_sinks(logits[None], sink)
            lse[token, head] = total[0]
            for weight, logit, part in zip(weights[0], logits, outputs):
                if logit != -np.inf:  # an empty part holds anything
                    output[token, head] += weight * part[token, head].astype(np.float64)
    return output, lse


def rope(x, positions, rotary_width, *, theta=None, frequencies=None, style="half"):
    """Rotary position embedding.

    Parameters
    ----------
    x : array, shape (tokens, heads, width)
    positions : array of int, shape (tokens,)
    rotary_width : int
        Leading elements of each row that are rotated.
    theta : float, or
    frequencies : array, shape (rotary_width / 2,)
    style : {"half", "interleaved"}

    Returns
    -------
    array of float64, shape (tokens, heads, width)
    """
    half = rotary_width // 2
    pairs = np.arange(half)
    if frequencies is None:
        frequencies = float(theta) ** (-2.0 * pairs / rotary_width)
    angles = np.asarray(positions, np.float64)[:, None] * np.asarray(frequencies, np.float64)
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    first, second = (pairs, pairs + half) if style == "half" else (2 * pairs, 2 * pairs + 1)
    output = np.array(x, np.float64)
    a, b = output[:, :, first].copy(), output[:, :, second].copy()
    output[:, :, first] = a * cos - b * sin
    output[:, :, second] = b * cos + a * sin
    return output


def _same_special_values(got, want, what):
    for name, test in (("NaN", np.isnan), ("+inf", np.isposinf), ("-inf", np.isneginf)):
        different = test(got) != test(want)
        if different.any():
            place = tuple(map(int, np.argwhere(different)[0]))
            raise AssertionError(
                f"{what}: {name} in one only, at {place}: got {got[place]}, want {want[place]} "
                f"({int(different.sum())} such)"
            )


def check_rows(got, want, dtype, what="output"):
    """Compares outputs row by row; see docs/Testing.md.

    Parameters
    ----------
    got : array, shape (..., width)
    want : array of float64, the same shape
    dtype : {"f64", "f32", "f16", "bf16"}
        Element type of the output, which sets the bound.
    what : str
        Name of the output in messages.

    Raises
    ------
    AssertionError
        If a row is off, with the row and how much.
    """
    bound = ROW_BOUNDS[dtype]
    got, want = np.asarray(got).astype(np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        raise AssertionError(f"{what}: got shape {got.shape}, want {want.shape}")
    _same_special_values(got, want, what)
    if got.size == 0:
        return
    finite = np.isfinite(want)
    expected = np.where(finite, want, 0.0)
    error = np.where(finite, got - expected, 0.0)
    norms = np.sqrt((expected**2).sum(axis=-1))
    errors = np.sqrt((error**2).sum(axis=-1))
    _refuse(errors > bound * norms, errors, norms, f"{what}: relative L2 error", bound)
    largest = np.abs(expected).max(axis=-1)
    worst = np.abs(error).max(axis=-1)
    limit = ELEMENT_FACTOR * bound
    _refuse(worst > limit * largest, worst, largest, f"{what}: error of an element", limit)


def _refuse(bad, errors, sizes, what, bound):
    if bad.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(bad, errors / sizes, -1.0)
        place = tuple(map(int, np.unravel_index(np.argmax(ratios), ratios.shape)))
        raise AssertionError(
            f"{what} {errors[place]:.3g} of {sizes[place]:.3g} is {ratios[place]:.3g} > "
            f"{bound:.3g} in row {place}; {int(bad.sum())} of {bad.size} rows are off"
        )


def relative_error(got, want):
    """Returns the largest error of a row, relative to its norm."""
    if not got.size:
        return 0.0
    norms = np.sqrt((want**2).sum(axis=-1))
    errors = np.sqrt(((got.astype(np.float64) - want) ** 2).sum(axis=-1))
    return float((errors / np.maximum(norms, 1e-30)).max())


def check_lse(got, want, what="log-sum-exp"):
    """Compares log-sum-exps entry by entry; -inf must be -inf, NaN equals no number."""
    got, want = np.asarray(got).astype(np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        raise AssertionError(f"{what}: got shape {got.shape}, want {want.shape}")
    _same_special_values(got, want, what)
    finite = np.isfinite(want)
    with np.errstate(invalid="ignore"):
        error = np.where(finite, np.abs(got - want), 0.0)
    bad = error > LSE_ABSOLUTE + LSE_RELATIVE * np.where(finite, np.abs(want), 0.0)
    if bad.any():
        place = tuple(map(int, np.argwhere(bad)[0]))
        raise AssertionError(
            f"{what}: got {got[place]:.9g}, want {want[place]:.9g} at {place}; "
            f"{int(bad.sum())} of {bad.size} entries are off"
        )
