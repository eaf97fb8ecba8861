"""Probes of the tensor core and of the instructions that feed it."""

import numpy as np

from gpu_check.probe import THREADS, Probe
from gpu_check.values import matrix, random_bits

#: Registers of a, b and c of m16n8kK, by the bits of an element of a and K.
_COUNTS = {
    (16, 8): (2, 1),
    (16, 16): (4, 2),
    (32, 4): (2, 1),
    (32, 8): (4, 2),
    (8, 16): (2, 1),
    (8, 32): (4, 2),
}


def _mma(k, d, a, b, version="8.0", saturate=""):
    bits = {"f16": 16, "bf16": 16, "tf32": 32}.get(a, 8)
    num_a, num_b = _COUNTS[bits, k]
    num_c = 2 if d == "f16" else 4
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col{saturate}.{d}.{a}.{b}.{d}"
    sources = [("b32", matrix(a, "a"))] * num_a + [("b32", matrix(b, "b"))] * num_b
    sources += [("b32", matrix(d, "c"))] * num_c
    names = [f"%a{i}" for i in range(len(sources))]

    def group(first, count):
        return "{" + ", ".join(names[first : first + count]) + "}"

    results = "{" + ", ".join(f"%d{i}" for i in range(num_c)) + "}"
    c = num_a + num_b
    body = f"{opcode} {results}, {group(0, num_a)}, {group(num_a, num_b)}, {group(c, num_c)};"
    return Probe(
        opcode,
        (opcode,),
        ("b32",) * num_c,
        tuple(sources),
        body,
        count=20480,
        quick_count=2560,
        version=version,
    )


def _products():
    for k in (8, 16):
        for d in ("f16", "f32"):
            yield _mma(k, d, "f16", "f16")
        yield _mma(k, "f32", "bf16", "bf16")
    for k in (4, 8):
        yield _mma(k, "f32", "tf32", "tf32")
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            yield _mma(32, "f32", a, b, version="8.4")
            yield _mma(32, "f16", a, b, version="8.7")
    for k in (16, 32):
        for a in ("s8", "u8"):
            for b in ("s8", "u8"):
                for saturate in ("", ".satfinite"):
                    yield _mma(k, "s32", a, b, saturate=saturate)


def _rows(count, seed):
    """Byte offsets of rows, of 64 in each warp: each lane's in an order of its own."""
    order = random_bits(count * 2, seed).reshape(-1, 64).argsort(axis=1)[:, :32]
    return (order * 16).astype(np.uint32).reshape(-1)


def _matrix_copies():
    warps = THREADS // 32
    declarations = f".shared .align 128 .b8 data[{warps * 1024}];\n.reg .b32 %base, %row, %mine;"
    # Each warp has 64 rows of 16 bytes; a thread fills two of them.
    place = """mov.u32 %base, data;
shr.u32 %row, %thread, 5;
mad.lo.u32 %base, %row, 1024, %base;
mad.lo.u32 %mine, %lane, 32, %base;"""
    fill = "\n".join(
        f"st.shared.v4.b32 [%mine+{16 * i}], {{{', '.join(f'%a{4 * i + j}' for j in range(4))}}};"
        for i in range(2)
    )
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            names = ", ".join(f"%d{i}" for i in range(count))
            opcodes = [f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"]
            body = f"""{place}
{fill}
bar.warp.sync -1;
add.u32 %row, %base, %a8;
{opcodes[0]} {{{names}}}, [%row];"""
            yield Probe(
                opcodes[0],
                (*opcodes, opcodes[0].replace(".shared", ".shared::cta")),
                ("b32",) * count,
                ("b32",) * 8 + (("u32", _rows),),
                body,
                declarations=declarations,
                count=1024,
            )
            sources = ", ".join(f"%a{i}" for i in range(count))
            store = f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
            zero = "mov.b32 %row, 0;\n" + "\n".join(
                f"st.shared.v4.b32 [%mine+{16 * i}], {{%row, %row, %row, %row}};" for i in range(2)
            )
            groups = [", ".join(f"%d{4 * i + j}" for j in range(4)) for i in range(2)]
            read = "\n".join(
                f"ld.shared.v4.b32 {{{group}}}, [%mine+{16 * i}];" for i, group in enumerate(groups)
            )
            body = f"""{place}
{zero}
bar.warp.sync -1;
add.u32 %row, %base, %a{count};
{store} [%row], {{{sources}}};
bar.warp.sync -1;
{read}"""
            yield Probe(
                store,
                (store, store.replace(".shared", ".shared::cta")),
                ("b32",) * 8,
                ("b32",) * count + (("u32", _rows),),
                body,
                declarations=declarations,
                count=1024,
            )
    opcode = "movmatrix.sync.aligned.m8n8.trans.b16"
    yield Probe(opcode, (opcode,), ("b32",), ("b32",), f"{opcode} %d0, %a0;", count=1024)


def probes():
    yield from _products()
    yield from _matrix_copies()
