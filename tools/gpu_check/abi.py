"""The structures of kvc-rt/abi.h and kvc-rt/runtime.h, through ctypes."""

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p

MAX_RANK, MAX_COMPONENTS, MAX_NAME = 6, 8, 16
DYNAMIC = -(1 << 63)
DEBUG_FILL = 1
TENSOR, CACHE, BATCH = 1, 2, 3


class ComponentType(ctypes.Structure):
    _fields_ = [
        ("name", c_char * MAX_NAME),
        ("heads", c_int32),
        ("width", c_int32),
        ("dtype", c_int32),
        ("layout", c_int32),
        ("scale", c_float),
        ("reserved", c_int32),
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
        ("args", c_void_p),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_multiprocessors", c_int32),
        ("compute_major", c_int32),
        ("compute_minor", c_int32),
        ("driver_version", c_int32),
        ("reserved", c_int32),
        ("total_memory", c_uint64),
        ("name", c_char * 128),
    ]


class ArgDesc(ctypes.Structure):
    _fields_ = [
        ("kind", c_int32),
        ("is_result", c_uint32),
        ("shape", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
        ("rank", c_int32),
        ("dtype", c_int32),
        ("cache_type", c_uint32),
        ("rows_are_tokens", c_uint32),
        ("alignment", c_uint32),
        ("reserved", c_uint32),
    ]


class FunctionDesc(ctypes.Structure):
    _fields_ = [
        ("name", c_uint32),
        ("num_inputs", c_uint32),
        ("num_args", c_uint32),
        ("args", c_uint32),
        ("max_query_len", c_uint32),
        ("reserved", c_uint32),
    ]


class Blob(ctypes.Structure):
    """The head of a program's description; offsets are from its beginning."""

    _fields_ = [
        ("magic", c_uint32),
        ("abi_version", c_uint32),
        ("size", c_uint64),
        ("target", c_uint32),
        ("num_functions", c_uint32),
        ("functions", c_uint32),
        ("num_cache_types", c_uint32),
        ("cache_types", c_uint32),
    ]

    def at(self, offset, structure):
        """Returns the structure at an offset."""
        return structure.from_address(ctypes.addressof(self) + offset)

    def text(self, offset):
        """Returns the text at an offset."""
        return ctypes.string_at(ctypes.addressof(self) + offset).decode()


class ProgramHead(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("abi_version", c_uint32), ("blob", POINTER(Blob))]


def load_library(path):
    """Returns libkvc_rt with the types of what does not return a status."""
    library = ctypes.CDLL(str(path))
    for name in ("kvc_last_message", "kvc_runtime_version", "kvc_status_name"):
        getattr(library, name).restype = c_char_p
    for name in ("kvc_batch_view", "kvc_batch_host_view", "kvc_stream_native"):
        getattr(library, name).restype = c_void_p
    for name in ("kvc_pool_release", "kvc_batch_release", "kvc_stream_release"):
        getattr(library, name).restype = None
    return library
