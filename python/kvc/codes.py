"""What the codes of quantised caches stand for; `#kvc.scale` says it."""

from typing import Union

import numpy as np

_GROUPS = (128, 64, 32)  # elements that may share a scale along the width


def unpack_i4(pairs: np.ndarray) -> np.ndarray:
    """Returns the integers of 4 bits of bytes of two, the first in the low half.

    Parameters
    ----------
    pairs : array of 8 bits, shape (..., width)

    Returns
    -------
    array of int8, shape (..., 2 * width), from -8 to 7
    """
    pairs = np.asarray(pairs).view(np.int8)
    halves = np.stack([np.left_shift(pairs, 4) >> 4, pairs >> 4], axis=-1)
    return halves.reshape(*pairs.shape[:-1], 2 * pairs.shape[-1])


def pack_i4(codes: np.ndarray) -> np.ndarray:
    """Returns bytes of two integers each; the other way of `unpack_i4`.

    Parameters
    ----------
    codes : array of int8, shape (..., 2 * width), from -8 to 7

    Returns
    -------
    array of uint8, shape (..., width)
    """
    halves = np.asarray(codes).astype(np.int8).view(np.uint8) & 15
    return halves[..., 0::2] | halves[..., 1::2] << 4


def scale_group(width: int, count: int) -> int:
    """Returns how many of `width` elements share each of `count` scales.

    Raises
    ------
    ValueError
        If no groups of kvc make so many.
    """
    for group in (width, *_GROUPS):
        if -(-width // group) == count:
            return group
    raise ValueError(
        f"expected the scales of {width} elements in groups of 32, 64, 128 or all, got {count}"
    )


def dequantize(
    rows: np.ndarray,
    dtype: str,
    scale: Union[np.ndarray, None] = None,
    zero: Union[np.ndarray, None] = None,
) -> np.ndarray:
    """Returns ``scale * code + zero`` of each element, in float32.

    Parameters
    ----------
    rows : array, shape (tokens, heads, width)
        Codes; of "i4x2" bytes of two.
    dtype : str
        Their type, as `Component` has it.
    scale, zero : array, shape (tokens, heads, groups) or (heads, groups), optional
        `heads` may be 1. The elements of a group follow each other along the width; the
        last group may be of fewer.

    Returns
    -------
    array of float32, shape (tokens, heads, width)
        Of "i4x2" of twice the width.
    """
    values = (unpack_i4(rows) if dtype == "i4x2" else rows).astype(np.float32)
    width = values.shape[-1]

    def spread(array: np.ndarray) -> np.ndarray:
        group = scale_group(width, array.shape[-1])
        return np.repeat(array.astype(np.float32), group, axis=-1)[..., :width]

    if scale is not None:
        values *= spread(scale)
    if zero is not None:
        values += spread(zero)
    return values
