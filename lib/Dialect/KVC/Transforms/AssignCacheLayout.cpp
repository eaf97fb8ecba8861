//===- AssignCacheLayout.cpp - physical layout of cache components --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses one layout for each component of each cache type of a module. All
// functions share the pool, so the choice is made for the type, not the value.
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/MatrixTiles.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "kvc-assign-cache-layout"

namespace kvc {
#define GEN_PASS_DEF_ASSIGNCACHELAYOUTPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// How the functions of a module use the caches of one type.
struct CacheUse {
  Location loc;
  llvm::StringSet<> keys, values;
  bool foreign = false; ///< Made from somebody else's buffers.
  bool paired = true;   ///< Its queries are bf16 alone.
  bool tiled = true;    ///< Tiles take its products in decode.
};

struct AssignCacheLayoutPass final
    : kvc::impl::AssignCacheLayoutPassBase<AssignCacheLayoutPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

static bool isBF16(AttentionOp op) {
  return llvm::all_of(op.getQueries(),
                      [](Value query) { return getElementTypeOrSelf(query).isBF16(); });
}

static llvm::MapVector<CacheType, CacheUse> collectUses(ModuleOp module) {
  llvm::MapVector<CacheType, CacheUse> uses;
  auto useOf = [&](Value cache) -> CacheUse & {
    return uses.try_emplace(cast<CacheType>(cache.getType()), CacheUse{cache.getLoc(), {}, {}})
        .first->second;
  };
  module.walk([&](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      CacheUse &use = useOf(attention.getCache());
      for (StringAttr name : attention.getComponents().getAsRange<StringAttr>())
        use.keys.insert(name.getValue());
      use.values.insert(attention.getValue());
      use.paired &= isBF16(attention);
      use.tiled &= takesTiles(attention, attention.getGroup());
    } else if (auto append = dyn_cast<AppendOp>(op)) {
      useOf(append.getCache());
    } else if (auto foreign = dyn_cast<CacheFromBuffersOp>(op)) {
      useOf(foreign.getCache()).foreign = true;
    }
  });
  return uses;
}

/// The packed layout for a component, or row-major with the reason in `why`.
static Layout choosePacked(CacheType type, ComponentAttr component, const CacheUse &use,
                           bool lanes, StringRef &why) {
  if (component.getLayout() != Layout::RowMajor)
    return component.getLayout();
  StringRef name = component.getName().getValue();
  bool isKey = use.keys.contains(name), isValue = use.values.contains(name);
  if (use.foreign)
    why = "the cache lies in buffers of the caller";
  else if (type.getPageSize() % kPackedTokens != 0)
    why = "the page size is not a multiple of 16";
  else if (isKey && isValue)
    why = "the component is both key and value";
  else if (!isKey && !isValue)
    why = "no attention of the module reads the component";
  if (!why.empty())
    return Layout::RowMajor;
  if (lanes && isQuantized(component.getElementType()))
    return isKey ? Layout::LaneKey : Layout::RowMajor;
  return isKey ? Layout::PackedKey : Layout::PackedValue;
}

void AssignCacheLayoutPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (layout != "packed" && layout != "row_major") {
    module.emitError("expected layout 'packed' or 'row_major', got '") << layout << "'";
    return signalPassFailure();
  }
  if (codes != "pairs" && codes != "tiles" && codes != "lanes") {
    module.emitError("expected codes 'pairs', 'tiles' or 'lanes', got '") << codes << "'";
    return signalPassFailure();
  }

  DenseMap<Type, Type> assigned;
  for (auto &[type, use] : collectUses(module)) {
    SmallVector<ComponentAttr> components;
    for (ComponentAttr component : type.getComponents()) {
      Layout chosen = Layout::RowMajor;
      if (layout == "packed") {
        StringRef why;
        bool lanes = codes == "lanes" || (codes == "tiles" ? !use.tiled : !use.paired);
        chosen = choosePacked(type, component, use, lanes, why);
        if (!why.empty())
          remark::missed(use.loc, remark::RemarkOpts::name("PackedLayout").category(DEBUG_TYPE))
              << remark::reason("component '{0}' stays row-major: {1}",
                                component.getName().getValue(), why);
      }
      components.push_back(ComponentAttr::get(&getContext(), component.getName(),
                                              component.getHeads(), component.getWidth(),
                                              component.getElementType(), chosen,
                                              component.getScale()));
    }
    assigned[type] = CacheType::get(&getContext(), type.getPageSize(), components);
  }

  AttrTypeReplacer replacer;
  replacer.addReplacement([&](CacheType type) -> std::optional<Type> {
    auto it = assigned.find(type);
    return it == assigned.end() ? std::nullopt : std::optional<Type>(it->second);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}
