"""Every combination of quantised caches, each once, against float64.

The product of what keys and values hold, scales and their type, zero points, query heads
a KV head, phases, targets with their tiers, widths and pages. Rows are of bf16, in widths
that are and are not a multiple of a group, on pages of a power of two and of none; the
pairwise set of test_quantized.py has the other widths, pages, layouts and types of rows.
Takes about two hours of two cores.

  PYTHONPATH=build/python build/venv/bin/python test/python/quantized_product.py --jobs=2
"""

import argparse
import itertools
import multiprocessing
import os
import sys
import time

import kvc
from targets import DEFINITIONS, DEVICES, HOST_TIERS, target
from test_quantized import AXES, case_of, check_row, is_valid, name_of

ELEMENTS = ("bf16", "f8E4M3FN", "f8E5M2", "i8", "i4")
TARGETS = (
    DEFINITIONS[1],
    *(target(target="cpu", tier=tier, layout="packed") for tier in HOST_TIERS),
    *DEVICES,
)
PRODUCT = {
    **AXES, "k": ELEMENTS, "v": ELEMENTS, "rows": ("bf16",), "group": (1, 4), "width": (64, 80),
    "page": (16, 48), "target": TARGETS,
}  # fmt: skip
#: Rows that one process takes at a time.
CHUNK = 60


def all_rows():
    """Returns the valid rows, those that come to the same once; phases of a case in turn."""
    names = [name for name in PRODUCT if name != "phase"] + ["phase"]
    rows = {}
    for values in itertools.product(*(PRODUCT[name] for name in names)):
        row = dict(zip(names, values))
        if is_valid(row):
            rows.setdefault((case_of(row).text, row["target"], row["phase"]), row)
    return list(rows.values())


def check_rows(rows):
    """Returns how many rows were checked, and what was wrong with which."""
    streams, faults = {}, []

    def stream_of(where):
        if where.device not in streams:
            is_cpu = where.device == "cpu"
            device = None if is_cpu else kvc.Device(where.device)
            streams[where.device] = kvc.Stream(1) if is_cpu else kvc.Stream(device=device)
        return streams[where.device]

    for row in rows:
        try:
            check_row(row, stream_of)
        except Exception as error:  # the others are still worth knowing
            faults.append(f"{name_of(row)}: {error}")
    return len(rows), faults


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="processes (as many as cores)")  # fmt: skip
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="take each Nth chunk of rows only (1)")  # fmt: skip
    parser.add_argument("--first", type=int, default=0, metavar="N",
                        help="leave the first N rows out, as an earlier run had them (0)")  # fmt: skip
    parser.add_argument("--target", action="append", default=[], metavar="NAME",
                        help="take only this target, or several (all)")  # fmt: skip
    options = parser.parse_args()
    names = list(map(str, TARGETS))
    if unknown := set(options.target) - set(names):
        parser.error(f"expected targets of {', '.join(names)}, got {', '.join(unknown)}")
    names = options.target or names
    rows = [row for row in all_rows()[options.first :] if str(row["target"]) in names]
    chunks = [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)][:: options.every]
    total, done, failed, start = sum(map(len, chunks)), 0, 0, time.monotonic()
    print(f"{total:,} of {len(rows):,} combinations on {', '.join(names)}", flush=True)
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for number, (count, faults) in enumerate(pool.imap_unordered(check_rows, chunks), 1):
            done, failed = done + count, failed + len(faults)
            print(*faults, sep="\n", end="\n" * bool(faults))
            if number % 10 == 0 or done == total:
                seconds = time.monotonic() - start
                print(f"{done:,} of {total:,}, {failed} failed, {seconds:.0f} s, "
                      f"about {seconds / done * (total - done):.0f} s left", flush=True)  # fmt: skip
    if failed:
        sys.exit(f"failed: {failed:,} of {total:,} combinations")


if __name__ == "__main__":
    main()
