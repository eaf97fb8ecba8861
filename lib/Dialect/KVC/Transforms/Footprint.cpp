//===- Footprint.cpp - what the caches of a module take -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CacheTensors.h"
#include "WrittenBytes.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "kvc-footprint"

namespace kvc {
#define GEN_PASS_DEF_FOOTPRINTPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// One cache of a layer.
struct Line {
  std::string name;
  Location loc;
  int64_t before, after; ///< Bytes of a token.
};

struct FootprintPass final : kvc::impl::FootprintPassBase<FootprintPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool checkOptions();
  void print(ArrayRef<Line> lines, const Line &sum, int64_t total);
};
} // namespace

static std::string getRatio(const Line &line) {
  return llvm::formatv("{0:F2}x", line.after == 0 ? 1.0 : double(line.before) / line.after);
}

/// Caches in pages. Those of one name are one; those without, those that come at the same
/// place among such of their functions.
static void addPaged(ModuleOp module, SmallVector<Line> &lines) {
  llvm::MapVector<StringRef, Line> byName;
  for (auto function : module.getOps<func::FuncOp>()) {
    unsigned unnamed = 0;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto cache = dyn_cast<CacheType>(type);
      if (!cache)
        continue;
      auto name = function.getArgAttrOfType<StringAttr>(index, kCacheName);
      if (!name)
        name = StringAttr::get(module.getContext(), "cache " + Twine(unnamed++));
      int64_t bytes = cache.getBytesPerToken();
      int64_t before = kvc::getWrittenBytes(module, name.getValue()).value_or(bytes);
      byName.try_emplace(name.getValue(), Line{name.str(), function.getLoc(), before, bytes});
    }
  }
  for (auto &[name, line] : byName)
    lines.push_back(line);
}

/// Caches that are tensors.
static void addTensors(ModuleOp module, SmallVector<Line> &lines) {
  CacheTensors tensors(module);
  for (const auto &[name, cache] : tensors.caches) {
    std::optional<int64_t> bytes = cache.getBytes();
    if (!bytes) {
      remark::missed(cache.loc, remark::RemarkOpts::name("Footprint").category(DEBUG_TYPE))
          << remark::reason("footprint of cache '{0}' not known: no dimension of {1} is known "
                            "to count tokens",
                            name.getValue(), llvm::formatv("{0}", cache.type).str());
      continue;
    }
    lines.push_back({name.str(), cache.loc, *cache.getWrittenBytes(), *bytes});
  }
}

bool FootprintPass::checkOptions() {
  for (auto [name, value] : {std::pair(StringRef("tokens"), tokens.getValue()),
                             std::pair(StringRef("batch"), batch.getValue()),
                             std::pair(StringRef("layers"), layers.getValue())})
    if (value < 1) {
      getOperation().emitError("expected ") << name << " to be at least 1, got " << value;
      return false;
    }
  return true;
}

void FootprintPass::print(ArrayRef<Line> lines, const Line &sum, int64_t total) {
  size_t width = sum.name.size();
  for (const Line &line : lines)
    width = std::max(width, line.name.size());
  std::string text;
  llvm::raw_string_ostream os(text);
  auto pad = [&](StringRef name) { return llvm::left_justify(name, width); };
  os << "kvc-footprint: bytes of a token\n"
     << llvm::formatv("  {0} {1,12} {2,12} {3,9}\n", pad("cache"), "before", "after", "ratio");
  auto add = [&](const Line &line) {
    os << llvm::formatv("  {0} {1,12} {2,12} {3,9}\n", pad(line.name), line.before, line.after,
                        getRatio(line));
  };
  for (const Line &line : lines)
    add(line);
  if (lines.size() > 1)
    add(sum);
  os << llvm::formatv("  {0} bytes in all: {1} sequences x {2} tokens x {3} layers\n", total,
                      batch.getValue(), tokens.getValue(), layers.getValue());
  llvm::errs() << text;
}

void FootprintPass::runOnOperation() {
  ModuleOp module = getOperation();
  markAllAnalysesPreserved();
  if (!checkOptions())
    return signalPassFailure();
  SmallVector<Line> lines;
  addPaged(module, lines);
  addTensors(module, lines);

  Line sum{"all caches", module.getLoc(), 0, 0};
  bool isTooLarge = false;
  for (const Line &line : lines) {
    isTooLarge |= llvm::AddOverflow(sum.before, line.before, sum.before) ||
                  llvm::AddOverflow(sum.after, line.after, sum.after);
    remark::analysis(line.loc, remark::RemarkOpts::name("Footprint").category(DEBUG_TYPE))
        << llvm::formatv("cache '{0}': {1} bytes a token, {2} as written, {3}", line.name,
                         line.after, line.before, getRatio(line))
               .str();
  }
  int64_t total = sum.after;
  for (int64_t factor : {batch.getValue(), tokens.getValue(), layers.getValue()})
    isTooLarge = isTooLarge || llvm::MulOverflow(total, factor, total);
  if (isTooLarge) {
    module.emitError("expected caches of less than 2^63 bytes in all");
    return signalPassFailure();
  }
  remark::analysis(module.getLoc(), remark::RemarkOpts::name("Footprint").category(DEBUG_TYPE))
      << llvm::formatv("all caches: {0} bytes, of {1} sequences x {2} tokens x {3} layers",
                       total, batch.getValue(), tokens.getValue(), layers.getValue())
             .str();
  if (printTable)
    print(lines, sum, total);
}
