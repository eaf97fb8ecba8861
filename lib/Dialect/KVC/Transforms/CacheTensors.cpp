//===- CacheTensors.cpp - caches that are tensors -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the tensors of each cache, and how a function makes one longer.
//===----------------------------------------------------------------------===//
#include "CacheTensors.h"
#include "WrittenBytes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

void Cache::fail(Location where, const Twine &reason) {
  if (hasFailed())
    return;
  failure = reason.str();
  failureLoc = where;
}

const CacheTensor *Cache::find(func::FuncOp function) const {
  for (const CacheTensor &tensor : tensors)
    if (tensor.function == function)
      return &tensor;
  return nullptr;
}

std::optional<unsigned> Cache::getTokenDim() const {
  for (auto [position, axes] : llvm::enumerate(dims))
    for (const CacheAxis &axis : axes)
      if (axis.dim == Dim::Key)
        return position;
  for (const CacheTensor &tensor : tensors)
    if (tensor.tokenDim)
      return tensor.tokenDim;
  return std::nullopt;
}

/// More than any cache has, where a product is too large.
static int64_t multiply(int64_t first, int64_t second) {
  int64_t product = 0;
  return llvm::MulOverflow(first, second, product) ? INT64_MAX : product;
}

int64_t Cache::getHeads() const {
  int64_t heads = 1;
  for (const CacheAxes &axes : dims)
    for (const CacheAxis &axis : axes)
      heads = axis.isHead() ? multiply(heads, axis.size) : heads;
  return heads;
}

int64_t Cache::getWidth() const {
  int64_t width = 1;
  for (const CacheAxes &axes : dims)
    for (const CacheAxis &axis : axes)
      width = axis.dim == Dim::Width ? multiply(width, axis.size) : width;
  return width;
}

std::optional<int64_t> Cache::getBytes() const {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || !ranked.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t elements = multiply(getHeads(), getWidth());
  if (dims.empty()) {
    // Without an attention, what is static and does not count tokens.
    std::optional<unsigned> tokenDim = getTokenDim();
    if (!tokenDim && ranked.hasStaticShape())
      return std::nullopt;
    for (int64_t dim = 0; dim < ranked.getRank(); ++dim)
      if (!ranked.isDynamicDim(dim) && tokenDim != static_cast<unsigned>(dim))
        elements = multiply(elements, ranked.getDimSize(dim));
  }
  int64_t bits = multiply(elements, ranked.getElementTypeBitWidth());
  return bits / 8 + (bits % 8 != 0);
}

Type Cache::getElementType() const {
  return getElementTypeOrSelf(tensors.front().full.getType());
}

//===----------------------------------------------------------------------===//
// Writers
//===----------------------------------------------------------------------===//

static Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value;
}

/// Whether a tensor is room for tokens only: not written, or zero.
static bool isRoom(Value value) {
  value = skipCasts(value);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::EmptyOp>(op))
    return true;
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return matchPattern(fill.getInputs().front(), m_AnyZeroFloat());
  if (auto splat = dyn_cast_or_null<tensor::SplatOp>(op))
    return matchPattern(splat.getInput(), m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

namespace {
/// An insertion of a tensor into one that it fills but along one dimension.
struct Insertion {
  tensor::InsertSliceOp op;
  std::optional<unsigned> dim; ///< The one that it does not fill; none if it fills all.
  Expr offset;
};
} // namespace

static Expr toExpr(OpFoldResult value, Elements &elements) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return elements.getSpace().constant(*constant);
  return elements.getScalar(cast<Value>(value));
}

static std::optional<Insertion> matchInsertion(Value value, Elements &elements) {
  auto op = skipCasts(value).getDefiningOp<tensor::InsertSliceOp>();
  if (!op || !op.hasUnitStride())
    return std::nullopt;
  IndexSpace &space = elements.getSpace();
  Insertion insertion{op, std::nullopt, space.constant(0)};
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    Expr begin = toExpr(offset, elements), size = toExpr(op.getMixedSizes()[dim], elements);
    if (space.areEqual(begin, space.constant(0)) &&
        space.areEqual(size, elements.getSize(op.getDest(), dim)))
      continue;
    if (insertion.dim)
      return std::nullopt;
    insertion.dim = dim;
    insertion.offset = begin;
  }
  return insertion;
}

/// The new tokens of an insertion, and which dimensions they have.
static void setRows(CacheTensor &tensor, tensor::InsertSliceOp op,
                    std::optional<unsigned> tokenDim) {
  tensor.rows = op.getSource();
  tensor.tokenDim = tokenDim;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (int64_t dim = 0; dim < op.getDestType().getRank(); ++dim)
    if (!dropped.test(dim))
      tensor.rowDims.push_back(dim);
}

void CacheTensors::findWriter(Cache &cache, CacheTensor &tensor, Elements &elements) {
  IndexSpace &space = elements.getSpace();
  Value full = skipCasts(tensor.full);
  Location loc = tensor.full.getLoc();
  auto isPast = [&](Value value) { return tensor.past && skipCasts(value) == tensor.past; };
  auto setWhole = [&](Value rows) {
    tensor.rows = rows;
    int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
    llvm::append_range(tensor.rowDims, llvm::seq<unsigned>(rank));
  };
  if (isPast(full))
    return cache.fail(loc, "the past is returned without new tokens");
  std::optional<Insertion> last = matchInsertion(full, elements);
  if (!tensor.past) {
    // All tokens are new ones, maybe before room for more.
    if (last && isRoom(last->op.getDest()) && space.areEqual(last->offset, space.constant(0)))
      return setRows(tensor, last->op, last->dim);
    return setWhole(tensor.full);
  }

  Expr past = elements.getPast();
  if (!past)
    return cache.fail(loc, "how many tokens the past holds is not known");
  auto concat = full.getDefiningOp<tensor::ConcatOp>();
  if (concat && concat.getInputs().size() == 2 && isPast(concat.getInputs()[0])) {
    tensor.tokenDim = concat.getDim();
    if (!space.areEqual(elements.getSize(tensor.past, *tensor.tokenDim), past))
      return cache.fail(loc, "it holds other tokens than the other caches");
    return setWhole(concat.getInputs()[1]);
  }
  if (last && isPast(last->op.getDest()) && last->dim && space.areEqual(last->offset, past))
    return setRows(tensor, last->op, last->dim);
  // The past and the new tokens are written into a tensor that is new, in any order.
  if (last) {
    std::optional<Insertion> first = matchInsertion(last->op.getDest(), elements);
    if (first && isRoom(first->op.getDest())) {
      if (isPast(last->op.getSource()))
        std::swap(first, last);
      if (isPast(first->op.getSource()) && first->dim && first->dim == last->dim &&
          space.areEqual(first->offset, space.constant(0)) &&
          space.areEqual(last->offset, past) &&
          space.areEqual(elements.getSize(tensor.past, *first->dim), past))
        return setRows(tensor, last->op, last->dim);
    }
  }
  cache.fail(loc, "it is not the past with new tokens after it");
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

DenseAttentionOp kvc::findReader(Value tensor) {
  SmallVector<Value> values = {tensor};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (auto attention = dyn_cast<DenseAttentionOp>(user))
        return attention;
      // A size is no element.
      if (!isa<tensor::DimOp>(user) && seen.insert(user).second)
        llvm::append_range(values, user->getResults());
    }
  return {};
}

void kvc::eraseDeadOps(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}

/// The caches that a function's attributes name.
static bool hasCaches(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kCacheName) && isa<TensorType>(function.getArgumentTypes()[i]))
      return true;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, kCacheName))
      return true;
  return false;
}

void CacheTensors::addFunction(func::FuncOp function) {
  auto getCache = [&](Attribute attribute, Type type) -> Cache & {
    auto name = dyn_cast<StringAttr>(attribute);
    bool isName = name != nullptr;
    if (!isName) // which is no name that a string has
      name = StringAttr::get(function.getContext(), llvm::formatv("{0}", attribute).str());
    Cache &cache = caches.try_emplace(name, Cache{name, function.getLoc(), type}).first->second;
    if (!isName)
      cache.fail(function.getLoc(), "its name is no string");
    return cache;
  };
  auto getTensor = [&](Cache &cache) -> CacheTensor & {
    if (cache.tensors.empty() || cache.tensors.back().function != function)
      cache.tensors.push_back(CacheTensor{function});
    return cache.tensors.back();
  };
  // Functions whose body or callers cannot be changed keep their caches.
  StringRef obstacle;
  if (function.isDeclaration())
    obstacle = "a function that holds it has no body";
  else if (!llvm::hasSingleElement(function.getBody()))
    obstacle = "a function that holds it has more than one block";
  else if (!isa<func::ReturnOp>(function.getBody().front().getTerminator()))
    obstacle = "a function that holds it does not end in 'func.return'";
  else if (!SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
    obstacle = "a function that holds it is used by its name";
  SmallVector<StringAttr> names;
  auto checkTensor = [&](Cache &cache, Type type) {
    if (!llvm::is_contained(names, cache.name))
      names.push_back(cache.name);
    if (!obstacle.empty())
      cache.fail(function.getLoc(), obstacle);
    if (!isa<RankedTensorType>(type))
      cache.fail(function.getLoc(), "it is no tensor with a rank");
    return !cache.hasFailed();
  };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    Attribute attribute = function.getArgAttr(index, kCacheName);
    if (!attribute || isa<CacheType>(type))
      continue;
    Cache &cache = getCache(attribute, type);
    if (!checkTensor(cache, type))
      continue;
    CacheTensor &tensor = getTensor(cache);
    if (tensor.past)
      cache.fail(function.getLoc(), "two arguments of a function hold its past");
    tensor.past = function.getArgument(index);
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    Attribute attribute = function.getResultAttr(index, kCacheName);
    if (!attribute)
      continue;
    Cache &cache = getCache(attribute, type);
    if (!checkTensor(cache, type))
      continue;
    CacheTensor &tensor = getTensor(cache);
    if (tensor.full)
      cache.fail(function.getLoc(), "two results of a function hold it");
    tensor.result = index;
    tensor.full = function.getBody().front().getTerminator()->getOperand(index);
  }
  if (!obstacle.empty())
    return;
  CacheFunction &added =
      functions.emplace_back(CacheFunction{function, std::make_unique<Elements>(function), {}});
  for (StringAttr name : names) {
    Cache &cache = caches.find(name)->second;
    if (cache.hasFailed())
      continue;
    CacheTensor &tensor = cache.tensors.back();
    if (tensor.full)
      findWriter(cache, tensor, *added.elements);
    else
      cache.fail(tensor.past.getLoc(), "a function that holds its past does not return it");
  }
}

/// Whether all functions have it in the same shape, as far as types say.
void CacheTensors::checkTypes(Cache &cache) {
  if (cache.hasFailed())
    return;
  auto first = cast<RankedTensorType>(cache.tensors.front().full.getType());
  std::optional<unsigned> tokenDim = cache.getTokenDim();
  for (const CacheTensor &tensor : cache.tensors) {
    if (tensor.tokenDim && tensor.tokenDim != tokenDim)
      return cache.fail(tensor.full.getLoc(),
                        "tokens are added along a dimension that attention takes for another");
    for (Value value : {Value(tensor.past), tensor.full}) {
      if (!value)
        continue;
      auto type = cast<RankedTensorType>(value.getType());
      bool isSame =
          type.getRank() == first.getRank() && type.getElementType() == first.getElementType();
      for (int64_t dim = 0; isSame && dim < type.getRank(); ++dim) {
        if (tokenDim && dim == static_cast<int64_t>(*tokenDim))
          continue;
        int64_t size = type.getDimSize(dim), inner = 1;
        isSame = ShapedType::isDynamic(size) || first.isDynamicDim(dim) ||
                 size == first.getDimSize(dim);
        // What attention makes of it says more.
        if (cache.dims.empty())
          continue;
        bool hasBatch = false;
        for (const CacheAxis &axis : cache.dims[dim]) {
          hasBatch |= axis.dim == Dim::Batch;
          inner = axis.dim == Dim::Batch ? inner : multiply(inner, axis.size);
        }
        isSame &= ShapedType::isDynamic(size) || (hasBatch ? size % inner == 0 : size == inner);
      }
      if (!isSame)
        return cache.fail(tensor.full.getLoc(), "two functions have it in different shapes");
    }
  }
}

CacheTensors::CacheTensors(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (hasCaches(function))
      addFunction(function);
  for (CacheFunction &function : functions)
    findReads(function);
  for (CacheFunction &function : functions)
    completeReads(function);
  for (auto &[name, cache] : caches) {
    checkTypes(cache);
    checkCodes(cache);
    cache.writtenBytes = kvc::getWrittenBytes(module, name.getValue());
  }
}

SmallVector<Cache *> CacheTensors::getParts(const Cache &cache) {
  SmallVector<Cache *> parts;
  if (cache.codes)
    for (StringAttr name : cache.codes->parts)
      parts.push_back(&caches.find(name)->second);
  return parts;
}

SmallVector<CacheAxes> CacheTensors::getRowDims(const Cache &cache, const CacheTensor &tensor) {
  SmallVector<CacheAxes> dims;
  for (unsigned dim : tensor.rowDims)
    dims.push_back(cache.dims[dim]);
  return dims;
}
