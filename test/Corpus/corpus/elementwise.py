"""PyTorch's operations on one element at a time, with its broadcasting, and casts."""

from .shapes import empty
from .text import wide


def elementwise(body, *operands, dtype=None):
    """Applies `body`, a function of (Body, a Scalar per operand).

    Shapes are aligned at the last axis, and an axis of size 1 is broadcast; such an axis is
    0 in the operand's map, as exporters write it. The result has the first operand's type, or
    the given one.
    """
    f, rank = operands[0].function, max(x.rank for x in operands)
    shape = [1] * rank
    for x in operands:
        for axis, size in enumerate(x.shape, rank - x.rank):
            shape[axis] = size if size != 1 else shape[axis]
    maps = [
        [0 if size == 1 else f"d{axis}" for axis, size in enumerate(x.shape, rank - x.rank)]
        for x in operands
    ]
    maps.append([f"d{axis}" for axis in range(rank)])
    init = empty(f, shape, dtype or operands[0].dtype)
    return f.generic(list(operands), maps, init, lambda b, *scalars: body(b, *scalars[:-1]))


def _arithmetic(op):
    def apply(*operands):
        return elementwise(lambda b, *scalars: b.arithmetic(op, *scalars), *operands)

    return apply


add = _arithmetic("arith.addf")
sub = _arithmetic("arith.subf")
mul = _arithmetic("arith.mulf")
div = _arithmetic("arith.divf")
neg = _arithmetic("arith.negf")
exp = _arithmetic("math.exp")
cos = _arithmetic("math.cos")
sin = _arithmetic("math.sin")
tanh = _arithmetic("math.tanh")
rsqrt = _arithmetic("math.rsqrt")


def _with_number(op):
    """The number is not rounded to the type of x: PyTorch computes in f32 and rounds once."""
    def apply(x, number):
        def body(b, s):
            number_in_wide = b.constant(number, wide(x.dtype))
            return b.cast(b.arithmetic(op, b.cast(s, wide(x.dtype)), number_in_wide), x.dtype)

        return elementwise(body, x)

    return apply


add_number = _with_number("arith.addf")
mul_number = _with_number("arith.mulf")
div_number = _with_number("arith.divf")
pow_number = _with_number("math.powf")


def number_to_the(base, x):
    """`base ** x` for a number."""
    return elementwise(lambda b, s: b.arithmetic("math.powf", b.constant(base, x.dtype), s), x)


def reciprocal(x):
    return elementwise(lambda b, s: b.arithmetic("arith.divf", b.constant(1.0, x.dtype), s), x)


def cast(x, dtype):
    """`x.to(dtype)`, of floats or from integers; nothing, if it has that type."""
    return x if x.dtype == dtype else elementwise(lambda b, s: b.cast(s, dtype), x, dtype=dtype)
