"""Triton's kernels of kernels.py on the emulated driver."""

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare_triton import kernels
from device import Device, Empty, In, Module

#: Rows of tl.dot, at least.
MIN_ROWS = 16


@dataclass(frozen=True)
class Variant:
    """A kernel and how it is compiled."""

    kernel: str  # paged or contiguous
    block: int  # keys of a tile
    stages: int
    warps: int = 4

    def __str__(self):
        return f"Triton, {self.kernel}, {self.block} keys, {self.stages} stages"


VARIANTS = [
    Variant(kernel, block, stages)
    for kernel in ("paged", "contiguous")
    for block in (64, 128)
    for stages in (2, 3)
]


class Kernels:
    """Compiles kernels for sm_80, whose PTX the emulator runs, and runs them."""

    def __init__(self):
        import triton
        import triton.backends.compiler
        import triton.compiler

        self.triton = triton
        self.device = Device()

    def run(self, name, grid, arguments, constants, counters, **options):
        """Runs a kernel once, counted into a file; returns what it changed.

        `arguments` maps names to pairs of Triton's type and what Module.run takes.
        """
        function = getattr(kernels, name)
        names = function.arg_names
        types = {key: arguments[key][0] if key in arguments else "constexpr" for key in names}
        # Arrays are aligned to 16 bytes, and strides and lengths are multiples of 16.
        aligned = {
            (index,): [["tt.divisibility", 16]]
            for index, key in enumerate(names)
            if types[key].startswith("*") or key in ("tokens", "chunk")
        }
        source = self.triton.compiler.ASTSource(
            fn=function,
            signature=types,
            constexprs={(names.index(key),): value for key, value in constants.items()},
            attrs=aligned,
        )
        target = self.triton.backends.compiler.GPUTarget("cuda", 80, 32)
        compiled = self.triton.compile(source, target=target, options=options)
        module = Module(self.device, compiled.asm["ptx"])
        results = module.run(
            name,
            grid,
            (32 * compiled.metadata.num_warps,),
            *[arguments[key][1] for key in names if key in arguments],
            shared=compiled.metadata.shared,
            check=False,  # Threads may write one value to one place, which is a race.
            orders=(f"copies=lazy,counters={counters}",),
        )
        module.unload()
        return results

    def attend(self, variant, problem, keys, values, table, chunk, counters):
        """Returns the output of a decode problem.

        Parameters
        ----------
        variant : Variant
        problem : Problem
            All sequences have the same number of tokens, a multiple of 16.
        keys, values : array
            As the kernel takes them: the pages of the pool, or contiguous.
        table : array of int32, shape (sequences, pages)
            Page ids; only for paged kernels.
        chunk : int
            Keys of one program.
        counters : path
        """
        config, tokens, count = problem.config, problem.kv_lens[0], len(problem.kv_lens)
        kv_heads, width, _ = config.component("k")
        group = config.query_heads // kv_heads
        splits = -(-tokens // chunk)
        parts = np.zeros((count, kv_heads, splits, group, width), np.float32)
        arguments = {
            "q": ("*bf16", In(problem.queries[0])),
            "k": ("*bf16", In(keys)),
            "v": ("*bf16", In(values)),
            "parts": ("*fp32", Empty(parts.shape, np.float32)),
            "stats": ("*fp32", Empty(parts.shape[:-1], np.float32)),
            "tokens": ("i32", np.int32(tokens)),
            "factor": ("fp32", np.float32(config.exact_scale / math.log(2))),
            "chunk": ("i32", np.int32(chunk)),
        }
        constants = {
            "KV_HEADS": kv_heads,
            "GROUP": group,
            "D": width,
            "ROWS": max(MIN_ROWS, group),
            "BN": variant.block,
        }
        if variant.kernel == "paged":
            arguments["table"] = ("*i32", In(table))
            arguments["table_stride"] = ("i32", np.int32(table.shape[1]))
            constants["PAGE"] = config.page
        grid = (count, kv_heads, splits)
        parts, stats = self.run(
            variant.kernel, grid, arguments, constants, counters,
            num_warps=variant.warps, num_stages=variant.stages,
        )  # fmt: skip
        (out,) = self.run(
            "combine",
            (count * config.query_heads,),
            {
                "parts": ("*fp32", In(parts)),
                "stats": ("*fp32", In(stats)),
                "out": ("*bf16", Empty(problem.queries[0].shape, ml_dtypes.bfloat16)),
                "splits": ("i32", np.int32(splits)),
            },
            {"GROUP": group, "D": width, "SPLITS": 1 << (splits - 1).bit_length()},
            counters,
            num_warps=1,
        )
        return out
