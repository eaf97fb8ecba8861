"""Texts of whole layers, spelled with linalg around kvc's operations or without them."""

from dataclasses import dataclass

import numpy as np

import kvc.dtypes
import reference


def widen(value, dtype, wide):
    """Returns the text that makes `value` wide, and the name of the wide one."""
    if dtype == wide:
        return "", f"%{value}"
    return f"%{value}_wide = arith.extf %{value} : {dtype} to {wide}", f"%{value}_wide"


def narrow(value, dtype, wide):
    """Returns the text that rounds `value`, and the name of the rounded one."""
    if dtype == wide:
        return "", f"%{value}"
    return f"%{value}_narrow = arith.truncf %{value} : {wide} to {dtype}", f"%{value}_narrow"


@dataclass(frozen=True)
class Layer:
    """RMSNorm, projections, rope, cached attention, output projection, residual.

    Elements outside of the norm's and the products' sums are of `dtype`. Keys are
    projected by a weight of [out, in], all others by [in, out].
    """

    dtype: str = "f32"
    hidden: int = 128
    heads: int = 4
    kv_heads: int = 2
    width: int = 32
    theta: float = 10000.0
    eps: float = 1e-6

    @property
    def scale(self):
        return float(np.float32(self.width**-0.5))

    def weights(self, seed=0):
        """Returns the norm's weight and those of query, key, value and output."""
        rng = np.random.default_rng(seed)
        q, kv = self.heads * self.width, self.kv_heads * self.width
        shapes = [(self.hidden, q), (kv, self.hidden), (self.hidden, kv), (q, self.hidden)]
        matrices = [rng.standard_normal(s) / np.sqrt(self.hidden) for s in shapes]
        return [self.cast(w) for w in [1 + 0.1 * rng.standard_normal(self.hidden), *matrices]]

    def cast(self, array):
        return np.asarray(array).astype(kvc.dtypes.to_numpy(self.dtype))

    def tokens(self, rng, count):
        return self.cast(rng.standard_normal((count, self.hidden)))

    def expect(self, histories, query_lens, weights):
        """Returns what @layer gives for the last tokens of each sequence.

        In float64, rounded where the layer stores a tensor.
        """
        gamma, wq, wk, wv, wo = (w.astype(np.float64) for w in weights)
        queries, keys, values, rows = [], [], [], []

        def stored(array):
            return self.cast(array).astype(np.float64)

        for history, count in zip(histories, query_lens):
            x = history.astype(np.float64)
            h = stored(x / np.sqrt((x * x).mean(axis=1, keepdims=True) + self.eps) * gamma)
            positions = np.arange(len(x))

            def turn(heads):
                return stored(reference.rope(heads, positions, self.width, theta=self.theta))

            new = slice(len(x) - count, None)
            queries.append(turn(stored(h @ wq).reshape(-1, self.heads, self.width))[new])
            keys.append(turn(stored(h @ wk.T).reshape(-1, self.kv_heads, self.width)))
            values.append(stored(h @ wv).reshape(-1, self.kv_heads, self.width))
            rows.append(x[new])
        output, _ = reference.attention(
            [(np.concatenate(queries), keys)], values, query_lens, scale=self.scale, causal=True
        )
        projected = stored(stored(output.reshape(len(output), self.heads * self.width)) @ wo)
        return projected + np.concatenate(rows)

    @property
    def text(self):
        """@layer(x, gamma, wq, wk, wv, wo, cache, batch) -> y."""
        e, n, h = self.dtype, self.hidden, self.width
        q, kv = self.heads * h, self.kv_heads * h
        (widen_in, wide_in), (widen_weight, wide_weight) = (
            widen(name, e, "f32") for name in ("in", "weight")
        )
        (narrow_in, narrow_result), (narrow_weighted, weighted) = (
            narrow(name, e, "f32") for name in ("in", "weighted")
        )
        rope = f"{{theta = {self.theta} : f64, rotary_width = {h} : i64}}"
        return f"""
!cache = !kvc.cache<page = 16, k: {self.kv_heads}x{h}x{e}, v: {self.kv_heads}x{h}x{e}>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
func.func private @project(%x: tensor<?x?x{e}>, %w: tensor<?x?x{e}>) -> tensor<?x?x{e}> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?x{e}>
  %columns = tensor.dim %w, %c1 : tensor<?x?x{e}>
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?x{e}>, tensor<?x?x{e}>)
      outs(%fill : tensor<?x?xf32>) -> tensor<?x?xf32>
  %narrow = tensor.empty(%rows, %columns) : tensor<?x?x{e}>
  %z = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%y : tensor<?x?xf32>) outs(%narrow : tensor<?x?x{e}>) {{
    ^bb0(%in: f32, %unused: {e}):
      {narrow_in}
      linalg.yield {narrow_result} : {e}
  }} -> tensor<?x?x{e}>
  return %z : tensor<?x?x{e}>
}}
func.func @layer(%x: tensor<?x{n}x{e}>, %gamma: tensor<{n}x{e}>, %wq: tensor<{n}x{q}x{e}>,
                 %wk: tensor<{kv}x{n}x{e}>, %wv: tensor<{n}x{kv}x{e}>, %wo: tensor<{q}x{n}x{e}>,
                 %cache: !cache, %batch: !kvc.batch) -> tensor<?x{n}x{e}> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %size = arith.constant {float(n)} : f32
  %eps = arith.constant {self.eps:.1e} : f32
  %rows = tensor.dim %x, %c0 : tensor<?x{n}x{e}>
  %empty = tensor.empty(%rows) : tensor<?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %squares = linalg.generic {{indexing_maps = [#id, #row],
                              iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<?x{n}x{e}>) outs(%fill : tensor<?xf32>) {{
    ^bb0(%in: {e}, %sum: f32):
      {widen_in}
      %square = arith.mulf {wide_in}, {wide_in} : f32
      %next = arith.addf %sum, %square : f32
      linalg.yield %next : f32
  }} -> tensor<?xf32>
  %normal = tensor.empty(%rows) : tensor<?x{n}x{e}>
  %h = linalg.generic {{indexing_maps = [#id, #row, #column, #id],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%x, %squares, %gamma : tensor<?x{n}x{e}>, tensor<?xf32>, tensor<{n}x{e}>)
      outs(%normal : tensor<?x{n}x{e}>) {{
    ^bb0(%in: {e}, %sum: f32, %weight: {e}, %unused: {e}):
      {widen_in}
      {widen_weight}
      %mean = arith.divf %sum, %size : f32
      %shifted = arith.addf %mean, %eps : f32
      %inverse = math.rsqrt %shifted : f32
      %scaled = arith.mulf {wide_in}, %inverse : f32
      %weighted = arith.mulf %scaled, {wide_weight} : f32
      {narrow_weighted}
      linalg.yield {weighted} : {e}
  }} -> tensor<?x{n}x{e}>
  %anyh = tensor.cast %h : tensor<?x{n}x{e}> to tensor<?x?x{e}>
  %anywq = tensor.cast %wq : tensor<{n}x{q}x{e}> to tensor<?x?x{e}>
  %anyq = call @project(%anyh, %anywq) : (tensor<?x?x{e}>, tensor<?x?x{e}>) -> tensor<?x?x{e}>
  %q0 = tensor.cast %anyq : tensor<?x?x{e}> to tensor<?x{q}x{e}>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%rows, {self.heads}, {h}]
      : tensor<?x{q}x{e}> into tensor<?x{self.heads}x{h}x{e}>
  %q = kvc.rope %q1 at %batch {rope} : tensor<?x{self.heads}x{h}x{e}>
  %turned = tensor.empty() : tensor<{n}x{kv}x{e}>
  %wkt = linalg.transpose ins(%wk : tensor<{kv}x{n}x{e}>)
      outs(%turned : tensor<{n}x{kv}x{e}>) permutation = [1, 0]
  %anywk = tensor.cast %wkt : tensor<{n}x{kv}x{e}> to tensor<?x?x{e}>
  %anyk = call @project(%anyh, %anywk) : (tensor<?x?x{e}>, tensor<?x?x{e}>) -> tensor<?x?x{e}>
  %k0 = tensor.cast %anyk : tensor<?x?x{e}> to tensor<?x{kv}x{e}>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%rows, {self.kv_heads}, {h}]
      : tensor<?x{kv}x{e}> into tensor<?x{self.kv_heads}x{h}x{e}>
  %k = kvc.rope %k1 at %batch {rope} : tensor<?x{self.kv_heads}x{h}x{e}>
  %anywv = tensor.cast %wv : tensor<{n}x{kv}x{e}> to tensor<?x?x{e}>
  %anyv = call @project(%anyh, %anywv) : (tensor<?x?x{e}>, tensor<?x?x{e}>) -> tensor<?x?x{e}>
  %v0 = tensor.cast %anyv : tensor<?x?x{e}> to tensor<?x{kv}x{e}>
  %v = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%rows, {self.kv_heads}, {h}]
      : tensor<?x{kv}x{e}> into tensor<?x{self.kv_heads}x{h}x{e}>
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x{self.kv_heads}x{h}x{e}>, tensor<?x{self.kv_heads}x{h}x{e}>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {{scale = {self.scale} : f32}}
      : !cache, tensor<?x{self.heads}x{h}x{e}> -> tensor<?x{self.heads}x{h}x{e}>
  %o1 = tensor.collapse_shape %o [[0], [1, 2]]
      : tensor<?x{self.heads}x{h}x{e}> into tensor<?x{q}x{e}>
  %anyo = tensor.cast %o1 : tensor<?x{q}x{e}> to tensor<?x?x{e}>
  %anywo = tensor.cast %wo : tensor<{q}x{n}x{e}> to tensor<?x?x{e}>
  %anyp = call @project(%anyo, %anywo) : (tensor<?x?x{e}>, tensor<?x?x{e}>) -> tensor<?x?x{e}>
  %p = tensor.cast %anyp : tensor<?x?x{e}> to tensor<?x{n}x{e}>
  %y = arith.addf %p, %x : tensor<?x{n}x{e}>
  return %y : tensor<?x{n}x{e}>
}}
"""


def concat_attention(dtype, heads, width):
    """Returns @step(q, k, v, past_k, past_v) -> (output, keys, values).

    Attention as a model without kvc does it: [tokens, heads, width] behind the past, no
    mask. Elements of 16 bits are summed in f32.
    """
    wide = dtype if dtype in ("f32", "f64") else "f32"
    rows = f"tensor<?x{heads}x{width}x{dtype}>"
    wide_rows = f"tensor<?x{heads}x{width}x{wide}>"
    scores = f"tensor<{heads}x?x?x{wide}>"
    (widen_a, wide_a), (widen_b, wide_b) = (widen(name, dtype, wide) for name in "ab")
    narrow_a, narrowed_a = narrow("a", dtype, wide)
    return f"""
#q = affine_map<(h, i, j, w) -> (i, h, w)>
#k = affine_map<(h, i, j, w) -> (j, h, w)>
#s = affine_map<(h, i, j, w) -> (h, i, j)>
#id = affine_map<(i, h, w) -> (i, h, w)>
func.func @step(%q: {rows}, %k: {rows}, %v: {rows}, %past_k: {rows}, %past_v: {rows})
    -> ({rows}, {rows}, {rows}) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : {wide}
  %scale = arith.constant {width**-0.5} : {wide}
  %keys = tensor.concat dim(0) %past_k, %k : ({rows}, {rows}) -> {rows}
  %values = tensor.concat dim(0) %past_v, %v : ({rows}, {rows}) -> {rows}
  %n = tensor.dim %q, %c0 : {rows}
  %m = tensor.dim %keys, %c0 : {rows}
  %empty = tensor.empty(%n, %m) : {scores}
  %fill = linalg.fill ins(%zero : {wide}) outs(%empty : {scores}) -> {scores}
  %dot = linalg.generic {{indexing_maps = [#q, #k, #s],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%q, %keys : {rows}, {rows}) outs(%fill : {scores}) {{
    ^bb0(%a: {dtype}, %b: {dtype}, %sum: {wide}):
      {widen_a}
      {widen_b}
      %scaled = arith.mulf {wide_a}, %scale : {wide}
      %product = arith.mulf %scaled, {wide_b} : {wide}
      %next = arith.addf %sum, %product : {wide}
      linalg.yield %next : {wide}
  }} -> {scores}
  %p = linalg.softmax dimension(2) ins(%dot : {scores}) outs(%empty : {scores}) -> {scores}
  %empty_out = tensor.empty(%n) : {wide_rows}
  %fill_out = linalg.fill ins(%zero : {wide}) outs(%empty_out : {wide_rows}) -> {wide_rows}
  %out = linalg.generic {{indexing_maps = [#s, #k, #q],
      iterator_types = ["parallel", "parallel", "reduction", "parallel"]}}
      ins(%p, %values : {scores}, {rows}) outs(%fill_out : {wide_rows}) {{
    ^bb0(%a: {wide}, %b: {dtype}, %sum: {wide}):
      {widen_b}
      %product = arith.mulf %a, {wide_b} : {wide}
      %next = arith.addf %sum, %product : {wide}
      linalg.yield %next : {wide}
  }} -> {wide_rows}
  %empty_result = tensor.empty(%n) : {rows}
  %result = linalg.generic {{indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%out : {wide_rows}) outs(%empty_result : {rows}) {{
    ^bb0(%a: {wide}, %unused: {dtype}):
      {narrow_a}
      linalg.yield {narrowed_a} : {dtype}
  }} -> {rows}
  return %result, %keys, %values : {rows}, {rows}, {rows}
}}
"""
