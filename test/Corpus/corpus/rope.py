"""Rotary embeddings: frequencies, cosines and sines, and the spellings of the turn."""

import math
from dataclasses import dataclass

from .elementwise import (
    add, cast, cos, div_number, mul, mul_number, neg, number_to_the, reciprocal, sin, sub,
)  # fmt: skip
from .linear import bmm, spread
from .masks import arange
from .shapes import cat, flatten, narrow, split, transpose, unflatten, unsqueeze
from .text import wide


@dataclass(frozen=True)
class Yarn:
    """How a model's rotary embedding is stretched to `factor` times its tokens."""

    factor: float = 40.0
    original_tokens: int = 4096
    fast_turns: float = 32.0
    slow_turns: float = 1.0
    whole_pairs: bool = True
    strength: float = 1.0  # of the magnitude of cosines and sines
    score_strength: float = 1.0  # of the magnitude of scores


# --- Frequencies -------------------------------------------------------------


def inverse_frequencies(theta, width):
    """Returns `width / 2` numbers, one for each pair of elements."""
    return [theta ** (-2 * i / width) for i in range(width // 2)]


def yarn_inverse_frequencies(theta, width, yarn):
    """Returns the frequencies of YaRN (arXiv:2309.00071): slow pairs are slowed further."""
    def pair_of(turns):
        ratio = yarn.original_tokens / (turns * 2 * math.pi)
        return width * math.log(ratio) / (2 * math.log(theta))

    first, last = pair_of(yarn.fast_turns), pair_of(yarn.slow_turns)
    if yarn.whole_pairs:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, width - 1)
    result = []
    for i, frequency in enumerate(inverse_frequencies(theta, width)):
        slowed = min(max((i - first) / max(last - first, 1e-3), 0.0), 1.0)
        result.append(frequency * (1 - slowed) + frequency / yarn.factor * slowed)
    return result


def yarn_magnitude(factor, strength=1.0):
    """Returns how much YaRN scales cosines and sines, or the square root for scores."""
    return 0.1 * strength * math.log(factor) + 1.0 if factor > 1 else 1.0


def computed_inverse_frequencies(f, theta, width, dtype):
    """`1 / theta ** (arange(0, width, 2) / width)`, computed by the function."""
    exponents = div_number(cast(arange(f, width // 2, step=2), dtype), float(width))
    return reciprocal(number_to_the(theta, exponents))


# --- Cosines and sines -------------------------------------------------------


def angles_by_matmul(frequencies, positions):
    """(batch, tokens, pairs) as a product of (batch, pairs, 1) and (batch, 1, tokens)."""
    column = spread(unsqueeze(frequencies, 1), 0, positions.shape[0])
    row = unsqueeze(cast(positions, frequencies.dtype), 1)
    return transpose(bmm(column, row), 1, 2)


def angles_by_outer(frequencies, positions):
    """(batch, tokens, pairs) by broadcasting."""
    return mul(unsqueeze(cast(positions, frequencies.dtype), 2), frequencies)


def cos_sin(angles, dtype, magnitude=1.0, join=cat):
    """Cosines and sines in `dtype`, with an axis for heads.

    `join` makes both halves of a row of the angles; without, there is one half.
    """
    angles = join([angles, angles], -1) if join else angles
    pair = [cos(angles), sin(angles)]
    if magnitude != 1.0:
        pair = [mul_number(x, magnitude) for x in pair]
    return [unsqueeze(cast(x, dtype), 1) for x in pair]


# --- The turn ----------------------------------------------------------------


def rotate_half(x, join=cat):
    first, second = split(x, x.shape[-1] // 2, x.shape[-1] // 2)
    return join([neg(second), first], -1)


def rope_half(x, cos, sin, join=cat):
    """`x * cos + rotate_half(x) * sin`."""
    return add(mul(x, cos), mul(rotate_half(x, join), sin))


def rope_chunks(x, cos, sin):
    """Both halves are turned apart and joined; cos and sin have half a row."""
    first, second = split(x, x.shape[-1] // 2, x.shape[-1] // 2)
    return cat(
        [sub(mul(first, cos), mul(second, sin)), add(mul(second, cos), mul(first, sin))], -1
    )


def halves_of_pairs(x):
    """Moves the first elements of all pairs of a row before the second ones."""
    pairs = unflatten(x, -1, x.shape[-1] // 2, 2)
    return flatten(transpose(pairs, 3, 4), 3)


def rope_pairs(x, cos, sin):
    """Neighbours are turned as complex numbers are, in f32; they stay neighbours."""
    dtype, half = x.dtype, x.shape[-1] // 2
    pairs = unflatten(cast(x, wide(dtype)), -1, half, 2)
    real, imaginary = [flatten(narrow(pairs, -1, i, 1), 3) for i in (0, 1)]
    turned = [
        sub(mul(real, cos), mul(imaginary, sin)), add(mul(real, sin), mul(imaginary, cos))
    ]  # fmt: skip
    return cast(flatten(cat([unsqueeze(part, 4) for part in turned], -1), 3), dtype)
