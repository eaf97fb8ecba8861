//===- LoopBuilder.h - loops over elements of tensors and caches -*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A builder in which a definition reads like the formula that it implements.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOLOOPS_LOOPBUILDER_H
#define KVC_LIB_CONVERSION_KVCTOLOOPS_LOOPBUILDER_H

#include "kvc/Conversion/DefinitionABI.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvc {

class LoopBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using LoopBody = llvm::function_ref<Values(mlir::Value index, mlir::ValueRange carried)>;

  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value index(int64_t value);
  mlir::Value real(mlir::Type type, double value);

  /// Integer or float arithmetic, by the type.
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  /// Of an index that is not negative.
  mlir::Value div(mlir::Value lhs, int64_t rhs);
  mlir::Value rem(mlir::Value lhs, int64_t rhs);

  /// for (i = begin; i < end; ++i) carried = body(i, carried); returns carried.
  Values loop(mlir::Value begin, mlir::Value end, mlir::ValueRange carried, LoopBody body);
  Values loop(mlir::Value end, mlir::ValueRange carried, LoopBody body) {
    return loop(index(0), end, carried, body);
  }
  /// condition ? then() : otherwise; then() if there is no condition.
  Values choose(mlir::Value condition, mlir::ValueRange otherwise,
                llvm::function_ref<Values()> then);

  /// Size of a dimension of a tensor or memref.
  mlir::Value size(mlir::Value shaped, int64_t dim);
  /// An uninitialised tensor; `rows` is the size of dimension 0.
  mlir::Value empty(mlir::Type type, mlir::Value rows);
  mlir::Value extract(mlir::Value tensor, mlir::ValueRange indices);
  mlir::Value insert(mlir::Value element, mlir::Value tensor, mlir::ValueRange indices);
  /// Element `i` of a 1-D memref of integers, as an index.
  mlir::Value loadIndex(mlir::Value array, mlir::Value i);

  /// Exactly, to a float type of at least as many bits.
  mlir::Value extend(mlir::Value value, mlir::Type type);
  /// With one rounding.
  mlir::Value round(mlir::Value value, mlir::Type type);
};

/// Where an element of a component is in its getArrayBuffer().
struct ElementPlace {
  LoopBuilder::Values indices;
  mlir::Value half; ///< Of i4: 0 or 1, the low or the high half of the byte.
};
ElementPlace getElementPlace(LoopBuilder &b, ComponentAttr component, mlir::Value page,
                             mlir::Value token, mlir::Value head, mlir::Value w);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOLOOPS_LOOPBUILDER_H
