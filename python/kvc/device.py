"""Devices: the CPU, and GPUs or their emulator behind CUDA's driver."""

import math
from pathlib import Path
from typing import Union

import numpy as np

from . import _kvc, dtypes
from .errors import Error, Status

_EMULATOR = "libkvc_emulator_cuda.so"
# Beside the package, and in the lib/ of the build or installation it is part of.
_FOLDERS = (Path(__file__).parent, Path(__file__).parents[2] / "lib")


def emulator_library() -> str:
    """Returns the path of the emulated driver that came with this package.

    Raises
    ------
    Error
        If there is none.
    """
    for folder in _FOLDERS:
        if (folder / _EMULATOR).exists():
            return str(folder / _EMULATOR)
    places = " or ".join(str(folder) for folder in _FOLDERS)
    raise Error(Status.NOT_FOUND, f"expected {_EMULATOR} in {places}, which have none")


def _library(kind: str) -> Union[str, None]:
    if kind == "cuda":
        return None
    return emulator_library() if kind == "emulator" else kind


class Device:
    """Where programs run.

    Parameters
    ----------
    kind : str
        "cpu"; "cuda", by the driver of this machine; "emulator", by the driver
        that comes with kvc; or the path of a driver's library.
    ordinal : int
        Which of the driver's devices.

    Attributes
    ----------
    kind : str
    ordinal : int

    Raises
    ------
    Error
        If there is no such library, or it has no such device.
    """

    def __init__(self, kind: str = "cpu", ordinal: int = 0) -> None:
        self.kind = kind
        self.ordinal = ordinal
        self._device = None if kind == "cpu" else _kvc.Device(_library(kind), ordinal)

    @staticmethod
    def count(kind: str) -> int:
        """Returns how many devices of a kind there are; 1 of the CPU.

        Raises
        ------
        Error
            If the driver cannot be loaded.
        """
        return 1 if kind == "cpu" else _kvc.device_count(_library(kind))

    @property
    def is_cpu(self) -> bool:
        """Whether it is the CPU."""
        return self._device is None

    def info(self) -> dict:
        """Returns ``name``, and of other devices than the CPU ``num_multiprocessors``,
        ``compute_capability`` (a pair), ``driver_version`` and ``total_memory``."""
        return {"name": "cpu"} if self._device is None else self._device.info()

    def synchronize(self) -> None:
        """Waits for the work of all streams.

        Raises
        ------
        Error
            If something went wrong in it.
        """
        if self._device is not None:
            self._device.synchronize()

    def put(self, array: np.ndarray) -> "DeviceArray":
        """Returns a copy of an array in the device's memory."""
        result = DeviceArray(self, array.shape, array.dtype)
        result.set(array)
        return result

    def __repr__(self) -> str:
        return f"Device({self.kind!r}, {self.ordinal})"


class DeviceArray:
    """An array in a device's memory, with any contents.

    A function takes it as a tensor, or writes a result to it, where it is.

    Parameters
    ----------
    device : Device
        Not the CPU.
    shape : tuple of int
    dtype : numpy.dtype
        One of kvc's element types.
    row_stride : int
        Elements from one index of the first dimension to the next, at least those of
        a row, which is the default. Rows themselves are contiguous.

    Raises
    ------
    Error
        If the device has too little memory.
    ValueError
        If `row_stride` is less than the elements of a row.
    """

    def __init__(
        self,
        device: Device,
        shape: tuple[int, ...],
        dtype: np.dtype,
        row_stride: Union[int, None] = None,
    ) -> None:
        if device.is_cpu:
            raise Error(Status.INVALID_ARGUMENT, "expected a device with memory, got the CPU")
        self.device = device
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = np.dtype(dtype)
        row = math.prod(self.shape[1:])
        self.row_stride = row if row_stride is None else int(row_stride)
        if self.row_stride < row:
            raise ValueError(f"expected a row_stride of at least {row}, got {row_stride}")
        elements = math.prod(self.shape)
        if elements and self.shape:
            elements += (self.shape[0] - 1) * (self.row_stride - row)
        number = dtypes.NUMBERS[dtypes.from_numpy(self.dtype)]
        self._memory = _kvc.DeviceMemory(device._device, elements * self.dtype.itemsize)
        self._tensor = _kvc.Tensor.make_on_device(
            self._memory, list(self.shape), self.row_stride, number
        )

    @property
    def ndim(self) -> int:
        """Dimensions."""
        return len(self.shape)

    def _parts(self, array: np.ndarray):
        """Yields the offset of each contiguous part in bytes, and its bytes in `array`."""
        if not self.shape or self.row_stride == math.prod(self.shape[1:]):
            yield 0, array.reshape(-1).view(np.uint8)
            return
        for i, row in enumerate(array):
            yield i * self.row_stride * self.dtype.itemsize, row.reshape(-1).view(np.uint8)

    def get(self) -> np.ndarray:
        """Returns a copy on the host, after all work of the device's streams."""
        result = np.empty(self.shape, self.dtype)
        for offset, part in self._parts(result):
            self._memory.download(offset, part)
        return result

    def set(self, array: np.ndarray) -> None:
        """Copies an array here, after all work of the device's streams.

        Raises
        ------
        ValueError
            If its shape or element type is another one.
        """
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError(
                f"expected an array of {self.dtype} and shape {self.shape}, got {array.dtype} "
                f"and {array.shape}"
            )
        for offset, part in self._parts(np.ascontiguousarray(array)):
            self._memory.upload(offset, part)
