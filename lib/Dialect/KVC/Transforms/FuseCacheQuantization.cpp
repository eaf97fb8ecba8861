//===- FuseCacheQuantization.cpp - caches of codes ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantising and dequantising a row is a function of one token, so it may as well be
// dequantised after it is read of the cache: what is cached then is codes.
//===----------------------------------------------------------------------===//
#include "CacheTensors.h"
#include "ElementEmitter.h"
#include "WrittenBytes.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "kvc-fuse-cache-quantization"

namespace kvc {
#define GEN_PASS_DEF_FUSECACHEQUANTIZATIONPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

namespace {
/// The new rows of a cache in one function: numbers of codes.
struct CodedRows {
  CacheTensor tensor;
  Elements *elements = nullptr;
  DequantizeOp op = {};
  SmallVector<Expr> dims = {}, indices = {}; ///< Of the rows, and of the operation's result.
};

/// A cache that is to hold codes.
struct CodedCache {
  Cache *cache;
  std::vector<CodedRows> rows = {};
  std::string failure = {};
  Location loc;
};

/// Changes one cache in one function.
class RowsFuser {
public:
  RowsFuser(CodedRows &rows, StringAttr name)
      : rows(rows), elements(*rows.elements), function(rows.tensor.function), name(name),
        b(function.getContext()) {}
  void fuse();

private:
  Value emitRows(Value codes, int64_t width, bool isStatic, Operation *user);
  Value addPast(Value newRows, StringRef suffix);
  void addResult(Value value, StringRef suffix);
  DictionaryAttr named(StringRef suffix) {
    return b.getDictionaryAttr(
        b.getNamedAttr(kCacheName, b.getStringAttr(name.getValue() + suffix)));
  }

  CodedRows &rows;
  Elements &elements;
  func::FuncOp function;
  StringAttr name;
  OpBuilder b;
  unsigned numPasts = 0, numResults = 0;
};

struct FuseCacheQuantizationPass final
    : kvc::impl::FuseCacheQuantizationPassBase<FuseCacheQuantizationPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Finds what a function's new rows are the numbers of; null if they are of no codes.
static DequantizeOp findCodes(CodedRows &rows) {
  Elements &elements = *rows.elements;
  if (!rows.tensor.rows)
    return {};
  for (Expr size : elements.getSizes(rows.tensor.rows))
    rows.dims.push_back(elements.getSpace().addDim(size));
  Element leaf = elements.followMoves(elements.load(rows.tensor.rows, rows.dims));
  if (leaf->kind != ElementKind::Load)
    return {};
  rows.op = leaf->tensor.getDefiningOp<DequantizeOp>();
  rows.indices.assign(leaf->indices.begin(), leaf->indices.end());
  return rows.op;
}

/// Why codes cannot take the place of the rows; empty if they can.
static std::string checkRows(CodedRows &rows) {
  Elements &elements = *rows.elements;
  const CacheTensor &tensor = rows.tensor;
  auto quantize = rows.op.getCodes().getDefiningOp<QuantizeOp>();
  if (!quantize || rows.op.getCodes() != quantize.getCodes())
    return "its new rows are numbers of codes that are not computed in the same function";
  ValueRange scales = quantize.getStaticScales();
  if (scales.empty())
    scales = quantize.getScales();
  if (!llvm::equal(scales, rows.op.getScales()) ||
      quantize.getScaleAttr() != rows.op.getScaleAttr())
    return "codes of its new rows are multiplied by other scales than numbers are divided by";
  if (rows.indices.empty() || rows.indices.back() != rows.dims.back())
    return "the last dimension of its new rows is not the width that scales are along";
  for (auto [position, index] : llvm::enumerate(rows.indices))
    if (!llvm::is_contained(rows.dims, index) &&
        elements.getSize(rows.op.getCodes(), position) != elements.getSpace().constant(1))
      return "its new rows are a part of what is quantised, or repeat it";
  if (!tensor.past)
    return tensor.full == tensor.rows ? "" : "its new rows are written into a larger tensor";
  auto concat = tensor.full.getDefiningOp<tensor::ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 || concat.getInputs()[0] != tensor.past ||
      concat.getInputs()[1] != tensor.rows)
    return "its past and new rows are not concatenated";
  if (concat.getDim() + 1 == rows.dims.size())
    return "tokens are its last dimension";
  auto type = cast<RankedTensorType>(tensor.past.getType());
  for (Operation *user : tensor.past.getUsers()) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    bool isSize = dim && dim.getConstantIndex() && *dim.getConstantIndex() + 1 < type.getRank();
    if (user != concat && !isSize)
      return "its past is used elsewhere";
  }
  if (type.isDynamicDim(type.getRank() - 1))
    return "its width is not static";
  for (OpOperand &use : tensor.full.getUses())
    if (isa<func::ReturnOp>(use.getOwner()) && use.getOperandNumber() != tensor.result)
      return "a function returns it as another result too";
  return "";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Codes, or scales of `width` along the last dimension, as the rows have them.
Value RowsFuser::emitRows(Value codes, int64_t width, bool isStatic, Operation *user) {
  IndexSpace &space = elements.getSpace();
  if (areInPlace(elements, rows.op.getCodes(), rows.indices, rows.dims))
    return codes;
  SmallVector<Expr> dims = rows.dims, indices = rows.indices;
  for (auto [position, index] : llvm::enumerate(rows.indices)) {
    auto *dim = llvm::find(rows.dims, index);
    if (dim == rows.dims.end())
      continue;
    Expr size = elements.getSize(codes, position);
    bool isLast = position + 1 == rows.indices.size();
    if (!isLast && (!isStatic || size != space.constant(1)))
      continue;
    // Of another size than that of the codes.
    Expr own = space.addDim(isLast ? space.constant(width) : size);
    dims[dim - rows.dims.begin()] = own;
    indices[position] = size == space.constant(1) ? space.constant(0) : own;
  }
  return emitProduct(b, elements, user, dims, {}, elements.load(codes, indices),
                     getElementTypeOrSelf(codes.getType()));
}

/// An argument for the past of new rows, and both after each other.
Value RowsFuser::addPast(Value newRows, StringRef suffix) {
  const CacheTensor &tensor = rows.tensor;
  auto concat = tensor.full.getDefiningOp<tensor::ConcatOp>();
  auto newType = cast<RankedTensorType>(newRows.getType());
  SmallVector<int64_t> shape(cast<RankedTensorType>(tensor.past.getType()).getShape());
  shape.back() = newType.getShape().back();
  auto type = RankedTensorType::get(shape, newType.getElementType());
  unsigned index = tensor.past.getArgNumber() + 1 + numPasts++;
  LogicalResult added =
      function.insertArgument(index, type, named(suffix), tensor.past.getLoc());
  assert(succeeded(added) && "functions of func take any type");
  (void)added;
  b.setInsertionPoint(concat);
  SmallVector<int64_t> full(cast<RankedTensorType>(tensor.full.getType()).getShape());
  full.back() = shape.back();
  return tensor::ConcatOp::create(
      b, concat.getLoc(), RankedTensorType::get(full, type.getElementType()), concat.getDim(),
      ValueRange{function.getArgument(index), newRows});
}

/// A result after the cache's.
void RowsFuser::addResult(Value value, StringRef suffix) {
  unsigned index = rows.tensor.result + 1 + numResults++;
  LogicalResult added = function.insertResult(index, value.getType(), named(suffix));
  assert(succeeded(added) && "functions of func have any results");
  (void)added;
  function.getBody().front().getTerminator()->insertOperands(index, value);
}

void RowsFuser::fuse() {
  CacheTensor &tensor = rows.tensor;
  Operation *ret = function.getBody().front().getTerminator();
  // Results may have moved.
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, kCacheName) == name)
      tensor.result = i;
  DequantizeOp op = rows.op;
  auto quantize = op.getCodes().getDefiningOp<QuantizeOp>();
  Operation *user = tensor.past                   ? tensor.full.getDefiningOp()
                    : tensor.rows.getDefiningOp() ? tensor.rows.getDefiningOp()->getNextNode()
                                                  : ret;
  int64_t width = op.getCodes().getType().getShape().back();
  Value codes = emitRows(quantize.getCodes(), width, /*isStatic=*/false, user);
  SmallVector<Value> scales;
  bool isStatic = op.getScaleAttr() && op.getScaleAttr().getIsStatic();
  for (Value value : op.getScales())
    scales.push_back(emitRows(value, cast<RankedTensorType>(value.getType()).getShape().back(),
                              isStatic, user));
  static constexpr StringLiteral kSuffixes[] = {kScaleSuffix, kZeroSuffix};
  if (tensor.past) {
    codes = addPast(codes, "");
    for (auto [index, value] : llvm::enumerate(scales))
      if (!isStatic)
        value = addPast(value, kSuffixes[index]);
    b.setInsertionPointAfter(tensor.full.getDefiningOp());
    auto numbers = DequantizeOp::create(b, tensor.full.getLoc(), tensor.full.getType(), codes,
                                        scales, op.getElement(), op.getScaleAttr());
    tensor.full.replaceUsesWithIf(numbers,
                                  [&](OpOperand &use) { return use.getOwner() != ret; });
  }
  ret->setOperand(tensor.result, codes);
  for (auto [index, value] : llvm::enumerate(scales))
    if (!isStatic)
      addResult(value, kSuffixes[index]);
  if (tensor.past) {
    tensor.full.getDefiningOp()->erase();
    tensor.past.replaceAllUsesWith(function.getArgument(tensor.past.getArgNumber() + 1));
    LogicalResult erased = function.eraseArgument(tensor.past.getArgNumber());
    assert(succeeded(erased) && "functions of func have any arguments");
    (void)erased;
  }
  SmallVector<Type> results(ret->getOperandTypes());
  function.setFunctionType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(), results));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Bytes of a token as codes, of `bytes` as they are.
static int64_t getCodedBytes(const CodedCache &coded, int64_t bytes) {
  DequantizeOp op = coded.rows.front().op;
  int64_t elements = bytes * 8 / coded.cache->getElementType().getIntOrFloatBitWidth();
  auto codes = op.getCodes().getType();
  int64_t result = elements * op.getElement().getIntOrFloatBitWidth() / 8;
  if (op.getScaleAttr() && !op.getScaleAttr().getIsStatic())
    for (Value value : op.getScales()) {
      auto type = cast<RankedTensorType>(value.getType());
      result += elements / codes.getShape().back() * type.getShape().back() *
                type.getElementTypeBitWidth() / 8;
    }
  return result;
}

void FuseCacheQuantizationPass::runOnOperation() {
  ModuleOp module = getOperation();
  CacheTensors tensors(module);
  std::vector<CodedCache> all;
  for (auto &[name, cache] : tensors.caches) {
    if (cache.hasFailed() || cache.tensors.empty() || !cache.tensors.front().full ||
        !isa<FloatType>(cache.getElementType()) || isQuantized(cache.getElementType()))
      continue;
    CodedCache coded{&cache, {}, {}, cache.loc};
    Location uncoded = cache.loc;
    bool isAny = false, areAll = true;
    for (CacheFunction &function : tensors.functions)
      if (const CacheTensor *tensor = cache.find(function.function)) {
        CodedRows &rows = coded.rows.emplace_back(CodedRows{*tensor, function.elements.get()});
        bool isCoded = findCodes(rows) != nullptr;
        isAny |= isCoded;
        if (!isCoded && tensor->full)
          uncoded = tensor->full.getLoc();
        areAll &= isCoded;
      }
    if (!isAny)
      continue;
    auto fail = [&](Location loc, const Twine &reason) {
      if (coded.failure.empty()) {
        coded.failure = reason.str();
        coded.loc = loc;
      }
    };
    if (coded.rows.size() != cache.tensors.size())
      fail(cache.failureLoc, cache.failure);
    else if (!areAll)
      fail(uncoded, "a function makes its new rows in another way");
    for (CodedRows &rows : coded.rows) {
      if (!coded.failure.empty())
        break;
      fail(rows.op.getLoc(), checkRows(rows));
      DequantizeOp first = coded.rows.front().op;
      if (rows.op.getScaleAttr() != first.getScaleAttr() ||
          rows.op.getElement() != first.getElement() ||
          rows.op.getCodes().getType().getElementType() !=
              first.getCodes().getType().getElementType())
        fail(rows.op.getLoc(), "functions make its new rows of different codes");
    }
    std::optional<int64_t> bytes = cache.getBytes();
    if (coded.failure.empty() && !bytes)
      fail(cache.loc, "the bytes of its tokens are not known");
    if (coded.failure.empty() && getCodedBytes(coded, *bytes) >= *bytes)
      fail(cache.loc, llvm::formatv("codes take {0} bytes a token, and numbers {1}",
                                    getCodedBytes(coded, *bytes), *bytes)
                          .str());
    for (StringRef suffix : {kScaleSuffix, kZeroSuffix})
      if (tensors.caches.contains(StringAttr::get(&getContext(), name.getValue() + suffix)))
        fail(cache.loc, "there is a cache '" + name.getValue() + suffix + "' already");
    auto options = remark::RemarkOpts::name("FusedQuantization").category(DEBUG_TYPE);
    if (!coded.failure.empty()) {
      remark::missed(coded.loc, options)
          << remark::reason("cache '{0}' stays as it is: {1}", name.getValue(), coded.failure);
      continue;
    }
    remark::passed(cache.loc, options)
        << llvm::formatv("cache '{0}' holds codes of {1}: {2} bytes a token instead of {3}",
                         name.getValue(), coded.rows.front().op.getElement(),
                         getCodedBytes(coded, *bytes), *bytes)
               .str();
    setWrittenBytes(module, name.getValue(), name.getValue(), *cache.getWrittenBytes());
    DequantizeOp op = coded.rows.front().op;
    if (op.getScaleAttr() && !op.getScaleAttr().getIsStatic())
      for (unsigned i = 0; i < op.getScales().size(); ++i)
        setWrittenBytes(module, {},
                        (name.getValue() + (i == 0 ? kScaleSuffix : kZeroSuffix)).str(), 0);
    all.push_back(std::move(coded));
  }
  for (CodedCache &coded : all)
    for (CodedRows &rows : coded.rows)
      RowsFuser(rows, coded.cache->name).fuse();
  for (auto function : module.getOps<func::FuncOp>())
    eraseDeadOps(function);
}
