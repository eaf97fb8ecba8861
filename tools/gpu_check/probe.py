"""A probe: a tiny kernel around one instruction, and what to hold of its results."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Callable, Optional

import numpy as np

import gpu_check.values as values

THREADS = 128
_STORED = {1: "u32", 16: "b16", 32: "b32", 64: "b64"}


@dataclass(frozen=True)
class Approximation:
    """How far an approximation may be from `function`, which is exact.

    |result - exact| <= absolute + relative * |exact|, in the units of the value.
    """

    function: Callable
    relative: float = 0.0
    absolute: float = 0.0


@dataclass(frozen=True)
class Probe:
    """A kernel of `count` threads.

    Each thread loads the sources a0, a1, ... (registers %a0 of its element), runs
    `body`, and stores the results d0, d1, .... Predicates are %pa0 and %pd0. A body
    finds its thread in %thread, the number of the element in %index, and its lane in
    %lane; %in0 and %out0 are the addresses of whole arrays, which `raw_sources`
    and `raw_results` keep from being loaded and stored.
    """

    name: str
    opcodes: tuple
    results: tuple  # kinds
    sources: tuple  # kinds, or (kind, maker)
    body: str
    count: int = 4096
    quick_count: int = 512
    declarations: str = ""
    raw_sources: frozenset = field(default_factory=frozenset)
    raw_results: frozenset = field(default_factory=frozenset)
    raw_scale: int = 1  # elements of raw arrays per thread
    cluster: int = 1  # blocks of a cluster
    version: str = "8.0"
    approximation: Optional[Approximation] = None

    def size(self, quick):
        return self.quick_count if quick else self.count

    def kind(self, index):
        source = self.sources[index]
        return source if isinstance(source, str) else source[0]

    def inputs(self, quick):
        """Returns an array for each source."""
        result = []
        for index, source in enumerate(self.sources):
            count = self.size(quick) * (self.raw_scale if index in self.raw_sources else 1)
            seed = f"{self.name} {index}"
            if isinstance(source, str):
                result.append(values.make(source, count, seed))
            else:
                result.append(source[1](count, seed).astype(values.storage(source[0])))
        return result

    def outputs(self, quick):
        """Returns arrays for the results, filled with a pattern."""
        result = []
        for index, kind in enumerate(self.results):
            count = self.size(quick) * (self.raw_scale if index in self.raw_results else 1)
            dtype = values.storage(kind)
            result.append(np.full(count, 0xA5A5A5A5A5A5A5A5 & np.iinfo(dtype).max, dtype))
        return result

    def entry(self, name):
        """Returns the PTX of the kernel, under a name."""
        arrays = [f"in{i}" for i in range(len(self.sources))]
        arrays += [f"out{i}" for i in range(len(self.results))]
        lines = [
            f".visible .entry {name}({', '.join(f'.param .u64 {a}' for a in arrays)})",
            f".maxntid {THREADS}",
            "{",
            ".reg .b32 %index, %thread, %lane, %blk;",
            ".reg .b64 %address, " + ", ".join(f"%{a}" for a in arrays) + ";",
        ]
        for letter, kinds in (("a", map(self.kind, range(len(self.sources)))), ("d", self.results)):
            for i, kind in enumerate(kinds):
                if kind == "pred":
                    lines.append(f".reg .pred %p{letter}{i}; .reg .b32 %{letter}{i};")
                else:
                    lines.append(f".reg .b{values.BITS[kind]} %{letter}{i};")
        lines += self.declarations.splitlines()
        lines += [
            "mov.u32 %thread, %tid.x;",
            "mov.u32 %blk, %ctaid.x;",
            f"mad.lo.s32 %index, %blk, {THREADS}, %thread;",
            "and.b32 %lane, %thread, 31;",
        ]
        for a in arrays:
            lines += [f"ld.param.u64 %{a}, [{a}];", f"cvta.to.global.u64 %{a}, %{a};"]
        for i in range(len(self.sources)):
            if i in self.raw_sources:
                continue
            bits = values.BITS[self.kind(i)]
            lines.append(
                f"mad.wide.u32 %address, %index, {max(bits // 8, 4 if bits == 1 else 1)}, %in{i};"
            )
            lines.append(f"ld.global.{_STORED[bits]} %a{i}, [%address];")
            if bits == 1:
                lines.append(f"setp.ne.u32 %pa{i}, %a{i}, 0;")
        lines += self.body.splitlines()
        for i, kind in enumerate(self.results):
            if i in self.raw_results:
                continue
            bits = values.BITS[kind]
            if bits == 1:
                lines.append(f"selp.u32 %d{i}, 1, 0, %pd{i};")
            lines.append(
                f"mad.wide.u32 %address, %index, {4 if bits == 1 else bits // 8}, %out{i};"
            )
            lines.append(f"st.global.{_STORED[bits]} [%address], %d{i};")
        return "\n".join([*lines, "ret;", "}", ""])

    def key(self, quick):
        """Returns what changes when the kernel or its inputs change."""
        digest = hashlib.sha256(self.entry("probe").encode())
        for array in self.inputs(quick):
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]


def header(version):
    return f".version {version}\n.target sm_90a\n.address_size 64\n"


def expand(pattern):
    """Returns what a pattern with {a,b} alternatives stands for, in order."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [
        text
        for choice in match.group(1).split(",")
        for text in expand(pattern[: match.start()] + choice + pattern[match.end() :])
    ]


def _operands(results, sources, text):
    """Returns an operand list: `text` with % before names, or all in order."""
    if text is None:
        names = [f"pd{i}" if k == "pred" else f"d{i}" for i, k in enumerate(results)]
        kinds = [s if isinstance(s, str) else s[0] for s in sources]
        names += [f"pa{i}" if k == "pred" else f"a{i}" for i, k in enumerate(kinds)]
        text = ", ".join(names)
    return re.sub(r"(?<![\w%.])(p?[ad]\d+|lane|thread|index)\b", r"%\1", text)


def simple(pattern, results, sources, operands=None, **others):
    """Returns a probe for each opcode that a pattern stands for.

    Parameters
    ----------
    pattern : str
        The opcode, with {a,b} for alternatives.
    results, sources : str
        Kinds, separated by blanks; a source may also be a pair in a list.
    operands : str, optional
        Default: results, then sources.
    """
    results = tuple(results.split())
    sources = tuple(sources.split()) if isinstance(sources, str) else tuple(sources)
    label = others.pop("label", "")
    return [
        Probe(
            name=opcode + label,
            opcodes=(opcode,),
            results=results,
            sources=sources,
            body=f"{opcode} {_operands(results, sources, operands)};",
            **others,
        )
        for opcode in expand(pattern)
    ]
