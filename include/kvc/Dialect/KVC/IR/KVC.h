//===- KVC.h - the kvc dialect ----------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVC_IR_KVC_H
#define KVC_DIALECT_KVC_IR_KVC_H

#include "kvc/Dialect/KVC/IR/ScoreInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <string>

namespace kvc {
enum class Layout : uint32_t;

/// One of the arrays that the memory of a cache consists of: the elements of a
/// component, its scales, or its zero points.
struct CacheArray {
  std::string name;
  int64_t heads, width; ///< Of i4, pairs of elements along the width.
  mlir::Type element;   ///< Of i4, the pairs are bytes.
  Layout layout;
  bool isStatic; ///< One [heads][width] for all pages.
  float scale;   ///< The constant scale of a quantised component, or 0.

  /// What an element is in memory: i8 for a pair of i4, else `element`.
  mlir::Type getMemoryElement() const;
};
} // namespace kvc

#include "kvc/Dialect/KVC/IR/KVCDialect.h.inc"
#include "kvc/Dialect/KVC/IR/KVCEnums.h.inc"
#include "kvc/Dialect/KVC/IR/KVCInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kvc/Dialect/KVC/IR/KVCAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "kvc/Dialect/KVC/IR/KVCTypes.h.inc"

#define GET_OP_CLASSES
#include "kvc/Dialect/KVC/IR/KVCOps.h.inc"

namespace kvc {

/// Elements that a packed layout of f32, f16 or bf16 keeps side by side: 2 for bf16,
/// else 1.
int64_t getPackedPair(mlir::Type elementType);

/// True for the element types that hold codes: f8E4M3FN, f8E5M2, i8, i4.
bool isQuantized(mlir::Type elementType);

/// The largest code of a quantised element type: 448, 57344, 127, 7.
double getLargestCode(mlir::Type elementType);

/// What the names of arrays of scales and zero points end with.
inline constexpr llvm::StringLiteral kScaleSuffix = ".scale";
inline constexpr llvm::StringLiteral kZeroSuffix = ".zero";

/// Scales along the width of a component, the last of a group that may be partial; 0 if
/// it has none in memory.
int64_t getNumScales(ComponentAttr component);
/// Elements that share a scale along the width.
int64_t getScaleGroup(ComponentAttr component);

/// Tokens of one block of a packed key component.
inline constexpr int64_t kPackedTokens = 16;

/// The attribute of a module that holds a #kvc.target.
inline constexpr llvm::StringLiteral kTargetName = "kvc.target";

/// Attributes of a function's arguments and results, before paging. The name of a cache:
/// of arguments that hold the past, and of results that hold past and new tokens; all
/// functions of a module share the caches of one name.
inline constexpr llvm::StringLiteral kCacheName = "kvc.cache";
/// A unit: the argument holds the position of each new token, which is the number of tokens
/// before it in its sequence.
inline constexpr llvm::StringLiteral kPositionsName = "kvc.positions";

} // namespace kvc

#endif // KVC_DIALECT_KVC_IR_KVC_H
