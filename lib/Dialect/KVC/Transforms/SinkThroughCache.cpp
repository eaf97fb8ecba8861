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
#include "SinkThroughCache.h"
#include "WrittenBytes.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "kvc-sink-through-cache"

namespace kvc {
#define GEN_PASS_DEF_SINKTHROUGHCACHEPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;
using namespace kvc::sink;

using Expr = Elements::Expr;

/// Numbers of the dimensions of a segment in signatures; those of the cache are below.
static constexpr unsigned kColumnNumber = 100, kSumNumber = 101;

namespace {
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
  /// Whether the rows of a segment are made of less, but not as a product of it.
  void explain(FunctionState &state, Cache &cache, const Rows &rows, const Segment &segment);
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

/// Finds the caches of a function, and which rows are new.
void CacheSinker::collect(func::FuncOp function) {
  auto failAll = [&](StringRef problem) {
    auto fail = [&](StringRef name) {
      if (!name.empty())
        caches.insert({name, Cache(name, function.getLoc())}).first->second.problem = problem;
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!isa<CacheType>(function.getArgumentTypes()[i]))
        fail(getCacheName(function.getArgAttr(i, kCacheName)));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      fail(getCacheName(function.getResultAttr(i, kCacheName)));
  };
  if (!llvm::hasSingleElement(function.getBody()) ||
      !isa<func::ReturnOp>(function.getBody().front().getTerminator()))
    return failAll("a function with it has no body of one block");
  if (!SymbolTable::symbolKnownUseEmpty(function, module))
    return failAll("a function with it is called");
  Block &body = function.getBody().front();
  Operation *ret = body.getTerminator();
  auto state = std::make_unique<FunctionState>(function);
  for (unsigned result = 0; result < function.getNumResults(); ++result) {
    StringRef name = getCacheName(function.getResultAttr(result, kCacheName));
    if (name.empty())
      continue;
    Value whole = ret->getOperand(result);
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
      if (!concat || concat.getInputs().size() != 2 || concat.getInputs()[0] != past ||
          concat.getInputs()[1] == past) {
        cache.problem = "its past and new rows are not concatenated";
      } else {
        update.rows = concat.getInputs()[1];
        if (cache.axis >= 0 && cache.axis != static_cast<int64_t>(concat.getDim()))
          cache.problem = "functions concatenate it along different dimensions";
        cache.axis = concat.getDim();
        for (Operation *user : past.getUsers()) {
          auto dim = dyn_cast<tensor::DimOp>(user);
          std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
          bool isSize = index && *index < cast<ShapedType>(past.getType()).getRank();
          if (user != concat && !isSize)
            cache.problem = "its past is used elsewhere";
        }
      }
    }
    for (OpOperand &use : whole.getUses())
      if (use.getOwner() == ret &&
          getCacheName(function.getResultAttr(use.getOperandNumber(), kCacheName)).empty())
        cache.problem = "a function returns it as another result too";
    if (state->caches.contains(name))
      cache.problem = "a function returns it twice";
    state->caches[name].update = update;
  }
  for (unsigned argument = 0; argument < function.getNumArguments(); ++argument) {
    StringRef name = getCacheName(function.getArgAttr(argument, kCacheName));
    // What is in pages already is as small as it was to be.
    if (!name.empty() && !isa<CacheType>(function.getArgumentTypes()[argument]) &&
        !state->caches.contains(name))
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
    os << constant.getAsOpaquePointer(); // as a text may leave its numbers out
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

void CacheSinker::explain(FunctionState &state, Cache &cache, const Rows &rows,
                          const Segment &segment) {
  Elements &elements = state.elements;
  IndexSpace &space = elements.getSpace();
  auto getConstant = [](Expr size) {
    auto constant = dyn_cast<AffineConstantExpr>(size);
    return constant ? constant.getValue() : 0;
  };
  Expr token = rows.dims[cache.axis];
  std::optional<Obstacle> obstacle = findObstacle(elements, segment.source, token, {});
  if (!obstacle)
    return;
  Value tensor = obstacle->rows->tensor;
  double bytes = cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8.0;
  for (auto [position, index] : llvm::enumerate(obstacle->rows->indices))
    if (int64_t size = getConstant(elements.getSize(tensor, position));
        size > 0 && index != token)
      bytes *= size;
  double width = getConstant(space.getExtent(rows.dims[rows.width]));
  if (bytes < cache.bytes * (getConstant(space.getExtent(segment.column)) / width))
    cache.obstacle = obstacle->reason;
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
  auto segments =
      matchTokenFunction(elements, load, rows.dims[cache.axis], rows.dims[rows.width], {});
  if (!segments)
    return fail("expected rows of at most " + Twine(kMaxSegments) +
                " parts next to each other, got more");
  // Sizes of the past are read from what is cached instead.
  for (auto [position, dim] : llvm::enumerate(rows.dims))
    if (static_cast<int64_t>(position) != cache.axis &&
        !isa<AffineConstantExpr>(space.getExtent(dim)) && !findIndex(segments->front(), dim))
      return fail("what its rows are made of lacks a dimension that is not static");

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
    int64_t columns = cast<AffineConstantExpr>(
                          space.getExtent(segment.sumDim ? segment.sumDim : segment.column))
                          .getValue();
    cache.sunkWork += columns;
    // One element in all columns is cached in all columns.
    if (!segment.sumDim && !elements.contains(segment.source, segment.column))
      source.bytes *= columns;
    if (!segment.weight && cache.obstacle.empty())
      explain(state, cache, rows, segment);
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
    if (sunkBytes >= bytes) {
      // Nothing to gain, and nothing to say if nothing is in the way.
      for (StringRef member : component)
        if (const Cache &cache = caches.find(member)->second; !cache.obstacle.empty())
          reportMissed(cache.loc, member, cache.obstacle);
      continue;
    }
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
      written +=
          kvc::getWrittenBytes(module, member).value_or(caches.find(member)->second.bytes);
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
// The pass
//===----------------------------------------------------------------------===//

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
    if (failed(sinkInFunction(*state, sunk, sources, caches)))
      return failure();
  return success();
}

void SinkThroughCachePass::runOnOperation() {
  if (failed(CacheSinker(getOperation(), maxWork).run()))
    signalPassFailure();
}
