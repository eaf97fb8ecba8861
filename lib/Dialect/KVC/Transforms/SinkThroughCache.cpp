//===- SinkThroughCache.cpp - the fewest bytes to cache -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a function f of one token, read(append(f(x))) = f(read(append(x))). A cache of rows
// f(x) becomes one of rows x where that takes fewer bytes, and f is computed of what is
// read; other passes fold it into attention.
//
// What rows are made of is compared between functions by signatures: texts in which
// dimensions have the numbers of the cache's, and sources are named after the first segment
// that they are the source of.
//===----------------------------------------------------------------------===//
#include "ElementEmitter.h"
#include "TokenFunction.h"
#include "WrittenBytes.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "kvc-sink-through-cache"

namespace kvc {
#define GEN_PASS_DEF_SINKTHROUGHCACHEPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

/// Numbers of the dimensions of a segment in signatures; those of the cache are below.
static constexpr unsigned kColumnNumber = 100, kSumNumber = 101;

namespace {
/// One cache in one function.
struct Update {
  func::FuncOp function;
  std::optional<unsigned> argument; ///< Of the past.
  unsigned result;
  Value whole; ///< Past and new rows.
  Value rows;  ///< The new ones.
};

/// Rows that may be cached instead.
struct Source {
  std::string name;                  ///< Of the cache that they become.
  int64_t bytes = 0;                 ///< A token.
  llvm::SetVector<StringRef> caches; ///< Which are made of it.
};

/// What a cache is made of in one function.
struct Rows {
  Update update;
  StringRef cache;        ///< Its name.
  SmallVector<Expr> dims; ///< Of the rows.
  SmallVector<Segment> segments;
  SmallVector<StringAttr> sources; ///< Key of each segment's source.
  int64_t width;                   ///< The dimension of their columns.
};

/// One function while it is looked at and changed.
struct FunctionState {
  explicit FunctionState(func::FuncOp function) : function(function), elements(function) {}
  func::FuncOp function;
  Elements elements;
  llvm::MapVector<StringRef, Rows> caches;
};

/// A cache of the module.
struct Cache {
  Cache(StringRef name, Location loc) : name(name), loc(loc) {}

  std::string name;
  int64_t axis = -1;              ///< The dimension of tokens.
  int64_t bytes = 0;              ///< A token.
  int64_t work = 0, sunkWork = 0; ///< Columns that a query head multiplies by.
  Location loc;
  std::string signature; ///< Of its segments.
  std::string problem;   ///< Why it stays, or empty.
};

/// Decides for the caches of a module.
class CacheSinker {
public:
  CacheSinker(ModuleOp module, double maxWork) : module(module), maxWork(maxWork) {}
  LogicalResult run();

private:
  MLIRContext *getContext() { return module.getContext(); }
  void collect(func::FuncOp function);
  void analyse(FunctionState &state, Cache &cache);
  StringAttr findSource(FunctionState &state, StringRef cache, const Rows &rows,
                        const Segment &segment);
  std::string describe(FunctionState &state, const Rows &rows, const Segment &segment,
                       StringRef source);
  void decide();
  void nameSources(ArrayRef<StringRef> component);

  ModuleOp module;
  double maxWork;
  llvm::MapVector<StringRef, Cache> caches;
  llvm::MapVector<StringAttr, Source> sources;
  std::vector<std::unique_ptr<FunctionState>> states;
  llvm::StringSet<> sunk;
};

struct SinkThroughCachePass final : kvc::impl::SinkThroughCachePassBase<SinkThroughCachePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

static void reportMissed(Location loc, StringRef cache, const Twine &reason) {
  remark::missed(loc, remark::RemarkOpts::name("SunkThroughCache").category(DEBUG_TYPE))
      << remark::reason("cache '{0}' stays as it is: {1}", cache, reason.str());
}

//===----------------------------------------------------------------------===//
// Caches and their rows
//===----------------------------------------------------------------------===//

/// The name of a cache that an attribute gives, or an empty one.
static StringRef getCacheName(Attribute attribute) {
  auto name = dyn_cast_or_null<StringAttr>(attribute);
  return name ? name.getValue() : StringRef();
}

/// Finds the caches of a function, and which rows are new.
void CacheSinker::collect(func::FuncOp function) {
  if (function.isDeclaration() || !llvm::hasSingleElement(function.getBody()))
    return;
  Block &body = function.getBody().front();
  auto ret = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!ret)
    return;
  auto state = std::make_unique<FunctionState>(function);
  for (unsigned result = 0; result < function.getNumResults(); ++result) {
    StringRef name = getCacheName(function.getResultAttr(result, kCacheName));
    if (name.empty())
      continue;
    Value whole = ret.getOperand(result);
    Cache &cache = caches.insert({name, Cache(name, whole.getLoc())}).first->second;
    Update update{function, std::nullopt, result, whole, whole};
    for (unsigned argument = 0; argument < function.getNumArguments(); ++argument)
      if (getCacheName(function.getArgAttr(argument, kCacheName)) == name) {
        if (update.argument)
          cache.problem = "two arguments of a function hold its past";
        update.argument = argument;
      }
    if (update.argument) {
      BlockArgument past = body.getArgument(*update.argument);
      auto concat = whole.getDefiningOp<tensor::ConcatOp>();
      if (!concat || concat.getInputs().size() != 2 || concat.getInputs()[0] != past) {
        cache.problem = "its past and new rows are not concatenated";
      } else {
        update.rows = concat.getInputs()[1];
        if (cache.axis >= 0 && cache.axis != static_cast<int64_t>(concat.getDim()))
          cache.problem = "functions concatenate it along different dimensions";
        cache.axis = concat.getDim();
        for (Operation *user : past.getUsers())
          if (user != concat && !isa<tensor::DimOp>(user))
            cache.problem = "its past is used elsewhere";
      }
    }
    if (state->caches.contains(name))
      cache.problem = "a function returns it twice";
    state->caches[name].update = update;
  }
  for (unsigned argument = 0; argument < function.getNumArguments(); ++argument) {
    StringRef name = getCacheName(function.getArgAttr(argument, kCacheName));
    if (!name.empty() && !state->caches.contains(name))
      caches.insert({name, Cache(name, function.getLoc())}).first->second.problem =
          "a function reads it and does not return it";
  }
  if (!state->caches.empty())
    states.push_back(std::move(state));
}

/// Numbers for the dimensions of a cache's rows.
static DenseMap<Expr, Expr> numberDims(MLIRContext *context, const Rows &rows,
                                       const Segment &segment) {
  DenseMap<Expr, Expr> numbers;
  for (auto [i, dim] : llvm::enumerate(rows.dims))
    numbers[dim] = getAffineDimExpr(i, context);
  numbers[segment.column] = getAffineDimExpr(kColumnNumber, context);
  // Columns of a source are those, or summed.
  if (segment.sumDim)
    numbers[segment.sumDim] = getAffineDimExpr(kSumNumber, context);
  return numbers;
}

/// The key of a segment's source: that of the first segment with the same one.
StringAttr CacheSinker::findSource(FunctionState &state, StringRef cache, const Rows &rows,
                                   const Segment &segment) {
  auto print = [&](const Rows &ofRows, const Segment &of) {
    DenseMap<Expr, Expr> numbers = numberDims(getContext(), ofRows, of);
    if (of.sumDim)
      numbers[of.sumDim] = getAffineDimExpr(kColumnNumber, getContext());
    std::string text;
    llvm::raw_string_ostream os(text);
    for (Expr index : of.source->indices)
      os << index.replace(numbers) << ' ';
    return text;
  };
  for (const auto &[name, other] : state.caches)
    for (auto [i, candidate] : llvm::enumerate(other.segments)) {
      if (i >= other.sources.size())
        break;
      if (candidate.source->tensor == segment.source->tensor &&
          print(other, candidate) == print(rows, segment))
        return other.sources[i];
    }
  return StringAttr::get(getContext(), cache + "#" + Twine(segment.begin));
}

/// The text that says what a segment is, in terms that hold for all functions.
std::string CacheSinker::describe(FunctionState &state, const Rows &rows,
                                  const Segment &segment, StringRef source) {
  IndexSpace &space = state.elements.getSpace();
  DenseMap<Expr, Expr> numbers = numberDims(getContext(), rows, segment);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << segment.begin << '+' << space.getExtent(segment.column) << " = " << source << '(';
  // The dimensions that it keeps; others are of size 1, or shared.
  for (Expr dim : rows.dims)
    for (Expr index : segment.source->indices)
      if (index.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition()) &&
          dim != rows.dims[caches.find(rows.cache)->second.axis])
        os << index.replace(numbers) << ' ';
  os << "by " << space.getExtent(segment.sumDim ? segment.sumDim : segment.column) << ')';
  if (!segment.weight)
    return text;
  // Arguments that are no caches are the same in all functions, in their order.
  Value weight = segment.weight->tensor;
  os << " * ";
  Attribute constant;
  if (matchPattern(weight, m_Constant(&constant))) {
    os << constant;
  } else {
    unsigned ordinal = 0;
    for (unsigned i = 0; i < cast<BlockArgument>(weight).getArgNumber(); ++i)
      ordinal += !state.function.getArgAttr(i, kCacheName);
    os << "argument " << ordinal << " of type " << weight.getType();
  }
  os << '[';
  llvm::interleaveComma(segment.weight->indices, os,
                        [&](Expr index) { os << index.replace(numbers); });
  os << ']';
  return text;
}

void CacheSinker::analyse(FunctionState &state, Cache &cache) {
  Rows &rows = state.caches[cache.name];
  Elements &elements = state.elements;
  IndexSpace &space = elements.getSpace();
  auto type = dyn_cast<RankedTensorType>(rows.update.rows.getType());
  auto fail = [&](const Twine &problem) { cache.problem = problem.str(); };
  if (cache.axis < 0)
    return fail("no function makes it longer");
  if (!type || cache.axis >= type.getRank() || type.getRank() < 2 ||
      !isa<FloatType>(type.getElementType()))
    return fail("it has no rows of floating-point numbers");
  rows.width = type.getRank() - 1;
  if (rows.width == cache.axis)
    --rows.width;
  for (Expr size : elements.getSizes(rows.update.rows))
    rows.dims.push_back(space.addDim(size));
  auto width = dyn_cast<AffineConstantExpr>(space.getExtent(rows.dims[rows.width]));
  if (!width)
    return fail("its width is not static");
  Element load = elements.load(rows.update.rows, rows.dims);
  auto segments = matchTokenFunction(elements, load, rows.dims[rows.width], {});
  if (!segments)
    return fail("its rows are no moves or products of what a token has");

  int64_t elementBytes = type.getElementTypeBitWidth() / 8;
  cache.bytes = elementBytes;
  for (auto [position, size] : llvm::enumerate(type.getShape()))
    if (static_cast<int64_t>(position) != cache.axis && !ShapedType::isDynamic(size))
      cache.bytes *= size;
  cache.work = width.getValue();
  cache.sunkWork = 0;
  std::string signature;
  rows.segments = std::move(*segments);
  for (const Segment &segment : rows.segments) {
    StringAttr key = findSource(state, cache.name, rows, segment);
    rows.sources.push_back(key);
    signature += describe(state, rows, segment, key) + "; ";
    Source &source = sources[key];
    source.caches.insert(StringRef(cache.name));
    source.bytes = elementBytes;
    for (auto [position, index] : llvm::enumerate(segment.source->indices)) {
      Expr size = elements.getSize(segment.source->tensor, position);
      if (auto constant = dyn_cast<AffineConstantExpr>(size);
          constant && index != rows.dims[cache.axis])
        source.bytes *= constant.getValue();
    }
    cache.sunkWork += cast<AffineConstantExpr>(
                          space.getExtent(segment.sumDim ? segment.sumDim : segment.column))
                          .getValue();
  }
  if (cache.signature.empty())
    cache.signature = signature;
  else if (cache.signature != signature)
    fail("functions make its rows in different ways");
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

/// Names the caches of sources: as the cache that one is all of, after those that are products
/// of one, or as a part of a cache.
void CacheSinker::nameSources(ArrayRef<StringRef> component) {
  llvm::StringSet<> used;
  for (auto &[name, cache] : caches)
    if (!llvm::is_contained(component, name))
      used.insert(name);
  for (auto &[key, source] : sources) {
    StringRef first = source.caches.front();
    if (!llvm::is_contained(component, first))
      continue;
    std::string name = first.str();
    // All but the last parts of the names agree in models of several layers.
    for (StringRef other : source.caches.getArrayRef().drop_front())
      name += other.substr(other.rfind('.') + 1);
    bool isAll = llvm::all_of(sources, [&, &key = key](auto &other) {
      return other.first == key || !other.second.caches.contains(first);
    });
    if (source.caches.size() == 1 && !isAll)
      name += "_part";
    source.name = name;
    for (unsigned i = 1; !used.insert(source.name).second; ++i)
      source.name = llvm::formatv("{0}{1}", name, i);
  }
}

/// Caches that share sources are decided together.
void CacheSinker::decide() {
  llvm::StringSet<> seen;
  for (auto &[name, first] : caches) {
    if (!seen.insert(name).second)
      continue;
    SmallVector<StringRef> component = {name};
    llvm::SetVector<StringAttr> keys;
    for (size_t i = 0; i < component.size(); ++i)
      for (auto &[key, source] : sources)
        if (source.caches.contains(component[i])) {
          keys.insert(key);
          for (StringRef other : source.caches)
            if (seen.insert(other).second)
              component.push_back(other);
        }
    int64_t bytes = 0, sunkBytes = 0, work = 0, sunkWork = 0;
    const Cache *stays = nullptr;
    for (StringRef member : component) {
      const Cache &cache = caches.find(member)->second;
      if (!cache.problem.empty())
        stays = &cache;
      bytes += cache.bytes;
      work += cache.work;
      sunkWork += cache.sunkWork;
    }
    if (stays) {
      for (StringRef member : component) {
        const Cache &cache = caches.find(member)->second;
        reportMissed(cache.loc, member,
                     cache.problem.empty()
                         ? "it shares a source with '" + stays->name + "', which stays"
                         : Twine(cache.problem));
      }
      continue;
    }
    for (StringAttr key : keys)
      sunkBytes += sources.find(key)->second.bytes;
    if (sunkBytes >= bytes)
      continue; // nothing to gain, and nothing to say
    if (sunkWork > maxWork * work) {
      reportMissed(first.loc, name,
                   llvm::formatv("{0} instead of {1} bytes a token would take {2:f1} times the "
                                 "work a cached token, which is above {3:f1}",
                                 sunkBytes, bytes, double(sunkWork) / work, maxWork));
      continue;
    }
    nameSources(component);
    // What the first source takes the place of; the others come with it.
    int64_t written = 0;
    for (StringRef member : component)
      written += kvc::getWrittenBytes(module, member).value_or(
          caches.find(member)->second.bytes);
    for (StringAttr key : keys)
      setWrittenBytes(module, key == keys.front() ? ArrayRef(component) : ArrayRef<StringRef>(),
                      sources.find(key)->second.name, key == keys.front() ? written : 0);
    for (StringRef member : component)
      sunk.insert(member);
    remark::passed(first.loc, remark::RemarkOpts::name("SunkThroughCache").category(DEBUG_TYPE))
        << llvm::formatv("{0} bytes a token instead of {1} for cache{2} '{3}', {4:f1} times "
                         "the work a cached token",
                         sunkBytes, bytes, component.size() > 1 ? "s" : "",
                         llvm::join(component, "', '"), double(sunkWork) / work)
               .str();
  }
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

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

/// The index of a source that depends on a dimension of the rows, or null.
static Expr findIndex(const Segment &segment, Expr dim) {
  for (Expr index : segment.source->indices)
    if (index.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition()))
      return index;
  return {};
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
    int64_t index = dim.getConstantIndex().value_or(0);
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
    dim.erase();
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

LogicalResult CacheSinker::run() {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    collect(function);
  for (auto &state : states)
    for (auto &[name, rows] : state->caches) {
      Cache &cache = caches.find(name)->second;
      rows.cache = cache.name;
      if (cache.problem.empty())
        analyse(*state, cache);
    }
  decide();
  if (sunk.empty())
    return success();
  for (auto &state : states)
    if (failed(FunctionRewriter(*state, sunk, sources, caches).rewrite()))
      return failure();
  return success();
}

void SinkThroughCachePass::runOnOperation() {
  if (failed(CacheSinker(getOperation(), maxWork).run()))
    signalPassFailure();
}
