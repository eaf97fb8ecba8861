"""Times decode attention on a device, beside a copy and PyTorch's attention."""

import ctypes
import statistics
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

from gpu_check.kernels import random_values
from gpu_check.runtime import SIZES, Pool, Program, tensor

#: Bytes of keys and values above which a batch is left out.
_MOST_BYTES = 9 << 30
#: Written before each call, so that nothing of the cache is left in a level-2 cache
#: of 50 MB, and so that the host is ahead of the device.
_FLUSH_BYTES = 512 << 20
_COPY_BYTES = 2 << 30
_REPETITIONS = 15

_BATCHES = (
    (1, 1024),
    (1, 8192),
    (1, 32768),
    (1, 131072),
    (4, 8192),
    (4, 131072),
    (8, 1024),
    (8, 32768),
    (16, 8192),
    (16, 131072),
    (32, 1024),
    (32, 8192),
    (64, 1024),
    (64, 8192),
    (64, 32768),
)
_FEW_BATCHES = ((1, 32768), (16, 8192), (64, 4096))


@dataclass
class Timing:
    """A line of the table; times are medians in milliseconds, rates in GB/s."""

    program: str
    batch: int
    length: int
    megabytes: float  # of keys and values
    time: float
    spread: float  # (largest - smallest) / median
    rate: float
    share: float  # of the copy's rate
    peer: str = ""
    peer_time: Optional[float] = None
    ratio: Optional[float] = None  # peer_time / time

    def as_dict(self):
        return dict(self.__dict__)


class Clock:
    """Times what is launched on a stream, by the driver's events."""

    def __init__(self, driver, stream):
        self.driver, self.stream = driver, ctypes.c_void_p(stream)
        self.flush = driver.allocate(_FLUSH_BYTES)

    def events(self, count):
        result = [ctypes.c_void_p() for _ in range(count)]
        for event in result:
            self.driver.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        return result

    def measure(self, call, repetitions=_REPETITIONS):
        """Returns milliseconds of each of some calls, each with a cold cache."""
        for _ in range(2):
            call()
        starts, ends = self.events(repetitions), self.events(repetitions)
        for i, (start, end) in enumerate(zip(starts, ends)):
            words = ctypes.c_size_t(_FLUSH_BYTES // 4)
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


def load_torch(say):
    """Returns PyTorch if it is there and sees the device, else None with a message."""
    try:
        import torch
    except ImportError:
        say("PyTorch is not installed: its columns are left out")
        return None
    if not torch.cuda.is_available():
        say("PyTorch sees no device: its columns are left out")
        return None
    return torch


def copy_rates(driver, clock, torch):
    """Returns GB/s of copies within the device, read and written bytes together."""
    one, other = driver.allocate(_COPY_BYTES), driver.allocate(_COPY_BYTES)
    driver.fill(one, 0, _COPY_BYTES)
    size, stream = ctypes.c_size_t(_COPY_BYTES), clock.stream
    addresses = ctypes.c_uint64(other), ctypes.c_uint64(one)

    def copy():
        driver.call("cuMemcpyDtoDAsync_v2", *addresses, size, stream)

    rates = {"cuMemcpyDtoD": 2 * _COPY_BYTES / min(clock.measure(copy)) / 1e6}
    driver.free(one)
    driver.free(other)
    if torch:
        source = torch.zeros(_COPY_BYTES // 2, dtype=torch.bfloat16, device="cuda")
        target = torch.empty_like(source)
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.ExternalStream(clock.stream.value)):
            times = clock.measure(lambda: target.copy_(source))
        rates["torch copy_"] = 2 * _COPY_BYTES / min(times) / 1e6
        del source, target
        torch.cuda.empty_cache()
    return rates


def time_load(runtime, entry, folder):
    """Returns milliseconds until a program's code is on the device."""
    program = Program(runtime, folder / entry["library"], entry["query"])
    start = time.perf_counter()
    program.prepare()
    milliseconds = 1e3 * (time.perf_counter() - start)
    program.unload()
    return milliseconds


def time_decode(driver, runtime, clock, entry, folder, batch, length):
    """Returns milliseconds of calls of a program, over pages in random order."""
    page, dtype = entry["page"], entry["dtype"]
    pages = batch * -(-length // page)
    pool = Pool(runtime, entry, pages, seed=1, fill=False)
    program = Program(runtime, folder / entry["library"], entry["query"])
    addresses = []
    try:
        _fill_randomly(driver, pool.address, pool.num_bytes, dtype)
        sequences = [pool.sequence(length) for _ in range(batch)]
        handle = pool.batch(sequences, [1] * batch)
        shape = batch, entry["query_heads"], entry["width"]
        rows = batch, entry["kv_heads"], entry["width"]

        def upload(shape_of, kind):
            array = random_values(shape_of, str(shape_of), kind)
            addresses.append(runtime.upload(array))
            return tensor(addresses[-1], shape_of, kind)

        arguments = [upload(shape, dtype)]
        if entry["append"]:
            arguments += [upload(rows, dtype), upload(rows, dtype)]
        if entry["sinks"]:
            arguments.append(upload(shape[1:2], "f32"))
        arguments += [pool.view, pool.batch_view(handle), upload(shape, dtype)]
        if entry["lse"]:
            arguments.append(upload(shape[:2], "f32"))
        program.prepare(batch, length)
        times = clock.measure(lambda: program.run(arguments))
        pool.release_batch(handle)
        return times
    finally:
        for address in addresses:
            runtime.free(address)
        pool.release()
        program.unload()


@lru_cache(maxsize=None)
def _random_block(dtype):
    return random_values((4 << 20,), "block", dtype)


def _fill_randomly(driver, address, size, dtype):
    """Fills memory with a random block again and again."""
    block = _random_block(dtype)
    driver.write(address, block[: size // block.itemsize])
    done = min(size, block.nbytes)
    while done < size:
        step = min(done, size - done)
        places = ctypes.c_uint64(address + done), ctypes.c_uint64(address)
        driver.call("cuMemcpyDtoD_v2", *places, ctypes.c_size_t(step))
        done += step


def time_torch(torch, clock, entry, batch, length):
    """Returns the fastest of PyTorch's attentions and its milliseconds, or reasons."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    attention = torch.nn.functional.scaled_dot_product_attention
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[entry["dtype"]]
    width, results, reasons = entry["width"], {}, {}

    def values(heads, tokens):
        return torch.randn(batch, heads, tokens, width, dtype=dtype, device="cuda")

    q, k = values(entry["query_heads"], 1), values(entry["kv_heads"], length)
    v = values(entry["kv_heads"], length)
    torch.cuda.synchronize()
    grouped = entry["query_heads"] != entry["kv_heads"]
    backends = {
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": getattr(SDPBackend, "CUDNN_ATTENTION", None),
    }
    with torch.inference_mode(), torch.cuda.stream(torch.cuda.ExternalStream(clock.stream.value)):
        for name, backend in backends.items():
            if backend is None:
                continue

            def call():
                return attention(q, k, v, scale=entry["scale"], enable_gqa=grouped)

            try:
                with sdpa_kernel(backend):
                    results[name] = clock.measure(call)
            except (RuntimeError, TypeError) as error:
                reasons[name] = str(error).strip().splitlines()[0]
    return results, reasons


def time_all(driver, runtime, manifest, folder, quick, out_of_time, say):
    """Times everything; returns a dictionary of results."""
    clock = Clock(driver, runtime.native_stream)
    torch = load_torch(say)
    rates = copy_rates(driver, clock, torch)
    for name, rate in rates.items():
        say(f"copy by {name}: {rate:.0f} GB/s, read and written")
    best = max(rates.values())
    loads = {}
    for entry in manifest["programs"]:
        loads[entry["name"]] = time_load(runtime, entry, folder)
        say(f"load {entry['name']}: {loads[entry['name']]:.0f} ms")
    rows, left_out, failed = [], [], []
    for entry, batch, length in _choose(manifest, quick):
        what = f"{entry['name']} {batch} x {length}"
        elements = 2 * batch * length * entry["kv_heads"] * entry["width"]
        num_bytes = elements * SIZES[entry["dtype"]]
        room = driver.free_bytes // (3 if torch else 2)
        if num_bytes > min(_MOST_BYTES, room):
            left_out.append(f"{what}: {num_bytes / 1e9:.1f} GB")
            continue
        if out_of_time():
            left_out.append(f"{what}: no time left")
            continue
        try:
            times = time_decode(driver, runtime, clock, entry, folder, batch, length)
            peers = time_torch(torch, clock, entry, batch, length) if torch else ({}, {})
            if torch:
                torch.cuda.empty_cache()
        except RuntimeError as error:
            failed.append(f"{what}: {error}")
            say(failed[-1])
            continue
        rows.append(_make_row(entry, batch, length, num_bytes, times, best, *peers, say))
    clock.release()
    return {
        "copy_GB_per_s": rates,
        "load_ms": loads,
        "decode": [row.as_dict() for row in rows],
        "left_out": left_out,
        "not_timed": failed,
        "torch": torch.__version__ if torch else None,
    }


def _choose(manifest, quick):
    """Returns programs with batches and lengths: many of the first, few of the others."""
    timed = [entry for entry in manifest["programs"] if entry["timed"]]
    return [
        (entry, *size)
        for i, entry in enumerate(timed)
        for size in (_FEW_BATCHES if i or quick else _BATCHES)
    ]


@lru_cache(maxsize=None)
def _say_once(say, text):
    say(text)


def _make_row(entry, batch, length, num_bytes, times, best, peers, reasons, say):
    """Returns a Timing of kvc's times, beside the fastest of PyTorch's attentions."""
    median = statistics.median(times)
    rate = num_bytes / median / 1e6
    spread = (max(times) - min(times)) / median
    size = num_bytes / 1e6
    row = Timing(entry["name"], batch, length, size, median, spread, rate, rate / best)
    if peers:
        row.peer = min(peers, key=lambda name: statistics.median(peers[name]))
        row.peer_time = statistics.median(peers[row.peer])
        row.ratio = row.peer_time / row.time
    for name, reason in reasons.items():
        _say_once(say, f"{entry['name']}: PyTorch's {name}: {reason[:100]}")
    peer = f", {row.peer} {row.peer_time:.3f} ms" if row.peer else ""
    say(f"{row.program} {batch} x {length}: {median:.3f} ms, {rate:.0f} GB/s{peer}")
    return row
