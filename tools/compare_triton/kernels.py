"""Split-KV decode attention in Triton: over a paged cache, and over contiguous keys.

One program attends from the query heads of one KV head to one chunk of a sequence;
`combine` merges the chunks. `tl.dot` takes 16 rows at least, so that a group of fewer query
heads is padded. Whole tiles are not masked, only the last one of a chunk. Scores are in
units of log2. Triton reads the text of a kernel's function, so that they stand without
type hints.
"""

import triton
import triton.language as tl


@triton.jit
def tiles(
    largest, weight, total, query, k, v, table, stride, factor, first, last, tokens,
    HEADS: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, BN: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """The online softmax over tiles of BN keys; only MASKED ones may end before `last`.

    Of each row there is the largest score, the sum of the weights, and the output so
    far. The rows of keys and values are `stride` apart; with pages they are found by
    `table`.
    """
    columns, dims = tl.arange(0, BN), tl.arange(0, D)
    for start in range(first, last, BN):
        token = start + columns
        inside = token < tokens
        row = token * stride
        if PAGE > 0:
            if MASKED:
                page = tl.load(table + token // PAGE, mask=inside, other=0)
            else:
                page = tl.load(table + token // PAGE)
            # Pages may lie beyond 2^31 elements.
            row = page.to(tl.int64) * (PAGE * HEADS * D) + (token % PAGE) * stride
        if MASKED:
            key = tl.load(k + row[None, :] + dims[:, None], mask=inside[None, :], other=0.0)
            value = tl.load(v + row[:, None] + dims[None, :], mask=inside[:, None], other=0.0)
        else:
            key = tl.load(k + row[None, :] + dims[:, None])
            value = tl.load(v + row[:, None] + dims[None, :])
        score = tl.dot(query, key) * factor
        if MASKED:
            score = tl.where(inside[None, :], score, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(score, axis=1))
        power = tl.exp2(score - new_largest[:, None])
        rescale = tl.exp2(largest - new_largest)
        weight = weight * rescale + tl.sum(power, axis=1)
        total = tl.dot(power.to(value.dtype), value, total * rescale[:, None])
        largest = new_largest
    return largest, weight, total


@triton.jit
def attend(
    q, k, v, table, parts, stats, stride, factor, chunk, tokens,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
    ROWS: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """One chunk of a sequence and KV head, whose keys, values and pages the pointers give."""
    sequence, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, dims = tl.arange(0, ROWS), tl.arange(0, D)
    q_at = (sequence * KV_HEADS + head) * GROUP + rows
    query = tl.load(
        q + q_at[:, None] * D + dims[None, :], mask=rows[:, None] < GROUP, other=0.0
    )
    largest = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((ROWS,), dtype=tl.float32)
    total = tl.zeros((ROWS, D), dtype=tl.float32)
    first = split * chunk
    last = min(first + chunk, tokens)
    whole = first + (last - first) // BN * BN
    largest, weight, total = tiles(
        largest, weight, total, query, k, v, table, stride, factor, first, whole, tokens,
        KV_HEADS, D, PAGE, BN, False,
    )  # fmt: skip
    if whole < last:
        largest, weight, total = tiles(
            largest, weight, total, query, k, v, table, stride, factor, whole, last, tokens,
            KV_HEADS, D, PAGE, BN, True,
        )  # fmt: skip
    store_part(parts, stats, largest, weight, total, GROUP, D, ROWS)


@triton.jit
def store_part(
    parts, stats, largest, weight, total, GROUP: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr
):
    """Stores one chunk: out of tokens x KV heads x splits, GROUP rows of D, and their log-sum."""
    rows, dims = tl.arange(0, ROWS), tl.arange(0, D)
    sequence, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = (sequence * tl.num_programs(1) + head) * tl.num_programs(2) + split
    there = rows < GROUP
    at = (place * GROUP + rows)[:, None] * D + dims[None, :]
    tl.store(parts + at, total / weight[:, None], mask=there[:, None])
    tl.store(stats + place * GROUP + rows, largest + tl.log2(weight), mask=there)


@triton.jit
def paged(
    q, k, v, table, parts, stats, tokens, table_stride, factor, chunk,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
    ROWS: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """k, v [pages, PAGE, KV_HEADS, D], table [sequences, table_stride], all of `tokens` tokens."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    attend(
        q, k + head * D, v + head * D, table + sequence * table_stride, parts, stats,
        KV_HEADS * D, factor, chunk, tokens, KV_HEADS, GROUP, D, PAGE, ROWS, BN,
    )  # fmt: skip


@triton.jit
def contiguous(
    q, k, v, parts, stats, tokens, factor, chunk,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr,
    BN: tl.constexpr,
):  # fmt: skip
    """k, v [sequences, KV_HEADS, tokens, D]."""
    base = (tl.program_id(0) * KV_HEADS + tl.program_id(1)).to(tl.int64) * tokens * D
    attend(
        q, k + base, v + base, q, parts, stats,
        D, factor, chunk, tokens, KV_HEADS, GROUP, D, 0, ROWS, BN,
    )  # fmt: skip


@triton.jit
def combine(
    parts, stats, out, splits, GROUP: tl.constexpr, D: tl.constexpr, SPLITS: tl.constexpr
):
    """out [sequences, query heads, D]: a program for each query head merges its chunks."""
    head, dims, split = tl.program_id(0), tl.arange(0, D), tl.arange(0, SPLITS)
    row = (head // GROUP) * splits * GROUP + split * GROUP + head % GROUP
    there = split < splits
    log_sum = tl.load(stats + row, mask=there, other=float("-inf"))
    weight = tl.exp2(log_sum - tl.max(log_sum, axis=0))
    part = tl.load(parts + row[:, None] * D + dims[None, :], mask=there[:, None], other=0.0)
    total = tl.sum(part * weight[:, None], axis=0) / tl.sum(weight, axis=0)
    tl.store(out + head * D + dims, total.to(out.dtype.element_ty))
