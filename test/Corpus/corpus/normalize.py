"""Reductions along the last axis, softmax, and root mean square norms."""

import math

from .elementwise import add_number, cast, div, div_number, exp, mul, pow_number, rsqrt, sub
from .shapes import full
from .text import wide


def _kept(x):
    """Returns the maps of x and of its reduction, and the shape of the latter."""
    dims = [f"d{axis}" for axis in range(x.rank)]
    return [dims, [*dims[:-1], 0]], (*x.shape[:-1], 1)


def _reduce(x, op, neutral):
    maps, shape = _kept(x)
    init = full(x.function, shape, neutral, x.dtype)
    body = lambda b, value, so_far: b.arithmetic(op, value, so_far)  # noqa: E731
    return x.function.generic([x], maps, init, body, reduces=[x.rank - 1])


def sum(x):
    """The last axis becomes 1."""
    return _reduce(x, "arith.addf", 0.0)


def amax(x):
    """The last axis becomes 1."""
    return _reduce(x, "arith.maximumf", -math.inf)


def max_with_index(x):
    """`x.max(-1, keepdim=True)`: the values; where they stand is computed and not used."""
    f, (maps, shape), last = x.function, _kept(x), x.rank - 1

    def body(b, value, best, place):
        index = b.cast(b.index(last), "i64")
        larger = b.compare("arith.cmpf ogt", value, best)
        return [b.arithmetic("arith.maximumf", value, best), b.select(larger, index, place)]

    inits = [full(f, shape, -math.inf, x.dtype), full(f, shape, 0, "i64")]
    return f.generic([x], [*maps, maps[-1]], inits, body, reduces=[last])[0]


def softmax(x, largest=amax):
    """Along the last axis, in the type of x."""
    exponentials = exp(sub(x, largest(x)))
    return div(exponentials, sum(exponentials))


def wide_softmax(x, largest=amax):
    """`softmax(x, dtype=float32).to(x.dtype)`."""
    return cast(softmax(cast(x, wide(x.dtype)), largest), x.dtype)


def square_by_power(x):
    return pow_number(x, 2.0)


def square_by_product(x):
    return mul(x, x)


def rms_norm(x, weight, epsilon, square=square_by_power):
    """`weight * (x / root mean square of x)`, the quotient in f32 and then cast."""
    dtype, x = x.dtype, cast(x, wide(x.dtype))
    mean = div_number(sum(square(x)), float(x.shape[-1]))
    return mul(weight, cast(mul(x, rsqrt(add_number(mean, epsilon))), dtype))
