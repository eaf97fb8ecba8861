//===- CPUTarget.cpp - the processor that code is for ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/LLVM/CPUTarget.h"

#include "kvc/Support/TilePermission.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace kvc;

/// Features of the host that the system lets this process use; found once.
static const llvm::StringMap<bool> &getHostFeatures() {
  static const llvm::StringMap<bool> features = [] {
    llvm::StringMap<bool> result;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      result[feature.getKey()] = feature.getValue();
    if (result.lookup("amx-tile") && !requestTiles())
      for (auto &feature : result)
        if (feature.getKey().starts_with("amx"))
          feature.setValue(false);
    return result;
  }();
  return features;
}

/// The host's features as a feature string, those that it lacks included: a
/// virtual machine may lack what the processor's name promises.
static std::string getHostFeatureString() {
  SmallVector<std::string> features;
  for (const auto &feature : getHostFeatures())
    features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  llvm::sort(features);
  return llvm::join(features, ",");
}

static std::string joinFeatures(ArrayRef<StringRef> parts) {
  SmallVector<StringRef> used;
  llvm::copy_if(parts, std::back_inserter(used), [](StringRef part) { return !part.empty(); });
  return llvm::join(used, ",");
}

/// LLVM's knowledge of a processor, or null for a foreign triple.
static std::unique_ptr<llvm::MCSubtargetInfo>
createSubtarget(StringRef triple, StringRef cpu, StringRef features) {
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target->createMCSubtargetInfo(llvm::Triple(triple), cpu, features));
}

/// LLVM prints unknown names to stderr and goes on without them.
static LogicalResult checkNames(const llvm::MCSubtargetInfo &known, StringRef cpu,
                                StringRef features, EmitErrorFn emitError) {
  if (!cpu.empty() && !known.isCPUStringValid(cpu))
    return emitError() << "expected cpu to be a processor of "
                       << known.getTargetTriple().getArchName() << " known to LLVM, got '"
                       << cpu << "'";
  SmallVector<StringRef> parts;
  features.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef name = part.drop_front();
    if (!part.starts_with("+") && !part.starts_with("-"))
      return emitError() << "expected features such as '+avx2,-fma', got '" << part << "'";
    if (llvm::none_of(known.getAllProcessorFeatures(),
                      [&](const auto &feature) { return name == feature.Key; }))
      return emitError() << "expected a feature known to LLVM, got '" << name << "'";
  }
  return success();
}

static llvm::StringMap<bool> getEnabledFeatures(const llvm::MCSubtargetInfo &subtarget) {
  llvm::StringMap<bool> enabled;
  for (const llvm::SubtargetFeatureKV &feature : subtarget.getEnabledProcessorFeatures())
    enabled[feature.Key] = true;
  return enabled;
}

/// The features of `tier` that are not enabled.
static SmallVector<StringRef> getMissing(CPUTier tier, const llvm::StringMap<bool> &enabled) {
  SmallVector<StringRef> needed, missing;
  getCPUTierFeatures(tier).split(needed, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef feature : needed)
    if (!enabled.lookup(feature.drop_front()))
      missing.push_back(feature.drop_front());
  return missing;
}

FailureOr<CPUTarget> kvc::resolveCPUTarget(StringRef tier, StringRef cpu, StringRef features,
                                           EmitErrorFn emitError) {
  static const bool isInitialized =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  CPUTarget result;
  result.triple = llvm::sys::getProcessTriple();
  auto known = createSubtarget(result.triple, "", "");
  if (!isInitialized || !known)
    return emitError() << "LLVM was built without a code generator for " << result.triple;
  if (failed(checkNames(*known, cpu, features, emitError)))
    return failure();

  std::optional<CPUTier> givenTier = symbolizeCPUTier(tier);
  if (!tier.empty() && !givenTier)
    return emitError() << "expected tier to be amx, avx512_bf16, avx512, avx2 or plain, got '"
                       << tier << "'";
  bool isX86 = llvm::Triple(result.triple).isX86();
  if (givenTier && *givenTier != CPUTier::Plain && !isX86)
    return emitError() << "tier '" << tier << "' needs an x86-64 processor, this one is "
                       << known->getTargetTriple().getArchName();

  bool isHost = cpu.empty() && tier.empty();
  if (isHost)
    result.cpu = llvm::sys::getHostCPUName();
  else
    result.cpu = !cpu.empty() ? cpu : isX86 ? "x86-64" : "generic";
  std::string hostFeatures = isHost ? getHostFeatureString() : "";
  StringRef tierFeatures = givenTier ? getCPUTierFeatures(*givenTier) : "";
  result.features = joinFeatures({hostFeatures, tierFeatures, features});

  auto subtarget = createSubtarget(result.triple, result.cpu, result.features);
  llvm::StringMap<bool> enabled = getEnabledFeatures(*subtarget);
  result.tier = givenTier ? *givenTier : selectCPUTier(enabled, result.cpu);
  if (SmallVector<StringRef> missing = getMissing(result.tier, enabled); !missing.empty())
    return emitError() << "features '" << features << "' take away " << llvm::join(missing, ", ")
                       << ", which tier '" << stringifyCPUTier(result.tier) << "' needs";
  return result;
}

LogicalResult kvc::checkRunsOnHost(const CPUTarget &target, EmitErrorFn emitError) {
  auto subtarget = createSubtarget(target.triple, target.cpu, target.features);
  SmallVector<StringRef> missing;
  for (const llvm::SubtargetFeatureKV &feature : subtarget->getEnabledProcessorFeatures()) {
    // What is not in the host's list only tunes the code.
    auto host = getHostFeatures().find(feature.Key);
    if (host != getHostFeatures().end() && !host->getValue())
      missing.push_back(feature.Key);
  }
  if (missing.empty())
    return success();
  return emitError() << "this processor cannot run code for tier '"
                     << stringifyCPUTier(target.tier) << "' and cpu '" << target.cpu
                     << "': it lacks " << llvm::join(missing, ", ");
}
