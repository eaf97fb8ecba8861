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
