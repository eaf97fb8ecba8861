//===- KVCAttributes.cpp - score modifiers and schedules ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace kvc {

/// A constant of the type of `like`, a scalar or a vector of it.
static Value constantLike(OpBuilder &b, Location loc, Value like, double value) {
  Type type = like.getType();
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = isa<FloatType>(element)
                       ? TypedAttr(b.getFloatAttr(element, value))
                       : TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(value)));
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(b, loc, attr);
}

//===----------------------------------------------------------------------===//
// CausalAttr
//===----------------------------------------------------------------------===//

Value CausalAttr::emitKeep(OpBuilder &b, Location loc, Value queryPos, Value keyPos) const {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, keyPos, queryPos);
}

void CausalAttr::boundKeep(OpBuilder &b, Location loc, Value firstPos, Value lastPos,
                           KeyBounds &bounds) const {
  Value one = constantLike(b, loc, firstPos, 1);
  Value afterFirst = arith::AddIOp::create(b, loc, firstPos, one);
  Value afterLast = arith::AddIOp::create(b, loc, lastPos, one);
  bounds.anyEnd = arith::MinSIOp::create(b, loc, bounds.anyEnd, afterLast);
  bounds.allEnd = arith::MinSIOp::create(b, loc, bounds.allEnd, afterFirst);
}

//===----------------------------------------------------------------------===//
// WindowAttr
//===----------------------------------------------------------------------===//

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t size) {
  if (size < 1 || size > INT32_MAX)
    return emitError() << "expected a window of 1 to " << INT32_MAX << " keys, got " << size;
  return success();
}

Value WindowAttr::emitKeep(OpBuilder &b, Location loc, Value queryPos, Value keyPos) const {
  Value distance = arith::SubIOp::create(b, loc, queryPos, keyPos);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, distance,
                               constantLike(b, loc, distance, getSize()));
}

void WindowAttr::boundKeep(OpBuilder &b, Location loc, Value firstPos, Value lastPos,
                           KeyBounds &bounds) const {
  Value reach = constantLike(b, loc, firstPos, getSize() - 1);
  Value fromFirst = arith::SubIOp::create(b, loc, firstPos, reach);
  Value fromLast = arith::SubIOp::create(b, loc, lastPos, reach);
  bounds.anyBegin = arith::MaxSIOp::create(b, loc, bounds.anyBegin, fromFirst);
  bounds.allBegin = arith::MaxSIOp::create(b, loc, bounds.allBegin, fromLast);
}

//===----------------------------------------------------------------------===//
// SoftcapAttr
//===----------------------------------------------------------------------===//

LogicalResult SoftcapAttr::verify(function_ref<InFlightDiagnostic()> emitError, APFloat cap) {
  // It is applied in f32, where both the cap and its inverse must be normal.
  double value = cap.convertToDouble();
  if (!(value >= 1e-30 && value <= 1e30))
    return emitError() << "expected a softcap from 1e-30 to 1e30, got " << value;
  return success();
}

Attribute SoftcapAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  double cap = 0;
  if (parser.parseLess() || parser.parseFloat(cap) || parser.parseGreater())
    return {};
  return parser.getChecked<SoftcapAttr>(loc, parser.getContext(), APFloat(cap));
}

void SoftcapAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printFloat(getCap());
  printer << ">";
}

Value SoftcapAttr::emitScore(OpBuilder &b, Location loc, Value score, const ScorePoint &,
                             const ScoreMath &math) const {
  double cap = getCapValue();
  Value inverse = constantLike(b, loc, score, 1.0 / cap);
  Value bounded = math.tanh(arith::MulFOp::create(b, loc, score, inverse));
  return arith::MulFOp::create(b, loc, bounded, constantLike(b, loc, score, cap));
}

bool SoftcapAttr::changesScore() const { return true; }

//===----------------------------------------------------------------------===//
// AlibiAttr
//===----------------------------------------------------------------------===//

/// Converts integers or indices to the type of `like`.
static Value toFloat(OpBuilder &b, Location loc, Value integer, Value like) {
  if (isa<IndexType>(getElementTypeOrSelf(integer.getType()))) {
    Type type = b.getI64Type();
    if (auto shaped = dyn_cast<ShapedType>(integer.getType()))
      type = shaped.clone(type);
    integer = arith::IndexCastOp::create(b, loc, type, integer);
  }
  return arith::SIToFPOp::create(b, loc, like.getType(), integer);
}

/// The slope of the point's head. Its logarithm is linear in the head, h:
/// -8 (h + 1) / n, and from head n on -4 (2 (h - n) + 1) / n. Both are exact in f32.
static Value emitSlope(OpBuilder &b, Location loc, Value like, const ScorePoint &point,
                       const ScoreMath &math) {
  int64_t n = llvm::bit_floor(static_cast<uint64_t>(point.queryHeads));
  double step = -8.0 / n;
  Value head = point.queryHead();
  Value offset = constantLike(b, loc, like, step);
  if (point.queryHeads > n) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, head,
                                          constantLike(b, loc, head, n));
    Value rest = constantLike(b, loc, like, 8.0 + step / 2);
    offset = arith::SelectOp::create(b, loc, isFirst, offset, rest);
  }
  Value linear = arith::MulFOp::create(b, loc, toFloat(b, loc, head, like),
                                       constantLike(b, loc, like, step));
  return math.exp2(arith::AddFOp::create(b, loc, linear, offset));
}

Value AlibiAttr::emitScore(OpBuilder &b, Location loc, Value score, const ScorePoint &point,
                           const ScoreMath &math) const {
  Value distance = arith::SubIOp::create(b, loc, point.keyPos(), point.queryPos());
  Value bias = arith::MulFOp::create(b, loc, emitSlope(b, loc, score, point, math),
                                     toFloat(b, loc, distance, score));
  return arith::AddFOp::create(b, loc, score, bias);
}

bool AlibiAttr::changesScore() const { return true; }

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Most accumulators that a register tile may have.
static constexpr int64_t kMaxAccumulators = 128;

LogicalResult RegisterTileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                       int64_t rows, int64_t keyVectors,
                                       int64_t valueVectors, Products products) {
  if (rows < 1 || rows > 32)
    return emitError() << "expected 1 to 32 rows, got " << rows;
  if (keyVectors < 1 || keyVectors > 16)
    return emitError() << "expected 1 to 16 key_vectors, got " << keyVectors;
  if (valueVectors < 1 || valueVectors > 16)
    return emitError() << "expected 1 to 16 value_vectors, got " << valueVectors;
  // Each is unrolled, far beyond what any processor has registers for.
  int64_t accumulators = rows * std::max(keyVectors, valueVectors);
  if (accumulators > kMaxAccumulators)
    return emitError() << "expected rows times vectors to be at most " << kMaxAccumulators
                       << ", got " << accumulators;
  if (products == Products::Bf16Tile && (rows > 8 || keyVectors > 4 || valueVectors > 4))
    return emitError() << "expected at most 8 rows and 4 vectors for bf16_tile products, got "
                       << rows << " rows, " << keyVectors << " key_vectors and "
                       << valueVectors << " value_vectors";
  return success();
}

LogicalResult CPUScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      int64_t lanes, int64_t tile,
                                      RegisterTileAttr decode, RegisterTileAttr prefill,
                                      int64_t queryTokens, int64_t split) {
  if (lanes != 4 && lanes != 8 && lanes != 16)
    return emitError() << "expected 4, 8 or 16 lanes, got " << lanes;
  for (RegisterTileAttr registers : {decode, prefill})
    if (registers.getProducts() != Products::Fma && lanes != 16)
      return emitError() << "expected 16 lanes for "
                         << stringifyProducts(registers.getProducts()) << " products, got "
                         << lanes;
  if (tile < kPackedTokens || tile % kPackedTokens != 0 || tile > 1024)
    return emitError() << "expected a tile that is a multiple of " << kPackedTokens
                       << " up to 1024, got " << tile;
  for (RegisterTileAttr registers : {decode, prefill})
    if ((tile / lanes) % registers.getKeyVectors() != 0)
      return emitError() << "expected key_vectors to divide the " << tile / lanes
                         << " vectors of a tile, got " << registers.getKeyVectors();
  if (queryTokens < 1 || queryTokens > 4096)
    return emitError() << "expected 1 to 4096 query_tokens, got " << queryTokens;
  if (split < tile || split % tile != 0 || split > (1 << 24))
    return emitError() << "expected a split that is a multiple of the tile (" << tile
                       << ") up to " << (1 << 24) << ", got " << split;
  return success();
}

LogicalResult GPUStreamAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    StreamForm form, int64_t rows, int64_t keys,
                                    int64_t stages, int64_t warps, int64_t queryTokens) {
  if (warps != 1 && warps != 2 && warps != 4 && warps != 8)
    return emitError() << "expected 1, 2, 4 or 8 warps, got " << warps;
  int64_t rowUnit = form == StreamForm::TokensM ? 8 : form == StreamForm::Rows ? 16 * warps : 16;
  if (rows < rowUnit || rows % rowUnit != 0 || rows > 128)
    return emitError() << "expected rows of form " << stringifyStreamForm(form)
                       << " to be a multiple of " << rowUnit << " up to 128, got " << rows;
  bool splitsKeys = form == StreamForm::HeadsM || form == StreamForm::TokensM;
  int64_t keyUnit = splitsKeys ? 16 * warps : 16;
  if (keys < keyUnit || keys % keyUnit != 0 || keys > 256)
    return emitError() << "expected keys of form " << stringifyStreamForm(form)
                       << " to be a multiple of " << keyUnit << " up to 256, got " << keys;
  if (stages < 2 || stages > 8)
    return emitError() << "expected 2 to 8 stages, got " << stages;
  if (queryTokens < 1 || queryTokens > 4096)
    return emitError() << "expected 1 to 4096 query_tokens, got " << queryTokens;
  return success();
}

LogicalResult GPUScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      GPUStreamAttr decode, GPUStreamAttr prefill,
                                      int64_t split, int64_t cluster) {
  for (GPUStreamAttr stream : {decode, prefill})
    if (split < stream.getKeys() || split % stream.getKeys() != 0 || split > (1 << 24))
      return emitError() << "expected a split that is a multiple of the tile ("
                         << stream.getKeys() << " keys) up to " << (1 << 24) << ", got "
                         << split;
  if (!llvm::is_contained({1, 2, 4, 8}, cluster))
    return emitError() << "expected a cluster of 1, 2, 4 or 8 thread blocks, got " << cluster;
  if (cluster > 1 && decode.getForm() == StreamForm::Rows)
    return emitError() << "expected no cluster with decode of form rows, got " << cluster
                       << "; supported: heads_m, tokens_m, columns";
  return success();
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

/// Checks that `value` is finite and above 0.
static LogicalResult verifyRate(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                const APFloat &value) {
  if (value.isFinite() && value.convertToDouble() > 0)
    return success();
  return emitError() << "expected " << what << " to be finite and above 0, got "
                     << value.convertToDouble();
}

static LogicalResult verifyMatrixRates(function_ref<InFlightDiagnostic()> emitError,
                                       DictionaryAttr rates) {
  for (NamedAttribute rate : rates ? rates.getValue() : ArrayRef<NamedAttribute>()) {
    StringRef element = rate.getName();
    if (element != "bf16" && element != "f16")
      return emitError() << "expected matrix_rates of bf16 or f16, got " << element;
    auto value = dyn_cast<FloatAttr>(rate.getValue());
    if (!value || !value.getType().isF64())
      return emitError() << "expected the matrix rate of " << element
                         << " to be a number of f64, got " << rate.getValue();
    if (failed(verifyRate(emitError, "the matrix rate of " + element.str(), value.getValue())))
      return failure();
  }
  return success();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                 TargetKind kind, int64_t processors, APFloat bandwidth,
                                 DictionaryAttr matrixRates, APFloat f32Rate, int64_t cache,
                                 APFloat launch, int64_t sharedPerBlock,
                                 int64_t sharedPerProcessor, int64_t registers) {
  if (name.empty())
    return emitError() << "expected a name, got ''";
  if (processors < 1 || processors > 65536)
    return emitError() << "expected 1 to 65536 processors, got " << processors;
  if (failed(verifyRate(emitError, "bandwidth", bandwidth)) ||
      failed(verifyRate(emitError, "f32_rate", f32Rate)) ||
      failed(verifyMatrixRates(emitError, matrixRates)))
    return failure();
  if (!launch.isFinite() || launch.isNegative())
    return emitError() << "expected launch to be finite and at least 0, got "
                       << launch.convertToDouble();
  if (cache < 1)
    return emitError() << "expected cache to be at least 1, got " << cache;
  if (kind == TargetKind::CPU) {
    if (sharedPerBlock != 0 || sharedPerProcessor != 0 || registers != 0 || !launch.isZero())
      return emitError() << "expected a cpu without shared memory, registers and launches, got "
                         << "shared_per_block " << sharedPerBlock << ", shared_per_processor "
                         << sharedPerProcessor << ", registers " << registers << ", launch "
                         << launch.convertToDouble();
    return success();
  }
  if (!matrixRates || matrixRates.empty())
    return emitError() << "expected a gpu with matrix_rates, got none";
  if (sharedPerBlock < 1 || sharedPerBlock > sharedPerProcessor)
    return emitError() << "expected shared_per_block of 1 to shared_per_processor ("
                       << sharedPerProcessor << "), got " << sharedPerBlock;
  if (registers < 1)
    return emitError() << "expected registers of a gpu to be at least 1, got " << registers;
  return success();
}

double TargetAttr::getMatrixRate(Type elementType) const {
  StringRef name = elementType.isBF16() ? "bf16" : elementType.isF16() ? "f16" : "";
  auto rate = getMatrixRates() ? getMatrixRates().getAs<FloatAttr>(name) : FloatAttr();
  return rate ? rate.getValueAsDouble() : 0;
}

} // namespace kvc
