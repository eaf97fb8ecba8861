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
  /// Where what the new rows are made of is there, and they are not used yet.
  Operation *getPoint(const Rows &rows);
  /// The first operation of the body that reads past and new rows, or the return.
  Operation *findReader(const Rows &rows);
  Operation *getOpInBody(Operation *op) {
    return function.getBody().front().findAncestorOpInBlock(*op);
  }
  SmallVector<const Rows *> getSunkRows();
  void sortBySources();
  std::optional<Read> emitSource(StringAttr key, const Rows &rows, const Segment &segment);
  Value emitRows(const Rows &rows, Operation *reader);
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

Operation *FunctionRewriter::getPoint(const Rows &rows) {
  Operation *op = rows.update.whole.getDefiningOp();
  if (rows.update.argument)
    return op;
  // The new rows may be what is cached instead.
  return op ? op->getNextNode() : &function.getBody().front().front();
}

Operation *FunctionRewriter::findReader(const Rows &rows) {
  Operation *first = function.getBody().front().getTerminator();
  for (Operation *user : rows.update.whole.getUsers())
    if (Operation *reader = getOpInBody(user); reader->isBeforeInBlock(first))
      first = reader;
  return first;
}

/// The caches that change, in the order in which they are made: what several are made of is
/// there for the first of them.
SmallVector<const Rows *> FunctionRewriter::getSunkRows() {
  SmallVector<const Rows *> result;
  for (auto &[name, rows] : state.caches)
    if (isSunk(name))
      result.push_back(&rows);
  llvm::stable_sort(result, [&](const Rows *first, const Rows *second) {
    return getPoint(*first)->isBeforeInBlock(getPoint(*second));
  });
  return result;
}

/// New caches are in one order in all functions.
void FunctionRewriter::sortBySources() {
  llvm::StringMap<size_t> ranks;
  for (auto &[key, source] : sources)
    ranks.try_emplace(source.name, ranks.size());
  auto isBefore = [&](const auto &first, const auto &second) {
    return ranks.lookup(first.first) < ranks.lookup(second.first);
  };
  llvm::stable_sort(results, isBefore);
  llvm::stable_sort(arguments, isBefore);
}

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
  Operation *user = getPoint(rows);
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

/// Emits the rows of a cache, past and new ones, of what its sources are, for its first reader.
Value FunctionRewriter::emitRows(const Rows &rows, Operation *reader) {
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
    Type element = cast<RankedTensorType>(rows.update.whole.getType()).getElementType();
    Value piece = emitProduct(b, elements, reader, dims, sumDims, factors, element);
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
  SmallVector<const Rows *> sunkRows = getSunkRows();
  // Before anything is emitted, which may read them too.
  SmallVector<Operation *> readers;
  for (const Rows *rows : sunkRows)
    readers.push_back(findReader(*rows));
  for (const Rows *rows : sunkRows)
    for (auto [i, segment] : llvm::enumerate(rows->segments)) {
      StringAttr key = rows->sources[i];
      if (reads.contains(key))
        continue;
      std::optional<Read> read = emitSource(key, *rows, segment);
      if (!read)
        return function.emitError("expected the sizes of cache '")
               << rows->cache << "' to be known before it is made";
      reads.insert({key, *read});
    }
  sortBySources();
  Operation *ret = body.getTerminator();
  for (auto [sunkRow, reader] : llvm::zip(sunkRows, readers)) {
    const Rows &rows = *sunkRow;
    Value all = emitRows(rows, reader);
    if (!all)
      return function.emitError("expected the sizes of cache '")
             << rows.cache << "' to be known before it is read";
    Value whole = rows.update.whole;
    if (all.getType() != whole.getType()) {
      b.setInsertionPointAfterValue(all);
      all = tensor::CastOp::create(b, whole.getLoc(), whole.getType(), all);
    }
    whole.replaceUsesWithIf(all, [&](OpOperand &use) {
      Operation *user = getOpInBody(use.getOwner());
      return user != ret && all.getDefiningOp()->isBeforeInBlock(user);
    });
  }
  // Last, as what is emitted for one cache may ask for sizes of another's past.
  for (const Rows *rows : sunkRows)
    if (rows->update.argument)
      replaceDims(*rows, body.getArgument(*rows->update.argument));
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
