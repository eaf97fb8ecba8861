//===- PageCache.cpp - from tensors that grow to pages --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which caches of a module are paged. All functions share them, so each is in all
// of them or in none, and so are those that one attention reads together.
//===----------------------------------------------------------------------===//
#include "PageCache.h"
#include "WrittenBytes.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "kvc-page-cache"

namespace kvc {
#define GEN_PASS_DEF_PAGECACHEPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Groups = SmallVector<std::unique_ptr<CacheGroup>>;

namespace {
struct PageCachePass final : kvc::impl::PageCachePassBase<PageCachePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The last part of a cache's name.
static StringRef getLastPart(const Cache &cache) {
  return cache.name.getValue().rsplit('.').second.empty()
             ? cache.name.getValue()
             : cache.name.getValue().rsplit('.').second;
}

StringRef CacheGroup::getComponent(const Cache &cache) const {
  // Whole names where the last parts are not enough.
  llvm::StringSet<> seen;
  bool isUnique = llvm::all_of(
      members, [&](const Cache *member) { return seen.insert(getLastPart(*member)).second; });
  return isUnique ? getLastPart(cache) : cache.name.getValue();
}

/// Caches that attention ties together, in the order in which they are named.
static Groups makeGroups(CacheTensors &tensors) {
  llvm::EquivalenceClasses<Cache *> ties;
  for (CacheFunction &function : tensors.functions)
    for (CacheRead &read : function.reads) {
      Cache *first = nullptr;
      for (StringAttr name : read.names) {
        if (!name)
          continue;
        Cache *cache = &tensors.caches.find(name)->second;
        first = first ? first : cache;
        ties.unionSets(first, cache);
      }
    }
  Groups groups;
  DenseMap<Cache *, CacheGroup *> byLeader;
  for (auto &[name, cache] : tensors.caches) {
    if (cache.partOf)
      continue;
    Cache *leader = ties.contains(&cache) ? ties.getLeaderValue(&cache) : &cache;
    CacheGroup *&group = byLeader[leader];
    if (!group)
      group = groups.emplace_back(std::make_unique<CacheGroup>()).get();
    group->members.push_back(&cache);
    llvm::append_range(group->parts, tensors.getParts(cache));
  }
  return groups;
}

/// The part of their names that the members share, or all names.
static void nameGroups(Groups &groups, MLIRContext *context) {
  auto getSharedPart = [](const CacheGroup &group) {
    StringRef shared = group.members.front()->name.getValue().rsplit('.').first;
    bool isShared = llvm::all_of(group.members, [&](const Cache *cache) {
      return cache->name.getValue().contains('.') &&
             cache->name.getValue().rsplit('.').first == shared;
    });
    return isShared ? shared : StringRef();
  };
  llvm::StringMap<unsigned> counts;
  for (auto &group : groups)
    ++counts[getSharedPart(*group)];
  for (auto &group : groups) {
    StringRef shared = getSharedPart(*group);
    std::string name = shared.str();
    if (shared.empty() || counts[shared] > 1)
      name =
          llvm::join(llvm::map_range(group->members,
                                     [](const Cache *cache) { return cache->name.getValue(); }),
                     "+");
    group->name = StringAttr::get(context, name);
  }
}

/// If one cannot be paged, the others are not either.
static void spreadFailure(CacheGroup &group) {
  SmallVector<Cache *> all = group.members;
  llvm::append_range(all, group.parts);
  auto *failed = llvm::find_if(all, [](const Cache *cache) { return cache->hasFailed(); });
  if (failed == all.end())
    return;
  for (Cache *cache : all)
    cache->fail((*failed)->failureLoc,
                "attention reads it with cache '" + (*failed)->name.getValue() + "'");
}

/// The type of a group; what it refuses fails all members.
static void makeType(CacheGroup &group, int64_t pageSize, MLIRContext *context) {
  std::string refusal;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    refusal = diagnostic.str();
    return success();
  });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  SmallVector<ComponentAttr> components;
  for (Cache *cache : group.members) {
    auto component = ComponentAttr::getChecked(
        emitError, context, StringAttr::get(context, group.getComponent(*cache)),
        cache->getHeads(), cache->getWidth(),
        cache->codes ? cache->codes->element : cache->getElementType(), Layout::RowMajor,
        cache->codes ? cache->codes->scale : ScaleAttr());
    if (!component)
      return cache->fail(cache->loc, refusal);
    components.push_back(component);
  }
  group.type =
      CacheType::getChecked(emitError, context, pageSize, ArrayRef<ComponentAttr>(components));
  if (!group.type)
    group.members.front()->fail(group.members.front()->loc, refusal);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// What to change in each function, for the groups that can be paged so far.
static std::vector<FunctionPlan> makePlans(CacheTensors &tensors, Groups &groups) {
  std::vector<FunctionPlan> plans;
  for (CacheFunction &function : tensors.functions) {
    FunctionPlan plan{&function};
    for (auto &group : groups) {
      bool isPaged =
          llvm::none_of(group->members, [](const Cache *cache) { return cache->hasFailed(); });
      bool isHere = llvm::any_of(group->members, [&](const Cache *cache) {
        return cache->find(function.function) != nullptr;
      });
      if (isPaged && isHere)
        plan.groups.push_back(group.get());
    }
    for (CacheRead &read : function.reads)
      if (llvm::all_of(read.names, [&](StringAttr name) {
            return name && !tensors.caches.find(name)->second.hasFailed();
          }))
        plan.reads.push_back(&read);
    if (!plan.groups.empty())
      plans.push_back(std::move(plan));
  }
  return plans;
}

/// Keeps what the tensors took, if they were not what the model wrote.
static void keepBytes(ModuleOp module, const CacheGroup &group) {
  int64_t bytes = 0;
  SmallVector<StringRef> former;
  SmallVector<Cache *> all = group.members;
  llvm::append_range(all, group.parts);
  for (const Cache *cache : all) {
    bytes += cache->getWrittenBytes().value_or(0);
    former.push_back(cache->name.getValue());
  }
  if (bytes != group.type.getBytesPerToken())
    setWrittenBytes(module, former, group.name.getValue(), bytes);
}

/// Fails a cache whose rows no attention reads.
static void failUnread(Cache &cache) {
  for (const CacheTensor &tensor : cache.tensors)
    if (DenseAttentionOp reader = findReader(tensor.full))
      return cache.fail(reader.getLoc(),
                        "attention reads what is computed of its rows, and not them");
  cache.fail(cache.loc, "no attention of the module reads it");
}

static size_t countFailures(const CacheTensors &tensors) {
  return llvm::count_if(tensors.caches,
                        [](const auto &cache) { return cache.second.hasFailed(); });
}

static void report(const CacheTensors &tensors, const std::vector<FunctionPlan> &plans) {
  for (const auto &[name, cache] : tensors.caches) {
    auto options = remark::RemarkOpts::name("PagedCache").category(DEBUG_TYPE);
    if (cache.hasFailed())
      remark::missed(cache.failureLoc, options)
          << remark::reason("cache '{0}' not paged: {1}", name.getValue(), cache.failure);
    else if (cache.partOf)
      remark::passed(cache.loc, options)
          << llvm::formatv("cache '{0}' paged as a part of '{1}'", name.getValue(),
                           cache.partOf.getValue())
                 .str();
    else
      remark::passed(cache.loc, options)
          << llvm::formatv("cache '{0}' paged: {1} x {2} elements a token", name.getValue(),
                           cache.getHeads(), cache.getWidth())
                 .str();
    if (!cache.hasFailed() && cache.codes)
      for (unsigned place : cache.codes->arguments)
        remark::analysis(cache.loc, options)
            << llvm::formatv("argument {0}, which is no cache, is static scales or zero points "
                             "of cache '{1}': the caller writes them to its memory",
                             place, name.getValue())
                   .str();
  }
  for (const FunctionPlan &plan : plans)
    for (Operation &op : plan.function->function.getBody().front())
      if (auto rope = dyn_cast<DenseRopeOp>(&op))
        if (llvm::none_of(plan.ropes, [&](const PagedRope &paged) { return paged.op == rope; }))
          remark::missed(op.getLoc(),
                         remark::RemarkOpts::name("PagedRope").category(DEBUG_TYPE))
              << remark::reason("rope stays on tensors: {0}",
                                "it is not at the positions of the new tokens, one head after "
                                "the other");
}

void PageCachePass::runOnOperation() {
  ModuleOp module = getOperation();
  if (page < 1 || page > INT32_MAX) {
    module.emitError("expected a page of 1 to ")
        << INT32_MAX << " tokens, got " << page.getValue();
    return signalPassFailure();
  }
  for (auto function : module.getOps<func::FuncOp>())
    eraseDeadOps(function);
  CacheTensors tensors(module);
  Groups groups = makeGroups(tensors);
  nameGroups(groups, &getContext());
  for (auto &[name, cache] : tensors.caches)
    if (!cache.hasFailed() && cache.dims.empty())
      failUnread(cache);
  for (auto &group : groups) {
    spreadFailure(*group);
    if (!group->members.front()->hasFailed())
      makeType(*group, page, &getContext());
    spreadFailure(*group);
  }
  // A cache that stays may be what others need.
  std::vector<FunctionPlan> plans;
  for (size_t failures = 0, before = 1; failures != before;) {
    before = countFailures(tensors);
    plans = makePlans(tensors, groups);
    for (FunctionPlan &plan : plans)
      planNeeds(plan, tensors);
    for (auto &group : groups)
      spreadFailure(*group);
    failures = countFailures(tensors);
  }
  report(tensors, plans);
  for (FunctionPlan &plan : plans)
    pageFunction(plan);
  for (auto &group : groups)
    if (!group->members.front()->hasFailed())
      keepBytes(module, *group);
}
