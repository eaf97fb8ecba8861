"""The demo: attention of real models on this machine, checked and timed.

Started by tools/demo.sh. For each model of test/Examples and each phase, compiles
the .mlir file, fills a paged cache, runs the program on the CPU, and compares what
comes out with NumPy and with the definition. Then compiles the models for the GPU.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import ml_dtypes
import numpy as np

import kvc

ROOT = Path(__file__).resolve().parent.parent
BF16 = np.dtype(ml_dtypes.bfloat16)

# Relative L2 error of an output row (one token, one query head) in bf16, and how
# many times that, relative to the row's largest, one element may be off; see
# docs/Testing.md.
ROW_BOUND = 5e-3
ELEMENT_FACTOR = 4
# Tokens of each sequence that are compared, with all their heads.
SAMPLED_TOKENS = 64
PHASES = ("decode", "prefill")


@dataclass(frozen=True)
class Model:
    """A model of test/Examples, and what NumPy has to know of its attention."""

    name: str
    longest: int  # tokens of a sequence
    longest_prefill: int  # new tokens of a sequence
    scale: float
    window: Union[int, None] = None
    softcap: Union[float, None] = None

    @property
    def text(self):
        return (ROOT / "test" / "Examples" / f"{self.name}.mlir").read_text()


MODELS = (
    Model("llama-3-8b", 8192, 2048, 128**-0.5),
    Model("qwen2.5-7b", 8192, 2048, 128**-0.5),
    Model("gemma-2-9b", 8192, 2048, 256**-0.5, window=4096, softcap=50.0),
    Model("gpt2", 1024, 1024, 64**-0.5),
    Model("falcon-7b", 2048, 2048, 64**-0.5),
)


def progress(text):
    """Says on a terminal what is being done."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


# --- Data ----------------------------------------------------------------------


def to_f32(values):
    """Widens bf16, which is the upper half of f32."""
    bits = np.ascontiguousarray(values).view(np.uint16).astype(np.uint32)
    return (bits << np.uint32(16)).view(np.float32)


def make_normal_table():
    """Returns 65,536 draws of a normal distribution, in bf16."""
    return np.random.default_rng(0).standard_normal(1 << 16).astype(BF16)


NORMAL = make_normal_table()


def random_rows(rng, *shape):
    """Returns normally distributed values in bf16."""
    draws = np.frombuffer(rng.bytes(2 * int(np.prod(shape))), np.uint16)
    return NORMAL[draws].reshape(shape)


def draw_lengths(model, phase, rng):
    """Returns tokens and new tokens of each sequence of a ragged batch."""
    if phase == "decode":
        kv_lens = [1, model.longest, *rng.integers(2, model.longest, 6)]
        return [int(n) for n in rng.permutation(kv_lens)], [1] * 8
    longest = model.longest_prefill
    new = [longest, longest * 3 // 8 + 5, longest // 8 + 1, longest // 64 + 1]
    earlier = [0, model.longest // 8 + 3, 0, model.longest // 8]
    return [n + e for n, e in zip(new, earlier)], new


class Problem:
    """A batch of a model: data, pages, and the arguments of @attention."""

    def __init__(self, model, phase, function):
        # Each problem has data of its own, the same in each run.
        rng = np.random.default_rng([*model.name.encode(), *phase.encode()])
        cache_type = function.cache_type
        key = cache_type.components[cache_type.index("k")]
        heads, width = key.heads, key.width
        self.model = model
        self.bytes_per_token = sum(2 * c.heads * c.width for c in cache_type.components)
        self.kv_lens, self.query_lens = draw_lengths(model, phase, rng)
        self.starts = np.concatenate([[0], np.cumsum(self.query_lens)])

        # All that no sequence owns is NaN, and so are the slots of the new tokens
        # until the program has appended them.
        pages = sum(-(-n // cache_type.page_size) for n in self.kv_lens)
        self.pool = kvc.Pool(cache_type, pages + 8, debug_fill=True, page_order_seed=1)
        self.sequences = [self.pool.sequence(n) for n in self.kv_lens]
        self.keys = [random_rows(rng, n, heads, width) for n in self.kv_lens]
        self.values = [random_rows(rng, n, heads, width) for n in self.kv_lens]
        lengths = list(zip(self.kv_lens, self.query_lens))
        for sequence, keys, values, (n, new) in zip(
            self.sequences, self.keys, self.values, lengths
        ):
            sequence.write("k", keys[: n - new])
            sequence.write("v", values[: n - new])

        tokens = int(self.starts[-1])
        self.queries = random_rows(rng, tokens, *function.args[0].shape[1:])
        self.new_keys, self.new_values = (
            np.concatenate([rows[n - new :] for rows, (n, new) in zip(stored, lengths)])
            for stored in (self.keys, self.values)
        )
        self.batch = kvc.Batch.from_sequences(self.sequences, self.query_lens)
        self.out = np.full(self.queries.shape, np.nan, BF16)
        self.sampled = [self._sample(rng, new) for new in self.query_lens]

    @staticmethod
    def _sample(rng, count):
        """Returns new tokens of a sequence, the first and the last among them."""
        if count <= SAMPLED_TOKENS:
            return np.arange(count)
        between = rng.choice(np.arange(1, count - 1), SAMPLED_TOKENS - 2, replace=False)
        return np.sort(np.concatenate([[0, count - 1], between]))

    @property
    def kv_bytes(self):
        """Bytes of the keys and values that some query of the batch sees, once."""
        window = self.model.window or self.model.longest
        seen = sum(min(n, window + q - 1) for n, q in zip(self.kv_lens, self.query_lens))
        return seen * self.bytes_per_token

    @property
    def operations(self):
        """Multiplications and additions of both products, over what queries see."""
        window = self.model.window or self.model.longest
        pairs = sum(
            int(np.minimum(np.arange(n - q, n) + 1, window).sum())
            for n, q in zip(self.kv_lens, self.query_lens)
        )
        _, query_heads, width = self.queries.shape
        return 4 * pairs * query_heads * width

    def run(self, function):
        function(
            self.queries,
            self.new_keys,
            self.new_values,
            self.pool.view(),
            self.batch,
            out=self.out,
        )


# --- Two ways to the right answer ------------------------------------------------


def numpy_rows(problem, index):
    """Returns the sampled rows of a sequence in float64, shape (tokens, heads, width)."""
    model, sampled = problem.model, problem.sampled[index]
    n, new = problem.kv_lens[index], problem.query_lens[index]
    position = n - new + sampled[:, None, None]
    key = np.arange(n)
    hidden = key > position
    if model.window is not None:
        hidden |= key <= position - model.window
    queries = to_f32(problem.queries[problem.starts[index] + sampled]).astype(np.float64)
    tokens, query_heads, width = queries.shape
    kv_heads = problem.keys[index].shape[1]
    queries = queries.reshape(tokens, kv_heads, -1, width)
    result = np.empty_like(queries)
    for head in range(kv_heads):
        keys, values = (
            to_f32(rows[index][:, head]).astype(np.float64)
            for rows in (problem.keys, problem.values)
        )
        scores = queries[:, head].reshape(-1, width) @ keys.T
        scores *= model.scale
        if model.softcap is not None:
            scores = model.softcap * np.tanh(scores / model.softcap)
        scores = np.where(hidden, -np.inf, scores.reshape(tokens, -1, n))
        scores -= scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores, out=scores)
        weights /= weights.sum(axis=-1, keepdims=True)
        result[:, head] = weights @ values
    return result.reshape(tokens, query_heads, width)


def definition_rows(problem, index, definition, stream):
    """Returns the same rows as the compiled definition computes them.

    Each sampled token is a sequence of its own, which ends with it.
    """
    sampled = problem.sampled[index]
    n, new = problem.kv_lens[index], problem.query_lens[index]
    rows = problem.starts[index] + sampled
    pages = np.array(problem.sequences[index].pages, np.int32)
    batch = kvc.RawBatch(
        query_start=np.arange(len(sampled) + 1),
        kv_lens=n - new + sampled + 1,
        page_ids=np.tile(pages, (len(sampled), 1)),
        slots=np.full(len(sampled), -1),  # the tokens are in the cache already
    )
    out = definition(
        problem.queries[rows],
        problem.new_keys[rows],
        problem.new_values[rows],
        problem.pool.view(),
        batch,
        stream=stream,
    )
    return to_f32(out).astype(np.float64)


def compare(got, want):
    """Returns the worst relative L2 error of a row, and whether all are within bounds."""
    error = to_f32(got).astype(np.float64) - want
    errors = np.linalg.norm(error, axis=-1) / np.linalg.norm(want, axis=-1)
    elements = np.abs(error).max(axis=-1) / np.abs(want).max(axis=-1)
    # A NaN fails both.
    within = (errors <= ROW_BOUND) & (elements <= ELEMENT_FACTOR * ROW_BOUND)
    return float(errors.max()), bool(within.all())


def check(problem, definition, executor, streams):
    """Returns the errors against NumPy and the definition, and whether both are small."""
    sequences = range(len(problem.kv_lens))

    def defined(index):
        stream = streams.pop()
        try:
            return definition_rows(problem, index, definition, stream)
        finally:
            streams.append(stream)

    # The longest first, so that the threads end at about the same time.
    order = sorted(sequences, key=lambda i: -problem.kv_lens[i] * len(problem.sampled[i]))
    futures = {index: executor.submit(defined, index) for index in order}
    got = [problem.out[problem.starts[i] + problem.sampled[i]] for i in sequences]
    by_numpy = [compare(got[i], numpy_rows(problem, i)) for i in sequences]
    by_definition = [compare(got[i], futures[i].result()) for i in sequences]
    return (
        np.max([error for error, _ in by_numpy]),
        np.max([error for error, _ in by_definition]),
        all(within for _, within in by_numpy + by_definition),
    )


# --- Times -----------------------------------------------------------------------


def measure_seconds(call, least_runs=2, least_seconds=0.15, most_runs=15):
    """Returns the times of several calls, after one that warms up."""
    call()
    times = []
    while len(times) < least_runs or (sum(times) < least_seconds and len(times) < most_runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def read_rate(program, size):
    """Returns the GB/s at which all threads read as many bytes linearly."""
    threads = kvc.default_stream().num_workers
    done = subprocess.run(
        [program, f"--bytes={size}", f"--threads={threads}", "--passes=5"],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def measure(model, phase, compiler, read_rate_program, executor, streams):
    """Returns a row of the table, and whether it is within tolerance."""
    step = f"{model.name} {phase}"
    progress(f"{step}: compiling")
    program = compiler.compile(model.text)
    definition = compiler.compile(model.text, target="definition", precision="f64")
    progress(f"{step}: filling the cache")
    problem = Problem(model, phase, program["attention"])
    progress(f"{step}: running")
    size = problem.kv_bytes
    rates, times = [read_rate(read_rate_program, size)], []
    for _ in range(2):  # what disturbs the machine disturbs both
        times += measure_seconds(lambda: problem.run(program["attention"]))
        rates.append(read_rate(read_rate_program, size))
    seconds = statistics.median(times)
    progress(f"{step}: comparing")
    by_numpy, by_definition, within = check(
        problem, definition["attention"], executor, streams
    )
    rate, read = size / seconds / 1e9, statistics.median(rates)
    row = (
        model.name,
        phase,
        f"{program.milliseconds:.0f}",
        f"{by_numpy:.2e}",
        f"{by_definition:.2e}",
        f"{problem.batch.num_tokens / seconds:,.0f}",
        f"{rate:.2f}",
        f"{read:.2f}",
        f"{rate / read:.1%}",
        f"{problem.operations / seconds / 1e9:.0f}",
        "PASS" if within else "FAIL",
    )
    return row, within


# --- PTX -------------------------------------------------------------------------


def find_ptxas():
    return shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")


def assemble(ptxas, path):
    """Returns registers and bytes of spills of each kernel, by name."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [ptxas, "-arch=sm_90a", "-v", path, "-o", os.path.join(folder, "cubin")],
            capture_output=True,
            text=True,
        )
    log = done.stdout + done.stderr
    if done.returncode != 0:
        raise RuntimeError(f"ptxas does not take {path}:\n{log}")
    kernels = re.findall(
        r"entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
        r".*?Used (\d+) registers",
        log,
        re.S,
    )
    return {name: (int(used), int(out) + int(back)) for name, out, back, used in kernels}


def write_ptx(model, compiler, folder, ptxas):
    """Returns the cells of a model's row: what became of it, and its kernels."""
    progress(f"{model.name}: PTX")
    path = folder / f"{model.name}.ptx"
    path.unlink(missing_ok=True)
    try:
        text = compiler.compile(model.text, target="gpu", emit="ptx")
    except kvc.CompileError as error:
        reason = next((m for m in error.messages if "error:" in m), error.message)
        return (model.name, "refused: " + reason.partition("error: ")[2])
    path.write_text(text)
    entries = re.findall(r"\.entry (\w+)\(", text)
    kernels = assemble(ptxas, path) if ptxas else {}
    cells = []
    for name in entries:
        short = name.removeprefix("attention_")
        cells.append(f"{short} {kernels[name][0]}/{kernels[name][1]}" if ptxas else short)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return (model.name, str(shown), ", ".join(cells))


# --- Output ----------------------------------------------------------------------


def print_table(header, rows, left=()):
    """Prints columns aligned, those of `left` to the left."""
    lines = [*header, *rows]
    columns = len(header[0])
    # The last cell of a short line may be as long as it likes.
    aligned = [line if len(line) == columns else line[:-1] for line in lines]
    widths = [max(len(line[i]) for line in aligned if i < len(line)) for i in range(columns)]
    for line in lines:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ]
        print("  ".join(cells).rstrip())


def processor():
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "unknown processor"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    build = parser.parse_args().build.resolve()
    start = time.monotonic()
    compiler = kvc.Compiler()
    workers = kvc.default_stream().num_workers
    executor = ThreadPoolExecutor(workers)
    streams = [kvc.Stream(1) for _ in range(workers)]
    target = compiler.compile(MODELS[0].text).target  # and pays what the first time costs
    print(f"{processor()}, {workers} threads, code for {target}")

    rows, passed = [], 0
    for model in MODELS:
        for phase in PHASES:
            row, within = measure(
                model, phase, compiler, build / "bin" / "kvc-read-rate", executor, streams
            )
            rows.append(row)
            passed += within
    progress("")
    print(
        "One layer's attention, bf16, pages of 64 tokens in shuffled order, NaN in all that no\n"
        "sequence owns. Errors: largest relative L2 error of an output row (one token, one\n"
        "head), at most 5e-3. Linear read: as many bytes, by as many threads, in this run."
    )
    print()
    print_table(
        [
            ("", "", "compile", "error to", "error to", "speed", "KV read", "linear read",
             "share", "products", ""),
            ("model", "phase", "ms", "float64", "definition", "tokens/s", "GB/s", "GB/s", "",
             "GFLOP/s", "result"),
        ],
        rows,
        left=(0, 1),
    )  # fmt: skip
    print()

    folder = build / "ptx"
    folder.mkdir(exist_ok=True)
    ptxas = find_ptxas()
    rows = [write_ptx(model, compiler, folder, ptxas) for model in MODELS]
    progress("")
    print("PTX for sm_90a" + ("; kernels with registers / bytes spilled:" if ptxas else ":"))
    print_table([("model", "file", "kernels")], rows, left=(0, 1, 2))
    if not ptxas:
        print("ptxas was not found on PATH or in /usr/local/cuda/bin: registers unknown.")
    print()
    total = len(MODELS) * len(PHASES)
    print(f"{passed} of {total} within tolerance, in {time.monotonic() - start:.0f} s")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
