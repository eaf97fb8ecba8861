#!/usr/bin/env python3
"""Counts what kvc's decode kernels and Triton's have to do, on the emulator.

One decode step of Llama 3 8B's attention (32 query heads over 8 KV heads of width
128, bf16, pages of 16 tokens), by kvc and by split-KV kernels in Triton: over the same
pages, and over contiguous keys and values. All are held to float64 NumPy. Of Triton's
tiles and stages the best is shown, by warp instructions; --all shows each.

  KVC_REQUIRE=triton tools/setup.sh
  build/venv/bin/python tools/compare-triton.py

Numbers are counted, not timed (docs/Emulator.md).
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
from dataclasses import dataclass
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[1]
QUERY_HEADS, KV_HEADS, WIDTH, PAGE = 32, 8, 128, 16
SECTOR = 32
#: About as many items as an H100 has multiprocessors, so that each kernel fills one.
ITEMS = 128


@dataclass
class Counted:
    """What the launches of one kernel, merging included, came to."""

    name: str
    blocks: int = 0
    instructions: int = 0
    read_bytes: int = 0
    conflicts: int = 0

    def add(self, counters):
        self.instructions += counters["warp_instructions"]
        sectors = sum(counters[name]["sectors"] for name in ("global_loads", "copies"))
        self.read_bytes += SECTOR * sectors
        self.conflicts += sum(
            counters[name]["conflicts"]
            for name in ("shared_loads", "shared_stores", "matrix_loads", "copy_stores")
        )


def read_counted(name, path):
    """Returns the sum of the launches in a file of counters, and empties it."""
    counted, launches = Counted(name), [json.loads(line) for line in path.read_text().splitlines()]
    for launch in launches:
        counted.add(launch["counters"])
    counted.blocks = max(launch["counters"]["blocks"] for launch in launches)
    path.unlink()
    return counted


class Comparison:
    """One batch, and the kernels that attend to it."""

    def __init__(self, sequences, tokens, folder):
        from problems import Problem, gqa

        config = gqa(QUERY_HEADS, KV_HEADS, WIDTH, dtype="bf16", page=PAGE, lse=False)
        self.problem = Problem(config, [tokens] * sequences, [1] * sequences)
        self.want = self.problem.want()[0]
        chunk = -(-tokens // max(1, ITEMS // (KV_HEADS * sequences)))
        # Of whole tiles of every kernel.
        self.chunk = -(-chunk // 128) * 128
        self.counters = folder / "counters.jsonl"

    def check(self, out):
        import reference

        reference.check_rows(out, self.want, "bf16")

    def run_kvc(self):
        """Runs kvc's kernels; their pages are kept for Triton's."""
        import kvc
        from problems import Memory, run

        options = {"target": "gpu", "split": self.chunk}
        function = kvc.Compiler().compile(self.problem.config.text, **options)["attend"]
        stream = kvc.Stream(device=kvc.Device("emulator"))
        self.memory = Memory(self.problem, function.cache_type, device=stream.device)
        with mock.patch.dict(os.environ, KVC_EMULATOR=f"copies=lazy,counters={self.counters}"):
            out, _ = run(function, self.problem, stream=stream, memory=self.memory)
        self.check(out)
        return read_counted("kvc, paged", self.counters)

    def run_triton(self, kernels, variant):
        import numpy as np

        names, table = ("k", "v"), None
        if variant.kernel == "paged":
            arrays = [np.array(self.memory.view.memory(name)) for name in names]
            table = np.array([s.pages for s in self.memory.sequences], np.int32)
        else:
            stored = [np.stack(self.problem.stored[name]) for name in names]
            arrays = [array.transpose(0, 2, 1, 3) for array in stored]
        out = kernels.attend(variant, self.problem, *arrays, table, self.chunk, self.counters)
        self.check(out)
        return read_counted(str(variant), self.counters)

    @property
    def elements(self):
        """Elements of K and V that must be read."""
        return sum(self.problem.kv_lens) * KV_HEADS * 2 * WIDTH

    @property
    def needed_bytes(self):
        """Keys, values, queries and page ids, each once."""
        pages = sum(-(-n // PAGE) for n in self.problem.kv_lens)
        return 2 * self.elements + 2 * self.problem.queries[0].size + 4 * pages

    def rows(self, counted):
        """Returns the table's lines as cells."""
        for c in counted:
            yield (
                c.name,
                f"{c.blocks}",
                f"{c.instructions:,}",
                f"{c.instructions / (self.elements / 1024):.1f}",
                f"{c.read_bytes / self.needed_bytes:.3f}",
                f"{c.conflicts:,}",
            )


TITLES = (
    "kernel", "blocks", "warp instructions", "per 1,024 KV elements", "read / needed bytes",
    "bank conflicts",
)  # fmt: skip


def print_table(rows):
    rows = [TITLES, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]
        print("  ".join(cells).rstrip())


def compare(sequences, tokens, variants, show_all, folder):
    from compare_triton.triton_side import Kernels

    comparison = Comparison(sequences, tokens, folder)
    print(
        f"\n{sequences} x {tokens:,} tokens, chunks of {comparison.chunk:,} keys, "
        f"{comparison.needed_bytes:,} bytes needed"
    )
    counted, kernels = [comparison.run_kvc()], Kernels()
    for kind in ("paged", "contiguous"):
        ran = [comparison.run_triton(kernels, v) for v in variants if v.kernel == kind]
        ran.sort(key=lambda c: c.instructions)
        counted += ran if show_all else ran[:1]
    print_table(comparison.rows(counted))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="build folder (default: build)")  # fmt: skip
    parser.add_argument("--tokens", type=int, default=4096,
                        help="of each sequence, a multiple of 16 (default: 4096)")  # fmt: skip
    parser.add_argument("--sequences", default="1,4", help="batches (default: 1,4)")
    parser.add_argument("--quick", action="store_true", help="one tile and 2 stages for Triton")
    parser.add_argument("--all", action="store_true", help="show all of Triton's variants")
    options = parser.parse_args()
    if options.tokens < 16 or options.tokens % 16:
        parser.error(f"expected --tokens to be a multiple of 16, got {options.tokens}")
    folders = ("tools", "test/python", "test/Emulator/witness")
    sys.path[:0] = [str(options.build / "python"), *(str(ROOT / folder) for folder in folders)]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("KVC_BUILD_DIR", str(options.build))
        os.environ["TRITON_CACHE_DIR"] = folder + "/triton"
        from compare_triton.triton_side import VARIANTS

        variants = [v for v in VARIANTS if not options.quick or (v.block, v.stages) == (64, 2)]
        print("counted, not timed; every output agrees with float64")
        for sequences in map(int, options.sequences.split(",")):
            compare(sequences, options.tokens, variants, options.all, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
