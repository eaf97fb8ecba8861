//===- PlanProblem.cpp - what an attention has to do for a batch ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

/// Columns in which rows are computed.
static int64_t getColumnUnit(Type element) { return element.isInteger(4) ? 32 : 16; }

static int64_t getRowBytes(Type element, int64_t width) {
  return width * element.getIntOrFloatBitWidth() / 8;
}

/// Bytes of a row in shared memory, where what matrix instructions read is whole.
static int64_t getSharedRowBytes(Type element, int64_t width) {
  return getRowBytes(element, llvm::alignTo(width, getColumnUnit(element)));
}

/// Instructions of a warp to convert the code of a column, 1 / 32 of what it takes in each
/// lane: of 8 bits 4 codes are one register.
static double getConversionCost(Type element) {
  if (element.isInteger(4))
    return 6.0 / 256;
  if (element.isInteger(8))
    return 3.0 / 128;
  return (isa<Float8E5M2Type>(element) ? 2.0 : 3.5) / 128;
}

/// The same, to take an offset off two numbers.
static double getOffsetCost(Type element) { return element.isInteger() ? 1.0 / 64 : 0.0; }

/// Bytes of the scales and zero points that a token has of a component.
static int64_t getScaleBytes(ComponentAttr component) {
  ScaleAttr scale = component.getScale();
  if (!scale || scale.getIsStatic())
    return 0;
  return getRowBytes(scale.getElementType(), getNumScales(component)) *
         (scale.getZeroPoint() ? 2 : 1);
}

/// Copies of a lane for 8 rows of so many bytes in memory and in shared memory, if decode has
/// them dealt, as rows begin within the 32 bytes that memory reads at once; or 0.
static int64_t getDealtCopies(int64_t rowBytes, int64_t sharedBytes) {
  int64_t copyBytes = std::min<int64_t>(16, rowBytes & -rowBytes);
  bool isDealt = rowBytes % 32 != 0 && rowBytes > copyBytes;
  return isDealt ? llvm::divideCeil(8 * sharedBytes, copyBytes * 32) : 0;
}

static Type getElement(Value value) { return getElementTypeOrSelf(value.getType()); }

Problem plan::getProblem(AttentionOp op, Phase phase, const Batch &batch) {
  ComponentAttr value = op.getValueComponent();
  Problem problem = {};
  problem.phase = phase;
  problem.batch = batch;
  problem.kvHeads = value.getHeads();
  problem.group = op.getGroup();
  problem.pageSize = op.getCache().getType().getPageSize();
  problem.isDeterministic = op.getDeterministic();
  problem.valueWidth = value.getWidth();
  problem.valueBits = value.getElementType().getIntOrFloatBitWidth();
  Type valueElement = value.getElementType();
  problem.probabilityTerms = value.getWidth() < (valueElement.isBF16() ? 128 : 64) ? 2 : 1;
  if (isQuantized(valueElement) && getElement(op.getOutput()).isBF16())
    problem.probabilityTerms = 1;
  problem.valuePadded = llvm::alignTo(value.getWidth(), getColumnUnit(valueElement));
  auto addConversions = [&](ComponentAttr component, int64_t columns) {
    Type element = component.getElementType();
    int64_t bits = std::min(16u, element.getIntOrFloatBitWidth());
    problem.operandColumns += columns * bits / 16;
    if (!isQuantized(element))
      return;
    problem.conversions += columns * getConversionCost(element);
    problem.offsets += columns * getOffsetCost(element);
  };
  addConversions(value, problem.valuePadded);
  if (isQuantized(valueElement) && valueElement.isInteger())
    problem.offsetValueColumns = problem.valuePadded;
  if (isQuantized(valueElement))
    problem.interleave = 16 / valueElement.getIntOrFloatBitWidth();
  if (ScaleAttr scale = value.getScale()) {
    problem.hasValueZeros = scale.getZeroPoint();
    problem.valueGroup = getScaleGroup(value);
    problem.valueGroups = scale.getIsStatic() ? 1 : getNumScales(value);
  }
  problem.outputBytes =
      getRowBytes(getElement(op.getOutput()), value.getWidth()) + (op.getLse() ? 4 : 0);

  llvm::StringSet<> seen;
  auto addComponent = [&](ComponentAttr component) {
    if (!seen.insert(component.getName().getValue()).second)
      return;
    Type element = component.getElementType();
    problem.tokenBytes +=
        getRowBytes(element, component.getWidth()) + getScaleBytes(component);
    problem.sharedTokenBytes +=
        getSharedRowBytes(element, component.getWidth()) + getScaleBytes(component);
    if (phase == Phase::Decode)
      problem.dealtCopies += getDealtCopies(getRowBytes(element, component.getWidth()),
                                            getSharedRowBytes(element, component.getWidth()));
    if (ScaleAttr scale = component.getScale(); scale && !scale.getIsStatic())
      problem.tokenScales += getNumScales(component) * (scale.getZeroPoint() ? 2 : 1);
  };
  addComponent(value);
  for (auto [index, query] : llvm::enumerate(op.getQueries())) {
    ComponentAttr component = op.getTermComponent(index);
    addComponent(component);
    problem.isValueKey |= component == value;
    problem.keyWidth += component.getWidth();
    Type element = component.getElementType();
    int64_t padded = llvm::alignTo(component.getWidth(), getColumnUnit(element));
    problem.keyPadded += padded;
    addConversions(component, padded);
    bool meetsCodes = isQuantized(element);
    problem.meetsCodes |= meetsCodes;
    if (ScaleAttr scale = component.getScale())
      problem.hasKeyZeros |= static_cast<bool>(scale.getZeroPoint());
    if (meetsCodes)
      problem.keyGroups = std::max(problem.keyGroups, getNumScales(component));
    problem.queryBytes += getRowBytes(getElement(query), component.getWidth());
    problem.sharedQueryBytes += getSharedRowBytes(
        getElement(query), meetsCodes ? padded : component.getWidth());
  }

  for (Attribute modifier : op.getModifiers()) {
    problem.isCausal |= isa<CausalAttr>(modifier);
    problem.softcaps += isa<SoftcapAttr>(modifier);
    if (auto window = dyn_cast<WindowAttr>(modifier))
      problem.window = window.getSize();
  }
  return problem;
}

KeyRange Problem::visibleTo(int64_t first, int64_t count) const {
  int64_t firstPos = batch.kvTokens - batch.queryTokens + first;
  int64_t lastPos = firstPos + count - 1;
  int64_t end = isCausal ? lastPos + 1 : batch.kvTokens;
  int64_t begin = window ? std::max<int64_t>(0, firstPos - *window + 1) : 0;
  return {begin, end};
}

/// Calls `visit` with the keys of each block of query tokens of one sequence,
/// and the number of its tokens.
static void forEachBlock(const Problem &problem, int64_t queryTokens,
                         llvm::function_ref<void(KeyRange, int64_t)> visit) {
  int64_t tokens = problem.batch.queryTokens;
  for (int64_t first = 0; first < tokens; first += queryTokens) {
    int64_t count = std::min(queryTokens, tokens - first);
    visit(problem.visibleTo(first, count), count);
  }
}

/// Blocks of `size` keys that hold some of `range`.
static int64_t countTouched(KeyRange range, int64_t size) {
  return llvm::divideCeil(range.end, size) - range.begin / size;
}

Visits plan::countVisits(const Problem &problem, int64_t queryTokens, int64_t tile) {
  Visits visits;
  forEachBlock(problem, queryTokens, [&](KeyRange range, int64_t) {
    ++visits.tokenBlocks;
    visits.keys += range.size();
    visits.tiles += countTouched(range, tile);
    visits.pages += countTouched(range, problem.pageSize);
  });
  visits.distinct = problem.visibleTo(0, problem.batch.queryTokens).size();
  int64_t sequences = problem.batch.sequences;
  return {visits.tokenBlocks * sequences, visits.keys * sequences, visits.tiles * sequences,
          visits.pages * sequences, visits.distinct * sequences};
}

Items plan::countItems(const Problem &problem, int64_t queryTokens, int64_t keys) {
  Items items;
  forEachBlock(problem, queryTokens, [&](KeyRange range, int64_t tokens) {
    int64_t count = countTouched(range, keys);
    items.count += count;
    items.queryTokens += count * tokens;
    items.partTokens += count > 1 ? count * tokens : 0;
  });
  int64_t sequences = problem.batch.sequences;
  return {items.count * sequences, items.queryTokens * sequences,
          items.partTokens * sequences};
}
