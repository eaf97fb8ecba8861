"""The same bits whatever the number of threads and the rest of the batch."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kvc
from problems import Memory, Problem, arguments, check, gqa, mla, run, same_bits
from targets import on_targets
from test_attention import shapes_of

CONFIGS = [gqa(dtype="bf16"), gqa(page=3, sinks=True), gqa(dtype="f16", window=50), mla()]


@pytest.fixture(scope="module")
def streams():
    return {n: kvc.Stream(n) for n in (1, 2, 3)}


@on_targets("config", CONFIGS, ids=shapes_of)
@pytest.mark.parametrize("query_lens", [[1, 1, 1, 1, 1], [1, 40, 0, 3, 64]], ids=str)
def test_independent_of_the_number_of_threads(attend, streams, config, target, query_lens):
    problem = Problem(config, [700, 40, 0, 3, 1100], query_lens)
    function = attend(config, target, split=256)
    results = {n: run(function, problem, stream=stream) for n, stream in streams.items()}
    check(problem, results[1])
    for n in (2, 3):
        assert streams[n].num_workers == n
        assert same_bits(results[1][0], results[n][0])
        assert same_bits(results[1][1], results[n][1])


@on_targets("config", CONFIGS, ids=shapes_of)
@pytest.mark.parametrize("query_lens", [[1, 1, 1, 1], [2, 40, 3, 64]], ids=str)
def test_independent_of_the_rest_of_the_batch(attend, stream, config, target, query_lens):
    problem = Problem(config, [700, 40, 3, 1100], query_lens)
    function = attend(config, target, split=256)
    out, lse = run(function, problem, stream=stream)
    check(problem, (out, lse))
    for chosen in ([0], [3], [2, 1], [3, 0, 2]):
        rows = problem.rows_of(chosen)
        some, some_lse = run(function, problem.subset(chosen), stream=stream)
        assert same_bits(some, out[rows]) and same_bits(some_lse, lse[rows])


@on_targets("config", CONFIGS[:2], ids=shapes_of, devices=True)
def test_independent_of_the_order_of_pages(attend, stream, config, target):
    problem = Problem(config, [100, 40], [1, 1])
    function = attend(config, target)
    results = [
        run(function, problem, memory=Memory(problem, function.cache_type, seed=seed),
            stream=stream)
        for seed in (0, 1, 2)
    ]  # fmt: skip
    for other in results[1:]:
        assert same_bits(results[0][0], other[0]) and same_bits(results[0][1], other[1])


@on_targets("config", CONFIGS[:2], ids=shapes_of)
def test_two_streams_at_once(attend, config, target):
    function = attend(config, target)
    problems = [Problem(config, [300, n], [1, 1], seed=n) for n in (17, 60)]
    wants = [run(function, problem, stream=kvc.Stream(1)) for problem in problems]

    def work(index):
        stream, problem = kvc.Stream(2), problems[index]
        memory = Memory(problem, function.cache_type)
        given = arguments(problem, memory)
        return all(
            same_bits(a, b)
            for _ in range(20)
            for a, b in zip(function(*given, stream=stream), wants[index])
        )

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(work, (0, 1)))


@on_targets("config", CONFIGS[:1], ids=shapes_of)
def test_one_stream_of_two_threads(attend, stream, config, target):
    function = attend(config, target)
    problems = [Problem(config, [300, n], [1, 1], seed=n) for n in (17, 60)]
    wants = [run(function, problem, stream=stream) for problem in problems]

    def work(index):
        problem = problems[index]
        given = arguments(problem, Memory(problem, function.cache_type))
        return all(
            same_bits(a, b)
            for _ in range(20)
            for a, b in zip(function(*given, stream=stream), wants[index])
        )

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(work, (0, 1)))


def test_two_compilations_at_once(compiler):
    configs = [gqa(width=width) for width in (16, 24)] * 2

    def work(config):
        function = compiler.compile(config.text, target="definition")["attend"]
        problem = Problem(config, [5], [1])
        check(problem, run(function, problem))
        return True

    with ThreadPoolExecutor(2) as threads:
        assert np.all(list(threads.map(work, configs)))
