"""Times attention on a device: decode, prefill, and over a latent cache."""

import ctypes
import statistics
import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import kvc
import kvc.dtypes
from gpu_check import peers
from gpu_check.driver import DriverError
from gpu_check.kernels import chosen_cases
from kvc._kvc import Compiled

#: Bytes of keys and values above which a batch is left out.
_MOST_BYTES = 9 << 30
_REPETITIONS = 15

#: Sequences and tokens of each, by table; of prefill all tokens are new, elsewhere one is.
#: The second list is for programs but the first of a table, and for --quick.
SIZES = {
    "decode": (
        [(1, 1024), (1, 8192), (1, 32768), (1, 131072), (4, 8192), (4, 131072), (8, 1024),
         (8, 32768), (16, 8192), (16, 131072), (32, 1024), (32, 8192), (64, 1024), (64, 8192),
         (64, 32768)],
        [(1, 1024), (1, 32768), (4, 8192), (16, 8192), (64, 4096)],
    ),
    "prefill": (
        [(1, 512), (1, 2048), (1, 8192), (1, 32768), (8, 2048), (16, 512)],
        [(1, 2048), (1, 8192), (4, 2048)],
    ),
    "codes": (
        [(1, 8192), (1, 32768), (4, 131072), (8, 32768), (16, 8192), (64, 8192), (64, 32768)],
        [(1, 32768), (8, 32768), (64, 8192)],
    ),
    "MLA": (
        [(1, 1024), (1, 8192), (1, 32768), (1, 131072), (16, 8192), (64, 1024), (64, 8192),
         (64, 32768)],
        [(1, 32768), (16, 8192), (64, 4096)],
    ),
}  # fmt: skip
#: Of the emulator, where they only show that the script works.
_EMULATED_SIZES = [(2, 64)]


@dataclass(frozen=True)
class Size:
    """What is timed: a program of a table, with so many sequences of so many tokens."""

    table: str
    case: object
    batch: int
    length: int

    def __str__(self):
        return f"{self.case.name} {self.batch} x {self.length}"

    @property
    def query_len(self):
        return self.length if self.table == "prefill" else 1

    @property
    def num_bytes(self):
        """Bytes of keys and values."""
        return self.batch * self.length * self.case.token_bytes

    @property
    def operations(self):
        """Multiplications and additions of the two products, over keys that are seen."""
        config = getattr(self.case, "config", None)  # over codes: causal, without a window
        keys = np.arange(self.length - self.query_len, self.length, dtype=np.float64) + 1
        if config and not config.causal:
            keys = np.full_like(keys, self.length)
        if config and config.window:
            keys = np.minimum(keys, config.window)
        return 2.0 * self.batch * keys.sum() * self.case.product_columns


class Clock:
    """Times what is launched on a stream, by the driver's events."""

    def __init__(self, driver, stream):
        self.driver, self.stream = driver, ctypes.c_void_p(stream)
        self.repetitions = 2 if driver.is_emulator else _REPETITIONS
        # Written before each call, so that nothing of the cache is left in a level-2
        # cache of 60 MB, and so that the host is ahead of the device.
        self.flush_bytes = (1 if driver.is_emulator else 512) << 20
        self.copy_bytes = (1 if driver.is_emulator else 2048) << 20
        self.flush = driver.allocate(self.flush_bytes)

    def events(self, count):
        result = [ctypes.c_void_p() for _ in range(count)]
        for event in result:
            self.driver.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        return result

    def measure(self, call):
        """Returns milliseconds of each of some calls, each with a cold cache."""
        for _ in range(2):
            call()
        starts, ends = self.events(self.repetitions), self.events(self.repetitions)
        for i, (start, end) in enumerate(zip(starts, ends)):
            words = ctypes.c_size_t(self.flush_bytes // 4)
            fill = ctypes.c_uint64(self.flush), ctypes.c_uint(i), words
            self.driver.call("cuMemsetD32Async", *fill, self.stream)
            self.driver.call("cuEventRecord", start, self.stream)
            call()
            self.driver.call("cuEventRecord", end, self.stream)
        self.driver.call("cuStreamSynchronize", self.stream)
        result = []
        for start, end in zip(starts, ends):
            value = ctypes.c_float()
            self.driver.call("cuEventElapsedTime", ctypes.byref(value), start, end)
            result.append(value.value)
            self.driver.call("cuEventDestroy_v2", start)
            self.driver.call("cuEventDestroy_v2", end)
        return result

    def release(self):
        self.driver.free(self.flush)


def copy_rate(driver, clock):
    """Returns GB/s of a copy within the device, read and written bytes together."""
    one, other = driver.allocate(clock.copy_bytes), driver.allocate(clock.copy_bytes)
    driver.fill(one, 0, clock.copy_bytes)
    size = ctypes.c_size_t(clock.copy_bytes)
    addresses = ctypes.c_uint64(other), ctypes.c_uint64(one)

    def copy():
        driver.call("cuMemcpyDtoDAsync_v2", *addresses, size, clock.stream)

    rate = 2 * clock.copy_bytes / max(min(clock.measure(copy)), 1e-6) / 1e6
    driver.free(one)
    driver.free(other)
    return rate


# --- kvc's kernels -------------------------------------------------------------


class Timed:
    """A program that is timed, on a stream of its own."""

    def __init__(self, driver, stream, folder, entry):
        self.driver, self.stream = driver, stream
        self.device = stream.device
        program = kvc.Program(Compiled(folder / entry["library"], entry["query"]))
        self.function = program["attend"]
        self.program = self.function._program

    def load(self):
        """Returns milliseconds until the code is on the device."""
        start = time.perf_counter()
        self.program.prepare(0, self.stream._stream)
        return 1e3 * (time.perf_counter() - start)

    def measure(self, clock, size):
        """Returns milliseconds of calls, over pages in random order."""
        config, tokens = getattr(size.case, "config", None), size.batch * size.query_len
        pages = size.batch * -(-size.length // size.case.page)
        pool = kvc.Pool(self.function.cache_type, pages, page_order_seed=1, device=self.device)
        view = pool.view()
        self._fill(view)
        sequences = [pool.sequence(size.length) for _ in range(size.batch)]
        batch = kvc.Batch.from_sequences(sequences, [size.query_len] * size.batch, pool)

        def array(heads, width, dtype):
            kind = kvc.dtypes.to_numpy(dtype)
            result = kvc.DeviceArray(self.device, (tokens, heads, width), kind)
            result._memory.upload(0, _random_block(dtype, tokens * heads * width))
            return result

        inputs = [array(*rows) for rows in size.case.inputs]
        has_sinks = config and config.sinks
        sinks = [self.device.put(np.zeros(config.query_heads, np.float32))] if has_sinks else []
        results = [
            kvc.DeviceArray(self.device, (tokens, *shape), kvc.dtypes.to_numpy(dtype))
            for shape, dtype in size.case.results
        ]
        arguments = [a._tensor for a in inputs] + [view._view, batch._batch]
        arguments += [a._tensor for a in (*sinks, *results)]
        self.program.prepare(
            0, self.stream._stream, max_sequences=size.batch, max_tokens=tokens,
            max_query_len=size.query_len, max_kv_len=size.length,
        )  # fmt: skip
        times = clock.measure(lambda: self.program.launch(0, self.stream._stream, arguments))
        self.stream._stream.synchronize()
        return times

    def _fill(self, view):
        """Fills a pool with a random block again and again."""
        structure, component = view._view.structure, view.cache_type.components[0]
        first = structure.components[0]
        size = view.num_pages * first.page_stride * kvc.dtypes.to_numpy(component.dtype).itemsize
        block = _random_block(component.dtype)
        self.driver.write(first.data, block[: size // block.itemsize])
        done = min(size, block.nbytes)
        while done < size:
            step = min(done, size - done)
            places = ctypes.c_uint64(first.data + done), ctypes.c_uint64(first.data)
            self.driver.call("cuMemcpyDtoD_v2", *places, ctypes.c_size_t(step))
            done += step


@lru_cache(maxsize=None)
def _block(dtype):
    rng, element = np.random.default_rng(0), kvc.dtypes.to_numpy(dtype)
    if element.itemsize == 1:
        # Scales, which lie among codes, are small positive numbers of these bytes too.
        return rng.integers(0x34, 0x3C, 8 << 20, np.uint8).view(element)
    return rng.standard_normal(4 << 20, np.float32).astype(element)


def _random_block(dtype, count=None):
    """Returns random values, the same ones again and again if there are many."""
    block = _block(dtype)
    return block if count is None else np.resize(block, count)


# --- All of it -------------------------------------------------------------------


def choose(manifest, quick, is_emulator):
    """Returns the sizes to time: many of the first program of a table, few of the others."""
    result, tables = [], set()
    for case, entry in chosen_cases(manifest):
        if not case.timed:
            continue
        sizes = SIZES[case.timed][1 if quick or case.timed in tables else 0]
        tables.add(case.timed)
        for size in _EMULATED_SIZES if is_emulator else sizes:
            result.append((Size(case.timed, case, *size), entry))
    return result


def make_row(size, times, copy, found):
    """Returns a line of a table: what kvc and each peer took."""
    median = statistics.median(times)
    row = {
        "table": size.table,
        "program": size.case.name,
        "batch": size.batch,
        "length": size.length,
        "megabytes": size.num_bytes / 1e6,
        "time": median,  # ms
        "spread": (max(times) - min(times)) / median,
        "rate": size.num_bytes / median / 1e6,  # GB/s
        "share": size.num_bytes / median / 1e6 / copy,
        "teraflops": size.operations / median / 1e9,
        "peers": {name: statistics.median(values) for name, values in found.items()},
    }
    return row


def time_all(driver, stream, manifest, folder, quick, out_of_time, say, keep):
    """Times everything; returns a dictionary of results.

    `keep` is called with what there is so far, again and again.
    """
    clock = Clock(driver, stream._stream.native)
    others = peers.Peers(clock, say) if not driver.is_emulator else peers.NoPeers()
    rates = {"cuMemcpyDtoD": copy_rate(driver, clock), **others.rates()}
    copy = max(rate for name, rate in rates.items() if not name.startswith("matmul"))
    for name, rate in rates.items():
        say(f"{name}: {rate:.0f}")
    loads, rows, left_out, failed, timed = {}, [], [], [], {}
    results = {
        "rates": rates,
        "load_ms": loads,
        "rows": rows,
        "left_out": left_out,
        "not_timed": failed,
        "peers": others.versions,
    }
    for size, entry in choose(manifest, quick, driver.is_emulator):
        if size.num_bytes > min(_MOST_BYTES, driver.free_bytes // 3):
            left_out.append(f"{size}: {size.num_bytes / 1e9:.1f} GB")
            continue
        if out_of_time():
            left_out.append(f"{size}: no time left")
            continue
        try:
            if entry["name"] not in timed:
                timed[entry["name"]] = Timed(driver, stream, folder, entry)
                loads[entry["name"]] = timed[entry["name"]].load()
            times = timed[entry["name"]].measure(clock, size)
        except (kvc.Error, DriverError) as error:
            failed.append(f"{size}: {error}")
            say(failed[-1])
            continue
        row = make_row(size, times, copy, others.measure(size))
        rows.append(row)
        beside = "".join(f", {name} {value:.3f} ms" for name, value in row["peers"].items())
        say(f"{size}: {row['time']:.3f} ms, {row['rate']:.0f} GB/s, "
            f"{row['teraflops']:.1f} TFLOP/s{beside}")  # fmt: skip
        keep(results)
    clock.release()
    return results
