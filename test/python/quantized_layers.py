"""Layers that quantise their caches in code of their own, as MLIR and in NumPy."""

import dataclasses

import ml_dtypes
import numpy as np

HEADS, GROUP, WIDTH = 2, 2, 64
QUANT_SCALES = {"k": 0.01, "v": 0.02}

IDENTITY = "affine_map<(b, h, t, w) -> (b, h, t, w)>"
ROW = "affine_map<(b, h, t, w) -> (b, h, t, 0)>"
PARALLEL = ", ".join(['"parallel"'] * 4)
NUMBERS = f"tensor<?x{HEADS}x?x{WIDTH}xf32>"


def shaped(width, element):
    return f"tensor<?x{HEADS}x?x{width}x{element}>"


def generic(result, inputs, maps, element, body, width=WIDTH):
    """Returns a linalg.generic over tensors with the dimensions of %k.

    `body` has the operands in0, in1 and so on, and sets %r.
    """
    names = ", ".join(name for name, _ in inputs)
    types = ", ".join(kind for _, kind in inputs)
    arguments = ", ".join(
        f"%in{i}: {kind.rstrip('>').split('x')[-1].removeprefix('tensor<')}"
        for i, (_, kind) in enumerate(inputs)
    )
    out = shaped(width, element)
    return f"""
  %{result}_e = tensor.empty(%b, %t) : {out}
  %{result} = linalg.generic {{indexing_maps = [{', '.join([*maps, IDENTITY])}], iterator_types = [{PARALLEL}]}}
      ins({names} : {types}) outs(%{result}_e : {out}) {{
  ^bb0({arguments}, %out: {element}):{body}
    linalg.yield %r : {element}
  }} -> {out}"""


def reduced(result, source, combiner, start, body, groups=1):
    """Returns the reduction of a tensor along the width, or along groups of it."""
    size = WIDTH // groups
    return f"""
  %{result}_x = tensor.expand_shape {source} [[0], [1], [2], [3, 4]] output_shape [%b, {HEADS}, %t, {groups}, {size}] : {NUMBERS} into tensor<?x{HEADS}x?x{groups}x{size}xf32>
  %{result}_s = arith.constant {start} : f32
  %{result}_e = tensor.empty(%b, %t) : {shaped(groups, 'f32')}
  %{result}_i = linalg.fill ins(%{result}_s : f32) outs(%{result}_e : {shaped(groups, 'f32')}) -> {shaped(groups, 'f32')}
  %{result} = linalg.generic {{indexing_maps = [affine_map<(b, h, t, g, w) -> (b, h, t, g, w)>, affine_map<(b, h, t, g, w) -> (b, h, t, g)>],
      iterator_types = [{PARALLEL}, "reduction"]}} ins(%{result}_x : tensor<?x{HEADS}x?x{groups}x{size}xf32>) outs(%{result}_i : {shaped(groups, 'f32')}) {{
  ^bb0(%in: f32, %acc: f32):{body}
    %m = arith.{combiner} %acc, %r : f32
    linalg.yield %m : f32
  }} -> {shaped(groups, 'f32')}"""


@dataclasses.dataclass(frozen=True)
class Int8Token:
    """Codes of 8 bits, a scale for each token and head, cached beside them.

    `arrays` are those of the component that the cache ends as, by their suffixes.
    """

    arrays = {"": "i8", ".scale": "f32"}

    def parts(self, x):
        return {x: shaped(WIDTH, "i8"), f"{x}_scale": shaped(1, "f32")}

    def arguments(self):
        return ""

    def quantize(self, x):
        return (
            reduced(f"{x}_amax", f"%{x}", "maximumf", "0.0", "\n    %r = math.absf %in : f32")
            + generic(
                f"{x}_scale_new", [(f"%{x}_amax", shaped(1, "f32"))], [IDENTITY], "f32", """
    %c = arith.constant 127.0 : f32
    %r = arith.divf %in0, %c : f32""", width=1)
            + generic(
                f"{x}_new", [(f"%{x}", NUMBERS), (f"%{x}_scale_new", shaped(1, "f32"))],
                [IDENTITY, ROW], "i8", """
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %is_zero = arith.cmpf oeq, %in1, %zero : f32
    %safe = arith.select %is_zero, %one, %in1 : f32
    %y = arith.divf %in0, %safe : f32
    %z = math.roundeven %y : f32
    %r = arith.fptosi %z : f32 to i8""")
        )

    def dequantize(self, x):
        return generic(
            f"{x}_all", [(f"%{x}_full", shaped(WIDTH, "i8")), (f"%{x}_scale_full", shaped(1, "f32"))],
            [IDENTITY, ROW], "f32", """
    %f = arith.sitofp %in0 : i8 to f32
    %r = arith.mulf %f, %in1 : f32""")

    def numbers(self, x, scale=None):
        amax = np.abs(x).max(axis=-1, keepdims=True)
        s = (amax / np.float32(127)).astype(np.float32)
        codes = np.rint(x / np.where(s == 0, np.float32(1), s))
        return codes.astype(np.float32) * s


@dataclasses.dataclass(frozen=True)
class FakeInt8(Int8Token):
    """The same codes, but as numbers again before they are cached."""

    def parts(self, x):
        return {x: NUMBERS}

    def quantize(self, x):
        return Int8Token.quantize(self, x).replace(f"%{x}_new ", f"%{x}_codes ").replace(
            f"%{x}_new_e", f"%{x}_codes_e") + generic(
            f"{x}_new", [(f"%{x}_codes", shaped(WIDTH, "i8")), (f"%{x}_scale_new", shaped(1, "f32"))],
            [IDENTITY, ROW], "f32", """
    %f = arith.sitofp %in0 : i8 to f32
    %r = arith.mulf %f, %in1 : f32""")

    def dequantize(self, x):
        return f"""
  %{x}_all = tensor.cast %{x}_full : {NUMBERS} to {NUMBERS}"""


@dataclasses.dataclass(frozen=True)
class Float8Tensor:
    """f8E4M3FN by one scale, which is an argument."""

    arrays = {"": "f8E4M3FN", ".scale": "f32"}

    def parts(self, x):
        return {x: shaped(WIDTH, "f8E4M3FN")}

    def arguments(self):
        return "%k_s: tensor<f32>, %v_s: tensor<f32>, "

    def quantize(self, x):
        return generic(
            f"{x}_new", [(f"%{x}", NUMBERS), (f"%{x}_s", "tensor<f32>")],
            [IDENTITY, "affine_map<(b, h, t, w) -> ()>"], "f8E4M3FN", """
    %low = arith.constant -448.0 : f32
    %high = arith.constant 448.0 : f32
    %y = arith.divf %in0, %in1 : f32
    %a = arith.maximumf %y, %low : f32
    %c = arith.minimumf %a, %high : f32
    %r = arith.truncf %c : f32 to f8E4M3FN""")

    def dequantize(self, x):
        return generic(
            f"{x}_all", [(f"%{x}_full", shaped(WIDTH, "f8E4M3FN")), (f"%{x}_s", "tensor<f32>")],
            [IDENTITY, "affine_map<(b, h, t, w) -> ()>"], "f32", """
    %f = arith.extf %in0 : f8E4M3FN to f32
    %r = arith.mulf %f, %in1 : f32""")

    def numbers(self, x, scale):
        codes = np.clip(x / np.float32(scale), -448, 448).astype(ml_dtypes.float8_e4m3fn)
        return codes.astype(np.float32) * np.float32(scale)


@dataclasses.dataclass(frozen=True)
class Int4Group:
    """Codes of 4 bits in i8, a scale and a zero point for each 32 elements."""

    arrays = {"": "i4x2", ".scale": "f32", ".zero": "f32"}

    def parts(self, x):
        groups = shaped(WIDTH // 32, "f32")
        return {x: shaped(WIDTH, "i8"), f"{x}_scale": groups, f"{x}_zero": groups}

    def arguments(self):
        return ""

    def quantize(self, x):
        groups = WIDTH // 32
        group = "affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>"
        own = shaped(groups, "f32")
        itself = ""
        text = reduced(f"{x}_max", f"%{x}", "maximumf", "0xFF800000", itself, groups)
        text += reduced(f"{x}_min", f"%{x}", "minimumf", "0x7F800000", itself, groups)
        text = text.replace("%acc, %r", "%acc, %in")
        text += generic(
            f"{x}_scale_new", [(f"%{x}_max", own), (f"%{x}_min", own)], [IDENTITY, IDENTITY],
            "f32", """
    %c = arith.constant 15.0 : f32
    %y = arith.divf %in0, %c : f32
    %z = arith.divf %in1, %c : f32
    %r = arith.subf %y, %z : f32""", width=groups)
        text += generic(
            f"{x}_zero_new", [(f"%{x}_min", own), (f"%{x}_scale_new", own)],
            [IDENTITY, IDENTITY], "f32", """
    %c = arith.constant 8.0 : f32
    %y = arith.mulf %in1, %c : f32
    %r = arith.addf %in0, %y : f32""", width=groups)
        return text + generic(
            f"{x}_new", [(f"%{x}", NUMBERS), (f"%{x}_scale_new", own), (f"%{x}_zero_new", own)],
            [IDENTITY, group, group], "i8", """
    %low = arith.constant -8.0 : f32
    %high = arith.constant 7.0 : f32
    %y = arith.subf %in0, %in2 : f32
    %z = arith.divf %y, %in1 : f32
    %u = math.roundeven %z : f32
    %a = arith.maximumf %u, %low : f32
    %c = arith.minimumf %a, %high : f32
    %r = arith.fptosi %c : f32 to i8""")

    def dequantize(self, x):
        group = "affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>"
        own = shaped(WIDTH // 32, "f32")
        return generic(
            f"{x}_all",
            [(f"%{x}_full", shaped(WIDTH, "i8")), (f"%{x}_scale_full", own), (f"%{x}_zero_full", own)],
            [IDENTITY, group, group], "f32", """
    %f = arith.sitofp %in0 : i8 to f32
    %y = arith.mulf %f, %in1 : f32
    %r = arith.addf %y, %in2 : f32""")

    def numbers(self, x, scale=None):
        f32 = np.float32
        rows = x.reshape(*x.shape[:-1], -1, 32)
        top, low = rows.max(axis=-1, keepdims=True), rows.min(axis=-1, keepdims=True)
        s = top / f32(15) - low / f32(15)
        zero = low + f32(8) * s
        codes = np.clip(np.rint((rows - zero) / np.where(s == 0, f32(1), s)), -8, 7)
        return (codes.astype(f32) * s + zero).reshape(x.shape)


@dataclasses.dataclass(frozen=True)
class QuantCasts:
    """Upstream's quant dialect: integers of a uniform type are cached."""

    arrays = {"": "i8"}

    def parts(self, x):
        return {x: shaped(WIDTH, "i8")}

    def arguments(self):
        return ""

    def kind(self, x):
        return shaped(WIDTH, f"!quant.uniform<i8<-127:127>:f32, {QUANT_SCALES[x]}>")

    def quantize(self, x):
        return f"""
  %{x}_q = quant.qcast %{x} : {NUMBERS} to {self.kind(x)}
  %{x}_new = quant.scast %{x}_q : {self.kind(x)} to {shaped(WIDTH, 'i8')}"""

    def dequantize(self, x):
        return f"""
  %{x}_full_q = quant.scast %{x}_full : {shaped(WIDTH, 'i8')} to {self.kind(x)}
  %{x}_all = quant.dcast %{x}_full_q : {self.kind(x)} to {NUMBERS}"""

    def numbers(self, x, scale):
        codes = np.clip(np.rint(x / np.float32(scale)), -127, 127)
        return codes.astype(np.float32) * np.float32(scale)


def layer(scheme):
    """Returns @attend, which appends to caches that are tensors and attends over them."""
    arguments, results, types, full, returned = [], [], [], "", []
    for x in "kv":
        for name, kind in scheme.parts(x).items():
            arguments.append(f'%{name}_past: {kind} {{kvc.cache = "{name}"}}')
            results.append(f'{kind} {{kvc.cache = "{name}"}}')
            types.append(kind)
            returned.append(f"%{name}_full")
            full += f"""
  %{name}_full = tensor.concat dim(2) %{name}_past, %{name}_new : ({kind}, {kind}) -> {kind}"""
    q = f"tensor<?x{HEADS}x{GROUP}x?x{WIDTH}xf32>"
    heads = HEADS * GROUP
    x = f"tensor<?x{heads + 2 * HEADS}x?x{WIDTH}xf32>"
    own = f"tensor<?x{heads}x?x{WIDTH}xf32>"

    def part(name, first, count):
        kind = f"tensor<?x{count}x?x{WIDTH}xf32>"
        return f"""
  %{name} = tensor.extract_slice %x[0, {first}, 0, 0] [%b, {count}, %t_new, {WIDTH}] [1, 1, 1, 1] : {x} to {kind}"""

    return f"""
#q = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
func.func @attend(%x: {x}, {scheme.arguments()}{', '.join(arguments)})
    -> ({q}, {', '.join(results)}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %x, %c0 : {x}
  %t_new = tensor.dim %x, %c2 : {x}
  %t_past = tensor.dim %k_past, %c2 : {scheme.parts('k')['k']}
  %t_all = arith.addi %t_past, %t_new : index
{part('q_heads', 0, heads)}{part('k', heads, HEADS)}{part('v', heads + HEADS, HEADS)}
  %q = tensor.expand_shape %q_heads [[0], [1, 2], [3], [4]] output_shape [%b, {HEADS}, {GROUP}, %t_new, {WIDTH}] : {own} into {q}
{(scheme.quantize('k') + scheme.quantize('v')).replace('%t)', '%t_new)').replace('%t,', '%t_new,')}
{full}
{(scheme.dequantize('k') + scheme.dequantize('v')).replace('%t)', '%t_all)')}
  %o = kvc.dense_attention terms(%q * %k_all) value(%v_all) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {{scale = 0.125 : f32}} : ({q}, {NUMBERS}, {NUMBERS}) -> {q}
  return %o, {', '.join(returned)} : {q}, {', '.join(types)}
}}
"""
