//===- KVCOps.cpp - syntax and verifiers of the kvc operations ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kvc {

/// Most parts of a merge: far above what programs have, and low enough for code that
/// handles each of them in turn.
static constexpr size_t kMaxParts = 1024;

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// [k: %k, v: %v]
static ParseResult parseNamedValues(OpAsmParser &parser, ArrayAttr &names,
                                    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values) {
  SmallVector<Attribute> parsed;
  auto parseOne = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseColon() ||
        parser.parseOperand(values.emplace_back()))
      return failure();
    parsed.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseOne))
    return failure();
  names = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printNamedValues(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                             OperandRange values) {
  printer << "[";
  llvm::interleaveComma(llvm::zip_equal(names.getAsRange<StringAttr>(), values), printer,
                        [&](auto pair) {
                          printer.printKeywordOrString(std::get<0>(pair).getValue());
                          printer << ": " << std::get<1>(pair);
                        });
  printer << "]";
}

/// (%q * k, %r * rotary)
static ParseResult parseTerms(OpAsmParser &parser, ArrayAttr &components,
                              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &queries) {
  SmallVector<Attribute> parsed;
  auto parseOne = [&]() -> ParseResult {
    std::string name;
    if (parser.parseOperand(queries.emplace_back()) || parser.parseStar() ||
        parser.parseKeywordOrString(&name))
      return failure();
    parsed.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  components = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printTerms(OpAsmPrinter &printer, Operation *, ArrayAttr components,
                       OperandRange queries) {
  printer << "(";
  llvm::interleaveComma(llvm::zip_equal(components.getAsRange<StringAttr>(), queries),
                        printer, [&](auto pair) {
                          printer << std::get<1>(pair) << " * ";
                          printer.printKeywordOrString(std::get<0>(pair).getValue());
                        });
  printer << ")";
}

/// (%q * %k, %r * %rotary)
static ParseResult
parseDenseTerms(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &queries,
                SmallVectorImpl<OpAsmParser::UnresolvedOperand> &keys) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
    return failure(parser.parseOperand(queries.emplace_back()) || parser.parseStar() ||
                   parser.parseOperand(keys.emplace_back()));
  });
}

static void printDenseTerms(OpAsmPrinter &printer, Operation *, OperandRange queries,
                            OperandRange keys) {
  printer << "(";
  // Before verification there may be more of one than of the other.
  llvm::interleaveComma(llvm::zip(queries, keys), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " * " << std::get<1>(pair);
  });
  printer << ")";
}

static ParseResult parseName(OpAsmParser &parser, StringAttr &name) {
  std::string text;
  if (parser.parseKeywordOrString(&text))
    return failure();
  name = parser.getBuilder().getStringAttr(text);
  return success();
}

static void printName(OpAsmPrinter &printer, Operation *, StringAttr name) {
  printer.printKeywordOrString(name.getValue());
}

static ParseResult parseBufferOrder(OpAsmParser &parser, BufferOrderAttr &order) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<BufferOrder> parsed = symbolizeBufferOrder(word);
  if (!parsed)
    return parser.emitError(loc) << "expected order 'nhd' or 'hnd', got '" << word << "'";
  order = BufferOrderAttr::get(parser.getContext(), *parsed);
  return success();
}

static void printBufferOrder(OpAsmPrinter &printer, Operation *, BufferOrderAttr order) {
  printer << stringifyBufferOrder(order.getValue());
}

static ParseResult parseInteger(OpAsmParser &parser, IntegerAttr &value) {
  int64_t parsed;
  if (parser.parseInteger(parsed))
    return failure();
  value = parser.getBuilder().getI64IntegerAttr(parsed);
  return success();
}

static void printInteger(OpAsmPrinter &printer, Operation *, IntegerAttr value) {
  printer << value.getInt();
}

//===----------------------------------------------------------------------===//
// Checks that several operations share
//===----------------------------------------------------------------------===//

/// Checks that heads and width are static, and a row small enough to count in.
static LogicalResult verifyRow(Operation *op, RankedTensorType type) {
  int64_t heads = type.getDimSize(1), width = type.getDimSize(2);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(width))
    return op->emitOpError("expected static heads and width, got ") << type;
  if (heads < 1 || width < 1 || heads > INT32_MAX / width)
    return op->emitOpError("expected heads times width from 1 to ")
           << INT32_MAX << ", got " << type;
  return success();
}

static FailureOr<ComponentAttr> findComponent(Operation *op, Value cache, StringRef name) {
  auto type = cast<CacheType>(cache.getType());
  if (ComponentAttr component = type.getComponent(name))
    return component;
  InFlightDiagnostic diag = op->emitOpError("expected a component of the cache, got '")
                            << name << "'";
  diag.attachNote(cache.getLoc()) << "cache of type " << type << " defined here";
  return diag;
}

static LogicalResult verifySinks(Operation *op, Value sinks, int64_t heads) {
  if (!sinks)
    return success();
  auto type = cast<RankedTensorType>(sinks.getType());
  if (failed(verifyRank(op, "sinks", type, 1)))
    return failure();
  return verifyDim(op, "the number of sinks", type, 0, heads);
}

//===----------------------------------------------------------------------===//
// AppendOp
//===----------------------------------------------------------------------===//

LogicalResult AppendOp::verify() {
  // append_c1
  if (getValues().empty())
    return emitOpError("expected at least one component to write, got none");
  if (getValues().size() != getComponents().size())
    return emitOpError("expected as many components as values (")
           << getValues().size() << "), got " << getComponents().size();
  llvm::StringSet<> seen;
  int64_t tokens = ShapedType::kDynamic;
  bool anyQuantized = false;
  for (auto [name, value] : llvm::zip(getComponents().getAsRange<StringAttr>(), getValues())) {
    if (!seen.insert(name.getValue()).second)
      return emitOpError("expected each component once, got '") << name.getValue()
                                                                << "' twice";
    FailureOr<ComponentAttr> component = findComponent(*this, getCache(), name.getValue());
    if (failed(component))
      return failure();
    // append_c2
    auto type = cast<RankedTensorType>(value.getType());
    std::string what = ("value of component '" + name.getValue() + "'").str();
    if (failed(verifyRank(*this, what, type, 3)) ||
        failed(verifyDim(*this, "heads of " + what, type, 1, component->getHeads())) ||
        failed(verifyDim(*this, "width of " + what, type, 2, component->getWidth())))
      return failure();
    anyQuantized |= isQuantized(component->getElementType());
    if (!isQuantized(component->getElementType()) &&
        type.getElementType() != component->getElementType())
      return emitOpError("expected ") << what << " to have element type "
                                      << component->getElementType() << ", got "
                                      << type.getElementType();
    // append_c3
    if (failed(verifySameDim(*this, "tokens of " + what, type.getDimSize(0), tokens)))
      return failure();
    if (ShapedType::isDynamic(tokens))
      tokens = type.getDimSize(0);
  }
  // append_c4
  if (!getNonfinite())
    return success();
  auto count = cast<RankedTensorType>(getNonfinite().getType());
  if (!anyQuantized)
    return emitOpError("expected a quantised component where elements that are not finite "
                       "are counted, got none");
  if (failed(verifyRank(*this, "count", count, 1)))
    return failure();
  return verifySameDim(*this, "tokens of the count", count.getDimSize(0), tokens);
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

ComponentAttr AttentionOp::getTermComponent(unsigned index) {
  return cast<CacheType>(getCache().getType())
      .getComponent(cast<StringAttr>(getComponents()[index]).getValue());
}

ComponentAttr AttentionOp::getValueComponent() {
  return cast<CacheType>(getCache().getType()).getComponent(getValue());
}

int64_t AttentionOp::getQueryHeads() {
  return cast<RankedTensorType>(getOutput().getType()).getDimSize(1);
}

int64_t AttentionOp::getGroup() { return getQueryHeads() / getValueComponent().getHeads(); }

SmallVector<ScoreModifierInterface> AttentionOp::getModifiers() {
  return llvm::to_vector(getScore().getAsRange<ScoreModifierInterface>());
}

LogicalResult AttentionOp::verify() {
  // attention_c1
  if (getQueries().empty())
    return emitOpError("expected at least one term, got none");
  if (getQueries().size() > kMaxTerms)
    return emitOpError("expected at most ") << kMaxTerms << " terms, got "
                                            << getQueries().size();
  if (getQueries().size() != getComponents().size())
    return emitOpError("expected as many components as queries (")
           << getQueries().size() << "), got " << getComponents().size();
  FailureOr<ComponentAttr> value = findComponent(*this, getCache(), getValue());
  if (failed(value))
    return failure();

  auto output = cast<RankedTensorType>(getOutput().getType());
  if (failed(verifyRank(*this, "output", output, 3)))
    return failure();
  int64_t heads = output.getDimSize(1);
  if (ShapedType::isDynamic(heads) || heads < 1 || heads > INT32_MAX)
    return emitOpError("expected a static number of query heads from 1 to ")
           << INT32_MAX << ", got " << output;

  int64_t tokens = output.getDimSize(0);
  for (auto [index, query] : llvm::enumerate(getQueries())) {
    StringRef name = cast<StringAttr>(getComponents()[index]).getValue();
    FailureOr<ComponentAttr> component = findComponent(*this, getCache(), name);
    if (failed(component))
      return failure();
    // attention_c2
    auto type = cast<RankedTensorType>(query.getType());
    std::string what = ("query of component '" + name + "'").str();
    if (failed(verifyRank(*this, what, type, 3)) ||
        failed(verifyDim(*this, "heads of " + what, type, 1, heads)) ||
        failed(verifyDim(*this, "width of " + what, type, 2, component->getWidth())) ||
        failed(verifySameDim(*this, "tokens of " + what, type.getDimSize(0), tokens)))
      return failure();
    // attention_c3
    if (component->getHeads() != value->getHeads())
      return emitOpError("expected component '")
             << name << "' to have the KV heads of the value (" << value->getHeads()
             << "), got " << component->getHeads();
  }
  if (heads % value->getHeads() != 0) {
    InFlightDiagnostic diag = emitOpError("expected query heads (")
                              << heads << ") to be a multiple of KV heads ("
                              << value->getHeads() << ")";
    diag.attachNote(getCache().getLoc()) << "cache defined here";
    return diag;
  }
  // attention_c4
  if (failed(verifyDim(*this, "width of the output", output, 2, value->getWidth())))
    return failure();
  // attention_c5
  if (getLse()) {
    auto lse = cast<RankedTensorType>(getLse().getType());
    if (failed(verifyRank(*this, "log-sum-exp", lse, 2)) ||
        failed(verifySameDim(*this, "tokens of the log-sum-exp", lse.getDimSize(0), tokens)) ||
        failed(verifyDim(*this, "heads of the log-sum-exp", lse, 1, heads)))
      return failure();
  }
  // attention_c6
  if (failed(verifySinks(*this, getSinks(), heads)))
    return failure();
  // attention_c7
  // attention_c8
  if (failed(verifyScore(*this, getScore(), getScaleAttr())))
    return failure();
  if (std::optional<Attribute> schedule = getSchedule();
      schedule && !isa<CPUScheduleAttr, GPUScheduleAttr>(*schedule))
    return emitOpError("expected a #kvc.cpu_schedule or #kvc.gpu_schedule, got ")
           << *schedule;
  return success();
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  // merge_c1
  if (getOutputs().empty())
    return emitOpError("expected at least one part, got none");
  if (getOutputs().size() > kMaxParts)
    return emitOpError("expected at most ") << kMaxParts << " parts, got "
                                            << getOutputs().size();
  if (getOutputs().size() != getLses().size())
    return emitOpError("expected as many log-sum-exps as outputs (")
           << getOutputs().size() << "), got " << getLses().size();
  // merge_c2
  auto type = cast<RankedTensorType>(getOutput().getType());
  if (failed(verifyRank(*this, "output", type, 3)) || failed(verifyRow(*this, type)))
    return failure();
  for (Value part : getOutputs())
    if (part.getType() != type)
      return emitOpError("expected parts of the result's type (")
             << type << "), got " << part.getType();
  // merge_c3
  auto verifyLse = [&](Value value) -> LogicalResult {
    auto lse = cast<RankedTensorType>(value.getType());
    if (failed(verifyRank(*this, "log-sum-exp", lse, 2)) ||
        failed(verifySameDim(*this, "tokens of the log-sum-exp", lse.getDimSize(0),
                             type.getDimSize(0))))
      return failure();
    return verifyDim(*this, "heads of the log-sum-exp", lse, 1, type.getDimSize(1));
  };
  for (Value lse : getLses())
    if (failed(verifyLse(lse)))
      return failure();
  if (failed(verifyLse(getLse())))
    return failure();
  // merge_c4
  return verifySinks(*this, getSinks(), type.getDimSize(1));
}

//===----------------------------------------------------------------------===//
// RopeOp
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  // rope_c1
  auto type = cast<RankedTensorType>(getInput().getType());
  if (failed(verifyRank(*this, "input", type, 3)) || failed(verifyRow(*this, type)))
    return failure();
  // rope_c2, rope_c3
  return verifyRotation(*this, type.getDimSize(2), getRotaryWidth(), getThetaAttr(),
                        getFrequencies());
}

//===----------------------------------------------------------------------===//
// CacheFromBuffersOp
//===----------------------------------------------------------------------===//

LogicalResult CacheFromBuffersOp::verify() {
  auto cache = cast<CacheType>(getCache().getType());
  SmallVector<CacheArray> arrays = cache.getArrays();
  // cache_from_buffers_c1
  size_t expected = getFused() ? 1 : arrays.size();
  if (getBuffers().size() != expected)
    return emitOpError("expected ") << expected << (getFused() ? " fused" : "") << " buffer"
                                    << (expected == 1 ? "" : "s") << ", got "
                                    << getBuffers().size();
  const CacheArray &first = arrays.front();
  for (auto [index, array] : llvm::enumerate(arrays)) {
    // cache_from_buffers_c3
    if (array.layout != Layout::RowMajor)
      return emitOpError("expected row-major components, got layout ")
             << stringifyLayout(array.layout) << " of component '" << array.name << "'";
    if (getFused() && (array.heads != first.heads || array.width != first.width ||
                       array.element != first.element || array.isStatic))
      return emitOpError("expected fused components of one shape and element type, got '")
             << first.name << "' and '" << array.name << "' that differ";
    // cache_from_buffers_c2
    auto buffer = cast<MemRefType>(getBuffers()[getFused() ? 0 : index].getType());
    SmallVector<int64_t> shape;
    if (array.isStatic) {
      shape = {array.heads};
    } else {
      shape = {ShapedType::kDynamic};
      if (getFused())
        shape.push_back(arrays.size());
      if (getOrder() == BufferOrder::NHD)
        shape.append({cache.getPageSize(), array.heads});
      else
        shape.append({array.heads, cache.getPageSize()});
    }
    shape.push_back(array.width);
    auto dimMatches = [](auto dims) {
      auto [want, got] = dims;
      return ShapedType::isDynamic(want) || want == got;
    };
    bool matches = buffer.getRank() == static_cast<int64_t>(shape.size()) &&
                   llvm::all_of(llvm::zip(shape, buffer.getShape()), dimMatches);
    Type element = array.getMemoryElement();
    if (!matches || buffer.getElementType() != element)
      return emitOpError("expected buffer of component '")
             << array.name << "' to be " << MemRefType::get(shape, element) << ", got "
             << buffer;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(buffer.getStridesAndOffset(strides, offset)) || strides.back() != 1)
      return emitOpError("expected innermost stride 1 of buffer of component '")
             << array.name << "', got " << buffer;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

template <typename BatchOp> static LogicalResult verifyMaxima(BatchOp op) {
  for (auto [name, value] :
       {std::pair("max_query_len", static_cast<int64_t>(op.getMaxQueryLen())),
        std::pair("max_kv_len", static_cast<int64_t>(op.getMaxKvLen()))})
    if (value < 0 || value > INT32_MAX)
      return op.emitOpError("expected ")
             << name << " from 0 to " << INT32_MAX << ", got " << value;
  return success();
}

LogicalResult BatchFromBlockTableOp::verify() { return verifyMaxima(*this); }
LogicalResult BatchFromCSROp::verify() { return verifyMaxima(*this); }

} // namespace kvc

#define GET_OP_CLASSES
#include "kvc/Dialect/KVC/IR/KVCOps.cpp.inc"
