//===- PlanTarget.cpp - processors that are built in ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/Planning.md says where the figures are from.
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

#include <thread>

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

/// An H100 or H200 in a module of the SXM form, which differ in their memory.
static TargetAttr getHopper(MLIRContext *context, StringRef name, double bandwidth) {
  Builder b(context);
  DictionaryAttr matrixRates =
      b.getDictionaryAttr({b.getNamedAttr("bf16", b.getF64FloatAttr(989.4e12)),
                           b.getNamedAttr("f16", b.getF64FloatAttr(989.4e12))});
  return TargetAttr::get(context, name, TargetKind::GPU, /*processors=*/132,
                         APFloat(bandwidth), matrixRates, /*f32_rate=*/APFloat(66.9e12),
                         /*cache=*/50 << 20, /*launch=*/APFloat(2.5e-6),
                         /*shared_per_block=*/227 << 10, /*shared_per_processor=*/228 << 10,
                         /*registers=*/65536);
}

/// The host's cores, and what one of the tier does at 3 GHz: two vector
/// instructions a cycle, one vdpbf16ps, or a sixteenth of a tdpbf16ps, whose tiles have 8 of
/// 16 rows.
static TargetAttr getHost(MLIRContext *context, CPUTier tier) {
  constexpr double kClock = 3e9, kCoreBandwidth = 16e9, kSocketBandwidth = 200e9;
  Builder b(context);
  int64_t cores = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 65536);
  // Without FMA, a multiplication and an addition are two instructions.
  double f32Rate = cores * kClock * 2 * getLanes(tier) * (tier == CPUTier::Plain ? 1 : 2);
  DictionaryAttr matrixRates;
  if (hasBF16(tier)) {
    double perClock = tier == CPUTier::AMX ? 2 * 8 * 16 * 32 / 16 : 2 * 2 * getLanes(tier);
    matrixRates = b.getDictionaryAttr(
        b.getNamedAttr("bf16", b.getF64FloatAttr(cores * kClock * perClock)));
  }
  return TargetAttr::get(context, "cpu", TargetKind::CPU, cores,
                         APFloat(std::min(cores * kCoreBandwidth, kSocketBandwidth)),
                         matrixRates, APFloat(f32Rate), /*cache=*/cores * (2 << 20),
                         /*launch=*/APFloat(0.0), 0, 0, 0);
}

TargetAttr plan::resolveTarget(ModuleOp module, StringRef name, CPUTier tier) {
  MLIRContext *context = module.getContext();
  auto given = module->getAttrOfType<TargetAttr>(kTargetName);
  if (given && (name.empty() || name == stringifyTargetKind(given.getKind()) ||
                name == given.getName()))
    return given;
  if (name == "h100_sxm" || name == "gpu" || name.empty())
    return getHopper(context, "h100_sxm", 3.35e12);
  if (name == "h200")
    return getHopper(context, "h200", 4.8e12);
  if (name == "cpu")
    return getHost(context, tier);
  InFlightDiagnostic diag = module.emitError("expected target h100_sxm, h200, gpu or cpu");
  if (given)
    diag << ", or " << given.getName() << " of '" << kTargetName << "'";
  diag << ", got '" << name << "'";
  return {};
}

std::optional<CPUTier> plan::resolveTier(StringRef name) {
  if (!name.empty())
    return symbolizeCPUTier(name);
  return selectCPUTier(llvm::sys::getHostCPUFeatures(), llvm::sys::getHostCPUName());
}
