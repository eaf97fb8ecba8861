"""Assembles the kernels of many attentions: assemble.py <ptxas> <prefix of files>.

Fails on spilled registers, on a stack, on warnings, and on the remarks C75xx, with
which ptxas says that it serialises or ignores what the code asks for and exits 0.
Prints the registers of each attention kernel.
"""

import re
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Shape:
    """An attention; `terms` are widths, and the value is `value` wide or the first term.

    `stored`: of each component what it holds, with its scales; without, `element`.
    """

    heads: int
    kv_heads: int
    terms: tuple
    value: int = 0
    element: str = "bf16"
    page: int = 16
    features: tuple = ()
    stored: tuple = ()

    @property
    def text(self):
        components = [(f"c{i}", width) for i, width in enumerate(self.terms)]
        components += [("v", self.value)] if self.value else []
        width = self.value or self.terms[0]
        rows = f"tensor<?x{self.heads}x%dx{self.element}>"
        queries = [f"%q{i}: {rows % width}" for i, width in enumerate(self.terms)]
        lse = f", tensor<?x{self.heads}xf32>" if "lse" in self.features else ""
        sinks = f" sinks(%sinks : tensor<{self.heads}xf32>)" if "sinks" in self.features else ""
        score = ["#kvc.softcap<50.0>"] * ("softcap" in self.features) + ["#kvc.causal"]
        score += ["#kvc.window<1000>"] * ("window" in self.features)
        stored = self.stored or (self.element,) * len(components)
        layout = ", ".join(
            f"{n}: {self.kv_heads}x{w}x{e}" for (n, w), e in zip(components, stored)
        )
        types = ", ".join(rows % width for width in self.terms)
        return (
            f"!cache = !kvc.cache<page = {self.page}, {layout}>\n"
            f"func.func @f({', '.join(queries)}, %cache: !cache, %batch: !kvc.batch,\n"
            f"    %sinks: tensor<{self.heads}xf32>) -> ({rows % width}{lse}) {{\n"
            f"  %o{', %lse' if lse else ''} = kvc.attention %cache at %batch\n"
            f"      terms({', '.join(f'%q{i} * c{i}' for i in range(len(self.terms)))})\n"
            f"      value({'v' if self.value else 'c0'}){sinks} score [{', '.join(score)}]\n"
            f"      {{scale = {sum(self.terms) ** -0.5} : f32}}\n"
            f"      : !cache, {types} -> {rows % width}{lse}\n"
            f"  return %o{', %lse' if lse else ''} : {rows % width}{lse}\n}}\n"
        )


ALL = ("softcap", "window", "sinks", "lse")
SHAPES = [
    Shape(32, 8, (128,), 128),
    Shape(32, 8, (128,), 128, page=1, features=ALL),
    Shape(28, 4, (128,), 128, element="f16", page=64, features=("lse",)),
    Shape(64, 8, (64,), 64, features=("sinks", "window")),
    Shape(16, 8, (256,), 256, features=("softcap", "window")),
    Shape(16, 1, (256,), 128, element="f16"),
    Shape(40, 8, (128,), 128, page=24, features=ALL),
    Shape(16, 16, (64,), 64),
    Shape(32, 2, (128,), 128, features=ALL),
    Shape(48, 2, (96,), 96),
    Shape(71, 1, (64,), 64, features=("lse",)),
    Shape(71, 1, (128,), 128, page=7, features=ALL),
    Shape(128, 1, (128,), 128),
    Shape(128, 1, (256,), 256, features=ALL),
    Shape(16, 1, (512, 64), features=("lse",)),
    Shape(128, 1, (512, 64), page=64),
    Shape(5, 1, (64, 8), element="f16", features=ALL),
    Shape(12, 4, (72,), 40),
    Shape(6, 2, (80,), 112, element="f16"),
    Shape(4, 2, (8,), 8, features=ALL),
    Shape(8, 2, (24,), 200),
    Shape(8, 2, (16, 24, 32), 48),
]
TOKEN = "{} scale<f32>"
SHAPES += [
    Shape(32, 8, (128,), 128, page=64, stored=(TOKEN.format(e),) * 2)
    for e in ("f8E4M3FN", "f8E5M2", "i8", "i4")
]
SHAPES += [
    Shape(32, 8, (128,), 128, stored=("f8E4M3FN scale<f32, tensor, static>",) * 2),
    Shape(28, 4, (128,), 128, element="f16", stored=("i8 scale<f32, head, static>",) * 2),
    Shape(32, 8, (128,), 128, stored=("i4 scale<f16, group = 32, zero_point>",) * 2),
    Shape(64, 8, (128,), 128, features=ALL, stored=("i8 scale<f32, group = 32>",) * 2),
    Shape(32, 2, (128,), 128, features=ALL, stored=(TOKEN.format("i8"), "bf16")),
    Shape(48, 2, (96,), 96, stored=(TOKEN.format("i4"),) * 2),
    Shape(32, 8, (80,), 112, stored=(TOKEN.format("i4"), "i4 scale<f32, group = 64>")),
    Shape(16, 1, (512, 64), stored=("f8E4M3FN scale<f32, group = 128>", "bf16")),
    Shape(128, 1, (512, 64), page=64, stored=("f8E4M3FN scale<f32, group = 128>", "bf16")),
    Shape(16, 8, (256,), 256, stored=(TOKEN.format("f8E4M3FN"),) * 2),
    Shape(14, 2, (192,), 128, stored=("i4 scale<f32, group = 32, zero_point>",) * 2),
    Shape(128, 8, (128,), 128, stored=("i4 scale<f32, group = 32, zero_point>",) * 2),
    Shape(8, 1, (512, 64), stored=("i4 scale<f32, group = 64, zero_point>", "bf16")),
]

_, ptxas, prefix = sys.argv
faults = []
for shape in SHAPES:
    compiled = subprocess.run(
        ["kvc-translate", "--kvc-to-ptx", "-", "-o", f"{prefix}.ptx"],
        input=shape.text,
        capture_output=True,
        text=True,
    )
    if compiled.returncode:
        faults.append(f"{shape}: {compiled.stderr}")
        continue
    log = subprocess.run(
        [ptxas, "-arch=sm_90a", "-v", f"{prefix}.ptx", "-o", f"{prefix}.cubin"],
        capture_output=True,
        text=True,
    )
    text = log.stdout + log.stderr
    kernels = re.findall(
        r"entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers",
        text,
        re.S,
    )
    registers = {name: int(used) for name, *_, used in kernels}
    print(
        f"{str(shape):150} decode {registers.get('f_attention_decode')}, "
        f"prefill {registers.get('f_attention_prefill')} registers"
    )
    faults += [
        f"{shape}: {line}"
        for line in text.splitlines()
        if re.search(r"C75\d\d|warning|error", line)
    ]
    faults += [f"{shape}: {name} spills" for name, *counts, _ in kernels if any(map(int, counts))]
    if not {"f_attention_decode", "f_attention_prefill"} <= set(registers):
        faults.append(f"{shape}: no attention kernels in the log")
print(*faults, sep="\n")
sys.exit(1 if faults else 0)
