"""Probes of cvt; sources of 16 bits are tried whole."""

from gpu_check.probe import simple
from gpu_check.values import every16, every16_wide

_INTEGERS = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "su")
_TO_INTEGER = "{rni,rzi,rmi,rpi}"
_ROUND = "{rn,rz,rm,rp}"
_ALL16 = {"count": 65536, "quick_count": 65536}


def _source(kind):
    """Returns a source and how many of it make sense."""
    if kind in ("f16", "bf16", "e4m3x2", "e5m2x2"):
        return [(kind, every16)], _ALL16
    if kind in ("s16", "u16"):
        return [(kind, every16)], _ALL16
    if kind in ("s8", "u8"):
        return [(kind, every16_wide)], {"count": 512}
    return [kind], {}


def _holds(result, source):
    """Whether no value of one integer type is outside another's range."""
    bits = int(result[1:]), int(source[1:])
    if result[0] == source[0]:
        return bits[0] >= bits[1]
    return result[0] == "s" and bits[0] > bits[1]


def _integers():
    for source in _INTEGERS:
        sources, size = _source(source)
        for result in _INTEGERS:
            yield from simple(f"cvt.{result}.{source}", result, sources, **size)
            if not _holds(result, source):
                yield from simple(f"cvt.sat.{result}.{source}", result, sources, **size)


def _integers_and_floats():
    for integer in _INTEGERS:
        sources, size = _source(integer)
        for result in ("f16", "f32", "f64"):
            yield from simple(f"cvt.{_ROUND}.{result}.{integer}", result, sources, **size)
        has_bf16 = integer[1:] != "8"
        if has_bf16:
            yield from simple(f"cvt.rn.bf16.{integer}", "bf16", sources, **size)
        for source in ("f16", "f32", "f64") + (("bf16",) if has_bf16 else ()):
            sources_of, size_of = _source(source)
            yield from simple(
                f"cvt.{_TO_INTEGER}.{integer}.{source}", integer, sources_of, **size_of
            )
        yield from simple(f"cvt.{_TO_INTEGER}.ftz.{integer}.f32", integer, "f32")


def _floats():
    f16, all16 = _source("f16")
    bf16, _ = _source("bf16")
    yield from simple("cvt{,.ftz}.f32.f16", "f32", f16, **all16)
    yield from simple("cvt.f64.f16", "f64", f16, **all16)
    yield from simple("cvt{,.ftz}.f32.bf16", "f32", bf16, **all16)
    yield from simple("cvt{,.ftz}.f64.f32", "f64", "f32")
    yield from simple(f"cvt.{_ROUND}{{,.ftz}}{{,.sat}}.f32.f64", "f32", "f64")
    yield from simple(f"cvt.{_ROUND}{{,.ftz}}{{,.sat}}.f16.f32", "f16", "f32", count=16384)
    yield from simple(f"cvt.{_ROUND}.f16.f64", "f16", "f64")
    yield from simple("cvt.{rn,rz}{,.relu}.{f16,bf16}.f32", "b16", "f32", count=16384)
    yield from simple("cvt.rna.tf32.f32", "b32", "f32", count=16384)
    yield from simple("cvt.rna.satfinite.tf32.f32", "b32", "f32", count=16384, version="8.2")
    yield from simple("cvt.{rn,rz}{,.relu}.tf32.f32", "b32", "f32", count=16384)
    yield from simple(f"cvt.{_TO_INTEGER}{{,.ftz}}{{,.sat}}.f32.f32", "f32", "f32")
    yield from simple(f"cvt.{_TO_INTEGER}.f64.f64", "f64", "f64")
    yield from simple(f"cvt.{_TO_INTEGER}.f16.f16", "f16", f16, **all16)
    yield from simple("cvt{,.ftz}.sat.f32.f32", "f32", "f32")


def _pairs():
    yield from simple("cvt.{rn,rz}{,.relu}.{f16x2,bf16x2}.f32", "b32", "f32 f32", count=16384)
    fp8 = "{e4m3x2,e5m2x2}"
    yield from simple(f"cvt.rn.satfinite{{,.relu}}.{fp8}.f32", "b16", "f32 f32", count=16384)
    # All f16 in the low half, others in the high one.
    yield from simple(
        f"cvt.rn.satfinite{{,.relu}}.{fp8}.f16x2", "b16", [("b32", _two_f16)], **_ALL16
    )
    every = [("b16", every16)]
    yield from simple(f"cvt.rn{{,.relu}}.f16x2.{fp8}", "b32", every, **_ALL16)


def _two_f16(count, seed):
    low = every16_wide(count, seed)
    return low | (low * 40503 & 0xFFFF) << 16


def probes():
    seen = set()
    for table in (_integers, _integers_and_floats, _floats, _pairs):
        for probe in table():
            if probe.name not in seen:
                seen.add(probe.name)
                yield probe
