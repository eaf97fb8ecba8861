"""Masks: which keys a query sees, by comparing positions."""

from .elementwise import elementwise
from .shapes import empty, unsqueeze
from .text import LARGEST


def arange(f, count, start=0, step=1):
    """`start + step * arange(count)` in i64; start is a size."""
    def body(b, _):
        index = b.index(0)
        if step != 1:
            index = b.arithmetic("arith.muli", index, b.constant(step, "index"))
        if start != 0:
            index = b.arithmetic("arith.addi", index, b.size(start))
        return b.cast(index, "i64")

    return f.generic([], [["d0"]], empty(f, (count,), "i64"), body)


def causal(queries, keys, window=None):
    """Which keys are not after the query, and within the window: i1.

    Parameters
    ----------
    queries : Tensor, i64, shape (..., tokens)
        Positions.
    keys : Tensor, i64, shape (keys,)
    window : int, optional
        Number of keys that a query sees at most, the one of its own position included.

    Returns
    -------
    Tensor, i1, shape (..., tokens, keys)
    """
    column = unsqueeze(queries, queries.rank)
    mask = elementwise(lambda b, k, q: b.compare("arith.cmpi sle", k, q), keys, column, dtype="i1")
    if window is None:
        return mask

    def after_start(b, k, q):
        start = b.arithmetic("arith.subi", q, b.constant(window, "i64"))
        return b.compare("arith.cmpi sgt", k, start)

    inside = elementwise(after_start, keys, column, dtype="i1")
    return elementwise(lambda b, x, y: b.arithmetic("arith.andi", x, y), mask, inside)


def additive(mask, value, dtype):
    """0 where the mask holds, else `value`."""
    def body(b, keep):
        return b.select(keep, b.constant(0.0, dtype), b.constant(value, dtype))

    return elementwise(body, mask, dtype=dtype)


def masked_fill(scores, mask, value):
    """The scores where the mask holds, else `value`."""
    def body(b, s, keep):
        return b.select(keep, s, b.constant(value, s.type))

    return elementwise(body, scores, mask)


def additive_causal(f, tokens, keys, past, dtype):
    """0 for a key that the query sees, else the least number: shape (1, 1, tokens, keys).

    Compares indices: of the query, with the tokens before the first one added, and of the key.
    """
    def body(b, _):
        position = b.arithmetic("arith.addi", b.index(2), b.size(past))
        keep = b.compare("arith.cmpi sge", position, b.index(3))
        return b.select(keep, b.constant(0.0, dtype), b.constant(-LARGEST[dtype], dtype))

    init = empty(f, (1, 1, tokens, keys), dtype)
    return f.generic([], [["d0", "d1", "d2", "d3"]], init, body)
