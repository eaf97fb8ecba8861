"""Compares what kvc-plan prints of a schedule's shared memory with the kernel's attribute."""

import re
import subprocess
import sys

PIPELINE = "builtin.module(kvc-plan{cluster=1 print=1},convert-kvc-to-kvtile)"
STORED = ("bf16", "i8 scale<f32>", "f8E4M3FN scale<f16>", "i4 scale<f32, group = 64, zero_point>")
#: Query and KV heads, and widths of keys and values; without these, of a latent.
SHAPES = (
    (32, 8, 128, 128), (16, 1, 64, 64), (71, 1, 64, 64), (12, 4, 72, 40), (6, 2, 80, 112),
    (8, 2, 256, 256), (16, 1, 272, 0), (40, 1, 320, 0), (128, 1, 448, 0), (16, 1, 512, 0),
)  # fmt: skip


def make_text(stored, heads, kv_heads, width, value):
    def rows(columns):
        return f"tensor<?x{heads}x{columns}xbf16>"

    if value:
        components = {"k": (width, stored), "v": (value, stored)}
    else:
        components = {"c": (width, stored), "r": (64, "bf16")}
    terms = {name: of for name, of in components.items() if name != "v"}
    cache = ", ".join(f"{name}: {kv_heads}x{w}x{s}" for name, (w, s) in components.items())
    inputs = ", ".join(f"%q_{name}: {rows(w)}" for name, (w, _) in terms.items())
    out = rows(value or width)
    return (
        f"!cache = !kvc.cache<page = 16, {cache}>\n"
        f"func.func @f({inputs}, %cache: !cache, %batch: !kvc.batch) -> {out} {{\n"
        f"  %o = kvc.attention %cache at %batch\n"
        f"      terms({', '.join(f'%q_{name} * {name}' for name in terms)})\n"
        f"      value({'v' if value else 'c'}) score [#kvc.causal] {{scale = 1.0 : f32}}\n"
        f"      : !cache, {', '.join(rows(w) for w, _ in terms.values())} -> {out}\n"
        f"  return %o : {out}\n}}\n"
    )


faults = compared = 0
for stored in STORED:
    for shape in SHAPES:
        result = subprocess.run(
            ["kvc-opt", "-", f"-pass-pipeline={PIPELINE}"],
            input=make_text(stored, *shape),
            capture_output=True,
            text=True,
        )
        if result.returncode:
            faults += 1
            print(f"{stored} {shape}: {result.stderr}")
            continue
        text = result.stdout + result.stderr
        for phase in ("decode", "prefill"):
            chosen = re.search(rf"@f, {phase} on .*?\n *form .*\n *chosen (.*)", text)[1].split()
            kernel = re.search(rf"@f_attention_{phase}\(.*?shared_bytes = (\d+)", text)[1]
            compared += 1
            if chosen[-4] != kernel:
                faults += 1
                print(f"{stored} {shape}, {phase}: planned {chosen[-4]} bytes, got {kernel}")
print(f"{compared} compared, {faults} faults")
sys.exit(1 if faults or compared != 2 * len(STORED) * len(SHAPES) else 0)
