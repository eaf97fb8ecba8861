//===- SinkFunction.cpp - a function that caches something else ---------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ElementEmitter.h"
#include "SinkThroughCache.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::sink;

using Expr = Elements::Expr;

StringRef sink::getCacheName(Attribute attribute) {
  auto name = dyn_cast_or_null<StringAttr>(attribute);
  return name ? name.getValue() : StringRef();
}

Expr sink::findIndex(const Segment &segment, Expr dim) {
  for (Expr index : segment.source->indices)
    if (index.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition()))
      return index;
  return {};
}

namespace {
/// Changes one function.
class FunctionRewriter {
public:
  FunctionRewriter(FunctionState &state, const llvm::StringSet<> &sunk,
                   llvm::MapVector<StringAttr, Source> &sources,
                   llvm::MapVector<StringRef, Cache> &caches)
      : function(state.function), state(state), elements(state.elements),
        space(elements.getSpace()), sunk(sunk), sources(sources), caches(caches),
        b(function.getContext()) {}

  LogicalResult rewrite();

private:
  /// What takes the place of a source in this function.
  struct Read {
    Value whole;
    int64_t axis;
  };
  bool isSunk(StringRef name) const { return sunk.contains(name); }
  std::optional<Read> emitSource(StringAttr key, const Rows &rows, const Segment &segment);
  Value emitRows(const Rows &rows);
  void replaceDims(const Rows &rows, Value past);

  func::FuncOp function;
  FunctionState &state;
  Elements &elements;
  IndexSpace &space;
  const llvm::StringSet<> &sunk;
  llvm::MapVector<StringAttr, Source> &sources;
  llvm::MapVector<StringRef, Cache> &caches;
  OpBuilder b;
  DenseMap<StringAttr, Read> reads;
  SmallVector<std::pair<std::string, Value>> results;
  SmallVector<std::pair<std::string, BlockArgument>> arguments;
};
} // namespace

/// Emits the new rows of a source, tokens where the cache has them and columns last, and
/// past and new ones.
std::optional<FunctionRewriter::Read>
FunctionRewriter::emitSource(StringAttr key, const Rows &rows, const Segment &segment) {
  int64_t axis = caches.find(rows.cache)->second.axis;
  SmallVector<Expr> dims;
  DenseMap<Expr, Expr> renamed;
  Read read{Value(), 0};
  for (auto [position, dim] : llvm::enumerate(rows.dims)) {
    if (static_cast<int64_t>(position) == rows.width)
      continue;
    if (static_cast<int64_t>(position) == axis) {
      read.axis = dims.size();
      dims.push_back(dim);
      continue;
    }
    Expr index = findIndex(segment, dim);
    if (!index)
      continue;
    if (index != dim) {
      Expr extent = space.getExtent(dim);
      auto binary = cast<AffineBinaryOpExpr>(index);
      renamed[index] = space.addDim(index.getKind() == AffineExprKind::Mod
                                        ? binary.getRHS()
                                        : extent.floorDiv(binary.getRHS()));
      index = renamed[index];
    }
    dims.push_back(index);
  }
  dims.push_back(segment.sumDim ? segment.sumDim : segment.column);
  SmallVector<Expr> indices;
  for (Expr index : segment.source->indices)
    indices.push_back(renamed.contains(index) ? renamed[index] : index);
  Operation *user = rows.update.whole.getDefiningOp();
  Type element = cast<RankedTensorType>(segment.source->tensor.getType()).getElementType();
  Value added = emitProduct(b, elements, user, dims, {},
                            {elements.load(segment.source->tensor, indices)}, element);
  if (!added)
    return std::nullopt;
  read.whole = added;
  std::string name = sources.find(key)->second.name;
  if (rows.update.argument) {
    auto type = cast<RankedTensorType>(added.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[read.axis] = ShapedType::kDynamic;
    BlockArgument past = function.getBody().front().addArgument(
        RankedTensorType::get(shape, element), rows.update.whole.getLoc());
    arguments.emplace_back(name, past);
    // The past has as many batch entries as what is added.
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != read.axis)
        space.learnEqual(elements.getSize(added, dim), elements.getSize(past, dim));
    b.setInsertionPoint(user);
    read.whole =
        tensor::ConcatOp::create(b, user->getLoc(), read.axis, ValueRange{past, added});
  }
  results.emplace_back(name, read.whole);
  return read;
}

/// Emits the rows of a cache, past and new ones, of what its sources are.
Value FunctionRewriter::emitRows(const Rows &rows) {
  int64_t axis = caches.find(rows.cache)->second.axis;
  SmallVector<Value> pieces;
  for (auto [i, segment] : llvm::enumerate(rows.segments)) {
    const Read &read = reads.find(rows.sources[i])->second;
    Expr tokens = space.addDim(elements.getSize(read.whole, read.axis));
    SmallVector<Expr> indices, dims;
    for (auto [position, dim] : llvm::enumerate(rows.dims)) {
      if (static_cast<int64_t>(position) == rows.width) {
        dims.push_back(segment.column);
        continue;
      }
      bool isTokens = static_cast<int64_t>(position) == axis;
      dims.push_back(isTokens ? tokens : dim);
      if (Expr index = isTokens ? tokens : findIndex(segment, dim))
        indices.push_back(index);
    }
    indices.push_back(segment.sumDim ? segment.sumDim : segment.column);
    SmallVector<Element> factors = {elements.load(read.whole, indices)};
    SmallVector<Expr> sumDims;
    if (segment.weight) {
      factors.push_back(segment.weight);
      sumDims.push_back(segment.sumDim);
    }
    // The weight may be defined further down than the rows of other segments.
    Operation *user = function.getBody().front().getTerminator();
    for (Operation *reader : rows.update.whole.getUsers())
      if (reader->isBeforeInBlock(user))
        user = reader;
    Type element = cast<RankedTensorType>(rows.update.whole.getType()).getElementType();
    Value piece = emitProduct(b, elements, user, dims, sumDims, factors, element);
    if (!piece)
      return {};
    pieces.push_back(piece);
  }
  if (pieces.size() == 1)
    return pieces[0];
  b.setInsertionPointAfterValue(pieces.back());
  return tensor::ConcatOp::create(b, rows.update.whole.getLoc(), rows.width, pieces);
}

/// Sizes of the past are those of what is kept of it.
void FunctionRewriter::replaceDims(const Rows &rows, Value past) {
  for (Operation *user : llvm::make_early_inc_range(past.getUsers())) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    if (!dim)
      continue;
    b.setInsertionPoint(dim);
    auto type = cast<RankedTensorType>(past.getType());
    int64_t index = *dim.getConstantIndex();
    Value size;
    if (!type.isDynamicDim(index)) {
      size = arith::ConstantIndexOp::create(b, dim.getLoc(), type.getDimSize(index));
    } else if (index == caches.find(rows.cache)->second.axis) {
      const Read &read = reads.find(rows.sources[0])->second;
      Value newPast = read.whole.getDefiningOp<tensor::ConcatOp>().getInputs()[0];
      size = tensor::DimOp::create(b, dim.getLoc(), newPast, read.axis);
    } else {
      // As many as there are of the new rows.
      const Read &read = reads.find(rows.sources[0])->second;
      Value newPast = read.whole.getDefiningOp<tensor::ConcatOp>().getInputs()[0];
      int64_t kept = 0;
      for (int64_t position = 0; position < index; ++position)
        kept += position == caches.find(rows.cache)->second.axis ||
                (position != rows.width && findIndex(rows.segments[0], rows.dims[position]));
      size = tensor::DimOp::create(b, dim.getLoc(), newPast, kept);
    }
    dim.replaceAllUsesWith(size);
  }
}

LogicalResult FunctionRewriter::rewrite() {
  Block &body = function.getBody().front();
  unsigned numOldArguments = body.getNumArguments();
  for (auto &[name, rows] : state.caches) {
    if (!isSunk(name))
      continue;
    for (auto [i, segment] : llvm::enumerate(rows.segments)) {
      StringAttr key = rows.sources[i];
      if (reads.contains(key))
        continue;
      std::optional<Read> read = emitSource(key, rows, segment);
      if (!read)
        return function.emitError("expected the sizes of cache '")
               << name << "' to be known before it is made";
      reads.insert({key, *read});
    }
  }
  Operation *ret = body.getTerminator();
  for (auto &[name, rows] : state.caches) {
    if (!isSunk(name))
      continue;
    Value all = emitRows(rows);
    if (!all)
      return function.emitError("expected the sizes of cache '")
             << name << "' to be known before it is read";
    Value whole = rows.update.whole;
    if (all.getType() != whole.getType()) {
      b.setInsertionPointAfterValue(all);
      all = tensor::CastOp::create(b, whole.getLoc(), whole.getType(), all);
    }
    whole.replaceUsesWithIf(all, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user != ret && all.getDefiningOp()->isBeforeInBlock(user);
    });
    if (rows.update.argument)
      replaceDims(rows, body.getArgument(*rows.update.argument));
  }
  // The signature: new caches where the first of the old ones were.
  FunctionType type = function.getFunctionType();
  SmallVector<Type> inputs, outputs;
  SmallVector<Attribute> inputAttrs, outputAttrs;
  SmallVector<Value> returned;
  SmallVector<unsigned> order;
  auto named = [&](StringRef name) {
    return b.getDictionaryAttr(b.getNamedAttr(kCacheName, b.getStringAttr(name)));
  };
  bool placed = false;
  for (unsigned i = 0; i < numOldArguments; ++i) {
    if (!isSunk(getCacheName(function.getArgAttr(i, kCacheName)))) {
      inputs.push_back(type.getInput(i));
      DictionaryAttr attrs = function.getArgAttrDict(i);
      inputAttrs.push_back(attrs ? attrs : b.getDictionaryAttr({}));
      order.push_back(i);
      continue;
    }
    if (placed)
      continue;
    placed = true;
    for (auto &[name, argument] : arguments) {
      inputs.push_back(argument.getType());
      inputAttrs.push_back(named(name));
      order.push_back(argument.getArgNumber());
    }
  }
  placed = false;
  for (unsigned i = 0; i < type.getNumResults(); ++i) {
    if (!isSunk(getCacheName(function.getResultAttr(i, kCacheName)))) {
      outputs.push_back(type.getResult(i));
      DictionaryAttr attrs = function.getResultAttrDict(i);
      outputAttrs.push_back(attrs ? attrs : b.getDictionaryAttr({}));
      returned.push_back(ret->getOperand(i));
      continue;
    }
    if (placed)
      continue;
    placed = true;
    for (auto &[name, value] : results) {
      outputs.push_back(value.getType());
      outputAttrs.push_back(named(name));
      returned.push_back(value);
    }
  }
  ret->setOperands(returned);
  // What made the old rows is dead now.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  // Arguments in their new order.
  SmallVector<BlockArgument> ordered;
  for (unsigned index : order)
    ordered.push_back(body.getArgument(index));
  unsigned count = body.getNumArguments();
  for (BlockArgument argument : ordered) {
    BlockArgument moved = body.addArgument(argument.getType(), argument.getLoc());
    argument.replaceAllUsesWith(moved);
  }
  body.eraseArguments(0, count);
  function.setFunctionType(FunctionType::get(function.getContext(), inputs, outputs));
  function.setArgAttrsAttr(b.getArrayAttr(inputAttrs));
  function.setResAttrsAttr(b.getArrayAttr(outputAttrs));
  return success();
}

LogicalResult sink::sinkInFunction(FunctionState &state, const llvm::StringSet<> &sunk,
                                   llvm::MapVector<StringAttr, Source> &sources,
                                   llvm::MapVector<StringRef, Cache> &caches) {
  return FunctionRewriter(state, sunk, sources, caches).rewrite();
}
