//===- SinkThroughCache.h - caches, and what they are made of ---*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_SINKTHROUGHCACHE_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_SINKTHROUGHCACHE_H

#include "TokenFunction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace kvc::sink {

/// One cache in one function.
struct Update {
  mlir::func::FuncOp function;
  std::optional<unsigned> argument; ///< Of the past.
  unsigned result;
  mlir::Value whole; ///< Past and new rows.
  mlir::Value rows;  ///< The new ones.
};

/// Rows that may be cached instead.
struct Source {
  std::string name;                        ///< Of the cache that they become.
  int64_t bytes = 0;                       ///< A token.
  llvm::SetVector<llvm::StringRef> caches; ///< Which are made of it.
};

/// What a cache is made of in one function.
struct Rows {
  Update update;
  llvm::StringRef cache;                    ///< Its name.
  llvm::SmallVector<mlir::AffineExpr> dims; ///< Of the rows.
  llvm::SmallVector<Segment> segments;
  llvm::SmallVector<mlir::StringAttr> sources; ///< Key of each segment's source.
  int64_t width;                               ///< The dimension of their columns.
};

/// One function while it is looked at and changed.
struct FunctionState {
  explicit FunctionState(mlir::func::FuncOp function)
      : function(function), elements(function) {}
  mlir::func::FuncOp function;
  Elements elements;
  llvm::MapVector<llvm::StringRef, Rows> caches;
};

/// A cache of the module.
struct Cache {
  Cache(llvm::StringRef name, mlir::Location loc) : name(name), loc(loc) {}

  std::string name;
  int64_t axis = -1;              ///< The dimension of tokens.
  int64_t bytes = 0;              ///< A token.
  int64_t work = 0, sunkWork = 0; ///< Columns that a query head multiplies by.
  mlir::Location loc;
  std::string signature; ///< Of its segments.
  std::string problem;   ///< Why it stays, or empty.
  std::string obstacle;  ///< What keeps it from being made of less, or empty.
};

/// The name of a cache that an attribute gives, or an empty one.
llvm::StringRef getCacheName(mlir::Attribute attribute);

/// The index of a source that depends on a dimension of the rows, or null.
mlir::AffineExpr findIndex(const Segment &segment, mlir::AffineExpr dim);

/// Lets a function cache the sources of the caches in `sunk`, instead of these.
llvm::LogicalResult sinkInFunction(FunctionState &state, const llvm::StringSet<> &sunk,
                                   llvm::MapVector<mlir::StringAttr, Source> &sources,
                                   llvm::MapVector<llvm::StringRef, Cache> &caches);

} // namespace kvc::sink

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_SINKTHROUGHCACHE_H
