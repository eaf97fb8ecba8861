"""Caches: their types, page pools, sequences, and views of memory."""

from collections.abc import Iterable, Mapping, Sequence as AnySequence
from dataclasses import dataclass
from typing import Union

import numpy as np

from . import _kvc, codes, dtypes
from .device import Device

_LAYOUTS = {"row_major": 0, "packed_key": 1, "packed_value": 2, "static": 3, "lane_key": 4}
_LAYOUT_NAMES = {number: name for name, number in _LAYOUTS.items()}
# What `Sequence.export` calls the types of its arrays: no component has so long a name.
_TYPES = "kvc.element_types"


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
    def is_static(self) -> bool:
        """Whether it is one array for all tokens, of shape (heads, width)."""
        return self.layout == "static"

    @property
    def _text(self) -> str:
        """What caches of any layout and page size have in common."""
        text = f"{self.name}: {self.heads}x{self.width}x{self.dtype}"
        if self.scale:
            text += f" scale = {self.scale!r}"
        return text + " static" if self.is_static else text


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
            if not component.is_static
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
        if component.is_static:
            expected = (component.heads, component.width)
        elif component.layout != "row_major":
            expected = (component.heads, page_size * component.width)
        free = "" if component.is_static else "pages, "
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

        Of a pool on a device it is a copy that cannot be written; see `write` and
        `set_scales`.
        """
        memory = self._copy(name)
        if self._is_on_device:
            memory.flags.writeable = False
        return memory

    def _component(self, name: str) -> Component:
        return self.cache_type.components[self.cache_type.index(name)]

    def _copy(self, name: str) -> np.ndarray:
        """Returns the memory; of a device a copy."""
        index = self.cache_type.index(name)
        dtype = dtypes.to_numpy(self.cache_type.components[index].dtype)
        return self._view.memory(index).view(dtype)

    def _update(self, name: str, memory: np.ndarray) -> None:
        """Writes a changed result of `_copy` back to the device it is from."""
        if self._is_on_device:
            self._view.set_memory(self.cache_type.index(name), dtypes.bits(memory))

    def fill(self, value: float) -> None:
        """Sets all elements of all components."""
        for component in self.cache_type.components:
            memory = self._copy(component.name)
            memory[...] = value
            self._update(component.name, memory)

    def read(self, name: str, slots: np.ndarray) -> np.ndarray:
        """Reads tokens of a component, whatever its layout.

        Parameters
        ----------
        name : str
            The component; not a static one, which `memory` gives.
        slots : array of int64, shape (tokens,)
            Page id times page size plus offset, of each token.

        Returns
        -------
        array of the component's type, shape (tokens, heads, width)

        Raises
        ------
        Error
            If a slot is of no page, or the component is static.
        """
        component = self._component(name)
        slots = np.ascontiguousarray(slots, np.int64)
        result = np.empty(
            (len(slots), component.heads, component.width), dtypes.to_numpy(component.dtype)
        )
        self._view.read(self.cache_type.index(name), slots, result.reshape(-1).view(np.uint8))
        return result

    def write(self, name: str, slots: np.ndarray, values: np.ndarray) -> None:
        """Writes tokens of a component, whatever its layout.

        Parameters
        ----------
        name : str
            The component; not a static one, see `set_scales`.
        slots : array of int64, shape (tokens,)
            Page id times page size plus offset, of each token.
        values : array, shape (tokens, heads, width)
            Converted to the component's type.

        Raises
        ------
        ValueError
            If `values` has another shape.
        Error
            If a slot is of no page, or the component is static.
        """
        component = self._component(name)
        slots = np.ascontiguousarray(slots, np.int64)
        values = np.asarray(values)
        expected = (len(slots), component.heads, component.width)
        if values.shape != expected:
            raise ValueError(
                f"component '{name}': expected values of shape {expected}, got {values.shape}"
            )
        values = np.ascontiguousarray(values.astype(dtypes.to_numpy(component.dtype)))
        self._view.write(self.cache_type.index(name), slots, values.reshape(-1).view(np.uint8))

    def dequantize(self, name: str, slots: np.ndarray) -> np.ndarray:
        """Returns the numbers that tokens of a component stand for.

        Those are the codes times their scales, plus their zero points, in float32, as
        `#kvc.scale` says; of a component without scales the elements themselves.

        Parameters
        ----------
        name : str
            The component.
        slots : array of int64, shape (tokens,)
            Page id times page size plus offset, of each token.

        Returns
        -------
        array of float32, shape (tokens, heads, width)
            Of "i4x2" the width is that of the integers, twice the component's.
        """
        component = self._component(name)
        rows = self.read(name, slots)

        def companion(suffix: str) -> Union[np.ndarray, None]:
            for other in self.cache_type.components:
                if other.name == name + suffix:
                    return (
                        self._copy(other.name)
                        if other.is_static
                        else self.read(other.name, slots)
                    )
            return None

        scale = companion(".scale")
        if scale is None and component.scale:
            scale = np.full((1, 1), component.scale, np.float32)
        if scale is None and component.dtype in ("i8", "i4x2"):
            raise ValueError(
                f"expected scales of component '{name}', whose elements are codes of "
                f"{component.dtype}, got neither an array '{name}.scale' nor a constant"
            )
        return codes.dequantize(rows, component.dtype, scale, companion(".zero"))

    def set_scales(
        self, name: str, scale: np.ndarray, zero: Union[np.ndarray, None] = None
    ) -> None:
        """Sets the static scales of a component, which all tokens share.

        Parameters
        ----------
        name : str
            The component.
        scale : float or array, shape (heads, groups)
            Or what NumPy broadcasts to it; converted to the type of the scales. With one
            scale for all heads, `heads` is 1.
        zero : float or array, optional
            The zero points likewise, of components that have them.

        Raises
        ------
        ValueError
            If the component has no static scales, the shape is another one, or zero
            points are missing or not expected.
        """
        self._component(name)
        components = {c.name: c for c in self.cache_type.components}
        scales, zeros = components.get(f"{name}.scale"), components.get(f"{name}.zero")
        if scales is None or not scales.is_static:
            reason = "it has none in memory" if scales is None else "appends compute them"
            raise ValueError(f"component '{name}': expected static scales to set, but {reason}")
        if (zeros is None) != (zero is None):
            wanted = "no zero points, got some" if zeros is None else "zero points, got none"
            raise ValueError(f"component '{name}': expected {wanted}")
        arrays = {scales.name: scale}
        if zeros is not None:
            arrays[zeros.name] = zero
        values = {}
        for array, value in arrays.items():
            shape = components[array].heads, components[array].width
            value = np.asarray(value)
            try:
                values[array] = np.broadcast_to(value, shape)
            except ValueError:
                raise ValueError(
                    f"component '{array}': expected an array that broadcasts to shape {shape}, "
                    f"got {value.shape}"
                ) from None
        for array, value in values.items():
            memory = self._copy(array)
            memory[...] = value
            self._update(array, memory)


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

    def dequantize(self, name: str, layer: int = 0) -> np.ndarray:
        """Returns the numbers that a component of all tokens stands for.

        Returns
        -------
        array of float32, shape (tokens, heads, width)
            See `CacheView.dequantize`.
        """
        return self.pool.view(layer).dequantize(name, self.slots())

    def export(self, layer: int = 0) -> dict[str, np.ndarray]:
        """Returns the contents of the cache in plain rows, to look at, save or move.

        ``numpy.savez(path, **sequence.export())`` saves it; see `load`.

        Returns
        -------
        dict of str to array
            For each component an array of shape (tokens, heads, width), or of shape
            (heads, width) if it is static, and by the name "kvc.element_types" what each
            of them is, which a file of NumPy does not know of types such as bf16.
        """
        view, slots = self.pool.view(layer), self.slots()
        components = self.pool.cache_type.components
        arrays = {
            c.name: view._copy(c.name).copy() if c.is_static else view.read(c.name, slots)
            for c in components
        }
        arrays[_TYPES] = np.array([c._text for c in components])
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray], layer: int = 0) -> None:
        """Writes what `export` gave to this sequence, whose pool may have other layouts
        and another page size.

        Static components are of a whole layer: they are set if they have not been, and
        must otherwise be the same.

        Parameters
        ----------
        arrays : mapping of str to array
            What `export` returned, or ``numpy.load(path)`` of a file of it. The
            sequence has as many tokens.
        layer : int
            Layer of the pool.

        Raises
        ------
        ValueError
            If an array is missing or its type, shape or number of tokens is another;
            then nothing changes.
        """
        view, slots = self.pool.view(layer), self.slots()
        components = self.pool.cache_type.components
        names = {c.name for c in components}
        given = {name for name in arrays if name != _TYPES}
        if names != given:
            raise ValueError(
                f"expected arrays {', '.join(sorted(names))}, got {', '.join(sorted(given))}"
            )
        if _TYPES in arrays:
            expected = [c._text for c in components]
            for ours, theirs in zip(expected, np.asarray(arrays[_TYPES]).tolist()):
                if ours != theirs:
                    raise ValueError(f"expected an array of '{ours}', got one of '{theirs}'")
        values = {c.name: self._matching(c, arrays[c.name]) for c in components}
        for component in components:
            if component.is_static:
                memory, value = view._copy(component.name), values[component.name]
                if not (np.isnan(memory.astype(np.float32)) | (memory == value)).all():
                    raise ValueError(
                        f"component '{component.name}': expected what layer {layer} of the "
                        "pool has, since all its sequences share it, got other numbers"
                    )
        for component in components:
            if component.is_static:
                memory = view._copy(component.name)
                memory[...] = values[component.name]
                view._update(component.name, memory)
            else:
                view.write(component.name, slots, values[component.name])

    def _matching(self, component: Component, array: np.ndarray) -> np.ndarray:
        """Checks an array of `load`, and gives it back the type that files forget."""
        array = np.asarray(array)
        shape = (component.heads, component.width)
        if not component.is_static:
            shape = (len(self), *shape)
        if array.shape != shape:
            raise ValueError(
                f"component '{component.name}': expected an array of shape {shape}, "
                f"got {array.shape}"
            )
        dtype = dtypes.to_numpy(component.dtype)
        if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
            array = array.view(dtype)
        if array.dtype != dtype:
            raise ValueError(
                f"component '{component.name}': expected elements of {component.dtype}, "
                f"got {array.dtype}"
            )
        return array


def handles(sequences: AnySequence[Sequence]) -> list[int]:
    """Returns the runtime's numbers of sequences."""
    return [sequence._handle for sequence in sequences]
