//===- DefinitionABI.h - signatures of decomposed functions -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kvc-decompose makes of arguments and results, and kvc-wrap-definition
// fills in from a kvc_call_t.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_DEFINITIONABI_H
#define KVC_CONVERSION_DEFINITIONABI_H

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/IR/BuiltinTypes.h"

namespace kvc {

/// Attribute of a decomposed public function: its type before.
inline constexpr llvm::StringLiteral kFunctionTypeAttr = "kvc.function_type";

/// Attribute of such a function, a dictionary: what check_call cannot know. Numbers
/// are those of arguments, results counted after them, or -1 - i for the i-th batch
/// or cache that the function makes itself.
/// - batches = [{arrays = array<i64: query_start, kv_lens, page_start or -1, page_ids,
///   slots, positions>, max_query_len, max_kv_len}]: those that it makes of arguments;
/// - caches = [array<i64: buffers>];
/// - uses = [array<i64: batch, cache, page size>]: batches that have to fit caches;
/// - rows = [array<i64: batch, tensors>]: tensors with a row for each new token;
/// - equal_rows = [array<i64: tensors>]: tensors with as many rows.
inline constexpr llvm::StringLiteral kChecksAttr = "kvc.checks";

/// Returns the memref that stands for one array of a cache argument, in the dimensions
/// that `#kvc.component` gives its layout:
/// - row_major: [page][token][head][w], the strides of the cache; of what is static the
///   first two are 0;
/// - packed: [page][head], then the image. Pages and heads may lie apart.
mlir::MemRefType getArrayBuffer(CacheType cache, const CacheArray &array);

/// The values that stand for a batch argument, in order. The pages of sequence
/// i start at `pageStart[i]` of `pageIds`, or at `i * pageStride` if
/// `pageStart` is empty.
struct BatchArrays {
  mlir::Value queryStart, kvLens, pageIds, pageStart, pageStride, slots, positions;

  BatchArrays() = default;
  /// From values of the types getTypes().
  explicit BatchArrays(mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> getValues() const;

  static llvm::SmallVector<mlir::Type> getTypes(mlir::MLIRContext *context);
};

/// Returns the number of the first value that stands for argument `index` of a function
/// that took `types` before: a cache and a batch are several.
unsigned getFirstValue(mlir::TypeRange types, unsigned index);

/// Returns the memref that stands for a tensor argument or result of a public
/// function: any strides but the last.
mlir::MemRefType getTensorBuffer(mlir::RankedTensorType type);

} // namespace kvc

#endif // KVC_CONVERSION_DEFINITIONABI_H
