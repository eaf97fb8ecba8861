//===- KernelBuilder.h - instructions of a kernel ---------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over arith, llvm and nvvm, so that kernels read as the
// arithmetic that they are. One method is one instruction or a fixed few.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_KERNELBUILDER_H
#define KVC_CONVERSION_KERNELBUILDER_H

#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kvc::kvtile {

inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;
inline constexpr unsigned kClusterSpace = 7; ///< Shared memory of the blocks of a cluster.

/// Name of the dynamic shared memory of a kernel module.
inline constexpr llvm::StringLiteral kSharedName = "kvc_shared";

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

/// Declares the dynamic shared memory, once a gpu.module.
void declareShared(mlir::OpBuilder &b, mlir::Operation *gpuModule);

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  using Value = mlir::Value;
  using Type = mlir::Type;
  using Predicate = mlir::arith::CmpIPredicate;

  Type i32Type() { return b.getI32Type(); }
  Type i64Type() { return b.getI64Type(); }
  Type f32Type() { return b.getF32Type(); }
  Type f64Type() { return b.getF64Type(); }
  Type globalPtr() { return mlir::LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace); }
  Type sharedPtr() { return mlir::LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace); }
  Type pairType() { return mlir::VectorType::get({2}, f32Type()); }

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value f64(double value);
  Value minusInfinity();

  Value add(Value lhs, Value rhs) { return mlir::arith::AddIOp::create(b, loc, lhs, rhs); }
  Value add(Value lhs, int64_t rhs);
  Value sub(Value lhs, Value rhs) { return mlir::arith::SubIOp::create(b, loc, lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return mlir::arith::MulIOp::create(b, loc, lhs, rhs); }
  Value mul(Value lhs, int64_t rhs);
  Value div(Value lhs, int64_t rhs);
  Value rem(Value lhs, int64_t rhs);
  Value bitAnd(Value lhs, int64_t rhs);
  Value bitXor(Value lhs, Value rhs) { return mlir::arith::XOrIOp::create(b, loc, lhs, rhs); }
  Value min(Value lhs, Value rhs) { return mlir::arith::MinSIOp::create(b, loc, lhs, rhs); }
  Value max(Value lhs, Value rhs) { return mlir::arith::MaxSIOp::create(b, loc, lhs, rhs); }
  Value compare(Predicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }
  Value select(Value condition, Value lhs, Value rhs) {
    return mlir::arith::SelectOp::create(b, loc, condition, lhs, rhs);
  }
  Value toI64(Value value);
  /// A constant with the type of `like`.
  Value constantLike(Value like, int64_t value);

  // f32; multiplications may fuse with the additions that use them.
  Value mulF(Value lhs, Value rhs);
  Value addF(Value lhs, Value rhs);
  Value subF(Value lhs, Value rhs);
  Value negF(Value value) { return mlir::arith::NegFOp::create(b, loc, value); }
  /// (arith.maxnumf would become a call of a device library.)
  Value maxF(Value lhs, Value rhs) { return mlir::LLVM::MaxNumOp::create(b, loc, lhs, rhs); }
  Value compareF(mlir::arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpFOp::create(b, loc, predicate, lhs, rhs);
  }
  /// One rounding, f32 or f64. (The others are f32 only.)
  Value fma(Value a, Value b, Value c) { return mlir::LLVM::FMAOp::create(this->b, loc, a, b, c); }
  Value exp2(Value value);
  Value log2(Value value);
  Value reciprocal(Value value);

  /// Address `bytes` after `base`; `bytes` is i32 or i64.
  Value at(Value base, Value bytes);
  Value at(Value base, int64_t bytes);
  /// Address of element `index` of `size` bytes, computed in 64 bits.
  Value element(Value base, Value index, int64_t size);
  Value load(Type type, Value address, unsigned alignment);
  /// A load of global memory that the kernel does not write.
  Value loadInvariant(Type type, Value address, unsigned alignment);
  void store(Value value, Value address, unsigned alignment);
  /// Stores neighbouring columns (f32) rounded to `element`; `address` is a multiple of
  /// what they come to in bytes.
  void storeRounded(mlir::ValueRange columns, Type element, Value address);

  Value pair(Value first, Value second);
  Value first(Value pair);
  Value second(Value pair);
  /// Values of one type as a vector, and a vector's elements.
  Value toVector(mlir::ValueRange elements);
  llvm::SmallVector<Value> fromVector(Value vector);
  /// An element of a row as f32, and f32 rounded to an element.
  Value toF32(Value value);
  Value fromF32(Value value, Type element);
  /// Two f32 rounded to `element` in one i32; `low` is the lower half.
  Value packPair(Value low, Value high, Type element);

  Value threadId();
  Value blockIdX();
  Value blockIdY();
  Value blockIdZ();
  Value gridDimY();
  Value shuffleXor(Value value, int64_t lanes);
  /// The value of lane `lane`, which the lanes may choose differently.
  Value shuffle(Value value, Value lane);
  /// True in all lanes of a warp if `condition` is in any.
  Value anyLane(Value condition);
  void barrier() { mlir::NVVM::Barrier0Op::create(b, loc); }

  // Clusters of `clusterSize()` blocks along y: 1 where the launch asked for none.
  Value clusterSize();
  Value isCluster() { return compare(Predicate::sgt, clusterSize(), i32(1)); }
  Value clusterRank();
  /// For all threads of the cluster. Each waits for the last arrival of its own.
  void clusterArrive();
  void clusterWait();
  void clusterBarrier() {
    clusterArrive();
    clusterWait();
  }
  /// Where `shared`, a pointer to shared memory, is in the block with rank `rank`.
  Value inCluster(Value shared, Value rank);

  /// Address of the dynamic shared memory as i32, and back to a pointer.
  Value sharedBase();
  Value toShared(Value address);

  /// Copies `size` bytes (16, 8 or 4), of which the first `bytes`, if given, are read and
  /// the rest zero.
  void copyAsync(Value shared, Value global, Value bytes = {}, unsigned size = 16);
  void commitCopies() { mlir::NVVM::CpAsyncCommitGroupOp::create(b, loc); }
  void waitForCopies(unsigned pendingGroups) {
    mlir::NVVM::CpAsyncWaitGroupOp::create(b, loc, pendingGroups);
  }
  /// `count` (4, 2 or 1) 8x8 matrices of 16-bit elements; lane i gives the address of
  /// row i % 8 of matrix i / 8.
  llvm::SmallVector<Value, 4> loadMatrices(Value shared, bool transpose, unsigned count = 4);
  /// An 8x8 matrix of 16-bit elements, one register of the fragment, transposed.
  Value transposeMatrix(Value fragment);
  /// m16n8k16 with A (4 x i32), B (2 x i32) of `element` and C (4 x f32).
  llvm::SmallVector<Value, 4> multiply(llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b,
                                       llvm::ArrayRef<Value> c, Type element);

  /// Emits `body` under `condition`, and `otherwise`, if given, where it does not hold.
  void guarded(Value condition, llvm::function_ref<void()> body,
               llvm::function_ref<void()> otherwise = {});
  /// for (i = begin; i < end; i += step), signed.
  void forRange(Value begin, Value end, Value step, llvm::function_ref<void(Value)> body);
  /// The same with values that each turn takes and yields; returns the last ones.
  llvm::SmallVector<Value>
  forRange(Value begin, Value end, Value step, mlir::ValueRange inits,
           llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)> body);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// A maximum that can be subtracted: itself, or 0 if it is -inf.
mlir::Value emitFiniteMax(KernelBuilder &k, mlir::Value max);

/// A row of an attention whose keys are all summed, its columns not divided yet.
struct SummedRow {
  mlir::Value max, sum; ///< Of the softmax, base 2.
  llvm::SmallVector<mlir::Value, 2> columns;
};

/// Lets the logit `sink` (base e, may be null) take part, and divides. A row that sees
/// no key and has no sink becomes 0.
SummedRow emitDividedRow(KernelBuilder &k, const SummedRow &row, mlir::Value sink);

/// The log-sum-exp of a row, base e; `max` and `sum` include the sink.
mlir::Value emitLogSumExp(KernelBuilder &k, mlir::Value max, mlir::Value sum);

/// Position of a thread in its block, as i32.
struct ThreadPosition {
  explicit ThreadPosition(KernelBuilder &k);
  mlir::Value thread, warp, lane;
  mlir::Value group;   ///< lane / 4: g of #kvtile.layout.
  mlir::Value quarter; ///< lane % 4: t of #kvtile.layout.
};

} // namespace kvc::kvtile

#endif // KVC_CONVERSION_KERNELBUILDER_H
