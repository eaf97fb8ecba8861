//===- ListEmitter.h - emission of work lists -------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_WORKLIST_LISTEMITTER_H
#define KVC_LIB_CONVERSION_WORKLIST_LISTEMITTER_H

#include "kvc/Conversion/WorkList.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kvc {

/// Arithmetic and memory accesses with little noise.
class ListBuilder {
public:
  using Value = mlir::Value;
  using Predicate = mlir::arith::CmpIPredicate;

  ListBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value add(Value lhs, Value rhs) { return mlir::arith::AddIOp::create(b, loc, lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return mlir::arith::SubIOp::create(b, loc, lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return mlir::arith::MulIOp::create(b, loc, lhs, rhs); }
  Value div(Value lhs, Value rhs) { return mlir::arith::DivUIOp::create(b, loc, lhs, rhs); }
  Value min(Value lhs, Value rhs) { return mlir::arith::MinSIOp::create(b, loc, lhs, rhs); }
  Value max(Value lhs, Value rhs) { return mlir::arith::MaxSIOp::create(b, loc, lhs, rhs); }
  Value select(Value condition, Value lhs, Value rhs) {
    return mlir::arith::SelectOp::create(b, loc, condition, lhs, rhs);
  }
  Value compare(Predicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }
  Value toI64(Value value);
  Value toI32(Value value) { return truncate(value, 32); }
  Value truncate(Value value, unsigned width) {
    return mlir::arith::TruncIOp::create(b, loc, b.getIntegerType(width), value);
  }

  /// Address `bytes` + `index` * `stride` after `base`, in 64 bits.
  Value at(Value base, Value index, int64_t stride, int64_t bytes);
  Value load(Value base, Value index, int64_t stride, int64_t bytes, mlir::Type type) {
    return mlir::LLVM::LoadOp::create(b, loc, type, at(base, index, stride, bytes));
  }
  void store(Value value, Value base, Value index, int64_t stride, int64_t bytes) {
    mlir::LLVM::StoreOp::create(b, loc, value, at(base, index, stride, bytes));
  }
  Value loadI32(Value base, Value index) { return load(base, index, 4, 0, b.getI32Type()); }
  /// 16 bytes at once, as numbers of type `element`; the address is a multiple of 16.
  llvm::SmallVector<Value> loadVector(Value base, Value index, int64_t stride, int64_t bytes,
                                      mlir::Type element);
  /// Bits `first` .. `first` + `count` - 1 of an i32, as a number that is not negative.
  Value bits(Value number, int64_t first, int64_t count);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// A query block and the keys that it sees.
struct QueryBlock {
  mlir::Value queryBegin, queryCount, queryPos, kvBegin, kvEnd, kvLen, firstPage;
};

/// How keys are cut into items.
struct Chunks {
  /// i32: chunks begin at multiples of it, which is a multiple of the split size.
  mlir::Value keys;
  /// i32: a query block that touches at most that many splits is one item; null: 1,
  /// which follows from `keys` being one split.
  mlir::Value splits;
};

/// Emits what is done for one sequence, by one thread.
class ListEmitter : public ListBuilder {
public:
  ListEmitter(mlir::OpBuilder &b, mlir::Location loc, const WorkListArgs &args,
              const WorkListConfig &config)
      : ListBuilder(b, loc), args(args), config(config) {}

  /// Emits the number of splits (i64) that the query blocks of a sequence touch, each
  /// at least 1.
  Value emitTouchedSplits(Value sequence);

  /// Emits the counts (i32) of items, parts and merges after those of a sequence,
  /// given those before. If `stores`, stores the items and merge entries.
  llvm::SmallVector<Value> emitSequence(Value sequence, const Chunks &chunks,
                                        mlir::ValueRange counts, bool stores);

  /// Stores the counts of the whole list.
  void emitStoreCounts(mlir::ValueRange counts);

private:
  using BlockFn = llvm::function_ref<llvm::SmallVector<Value>(const QueryBlock &,
                                                              mlir::ValueRange)>;

  /// Emits a loop over the query blocks of a sequence. `body` gets a block and the
  /// values carried so far, and returns the next ones. Returns the last ones.
  mlir::ValueRange emitQueryBlocks(Value sequence, mlir::ValueRange inits, BlockFn body);
  std::pair<Value, Value> emitVisibleKeys(Value firstPos, Value lastPos, Value kvLen);
  /// First and number of the ranges of `keys` that a block's keys lie in. A block
  /// without keys has one.
  std::pair<Value, Value> emitTouched(const QueryBlock &block, Value keys);
  Value emitIsLonger(const QueryBlock &block);
  llvm::SmallVector<Value> emitBlock(const QueryBlock &block, const Chunks &chunks,
                                     mlir::ValueRange counts, bool stores);
  void emitStoreOnly(const QueryBlock &block, mlir::ValueRange counts);
  void emitStoreParts(const QueryBlock &block, const Chunks &chunks, mlir::ValueRange counts,
                      Value first, Value count);
  void emitStoreItem(Value index, const QueryBlock &block, Value kvBegin, Value kvEnd,
                     Value part, Value firstRank, Value numRanks);
  /// Thread blocks of a cluster.
  Value cluster() { return args.cluster ? args.cluster : i32(1); }
  Value rankOf(Value item) {
    return args.cluster ? mlir::arith::RemUIOp::create(b, loc, item, args.cluster) : i32(0);
  }

  const WorkListArgs &args;
  const WorkListConfig &config;
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_WORKLIST_LISTEMITTER_H
