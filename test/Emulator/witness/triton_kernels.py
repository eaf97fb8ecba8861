"""Kernels for Triton's compiler. They need Triton to be imported.

Triton reads the text of a kernel's function, so that they stand in a file of
their own, without type hints.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    """out = x + y, all f32[n]."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    total = tl.load(x + index, mask=inside) + tl.load(y + index, mask=inside)
    tl.store(out + index, total, mask=inside)


@triton.jit
def row_softmax(x, out, columns, BLOCK: tl.constexpr):
    """Softmax of each row of x, f32[programs, columns]."""
    row = tl.program_id(0)
    index = tl.arange(0, BLOCK)
    inside = index < columns
    value = tl.load(x + row * columns + index, mask=inside, other=float("-inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + index, power / tl.sum(power, axis=0), mask=inside)


@triton.jit
def matmul(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, INTEGER: tl.constexpr
):
    """c = a @ b with a[m, k], b[k, n], all row-major, c f32 or s32."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_at = a + rows[:, None] * k + depth[None, :]
    b_at = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.int32 if INTEGER else tl.float32)
    for start in range(0, k, BK):
        left = tl.load(
            a_at, mask=(rows[:, None] < m) & (start + depth[None, :] < k), other=0
        )
        right = tl.load(
            b_at, mask=(start + depth[:, None] < k) & (columns[None, :] < n), other=0
        )
        total = tl.dot(left, right, total)
        a_at += BK
        b_at += BK * n
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=inside)


@triton.jit
def attention(
    q, k, v, out, tokens, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """Causal attention of q, k, v[heads, tokens, D] into out, f32."""
    head = tl.program_id(1)
    base = head * tokens * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    inside = rows[:, None] < tokens
    query = tl.load(q + base + rows[:, None] * D + dims[None, :], mask=inside, other=0.0)
    largest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, D), dtype=tl.float32)
    factor = scale * 1.4426950408889634
    for start in range(0, tl.program_id(0) * BM + BM, BN):
        columns = start + tl.arange(0, BN)
        there = columns < tokens
        key = tl.load(
            k + base + columns[None, :] * D + dims[:, None], mask=there[None, :], other=0.0
        )
        score = tl.dot(query, key) * factor
        score = tl.where(rows[:, None] >= columns[None, :], score, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(score, axis=1))
        power = tl.exp2(score - new_largest[:, None])
        rescale = tl.exp2(largest - new_largest)
        weight = weight * rescale + tl.sum(power, axis=1)
        value = tl.load(
            v + base + columns[:, None] * D + dims[None, :], mask=there[:, None], other=0.0
        )
        total = tl.dot(power.to(value.dtype), value, total * rescale[:, None])
        largest = new_largest
    total = total / weight[:, None]
    tl.store(out + base + rows[:, None] * D + dims[None, :], total, mask=inside)


@triton.jit
def row_scan(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sums of all that stand before in a row, of f32[ROWS, COLUMNS]."""
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=1))


@triton.jit
def sort(x, out, SIZE: tl.constexpr):
    """Sorts f32[SIZE]."""
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def scatter_add(x, where, total, largest, n, BLOCK: tl.constexpr):
    """Adds x[n] to total[where], and keeps the largest."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    value = tl.load(x + index, mask=inside, other=0.0)
    to = tl.load(where + index, mask=inside, other=0)
    tl.atomic_add(total + to, value, mask=inside)
    tl.atomic_max(largest + to, value, mask=inside)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    """Normalises each row of x, f16[programs, columns]."""
    row = tl.program_id(0)
    index = tl.arange(0, BLOCK)
    inside = index < columns
    value = tl.load(x + row * columns + index, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scale = 1 / tl.sqrt(variance + epsilon)
    result = centred * scale * tl.load(weight + index, mask=inside, other=0.0)
    result += tl.load(bias + index, mask=inside, other=0.0)
    tl.store(out + row * columns + index, result.to(tl.float16), mask=inside)


@triton.jit
def int4_matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = a @ b with a f16[M, K], and b i4[K, N]: two rows in each byte."""
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    packed = tl.load(b + tl.arange(0, K // 2)[:, None] * N + columns)
    low = ((packed << 4).to(tl.int8) >> 4).to(tl.float16)
    high = (packed >> 4).to(tl.float16)
    right = tl.join(low, high).permute(0, 2, 1).reshape(K, N)
    left = tl.load(a + rows * K + tl.arange(0, K)[None, :])
    tl.store(c + rows * N + columns, tl.dot(left, right))


@triton.jit
def tf32_matmul(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr
):
    """c = a @ b with a f32[M, K], b f32[K, N]."""
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    depth = tl.arange(0, K)
    left = tl.load(a + rows * K + depth[None, :])
    right = tl.load(b + depth[:, None] * N + columns)
    product = tl.dot(left, right, input_precision=PRECISION)
    tl.store(c + rows * N + columns, product)


@triton.jit
def histogram(x, counts, SIZE: tl.constexpr):
    """Counts each of 64 values in i32[SIZE]."""
    found = tl.histogram(tl.load(x + tl.arange(0, SIZE)), 64)
    tl.store(counts + tl.arange(0, 64), found)


@triton.jit
def round_trip(x, out, SIZE: tl.constexpr):
    """Rounds f32[SIZE] to e4m3, e5m2, f16 and bf16, into out[4, SIZE]."""
    at = tl.arange(0, SIZE)
    value = tl.load(x + at)
    tl.store(out + at, value.to(tl.float8e4nv).to(tl.float32))
    tl.store(out + SIZE + at, value.to(tl.float8e5).to(tl.float32))
    tl.store(out + 2 * SIZE + at, value.to(tl.float16).to(tl.float32))
    tl.store(out + 3 * SIZE + at, value.to(tl.bfloat16).to(tl.float32))
