//===- KernelBuilder.cpp - instructions of a kernel -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/KernelBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace kvc::kvtile {

Value KernelBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value KernelBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value KernelBuilder::f32(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value KernelBuilder::f64(double value) {
  return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
}

Value KernelBuilder::minusInfinity() { return f32(-std::numeric_limits<double>::infinity()); }

Value KernelBuilder::constantLike(Value like, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(like.getType(), value));
}

Value KernelBuilder::add(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : add(lhs, constantLike(lhs, rhs));
}

Value KernelBuilder::mul(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : mul(lhs, constantLike(lhs, rhs));
}

Value KernelBuilder::div(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : arith::DivUIOp::create(b, loc, lhs, constantLike(lhs, rhs));
}

Value KernelBuilder::rem(Value lhs, int64_t rhs) {
  return arith::RemUIOp::create(b, loc, lhs, constantLike(lhs, rhs));
}

Value KernelBuilder::bitAnd(Value lhs, int64_t rhs) {
  return arith::AndIOp::create(b, loc, lhs, constantLike(lhs, rhs));
}

Value KernelBuilder::toI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtSIOp::create(b, loc, i64Type(), value);
}

Value KernelBuilder::mulF(Value lhs, Value rhs) {
  return arith::MulFOp::create(b, loc, lhs, rhs, arith::FastMathFlags::contract);
}

Value KernelBuilder::addF(Value lhs, Value rhs) {
  return arith::AddFOp::create(b, loc, lhs, rhs, arith::FastMathFlags::contract);
}

Value KernelBuilder::subF(Value lhs, Value rhs) {
  return arith::SubFOp::create(b, loc, lhs, rhs, arith::FastMathFlags::contract);
}

void declareShared(OpBuilder &b, Operation *gpuModule) {
  auto module = cast<gpu::GPUModuleOp>(gpuModule);
  if (module.lookupSymbol(kSharedName))
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  LLVM::GlobalOp::create(b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                         /*isConstant=*/false, LLVM::Linkage::External, kSharedName,
                         Attribute(), /*alignment=*/1024, kSharedSpace);
}

/// Calls an intrinsic from f32 to f32.
static Value callIntrinsic(KernelBuilder &k, StringRef name, Value value) {
  return LLVM::CallIntrinsicOp::create(k.b, k.loc, k.f32Type(), k.b.getStringAttr(name),
                                       ValueRange{value})
      .getResult(0);
}

Value KernelBuilder::exp2(Value value) {
  return callIntrinsic(*this, "llvm.nvvm.ex2.approx.ftz.f", value);
}

Value KernelBuilder::log2(Value value) {
  return callIntrinsic(*this, "llvm.nvvm.lg2.approx.ftz.f", value);
}

Value KernelBuilder::reciprocal(Value value) {
  return NVVM::RcpApproxFtzF32Op::create(b, loc, f32Type(), value);
}

Value KernelBuilder::at(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value KernelBuilder::at(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  assert(llvm::isInt<32>(bytes) && "constant offsets fit in 32 bits");
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value KernelBuilder::element(Value base, Value index, int64_t size) {
  return at(base, mul(toI64(index), size));
}

Value KernelBuilder::load(Type type, Value address, unsigned alignment) {
  return LLVM::LoadOp::create(b, loc, type, address, alignment);
}

Value KernelBuilder::loadInvariant(Type type, Value address, unsigned alignment) {
  return LLVM::LoadOp::create(b, loc, type, address, alignment, /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

void KernelBuilder::store(Value value, Value address, unsigned alignment) {
  LLVM::StoreOp::create(b, loc, value, address, alignment);
}

Value KernelBuilder::pair(Value first, Value second) {
  return vector::FromElementsOp::create(b, loc, pairType(), ValueRange{first, second});
}

Value KernelBuilder::first(Value pair) {
  return vector::ExtractOp::create(b, loc, pair, ArrayRef<int64_t>{0});
}

Value KernelBuilder::second(Value pair) {
  return vector::ExtractOp::create(b, loc, pair, ArrayRef<int64_t>{1});
}

Value KernelBuilder::toVector(ValueRange elements) {
  auto type = VectorType::get(elements.size(), elements.front().getType());
  return vector::FromElementsOp::create(b, loc, type, elements);
}

SmallVector<Value> KernelBuilder::fromVector(Value vector) {
  auto elements = vector::ToElementsOp::create(b, loc, vector);
  return SmallVector<Value>(elements.getResults());
}

Value KernelBuilder::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, f32Type(), value);
}

Value KernelBuilder::fromF32(Value value, Type element) {
  if (element.isF32())
    return value;
  return arith::TruncFOp::create(b, loc, element, value);
}

Value KernelBuilder::packPair(Value low, Value high, Type element) {
  Value rounded =
      arith::TruncFOp::create(b, loc, VectorType::get({2}, element), pair(low, high));
  return LLVM::BitcastOp::create(b, loc, i32Type(), rounded);
}

void KernelBuilder::storeRounded(ValueRange columns, Type element, Value address) {
  unsigned bytes = columns.size() * element.getIntOrFloatBitWidth() / 8;
  if (element.isF32())
    return store(toVector(columns), address, bytes);
  SmallVector<Value> pairs;
  for (size_t i = 0; i < columns.size(); i += 2)
    pairs.push_back(packPair(columns[i], columns[i + 1], element));
  store(pairs.size() == 1 ? pairs[0] : toVector(pairs), address, bytes);
}

Value KernelBuilder::threadId() { return NVVM::ThreadIdXOp::create(b, loc, i32Type()); }
Value KernelBuilder::blockIdX() { return NVVM::BlockIdXOp::create(b, loc, i32Type()); }
Value KernelBuilder::blockIdY() { return NVVM::BlockIdYOp::create(b, loc, i32Type()); }
Value KernelBuilder::blockIdZ() { return NVVM::BlockIdZOp::create(b, loc, i32Type()); }
Value KernelBuilder::gridDimY() { return NVVM::GridDimYOp::create(b, loc, i32Type()); }

Value KernelBuilder::clusterSize() {
  return NVVM::ClusterDimBlocksYOp::create(b, loc, i32Type());
}

Value KernelBuilder::clusterRank() {
  return NVVM::BlockInClusterIdYOp::create(b, loc, i32Type());
}

void KernelBuilder::clusterArrive() {
  NVVM::ClusterArriveOp::create(b, loc, /*aligned=*/b.getUnitAttr());
}

void KernelBuilder::clusterWait() {
  NVVM::ClusterWaitOp::create(b, loc, /*aligned=*/b.getUnitAttr());
}

Value KernelBuilder::inCluster(Value shared, Value rank) {
  Type type = LLVM::LLVMPointerType::get(b.getContext(), kClusterSpace);
  return NVVM::MapaOp::create(b, loc, type, shared, rank);
}

Value KernelBuilder::shuffleXor(Value value, int64_t lanes) {
  return NVVM::ShflOp::create(b, loc, value.getType(), i32(-1), value, i32(lanes),
                              i32(kWarpSize - 1), NVVM::ShflKind::bfly, UnitAttr());
}

Value KernelBuilder::shuffle(Value value, Value lane) {
  return NVVM::ShflOp::create(b, loc, value.getType(), i32(-1), value, lane, i32(kWarpSize - 1),
                              NVVM::ShflKind::idx, UnitAttr());
}

Value KernelBuilder::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), i32(-1), condition,
                                  NVVM::VoteSyncKind::any);
}

Value KernelBuilder::sharedBase() {
  Value base = LLVM::AddressOfOp::create(b, loc, sharedPtr(), kSharedName);
  return LLVM::PtrToIntOp::create(b, loc, i32Type(), base);
}

Value KernelBuilder::toShared(Value address) {
  return LLVM::IntToPtrOp::create(b, loc, sharedPtr(), address);
}

void KernelBuilder::copyAsync(Value shared, Value global, Value bytes, unsigned size) {
  // Less than 16 bytes go through the first cache.
  auto cache = size == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(b, loc, shared, global, size, cache, bytes);
}

SmallVector<Value, 4> KernelBuilder::loadMatrices(Value shared, bool transpose,
                                                  unsigned count) {
  Type type = i32Type(); // of one matrix; of several a structure
  if (count > 1)
    type =
        LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, i32Type()));
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value loaded = NVVM::LdMatrixOp::create(
      b, loc, type, shared, count, transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      shape, NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {loaded};
  SmallVector<Value, 4> matrices;
  for (unsigned i = 0; i < count; ++i)
    matrices.push_back(LLVM::ExtractValueOp::create(b, loc, loaded, ArrayRef<int64_t>{i}));
  return matrices;
}

Value KernelBuilder::transposeMatrix(Value fragment) {
  return NVVM::InlinePtxOp::create(b, loc, TypeRange{i32Type()}, ValueRange{fragment},
                                   ValueRange{}, "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;",
                                   Value())
      .getResult(0);
}

SmallVector<Value, 4> KernelBuilder::multiply(ArrayRef<Value> a, ArrayRef<Value> bs,
                                              ArrayRef<Value> c, Type element) {
  std::optional<std::array<NVVM::MMATypes, 2>> types;
  SmallVector<Value, 4> lhs(a), rhs(bs);
  if (element.isBF16()) {
    types = {NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
  } else {
    // The op wants f16 as vectors of two.
    auto toVector = [&](Value value) -> Value {
      return LLVM::BitcastOp::create(b, loc, VectorType::get({2}, element), value);
    };
    lhs = llvm::map_to_vector<4>(a, toVector);
    rhs = llvm::map_to_vector<4>(bs, toVector);
  }
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, f32Type()));
  Value product = NVVM::MmaOp::create(
      b, loc, type, lhs, rhs, c, ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt, types,
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value, 4> results;
  for (int64_t i = 0; i < 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, loc, product, ArrayRef<int64_t>{i}));
  return results;
}

void KernelBuilder::guarded(Value condition, function_ref<void()> body,
                            function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

void KernelBuilder::forRange(Value begin, Value end, Value step,
                             function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, begin, end, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

SmallVector<Value>
KernelBuilder::forRange(Value begin, Value end, Value step, ValueRange inits,
                        function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, begin, end, step, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector(ValueRange(loop.getResults()));
}

ThreadPosition::ThreadPosition(KernelBuilder &k)
    : thread(k.threadId()), warp(k.div(thread, kWarpSize)),
      lane(k.bitAnd(thread, kWarpSize - 1)), group(k.div(lane, 4)), quarter(k.bitAnd(lane, 3)) {}

} // namespace kvc::kvtile
