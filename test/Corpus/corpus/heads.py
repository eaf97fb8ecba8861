"""Heads: rows cut into heads and back, and KV heads repeated for their group of queries."""

from .linear import spread
from .shapes import empty, flatten, transpose, unflatten, unsqueeze


def split_heads(x, heads):
    """(batch, tokens, heads * width) to (batch, heads, tokens, width)."""
    return transpose(unflatten(x, -1, heads, x.shape[-1] // heads), 1, 2)


def join_heads(x):
    """(batch, heads, tokens, width) to (batch, tokens, heads * width)."""
    return flatten(transpose(x, 1, 2), 2)


def repeat_kv(x, group):
    """Each head `group` times: a new axis is broadcast and joined to that of the heads."""
    f, wide = x.function, (*x.shape[:2], group, *x.shape[2:])
    maps = [["d0", "d1", 0, "d3", "d4"], [f"d{i}" for i in range(5)]]
    copy = f.generic([unsqueeze(x, 2)], maps, empty(f, wide, x.dtype), lambda b, s, _: s)
    return flatten(copy, 1)


def repeat_kv_by_broadcast(x, group):
    """The same, by linalg.broadcast."""
    return flatten(spread(x, 2, group), 1)


def repeat_interleave(x, group, axis):
    """Each head `group` times: head h of the result is read from head h / group."""
    f = x.function
    shape = (*x.shape[:axis], group * x.shape[axis], *x.shape[axis + 1 :])

    def body(b, _):
        indices = [b.index(i) for i in range(x.rank)]
        indices[axis] = b.arithmetic("arith.floordivsi", indices[axis], b.constant(group, "index"))
        return b.extract(x, indices)

    return f.generic([], [[f"d{i}" for i in range(x.rank)]], empty(f, shape, x.dtype), body)
