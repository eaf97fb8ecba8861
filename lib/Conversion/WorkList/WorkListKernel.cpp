//===- WorkListKernel.cpp - work lists on the device ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each round takes as many sequences as there are threads. A thread counts what its
// sequence adds to the list; sums of the threads before it say where it goes; then
// the thread stores it. So the list is the one that a single thread would build.
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/WorkListKernel.h"

#include "ListEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace kvc;

static constexpr int64_t kThreads = 256;
/// Left to itself, ptxas takes 64 and spills.
static constexpr int32_t kMaxRegisters = 128;
static constexpr int64_t kWarpSize = 32;
static constexpr int64_t kWarps = kThreads / kWarpSize;

static constexpr unsigned kGlobalSpace = 1;
static constexpr unsigned kSharedSpace = 3;
static constexpr StringLiteral kSharedName = "kvc_worklist_shared";

/// Items, parts and merges.
static constexpr int64_t kCounts = 3;

// Shared memory: a sum of each warp, then the counts of each for two rounds in turn. So
// no round stores where a warp may still load the numbers of the round before, and one
// barrier a round is enough.
static constexpr int64_t kSumBytes = kWarps * 8;
static constexpr int64_t kRoundBytes = kCounts * kWarps * 4;
static constexpr int64_t kSharedBytes = kSumBytes + 2 * kRoundBytes;

namespace {
/// What a thread does in a round.
struct Round {
  Value index, sequence;
  Value isSequence; ///< Whether there is one.
};

/// Emits the work of one block.
class BlockEmitter : ListEmitter {
public:
  BlockEmitter(OpBuilder &b, Location loc, const WorkListArgs &args,
               const WorkListConfig &config);

  /// `target` is null if chunks are one split.
  void emit(Value target);

private:
  /// Emits a loop over rounds of sequences. `body` gets the round and the values
  /// carried.
  ValueRange emitRounds(ValueRange inits,
                        function_ref<SmallVector<Value>(const Round &, ValueRange)> body);
  Chunks emitChunks(Value target);
  /// The sum of `value` (i64) over the block.
  Value emitBlockSum(Value value);
  /// Sums of `values` (i32) over the threads before this one, then over the block.
  std::pair<SmallVector<Value>, SmallVector<Value>> emitScan(const Round &round,
                                                             ValueRange values);
  Value shuffle(NVVM::ShflKind kind, Value value, int64_t lanes);
  void barrier() { NVVM::Barrier0Op::create(b, loc); }
  /// Stores `value` as that of this warp, from its last lane, in the array at `base`.
  void emitStoreOfWarp(Value value, Value base);
  Value emitLoadOfWarp(Type type, Value base, int64_t warp);

  const WorkListArgs &args;
  const WorkListConfig &config;
  Value thread, lane, warp, isLastLane, shared;
};
} // namespace

/// The shared memory, one for all kernels of the module.
static LLVM::GlobalOp getSharedMemory(OpBuilder &b, Location loc) {
  auto module = cast<gpu::GPUModuleOp>(b.getInsertionBlock()->getParentOp());
  if (auto global = module.lookupSymbol<LLVM::GlobalOp>(kSharedName))
    return global;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), kSharedBytes);
  return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                                kSharedName, Attribute(), /*alignment=*/8, kSharedSpace);
}

BlockEmitter::BlockEmitter(OpBuilder &b, Location loc, const WorkListArgs &args,
                           const WorkListConfig &config)
    : ListEmitter(b, loc, args, config), args(args), config(config) {
  thread = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
  warp = div(thread, i32(kWarpSize));
  lane = sub(thread, mul(warp, i32(kWarpSize)));
  isLastLane = compare(Predicate::eq, lane, i32(kWarpSize - 1));
  shared = LLVM::AddressOfOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), kSharedName);
}

//===----------------------------------------------------------------------===//
// Sums over the block
//===----------------------------------------------------------------------===//

Value BlockEmitter::shuffle(NVVM::ShflKind kind, Value value, int64_t lanes) {
  int64_t clamp = kind == NVVM::ShflKind::up ? 0 : kWarpSize - 1;
  return NVVM::ShflOp::create(b, loc, value.getType(), i32(-1), value, i32(lanes), i32(clamp),
                              kind, UnitAttr());
}

void BlockEmitter::emitStoreOfWarp(Value value, Value base) {
  int64_t bytes = value.getType().getIntOrFloatBitWidth() / 8;
  auto branch = scf::IfOp::create(b, loc, isLastLane, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  store(value, base, warp, bytes, 0);
}

Value BlockEmitter::emitLoadOfWarp(Type type, Value base, int64_t warp) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  return load(base, i32(warp), bytes, 0, type);
}

Value BlockEmitter::emitBlockSum(Value value) {
  // A shuffle takes 32 bits.
  Value shift = i64(32);
  for (int64_t lanes = 1; lanes < kWarpSize; lanes *= 2) {
    Value low = shuffle(NVVM::ShflKind::bfly, toI32(value), lanes);
    Value high = shuffle(NVVM::ShflKind::bfly,
                         toI32(arith::ShRUIOp::create(b, loc, value, shift)), lanes);
    Value wideLow = arith::ExtUIOp::create(b, loc, b.getI64Type(), low);
    Value wideHigh = arith::ShLIOp::create(b, loc, toI64(high), shift);
    value = add(value, arith::OrIOp::create(b, loc, wideHigh, wideLow));
  }
  emitStoreOfWarp(value, shared);
  barrier();
  Value sum = i64(0);
  for (int64_t other = 0; other < kWarps; ++other)
    sum = add(sum, emitLoadOfWarp(b.getI64Type(), shared, other));
  return sum;
}

std::pair<SmallVector<Value>, SmallVector<Value>>
BlockEmitter::emitScan(const Round &round, ValueRange values) {
  Value zero = i32(0);
  SmallVector<Value> before, sums(values.size(), zero);
  Value parity = arith::AndIOp::create(b, loc, round.index, i32(1));
  auto getArray = [&](int64_t index) {
    return at(shared, parity, kRoundBytes, kSumBytes + index * kWarps * 4);
  };
  for (auto [index, value] : llvm::enumerate(values)) {
    Value sum = value;
    for (int64_t lanes = 1; lanes < kWarpSize; lanes *= 2) {
      Value other = shuffle(NVVM::ShflKind::up, sum, lanes);
      sum = add(sum, select(compare(Predicate::sge, lane, i32(lanes)), other, zero));
    }
    emitStoreOfWarp(sum, getArray(index));
    before.push_back(sub(sum, value));
  }
  barrier();
  for (int64_t index = 0; index < kCounts; ++index)
    for (int64_t other = 0; other < kWarps; ++other) {
      Value sum = emitLoadOfWarp(b.getI32Type(), getArray(index), other);
      Value isBefore = compare(Predicate::slt, i32(other), warp);
      before[index] = add(before[index], select(isBefore, sum, zero));
      sums[index] = add(sums[index], sum);
    }
  return {before, sums};
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

ValueRange BlockEmitter::emitRounds(
    ValueRange inits, function_ref<SmallVector<Value>(const Round &, ValueRange)> body) {
  // Unsigned, so that nothing overflows near the largest number of sequences.
  Value threads = i32(kThreads);
  Value rounds = div(add(args.numSequences, i32(kThreads - 1)), threads);
  auto loop = scf::ForOp::create(b, loc, i32(0), rounds, i32(1), inits);
  b.setInsertionPointToStart(loop.getBody());
  Round round;
  round.index = loop.getInductionVar();
  round.sequence = add(mul(round.index, threads), thread);
  round.isSequence = compare(Predicate::ult, round.sequence, args.numSequences);
  scf::YieldOp::create(b, loc, body(round, loop.getRegionIterArgs()));
  b.setInsertionPointAfter(loop);
  return loop.getResults();
}

/// Emits a choice between `then` and zeros of the same types.
static ValueRange emitOrZeros(ListBuilder &l, Value condition, TypeRange types,
                              function_ref<SmallVector<Value>()> then) {
  auto branch = scf::IfOp::create(l.b, l.loc, types, condition, /*withElseRegion=*/true);
  l.b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(l.b, l.loc, then());
  l.b.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(type.isInteger(64) ? l.i64(0) : l.i32(0));
  scf::YieldOp::create(l.b, l.loc, zeros);
  l.b.setInsertionPointAfter(branch);
  return branch.getResults();
}

Chunks BlockEmitter::emitChunks(Value target) {
  if (!target)
    return {i32(config.split), {}};
  ValueRange own = emitRounds(
      {i64(0)}, [&](const Round &round, ValueRange sum) -> SmallVector<Value> {
        ValueRange touched = emitOrZeros(
            *this, round.isSequence, {b.getI64Type()},
            [&]() -> SmallVector<Value> { return {emitTouchedSplits(round.sequence)}; });
        return {add(sum[0], touched[0])};
      });
  Value total = emitBlockSum(own[0]);
  Value wideTarget = toI64(target), one = i64(1), limit = i64(INT32_MAX);
  Value splits = div(add(total, sub(wideTarget, one)), wideTarget);
  splits = min(max(splits, one), limit);
  // All keys are below the limit: where it cuts a chunk, there is no other.
  Value keys = min(mul(splits, i64(config.split)), limit);
  return {toI32(keys), toI32(splits)};
}

void BlockEmitter::emit(Value target) {
  Chunks chunks = emitChunks(target);
  Value zero = i32(0);
  SmallVector<Value> zeros(kCounts, zero);
  SmallVector<Type> types(kCounts, b.getI32Type());
  ValueRange counts = emitRounds(
      zeros, [&](const Round &round, ValueRange begin) -> SmallVector<Value> {
        ValueRange own = emitOrZeros(*this, round.isSequence, types, [&] {
          return emitSequence(round.sequence, chunks, zeros, /*stores=*/false);
        });
        auto [before, sums] = emitScan(round, own);
        SmallVector<Value> next;
        for (int64_t i = 0; i < kCounts; ++i) {
          before[i] = add(before[i], begin[i]);
          next.push_back(add(sums[i], begin[i]));
        }
        auto branch = scf::IfOp::create(b, loc, round.isSequence, /*withElseRegion=*/false);
        b.setInsertionPointToStart(branch.thenBlock());
        emitSequence(round.sequence, chunks, before, /*stores=*/true);
        b.setInsertionPointAfter(branch);
        return next;
      });
  auto first = scf::IfOp::create(b, loc, compare(Predicate::eq, thread, zero),
                                 /*withElseRegion=*/false);
  b.setInsertionPointToStart(first.thenBlock());
  emitStoreCounts(counts);
  b.setInsertionPointAfter(first);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp kvc::emitWorkListKernel(OpBuilder &b, AttentionOp op, StringRef name,
                                         const KernelDescription &attention) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = op.getLoc();
  getSharedMemory(b, loc);
  KernelDescription description;
  description.function = attention.function;
  description.op = attention.op;
  description.phase = attention.phase;
  description.kind = KernelKind::WorkList;
  description.threads = kThreads;
  description.parameters = {KernelValue::NumSequences, KernelValue::MaxKvLen,
                            KernelValue::QueryStart,   KernelValue::KvLens,
                            KernelValue::PageStart,    KernelValue::PageStride,
                            KernelValue::ListItems,    KernelValue::ListMerges,
                            KernelValue::ListCounts};
  if (!attention.deterministic)
    description.parameters.push_back(KernelValue::ListTarget);
  if (attention.cluster > 1)
    description.parameters.push_back(KernelValue::ListCluster);
  LLVM::LLVMFuncOp kernel = createKernel(b, op, name, description, kGlobalSpace);
  kernel->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(), b.getI32IntegerAttr(kMaxRegisters));

  WorkListConfig config{attention.queryTokens, attention.split, op.getModifiers()};
  ValueRange params = kernel.getBody().front().getArguments();
  WorkListArgs args{params[0], params[1],
                    params[2], params[3],
                    params[4], params[5],
                    params[6], params[7],
                    params[8], attention.cluster > 1 ? params.back() : Value()};
  BlockEmitter(b, loc, args, config).emit(attention.deterministic ? Value() : params[9]);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  return kernel;
}
