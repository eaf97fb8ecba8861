"""Probes of approximations, with the bounds that PTX states."""

import numpy as np

from gpu_check.probe import Approximation, simple
from gpu_check.values import dense_f32, every16, every16_wide

_DENSE = {"count": 1 << 18, "quick_count": 1 << 12}
_ALL16 = {"count": 65536, "quick_count": 65536}
_TWO_PI = 0x40C90FDB


def _one(function):
    """Returns a function that ignores the warnings of infinite results."""

    def wrapped(*arguments):
        with np.errstate(all="ignore"):
            return function(*arguments)

    return wrapped


def _f32():
    every = [("f32", dense_f32(0, 0x7FC00001))]
    exponents = [("f32", dense_f32(0, 0x43200000))]  # to 160
    angles = [("f32", dense_f32(0, _TWO_PI))]

    def bound(function, relative, absolute=0.0):
        return {"approximation": Approximation(_one(function), relative, absolute), **_DENSE}

    yield from simple("ex2.approx{,.ftz}.f32", "f32", exponents, **bound(np.exp2, 2**-22))
    yield from simple("lg2.approx{,.ftz}.f32", "f32", every, **bound(np.log2, 2**-22, 2**-22))
    yield from simple("rcp.approx{,.ftz}.f32", "f32", every, **bound(lambda x: 1 / x, 2**-23))
    yield from simple(
        "rsqrt.approx{,.ftz}.f32", "f32", every, **bound(lambda x: 1 / np.sqrt(x), 2**-22.4)
    )
    yield from simple("sqrt.approx{,.ftz}.f32", "f32", every, **bound(np.sqrt, 2**-22))
    yield from simple("sin.approx{,.ftz}.f32", "f32", angles, **bound(np.sin, 0, 2**-20.5))
    yield from simple("cos.approx{,.ftz}.f32", "f32", angles, **bound(np.cos, 0, 2**-20.5))
    yield from simple("tanh.approx.f32", "f32", every, **bound(np.tanh, 2**-10.9))
    # Divisors from 2^-126 to 2^126, as .approx requires; quotients stay normal.
    numbers = [
        ("f32", dense_f32(0x30000000, 0x4F000000)),
        ("f32", dense_f32(0x30000000, 0x4F000000)),
    ]
    yield from simple("div.{approx,full}{,.ftz}.f32", "f32", numbers, **bound(np.divide, 2**-22))


def _halves():
    f16, f16x2 = [("f16", every16)], [("f16x2", every16_wide)]
    bf16, bf16x2 = [("bf16", every16)], [("bf16x2", every16_wide)]

    def bound(function, relative):
        return {"approximation": Approximation(_one(function), relative), **_ALL16}

    yield from simple("ex2.approx.f16", "f16", f16, **bound(np.exp2, 2**-9.8))
    yield from simple("ex2.approx.f16x2", "f16x2", f16x2, **bound(np.exp2, 2**-9.8))
    yield from simple("ex2.approx.ftz.bf16", "bf16", bf16, **bound(np.exp2, 2**-7))
    yield from simple("ex2.approx.ftz.bf16x2", "bf16x2", bf16x2, **bound(np.exp2, 2**-7))
    yield from simple("tanh.approx.f16", "f16", f16, **bound(np.tanh, 2**-9.9))
    yield from simple("tanh.approx.f16x2", "f16x2", f16x2, **bound(np.tanh, 2**-9.9))
    yield from simple("tanh.approx.bf16", "bf16", bf16, **bound(np.tanh, 2**-7))
    yield from simple("tanh.approx.bf16x2", "bf16x2", bf16x2, **bound(np.tanh, 2**-7))


def probes():
    yield from _f32()
    yield from _halves()
