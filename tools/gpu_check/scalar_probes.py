"""Probes of arithmetic, logic, comparisons and selections."""

from gpu_check.probe import Probe, simple
from gpu_check.values import below, nonzero

_INTEGERS = ("s16", "u16", "s32", "u32", "s64", "u64")
_SIGNED = ("s16", "s32", "s64")
_WIDE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
_COMPARISONS = "{eq,ne,lt,le,gt,ge}"
_FLOAT_COMPARISONS = "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#: Shift counts: most are useful, some are too large.
_SHIFT = ("u32", below(72))


def _floats():
    yield from simple("{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "f32", "f32 f32")
    yield from simple("fma{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "f32", "f32 f32 f32")
    yield from simple("{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64", "f64", "f64 f64")
    yield from simple("fma{.rn,.rz,.rm,.rp}.f64", "f64", "f64 f64 f64")
    yield from simple("div{.rn,.rz,.rm,.rp}{,.ftz}.f32", "f32", "f32 f32")
    yield from simple("{rcp,sqrt}{.rn,.rz,.rm,.rp}{,.ftz}.f32", "f32", "f32")
    yield from simple("div{.rn,.rz,.rm,.rp}.f64", "f64", "f64 f64")
    yield from simple("{rcp,sqrt}{.rn,.rz,.rm,.rp}.f64", "f64", "f64")
    yield from simple("{neg,abs}{,.ftz}.f32", "f32", "f32")
    yield from simple("{neg,abs}.f64", "f64", "f64")
    yield from simple("{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "f32", "f32 f32")
    yield from simple("{min,max}.f64", "f64", "f64 f64")
    yield from simple("copysign.f32", "f32", "f32 f32")
    yield from simple("copysign.f64", "f64", "f64 f64")
    yield from simple(
        "testp.{finite,infinite,number,notanumber,normal,subnormal}.f32", "pred", "f32"
    )
    yield from simple(
        "testp.{finite,infinite,number,notanumber,normal,subnormal}.f64", "pred", "f64"
    )


def _halves():
    for kind in ("f16", "f16x2"):
        two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
        yield from simple(f"{{add,sub,mul}}{{,.rn}}{{,.ftz}}{{,.sat}}.{kind}", kind, two)
        yield from simple(f"fma.rn{{,.ftz}}{{,.sat,.relu}}.{kind}", kind, three)
        yield from simple(f"{{neg,abs}}{{,.ftz}}.{kind}", kind, kind)
        yield from simple(f"{{min,max}}{{,.ftz}}{{,.NaN}}.{kind}", kind, two)
    for kind in ("bf16", "bf16x2"):
        two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
        yield from simple(f"{{add,sub,mul}}{{,.rn}}.{kind}", kind, two)
        yield from simple(f"fma.rn{{,.relu}}.{kind}", kind, three)
        yield from simple(f"{{neg,abs}}.{kind}", kind, kind)
        yield from simple(f"{{min,max}}{{,.NaN}}.{kind}", kind, two)


def _integers():
    for t in _INTEGERS:
        two, three = f"{t} {t}", f"{t} {t} {t}"
        yield from simple(f"{{add,sub,min,max,mul.lo,mul.hi}}.{t}", t, two)
        yield from simple(f"mad.{{lo,hi}}.{t}", t, three)
        yield from simple(f"{{div,rem}}.{t}", t, [t, (t, nonzero(t))])
        result = "u" + t[1:]
        yield from simple(f"sad.{t}", result, f"{t} {t} {result}")
    for t in _SIGNED:
        yield from simple(f"{{neg,abs}}.{t}", t, t)
    for t, wide in _WIDE.items():
        yield from simple(f"mul.wide.{t}", wide, f"{t} {t}")
        yield from simple(f"mad.wide.{t}", wide, f"{t} {t} {wide}")
    yield from simple("{add,sub}.sat.s32", "s32", "s32 s32")
    yield from simple("mad.hi.sat.s32", "s32", "s32 s32 s32")
    yield from simple("{min,max}.relu.s32", "s32", "s32 s32")
    for t in ("s32", "u32"):
        yield from simple(f"mul24.{{lo,hi}}.{t}", t, f"{t} {t}")
        yield from simple(f"mad24.{{lo,hi}}.{t}", t, f"{t} {t} {t}")
    yield from simple("{dp4a,dp2a.lo,dp2a.hi}.{s32,u32}.{s32,u32}", "b32", "b32 b32 b32")


def _bits():
    for bits in ("16", "32", "64"):
        b = f"b{bits}"
        yield from simple(f"{{and,or,xor}}.{b}", b, f"{b} {b}")
        yield from simple(f"{{not,cnot}}.{b}", b, b)
        yield from simple(f"shl.{b}", b, [b, _SHIFT])
        yield from simple(f"shr.{{b,u,s}}{bits}", b, [b, _SHIFT])
    yield from simple("{and,or,xor}.pred", "pred", "pred pred")
    yield from simple("not.pred", "pred", "pred")
    yield from simple("shf.{l,r}.{wrap,clamp}.b32", "b32", ["b32", "b32", _SHIFT])
    for bits in ("32", "64"):
        field = [("u32", below(int(bits) + 8)), ("u32", below(int(bits) + 8))]
        yield from simple(f"bfe.{{s,u}}{bits}", f"b{bits}", [f"b{bits}", *field])
        yield from simple(f"bfi.b{bits}", f"b{bits}", [f"b{bits}", f"b{bits}", *field])
        yield from simple(f"{{popc,clz}}.b{bits}", "u32", f"b{bits}")
        yield from simple(f"brev.b{bits}", f"b{bits}", f"b{bits}")
        yield from simple(f"bfind{{,.shiftamt}}.{{s,u}}{bits}", "u32", f"b{bits}")
    # As they come out of the compiler: constant fields.
    for start, length in ((0, 5), (3, 2), (16, 16), (31, 1)):
        yield from simple(
            "bfe.u32", "u32", "u32", f"d0, a0, {start}, {length}", label=f" {start}, {length}"
        )
    yield from simple("bmsk.{clamp,wrap}.b32", "b32", [_SHIFT, _SHIFT])
    for table in (0x96, 0xE8, 0xEA, 0x6C, 0xF8, 0xCA, 0x01, 0x80):
        operands, label = f"d0, a0, a1, a2, {table}", f" {table:#04x}"
        yield from simple("lop3.b32", "b32", "b32 b32 b32", operands, label=label)
    yield from simple(
        "lop3.{or,and}.b32",
        "b32 pred",
        "b32 b32 b32 pred",
        "d0|pd1, a0, a1, a2, 0xEA, pa3",
        version="8.2",
    )
    yield from simple("prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "b32", "b32 b32 b32")


def _comparisons():
    for t in _INTEGERS:
        yield from simple(f"setp.{_COMPARISONS}.{t}", "pred", f"{t} {t}")
        if t[0] == "u":
            yield from simple(f"setp.{{lo,ls,hi,hs}}.{t}", "pred", f"{t} {t}")
    for t in ("b16", "b32", "b64"):
        yield from simple(f"setp.{{eq,ne}}.{t}", "pred", f"{t} {t}")
    for t in ("f32", "f64", "f16", "bf16"):
        yield from simple(f"setp.{_FLOAT_COMPARISONS}.{t}", "pred", f"{t} {t}")
    yield from simple(f"setp.{_FLOAT_COMPARISONS}.ftz.f32", "pred", "f32 f32")
    for t in ("f16x2", "bf16x2"):
        yield from simple(
            f"setp.{_FLOAT_COMPARISONS}.{t}", "pred pred", f"{t} {t}", "pd0|pd1, a0, a1"
        )
    yield from simple(
        "setp.lt.{and,or,xor}.s32", "pred pred", "s32 s32 pred", "pd0|pd1, a0, a1, pa2"
    )
    yield from simple(
        "setp.lt.{and,or,xor}.f32", "pred pred", "f32 f32 pred", "pd0|pd1, a0, a1, pa2"
    )
    for t in ("s32", "u32", "f32", "f64"):
        comparisons = _FLOAT_COMPARISONS if t[0] == "f" else _COMPARISONS
        yield from simple(f"set.{comparisons}.{{u32,f32}}.{t}", "b32", f"{t} {t}")


def _selections():
    for t in ("b16", "s16", "u16", "b32", "s32", "u32", "f32", "b64", "s64", "u64", "f64"):
        yield from simple(f"selp.{t}", t, f"{t} {t} pred")
        if not t.endswith("16"):
            yield from simple(f"slct.{t}.{{s32}}", t, f"{t} {t} s32")
            yield from simple(f"slct{{,.ftz}}.{t}.f32", t, f"{t} {t} f32")


def _moves():
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        yield from simple(f"mov.{t}", t, t)
    yield from simple("mov.pred", "pred", "pred")
    mov = (
        ("mov.b32", " pack", "b32", "b16 b16", "d0, {a0, a1}"),
        ("mov.b32", " unpack", "b16 b16", "b32", "{d0, d1}, a0"),
        ("mov.b64", " pack", "b64", "b32 b32", "d0, {a0, a1}"),
        ("mov.b64", " unpack", "b32 b32", "b64", "{d0, d1}, a0"),
        ("mov.b64", " pack 4", "b64", "b16 b16 b16 b16", "d0, {a0, a1, a2, a3}"),
        ("mov.b64", " unpack 4", "b16 b16 b16 b16", "b64", "{d0, d1, d2, d3}, a0"),
    )
    for opcode, label, results, sources, operands in mov:
        yield from simple(opcode, results, sources, operands, label=label)
    # Special registers.
    names = "tid ntid ctaid nctaid".split()
    registers = [f"{name}.{axis}" for name in names for axis in "xyz"]
    registers += ["laneid"] + [f"lanemask_{order}" for order in ("eq", "lt", "le", "gt", "ge")]
    body = "\n".join(f"mov.u32 %d{i}, %{name};" for i, name in enumerate(registers))
    yield Probe(
        "mov.u32 special registers", ("mov.u32",), ("u32",) * len(registers), (), body, count=512
    )


def _control():
    body = """mov.u32 %d0, 0;
mov.u32 %left, %a0;
AGAIN:
setp.eq.u32 %p0, %left, 0;
@%p0 bra DONE;
and.b32 %bit, %left, 1;
setp.ne.u32 %p1, %bit, 0;
@!%p1 bra EVEN;
mad.lo.u32 %left, %left, 3, 1;
add.u32 %d0, %d0, 1;
bra.uni NEXT;
EVEN:
shr.u32 %left, %left, 1;
add.u32 %d0, %d0, 65536;
NEXT:
setp.gt.u32 %p0, %left, 1;
@%p0 bra AGAIN;
DONE:"""
    # Collatz: lanes leave the loop one by one.
    yield Probe(
        "bra divergent loop",
        ("bra", "bra.uni"),
        ("u32",),
        (("u32", below(5000)),),
        body,
        declarations=".reg .pred %p<2>; .reg .b32 %left, %bit;",
        count=1024,
    )
    body = """mov.u32 %d0, 1;
@%pa0 st.global.u32 [%address], %d0;
@%pa0 ret;
mov.u32 %d0, 2;
st.global.u32 [%address], %d0;"""
    yield Probe(
        "ret by some lanes",
        ("ret",),
        ("u32",),
        ("pred",),
        "mad.wide.u32 %address, %index, 4, %out0;\n" + body,
        raw_results=frozenset([0]),
        count=512,
    )
    yield Probe(
        "exit by some lanes",
        ("exit",),
        ("u32",),
        ("pred",),
        ("mad.wide.u32 %address, %index, 4, %out0;\n" + body.replace("ret;", "exit;")),
        raw_results=frozenset([0]),
        count=512,
    )


def probes():
    for table in (_floats, _halves, _integers, _bits, _comparisons, _selections, _moves, _control):
        yield from table()
