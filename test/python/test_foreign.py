"""Caches and batches in the memory of somebody else."""

import numpy as np
import pytest

import kvc
from problems import Memory, Problem, arguments, check, gqa, run, same_bits
from targets import on_targets, with_options
from test_attention import shapes_of

PAGES = 12


def foreign_buffers(config, order, fused):
    """Returns the buffers of a foreign cache, and its components as [page, token, head, width].

    Both are full of NaN.
    """
    _, heads, width, dtype = config.components[0]
    numpy_dtype = kvc.dtypes.to_numpy(dtype)
    parts = len(config.components)
    inner = (config.page, heads, width) if order == "nhd" else (heads, config.page, width)
    if fused:
        buffer = np.full((PAGES, parts, *inner), np.nan, numpy_dtype)
        buffers, components = [buffer], [buffer[:, i] for i in range(parts)]
    else:
        buffers = components = [np.full((PAGES, *inner), np.nan, numpy_dtype) for _ in range(parts)]
    if order == "hnd":
        components = [c.transpose(0, 2, 1, 3) for c in components]
    return buffers, components


def write(config, components, pages, problem, old=False):
    """Writes the problem's rows, with `old` without those of the new tokens."""
    for component, values in zip(components, problem.stored.values()):
        for ids, rows, query_len in zip(pages, values, problem.query_lens):
            for token in range(len(rows) - (query_len if old else 0)):
                component[ids[token // config.page], token % config.page] = rows[token]


def foreign_text(config, order, fused, table):
    """Returns a module with @attend over buffers and arrays, which appends first."""
    _, heads, width, dtype = config.components[0]
    parts = len(config.components)
    inner = (config.page, heads, width) if order == "nhd" else (heads, config.page, width)
    shape = "x".join(map(str, ((parts,) if fused else ()) + inner))
    memref = f"memref<?x{shape}x{dtype}>"
    count = 1 if fused else parts
    buffers = [f"%buffer{i}" for i in range(count)]
    rows = f"tensor<?x{heads}x{width}x{dtype}>"
    ids = [("%table", "tensor<?x?xi32>")] if table else [
        ("%page_start", "tensor<?xi32>"), ("%page_ids", "tensor<?xi32>")]  # fmt: skip
    arrays = [("%start", "tensor<?xi32>"), ("%lens", "tensor<?xi32>"), *ids,
              ("%slots", "tensor<?xi64>"), ("%positions", "tensor<?xi32>")]  # fmt: skip
    inputs = [("%q0", config.query_texts[0]), ("%k", rows), ("%v", rows)]
    inputs += [(b, memref) for b in buffers] + arrays
    op = "batch_from_block_table" if table else "batch_from_csr"
    return f"""
    !cache = {config.cache_text}
    func.func @attend({", ".join(f"{n}: {t}" for n, t in inputs)}) -> ({config.result_texts}) {{
      %cache = kvc.cache_from_buffers {", ".join(buffers)} order {order}{" fused" * fused}
          : {", ".join([memref] * count)} -> !cache
      %batch = kvc.{op} {", ".join(n for n, _ in arrays)} max_query_len 64 max_kv_len 64
          : {", ".join(t for _, t in arrays)}
      kvc.append %cache[k: %k, v: %v] at %batch : !cache, {rows}, {rows}
      {config.attention_text()}
      return %out, %lse : {config.result_texts}
    }}"""


@on_targets(
    "case",
    [
        (gqa(dtype=dtype, page=page), order, fused, table)
        for (dtype, page) in (("bf16", 16), ("f32", 3))
        for order in ("nhd", "hnd")
        for fused, table in ((False, True), (True, False))
    ],
    ids=lambda c: f"{shapes_of(c[0])}-{c[1]}{'-fused' * c[2]}{'-table' * c[3]}",
)
def test_cache_from_buffers_and_batch_from_arrays(programs, stream, case, target):
    config, order, fused, table = case
    kv_lens, query_lens = [20, 0, 3, 7], [1, 0, 3, 2]
    problem = Problem(config, kv_lens, query_lens)
    buffers, components = foreign_buffers(config, order, fused)
    ids = np.random.default_rng(1).permutation(PAGES).astype(np.int32)
    counts = [-(-n // config.page) for n in kv_lens]
    page_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    pages = [ids[a:b] for a, b in zip(page_start, page_start[1:])]
    write(config, components, pages, problem, old=True)
    tokens = [(i, t) for i, (n, q) in enumerate(zip(kv_lens, query_lens)) for t in range(n - q, n)]
    slots = np.array([pages[i][t // config.page] * config.page + t % config.page
                      for i, t in tokens], np.int64)  # fmt: skip
    positions = np.array([t for _, t in tokens], np.int32)
    padded = np.full((len(pages), max(counts) + 2), 2**30, np.int32)
    for row, own in zip(padded, pages):
        row[: len(own)] = own
    given = [problem.queries[0], problem.new_rows("k"), problem.new_rows("v"), *buffers]
    given += [problem.query_start, np.array(kv_lens, np.int32)]
    given += [padded] if table else [page_start, ids]
    given += [slots, positions]
    out = (np.full((len(tokens), 4, 64), np.nan, problem.queries[0].dtype),
           np.full((len(tokens), 4), np.nan, np.float32))  # fmt: skip
    programs(foreign_text(*case), target)["attend"](*given, out=out, stream=stream)
    check(problem, out)
    for component, values in zip(components, problem.stored.values()):
        for own, rows in zip(pages, values):
            for token, row in enumerate(rows):
                assert same_bits(component[own[token // config.page], token % config.page], row)


@on_targets("config", [gqa(dtype="bf16"), gqa(page=3), gqa(dtype="f16", page=8)], ids=shapes_of)
@pytest.mark.parametrize("order", ["nhd", "hnd"])
@pytest.mark.parametrize("fused", [False, True], ids=["apart", "fused"])
def test_views_of_foreign_buffers(attend, stream, config, target, order, fused):
    problem = Problem(config, [20, 0, 3, 7], [1, 1, 3, 1])
    # Without a copy, the cache stays as its owner laid it out.
    function = attend(config, with_options(target, layout="row_major"))
    _, components = foreign_buffers(config, order, fused)
    pages = [[5, 2, 9, 1, 11, 0, 8], [], [3], [7, 4, 10]]
    write(config, components, pages, problem)
    view = kvc.CacheView(function.cache_type, dict(zip(("k", "v"), components)))
    table = np.full((4, 7), -1, np.int32)
    for row, own in zip(table, pages):
        row[: len(own)] = own
    batch = kvc.RawBatch(problem.query_start, problem.kv_lens, table, np.full(6, -1))
    check(problem, function(*arguments(problem, None, view, batch), stream=stream))


@on_targets("config", [gqa(dtype="bf16"), gqa(page=3)], ids=shapes_of)
def test_bounds_above_the_lengths(attend, stream, config, target):
    problem = Problem(config, [20, 0, 3, 7], [1, 1, 3, 1])
    function = attend(config, target)
    memory = Memory(problem, function.cache_type)
    tight = run(function, problem, stream=stream, memory=memory, batch=memory.raw_batch())
    check(problem, tight)
    loose = memory.raw_batch(max_query_len=1000, max_kv_len=100_000)
    check(problem, run(function, problem, stream=stream, memory=memory, batch=loose))
