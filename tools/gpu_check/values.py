"""Inputs of probes: the same bits for the same seed, with any version of NumPy."""

import zlib

import numpy as np

#: Bits of a register that holds a value of each kind.
BITS = {
    "pred": 1,
    "b16": 16,
    "s16": 16,
    "u16": 16,
    "f16": 16,
    "bf16": 16,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "b8": 32,
    "s8": 32,
    "u8": 32,
    "b32": 32,
    "s32": 32,
    "u32": 32,
    "f32": 32,
    "tf32": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "b64": 64,
    "s64": 64,
    "u64": 64,
    "f64": 64,
}

#: Exponent bits, mantissa bits.
FLOATS = {
    "f64": (11, 52),
    "f32": (8, 23),
    "tf32": (8, 23),
    "bf16": (8, 7),
    "f16": (5, 10),
    "e5m2": (5, 2),
    "e4m3": (4, 3),
}


def random_bits(count, seed):
    """Returns `count` words of 64 bits by splitmix64, from a number or a text."""
    if isinstance(seed, str):
        seed = zlib.crc32(seed.encode())
    with np.errstate(over="ignore"):
        z = (np.arange(count, dtype=np.uint64) + np.uint64(seed * 0x9E3779B9 + 1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def storage(kind):
    """Returns the NumPy type of an array of register values."""
    bits = BITS[kind]
    return {1: np.uint32, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]


def special_floats(kind):
    """Returns bits of values at which floating-point code goes wrong."""
    exponent_bits, mantissa_bits = FLOATS[kind]
    one = ((1 << (exponent_bits - 1)) - 1) << mantissa_bits
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    step = 1 << mantissa_bits
    positive = [0, 1, step - 1, step, step + 1, one, one - 1, one + 1, one + step, one - step]
    positive += [one + step + step // 2, one + 3 * step, one + 4 * step + 1]
    positive += [infinity - 1, infinity - step, infinity, infinity + step // 2, infinity + 1]
    sign = 1 << (exponent_bits + mantissa_bits)
    return positive + [value | sign for value in positive]


def special_integers(bits):
    """Returns integers at the ends of their range, and small ones."""
    top = 1 << (bits - 1)
    mask = 2 * top - 1
    values = [0, 1, 2, 3, 7, 31, 32, 33, top - 1, top, top + 1, mask, mask - 1, mask - 2]
    return [value & mask for value in values]


def _specials(kind):
    if kind in FLOATS:
        return special_floats(kind)
    if kind in ("f16x2", "bf16x2"):
        values = special_floats(kind[:-2])
        return [low | values[(7 * i + 3) % len(values)] << 16 for i, low in enumerate(values)]
    if kind in ("b8", "s8", "u8"):
        return [value | 0xABCDEF00 for value in special_integers(8)]
    return special_integers(BITS[kind])


def make(kind, count, seed):
    """Returns `count` register values.

    Special values come first, in an order of their own for each seed, so that
    those of several operands meet. The rest are random bits; floats are partly of
    like exponents, so that they do not just swallow each other.
    """
    words = random_bits(count, seed)
    if kind == "pred":
        return (words >> np.uint64(63)).astype(np.uint32)
    dtype = storage(kind)
    result = words.astype(dtype)
    specials = np.array(_specials(kind), np.uint64).astype(dtype)
    meeting = min(count // 2, len(specials) ** 2)
    choice = random_bits(meeting, f"{seed} special") >> np.uint64(33)
    result[:meeting] = specials[(choice % np.uint64(len(specials))).astype(int)]
    if kind in FLOATS:
        # A quarter of all is near one.
        exponent_bits, mantissa_bits = FLOATS[kind]
        near = slice(count - count // 4, count)
        field = ((1 << (exponent_bits - 1)) - 4) + (words[near] >> np.uint64(61)).astype(np.int64)
        sign = (words[near] >> np.uint64(60)) & np.uint64(1)
        mantissa = words[near] & np.uint64((1 << mantissa_bits) - 1)
        value = (
            sign << np.uint64(exponent_bits + mantissa_bits)
            | field.astype(np.uint64) << np.uint64(mantissa_bits)
            | mantissa
        )
        result[near] = value.astype(dtype)
    return result


def below(limit):
    """Returns a maker of integers below a limit, of 32 bits."""

    def make_below(count, seed):
        return ((random_bits(count, seed) >> np.uint64(20)) % np.uint64(limit)).astype(np.uint32)

    return make_below


def every16(count, seed):
    """All values of 16 bits, in order, again and again."""
    del seed
    return np.arange(count, dtype=np.uint64).astype(np.uint16)


def every16_wide(count, seed):
    """All values of 16 bits, in registers of 32."""
    return every16(count, seed).astype(np.uint32)


def dense_f32(first=0, last=0x7F800000, signs=True):
    """Returns a maker of floats that are spread over the bit patterns of a range."""

    def make_dense(count, seed):
        half = count // 2 if signs else count
        step = (last - first) / half
        places = first + (np.arange(half) * step).astype(np.uint64)
        # A place of its own within each step.
        places += random_bits(half, seed) % np.uint64(max(int(step), 1))
        result = np.minimum(places, np.uint64(last)).astype(np.uint32)
        return np.concatenate([result, result | np.uint32(0x80000000)]) if signs else result

    return make_dense


def nonzero(kind):
    """Returns a maker of divisors: neither zero nor minus one."""

    def make_nonzero(count, seed):
        values = make(kind, count, seed)
        bits = 8 * values.dtype.itemsize
        mask = np.array((1 << bits) - 1, np.uint64).astype(values.dtype)
        three = np.array(3, np.uint64).astype(values.dtype)
        # Half are small, so that quotients are not.
        small = values >> np.array(bits // 2 + 1, np.uint64).astype(values.dtype)
        values = np.where(np.arange(count) % 2 == 0, values, small).astype(values.dtype)
        return np.where((values == 0) | (values == mask), three, values).astype(values.dtype)

    return make_nonzero


# --- Matrices ----------------------------------------------------------------


def _elements(kind, count, seed, role):
    """Returns bits of elements of a matrix, in five regimes of 1024 elements each.

    Any bits; like exponents; one large among small ones, around the bit where sums
    are cut; subnormal ones; products that cancel.
    """
    words = random_bits(count, f"{seed} {kind} {role}")
    if kind not in FLOATS:
        return words
    exponent_bits, mantissa_bits = FLOATS[kind]
    bias = (1 << (exponent_bits - 1)) - 1
    largest = (1 << exponent_bits) - 2
    regime = np.arange(count) // 1024 % 5
    spread = (words >> np.uint64(40)).astype(np.int64)
    rare = (words >> np.uint64(24)).astype(np.int64) % 16 == 0
    far = min(bias - 2, 13)
    field = np.select(
        [regime == 0, regime == 1, regime == 2, regime == 3],
        [
            spread % (largest + 2),
            bias + spread % 5 - 2,
            np.where(rare, bias, bias - far + spread % 4),
            spread % 3 * (spread % 7 == 0),
        ],
        bias + spread % 2,
    )
    # In the first regime infinity and NaN stay rare.
    field = np.where((regime == 0) & ~rare, np.minimum(field, largest), field)
    field = np.clip(field, 0, largest + 1)
    mantissa = words & np.uint64((1 << mantissa_bits) - 1)
    mantissa = np.where((regime == 4) & (spread % 3 == 0), np.uint64(0), mantissa)
    sign = (words >> np.uint64(63)) << np.uint64(exponent_bits + mantissa_bits)
    if kind == "tf32":
        # The other bits are not looked at.
        mantissa = mantissa & np.uint64(0x7FE000)
    return sign | field.astype(np.uint64) << np.uint64(mantissa_bits) | mantissa


def matrix(kind, role):
    """Returns a maker of 32-bit registers of a matrix operand."""
    bits = {"f32": 32, "s32": 32, "tf32": 32, "f16": 16, "bf16": 16}.get(kind, 8)

    def make_matrix(count, seed):
        per_register = 32 // bits
        elements = _elements(kind, count * per_register, seed, role)
        elements = (elements & np.uint64((1 << bits) - 1)).reshape(count, per_register)
        result = np.zeros(count, np.uint64)
        for i in range(per_register):
            result |= elements[:, i] << np.uint64(bits * i)
        return result.astype(np.uint32)

    return make_matrix
