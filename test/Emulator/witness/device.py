"""Runs kernels on the emulated CUDA driver, through ctypes.

A kernel is run under several orders and copy policies. A right kernel gives the
same bits under each, and no reports.
"""

import ctypes
import os
import pathlib
import re

import numpy as np

ROOT = pathlib.Path(__file__).parents[3]

#: Under which each kernel runs.
OPTIONS = (
    "copies=lazy",
    "copies=eager",
    "copies=random,seed=1",
    "copies=random,seed=2,resident=3",
)


class In:
    """An array that the kernel reads."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)


class Out(In):
    """An array that the kernel changes."""


class Empty(Out):
    """An array that the kernel writes; its elements are unwritten before."""

    def __init__(self, shape, dtype):
        super().__init__(np.zeros(shape, dtype))


class Struct:
    """A structure by value: a NumPy dtype and the values of its fields."""

    def __init__(self, dtype, **fields):
        self.dtype = np.dtype(dtype)
        self.fields = fields


class DriverError(RuntimeError):
    """A function of the driver did not succeed."""


class Device:
    """The emulated driver with its primary context."""

    def __init__(self):
        build = os.environ.get("KVC_BUILD_DIR", ROOT / "build")
        default = pathlib.Path(build) / "lib" / "libkvc_emulator_cuda.so"
        path = os.environ.get("KVC_EMULATOR_LIBRARY", default)
        self.library = ctypes.CDLL(str(path))
        self.opcodes = set()  # Of all modules that were loaded.
        self.call("cuInit", ctypes.c_uint(0))
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(0))
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        """Calls a function of the driver."""
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(ctypes.c_int(result), ctypes.byref(text))
            raise DriverError(f"{name}: {text.value.decode()}\n{self.reports()}")

    def set_options(self, text):
        """Sets options of the launches that follow, and forgets reports."""
        if self.library.kvc_emulator_set_options(text.encode()) != 0:
            message = self.library.kvc_emulator_last_message
            message.restype = ctypes.c_char_p
            raise ValueError(message().decode())
        self.library.kvc_emulator_clear()

    def reports(self):
        """Returns the reports since then, one a line."""
        size = self.library.kvc_emulator_reports
        size.restype = ctypes.c_size_t
        text = ctypes.create_string_buffer(size(None, ctypes.c_size_t(0)))
        size(text, ctypes.c_size_t(len(text)))
        return text.value.decode()

    def upload(self, array, copy=True):
        """Allocates memory for an array and returns its address."""
        address = ctypes.c_uint64()
        size = ctypes.c_size_t(max(array.nbytes, 1))
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        if copy and array.nbytes:
            self.write(address.value, array)
        return address.value

    def write(self, address, array):
        """Copies an array to an address."""
        self.call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(address),
            ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes),
        )

    def read(self, address, like):
        """Returns a copy of device memory, with the shape of an array."""
        array = np.empty_like(like)
        if array.nbytes:
            self.call(
                "cuMemcpyDtoH_v2",
                ctypes.c_void_p(array.ctypes.data),
                ctypes.c_uint64(address),
                ctypes.c_size_t(array.nbytes),
            )
        return array

    def free(self, address):
        """Frees what `upload` allocated."""
        self.call("cuMemFree_v2", ctypes.c_uint64(address))


class Module:
    """PTX that is loaded."""

    def __init__(self, device, ptx):
        self.device = device
        self.ptx = ptx
        self.handle = ctypes.c_void_p()
        size = 1 << 16
        log = ctypes.create_string_buffer(size)
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), size)
        try:
            device.call(
                "cuModuleLoadDataEx",
                ctypes.byref(self.handle),
                ctypes.c_char_p(ptx.encode()),
                ctypes.c_uint(2),
                options,
                values,
            )
        except DriverError as error:
            raise DriverError(f"{error}{log.value.decode()}") from None
        device.opcodes |= opcodes(ptx)

    def variable(self, name):
        """Returns the address of a variable."""
        address = ctypes.c_uint64()
        self.device.call(
            "cuModuleGetGlobal_v2",
            ctypes.byref(address),
            None,
            self.handle,
            ctypes.c_char_p(name.encode()),
        )
        return address.value

    def unload(self):
        """Unloads the module."""
        self.device.call("cuModuleUnload", self.handle)

    def _launch(self, name, grid, block, packed, shared):
        function = ctypes.c_void_p()
        self.device.call(
            "cuModuleGetFunction",
            ctypes.byref(function),
            self.handle,
            ctypes.c_char_p(name.encode()),
        )
        if shared > 48 * 1024:
            self.device.call("cuFuncSetAttribute", function, ctypes.c_int(8), ctypes.c_int(shared))
        # A compiler may add parameters of its own, which are null here.
        info = self.device.library.cuFuncGetParamInfo
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        while (
            info(
                function,
                ctypes.c_size_t(len(packed)),
                ctypes.byref(offset),
                ctypes.byref(size),
            )
            == 0
        ):
            packed = packed + [bytes(size.value)]
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in packed]
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(
            *[ctypes.addressof(buffer) for buffer in buffers]
        )
        sizes = [ctypes.c_uint(value) for value in (*grid, *block, shared)]
        self.device.call("cuLaunchKernel", function, *sizes, None, pointers, None)
        self.device.call("cuCtxSynchronize")

    def run(
        self,
        name,
        grid,
        block,
        *arguments,
        shared=0,
        before=None,
        after=None,
        check=True,
        orders=OPTIONS,
    ):
        """Runs a kernel under several options of the emulator.

        Parameters
        ----------
        name : str
            The kernel.
        grid, block : tuple of int
            Sizes, x first; those left out are 1.
        arguments : In, Out, Empty, Struct, None or NumPy scalar
            What the kernel takes; None is a null pointer.
        shared : int
            Bytes of dynamic shared memory.
        before, after : callable
            Called with this module around each launch; `after` returns arrays
            that are compared and returned after the others.
        check : bool
            Whether to look for faults other than stray addresses.
        orders : sequence of str
            The options; the default is all of OPTIONS.

        Returns
        -------
        list of array
            The changed arrays.
        """
        grid, block = ((*size, 1, 1)[:3] for size in (grid, block))
        first = None
        for options in orders:
            self.device.set_options(f"{options},check={int(check)}")
            if before:
                before(self)
            buffers, changed = [], []

            def pack(argument, buffers=buffers, changed=changed):
                if argument is None:
                    return bytes(8)
                if isinstance(argument, Struct):
                    value = np.zeros((), argument.dtype)
                    for field, content in argument.fields.items():
                        if isinstance(content, In):
                            content = np.frombuffer(pack(content), np.uint64)[0]
                        value[field] = content
                    return value.tobytes()
                if not isinstance(argument, In):
                    return argument.tobytes()
                copy = not isinstance(argument, Empty)
                address = self.device.upload(argument.array, copy)
                buffers.append(address)
                if isinstance(argument, Out):
                    changed.append((address, argument.array))
                return np.uint64(address).tobytes()

            packed = [pack(argument) for argument in arguments]
            self._launch(name, grid, block, packed, shared)
            results = [self.device.read(address, like) for address, like in changed]
            results += after(self) if after else []
            for address in buffers:
                self.device.free(address)
            assert self.device.reports() == "", f"{name}, {options}"
            if first is None:
                first = results
            for index, (one, other) in enumerate(zip(first, results)):
                assert one.tobytes() == other.tobytes(), (
                    f"{name}: expected the same bits of result {index} under "
                    f"'{orders[0]}' and '{options}'"
                )
        return first


def opcodes(ptx):
    """Returns the instructions, with all their suffixes, that PTX holds."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", ptx, flags=re.S)
    text = text[text.index(".address_size") :]
    # A statement is labels, a predicate, an instruction, operands.
    pattern = re.compile(r"\s*(?:[\w$]+:\s*)*(?:@!?%\w+\s+)?([a-z][\w.:]*)(?=\s|$)")
    matches = map(pattern.match, re.split(r"[;{}]", text))
    return {match.group(1) for match in matches if match}
