"""Random configurations against the reference; random_problems.py draws and runs them."""

import pytest

from random_problems import Runner
from targets import FULL

COUNT = 2000 if FULL else 100


@pytest.fixture(scope="module")
def runner(compiler, stream_of):
    return Runner(compiler, stream_of)


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_problem(runner, seed):
    runner.run(seed)


def test_the_gpu_refuses_few(runner):
    """After all others, whose counts it prints and judges."""
    print("\n".join(runner.summary()))
    if runner.cases == COUNT:
        runner.check_share()
