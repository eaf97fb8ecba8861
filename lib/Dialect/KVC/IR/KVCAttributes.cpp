//===- KVCAttributes.cpp - score modifiers and schedules ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

Value SoftcapAttr::emitScore(OpBuilder &b, Location loc, Value score,
                             const ScoreMath &math) const {
  double cap = getCapValue();
  Value inverse = constantLike(b, loc, score, 1.0 / cap);
  Value bounded = math.tanh(arith::MulFOp::create(b, loc, score, inverse));
  return arith::MulFOp::create(b, loc, bounded, constantLike(b, loc, score, cap));
}

bool SoftcapAttr::changesScore() const { return true; }

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Most accumulators that a register tile may have.
static constexpr int64_t kMaxAccumulators = 128;

LogicalResult RegisterTileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                       int64_t rows, int64_t keyVectors,
                                       int64_t valueVectors) {
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
  return success();
}

LogicalResult CPUScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      Products products, int64_t lanes, int64_t tile,
                                      RegisterTileAttr decode, RegisterTileAttr prefill,
                                      int64_t queryTokens, int64_t split) {
  if (lanes != 4 && lanes != 8 && lanes != 16)
    return emitError() << "expected 4, 8 or 16 lanes, got " << lanes;
  if (products == Products::Bf16Dot && lanes != 16)
    return emitError() << "expected 16 lanes for bf16_dot products, got " << lanes;
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
                                      int64_t split) {
  for (GPUStreamAttr stream : {decode, prefill})
    if (split < stream.getKeys() || split % stream.getKeys() != 0 || split > (1 << 24))
      return emitError() << "expected a split that is a multiple of the tile ("
                         << stream.getKeys() << " keys) up to " << (1 << 24) << ", got "
                         << split;
  return success();
}

} // namespace kvc
