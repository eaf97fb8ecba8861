"""kvc.quantize and kvc.dequantize on plain tensors, bit by bit."""

import numpy as np
import pytest

import kvc
from targets import DEFINITIONS

WIDTH = 80


def quantize(x, element, scale_type, group, zero_point):
    """Returns codes, scales, zero points (or None) and numbers, as #kvc.scale says."""
    f32, scale_type = np.float32, np.dtype(scale_type)
    parts = [x[..., i : i + group] for i in range(0, x.shape[-1], group)]
    codes, scales, zeros, numbers = [], [], [], []
    largest = f32({"i8": 127, "i4": 7}[element])
    for part in parts:
        finite = np.where(np.isfinite(part), part, f32(0))
        zero = f32(0)
        if zero_point:
            top, low = finite.max(axis=-1, keepdims=True), finite.min(axis=-1, keepdims=True)
            scale = (top / f32(15) - low / f32(15)).astype(scale_type).astype(f32)
            zero = (low + f32(8) * scale).astype(scale_type).astype(f32)
        else:
            scale = np.abs(finite).max(axis=-1, keepdims=True) / largest
            scale = scale.astype(scale_type).astype(f32)
        with np.errstate(divide="ignore", invalid="ignore"):
            code = (part - zero) / scale
        code = np.where(np.isnan(code) | (scale == 0), f32(0), code)
        code = np.rint(np.clip(code, -largest - zero_point, largest))
        codes.append(code.astype(np.int8))
        scales.append(scale.astype(scale_type))
        zeros.append(np.broadcast_to(zero, scale.shape).astype(scale_type))
        numbers.append(code * scale + zero)
    join = [np.concatenate(a, axis=-1) for a in (codes, scales, zeros, numbers)]
    return join[0], join[1], join[2] if zero_point else None, join[3].astype(np.float32)


@pytest.mark.parametrize(
    "element,scale,scale_type,group,zero_point",
    [
        ("i8", "f32, token", "f32", WIDTH, False),
        ("i8", "f16, group = 64", "f16", 64, False),
        ("i4", "f32, token", "f32", WIDTH, False),
        ("i4", "f32, group = 32, zero_point", "f32", 32, True),
        ("i4", "f16, token, zero_point", "f16", WIDTH, True),
    ],
)
def test_bits(element, scale, scale_type, group, zero_point):
    groups = -(-WIDTH // group)
    x_type, c_type = f"tensor<?x2x{WIDTH}xf32>", f"tensor<?x2x{WIDTH}xi8>"
    s_type = f"tensor<?x2x{groups}x{scale_type}>"
    scales = ["%s", "%z"][: 1 + zero_point]
    types = ", ".join([s_type] * len(scales))
    text = f"""
func.func @quantize(%x: {x_type}) -> ({c_type}, {types}, {x_type}) {{
  %c, {', '.join(scales)} = kvc.quantize %x to {element} scale<{scale}> : ({x_type}) -> ({c_type}, {types})
  %y = kvc.dequantize %c by({', '.join(scales)}) from {element} scale<{scale}> : ({c_type}, {types}) -> {x_type}
  return %c, {', '.join(scales)}, %y : {c_type}, {types}, {x_type}
}}"""
    function = kvc.Compiler().compile(text, **DEFINITIONS[0].compile_options())["quantize"]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 2, WIDTH), dtype=np.float32)
    x[0, 0] = 0
    x[1, 1] = 3
    x[2, 0, 5], x[2, 1, 7], x[3, 0, 9] = np.nan, np.inf, -np.inf
    x[4] *= 1e-30
    got = function(x)
    codes, own, zeros, numbers = quantize(
        x, element, {"f32": np.float32, "f16": np.float16}[scale_type], group, zero_point
    )
    np.testing.assert_array_equal(got[0], codes)
    np.testing.assert_array_equal(got[1], own)
    if zero_point:
        np.testing.assert_array_equal(got[2], zeros)
    np.testing.assert_array_equal(got[-1], numbers)
