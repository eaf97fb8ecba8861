"""Prints PTX that has far too much of one thing."""

import sys

before, body = "", ""
match sys.argv[1]:
    case "pairs":
        body = "mov.u32 " + "%r0|" * 100000 + "%r0, 1;"
    case "digits":
        body = "mov.u32 %r" + "1" * 1000000 + ", 1;"
    case "calls":
        before = ".func f0() { ret; }\n"
        for i in range(1, 10):
            before += f".func f{i}() {{ {f'call f{i - 1};' * 10} }}\n"
        body = "call f9;"
    case "recursion":
        before = ".func f() { call g; } .func g() { call f; }\n"
        body = "call f;"
    case "registers":
        body = ".reg .b32 %x<2000000>;"
    case "blocks":
        body = ".reg .b32 %x<40000>;\n"
        body += "".join(f"L{i}: mov.u32 %x{i}, 1; @%p bra L{i};\n" for i in range(40000))
    case "nesting":
        body = "{" * 100000
    case "elements":
        body = "mov.b64 %d, {" + "%r0, " * 100000 + "%r0};"
    case "modifiers":
        body = "mov" + ".u32" * 100000 + " %r0, 1;"
    case "variables":
        before = ".global .b8 x[4000000000];\n"
    case "local":
        body = ".local .b8 x[16000000]; st.local.u8 [x], 1;"
print(f""".version 8.6
.target sm_90a
.address_size 64
{before}
.visible .entry k() {{
.reg .b32 %r<4>; .reg .b64 %d; .reg .pred %p;
{body}
ret;
}}""")
