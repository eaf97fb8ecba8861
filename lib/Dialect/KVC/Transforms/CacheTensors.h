//===- CacheTensors.h - caches that are tensors -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The caches of a module before paging: who holds their past, makes them longer, and
// attends over them.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_CACHETENSORS_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_CACHETENSORS_H

#include "CacheRows.h"

#include "kvc/Analysis/Elements.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace kvc {

/// What the elements of a cache stand for, if they are codes.
struct CacheCodes {
  mlir::Type element;
  ScaleAttr scale; ///< Null if they have none.
  /// The caches of scales and zero points, if those are computed.
  llvm::SmallVector<mlir::StringAttr, 2> parts = {};
  /// Those that are not: places among the arguments of a function that are no caches.
  llvm::SmallVector<unsigned, 2> arguments = {};

  bool operator==(const CacheCodes &other) const {
    return element == other.element && scale == other.scale && parts == other.parts;
  }
};

/// One cache in one function.
struct CacheTensor {
  mlir::func::FuncOp function;
  mlir::BlockArgument past = {};            ///< Null if the function starts with none.
  unsigned result = 0;                      ///< Which of the function's results it is.
  mlir::Value full = {};                    ///< Past and new tokens; what is returned.
  mlir::Value rows = {};                    ///< The new tokens.
  llvm::SmallVector<unsigned> rowDims = {}; ///< Dimensions of `full` that those of `rows` are.
  std::optional<unsigned> tokenDim = {};    ///< Of `full`, if how it is written tells.
  QuantizeOp quantize = {};                 ///< Of the new tokens, if they are codes.
};

/// An attention over caches.
struct CacheRead {
  DenseAttentionOp op;
  llvm::SmallVector<mlir::StringAttr> names; ///< Of the key of each term, then the value.
};

/// One function with caches.
struct CacheFunction {
  mlir::func::FuncOp function;
  std::unique_ptr<Elements> elements;
  llvm::SmallVector<CacheRead> reads;
};

/// All tensors of one name.
struct Cache {
  mlir::StringAttr name;
  mlir::Location loc;
  mlir::Type type; ///< Of the first argument or result.
  llvm::SmallVector<CacheTensor> tensors = {};
  /// What each dimension is made of, as far as attention over it tells.
  llvm::SmallVector<CacheAxes> dims = {};
  std::optional<int64_t> writtenBytes = {}; ///< What the module keeps of it.
  std::optional<CacheCodes> codes = {};     ///< What attention takes its elements for.
  mlir::StringAttr partOf = {}; ///< The cache whose scales or zero points it holds.
  /// Why it is none that can be paged; empty if it can.
  std::string failure = {};
  mlir::Location failureLoc = loc;

  /// Keeps the first reason.
  void fail(mlir::Location where, const llvm::Twine &reason);
  bool hasFailed() const { return !failure.empty(); }
  const CacheTensor *find(mlir::func::FuncOp function) const;

  /// The dimension that counts tokens, if it is known.
  std::optional<unsigned> getTokenDim() const;
  /// Of one token: 1 where there is no such dimension.
  int64_t getHeads() const;
  int64_t getWidth() const;
  /// Bytes of a token; none if it is not known which dimensions are those of one.
  std::optional<int64_t> getBytes() const;
  /// The same as the model wrote it.
  std::optional<int64_t> getWrittenBytes() const {
    return writtenBytes ? writtenBytes : getBytes();
  }
  mlir::Type getElementType() const;
};

/// The caches of a module's functions, by name.
class CacheTensors {
public:
  explicit CacheTensors(mlir::ModuleOp module);

  llvm::MapVector<mlir::StringAttr, Cache> caches;
  llvm::SmallVector<CacheFunction> functions;

  /// The caches of a cache's scales and zero points.
  llvm::SmallVector<Cache *> getParts(const Cache &cache);
  /// The axes of a cache's rows in one function.
  static llvm::SmallVector<CacheAxes> getRowDims(const Cache &cache, const CacheTensor &tensor);

private:
  void addFunction(mlir::func::FuncOp function);
  void findWriter(Cache &cache, CacheTensor &tensor, Elements &elements);
  void findReads(CacheFunction &function);
  void completeReads(CacheFunction &function);
  mlir::StringAttr traceRead(CacheFunction &function, mlir::Value operand, mlir::AffineMap map,
                             mlir::Location loc);
  mlir::StringAttr matchRows(CacheFunction &function, mlir::Value operand, mlir::AffineMap map);
  void learnDims(Cache &cache, llvm::ArrayRef<CacheAxes> dims, mlir::Location loc);
  void checkCodes(Cache &cache);
  void checkRowCodes(Cache &cache, CacheTensor &tensor, CacheFunction &function);
  void checkTypes(Cache &cache);
};

/// What the new rows of codes are codes of, in the shape of the rows.
mlir::Value emitNumbers(mlir::OpBuilder &b, Elements &elements, const CacheTensor &tensor);

/// The argument of a function that static scales are, or null.
mlir::BlockArgument findScaleArgument(Elements &elements, mlir::Value scales);

/// The attention that reads what is computed of a tensor, or null.
DenseAttentionOp findReader(mlir::Value tensor);

/// Erases what nothing uses and has no effect, last first.
void eraseDeadOps(mlir::func::FuncOp function);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_CACHETENSORS_H
