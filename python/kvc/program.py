"""Programs, their functions, and the streams that run them."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, Union

import numpy as np

from . import _kvc, dtypes
from .batch import Batch
from .cache import CacheType, CacheView
from .device import Device, DeviceArray
from .errors import Error, Status

_KINDS = {1: "tensor", 2: "cache", 3: "batch"}
_TYPES = {"tensor": (np.ndarray, DeviceArray), "cache": CacheView, "batch": Batch}
_Array = Union[np.ndarray, DeviceArray]


class Stream:
    """Where calls run, one after the other: threads of the CPU, or a device.

    Parameters
    ----------
    num_threads : int
        Threads of the CPU, the caller's among them; 0 = one per processor.
    device : Device, optional
        Default: the CPU. On others `num_threads` must be 0.

    Attributes
    ----------
    device : Device
    """

    def __init__(self, num_threads: int = 0, device: Union[Device, None] = None) -> None:
        self.device = device or Device("cpu")
        if num_threads and not self.device.is_cpu:
            raise Error(
                Status.INVALID_ARGUMENT,
                f"expected no threads of the CPU for a stream of {self.device}, got {num_threads}",
            )
        self._stream = _kvc.Stream(num_threads, self.device._device)

    @property
    def num_workers(self) -> int:
        """Threads, the caller's among them; of a device its multiprocessors."""
        return self._stream.num_workers


_default_streams: dict[tuple[str, int], Stream] = {}
_default_lock = threading.Lock()


def default_stream(device: Union[Device, None] = None) -> Stream:
    """Returns the stream of calls that name none, made once for each device.

    That of the CPU, which is the default, has all processors.
    """
    device = device or Device("cpu")
    key = (device.kind, device.ordinal)
    with _default_lock:
        if key not in _default_streams:
            _default_streams[key] = Stream(device=device)
        return _default_streams[key]


@dataclass(frozen=True)
class Argument:
    """What a function says about one of its arguments or results.

    Attributes
    ----------
    kind : {"tensor", "cache", "batch"}
    is_result : bool
    shape, strides : tuple of int or None
        Of tensors; None where any value goes. Strides count elements.
    dtype : str or None
        Element type of tensors, as MLIR spells it.
    rows_are_tokens : bool
        Whether dimension 0 counts the new tokens of the batch.
    cache_type : CacheType or None
        Type of caches, with the layout that the compiler chose.
    """

    kind: str
    is_result: bool
    shape: tuple[Union[int, None], ...]
    strides: tuple[Union[int, None], ...]
    dtype: Union[str, None]
    rows_are_tokens: bool
    cache_type: Union[CacheType, None]


def _argument(description: dict) -> Argument:
    kind = _KINDS[description["kind"]]
    cache_type = description["cache_type"]
    return Argument(
        kind=kind,
        is_result=description["is_result"],
        shape=description["shape"],
        strides=description["strides"],
        dtype=dtypes.NAMES[description["dtype"]] if kind == "tensor" else None,
        rows_are_tokens=description["rows_are_tokens"],
        cache_type=None if cache_type is None else CacheType._wrap(cache_type),
    )


class Function:
    """A function of a program; call it with its inputs.

    Attributes
    ----------
    name : str
    args, results : tuple of Argument
        What goes in and what comes out.
    """

    def __init__(self, program: _kvc.Program, index: int, name: str, described: list) -> None:
        arguments = [_argument(description) for description in described]
        self.name = name
        self.args = tuple(a for a in arguments if not a.is_result)
        self.results = tuple(a for a in arguments if a.is_result)
        self._program = program
        self._index = index

    @property
    def cache_type(self) -> CacheType:
        """The type of its first cache argument.

        Raises
        ------
        LookupError
            If it has none.
        """
        for argument in self.args:
            if argument.cache_type is not None:
                return argument.cache_type
        raise LookupError(f"expected a cache among the arguments of '{self.name}'")

    def __call__(
        self,
        *args: Union[_Array, CacheView, Batch],
        out: Union[_Array, tuple, None] = None,
        stream: Union[Stream, None] = None,
    ) -> Union[_Array, tuple[_Array, ...], None]:
        """Runs the function and waits for it.

        Arrays go in and out with the strides they have, without a copy; the last
        stride must be 1. On a device, what is in the host's memory (arrays, and
        caches and batches over arrays) is copied there before the call, and what
        the call may write is copied back after it; `DeviceArray`, and pools that are
        on the device with their batches, are used where they are. The interpreter
        lock is released meanwhile.

        Parameters
        ----------
        *args : array, DeviceArray, CacheView or Batch
            The inputs, in the order of `self.args`. What is given as `out` must not overlap
            those that are read after it is written: all of a function that has more than
            one operation.
        out : array, DeviceArray or tuple, optional
            Where the results go: an array, or one per result, with None for
            those to be made.
        stream : Stream, optional
            Where to run; default: a stream of the device that an argument is on, or
            of all processors.

        Returns
        -------
        array, tuple of arrays, or None
            One array, or as many as there are results.

        Raises
        ------
        Error
            If an argument is not what the function expects.
        TypeError
            If an argument is no array, cache or batch, or its elements are none of
            kvc's types.
        """
        self._check_kinds(args)
        outs = self._results(args, out)
        marshalled = [_marshal(argument) for argument in (*args, *outs)]
        if stream is None:
            devices = (a.device for a in (*args, *outs) if not isinstance(a, np.ndarray))
            stream = default_stream(next(filter(None, devices), None))
        self._program.run(self._index, stream._stream, marshalled)
        if len(outs) <= 1:
            return outs[0] if outs else None
        return tuple(outs)

    def _fail(self, message: str) -> NoReturn:
        raise Error(Status.INVALID_ARGUMENT, f"function '{self.name}'{message}")

    def _check_kinds(self, args: tuple) -> None:
        """Checks what the runtime cannot tell from a pointer."""
        if len(args) != len(self.args):
            self._fail(f": expected {len(self.args)} inputs, got {len(args)}")
        for index, (argument, given) in enumerate(zip(self.args, args)):
            kind = next((k for k, types in _TYPES.items() if isinstance(given, types)), None)
            if kind is None:
                raise TypeError(
                    f"function '{self.name}', argument {index}: expected an array, a CacheView "
                    f"or a Batch, got {type(given).__name__}"
                )
            if kind != argument.kind:
                self._fail(f", argument {index}: expected a {argument.kind}, got a {kind}")

    def _results(self, args: tuple, out: Union[_Array, tuple, None]) -> list[_Array]:
        given = out if isinstance(out, tuple) else (out,) * min(len(self.results), 1)
        given += (None,) * (len(self.results) - len(given)) if out is None else ()
        if len(given) != len(self.results):
            self._fail(f": expected {len(self.results)} arrays in out, got {len(given)}")
        for index, array in enumerate(given):
            if isinstance(array, np.ndarray) and not array.flags.writeable:
                self._fail(f", result {index}: expected an array to write, got a read-only one")
        if all(array is not None for array in given):
            return list(given)
        shapes = self._program.shapes(self._index, [_marshal(argument) for argument in args])
        return [
            np.empty(shape, dtypes.to_numpy(result.dtype)) if array is None else array
            for result, array, shape in zip(self.results, given, shapes)
        ]


def _marshal(argument: Union[_Array, CacheView, Batch]):
    if isinstance(argument, CacheView):
        return argument._view
    if isinstance(argument, Batch):
        return argument._batch
    if isinstance(argument, DeviceArray):
        return argument._tensor
    number = dtypes.NUMBERS[dtypes.from_numpy(argument.dtype)]
    return _kvc.Tensor.make(dtypes.bits(argument), number)


class Program(Mapping):
    """A compiled program: its functions by name.

    Attributes
    ----------
    target : str
        What the code was compiled for.
    messages : str
        Warnings and remarks of the compiler, one a line.
    milliseconds : float
        What the compiler took, from text to program.
    """

    def __init__(self, compiled: _kvc.Compiled) -> None:
        program = compiled.load()
        self.target: str = program.target
        self.messages: str = compiled.messages
        self.milliseconds: float = compiled.milliseconds
        self._functions = {
            name: Function(program, index, name, described)
            for index, (name, described) in enumerate(program.functions())
        }

    def __getitem__(self, name: str) -> Function:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)
