"""CUDA's driver, or the emulated one, through ctypes."""

import ctypes
import re

CUDA = "libcuda.so.1"

_PTR_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
_MAX_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class _LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute; the value is a union of 64 bytes."""

    _fields_ = [
        ("id", ctypes.c_int),
        ("pad", ctypes.c_uint),
        ("value", ctypes.c_uint * 16),
    ]


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_LaunchAttribute)),
        ("num_attributes", ctypes.c_uint),
    ]


class DriverError(RuntimeError):
    """A function of the driver did not succeed."""


class Driver:
    """A driver with the primary context of its first device.

    Parameters
    ----------
    path : str
        The library, as dlopen takes it.
    """

    def __init__(self, path):
        self.path = path
        self.library = ctypes.CDLL(path)
        self.is_emulator = hasattr(self.library, "kvc_emulator_set_options")
        self.call("cuInit", ctypes.c_uint(0))
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if count.value == 0:
            raise DriverError(f"{path} sees no device")
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ctypes.c_int(0))
        self.use()

    def call(self, name, *arguments):
        """Calls a function of the driver."""
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(ctypes.c_int(result), ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'?').decode()}")

    def use(self):
        """Makes the context this thread's current one."""
        self.call("cuCtxSetCurrent", self.context)

    @property
    def version(self):
        """CUDA's version of the driver, such as '12.4'."""
        value = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(value))
        return f"{value.value // 1000}.{value.value % 1000 // 10}"

    @property
    def device_name(self):
        text = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", text, ctypes.c_int(128), ctypes.c_int(0))
        return text.value.decode()

    @property
    def compute_capability(self):
        """Major and minor number, such as (9, 0)."""
        result = []
        for attribute in (75, 76):
            value = ctypes.c_int()
            arguments = ctypes.byref(value), ctypes.c_int(attribute), ctypes.c_int(0)
            self.call("cuDeviceGetAttribute", *arguments)
            result.append(value.value)
        return tuple(result)

    @property
    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def set_options(self, text):
        """Sets options of the emulator's next launches; nothing on a device."""
        if not self.is_emulator:
            return
        set_options = self.library.kvc_emulator_set_options
        set_options(None)
        if text and set_options(text.encode()) != 0:
            raise ValueError(f"the emulator refuses the options '{text}'")

    def take_reports(self):
        """Returns the faults that the emulator found since the last time."""
        if not self.is_emulator:
            return ""
        size = self.library.kvc_emulator_reports
        size.restype = ctypes.c_size_t
        text = ctypes.create_string_buffer(max(size(None, ctypes.c_size_t(0)), 1))
        size(text, ctypes.c_size_t(len(text)))
        self.library.kvc_emulator_clear()
        return text.value.decode()

    # --- Memory --------------------------------------------------------------

    def allocate(self, size):
        """Returns the address of `size` bytes."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 16)))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address, array):
        """Copies a contiguous array to an address."""
        data = ctypes.c_void_p(array.ctypes.data)
        size = ctypes.c_size_t(array.nbytes)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, size)

    def read(self, address, array):
        """Fills a contiguous array from an address."""
        data = ctypes.c_void_p(array.ctypes.data)
        size = ctypes.c_size_t(array.nbytes)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), size)

    def fill(self, address, value, size):
        """Sets each of `size` bytes."""
        arguments = ctypes.c_uint64(address), ctypes.c_ubyte(value), ctypes.c_size_t(size)
        self.call("cuMemsetD8_v2", *arguments)

    # --- Kernels -------------------------------------------------------------

    def load(self, ptx):
        """Returns a module; its error holds the log of the driver's compiler."""
        module, size = ctypes.c_void_p(), 1 << 14
        log = ctypes.create_string_buffer(size)
        options = (ctypes.c_int * 2)(_PTR_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), size)
        text = ctypes.c_char_p(ptx.encode())
        try:
            self.call(
                "cuModuleLoadDataEx", ctypes.byref(module), text, ctypes.c_uint(2), options, values
            )
        except DriverError as error:
            raise DriverError(f"{error} {log.value.decode(errors='replace').strip()}") from None
        return module

    def unload(self, module):
        self.call("cuModuleUnload", module)

    def launch(self, module, name, blocks, threads, arguments, shared=0, cluster=1):
        """Runs a kernel, whose parameters are all of 64 bits, and waits.

        `cluster`: blocks of a cluster, a divisor of `blocks`.
        """
        function = ctypes.c_void_p()
        text = ctypes.c_char_p(name.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, text)
        values = [ctypes.c_uint64(value) for value in arguments]
        pointers = (ctypes.c_void_p * max(len(values), 1))(
            *[ctypes.addressof(value) for value in values]
        )
        if shared > 48 * 1024:
            number = ctypes.c_int(shared)
            self.call("cuFuncSetAttribute", function, ctypes.c_int(_MAX_SHARED), number)
        attribute = _LaunchAttribute(_CLUSTER_DIMENSION, 0, (cluster, 1, 1))
        config = _LaunchConfig(
            (blocks, 1, 1), (threads, 1, 1), shared, None, ctypes.pointer(attribute), cluster > 1
        )
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        self.call("cuCtxSynchronize")


def opcodes(ptx):
    """Returns the instructions, with all their modifiers, that PTX holds."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", ptx, flags=re.S)
    text = text[text.index(".address_size") :]
    # A statement is labels, a predicate, an instruction, operands.
    pattern = re.compile(r"\s*(?:[\w$]+:\s*)*(?:@!?%?\w+\s+)?([a-z][\w.:]*)(?=\s|$)")
    matches = map(pattern.match, re.split(r"[;{}]", text))
    return sorted({match.group(1) for match in matches if match})
