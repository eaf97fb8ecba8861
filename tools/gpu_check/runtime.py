"""kvc's runtime (kvc-rt/runtime.h) through ctypes."""

import ctypes
from ctypes import byref, c_char, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p

import numpy as np

ABI_VERSION = 2
MAX_RANK, MAX_COMPONENTS, MAX_NAME = 6, 8, 16
DTYPES = {"f32": 1, "f16": 2, "bf16": 3}
SIZES = {"f32": 4, "f16": 2, "bf16": 2}
_DEBUG_FILL = 1


class ComponentType(ctypes.Structure):
    _fields_ = [
        ("name", c_char * MAX_NAME),
        ("heads", c_int32),
        ("width", c_int32),
        ("dtype", c_int32),
        ("layout", c_int32),
    ]


class CacheType(ctypes.Structure):
    _fields_ = [
        ("page_size", c_int32),
        ("num_components", c_int32),
        ("components", ComponentType * MAX_COMPONENTS),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("shape", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
        ("rank", c_int32),
        ("dtype", c_int32),
    ]


class ComponentView(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("page_stride", c_int64),
        ("head_stride", c_int64),
        ("token_stride", c_int64),
    ]


class CacheView(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_components", c_uint32),
        ("fingerprint", c_uint64),
        ("num_pages", c_int64),
        ("components", ComponentView * MAX_COMPONENTS),
    ]


class Batch(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_sequences", c_int32),
        ("num_tokens", c_int32),
        ("max_query_len", c_int32),
        ("max_kv_len", c_int32),
        ("reserved", c_int32),
        ("query_start", c_void_p),
        ("kv_lens", c_void_p),
        ("page_ids", c_void_p),
        ("page_start", c_void_p),
        ("page_stride", c_int64),
        ("num_page_ids", c_int64),
        ("slots", c_void_p),
        ("positions", c_void_p),
    ]


class PoolOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("num_pages", c_int64),
        ("num_layers", c_int32),
        ("reserved", c_int32),
        ("page_order_seed", c_uint64),
        ("device", c_void_p),
    ]


class Bounds(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("max_sequences", c_int32),
        ("max_tokens", c_int32),
        ("max_query_len", c_int32),
        ("max_kv_len", c_int32),
        ("num_workers", c_int32),
    ]


class CallError(RuntimeError):
    """A call of the runtime did not succeed."""


class Runtime:
    """The library, with one device and one stream of it.

    Parameters
    ----------
    path : str
        libkvc_rt.so.
    driver : str
        The driver's library, as kvc_device_create_cuda takes it.
    """

    def __init__(self, path, driver):
        self.library = ctypes.CDLL(str(path))
        self.library.kvc_last_message.restype = c_char_p
        for name in ("kvc_batch_view", "kvc_stream_native"):
            getattr(self.library, name).restype = c_void_p
        for name in ("kvc_pool_release", "kvc_batch_release", "kvc_event_release"):
            getattr(self.library, name).restype = None
        self.device, self.stream = c_void_p(), c_void_p()
        self.call("kvc_device_create_cuda", driver.encode(), c_int32(0), byref(self.device))
        self.call("kvc_stream_create", self.device, byref(self.stream))

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise CallError(f"{name}: {self.library.kvc_last_message().decode()}")

    @property
    def native_stream(self):
        """The CUstream."""
        return self.library.kvc_stream_native(self.stream)

    def allocate(self, size):
        data = c_void_p()
        self.call("kvc_device_allocate", self.device, c_uint64(size), byref(data))
        return data.value

    def upload(self, array):
        """Returns the address of a copy of an array; null for an empty one."""
        address = self.allocate(array.nbytes)
        if array.nbytes:
            self.write(address, array)
        return address

    def write(self, address, array):
        data, size = c_void_p(array.ctypes.data), c_uint64(array.nbytes)
        self.call("kvc_device_upload", self.device, c_void_p(address), data, size)

    def read(self, address, array):
        if array.nbytes:
            data, size = c_void_p(array.ctypes.data), c_uint64(array.nbytes)
            self.call("kvc_device_download", self.device, data, c_void_p(address), size)
        return array

    def free(self, address):
        self.call("kvc_device_free", self.device, c_void_p(address))

    def synchronize(self):
        self.call("kvc_stream_synchronize", self.stream)


class Program:
    """A compiled program with the function @attend."""

    def __init__(self, runtime, path, query):
        self.runtime = runtime
        self.library = ctypes.CDLL(str(path))
        self.program, self.function = c_void_p(), c_uint32()
        entry = ctypes.cast(getattr(self.library, query), c_void_p)
        runtime.call("kvc_program_load", entry, byref(self.program))
        runtime.call("kvc_program_find", self.program, b"attend", byref(self.function))

    def prepare(self, sequences=None, kv_len=None):
        """Loads the code onto the device, and makes room for calls within bounds."""
        bounds = None
        if sequences is not None:
            size = ctypes.sizeof(Bounds)
            bounds = byref(Bounds(size, sequences, sequences, 1, kv_len, 0))
        arguments = self.program, self.function, self.runtime.stream, bounds
        self.runtime.call("kvc_program_prepare", *arguments)

    def run(self, arguments):
        """Launches the function; each argument is a structure or its address."""
        pointers = (c_void_p * len(arguments))(
            *[a if isinstance(a, int) else ctypes.addressof(a) for a in arguments]
        )
        call = self.program, self.function, self.runtime.stream, pointers
        self.runtime.call("kvc_program_run", *call, c_uint32(len(arguments)))

    def unload(self):
        self.runtime.call("kvc_program_unload", self.program)


class Pool:
    """A page pool on the device, for keys "k" and values "v" of one shape."""

    def __init__(self, runtime, facts, num_pages, seed, fill=True):
        self.runtime, self.facts, self.num_pages = runtime, facts, num_pages
        cache = CacheType(page_size=facts["page"], num_components=2)
        dtype = DTYPES[facts["dtype"]]
        for i, name in enumerate((b"k", b"v")):
            cache.components[i] = ComponentType(name, facts["kv_heads"], facts["width"], dtype, 0)
        options = PoolOptions(
            struct_size=ctypes.sizeof(PoolOptions),
            flags=_DEBUG_FILL if fill else 0,
            num_pages=num_pages,
            num_layers=1,
            page_order_seed=seed,
            device=runtime.device.value,
        )
        self.handle, self.view = c_void_p(), CacheView()
        runtime.call("kvc_pool_create", byref(cache), byref(options), byref(self.handle))
        runtime.call("kvc_pool_view", self.handle, c_int32(0), byref(self.view))

    def release(self):
        self.runtime.library.kvc_pool_release(self.handle)

    def sequence(self, length):
        """Creates a sequence of a length."""
        sequence = c_uint64()
        self.runtime.call("kvc_sequence_create", self.handle, byref(sequence))
        self.runtime.call("kvc_sequence_append", self.handle, sequence, c_int32(length))
        return sequence.value

    def pages(self, sequence, count):
        """Returns the page ids of a sequence that has `count`."""
        ids, found = (c_int32 * max(count, 1))(), c_int32()
        arguments = c_uint64(sequence), ids, c_int32(count), byref(found)
        self.runtime.call("kvc_sequence_pages", self.handle, *arguments)
        assert found.value == count
        return list(ids)[:count]

    @property
    def address(self):
        return self.view.components[0].data

    @property
    def num_bytes(self):
        size = SIZES[self.facts["dtype"]]
        return self.num_pages * self.view.components[0].page_stride * size

    def component(self, memory, index):
        """Returns a component as pages x heads x tokens x width of a copy of the pool."""
        view, size = self.view.components[index], SIZES[self.facts["dtype"]]
        offset = view.data - self.address
        shape = self.num_pages, self.facts["kv_heads"], self.facts["page"], self.facts["width"]
        strides = [view.page_stride * size, view.head_stride * size, view.token_stride * size, size]
        return np.ndarray(shape, np.dtype(f"u{size}"), memory, offset, strides)

    def batch(self, sequences, query_lens):
        """Returns a batch's handle; see `batch_view`, `release_batch`."""
        handle = c_void_p()
        ids = (c_uint64 * max(len(sequences), 1))(*sequences)
        lens = (c_int32 * max(len(sequences), 1))(*query_lens)
        arguments = self.handle, ids, lens, c_int32(len(sequences)), byref(handle)
        self.runtime.call("kvc_batch_create", *arguments)
        return handle

    def batch_view(self, batch):
        return self.runtime.library.kvc_batch_view(batch)

    def release_batch(self, batch):
        self.runtime.library.kvc_batch_release(batch)


def tensor(address, shape, dtype):
    """Returns a dense tensor argument over an address."""
    result = Tensor(data=address, rank=len(shape), dtype=DTYPES[dtype])
    stride = 1
    for axis in reversed(range(len(shape))):
        result.shape[axis], result.strides[axis] = shape[axis], stride
        stride *= shape[axis]
    return result
