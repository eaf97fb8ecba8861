"""Products of matrices: PyTorch's linear layers, and matmul of activations.

A weight is (outputs, inputs), as PyTorch keeps it. Sums are f32 and rounded once.
"""

from .elementwise import add, cast
from .shapes import empty, flatten, full, transpose, unflatten
from .text import operand_list, wide


def product(op, a, b, init):
    """Writes linalg.matmul or linalg.batch_matmul onto `init`."""
    text = f"linalg.{op}{operand_list('ins', [a, b])}{operand_list('outs', [init])}"
    return init.function.tensor(f"{text} -> {init.type}", init.shape, init.dtype)


def mm(a, b):
    """`a @ b` of matrices."""
    zero = full(a.function, (a.shape[0], b.shape[1]), 0.0, wide(a.dtype))
    return cast(product("matmul", a, b, zero), a.dtype)


def bmm(a, b):
    """`a @ b` of each sequence: (batch, rows, columns)."""
    zero = full(a.function, (*a.shape[:2], b.shape[2]), 0.0, wide(a.dtype))
    return cast(product("batch_matmul", a, b, zero), a.dtype)


def spread(x, axis, size):
    """Repeats x along a new axis, by linalg.broadcast."""
    f, shape = x.function, (*x.shape[:axis], size, *x.shape[axis:])
    init = empty(f, shape, x.dtype)
    text = f"linalg.broadcast{operand_list('ins', [x])}{operand_list('outs', [init])}"
    return f.tensor(f"{text} dimensions = [{axis}]", shape, x.dtype)


def linear(x, weight, bias=None):
    """`x @ weight.T + bias` on (batch, tokens, inputs), as matrices of batch * tokens rows."""
    batch, tokens, _ = x.shape
    y = unflatten(mm(flatten(x, 0), transpose(weight, 0, 1)), 0, batch, tokens)
    return y if bias is None else add(y, bias)


def linear_onto_bias(x, weight, bias):
    """The same; the bias is what the product is added to (addmm)."""
    batch, tokens, _ = x.shape
    rows, weight = flatten(x, 0), transpose(weight, 0, 1)
    start = spread(cast(bias, wide(x.dtype)), 0, rows.shape[0])
    y = cast(product("matmul", rows, weight, start), x.dtype)
    return unflatten(y, 0, batch, tokens)


def linear_batched(x, weight):
    """The same without a bias, as a product per sequence with a copy of the weight."""
    return bmm(x, spread(transpose(weight, 0, 1), 0, x.shape[0]))


def linear_transposed(x, weight):
    """The same without a bias, by maps that read the weight as it lies."""
    f, (batch, tokens, _), rows = x.function, x.shape, flatten(x, 0)
    zero = full(f, (rows.shape[0], weight.shape[0]), 0.0, wide(x.dtype))
    maps = (["d0", "d2"], ["d1", "d2"], ["d0", "d1"])
    aliases = ", ".join(f.module.map(3, results) for results in maps)
    y = product(f"matmul indexing_maps = [{aliases}]", rows, weight, zero)
    return unflatten(cast(y, x.dtype), 0, batch, tokens)


def matmul(a, b):
    """`a @ b` on (batch, heads, rows, columns), as batch * heads products."""
    return unflatten(bmm(flatten(a, 0), flatten(b, 0)), 0, *a.shape[:2])


def contract(a, b, a_dims, b_dims, dims):
    """A product of tensors as one linalg.generic, by the letters of einsum.

    `contract(q, k, "bhqd", "bhkd", "bhqk")` are scores, without a transposed copy of k.
    """
    f, sizes = a.function, dict(zip(a_dims + b_dims, a.shape + b.shape))
    letters = dims + "".join(d for d in a_dims if d not in dims)
    maps = [[f"d{letters.index(d)}" for d in word] for word in (a_dims, b_dims, dims)]

    def body(b, x, y, so_far):
        product = b.arithmetic("arith.mulf", b.cast(x, so_far.type), b.cast(y, so_far.type))
        return b.arithmetic("arith.addf", so_far, product)

    zero = full(f, [sizes[d] for d in dims], 0.0, wide(a.dtype))
    reduces = range(len(dims), len(letters))
    return cast(f.generic([a, b], maps, zero, body, reduces=reduces), a.dtype)
