"""Fixtures: one compiler a session, and programs by text and options."""

import pytest

import kvc
import targets
from refusals import compile_or_refuse, gpu_refusal


@pytest.fixture(scope="session")
def compiler():
    return kvc.Compiler()


@pytest.fixture(scope="session")
def programs(compiler):
    """Returns a function from (text, target, further options) to a program.

    What was compiled once is kept for the session. `refusal` is the Expectation of a
    text that the GPU may not take; see refusals.py.
    """
    cache = {}

    def get(text, target, refusal=None, **options):
        key = (text, target, tuple(sorted(options.items())))
        if key not in cache:
            def make():
                return compiler.compile(text, **target.compile_options(), **options)

            cache[key] = compile_or_refuse(make, refusal) if target.is_gpu else make()
        return cache[key]

    return get


@pytest.fixture
def attend(programs):
    """Returns a function from (config, target, further options) to @attend."""

    def get(config, target, **options):
        refusal = gpu_refusal(config) if target.is_gpu else None
        return programs(config.text, target, refusal, **options)["attend"]

    return get


@pytest.fixture(scope="session")
def stream_of():
    """Returns a function from a target to a stream where its programs run.

    That of the CPU has two workers: more than one, on any machine.
    """
    streams = {}

    def get(target=None):
        device = target.device if target else "cpu"
        if device not in streams:
            is_cpu = device == "cpu"
            streams[device] = kvc.Stream(2) if is_cpu else kvc.Stream(device=kvc.Device(device))
        return streams[device]

    return get


@pytest.fixture
def stream(request, stream_of):
    """Where the programs of the test's target run; without a target, the CPU."""
    has_target = "target" in request.fixturenames
    return stream_of(request.getfixturevalue("target") if has_target else None)


def pytest_report_header():
    return [
        f"kvc: {'every case' if targets.FULL else 'a sample of the cases'}; "
        f"CPU tiers of this machine: {', '.join(targets.HOST_TIERS)}; "
        f"devices: {', '.join(target.device for target in targets.DEVICES) or 'none'}"
    ]
