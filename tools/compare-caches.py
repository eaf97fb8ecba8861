#!/usr/bin/env python3
"""Times decode on the CPU over caches of several types, in turn, or counts it on the GPU.

  tools/compare-caches.py                        the types below, on 1 and 2 threads
  tools/compare-caches.py --threads 1 --tokens 4096 --cache 'i8 scale<f16, group = 32>'
  tools/compare-caches.py --count                what GPU kernels do, on the emulator

Llama 3 8B's attention: 32 query and 8 KV heads of width 128, queries and output in bf16.
Each repetition calls every cache once, so that what else the machine does meets all of
them; the figures are medians. Codes are random, scales all equal. The first type, with the
tier that is fastest for it, is what the others are compared with. What is counted is the
whole call, work list and merge included; read bytes are sectors of 32, needed ones keys, values, scales, queries and page
ids, each once.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "build" / "python")]
TYPES = ["bf16", "f8E4M3FN scale<f32, token>", "i8 scale<f32, token>", "i4 scale<f32, token>"]
QUERY_HEADS, KV_HEADS, WIDTH = 32, 8, 128


def positive(text):
    """Returns a whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {value}")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=positive, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--tokens", type=positive,
                        help="of each sequence (32768; 4096 with --count)")  # fmt: skip
    parser.add_argument("--sequences", type=positive, nargs="+", default=[4], metavar="N",
                        help="of the batch, or batches with --count (4)")  # fmt: skip
    parser.add_argument("--page", type=positive, default=64, help="tokens of a page (64)")
    parser.add_argument("--repetitions", type=positive, default=9, help="medians are of (9)")
    parser.add_argument("--cache", action="append", metavar="TYPE",
                        help="element and scales of keys and values, in place of those above; "
                        "may be given several times")  # fmt: skip
    parser.add_argument("--tier", nargs="+", default=[None],
                        help="instructions of the CPU's kernels, as kvc-translate has them; each "
                        "cache is timed with each (the best of this machine)")  # fmt: skip
    parser.add_argument("--count", action="store_true",
                        help="count instructions and bytes on the emulator")  # fmt: skip
    parser.add_argument("--split", type=positive, metavar="KEYS",
                        help="of a work item, or what they are a multiple of; with --count")  # fmt: skip
    arguments = parser.parse_args()
    if len(arguments.sequences) > 1 and not arguments.count:
        parser.error("expected one number of --sequences without --count")
    if arguments.tier != [None] and arguments.count:
        parser.error("expected no --tier with --count, which counts GPU kernels")
    arguments.tokens = arguments.tokens or (4096 if arguments.count else 32768)
    return arguments


class Decode:
    """A compiled decode step and its arguments, over a cache of one type."""

    def __init__(self, stored, sequences, arguments, device=None, tier=None):
        import numpy as np

        import kvc

        self.stored, self.name = stored, f"{stored}, {tier}" if tier else stored
        component = f"{KV_HEADS}x{WIDTH}x{stored}"
        rows = f"tensor<?x{QUERY_HEADS}x{WIDTH}xbf16>"
        self.function = kvc.Compiler().compile(
            f"!cache = !kvc.cache<page = {arguments.page}, k: {component}, v: {component}>\n"
            f"func.func @decode(%q: {rows}, %cache: !cache, %batch: !kvc.batch) -> {rows} {{\n"
            f"  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]\n"
            f"      {{scale = 0.08838834764 : f32}} : !cache, {rows} -> {rows}\n"
            f"  return %o : {rows}\n}}\n",
            target="gpu" if device else "cpu",
            **({"split": arguments.split} if arguments.split else {}),
            **({"tier": tier} if tier else {}),
        )["decode"]
        cache_type = self.function.cache_type
        pages = sequences * -(-arguments.tokens // arguments.page)
        pool = kvc.Pool(cache_type, pages, page_order_seed=1, device=device)
        view, rng = pool.view(), np.random.default_rng(0)
        self.bytes, tokens = 0, sequences * arguments.tokens
        for array in cache_type.components:
            memory = view._copy(array.name) if device else view.memory(array.name)
            if array.layout != "static":
                size = kvc.dtypes.to_numpy(array.dtype).itemsize
                self.bytes += tokens * array.heads * array.width * size
            if array.name.endswith((".scale", ".zero")):
                memory[...] = 0.01
            else:
                self.fill(memory, rng)
            if device:
                view._update(array.name, memory)
        batch = kvc.Batch.from_sequences(
            [pool.sequence(arguments.tokens) for _ in range(sequences)], [1] * sequences
        )
        query = rng.standard_normal((sequences, QUERY_HEADS, WIDTH), np.float32)
        query = query.astype(kvc.dtypes.to_numpy("bf16"))
        self.needed = self.bytes + query.nbytes + 4 * pages
        self.arguments, self.out = (query, view, batch), np.empty_like(query)

    @staticmethod
    def fill(memory, rng):
        """Fills keys or values with random numbers, of codes all but those that are NaN."""
        import numpy as np

        for page in memory:
            if page.itemsize > 1:
                page[...] = rng.standard_normal(page.shape, np.float32).astype(page.dtype)
            else:  # no code of a float is NaN without this bit
                codes = rng.integers(0, 256, page.shape, np.uint8) & 0xBF
                page[...] = codes.view(page.dtype)

    def time(self, stream):
        """Returns the seconds of a call."""
        start = time.perf_counter()
        self.function(*self.arguments, out=self.out, stream=stream)
        return time.perf_counter() - start


    def count(self, stream, path):
        """Returns the warp instructions of a call, and the bytes that it reads."""
        with mock.patch.dict(os.environ, KVC_EMULATOR=f"copies=lazy,counters={path}"):
            self.function(*self.arguments, out=self.out, stream=stream)
        launches = [json.loads(line)["counters"] for line in path.read_text().splitlines()]
        path.unlink()
        return (
            sum(launch["warp_instructions"] for launch in launches),
            32 * sum(x[name]["sectors"] for x in launches for name in ("global_loads", "copies")),
        )


def count(types, arguments):
    import kvc

    device = kvc.Device("emulator")
    stream = kvc.Stream(device=device)
    print(f"decode of {arguments.tokens} tokens a sequence, pages of {arguments.page}, on the emulator")
    print("warp instructions for 1,024 elements of keys and values, how many times those of the first")
    print("type, and read / needed bytes:")
    print(f"{'sequences':>9} {'instructions':>12} {'of first':>8} {'bytes':>6}  cache")
    for sequences in arguments.sequences:
        elements = sequences * arguments.tokens * KV_HEADS * 2 * WIDTH
        first = None
        for stored in types:
            decode = Decode(stored, sequences, arguments, device)
            with tempfile.TemporaryDirectory() as folder:
                instructions, read = decode.count(stream, pathlib.Path(folder) / "counters")
            first = first or instructions
            print(f"{sequences:9} {instructions / elements * 1024:12.1f} {instructions / first:8.2f} "
                  f"{read / decode.needed:6.3f}  {stored}", flush=True)  # fmt: skip


def compare(types, arguments):
    import kvc

    (sequences,) = arguments.sequences
    decodes = [
        Decode(stored, sequences, arguments, tier=tier)
        for stored in types
        for tier in arguments.tier
    ]
    tokens = sequences * arguments.tokens
    print(f"decode of {sequences} x {arguments.tokens} tokens, pages of {arguments.page}, "
          f"medians of {arguments.repetitions}")  # fmt: skip
    print("GB/s of codes and scales, Mtoken/s and how many times faster than the first type, and than")
    print("the first number of threads:")
    print(f"{'threads':>7} {'call ms':>9} {'GB/s':>6} {'Mtoken/s':>9} {'of first':>8} {'of 1 thread':>11}  cache")
    alone = {}
    for threads in arguments.threads:
        stream = kvc.Stream(threads)
        for decode in decodes:  # the first call makes the workspace
            decode.time(stream)
        rounds = [[d.time(stream) for d in decodes] for _ in range(arguments.repetitions)]
        medians = [statistics.median(times) for times in zip(*rounds)]
        first = min(s for d, s in zip(decodes, medians) if d.stored == types[0])
        for decode, seconds in zip(decodes, medians):
            alone.setdefault(decode.name, seconds)
            print(f"{threads:7} {seconds * 1e3:9.2f} {decode.bytes / seconds * 1e-9:6.1f} "
                  f"{tokens / seconds * 1e-6:9.1f} {first / seconds:8.2f} "
                  f"{alone[decode.name] / seconds:11.2f}  {decode.name}", flush=True)  # fmt: skip


def main():
    arguments = parse_arguments()
    import kvc

    try:
        run = count if arguments.count else compare
        run(arguments.cache or TYPES, arguments)
    except kvc.Error as error:
        sys.exit(f"{pathlib.Path(__file__).name}: {error}")


if __name__ == "__main__":
    main()
