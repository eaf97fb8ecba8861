"""kvc's kernels against NumPy in float64, and bit for bit against the emulator."""

import ctypes
import zlib
from dataclasses import dataclass

import numpy as np

from gpu_check import reference  # test/python/reference.py, which a pack has here
from gpu_check.runtime import SIZES, Batch, CallError, Pool, Program, tensor
from gpu_check.values import random_bits

#: Batches of each program that come before the others of any.
_ESSENTIAL = 2
#: Pages that belong to no sequence.
_FREE_PAGES = 3


def batches(facts, quick):
    """Yields the kv_lens of the batches that a program is checked with.

    The second one is given as a padded table of pages, the others in rows of their
    own lengths.
    """
    page, window = facts["page"], facts["window"]
    around = sorted({n for n in (page - 1, page, page + 1) if n > 0})
    yield (1, 0, *around)
    # Ends of tiles of 64 keys, and of splits of 256.
    edges = (63, 64, 65, 129) if quick else (63, 64, 65, 129, 1023, 1024, 1025, 2500)
    yield edges + ((window - 1, window, window + 1) if window else ())
    if quick:
        return
    yield ()
    yield (0, 0)
    yield tuple(1 + 37 * i % 300 for i in range(40))
    for lengths in facts["long"]:
        yield tuple(lengths)


def to_bits(values, dtype):
    """Returns the bits of f32 values in a type, rounded to nearest even."""
    if dtype == "f16":
        return values.astype(np.float16).view(np.uint16)
    if dtype == "bf16":
        bits = values.view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)).astype(
            np.uint16
        )
    return values.view(np.uint32)


def from_bits(bits, dtype):
    """Returns f32 values; exact."""
    if dtype == "f16":
        return bits.view(np.float16).astype(np.float32)
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float32)


def random_values(shape, seed, dtype):
    """Returns bits of values with variance one, the sum of four uniform ones."""
    words = random_bits(int(np.prod(shape)), seed)
    total = sum(
        (words >> np.uint64(16 * i) & np.uint64(0xFFFF)).astype(np.float64) for i in range(4)
    )
    values = ((total / 65536 - 2) * np.sqrt(3)).astype(np.float32).reshape(shape)
    return to_bits(values, dtype)


@dataclass
class Problem:
    """A batch of a program, and its data."""

    facts: dict
    kv_lens: tuple
    is_padded: bool = False

    def __post_init__(self):
        f = self.facts
        seed = f"{f['name']} {self.kv_lens}"
        self.query_lens = [min(n, 1) for n in self.kv_lens]
        self.tokens = sum(self.query_lens)
        rows = f["kv_heads"], f["width"]
        self.keys = [
            random_values((n, *rows), f"{seed} k{i}", f["dtype"])
            for i, n in enumerate(self.kv_lens)
        ]
        self.values = [
            random_values((n, *rows), f"{seed} v{i}", f["dtype"])
            for i, n in enumerate(self.kv_lens)
        ]
        queries = self.tokens, f["query_heads"], f["width"]
        self.queries = random_values(queries, f"{seed} q", f["dtype"])
        self.sinks = from_bits(random_values((f["query_heads"],), f"{seed} s", "f32"), "f32")
        self.seed = zlib.crc32(seed.encode()) | 1

    def new_rows(self, stored):
        """Returns the last row of each sequence that has one."""
        f = self.facts
        none = np.zeros((0, f["kv_heads"], f["width"]), self.queries.dtype)
        return np.concatenate([none, *[rows[-1:] for rows in stored]])

    def want(self):
        """Returns output and log-sum-exp in float64."""
        f = self.facts
        if not self.tokens:
            return np.zeros((0, f["query_heads"], f["width"])), np.zeros((0, f["query_heads"]))
        keys, values = ([from_bits(a, f["dtype"]) for a in s] for s in (self.keys, self.values))
        return reference.attention(
            [(from_bits(self.queries, f["dtype"]), keys)],
            values,
            self.query_lens,
            scale=float(np.float32(f["scale"])),
            causal=f["causal"],
            window=f["window"],
            softcap=f["softcap"],
            sinks=self.sinks if f["sinks"] else None,
        )


@dataclass
class Results:
    """What a program wrote: bits of the output, log-sum-exps, the pool's memory."""

    out: np.ndarray
    lse: np.ndarray
    memory: np.ndarray
    expected: np.ndarray  # of the memory


def run(runtime, program, problem):
    """Runs a problem in a fresh pool, of which all that nobody owns is NaN."""
    f = problem.facts
    page = f["page"]
    counts = [-(-n // page) for n in problem.kv_lens]
    pool = Pool(runtime, f, sum(counts) + _FREE_PAGES, problem.seed)
    sequences = [pool.sequence(n) for n in problem.kv_lens]
    before = np.full(pool.num_bytes, 0xFF, np.uint8)
    expected = before.copy()
    for index, stored in enumerate((problem.keys, problem.values)):
        for sequence, count, rows in zip(sequences, counts, stored):
            pages = pool.pages(sequence, count)
            # With append the program writes the last row.
            old = len(rows) - 1 if f["append"] else len(rows)
            _place(pool.component(before, index), pages, page, rows[: max(old, 0)])
            _place(pool.component(expected, index), pages, page, rows)
    runtime.write(pool.address, before)

    size = SIZES[f["dtype"]]
    shape = problem.tokens, f["query_heads"], f["width"]
    out = np.full(shape, (1 << 8 * size) - 1, np.dtype(f"u{size}"))
    lse = np.full(shape[:2], np.nan, np.float32)
    addresses = []

    def upload(array):
        addresses.append(runtime.upload(array))
        return addresses[-1]

    arguments = [tensor(upload(problem.queries), shape, f["dtype"])]
    if f["append"]:
        for stored in (problem.keys, problem.values):
            rows = problem.new_rows(stored)
            arguments.append(tensor(upload(rows), rows.shape, f["dtype"]))
    if f["sinks"]:
        arguments.append(tensor(upload(problem.sinks), problem.sinks.shape, "f32"))
    batch = None
    if problem.is_padded:
        ids = [pool.pages(s, count) for s, count in zip(sequences, counts)]
        arguments += [pool.view, _padded_batch(problem, ids, upload)]
    else:
        batch = pool.batch(sequences, problem.query_lens)
        arguments += [pool.view, pool.batch_view(batch)]
    out_address = upload(out)
    arguments.append(tensor(out_address, shape, f["dtype"]))
    if f["lse"]:
        lse_address = upload(lse)
        arguments.append(tensor(lse_address, shape[:2], "f32"))
    program.run(arguments)
    runtime.synchronize()
    runtime.read(out_address, out)
    if f["lse"]:
        runtime.read(lse_address, lse)
    memory = runtime.read(pool.address, before)
    for address in addresses:
        runtime.free(address)
    if batch:
        pool.release_batch(batch)
    pool.release()
    return Results(out, lse, memory, expected)


def _padded_batch(problem, page_ids, upload):
    """Returns a batch with a table of pages, whose unused places hold no page."""
    page, most = problem.facts["page"], max((len(ids) for ids in page_ids), default=0)
    table = np.full((len(page_ids), most), -1, np.int32)
    slots, positions = [], []
    for row, ids, kv_len in zip(table, page_ids, problem.kv_lens):
        row[: len(ids)] = ids
        if kv_len:
            positions.append(kv_len - 1)
            slots.append(ids[-1] * page + (kv_len - 1) % page)
    starts = np.concatenate([[0], np.cumsum(problem.query_lens)])
    return Batch(
        struct_size=ctypes.sizeof(Batch),
        num_sequences=len(page_ids),
        num_tokens=problem.tokens,
        max_query_len=1,
        max_kv_len=max(problem.kv_lens, default=0),
        query_start=upload(starts.astype(np.int32)),
        kv_lens=upload(np.array(problem.kv_lens, np.int32)),
        page_ids=upload(table),
        page_start=None,
        page_stride=most,
        num_page_ids=table.size,
        slots=upload(np.array(slots, np.int64)),
        positions=upload(np.array(positions, np.int32)),
    )


def _place(component, pages, page, rows):
    """Writes rows of a sequence into its pages: pages x heads x tokens x width."""
    for number, start in enumerate(range(0, len(rows), page)):
        part = rows[start : start + page]
        component[pages[number], :, : len(part)] = part.transpose(1, 0, 2)


def check(problem, results):
    """Compares results with NumPy's; raises AssertionError, else returns the worst row's error."""
    f = problem.facts
    want, want_lse = problem.want()
    got = from_bits(results.out, f["dtype"])
    reference.check_rows(got, want, f["dtype"])
    if f["lse"]:
        reference.check_lse(results.lse, want_lse)
    if results.memory.tobytes() != results.expected.tobytes():
        place = int(np.flatnonzero(results.memory != results.expected)[0])
        raise AssertionError(f"memory of the cache differs from byte {place}")
    if not got.size:
        return 0.0
    norms = np.sqrt((want**2).sum(axis=-1))
    errors = np.sqrt(((got - want) ** 2).sum(axis=-1))
    return float((errors / np.maximum(norms, 1e-30)).max())


@dataclass
class Row:
    """A line of the table: a program and a batch."""

    program: str
    lengths: tuple
    status: str  # pass, fail
    error: float = 0.0  # worst relative error of a row
    emulator: str = "-"  # how its results differ
    text: str = ""

    def as_dict(self):
        return {**self.__dict__, "lengths": list(self.lengths)}


def compare_bits(problem, one, other):
    """Says how results of two devices differ."""
    if one.out.tobytes() == other.out.tobytes() and one.lse.tobytes() == other.lse.tobytes():
        return "same bits"
    dtype = problem.facts["dtype"]
    a, b = from_bits(one.out, dtype), from_bits(other.out, dtype)
    share = (one.out != other.out).mean()
    largest = float(np.abs(a - b).max(initial=0))
    return f"{100 * share:.2f}% differ, by {largest:.1e} at most"


def check_all(entries, folder, device, emulator, quick, out_of_time, say):
    """Checks all programs with their first batches, then with the others; returns Rows."""
    rows = []
    chosen = [list(enumerate(batches(entry, quick))) for entry in entries]
    for what in (slice(_ESSENTIAL), slice(_ESSENTIAL, None)):
        for entry, numbered in zip(entries, chosen):
            if not numbered[what]:
                continue
            new = list(check_program(entry, folder, device, emulator, numbered[what], out_of_time))
            passed = sum(row.status == "pass" for row in new)
            say(f"kernels of {entry['name']}: {passed} of {len(new)} batches pass")
            rows += new
    return rows


def check_program(entry, folder, device, emulator, numbered, out_of_time, emulated_tokens=12000):
    """Yields a Row for each batch of a program.

    Parameters
    ----------
    entry : dict
        Of the manifest.
    device : Runtime
    emulator : Runtime or None
        What the device's bits are compared with.
    numbered : list of (int, tuple)
        Some of `batches`, with their numbers.
    out_of_time : callable
    emulated_tokens : int
        Batches with more tokens are left out on the emulator.
    """
    runtimes = [device] + ([emulator] if emulator else [])
    programs = []
    try:
        for runtime in runtimes:
            programs.append(Program(runtime, folder / entry["library"], entry["query"]))
        for number, lengths in numbered:
            if out_of_time():
                yield Row(entry["name"], lengths, "left out", text="no time left")
                continue
            problem = Problem(entry, lengths, is_padded=number == 1)
            yield _check_batch(problem, runtimes, programs, emulated_tokens)
    except CallError as error:
        yield Row(entry["name"], (), "fail", text=str(error))
    for program in programs:
        program.unload()


def _check_batch(problem, runtimes, programs, emulated_tokens):
    row = Row(problem.facts["name"], problem.kv_lens, "pass")
    try:
        results = run(runtimes[0], programs[0], problem)
        row.error = check(problem, results)
        if len(runtimes) > 1 and sum(problem.kv_lens) > emulated_tokens:
            row.emulator = "too long"
        elif len(runtimes) > 1:
            emulated = run(runtimes[1], programs[1], problem)
            row.emulator = compare_bits(problem, results, emulated)
            check(problem, emulated)
    except (AssertionError, CallError) as error:
        row.status, row.text = "fail", str(error)
    return row
