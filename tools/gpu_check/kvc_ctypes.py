"""The part of the package kvc that is C++ elsewhere, here over the runtime alone.

A pack has the package's other modules beside this one, which there is called _kvc: the
checks use caches, batches and programs as the tests do, without the compiler. Programs
come from shared libraries (`Compiled`). Only devices have memory; arrays of the host are
copied for each call.
"""

import ctypes
import math
from ctypes import byref, c_int32, c_int64, c_uint32, c_uint64, c_void_p

import numpy as np

from gpu_check import abi

STATIC = 3  # KVC_LAYOUT_STATIC

_runtime = None


def load_runtime(path):
    """Chooses the runtime, which comes before everything else here."""
    global _runtime
    _runtime = abi.load_library(path)


def call(name, *arguments):
    """Calls a function of the runtime that returns a status."""
    status = getattr(_runtime, name)(*arguments)
    if status != 0:
        from kvc.errors import Error

        raise Error(status, f"{name}: {_runtime.kvc_last_message().decode()}")


def compiler_version():
    return "none"


def runtime_version():
    return _runtime.kvc_runtime_version().decode()


def _element_bytes(dtype):
    return _runtime.kvc_dtype_size(c_int32(dtype))


# --- Devices -----------------------------------------------------------------


def _name(library):
    return None if library is None else library.encode()


def device_count(library):
    count = c_int32()
    call("kvc_device_count", _name(library), byref(count))
    return count.value


class Device:
    def __init__(self, library, ordinal):
        self.handle = c_void_p()
        call("kvc_device_create_cuda", _name(library), c_int32(ordinal), byref(self.handle))

    def info(self):
        info = abi.DeviceInfo()
        call("kvc_device_info", self.handle, byref(info))
        return {
            "name": info.name.decode(),
            "num_multiprocessors": info.num_multiprocessors,
            "compute_capability": (info.compute_major, info.compute_minor),
            "driver_version": info.driver_version,
            "total_memory": info.total_memory,
        }

    def synchronize(self):
        call("kvc_device_synchronize", self.handle)

    def upload(self, address, array):
        if array.nbytes:
            data, size = c_void_p(array.ctypes.data), c_uint64(array.nbytes)
            call("kvc_device_upload", self.handle, c_void_p(address), data, size)

    def download(self, address, array):
        if array.nbytes:
            data, size = c_void_p(array.ctypes.data), c_uint64(array.nbytes)
            call("kvc_device_download", self.handle, data, c_void_p(address), size)


class DeviceMemory:
    """Memory of a device, freed with this object."""

    def __init__(self, device, size):
        self.device, self.size = device, size
        data = c_void_p()
        call("kvc_device_allocate", device.handle, c_uint64(size), byref(data))
        self.address = data.value

    def __del__(self):
        if getattr(self, "address", None):
            _runtime.kvc_device_free(self.device.handle, c_void_p(self.address))

    def upload(self, offset, array):
        self.device.upload((self.address or 0) + offset, array)

    def download(self, offset, array):
        self.device.download((self.address or 0) + offset, array)


class Stream:
    def __init__(self, num_threads, device):
        assert device is not None, "there are no streams of the CPU here"
        self.device = device
        self.handle = c_void_p()
        call("kvc_stream_create", device.handle, byref(self.handle))

    @property
    def num_workers(self):
        return _runtime.kvc_stream_num_workers(self.handle)

    @property
    def native(self):
        """The CUstream."""
        return _runtime.kvc_stream_native(self.handle)

    def synchronize(self):
        call("kvc_stream_synchronize", self.handle)


# --- Caches and batches --------------------------------------------------------


class CacheType:
    def __init__(self, structure):
        self.structure = structure

    @classmethod
    def make(cls, page_size, components):
        structure = abi.CacheType(page_size=page_size, num_components=len(components))
        for place, (name, *numbers) in enumerate(components):
            structure.components[place] = abi.ComponentType(name.encode(), *numbers)
        return cls(structure)

    @property
    def page_size(self):
        return self.structure.page_size

    @property
    def components(self):
        chosen = self.structure.components[: self.structure.num_components]
        return [
            (c.name.decode(), c.heads, c.width, c.dtype, c.layout, c.scale) for c in chosen
        ]


class CacheView:
    """A view of a pool, in the order in which row-major pages lie."""

    def __init__(self, pool, structure):
        self.pool, self.structure = pool, structure

    @property
    def num_pages(self):
        return self.structure.num_pages

    def memory(self, index):
        view, component = self.structure.components[index], self.pool.type.components[index]
        heads, width, dtype = component[1:4]
        size = _element_bytes(dtype)
        shape, strides = (heads, width), (view.head_stride, 1)
        if component[4] != STATIC:
            shape = self.num_pages, self.pool.type.page_size, heads, width
            strides = view.page_stride, view.token_stride, view.head_stride, 1
        bits = np.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides)), f"u{size}")
        self.pool.device.download(view.data, bits)
        return np.ndarray(shape, bits.dtype, bits, strides=[stride * size for stride in strides])

    def set_memory(self, index, memory):
        """Writes back what `memory` gave, of which this array is a view."""
        self.pool.device.upload(self.structure.components[index].data, memory.base)

    def _transfer(self, name, index, slots, rows):
        call(
            name,
            byref(self.pool.type.structure),
            byref(self.structure),
            self.pool.device.handle,
            c_int32(index),
            c_void_p(slots.ctypes.data),
            c_int64(len(slots)),
            c_void_p(rows.ctypes.data),
        )

    def read(self, index, slots, rows):
        self._transfer("kvc_cache_read", index, slots, rows)

    def write(self, index, slots, rows):
        self._transfer("kvc_cache_write", index, slots, rows)


class Pool:
    def __init__(self, type, num_pages, num_layers, debug_fill, page_order_seed, device):
        self.type, self.device = type, device
        options = abi.PoolOptions(
            struct_size=ctypes.sizeof(abi.PoolOptions),
            flags=abi.DEBUG_FILL if debug_fill else 0,
            num_pages=num_pages,
            num_layers=num_layers,
            page_order_seed=page_order_seed,
            device=device.handle.value,
        )
        self.handle = c_void_p()
        call("kvc_pool_create", byref(type.structure), byref(options), byref(self.handle))

    def __del__(self):
        if self.handle:
            _runtime.kvc_pool_release(self.handle)

    def view(self, layer):
        structure = abi.CacheView()
        call("kvc_pool_view", self.handle, c_int32(layer), byref(structure))
        return CacheView(self, structure)

    def create_sequence(self):
        sequence = c_uint64()
        call("kvc_sequence_create", self.handle, byref(sequence))
        return sequence.value

    def sequence_length(self, sequence):
        length = c_int32()
        call("kvc_sequence_length", self.handle, c_uint64(sequence), byref(length))
        return length.value

    def sequence_pages(self, sequence):
        count, handle = c_int32(), c_uint64(sequence)
        call("kvc_sequence_pages", self.handle, handle, None, c_int32(0), byref(count))
        pages = (c_int32 * max(count.value, 1))()
        call("kvc_sequence_pages", self.handle, handle, pages, count, byref(count))
        return list(pages)[: count.value]

    def append(self, sequence, num_tokens):
        call("kvc_sequence_append", self.handle, c_uint64(sequence), c_int32(num_tokens))

    def free_sequence(self, sequence):
        call("kvc_sequence_free", self.handle, c_uint64(sequence))


class Batch:
    """Arrays of the host in `arrays`, by field, or what a pool made."""

    def __init__(self, structure, arrays=(), pool=None, handle=None):
        self.structure, self.arrays = structure, dict(arrays)
        self.pool, self.handle = pool, handle

    def __del__(self):
        if self.handle:
            _runtime.kvc_batch_release(self.handle)

    @classmethod
    def from_sequences(cls, pool, sequences, query_lens):
        handle, count = c_void_p(), len(sequences)
        ids, lens = (c_uint64 * max(count, 1))(*sequences), (c_int32 * max(count, 1))(*query_lens)
        call("kvc_batch_create", pool.handle, ids, lens, c_int32(count), byref(handle))
        structure = abi.Batch.from_buffer_copy(
            abi.Batch.from_address(_runtime.kvc_batch_view(handle))
        )
        return cls(structure, pool=pool, handle=handle)

    @classmethod
    def from_arrays(cls, query_start, kv_lens, page_ids, page_start, page_stride, slots,
                    positions, **counts):  # fmt: skip
        structure = abi.Batch(
            struct_size=ctypes.sizeof(abi.Batch),
            page_stride=page_stride,
            num_page_ids=page_ids.size,
            **counts,
        )
        arrays = {"query_start": query_start, "kv_lens": kv_lens, "page_ids": page_ids,
                  "slots": slots, "positions": positions}  # fmt: skip
        if page_start is not None:
            arrays["page_start"] = page_start
        return cls(structure, arrays)

    @property
    def num_tokens(self):
        return self.structure.num_tokens

    @property
    def max_query_len(self):
        return self.structure.max_query_len

    @property
    def max_kv_len(self):
        return self.structure.max_kv_len


# --- Calls -------------------------------------------------------------------


class Tensor:
    """An array of the host, or (with `memory`) one of a device."""

    def __init__(self, structure, array=None, memory=None):
        self.structure, self.array, self.memory = structure, array, memory

    @staticmethod
    def _structure(address, shape, strides, dtype):
        structure = abi.Tensor(data=address, rank=len(shape), dtype=dtype)
        structure.shape[: len(shape)], structure.strides[: len(shape)] = shape, strides
        return structure

    @classmethod
    def make(cls, array, dtype):
        assert array.flags.c_contiguous, "arrays of the host are contiguous here"
        strides = [stride // array.itemsize for stride in array.strides]
        return cls(cls._structure(None, array.shape, strides, dtype), array=array)

    @classmethod
    def make_on_device(cls, memory, shape, row_stride, dtype):
        strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        if shape:
            strides[0] = max(strides[0], row_stride)
        return cls(cls._structure(memory.address, shape, strides, dtype), memory=memory)


class Compiled:
    """What stands for a compiled text: a program in a shared library.

    The library stays loaded, as its pages are shared with others like it.
    """

    messages, milliseconds = "", 0.0

    def __init__(self, path, query):
        self.query = ctypes.cast(getattr(ctypes.CDLL(str(path)), query), c_void_p)

    def load(self):
        return Program(self.query)


class Program:
    def __init__(self, query):
        self.handle = c_void_p()
        call("kvc_program_load", query, byref(self.handle))
        self.blob = abi.ProgramHead.from_address(self.handle.value).blob.contents

    def __del__(self):
        if self.handle:
            _runtime.kvc_program_unload(self.handle)

    @property
    def target(self):
        return self.blob.text(self.blob.target)

    def functions(self):
        result = []
        for index in range(self.blob.num_functions):
            size = ctypes.sizeof(abi.FunctionDesc)
            desc = self.blob.at(self.blob.functions + index * size, abi.FunctionDesc)
            size = ctypes.sizeof(abi.ArgDesc)
            places = [desc.args + place * size for place in range(desc.num_args)]
            args = [self._describe(self.blob.at(place, abi.ArgDesc)) for place in places]
            result.append((self.blob.text(desc.name), args))
        return result

    def _describe(self, arg):
        def extents(values):
            rank = arg.rank if arg.kind == abi.TENSOR else 0
            return tuple(None if n == abi.DYNAMIC else n for n in values[:rank])

        cache_type = None
        if arg.kind == abi.CACHE:
            place = self.blob.cache_types + arg.cache_type * ctypes.sizeof(abi.CacheType)
            cache_type = CacheType(self.blob.at(place, abi.CacheType))
        return {
            "kind": arg.kind,
            "is_result": bool(arg.is_result),
            "shape": extents(arg.shape),
            "strides": extents(arg.strides),
            "dtype": arg.dtype,
            "rows_are_tokens": bool(arg.rows_are_tokens),
            "cache_type": cache_type,
        }

    def shapes(self, function, inputs):
        """Returns the shape of each result of a call with these inputs."""
        _, args = self.functions()[function]
        ranks = [len(arg["shape"]) for arg in args if arg["is_result"]]
        pointers = (c_void_p * len(inputs))(*[ctypes.addressof(a.structure) for a in inputs])
        out = (c_int64 * max(len(ranks) * abi.MAX_RANK, 1))()
        given = self.handle, c_uint32(function), pointers, c_uint32(len(inputs)), out
        call("kvc_program_shapes", *given)
        starts = range(0, len(ranks) * abi.MAX_RANK, abi.MAX_RANK)
        return [tuple(out[start : start + rank]) for start, rank in zip(starts, ranks)]

    def prepare(self, function, stream, **bounds):
        """Loads the code, and with bounds makes room for calls within them."""
        given = abi.Bounds(struct_size=ctypes.sizeof(abi.Bounds), **bounds)
        call("kvc_program_prepare", self.handle, c_uint32(function), stream.handle,
             byref(given) if bounds else None)  # fmt: skip

    def launch(self, function, stream, args):
        """Launches a function whose arguments are all on the device; does not wait."""
        pointers = (c_void_p * len(args))(*[ctypes.addressof(a.structure) for a in args])
        run = self.handle, c_uint32(function), stream.handle, pointers, c_uint32(len(args))
        call("kvc_program_run", *run)

    def run(self, function, stream, args):
        """Copies what the host has to the device, runs, and copies results back."""
        size = ctypes.sizeof(abi.FunctionDesc)
        desc = self.blob.at(self.blob.functions + function * size, abi.FunctionDesc)
        memories, back, on_device = [], [], []

        def upload(array):
            memories.append(DeviceMemory(stream.device, array.nbytes))
            memories[-1].upload(0, array)
            return memories[-1].address

        for place, argument in enumerate(args):
            structure = argument.structure
            if isinstance(argument, Tensor) and argument.array is not None:
                structure.data = upload(argument.array)
                # Of more than three dimensions there are the buffers of a cache.
                if place >= desc.num_inputs or argument.array.ndim > 3:
                    back.append((memories[-1], argument.array))
            elif isinstance(argument, Batch) and argument.arrays:
                structure = abi.Batch.from_buffer_copy(structure)
                for field, array in argument.arrays.items():
                    setattr(structure, field, upload(array))
            on_device.append(argument)
            argument.structure = structure
        self.launch(function, stream, on_device)
        stream.synchronize()
        for memory, array in back:
            memory.download(0, array)
