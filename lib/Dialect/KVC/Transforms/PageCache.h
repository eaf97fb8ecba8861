//===- PageCache.h - what paging changes ------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_PAGECACHE_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_PAGECACHE_H

#include "CacheTensors.h"

namespace kvc {

/// Caches that attention reads together, as components of one.
struct CacheGroup {
  llvm::SmallVector<Cache *> members;
  llvm::SmallVector<Cache *> parts; ///< Scales and zero points of the members.
  CacheType type;
  mlir::StringAttr name;

  llvm::StringRef getComponent(const Cache &cache) const;
};

/// A rotary embedding at the positions of the new tokens.
struct PagedRope {
  DenseRopeOp op;
  llvm::SmallVector<CacheAxes> dims;
};

/// The size of a past's dimension that an argument which stays has too.
struct ReplacedSize {
  mlir::tensor::DimOp op;
  mlir::BlockArgument argument;
  int64_t dim;
};

/// What is to be changed in one function.
struct FunctionPlan {
  CacheFunction *function;
  std::vector<CacheGroup *> groups = {};
  std::vector<CacheRead *> reads = {};
  std::vector<PagedRope> ropes = {};
  std::vector<ReplacedSize> sizes = {};
};

/// Finds what a function needs once the caches without a failure are paged, ropes among
/// it, and fails those whose past it would need too.
void planNeeds(FunctionPlan &plan, CacheTensors &tensors);

/// Changes the function.
void pageFunction(FunctionPlan &plan);

/// Dimensions of an operand, or the result, of attention as axes. Sizes of heads are
/// those of the type.
llvm::SmallVector<CacheAxes> getAxes(mlir::RankedTensorType type, mlir::AffineMap map);

/// Sizes of heads and groups, 1 where no operand has the dimension.
struct AttentionHeads {
  int64_t kvHeads = 1, group = 1;
};
AttentionHeads getHeads(DenseAttentionOp op);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_PAGECACHE_H
