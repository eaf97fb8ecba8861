"""Kernels of CUDA's compiler give what NumPy gives."""

import math

import numpy as np
import pytest

from device import Empty, In, Out, Struct

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


@pytest.fixture
def random():
    """Numbers that are the same in each run."""
    return np.random.default_rng(7)


def signed(value, bits):
    """Wraps a number to a signed integer."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def divide(a, b):
    """Divides as C does: towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


# --- Atomics -------------------------------------------------------------------


def test_histogram(cuda_module, random):
    data = random.integers(0, 1 << 32, 1000, dtype=np.uint32)
    (counts,) = cuda_module.run(
        "histogram", (4,), (256,), In(data), np.uint32(1000), Out(np.zeros(64, np.uint32))
    )
    assert (counts == np.bincount(data % 64, minlength=64)).all()


def test_atomic_float(cuda_module, random):
    data = random.integers(-1000, 1000, 500).astype(np.float32)
    total, wide = cuda_module.run(
        "atomic_float",
        (5,),
        (128,),
        In(data),
        np.uint32(500),
        Out(np.zeros(1, np.float32)),
        Out(np.zeros(1, np.float64)),
    )
    assert total[0] == data.sum(dtype=np.float64)
    assert wide[0] == data.sum(dtype=np.float64) / 2


def test_atomic_integer(cuda_module, random):
    n = 333
    data = random.integers(-(1 << 31), 1 << 31, n).astype(np.int32)
    start = np.array([0, 0, 2**31 - 1, -(2**31), -1, 0, 0, -1, 0, 0, 0], np.int32)
    wide_start = np.array([0, 0, M64, 0, 0], np.uint64)
    out, wide = cuda_module.run(
        "atomic_integer", (3,), (128,), In(data), np.uint32(n), Out(start), Out(wide_start)
    )
    values = [int(value) for value in data]
    bits = [value & M32 for value in values]
    expected = [
        sum(values),
        -sum(values),
        min(values),
        max(values),
        np.bitwise_and.reduce(data),
        np.bitwise_or.reduce(data),
        np.bitwise_xor.reduce(data),
        min(bits),
        max(bits),
        n % 100,
        -n % 100,
    ]
    assert out.tolist() == [signed(int(value), 32) for value in expected]
    shifted = mask = 0
    for value in bits:
        shifted ^= value << 17
        mask |= 1 << (value % 64)
    assert wide.tolist() == [
        sum(values) & M64,
        max(bits) << 20,
        min(bits) << 20,
        shifted & M64,
        mask,
    ]


def test_atomic_cas(cuda_module, random):
    n = 300
    data = random.normal(size=n).astype(np.float32)
    largest, product, wide = cuda_module.run(
        "atomic_cas",
        (3,),
        (128,),
        In(data),
        np.uint32(n),
        Out(np.full(1, -10, np.float32)),
        Out(np.ones(1, np.uint32)),
        Out(np.zeros(1, np.uint64)),
    )
    assert largest[0] == max(data.max(), -10)
    assert product[0] == math.prod(range(1, 2 * n, 2)) & M32
    assert wide[0] == 0x123456789ABC


def test_last_block_sum(cuda_module, random):
    data = random.integers(-1000, 1000, 10000).astype(np.int32)
    _, ticket, total = cuda_module.run(
        "last_block_sum",
        (7,),
        (256,),
        In(data),
        np.uint32(len(data)),
        Empty(7, np.int32),
        Out(np.zeros(1, np.uint32)),
        Empty(1, np.int32),
    )
    assert ticket[0] == 7
    assert total[0] == data.sum()


def test_hand_over(cuda_module):
    flag, out = cuda_module.run(
        "hand_over", (2,), (32,), Out(np.zeros(1, np.int32)), Empty(2, np.int32)
    )
    assert flag[0] == 1
    assert out.tolist() == [42, 43]


def test_grid_barrier(cuda_module, random):
    n, blocks = 96, 3
    data = random.integers(-1000, 1000, n).astype(np.int32)
    _, arrived, out = cuda_module.run(
        "grid_barrier",
        (blocks,),
        (n,),
        In(data),
        Empty((blocks, n), np.int32),
        Out(np.zeros(1, np.uint32)),
        Empty((blocks, n), np.int32),
    )
    assert arrived[0] == blocks
    for block in range(blocks):
        assert (out[block] == data[::-1] + (block + 1) % blocks).all()


def test_shared_histogram(cuda_module, random):
    data = random.integers(0, 256, 5000).astype(np.uint8)
    (counts,) = cuda_module.run(
        "shared_histogram",
        (3,),
        (128,),
        In(data),
        np.uint32(len(data)),
        Out(np.zeros(256, np.uint32)),
    )
    assert (counts == np.bincount(data, minlength=256)).all()


# --- Warps ---------------------------------------------------------------------


def test_shuffles(cuda_module, random):
    n = 128
    data = random.integers(-1000, 1000, n).astype(np.int32)
    (out,) = cuda_module.run("shuffles", (2,), (64,), In(data), Empty((10, n), np.int32))

    def source(lane):
        """Returns the lanes that a lane gets its results from; None is -1."""
        in_part = 4 <= lane < 20
        return [
            (lane * 7 + 3) % 32,
            lane - 5 if lane >= 5 else lane,
            lane + 3 if lane < 29 else lane,
            lane ^ 17,
            (lane & ~7) + (lane + 2) % 8,
            lane - 2 if lane % 16 >= 2 else lane,
            lane + 1 if lane % 4 < 3 else lane,
            lane ^ 5,
            4 + (lane + 1) % 16 if in_part else None,
            lane ^ 2 if lane % 2 else min(lane + 2, 30),
        ]

    for thread in range(n):
        base = thread & ~31
        expected = [-1 if lane is None else data[base + lane] for lane in source(thread % 32)]
        assert out[:, thread].tolist() == expected, thread


def test_votes(cuda_module, random):
    n = 128
    data = random.integers(-20, 20, n).astype(np.int32)
    (out,) = cuda_module.run("votes", (2,), (64,), In(data), Empty((10, n), np.uint32))
    for thread in range(n):
        warp = [int(value) for value in data[thread & ~31 :][:32]]
        lane = thread % 32

        def ballot(condition, lanes=32, warp=warp):
            return sum(1 << i for i in range(lanes) if condition(warp[i]))

        expected = [
            ballot(lambda value: value > 0),
            any(value == 7 for value in warp),
            all(value > -100 for value in warp),
            32,
            sum(warp) & M32,
            min(warp) & M32,
            max(warp) & M32,
            np.bitwise_xor.reduce(warp) & M32,
            ballot(lambda value, mine=warp[lane]: value & 3 == mine & 3),
            ballot(lambda value: value % 2 == 1, 8) if lane < 8 else 0,
        ]
        assert out[:, thread].tolist() == expected, thread


def test_barriers(cuda_module, random):
    data = random.integers(-100, 100, 128).astype(np.int32)
    (out,) = cuda_module.run("barriers", (1,), (128,), In(data), Empty(3, np.int32))
    assert out[0] == (data > 0).sum()
    assert (out[1] != 0) == (data > 90).any()
    assert out[2] != 0


def test_divergent_loop(cuda_module):
    n = 300
    data = np.arange(1, n + 1, dtype=np.uint32)
    (steps,) = cuda_module.run(
        "divergent_loop", (3,), (128,), In(data), np.uint32(n), Empty(n, np.uint32)
    )

    def collatz(value):
        count = 0
        while value > 1:
            value = 3 * value + 1 if value % 2 else value // 2
            count += 1
        return count

    assert steps.tolist() == [collatz(value) for value in range(1, n + 1)]


def switch(value):
    """What divergent_switch computes; None if nothing is stored."""
    result = 0
    case = math.fmod(value, 7)
    if case == 0:
        result = sum(j * value for j in range(int(math.fmod(value, 13))))
    elif case in (1, 2):
        result = (value * value if case == 1 else 0) - 5
    elif case == 3:
        result = None if value % 2 else 3
    elif case == 4:
        for j in range(20):
            if j == value % 20:
                break
            if j % 3:
                result ^= j << (value % 5)
    else:
        result = -value
    return result


def test_divergent_switch(cuda_module, random):
    n = 400
    data = random.integers(-100, 1000, n).astype(np.int32)
    (out,) = cuda_module.run(
        "divergent_switch",
        (4,),
        (128,),
        In(data),
        np.uint32(n),
        Out(np.full(n, 777, np.int32)),
    )
    expected = [switch(int(value)) for value in data]
    assert out.tolist() == [777 if value is None else value for value in expected]


# --- Memory --------------------------------------------------------------------


def test_transpose(cuda_module, random):
    rows, columns = 70, 45
    data = random.normal(size=(rows, columns)).astype(np.float32)
    (out,) = cuda_module.run(
        "transpose",
        (2, 3),
        (32, 8),
        In(data),
        Empty((columns, rows), np.float32),
        np.uint32(rows),
        np.uint32(columns),
        shared=33 * 32 * 4,
    )
    assert (out == data.T).all()


def test_pipelined_sum(cuda_module, random):
    data = random.integers(-100, 100, (4, 256)).astype(np.float32)
    (out,) = cuda_module.run("pipelined_sum", (1,), (64,), In(data), Empty(64, np.float32))
    assert (out == data.sum(axis=0)[np.arange(64) * 7 % 256]).all()


def test_local_array(cuda_module, random):
    n = 100
    data = random.integers(-1000, 1000, (n, 16)).astype(np.int32)
    (out,) = cuda_module.run(
        "local_array", (1,), (128,), In(data), np.uint32(n), Empty((n, 16), np.int32)
    )
    assert (out == np.sort(data, axis=1)).all()


def test_variables(cuda_module, random):
    n = 200
    data = random.normal(size=n).astype(np.float32)
    coefficients = np.array([1, -2, 0.5, 0.25], np.float32)
    device = cuda_module.device

    def before(module):
        device.write(module.variable("coefficients"), coefficients)
        device.write(module.variable("offset"), np.int32([1000]))
        device.write(module.variable("visits"), np.uint64([5]))

    def after(module):
        return [device.read(module.variable("visits"), np.empty(1, np.uint64))]

    out, visits = cuda_module.run(
        "variables",
        (2,),
        (128,),
        In(data),
        Empty(n, np.float32),
        np.uint32(n),
        before=before,
        after=after,
    )
    table = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    x = data.astype(np.float64)
    expected = np.polyval(coefficients[::-1].astype(np.float64), x)
    expected += table[np.arange(n) % 8] + 1000
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assert visits[0] == 5 + n


def test_big_parameter(cuda_module, random):
    dtype = np.dtype(
        {
            "names": ["count", "scale", "values", "more"],
            "formats": [np.int32, np.float64, (np.int16, 21), np.uint64],
            "offsets": [0, 8, 16, 64],
            "itemsize": 72,
        }
    )
    values = random.integers(-30000, 30000, 21).astype(np.int16)
    more = random.integers(-100, 100, 4).astype(np.int32)
    big = Struct(dtype, count=-7, scale=0.125, values=values, more=In(more))
    (out,) = cuda_module.run(
        "big_parameter", (1,), (64,), big, np.uint8(200), Empty(64, np.float64)
    )
    i = np.arange(64)
    assert (out == 0.125 * values[i % 21] - 7 + 200 + more[i % 4]).all()


def test_calls(cuda_module, random):
    n = 100
    a = random.integers(1, 100000, n).astype(np.int32)
    b = random.integers(1, 100000, n).astype(np.int32)
    (out,) = cuda_module.run(
        "calls", (1,), (128,), In(a), In(b), np.uint32(n), Empty(n, np.int32)
    )
    assert (out == np.gcd(a, b) + 1000 * np.gcd(b, 12)).all()


def test_widths(cuda_module, random):
    n = 60
    values = random.integers(-(1 << 31), 1 << 31, (n, 4)).astype(np.int32)
    halves = random.integers(-(1 << 15), 1 << 15, (n, 2)).astype(np.int16)
    bytes_ = random.integers(-128, 128, (n, 4)).astype(np.int8)
    out = cuda_module.run(
        "widths",
        (1,),
        (64,),
        In(values),
        Empty((n, 4), np.int32),
        In(halves),
        Empty((n, 2), np.int16),
        In(bytes_),
        Empty((n, 4), np.int8),
        np.uint32(n),
    )
    for array, given in zip(out, (values, halves, bytes_)):
        assert (array == given[:, ::-1]).all()


# --- Arithmetic ----------------------------------------------------------------


def round_f16(x):
    """Rounds once, to the nearest f16."""
    return np.asarray(x, np.float64).astype(np.float16).astype(np.float64)


def round_bf16(x):
    """Rounds once, to the nearest bf16."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(mantissa * 256), exponent - 8)


def test_half_arithmetic(cuda_module, random):
    n = 200
    a, b, c, d = random.normal(size=(4, n)) * 3
    a, b, c, d = round_f16(a), round_f16(b), round_bf16(c), round_bf16(d)

    def bf16(x):
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    (out,) = cuda_module.run(
        "half_arithmetic",
        (2,),
        (128,),
        In(a.astype(np.float16)),
        In(b.astype(np.float16)),
        In(bf16(c)),
        In(bf16(d)),
        np.uint32(n),
        Empty((12, n), np.float32),
    )
    expected = [
        round_f16(a + b),
        round_f16(a * b),
        round_f16(a * b + a),
        np.maximum(a, b),
        -np.abs(a),
        (a < b).astype(np.float64),
        round_f16(a * b + b),
        round_f16(b * b + a),
        round_bf16(c * d + c),
        np.minimum(c, d),
        round_bf16(c * d + d),
        round_bf16(d * d + c),
    ]
    for row, (got, wanted) in enumerate(zip(out, expected)):
        assert (got == wanted).all(), row


def test_conversions(cuda_module, random):
    n = 250
    x = (random.normal(size=n) * 10.0 ** random.integers(-3, 5, n)).astype(np.float32)
    (out,) = cuda_module.run(
        "conversions", (2,), (128,), In(x), np.uint32(n), Empty((8, n), np.float32)
    )
    wide = x.astype(np.float64)
    nearest = np.clip(wide, -70000, 70000).astype(np.float16)
    inward = np.nextafter(nearest, np.float16(0))
    towards_zero = np.where(np.abs(nearest.astype(np.float64)) > np.abs(wide), inward, nearest)
    expected = [
        nearest.astype(np.float32),
        towards_zero.astype(np.float32),
        round_bf16(wide).astype(np.float32),
        np.rint(wide).astype(np.float32),
        np.maximum(np.trunc(wide), 0).astype(np.float32),
        np.trunc(wide).astype(np.int32).astype(np.int8).astype(np.float32),
        np.floor(wide).astype(np.float32),
        ((np.rint(x) + np.floor(x)) + np.ceil(x)) + np.trunc(x),
    ]
    for row, (got, wanted) in enumerate(zip(out, expected)):
        assert (got == wanted).all(), row


def test_double_arithmetic(cuda_module, random):
    n = 200
    a, b = random.normal(size=(2, n)) * 100
    (out,) = cuda_module.run(
        "double_arithmetic",
        (2,),
        (128,),
        In(a),
        In(b),
        np.uint32(n),
        Empty((6, n), np.float64),
    )
    np.testing.assert_allclose(out[0], a * b + 1, rtol=1e-13, atol=1e-11)
    assert (out[1] == a / b).all()
    assert (out[2] == np.sqrt(np.abs(a))).all()
    assert (out[3] == np.fmin(a, b) - np.fmax(a, b)).all()
    assert (out[4] == np.trunc(a * 1e6) + b.astype(np.float32)).all()
    assert (out[5] == np.where(a < b, np.floor(a), np.ceil(b))).all()


def test_functions(cuda_module, random):
    # Large ones take another way through sinf and cosf.
    x = np.append(random.uniform(0.05, 20, 197), [1e5, 3e5, 1e7]).astype(np.float32)
    n = len(x)
    (out,) = cuda_module.run(
        "functions", (2,), (128,), In(x), np.uint32(n), Empty((8, n), np.float32)
    )
    wide = x.astype(np.float64)
    with np.errstate(over="ignore"):
        expected = [
            np.exp(wide),
            np.log(wide),
            np.sqrt(wide),
            1 / wide,
            1 / np.sqrt(wide),
            np.tanh(wide),
            wide**1.5,
            np.sin(wide) + np.cos(wide),
        ]
    for row, (got, wanted) in enumerate(zip(out, expected)):
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=5e-7, err_msg=str(row))


def test_more_functions(cuda_module, random):
    n = 200
    x = (random.normal(size=n) * 2).astype(np.float32)
    (out,) = cuda_module.run(
        "more_functions", (2,), (128,), In(x), np.uint32(n), Empty((8, n), np.float32)
    )
    wide = x.astype(np.float64)
    expected = [
        [math.erf(value) for value in wide],
        np.cbrt(wide),
        np.arctan2(wide, 1.5),
        np.fmod(wide, 0.75),
        wide * 8,
        sum(np.frexp(wide)),
        [math.lgamma(abs(value) + 0.5) for value in wide],
        [math.remainder(value, 0.25) for value in wide],
    ]
    for row, (got, wanted) in enumerate(zip(out, expected)):
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=5e-7, err_msg=str(row))


def test_wide_integers(cuda_module, random):
    n = 200
    a = random.integers(-(1 << 63), (1 << 63) - 1, n, dtype=np.int64)
    b = random.integers(-(1 << 63), (1 << 63) - 1, n, dtype=np.int64)
    b[::3] >>= 40
    a[::7] >>= 50
    b[b == 0] = 3
    (out,) = cuda_module.run(
        "wide_integers",
        (2,),
        (128,),
        In(a),
        In(b),
        np.uint32(n),
        Empty((10, n), np.int64),
    )
    for i in range(n):
        x, y = int(a[i]), int(b[i])
        ux, uy = x & M64, y & M64
        quotient = divide(x, y)
        expected = [
            x * y + x,
            quotient,
            x - quotient * y,
            ux // uy,
            ux % uy,
            (x * y) >> 64,
            (x << (y & 63)) ^ (x >> (y & 31)),
            (ux >> (uy & 63)) + ux.bit_count() + 64 - ux.bit_length(),
            int(f"{ux:064b}"[::-1], 2) + (ux & -ux).bit_length(),
            x & y if x < y else x | ~y,
        ]
        assert out[:, i].tolist() == [signed(value, 64) for value in expected], i


def test_integers(cuda_module, random):
    n = 200
    a = random.integers(-(1 << 31), (1 << 31) - 1, n).astype(np.int32)
    b = random.integers(-(1 << 31), (1 << 31) - 1, n).astype(np.int32)
    b[::3] >>= 20
    a[::7] >>= 25
    b[b == 0] = 3
    (out,) = cuda_module.run(
        "integers", (2,), (128,), In(a), In(b), np.uint32(n), Empty((12, n), np.int32)
    )
    for i in range(n):
        x, y = int(a[i]), int(b[i])
        ux, uy = x & M32, y & M32
        quotient = divide(x, y)
        pair = (uy << 32 | ux).to_bytes(8, "little")
        sums = [
            (p + q) & 255 for p, q in zip(ux.to_bytes(4, "little"), uy.to_bytes(4, "little"))
        ]
        expected = [
            quotient,
            x - quotient * y,
            ux // uy,
            (x * y) >> 32,
            (ux * uy) >> 32,
            int.from_bytes([pair[5], pair[1], pair[7], pair[3]], "little"),
            ((uy << 32 | ux) << (uy & 31)) >> 32,
            32 - ux.bit_length() + 100 * ux.bit_count() + 10000 * (ux & -ux).bit_length(),
            int(f"{ux:032b}"[::-1], 2),
            min(x, y) - max(x, y) + abs(x - divide(x, 1000) * 1000),
            (ux & uy) ^ (~ux & M32 | 0x55555555),
            int.from_bytes(sums, "little"),
        ]
        assert out[:, i].tolist() == [signed(value, 32) for value in expected], i
