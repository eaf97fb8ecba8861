"""Probes of loads, stores, copies and atomic operations."""

import numpy as np

from gpu_check.probe import THREADS, Probe
from gpu_check.values import below, make, random_bits

_TYPES = (
    "b8",
    "u8",
    "s8",
    "b16",
    "u16",
    "s16",
    "b32",
    "u32",
    "s32",
    "f32",
    "b64",
    "u64",
    "s64",
    "f64",
)


def _bytes(kind):
    return int(kind[1:]) // 8


def _register(kind):
    """The kind of a register that takes a loaded value, widened if it is small."""
    return {"b8": "b32", "u8": "b32", "s8": "b32"}.get(kind, kind)


def _vectors(kind):
    return [n for n in (1, 2, 4) if n * _bytes(kind) <= 16]


def _list(letter, count):
    names = ", ".join(f"%{letter}{i}" for i in range(count))
    return f"{{{names}}}" if count > 1 else names


def _global():
    for kind in _TYPES:
        register = _register(kind)
        for count in _vectors(kind):
            size = count * _bytes(kind)
            vector = f".v{count}" if count > 1 else ""
            place = f"mad.wide.u32 %address, %index, {size}, "
            # Arrays of the register's size hold more than enough elements.
            raw = {"raw_scale": count, "count": 1024}
            for cache in ("", ".nc", ".ca", ".cg", ".volatile", ".relaxed.gpu", ".acquire.gpu"):
                if cache in (".relaxed.gpu", ".acquire.gpu") and kind == "b8":
                    continue
                strong = cache in (".volatile", ".relaxed.gpu", ".acquire.gpu")
                if strong and count > 1:
                    continue
                prefix = f"{cache}.global" if strong else f".global{cache}"
                opcode = f"ld{prefix}{vector}.{kind}"
                body = f"{place}%in0;\n{opcode} {_list('d', count)}, [%address];"
                yield Probe(
                    opcode,
                    (opcode,),
                    (register,) * count,
                    (register,),
                    body,
                    raw_sources=frozenset([0]),
                    **raw,
                )
            for order in ("", ".volatile", ".relaxed.gpu", ".release.gpu"):
                if order and count > 1:
                    continue
                opcode = f"st{order}.global{vector}.{kind}"
                body = f"{place}%out0;\n{opcode} [%address], {_list('a', count)};"
                if kind in ("s8", "s16", "s32", "s64", "b8") and order:
                    continue
                yield Probe(
                    opcode,
                    (opcode,),
                    (register,),
                    (register,) * count,
                    body,
                    raw_results=frozenset([0]),
                    **raw,
                )


def _shared():
    """What a thread stores, another one loads."""
    for kind in _TYPES:
        register = _register(kind)
        for count in _vectors(kind):
            size = count * _bytes(kind)
            vector = f".v{count}" if count > 1 else ""
            declarations = (
                f".shared .align 16 .b8 data[{size * THREADS}];\n.reg .b32 %shared, %mine, %other;"
            )
            load, store = f"ld.shared{vector}.{kind}", f"st.shared{vector}.{kind}"
            body = f"""mov.u32 %shared, data;
mad.lo.u32 %mine, %thread, {size}, %shared;
xor.b32 %other, %thread, 107;
mad.lo.u32 %other, %other, {size}, %shared;
{store} [%mine], {_list("a", count)};
bar.sync 0;
{load} {_list("d", count)}, [%other];"""
            yield Probe(
                f"{store}, {load}",
                (load, store),
                (register,) * count,
                (register,) * count,
                body,
                declarations=declarations,
                count=512,
            )


def _clusters():
    """What a thread stores, one of the other blocks of its cluster loads."""
    for kind in ("b32", "u32", "f32", "b64"):
        for count in _vectors(kind):
            size = count * _bytes(kind)
            vector = f".v{count}" if count > 1 else ""
            load = f"ld.shared::cluster{vector}.{kind}"
            for bits in (32, 64):
                mapa = f"mapa.shared::cluster.u{bits}"
                for aligned in ("", ".aligned"):
                    arrive = f"barrier.cluster.arrive{aligned}"
                    wait = f"barrier.cluster.wait{aligned}"
                    body = f"""mov.u{bits} %shared, data;
mul.lo.u32 %offset, %thread, {size};
{"cvt.u64.u32 %wide, %offset;" if bits == 64 else "mov.b32 %wide, %offset;"}
add.u{bits} %mine, %shared, %wide;
st.shared{vector}.{kind} [%mine], {_list("a", count)};
{arrive};
{wait};
mov.u32 %rank, %cluster_ctarank;
mov.u32 %blocks, %cluster_nctarank;
add.u32 %rank, %rank, 1;
rem.u32 %rank, %rank, %blocks;
xor.b32 %offset, %thread, 107;
mul.lo.u32 %offset, %offset, {size};
{"cvt.u64.u32 %wide, %offset;" if bits == 64 else "mov.b32 %wide, %offset;"}
add.u{bits} %mine, %shared, %wide;
{mapa} %other, %mine, %rank;
{load} {_list("d", count)}, [%other];
{arrive};
{wait};"""
                    yield Probe(
                        f"{mapa}, {load}, {arrive}",
                        (mapa, load, arrive, wait),
                        (kind,) * count,
                        (kind,) * count,
                        body,
                        declarations=f".shared .align 16 .b8 data[{size * THREADS}];\n"
                        f".reg .b{bits} %shared, %wide, %mine, %other;\n"
                        ".reg .b32 %offset, %rank, %blocks;",
                        count=1024,
                        cluster=4,
                    )


def _other_spaces():
    for kind in ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        opcode = f"ld.param.{kind}"
        # The addresses of a probe's arrays differ from run to run, their offsets do not.
        minus = "sub.u64 %d0, %raw, %whole;"
        if "32" in kind:
            minus = "cvt.u32.u64 %part, %whole;\nsub.u32 %d0, %raw, %part;"
        body = f"ld.param.{kind} %raw, [in0];\nld.param.b64 %whole, [in0];\n{minus}"
        bits = kind[1:]
        declarations = f".reg .b{bits} %raw; .reg .b64 %whole; .reg .b32 %part;"
        also = ("ld.param.b64",)
        yield Probe(
            opcode,
            (opcode, *also),
            (f"b{bits}",),
            ("b32",),
            body,
            declarations=declarations,
            raw_sources=frozenset([0]),
            count=128,
        )
    body = """mov.u64 %to, depot;
add.u64 %generic, %to, 4;
st.local.b32 [%to], %a0;
st.local.b32 [%to+4], %a1;
cvta.local.u64 %generic, %generic;
ld.b32 %d0, [%generic];
ld.local.b32 %d1, [%to];"""
    yield Probe(
        "local memory",
        ("st.local.b32", "ld.local.b32", "cvta.local.u64", "ld.b32"),
        ("b32", "b32"),
        ("b32", "b32"),
        body,
        declarations=".local .align 8 .b8 depot[8];\n.reg .b64 %to, %generic;",
        count=512,
    )
    body = """cvta.global.u64 %generic, %in0;
isspacep.global %pd1, %generic;
isspacep.shared %pd2, %generic;
mad.wide.u32 %generic, %index, 4, %generic;
ld.b32 %d0, [%generic];"""
    yield Probe(
        "cvta.global.u64, isspacep",
        ("cvta.global.u64", "cvta.to.global.u64", "isspacep.global", "isspacep.shared", "ld.b32"),
        ("b32", "pred", "pred"),
        ("b32",),
        body,
        declarations=".reg .b64 %generic;",
        raw_sources=frozenset([0]),
        count=512,
    )
    body = """mov.u64 %generic, data;
cvta.shared.u64 %generic, %generic;
mad.wide.u32 %generic, %thread, 4, %generic;
st.b32 [%generic], %a0;
bar.sync 0;
xor.b32 %other, %thread, 77;
cvta.to.shared.u64 %generic, %generic;
cvt.u32.u64 %mine, %generic;
sub.u32 %other, %other, %thread;
shl.b32 %other, %other, 2;
add.u32 %mine, %mine, %other;
ld.shared.b32 %d0, [%mine];"""
    yield Probe(
        "cvta.shared.u64",
        ("cvta.shared.u64", "cvta.to.shared.u64", "st.b32"),
        ("b32",),
        ("b32",),
        body,
        declarations=".shared .align 16 .b8 data[512];\n"
        ".reg .b64 %generic; .reg .b32 %other, %mine;",
        count=512,
    )


def _copies():
    """cp.async with a source size: the rest of the destination becomes zero."""
    for size, cache in ((4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")):
        for how in ("whole", "size", "ignored"):
            opcode = f"cp.async.{cache}.shared.global"
            last = {"whole": "", "size": ", %a1", "ignored": ", %pa1"}[how]
            sources = {
                "whole": ("b32",),
                "size": ("b32", ("u32", below(size + 1))),
                "ignored": ("b32", "pred"),
            }[how]
            words = size // 4
            loads = "\n".join(f"ld.shared.b32 %d{i}, [%other+{4 * i}];" for i in range(words))
            for group in ("wait_group 0", "wait_all"):
                commit = "cp.async.commit_group;" if group != "wait_all" else ""
                body = f"""mov.u32 %shared, data;
mad.lo.u32 %mine, %thread, {size}, %shared;
mad.wide.u32 %address, %index, {size}, %in0;
{opcode} [%mine], [%address], {size}{last};
{commit}
cp.async.{group};
bar.sync 0;
xor.b32 %other, %thread, 45;
mad.lo.u32 %other, %other, {size}, %shared;
{loads}"""
                yield Probe(
                    f"{opcode} {size} {how}, {group.split()[0]}",
                    (opcode, f"cp.async.{group.split()[0]}")
                    + (("cp.async.commit_group",) if commit else ()),
                    ("b32",) * words,
                    sources,
                    body,
                    declarations=f".shared .align 16 .b8 data[{size * THREADS}];\n"
                    ".reg .b32 %shared, %mine, %other;",
                    raw_sources=frozenset([0]),
                    raw_scale=words,
                    count=1024,
                )
    for hint in ("L2::64B", "L2::128B", "L2::256B"):
        opcode = f"cp.async.cg.shared.global.{hint}"
        body = f"""mov.u32 %shared, data;
mad.lo.u32 %mine, %thread, 16, %shared;
mad.wide.u32 %address, %index, 16, %in0;
{opcode} [%mine], [%address], 16;
cp.async.wait_all;
ld.shared.b32 %d0, [%mine+12];"""
        yield Probe(
            opcode,
            (opcode,),
            ("b32",),
            ("b32",),
            body,
            declarations=f".shared .align 16 .b8 data[{16 * THREADS}];\n.reg .b32 %shared, %mine;",
            raw_sources=frozenset([0]),
            raw_scale=4,
            count=512,
        )


def _alike(kind):
    """Returns a maker of values of which three quarters do not depend on the seed."""

    def make_alike(count, seed):
        is_own = random_bits(count, seed) >> np.uint64(62) == 0
        return np.where(is_own, make(kind, count, seed), make(kind, count, kind))

    return make_alike


def _atomics():
    for space in ("global", "shared"):
        for kind, operations in (
            ("u32", ("add", "min", "max", "inc", "dec")),
            ("s32", ("add", "min", "max")),
            ("u64", ("add", "min", "max")),
            ("s64", ("min", "max")),
            ("b32", ("and", "or", "xor", "exch", "cas")),
            ("b64", ("and", "or", "xor", "exch", "cas")),
            ("b16", ("cas",)),
            ("f32", ("add",)),
            ("f64", ("add",)),
            ("f16", ("add.noftz",)),
            ("f16x2", ("add.noftz",)),
            ("bf16", ("add.noftz",)),
            ("bf16x2", ("add.noftz",)),
        ):
            for operation in operations:
                yield from _atomic(space, kind, operation)
    yield from _counters()


def _atomic(space, kind, operation):
    """Each thread has an address of its own, whose last value is a result too."""
    size = {"f16x2": 4, "bf16x2": 4, "bf16": 2}.get(kind) or _bytes(kind)
    stored = f"b{8 * size}"
    is_cas = operation.startswith("cas")
    sources = ((kind, _alike(kind)),) * (3 if is_cas else 2)
    values = "%a1, %a2" if is_cas else "%a1"
    declarations = f".shared .align 16 .b8 data[{size * THREADS}];\n.reg .b32 %mine;"
    if space == "shared":
        place = f"mov.u32 %mine, data;\nmad.lo.u32 %mine, %thread, {size}, %mine;"
        address = "[%mine]"
    else:
        place = f"mad.wide.u32 %address, %index, {size}, %out1;"
        address = "[%address]"
    setup = f"{place}\nst.{space}.{stored} {address}, %a0;"
    finish = f"ld.{space}.{stored} %last, {address};\nmad.wide.u32 %address, %index, {size}, %out1;"
    finish += f"\nst.global.{stored} [%address], %last;"
    for scope in ("", ".relaxed.gpu", ".acq_rel.gpu", ".relaxed.cta"):
        if scope and (operation not in ("add", "cas") or kind not in ("u32", "b32")):
            continue
        opcode = f"atom{scope}.{space}.{operation}.{kind}"
        yield Probe(
            opcode,
            (opcode,),
            (kind, stored),
            sources,
            f"{setup}\n{opcode} %d0, {address}, {values};\n{finish}",
            declarations=f"{declarations} .reg .b{8 * size} %last;",
            raw_results=frozenset([1]),
            count=1024,
        )
    if operation in ("exch", "cas") or (kind == "b16"):
        return
    for scope in ("", ".relaxed.gpu", ".release.gpu"):
        if scope and (operation != "add" or kind != "u32"):
            continue
        opcode = f"red{scope}.{space}.{operation}.{kind}"
        yield Probe(
            opcode,
            (opcode,),
            ("b32", stored),
            sources,
            f"{setup}\n{opcode} {address}, {values};\n{finish}\nmov.b32 %d0, 0;",
            declarations=f"{declarations} .reg .b{8 * size} %last;",
            raw_results=frozenset([1]),
            count=1024,
        )


def _counters():
    """All threads of a block add to one number; the sum does not depend on the order."""
    body = """mov.u32 %shared, sum;
setp.eq.u32 %first, %thread, 0;
@%first st.shared.u32 [%shared], 0;
bar.sync 0;
red.shared.add.u32 [%shared], %a0;
membar.cta;
fence.acq_rel.cta;
bar.sync 0;
ld.shared.u32 %d0, [%shared];
membar.gl;
fence.sc.gpu;
fence.acq_rel.gpu;
membar.sys;"""
    yield Probe(
        "red.shared.add.u32 of a block",
        (
            "red.shared.add.u32",
            "membar.cta",
            "membar.gl",
            "membar.sys",
            "fence.acq_rel.cta",
            "fence.acq_rel.gpu",
            "fence.sc.gpu",
        ),
        ("u32",),
        ("u32",),
        body,
        declarations=".shared .align 4 .b8 sum[4];\n.reg .b32 %shared; .reg .pred %first;",
    )


def probes():
    for table in (_global, _shared, _clusters, _other_spaces, _copies, _atomics):
        yield from table()
