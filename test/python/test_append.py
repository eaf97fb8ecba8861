"""Append: which slots are written, and with what bits."""

import numpy as np
import pytest

import kvc
from problems import Memory, Problem, arguments, check, gqa, mla, run, same_bits
from targets import on_targets, sample
from test_attention import shapes_of


def contents(view):
    """Returns a copy of the bits of all components."""
    names = [c.name for c in view.cache_type.components]
    return {name: view.memory(name).copy() for name in names}


APPENDS = sample(
    [
        gqa(dtype=dtype, page=page, append=True, **more)
        for dtype in ("bf16", "f32", "f16")
        for page in (16, 1, 3, 64)
        for more in ({}, {"width": 40, "value_width": 72}, {"query_heads": 5, "kv_heads": 5})
    ],
    12,
) + [mla(append=True), mla(append=True, page=3, dtype="f32")]


@on_targets("config", APPENDS, ids=shapes_of, devices=True)
@pytest.mark.parametrize(
    "kv_lens, query_lens", [([1, 17, 64, 100], [1, 1, 1, 1]), ([0, 40, 3, 9], [0, 33, 3, 1])],
    ids=["decode", "mixed"],
)  # fmt: skip
def test_append_then_attention(attend, stream, config, target, kv_lens, query_lens):
    problem = Problem(config, kv_lens, query_lens)
    function = attend(config, target)
    memory = Memory(problem, function.cache_type, new_tokens=False)
    check(problem, run(function, problem, stream=stream, memory=memory))
    for name, values in problem.stored.items():
        for sequence, rows in zip(memory.sequences, values):
            assert same_bits(sequence.read(name), rows)


@on_targets("config", sample(APPENDS, 4), ids=shapes_of, devices=True)
def test_append_writes_nothing_else(attend, stream, config, target):
    problem = Problem(config, [17, 5, 64], [2, 5, 1])
    function = attend(config, target)
    memory = Memory(problem, function.cache_type, "zero", new_tokens=False)
    before = contents(memory.view)
    function(*arguments(problem, memory), stream=stream)
    after = contents(memory.view)
    # What was zero and is not the slot of a new token is still zero.
    for name, values in problem.stored.items():
        written = Memory(problem, function.cache_type, "zero").view.memory(name)
        assert same_bits(after[name], written.copy())
        assert not same_bits(after[name], before[name])
        assert sum(len(v) for v in values) == 86


@on_targets("config", sample(APPENDS, 4), ids=shapes_of, devices=True)
def test_negative_slots_are_ignored(attend, stream, config, target):
    problem = Problem(config, [17, 5, 64], [2, 5, 1])
    function = attend(config, target)
    memory = Memory(problem, function.cache_type)
    before = contents(memory.view)
    batch = memory.raw_batch(slots=np.full(8, -1))
    junk = [np.full_like(problem.new_rows(name), 99) for name, *_ in config.components]
    results = function(*problem.queries, *junk, memory.view, batch, stream=stream)
    check(problem, results)
    for name, bits in contents(memory.view).items():
        assert same_bits(bits, before[name])
    # One of them is written all the same.
    slots = np.full(8, -1)
    slots[3] = memory.sequences[1].slots()[1]
    function(*problem.queries, *junk, memory.view, memory.raw_batch(slots=slots), stream=stream)
    for name, *_ in config.components:
        assert (memory.view.read(name, slots[3:4]) == 99).all()
        assert same_bits(memory.sequences[0].read(name), problem.stored[name][0])


@on_targets("config", [gqa(dtype=d, append=True) for d in ("bf16", "f16", "f32")], ids=shapes_of,
            devices=True)  # fmt: skip
def test_elements_are_copied_bit_for_bit(attend, stream, config, target):
    problem = Problem(config, [8], [8])
    function = attend(config, target)
    memory = Memory(problem, function.cache_type, "zero", new_tokens=False)
    rows = {}
    rng = np.random.default_rng(7)
    for name, heads, width, dtype in config.components:
        numpy_dtype = kvc.dtypes.to_numpy(dtype)
        bits = rng.integers(0, 256, (8, heads, width * numpy_dtype.itemsize), np.uint8)
        rows[name] = bits.view(numpy_dtype)  # NaN with payloads and subnormals, too
    function(*problem.queries, *rows.values(), memory.view, memory.batch, stream=stream)
    for name, values in rows.items():
        assert same_bits(memory.sequences[0].read(name), values)


@on_targets("config", [gqa(append=True), gqa(dtype="bf16", append=True)], ids=shapes_of,
            devices=True)  # fmt: skip
def test_decoding_token_by_token(attend, stream, config, target):
    function = attend(config, target)
    pool = kvc.Pool(function.cache_type, 16, debug_fill=True, page_order_seed=5)
    sequences = [pool.sequence() for _ in range(3)]
    whole = Problem(config, [40, 40, 40], [40, 40, 40])
    want = whole.want()
    for step in range(40):
        for sequence in sequences:
            sequence.append(1)
        batch = kvc.Batch.from_sequences(sequences, [1, 1, 1])
        rows = [40 * i + step for i in range(3)]
        new = [np.stack([v[step] for v in whole.stored[name]]) for name in ("k", "v")]
        out, lse = function(whole.queries[0][rows], *new, pool.view(), batch, stream=stream)
        alone = Problem(config, [step + 1] * 3, [1] * 3)
        alone.want = lambda chosen=None, rows=rows: (want[0][rows], want[1][rows])
        check(alone, (out, lse))


@on_targets("config", [gqa(append=True), gqa(dtype="f16", append=True)], ids=shapes_of,
            devices=True)  # fmt: skip
def test_layers_of_a_pool_are_apart(attend, stream, config, target):
    function = attend(config, target)
    pool = kvc.Pool(function.cache_type, 8, layers=3, debug_fill=True)
    sequence = pool.sequence(20)
    batch = kvc.Batch.from_sequences([sequence], [20])
    problems = [Problem(config, [20], [20], seed=layer) for layer in range(3)]
    for layer, problem in enumerate(problems):
        given = arguments(problem, None, pool.view(layer), batch)
        check(problem, function(*given, stream=stream))
    for layer, problem in enumerate(problems):
        for name in ("k", "v"):
            assert same_bits(sequence.read(name, layer), problem.stored[name][0])
