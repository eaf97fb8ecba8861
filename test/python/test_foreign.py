"""Caches and batches in the memory of somebody else."""

from dataclasses import replace

import numpy as np
import pytest

import kvc
from problems import (
    Buffers, Foreign, Memory, Problem, arguments, check, check_cache, gqa, mla, run,
)  # fmt: skip
from targets import on_targets, with_options
from test_attention import shapes_of

FOREIGN = [
    gqa(dtype=dtype, page=page, append=True, foreign=Foreign(order, fused, table))
    for (dtype, page) in (("bf16", 16), ("f32", 3), ("f16", 1))
    for order in ("nhd", "hnd")
    for fused, table in ((False, True), (True, False))
] + [
    gqa(dtype="bf16", width=72, value_width=40, append=True, foreign=Foreign("hnd", table=False)),
    mla(append=True, foreign=Foreign()),
]


def name_of(config):
    foreign = config.foreign
    kind = f"{foreign.order}{'-fused' * foreign.fused}{'-table' * foreign.table}"
    return f"{shapes_of(config)}-{kind}"


@on_targets("config", FOREIGN, ids=name_of, devices=True)
def test_cache_from_buffers_and_batch_from_arrays(attend, stream, config, target):
    problem = Problem(config, [20, 0, 3, 7], [1, 0, 3, 2])
    memory = Buffers(problem, new_tokens=False)
    check(problem, run(attend(config, target), problem, stream=stream, memory=memory))
    check_cache(problem, memory)


@on_targets("config", [gqa(dtype="bf16"), gqa(page=3), gqa(dtype="f16", page=8)], ids=shapes_of,
            devices=True)  # fmt: skip
@pytest.mark.parametrize("order", ["nhd", "hnd"])
@pytest.mark.parametrize("fused", [False, True], ids=["apart", "fused"])
def test_views_of_foreign_buffers(attend, stream, config, target, order, fused):
    problem = Problem(config, [20, 0, 3, 7], [1, 1, 3, 1])
    # Without a copy, the cache stays as its owner laid it out.
    function = attend(config, with_options(target, layout="row_major"))
    engine = replace(problem, config=replace(config, foreign=Foreign(order, fused)))
    buffers = Buffers(engine)
    view = kvc.CacheView(function.cache_type, buffers.components)
    _, _, table, *_ = buffers.arrays()
    batch = kvc.RawBatch(problem.query_start, problem.kv_lens, table, np.full(6, -1))
    check(problem, function(*arguments(problem, None, view, batch), stream=stream))


@on_targets("config", [gqa(dtype="bf16"), gqa(page=3)], ids=shapes_of, devices=True)
def test_bounds_above_the_lengths(attend, stream, config, target):
    problem = Problem(config, [20, 0, 3, 7], [1, 1, 3, 1])
    function = attend(config, target)
    memory = Memory(problem, function.cache_type)
    tight = run(function, problem, stream=stream, memory=memory, batch=memory.raw_batch())
    check(problem, tight)
    loose = memory.raw_batch(max_query_len=1000, max_kv_len=100_000)
    check(problem, run(function, problem, stream=stream, memory=memory, batch=loose))
