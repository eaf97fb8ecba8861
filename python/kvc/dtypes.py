"""Element types: their names, numbers and NumPy types."""

import ml_dtypes
import numpy as np

# Name as MLIR spells it, and number of kvc_dtype_t.
NUMBERS: dict[str, int] = {
    "f32": 1,
    "f16": 2,
    "bf16": 3,
    "f8E4M3FN": 4,
    "f8E5M2": 5,
    "i8": 6,
    "i4x2": 7,
    "i32": 8,
    "i64": 9,
    "f64": 10,
    "i1": 11,
}
NAMES: dict[int, str] = {number: name for name, number in NUMBERS.items()}

_NUMPY: dict[str, np.dtype] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "i8": np.dtype(np.int8),
    "i4x2": np.dtype(np.uint8),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
}
_NAMES: dict[np.dtype, str] = {dtype: name for name, dtype in _NUMPY.items()}


def to_numpy(name: str) -> np.dtype:
    """Returns the NumPy type of the elements called `name`, such as "bf16".

    Raises
    ------
    TypeError
        If NumPy has none.
    """
    if name not in _NUMPY:
        raise TypeError(f"expected an element type of NumPy, got '{name}'")
    return _NUMPY[name]


def from_numpy(dtype: np.dtype) -> str:
    """Returns the name of a NumPy type as MLIR spells it.

    Raises
    ------
    TypeError
        If kvc has no such elements.
    """
    if dtype not in _NAMES:
        raise TypeError(f"expected elements of {', '.join(_NAMES.values())}, got {dtype}")
    return _NAMES[dtype]


def bits(array: np.ndarray) -> np.ndarray:
    """Returns a view of `array` that NumPy's buffers can express.

    Types that NumPy does not know itself, such as bf16, become unsigned integers.
    """
    if array.dtype.isbuiltin == 1:
        return array
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))
