"""Caches: their types, page pools, sequences, and views of memory."""

from collections.abc import Iterable, Mapping, Sequence as AnySequence
from dataclasses import dataclass
from typing import Union

import numpy as np

from . import _kvc, dtypes
from .device import Device

_LAYOUTS = {"row_major": 0, "packed_key": 1, "packed_value": 2, "static": 3, "lane_key": 4}
_LAYOUT_NAMES = {number: name for name, number in _LAYOUTS.items()}
_PACKED_TOKENS = 16  # of a block of packed keys


@dataclass(frozen=True)
class Component:
    """One array of a cache type: ``name: heads x width x dtype``.

    The scales of a quantised component, and its zero points, are arrays of their own
    that follow it: ``<name>.scale`` and ``<name>.zero``.

    Attributes
    ----------
    name : str
        1 to 15 characters.
    heads : int
        KV heads.
    width : int
        Elements per head and token; of "i4x2" pairs of them.
    dtype : str
        Element type as MLIR spells it: "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8";
        "i4x2" is a byte with two integers of 4 bits.
    layout : {"row_major", "packed_key", "packed_value", "lane_key", "static"}
        Order of the elements of a page; the formulas are in ``kvc-rt/abi.h``.
    scale : float
        What the code 1 stands for, if the type says so; else 0.
    """

    name: str
    heads: int
    width: int
    dtype: str
    layout: str = "row_major"
    scale: float = 0.0

    @property
    def pair(self) -> int:
        """Elements that the packed layouts keep together."""
        return 2 if self.dtype == "bf16" else 1


class CacheType:
    """The type ``!kvc.cache<page = page_size, ...>``.

    Parameters
    ----------
    page_size : int
        Tokens a page.
    components : sequence of Component
        At most 8.
    """

    def __init__(self, page_size: int, components: Iterable[Component]) -> None:
        self.page_size = page_size
        self.components = tuple(components)
        self._type = _kvc.CacheType.make(
            page_size,
            [
                (c.name, c.heads, c.width, dtypes.NUMBERS[c.dtype], _LAYOUTS[c.layout], c.scale)
                for c in self.components
            ],
        )

    @classmethod
    def _wrap(cls, wrapped: _kvc.CacheType) -> "CacheType":
        return cls(
            wrapped.page_size,
            [
                Component(name, heads, width, dtypes.NAMES[dtype], _LAYOUT_NAMES[layout], scale)
                for name, heads, width, dtype, layout, scale in wrapped.components
            ],
        )

    @property
    def fingerprint(self) -> int:
        """The 64 bits that programs and views compare."""
        return self._type.fingerprint

    def index(self, name: str) -> int:
        """Returns the place of the component called `name`.

        Raises
        ------
        KeyError
            If there is none.
        """
        for index, component in enumerate(self.components):
            if component.name == name:
                return index
        names = ", ".join(c.name for c in self.components)
        raise KeyError(f"expected a component of {names}, got '{name}'")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CacheType):
            return NotImplemented
        return self.page_size == other.page_size and self.components == other.components

    def __hash__(self) -> int:
        return hash((self.page_size, self.components))

    def __repr__(self) -> str:
        return f"CacheType({self.page_size}, {list(self.components)})"


class CacheView:
    """A cache argument: where the components of a cache lie.

    `device` is that of the pool it is of, or None.

    Parameters
    ----------
    cache_type : CacheType
        The type that a program's function expects.
    arrays : mapping of str to array
        For each component its memory, with strides of its own. Shape
        (pages, page_size, heads, width) with the last stride 1, or
        (pages, heads, page_size * width) for the packed layouts, or (heads, width) for
        what is static: a view of whatever the buffer is, such as
        ``hnd.transpose(0, 2, 1, 3)``.

    Raises
    ------
    ValueError
        If an array's shape or strides are not of that form.
    TypeError
        If its elements are not those of the component.
    """

    def __init__(self, cache_type: CacheType, arrays: Mapping[str, np.ndarray]) -> None:
        self.cache_type = cache_type
        memory = [
            self._check(cache_type.page_size, component, arrays[component.name])
            for component in cache_type.components
        ]
        num_pages = min(
            array.shape[0]
            for array, component in zip(memory, cache_type.components)
            if component.layout != "static"
        )
        self._view = _kvc.CacheView.make(cache_type._type, num_pages, memory)
        self.device: Union[Device, None] = None

    @classmethod
    def _wrap(
        cls, cache_type: CacheType, view: _kvc.CacheView, device: Union[Device, None]
    ) -> "CacheView":
        self = cls.__new__(cls)
        self.cache_type = cache_type
        self._view = view
        self.device = device
        return self

    @property
    def _is_on_device(self) -> bool:
        return self.device is not None and not self.device.is_cpu

    @staticmethod
    def _check(page_size: int, component: Component, array: np.ndarray) -> np.ndarray:
        expected = (page_size, component.heads, component.width)
        if component.layout == "static":
            expected = (component.heads, component.width)
        elif component.layout != "row_major":
            expected = (component.heads, page_size * component.width)
        free = "" if component.layout == "static" else "pages, "
        got = array.shape[1:] if free else array.shape
        if got != expected or array.strides[-1] != array.itemsize:
            raise ValueError(
                f"component '{component.name}': expected an array of shape ({free}"
                f"{', '.join(map(str, expected))}) with contiguous rows, got shape "
                f"{array.shape} with strides of {array.strides} bytes"
            )
        if array.dtype != dtypes.to_numpy(component.dtype):
            raise TypeError(
                f"component '{component.name}': expected elements of {component.dtype}, "
                f"got {array.dtype}"
            )
        return dtypes.bits(array)

    @property
    def num_pages(self) -> int:
        """Pages of the cache."""
        return self._view.num_pages

    def memory(self, name: str) -> np.ndarray:
        """Returns the memory of a component, shaped as `arrays` above.

        Of a pool on a device it is a copy that cannot be written; see `write`.
        """
        memory = self._copy(name)
        if self._is_on_device:
            memory.flags.writeable = False
        return memory

    def _copy(self, name: str, page: Union[int, None] = None) -> np.ndarray:
        """Returns the memory, or one page of it; of a device a copy."""
        index = self.cache_type.index(name)
        dtype = dtypes.to_numpy(self.cache_type.components[index].dtype)
        pages = (0, self.num_pages) if page is None else (page, 1)
        return self._view.memory(index, *pages).view(dtype)

    def _update(self, name: str, memory: np.ndarray, page: int = 0) -> None:
        """Writes a changed result of `_copy` back to the device it is from."""
        if self._is_on_device:
            self._view.set_memory(self.cache_type.index(name), page, dtypes.bits(memory))

    def _parts(self, slots: np.ndarray):
        """Yields the page to copy, the slots in it, and which of `slots` they are.

        On a device page by page, so that no more than these is copied; else all.
        """
        slots = np.asarray(slots, np.int64)
        if not self._is_on_device:
            yield None, slots, slice(None)
            return
        pages, offsets = np.divmod(slots, self.cache_type.page_size)
        for page in np.unique(pages):
            if not 0 <= page < self.num_pages:
                raise IndexError(f"expected a page from 0 to {self.num_pages - 1}, got {page}")
            chosen = pages == page
            yield int(page), offsets[chosen], chosen

    def fill(self, value: float) -> None:
        """Sets all elements of all components."""
        for component in self.cache_type.components:
            memory = self._copy(component.name)
            memory[...] = value
            self._update(component.name, memory)

    def _place(self, name: str, memory: np.ndarray, slots: np.ndarray):
        """Returns an array over a component's memory and the index of slots in it.

        What the index selects has shape (slots, heads, ...), with the width's
        elements in order after that.
        """
        component = self.cache_type.components[self.cache_type.index(name)]
        page, token = np.divmod(slots, self.cache_type.page_size)
        if component.layout == "row_major":
            return memory, (page, token)
        heads, width, pair = component.heads, component.width, component.pair
        if component.layout == "packed_key":
            step, image = _PACKED_TOKENS, (width // pair, _PACKED_TOKENS, pair)
        else:
            step, image = pair, (width, pair)
        block, lane = np.divmod(token, step)
        blocks = self.cache_type.page_size // step
        images = memory.reshape(memory.shape[0], heads, blocks, *image, copy=False)
        return images, (page, slice(None), block, slice(None), lane)

    def read(self, name: str, slots: np.ndarray) -> np.ndarray:
        """Reads tokens of a component, whatever its layout.

        Parameters
        ----------
        name : str
            The component.
        slots : array of int64, shape (tokens,)
            Page id times page size plus offset, of each token.

        Returns
        -------
        array of the component's type, shape (tokens, heads, width)
        """
        component = self.cache_type.components[self.cache_type.index(name)]
        shape = (len(slots), component.heads, component.width)
        result = np.empty(shape, dtypes.to_numpy(component.dtype))
        for page, part, chosen in self._parts(slots):
            memory, index = self._place(name, self._copy(name, page), part)
            result[chosen] = memory[index].reshape(len(part), *shape[1:])
        return result

    def write(self, name: str, slots: np.ndarray, values: np.ndarray) -> None:
        """Writes tokens of a component, whatever its layout.

        Parameters
        ----------
        name : str
            The component.
        slots : array of int64, shape (tokens,)
            Page id times page size plus offset, of each token.
        values : array, shape (tokens, heads, width)
            Converted to the component's type.
        """
        values = np.asarray(values)
        for page, part, chosen in self._parts(slots):
            memory = self._copy(name, page)
            image, index = self._place(name, memory, part)
            selected = (len(part), *image[index].shape[1:])
            image[index] = values[chosen].astype(image.dtype).reshape(selected)
            self._update(name, memory, page or 0)


class Pool:
    """The pages of one or more layers that share their block tables.

    Parameters
    ----------
    cache_type : CacheType
        The type of one layer's cache: ``function.args[i].cache_type``.
    num_pages : int
        Pages of each layer.
    layers : int
        Layers.
    debug_fill : bool
        Fill new and freed pages with NaN.
    page_order_seed : int
        0 hands out pages in order, other numbers in a shuffled one.
    device : Device, optional
        Where the pages lie; default: in the host's memory.

    Raises
    ------
    Error
        If the type or a number is out of range, or memory is missing.
    """

    def __init__(
        self,
        cache_type: CacheType,
        num_pages: int,
        layers: int = 1,
        debug_fill: bool = False,
        page_order_seed: int = 0,
        device: Union[Device, None] = None,
    ) -> None:
        self.cache_type = cache_type
        self.device = device
        self._pool = _kvc.Pool(
            cache_type._type,
            num_pages,
            layers,
            debug_fill,
            page_order_seed,
            device and device._device,
        )

    def view(self, layer: int = 0) -> CacheView:
        """Returns the cache argument of a layer; it keeps the pool alive."""
        return CacheView._wrap(self.cache_type, self._pool.view(layer), self.device)

    def sequence(self, length: int = 0) -> "Sequence":
        """Creates a sequence with slots for `length` tokens."""
        sequence = Sequence(self)
        try:
            sequence.append(length)
        except Exception:
            sequence.free()
            raise
        return sequence

    def stats(self) -> dict[str, int]:
        """Returns counts: pages by state, tokens, and bytes of a page."""
        return self._pool.stats()


class Sequence:
    """A sequence of tokens in the pages of a pool.

    Lives until `free`, or as long as the pool.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._handle = pool._pool.create_sequence()

    def __len__(self) -> int:
        return self.pool._pool.sequence_length(self._handle)

    @property
    def pages(self) -> list[int]:
        """Its page ids, in order."""
        return self.pool._pool.sequence_pages(self._handle)

    def append(self, num_tokens: int) -> None:
        """Extends the sequence by slots whose contents a program appends.

        Raises
        ------
        Error
            If the pool has too few free pages; then nothing changes.
        """
        self.pool._pool.append(self._handle, num_tokens)

    def free(self) -> None:
        """Gives the pages back; any use after that raises `Error`."""
        self.pool._pool.free_sequence(self._handle)

    def slots(self, start: int = 0, stop: Union[int, None] = None) -> np.ndarray:
        """Returns the slots of tokens `start` to `stop` (default: all).

        Returns
        -------
        array of int64, shape (tokens,)
        """
        tokens = np.arange(*slice(start, stop).indices(len(self)), dtype=np.int64)
        pages = np.array(self.pages, np.int64)
        page, offset = np.divmod(tokens, self.pool.cache_type.page_size)
        return pages[page] * self.pool.cache_type.page_size + offset

    def read(self, name: str, layer: int = 0) -> np.ndarray:
        """Reads a component of all tokens: array, shape (tokens, heads, width)."""
        return self.pool.view(layer).read(name, self.slots())

    def write(self, name: str, values: np.ndarray, start: int = 0, layer: int = 0) -> None:
        """Writes a component of the tokens from `start` on.

        Parameters
        ----------
        name : str
            The component.
        values : array, shape (tokens, heads, width)
            Converted to the component's type.
        start : int
            The first token to write.
        layer : int
            Layer of the pool.
        """
        self.pool.view(layer).write(name, self.slots(start, start + len(values)), values)


def handles(sequences: AnySequence[Sequence]) -> list[int]:
    """Returns the runtime's numbers of sequences."""
    return [sequence._handle for sequence in sequences]
