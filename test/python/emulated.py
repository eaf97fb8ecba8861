"""Calls on the emulator, under every policy of asynchronous copies."""

import os
from unittest import mock

import numpy as np

POLICIES = (
    "copies=lazy", "copies=eager", "copies=random,seed=1", "copies=random,seed=2,shift=1024",
)  # fmt: skip
#: Few processors, so that each of their blocks takes many work items. How keys are cut
#: may depend on the number, and with it the bits.
ORDERS = tuple(f"{policy},processors=3" for policy in POLICIES)


def in_order(order, run_once):
    """Calls `run_once` with these options of the emulator; returns copies of its arrays."""
    with mock.patch.dict(os.environ, KVC_EMULATOR=order):
        return [np.array(array) for array in run_once()]


def in_every_order(run_once):
    """Calls `run_once` in every order, for arrays; their bits must agree.

    The orders are those of the copies, and of warps and blocks. A report of the
    emulator makes a call fail.
    """
    results = [in_order(order, run_once) for order in ORDERS]
    for order, result in zip(ORDERS[1:], results[1:]):
        for a, b in zip(results[0], result):
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), order
    return results[0]


class EveryOrder:
    """A program whose functions run in every order, and else a program."""

    def __init__(self, program):
        self._program = program

    def __getitem__(self, name):
        return EveryOrderFunction(self._program[name])


class EveryOrderFunction:
    """A function that runs in every order; results start from what `out` holds."""

    def __init__(self, function):
        self._function = function

    def __getattr__(self, name):
        return getattr(self._function, name)

    def __call__(self, *args, out=None, stream=None):
        given = out if isinstance(out, tuple) else () if out is None else (out,)
        before = [array.copy() for array in given]

        def run_once():
            for array, content in zip(given, before):
                array[...] = content
            results = self._function(*args, out=out, stream=stream)
            return results if isinstance(results, tuple) else (results,)

        results = in_every_order(run_once)
        if out is not None:
            return out
        return tuple(results) if len(results) > 1 else results[0]
