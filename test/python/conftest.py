"""Fixtures: one compiler a session, and programs by text and options."""

import pytest

import kvc
import targets


@pytest.fixture(scope="session")
def compiler():
    return kvc.Compiler()


@pytest.fixture(scope="session")
def programs(compiler):
    """Returns a function from (text, target, further options) to a program.

    What was compiled once is kept for the session.
    """
    cache = {}

    def get(text, target, **options):
        key = (text, target, tuple(sorted(options.items())))
        if key not in cache:
            cache[key] = compiler.compile(text, **target.compile_options(), **options)
        return cache[key]

    return get


@pytest.fixture(scope="session")
def attend(programs):
    """Returns a function from (config, target, further options) to @attend."""
    return lambda config, target, **options: programs(config.text, target, **options)["attend"]


@pytest.fixture(scope="session")
def stream():
    """Two workers: more than one, on any machine."""
    return kvc.Stream(2)


@pytest.fixture(scope="session")
def stream_of(stream):
    """Returns a function from a target to a stream where its programs run."""
    streams = {"cpu": stream}

    def get(target):
        if target.device not in streams:
            streams[target.device] = kvc.Stream(device=kvc.Device(target.device))
        return streams[target.device]

    return get


def pytest_report_header():
    return [
        f"kvc: {'every case' if targets.FULL else 'a sample of the cases'}; "
        f"CPU tiers of this machine: {', '.join(targets.HOST_TIERS)}; "
        f"devices: {', '.join(target.device for target in targets.DEVICES) or 'none'}"
    ]
