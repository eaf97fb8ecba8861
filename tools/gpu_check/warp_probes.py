"""Probes of instructions that join the lanes of a warp, and of barriers."""

from gpu_check.probe import Probe, simple
from gpu_check.values import below, random_bits

_LANE = ("b32", below(40))


def _clamp(count, seed):
    """Values of shfl's c: whole warps, and segments of 8 and 16 lanes."""
    choice = random_bits(count // 32, seed).repeat(32) % 4
    table = [31, 0, 0x181F, 0x100F]
    return sum((choice == i) * table[i] for i in range(4))


def _few(limit):
    """Returns a maker of values that lanes share."""

    def make_few(count, seed):
        return random_bits(count, seed) >> 40 & (limit - 1)

    return make_few


def _shuffles():
    for mode in ("up", "down", "bfly", "idx"):
        opcode = f"shfl.sync.{mode}.b32"
        yield from simple(
            opcode, "b32 pred", ["b32", _LANE], "d0|pd1, a0, a1, 31, -1", label=" lane"
        )
        sources = ["b32", _LANE, ("b32", _clamp)]
        yield from simple(
            opcode, "b32 pred", sources, "d0|pd1, a0, a1, a2, -1", label=" lane, clamp"
        )
        for lane in (1, 2, 4, 8, 16):
            clamp = 0 if mode == "up" else 31
            operands = f"d0, a0, {lane}, {clamp}, -1"
            yield from simple(opcode, "b32", "b32", operands, label=f" {lane}", count=512)


def _some_lanes(name, opcode, results, sources, instruction):
    """A probe in which lanes of a mask, that differs by warp, run an instruction.

    The last source is the mask's random word, of which lane 0 of a warp counts.
    """
    last = len(sources) - 1
    zero = "\n".join(
        f"setp.ne.u32 %pd{i}, 0, 0;" if kind == "pred" else f"mov.b32 %d{i}, 0;"
        for i, kind in enumerate(results)
    )
    body = f"""{zero}
shfl.sync.idx.b32 %members, %a{last}, 0, 31, -1;
or.b32 %members, %members, 0x00800010;
shl.b32 %me, 1, %lane;
and.b32 %me, %me, %members;
setp.eq.u32 %skip, %me, 0;
@%skip bra JOIN;
{instruction}
JOIN:
bar.warp.sync -1;"""
    declarations = ".reg .b32 %members, %me; .reg .pred %skip;"
    return Probe(name, (opcode,), results, tuple(sources), body, declarations=declarations)


def _reductions():
    for t in ("s32", "u32"):
        yield from simple(
            f"redux.sync.{{add,min,max}}.{t}", "b32", "b32", "d0, a0, -1", label=" all"
        )
    yield from simple("redux.sync.{and,or,xor}.b32", "b32", "b32", "d0, a0, -1", label=" all")
    for opcode in [
        f"redux.sync.{op}.{t}" for op in ("add", "min", "max") for t in ("s32", "u32")
    ] + [f"redux.sync.{op}.b32" for op in ("and", "or", "xor")]:
        line = f"{opcode} %d0, %a0, %members;"
        yield _some_lanes(f"{opcode} some", opcode, ("b32",), ("b32", "b32"), line)


def _votes():
    rare = ("b32", below(64))
    for mode in ("all", "any", "uni"):
        opcode = f"vote.sync.{mode}.pred"
        # A lane in 64 says no: warps of all kinds.
        line = f"setp.ne.u32 %vote, %a0, 0;\n{opcode} %pd0, %vote, %members;"
        probe = _some_lanes(opcode, opcode, ("pred",), (rare, "b32"), line)
        yield _with(probe, ".reg .pred %vote;")
        line = f"setp.eq.u32 %vote, %a0, 0;\n{opcode} %pd0, %vote, %members;"
        probe = _some_lanes(f"{opcode} no", opcode, ("pred",), (rare, "b32"), line)
        yield _with(probe, ".reg .pred %vote;")
    opcode = "vote.sync.ballot.b32"
    yield from simple(opcode, "b32", "pred", "d0, pa0, -1", label=" all")
    line = f"{opcode} %d0, %pa0, %members;"
    yield _some_lanes(f"{opcode} some", opcode, ("b32",), ("pred", "b32"), line)


def _with(probe, declarations):
    return Probe(
        probe.name,
        probe.opcodes,
        probe.results,
        probe.sources,
        probe.body,
        declarations=probe.declarations + declarations,
    )


def _matches():
    for bits in (32, 64):
        for limit in (1, 2, 8):
            sources = ((f"b{bits}", _few(limit)), "b32")
            opcode = f"match.any.sync.b{bits}"
            line = f"{opcode} %d0, %a0, %members;"
            yield _some_lanes(f"{opcode} {limit}", opcode, ("b32",), sources, line)
            opcode = f"match.all.sync.b{bits}"
            line = f"{opcode} %d0|%pd1, %a0, %members;"
            yield _some_lanes(f"{opcode} {limit}", opcode, ("b32", "pred"), sources, line)


def _masks():
    # The leader of elect.sync is any member; that there is one leader is checked.
    line = """elect.sync %who|%leads, %members;
vote.sync.ballot.b32 %leaders, %leads, %members;
popc.b32 %d0, %leaders;
shl.b32 %bit, 1, %who;
setp.eq.u32 %pd1, %bit, %leaders;"""
    probe = _some_lanes("elect.sync", "elect.sync", ("b32", "pred"), ("b32",), line)
    yield _with(probe, ".reg .b32 %who, %leaders, %bit; .reg .pred %leads;")
    # Which lanes are together is not stated; the one that asks is.
    body = """activemask.b32 %mask;
shr.b32 %mask, %mask, %lane;
and.b32 %d0, %mask, 1;"""
    opcode = "activemask.b32"
    yield Probe(opcode, (opcode,), ("b32",), (), body, declarations=".reg .b32 %mask;", count=512)
    # After a barrier of the warp all members see each other's stores.
    body = """mov.u32 %shared, data;
shl.b32 %mine, %thread, 2;
add.u32 %mine, %shared, %mine;
st.shared.b32 [%mine], %a0;
bar.warp.sync -1;
xor.b32 %other, %thread, 13;
shl.b32 %other, %other, 2;
add.u32 %other, %shared, %other;
ld.shared.b32 %d0, [%other];"""
    declarations = ".shared .align 16 .b8 data[512];\n.reg .b32 %shared, %mine, %other;"
    yield Probe(
        "bar.warp.sync", ("bar.warp.sync",), ("b32",), ("b32",), body, declarations=declarations
    )
    for opcode in ("bar.sync", "barrier.sync", "bar.cta.sync", "barrier.cta.sync"):
        block = body.replace("bar.warp.sync -1;", f"{opcode} 0;").replace(
            "%thread, 13", "%thread, 93"
        )
        yield Probe(opcode, (opcode,), ("b32",), ("b32",), block, declarations=declarations)
    for mode, kind in (("popc.u32", "b32"), ("and.pred", "pred"), ("or.pred", "pred")):
        opcode = f"barrier.cta.red.{mode}"
        result = "%pd0" if kind == "pred" else "%d0"
        body = f"setp.ne.u32 %vote, %a0, 0;\n{opcode} {result}, 0, %vote;"
        yield Probe(
            opcode,
            (opcode,),
            (kind,),
            (("b32", below(128)),),
            body,
            declarations=".reg .pred %vote;",
        )


def probes():
    for table in (_shuffles, _reductions, _votes, _matches, _masks):
        yield from table()
