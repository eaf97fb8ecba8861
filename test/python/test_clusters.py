"""Thread blocks of a decode that merge in clusters, in the emulator.

Batches of few sequences over many small splits, so that a query block has more items
than a cluster has blocks, begins in the middle of one, or shares it with others; against
float64 NumPy. The emulator reports races, and reads of what a block has not written.
"""

import json
import os
from unittest import mock

import numpy as np
import pytest

import kvc
from emulated import POLICIES, in_order
from problems import Problem, arguments, check, gqa, mla, place, run, same_bits, unwritten
from targets import DEVICES, FULL

EMULATORS = [target for target in DEVICES if target.device == "emulator"]
pytestmark = pytest.mark.skipif(not EMULATORS, reason="the emulator is not built")
TARGET = EMULATORS[0] if EMULATORS else None

#: Keys of an item: a whole number of tiles of each schedule that the planner takes here.
SPLIT = 256
CONFIGS = {
    "group 4": gqa(8, 2, 64, dtype="bf16", page=16, lse=True),
    "group 1": gqa(2, 2, 64, dtype="f16", page=8, lse=True),
    "group 16": gqa(16, 1, 128, dtype="bf16", page=16, lse=True),
    "group 20": gqa(20, 1, 64, dtype="f16", page=32),
    "sinks": gqa(8, 2, 72, dtype="bf16", page=16, sinks=True, lse=True),
    "window": gqa(8, 2, 64, dtype="f16", page=5, window=300, softcap=9.0, lse=True),
    "width 256": gqa(4, 1, 256, dtype="f16", page=16, lse=True),
    # Warps that share the columns.
    "latent": mla(query_heads=16, latent=512, rotary=64, page=64, lse=True),
    "latent, several row blocks": mla(query_heads=40, latent=288, rotary=8, page=16, lse=True),
}
#: Tokens of each sequence.
BATCHES = {
    "one cluster": (2000,),
    "several clusters": (5000,),
    "as many items as blocks": (8 * SPLIT, 8 * SPLIT),
    "one item more": (8 * SPLIT + 1,),
    "in the middle": (3 * SPLIT, 1, 5 * SPLIT + 7, 0, 70),
    "three of each": (700, 650, 600),
}
PROCESSORS = (1, 3, 16, 132)


@pytest.fixture
def stream(stream_of):
    return stream_of(TARGET)


def cases():
    """Yields each config with each batch; by default with half of these, in turn."""
    for i, config in enumerate(CONFIGS):
        for k, batch in enumerate(BATCHES):
            if not FULL and (i + k) % 2:
                continue
            for processors in PROCESSORS if FULL else (PROCESSORS[-1 - (i + k) // 2 % 2 * 2],):
                yield pytest.param(config, batch, processors, id=f"{config}-{batch}-{processors}")


@pytest.mark.parametrize("config, batch, processors", list(cases()))
def test_right_and_the_same_in_every_order(attend, stream, config, batch, processors):
    lens = BATCHES[batch]
    problem = Problem(CONFIGS[config], list(lens), [min(n, 1) for n in lens])
    function = attend(CONFIGS[config], TARGET, split=SPLIT)
    results = []
    for policy in POLICIES if FULL else POLICIES[1:3]:
        order = f"{policy},processors={processors}"
        results.append(in_order(order, lambda: run(function, problem, stream=stream)))
        check(problem, results[-1])
        for first, other in zip(results[0], results[-1]):
            assert first.tobytes() == other.tobytes(), order


def launches_of(function, problem, stream, path, processors=132):
    """Runs @attend; returns its results, and what the emulator counted of each kernel."""
    memory, out = place(function, problem, stream=stream), unwritten(problem)
    options = f"copies=lazy,processors={processors},counters={path}"
    with mock.patch.dict(os.environ, KVC_EMULATOR=options):
        function(*arguments(problem, memory), out=out, stream=stream)
    launches = [json.loads(line) for line in path.read_text().splitlines()]
    return out, {launch["kernel"]: launch for launch in launches}


def stored(launch):
    return 32 * launch["counters"]["global_stores"]["sectors"]


@pytest.mark.parametrize(
    "sequences, cluster", [(1, 8), (8, 8), (9, 4), (16, 4), (17, 2), (33, 2), (34, 1)]
)
def test_as_many_blocks_as_leave_each_sequence_a_cluster(
    attend, stream, tmp_path, sequences, cluster
):
    """132 processors take a block of this kernel each: 66 for each of two KV heads."""
    problem = Problem(CONFIGS["group 4"], [200] * sequences, [1] * sequences)
    function = attend(problem.config, TARGET, split=SPLIT)
    out, launches = launches_of(function, problem, stream, tmp_path / "counters.jsonl")
    check(problem, out)
    for name, launch in launches.items():
        is_attention = name.endswith("_decode")
        assert launch["cluster"] == [1, cluster if is_attention else 1, 1], name


def test_what_lies_in_one_cluster_needs_no_parts(attend, stream, tmp_path):
    """It stores its rows alone: no sums in f32, and nothing is left to be put together."""
    config = CONFIGS["group 4"]
    function = attend(config, TARGET, split=SPLIT)
    rows = config.query_heads * (config.value_width * 2 + 4)  # of bf16, and a log-sum-exp
    parts = config.query_heads * (config.value_width + 2) * 4  # of one item
    problem = Problem(config, [8 * SPLIT], [1])
    out, launches = launches_of(function, problem, stream, tmp_path / "one.jsonl")
    check(problem, out)
    attention, combine = (launches[f"attend_attention_decode{end}"] for end in ("", "_combine"))
    assert rows <= stored(attention) < rows + parts
    assert stored(combine) == 0
    # Two clusters have a part each, not one for each of their blocks.
    problem = Problem(config, [16 * SPLIT], [1])
    out, launches = launches_of(function, problem, stream, tmp_path / "two.jsonl")
    check(problem, out)
    attention, combine = (launches[f"attend_attention_decode{end}"] for end in ("", "_combine"))
    assert attention["grid"] == [2, 16, 1]
    assert 2 * parts <= stored(attention) < 3 * parts
    assert rows <= stored(combine) < 2 * rows


def test_the_query_is_read_once_a_cluster(attend, stream, tmp_path):
    """Blocks take the rows that others have read from their shared memory."""
    config = CONFIGS["latent"]
    query = (512 + 64) * config.query_heads * 2
    for clusters in (1, 2):
        problem = Problem(config, [clusters * 8 * SPLIT], [1])
        function = attend(config, TARGET, split=SPLIT)
        out, launches = launches_of(function, problem, stream, tmp_path / f"{clusters}.jsonl")
        check(problem, out)
        attention = launches["attend_attention_decode"]
        assert attention["grid"] == [1, 8 * clusters, 1]
        loaded = 32 * attention["counters"]["global_loads"]["sectors"]
        assert clusters * query <= loaded < 2 * clusters * query


def test_deterministic_attention_has_none(attend, stream, tmp_path):
    """Its bits do not depend on the sequences before, which would move it in its cluster."""
    config = gqa(8, 2, 64, dtype="bf16", page=16, lse=True, deterministic=True)
    function = attend(config, TARGET, split=SPLIT)
    problem = Problem(config, [70, 1000, 130], [1, 1, 1])
    out, launches = launches_of(function, problem, stream, tmp_path / "counters.jsonl")
    check(problem, out)
    assert all(launch["cluster"] == [1, 1, 1] for launch in launches.values())
    alone = problem.subset([1])
    other, _ = launches_of(function, alone, stream, tmp_path / "alone.jsonl")
    rows = problem.rows_of([1])
    assert all(same_bits(a[rows], b) for a, b in zip(out, other))


def test_infinities_and_nan_stay_in_their_row(attend, stream):
    """A row of a block that is not there counts for nothing, whatever it would hold."""
    config = CONFIGS["group 4"]
    problem = Problem(config, [700], [1])
    for value in (np.inf, np.nan):
        for index in (3, 699):
            other = Problem(config, [700], [1])
            other.stored["v"][0][index, 0, 5] = value
            function = attend(config, TARGET, split=SPLIT)
            got = run(function, other, stream=stream)[0]
            want = run(function, problem, stream=stream)[0]
            group = config.query_heads // 2
            assert not np.isfinite(got[0, :group, 5].astype(np.float32)).any()
            got[0, :group, 5] = want[0, :group, 5]
            assert same_bits(got, want)
