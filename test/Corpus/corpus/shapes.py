"""PyTorch's operations that move elements about: views, slices, concatenation."""

from functools import reduce

from .text import Tensor, operand_list


def empty(function, shape, dtype):
    """Returns a tensor of unknown elements."""
    sizes = ", ".join(size for size in shape if not isinstance(size, int))
    type = Tensor(function, "", tuple(shape), dtype).type
    return function.tensor(f"tensor.empty({sizes}) : {type}", shape, dtype)


def full(function, shape, value, dtype):
    init = empty(function, shape, dtype)
    scalar = function.constant(value, dtype)
    text = f"linalg.fill{operand_list('ins', [scalar])}{operand_list('outs', [init])}"
    text += f" -> {init.type}"
    return function.tensor(text, shape, dtype)


def _reassociation(rank, axis, count):
    """Groups axis .. axis + count - 1 of `rank` axes, and each other one alone."""
    groups = [[i] for i in range(axis)] + [list(range(axis, axis + count))]
    return str(groups + [[i] for i in range(axis + count, rank)])


def flatten(x, axis, count=2):
    """Makes one axis of `count` axes."""
    f, end = x.function, axis + count
    shape = (*x.shape[:axis], reduce(f.product, x.shape[axis:end]), *x.shape[end:])
    result = Tensor(f, "", shape, x.dtype)
    groups = _reassociation(x.rank, axis, count)
    return f.tensor(
        f"tensor.collapse_shape {x.name} {groups} : {x.type} into {result.type}", shape, x.dtype
    )


def unflatten(x, axis, *sizes):
    """Makes axes of the given sizes of one."""
    axis %= x.rank
    f, shape = x.function, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :])
    groups = _reassociation(len(shape), axis, len(sizes))
    result = Tensor(f, "", shape, x.dtype)
    return f.tensor(
        f"tensor.expand_shape {x.name} {groups} output_shape [{', '.join(map(str, shape))}] "
        f": {x.type} into {result.type}",
        shape,
        x.dtype,
    )


def unsqueeze(x, axis):
    """Adds an axis of size 1 before the given one, or after the last."""
    if axis == x.rank:
        return unflatten(x, axis - 1, x.shape[-1], 1)
    return unflatten(x, axis, 1, x.shape[axis])


def permute(x, *axes):
    f = x.function
    init = empty(f, [x.shape[axis] for axis in axes], x.dtype)
    text = f"linalg.transpose{operand_list('ins', [x])}{operand_list('outs', [init])}"
    return f.tensor(f"{text} permutation = {list(axes)}", init.shape, x.dtype)


def transpose(x, a, b):
    axes = list(range(x.rank))
    axes[a], axes[b] = axes[b], axes[a]
    return permute(x, *axes)


def _slice_text(offsets, sizes):
    ones = ", ".join("1" for _ in sizes)
    return f"[{', '.join(map(str, offsets))}] [{', '.join(map(str, sizes))}] [{ones}]"


def narrow(x, axis, start, length):
    """Returns elements start .. start + length - 1 along an axis."""
    axis %= x.rank
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    offsets = [start if i == axis else 0 for i in range(x.rank)]
    result = Tensor(x.function, "", shape, x.dtype)
    return x.function.tensor(
        f"tensor.extract_slice {x.name}{_slice_text(offsets, shape)} : {x.type} to {result.type}",
        shape,
        x.dtype,
    )


def split(x, *lengths):
    """Cuts the last axis into parts of the given lengths."""
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return [narrow(x, -1, start, length) for start, length in zip(starts, lengths)]


def insert(x, into, offsets):
    """Returns `into` with x from the given offsets on."""
    text = f"tensor.insert_slice {x.name} into {into.name}{_slice_text(offsets, x.shape)}"
    return x.function.tensor(f"{text} : {x.type} into {into.type}", into.shape, into.dtype)


def _joined(tensors, axis):
    f, first = tensors[0].function, tensors[0]
    axis %= first.rank
    size = reduce(f.sum, (t.shape[axis] for t in tensors))
    return f, axis, (*first.shape[:axis], size, *first.shape[axis + 1 :])


def cat(tensors, axis):
    """Concatenation by the operation of that name."""
    f, axis, shape = _joined(tensors, axis)
    names, types = ", ".join(t.name for t in tensors), ", ".join(t.type for t in tensors)
    result = Tensor(f, "", shape, tensors[0].dtype)
    text = f"tensor.concat dim({axis}) {names} : ({types}) -> {result.type}"
    return f.tensor(text, shape, result.dtype)


def cat_by_insertion(tensors, axis):
    """Concatenation as insertions into an empty tensor."""
    f, axis, shape = _joined(tensors, axis)
    result, offset = empty(f, shape, tensors[0].dtype), 0
    for x in tensors:
        result = insert(x, result, [offset if i == axis else 0 for i in range(x.rank)])
        offset = f.sum(offset, x.shape[axis])
    return result
