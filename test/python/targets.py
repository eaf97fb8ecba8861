"""What the tests compile for, and how many of them run.

`KVC_TEST_FULL=1` runs every case on every target. Otherwise each case runs on
the definition and on one CPU target, taken in turn, so that every target gets
its share of the cases. Tables for devices run on each device there is; what the
GPU refuses they expect to be refused, with the reason (`refusals.py`).
"""

import functools
import inspect
import itertools
import os
from dataclasses import dataclass

import pytest

import kvc
from refusals import Refused

FULL = os.environ.get("KVC_TEST_FULL", "0") not in ("", "0")

# The processor's flags that each tier needs.
TIERS = {
    "plain": set(),
    "avx2": {"avx2", "fma", "f16c"},
    "avx512": {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq"},
    "avx512_bf16": {
        "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16",
        "avx512vbmi",
    },
    "amx": {
        "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16",
        "avx512vbmi", "amx_tile", "amx_bf16",
    },
}  # fmt: skip
LAYOUTS = ("packed", "row_major")


def processor_flags():
    """Returns the flags of the processor, as Linux names them."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() == "flags":
                return set(value.split())
    return set()


HOST_TIERS = [tier for tier, flags in TIERS.items() if flags <= processor_flags()]


@dataclass(frozen=True)
class Target:
    """Options of the compiler and the device, with a name for the tests' output."""

    options: tuple
    device: str = "cpu"

    def __str__(self):
        names = [value for _, value in self.options]
        return "-".join(names + [self.device] * (self.device != "cpu"))

    def compile_options(self):
        return dict(self.options)

    @property
    def is_gpu(self):
        return self.compile_options()["target"] == "gpu"

    @property
    def is_emulator(self):
        """Whether its programs run so slowly that long cases are shortened."""
        return self.device == "emulator"


def target(device="cpu", **options):
    return Target(tuple(options.items()), device)


def with_options(other, **options):
    """Returns another target with some options changed."""
    return target(other.device, **{**other.compile_options(), **options})


def has_device(kind):
    """Returns whether there is a device of a kind; see kvc.Device."""
    try:
        return kvc.Device.count(kind) > 0
    except kvc.Error:
        return False


DEFINITIONS = [
    target(target="definition", precision=precision, layout=layout)
    for layout, precision in itertools.product(LAYOUTS, ("f32", "f64"))
]
CPUS = [
    target(target="cpu", tier=tier, layout=layout)
    for layout, tier in itertools.product(LAYOUTS, reversed(HOST_TIERS))
]

DEVICES = [target(kind, target="gpu") for kind in ("emulator", "cuda") if has_device(kind)]

_turn = itertools.count()


def on_targets(argument, cases, ids=str, cpus=1, definitions=1, devices=False):
    """Parametrises a test by its cases and their targets.

    By default a case runs on `definitions` targets of the definition and `cpus` of
    the CPU, the next ones in turn; in a full run on all. With `devices` it also runs
    on all devices there are. A case that is refused as refusals.py expects it ends
    there, and has passed.
    """
    parameters = []
    for case in cases:
        turn = next(_turn)
        for targets, count in ((DEFINITIONS, definitions), (CPUS, cpus)):
            count = len(targets) if FULL else min(count, len(targets))
            for i in range(count):
                chosen = targets[(turn + i) % len(targets)]
                parameters.append(pytest.param(case, chosen, id=f"{ids(case)}-{chosen}"))
        for chosen in DEVICES if devices else ():
            parameters.append(pytest.param(case, chosen, id=f"{ids(case)}-{chosen}"))
    parametrize = pytest.mark.parametrize((argument, "target"), parameters)
    return lambda test: parametrize(until_refused(test))


def until_refused(test):
    """Lets a test end, and pass, where an expected refusal was seen."""

    @functools.wraps(test)
    def run(*arguments, **named):
        try:
            test(*arguments, **named)
        except Refused:
            pass

    run.__signature__ = inspect.signature(test)
    return run


def sample(cases, count):
    """Returns all cases in a full run, else `count` of them, spread evenly."""
    cases = list(cases)
    if FULL or count >= len(cases):
        return cases
    return [cases[i * len(cases) // count] for i in range(count)]
