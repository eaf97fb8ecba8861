//===- Plan.cpp - chooses how each attention is computed ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass: reads its options, and plans the attentions of a module one by one.
// Plan.h lists what it is made of.
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

#define DEBUG_TYPE "kvc-plan"

namespace kvc {
#define GEN_PASS_DEF_PLANPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

// Batches beyond are not planned for, and would take long to count or overflow.
static constexpr int64_t kMaxSplit = 1 << 24, kMaxBatch = 1 << 12, kMaxTokens = 1 << 20;
static constexpr int64_t kMaxPrefillBatch = 1 << 10, kMaxQueryTokens = 1 << 14;
/// Without an option: long enough on a CPU that parts cost nothing, and on a
/// GPU so short that the lengths of a batch can be cut evenly.
static constexpr int64_t kCPUSplit = 4096, kGPUSplit = 256;
/// Bytes of the cache that a work item of a GPU may have for more keys than that: beside
/// them, what each of its warps reads (the item, page ids) and its cluster (the query)
/// should be little.
static constexpr int64_t kGPUItemBytes = 64 * 1024;

namespace {
struct PlanPass final : kvc::impl::PlanPassBase<PlanPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult readOptions();
  bool isGPU() const { return processor.getKind() == TargetKind::GPU; }
  /// Keys that schedules are split at, or a multiple of.
  int64_t splitOf(AttentionOp op) const;
  Problem problemOf(AttentionOp op, Phase phase) const;
  /// Plan an attention that has no schedule, and report to `os` if there is
  /// one.
  void planOnCPU(AttentionOp op, raw_ostream *os) const;
  void planOnGPU(AttentionOp op, raw_ostream *os) const;
  void reportGiven(AttentionOp op, GPUScheduleAttr schedule, Type element,
                   raw_ostream &os) const;

  CPUTier cpuTier = CPUTier::Plain;
  TargetAttr processor;
  AllowedForms allowedDecode, allowedPrefill;
};
} // namespace

/// `target` with another bandwidth.
static TargetAttr withBandwidth(TargetAttr target, double bandwidth) {
  return TargetAttr::get(target.getContext(), target.getName(), target.getKind(),
                         target.getProcessors(), APFloat(bandwidth), target.getMatrixRates(),
                         target.getF32Rate(), target.getCache(), target.getLaunch(),
                         target.getSharedPerBlock(), target.getSharedPerProcessor(),
                         target.getRegisters());
}

LogicalResult PlanPass::readOptions() {
  ModuleOp module = getOperation();
  auto emitError = [&] { return module.emitError(); };
  auto check = [&](StringRef what, StringRef unit, int64_t value, int64_t most) {
    if (value >= 1 && value <= most)
      return success();
    return LogicalResult(emitError() << "expected " << what << " of 1 to " << most << " "
                                     << unit << ", got " << value);
  };
  std::optional<CPUTier> parsed = resolveTier(tier);
  if (!parsed)
    return emitError()
           << "expected tier 'amx', 'avx512_bf16', 'avx512', 'avx2' or 'plain', got '" << tier
           << "'";
  cpuTier = *parsed;
  processor = resolveTarget(module, target, cpuTier);
  if (!processor)
    return failure();
  if (!(bandwidth >= 0 && bandwidth <= 1e18))
    return emitError() << "expected a bandwidth up to 1e18 bytes a second, got "
                       << bandwidth.getValue();
  if (bandwidth > 0)
    processor = withBandwidth(processor, bandwidth);

  FailureOr<AllowedForms> decode = parseForms(forms, emitError);
  if (failed(decode))
    return failure();
  FailureOr<AllowedForms> prefill = parseForms(prefillForms, emitError);
  if (failed(prefill))
    return failure();
  allowedDecode = *decode, allowedPrefill = *prefill;

  if (!llvm::is_contained({1, 2, 4, 8}, int64_t(cluster)))
    return emitError() << "expected a cluster of 1, 2, 4 or 8 thread blocks, got "
                       << cluster.getValue();
  return success(
      (split == 0 || succeeded(check("a split", "keys", split, kMaxSplit))) &&
      succeeded(check("a batch", "sequences", batch, kMaxBatch)) &&
      succeeded(check("a kv-len", "tokens", kvLen, kMaxTokens)) &&
      succeeded(check("a prefill-batch", "sequences", prefillBatch, kMaxPrefillBatch)) &&
      succeeded(check("a q-len", "tokens", qLen, kMaxQueryTokens)));
}

int64_t PlanPass::splitOf(AttentionOp op) const {
  if (split != 0)
    return split;
  if (!isGPU())
    return kCPUSplit;
  int64_t tokenBytes = problemOf(op, Phase::Decode).tokenBytes;
  return std::max<int64_t>(kGPUSplit, llvm::bit_floor<uint64_t>(kGPUItemBytes / tokenBytes));
}

Problem PlanPass::problemOf(AttentionOp op, Phase phase) const {
  Batch decode = {batch, 1, kvLen}, prefill = {prefillBatch, qLen, qLen};
  return getProblem(op, phase, phase == Phase::Decode ? decode : prefill);
}

void PlanPass::planOnCPU(AttentionOp op, raw_ostream *os) const {
  bool isGiven = static_cast<bool>(op.getScheduleAttr());
  if (!isGiven)
    op.setScheduleAttr(planCPU(op, cpuTier, splitOf(op)));
  auto schedule = dyn_cast<CPUScheduleAttr>(op.getScheduleAttr());
  if (!os || !schedule)
    return;
  for (Phase phase : {Phase::Decode, Phase::Prefill})
    printCPUReport(*os, op, problemOf(op, phase), processor, schedule, isGiven);
}

void PlanPass::reportGiven(AttentionOp op, GPUScheduleAttr schedule, Type element,
                           raw_ostream &os) const {
  for (Phase phase : {Phase::Decode, Phase::Prefill}) {
    GPUStreamAttr stream =
        phase == Phase::Decode ? schedule.getDecode() : schedule.getPrefill();
    Problem problem = problemOf(op, phase);
    GPUCost cost = getGPUCost(problem, stream, schedule.getSplit(), element, processor);
    printGPUReport(os, op, problem, processor, Candidate{stream, cost},
                   /*given=*/true);
  }
}

/// Says what keeps the best candidate of each form from running, if all are kept.
static std::string describeMisfit(StringRef phase, ArrayRef<Candidate> candidates) {
  std::string text = ("no candidate for " + phase + " fits").str();
  SmallVector<StreamForm> seen;
  for (const Candidate &candidate : candidates) {
    StreamForm form = candidate.stream.getForm();
    if (llvm::is_contained(seen, form))
      continue;
    text += (seen.empty() ? ": " : "; ") + stringifyStreamForm(form).str() + " " +
            candidate.cost.misfit;
    seen.push_back(form);
  }
  return text;
}

void PlanPass::planOnGPU(AttentionOp op, raw_ostream *os) const {
  auto keepUnplanned = [&](const std::string &why) {
    remark::missed(op.getLoc(), remark::RemarkOpts::name("Plan").category(DEBUG_TYPE))
        << remark::reason("no schedule for {0}: {1}", processor.getName(), why);
  };
  auto given = dyn_cast_or_null<GPUScheduleAttr>(op.getScheduleAttr());
  if (op.getScheduleAttr() && !given)
    return;
  Type element = getMatrixElement(op, processor);
  if (!element)
    return keepUnplanned("queries, cache and output are not all of one type that its matrix "
                         "units take");
  if (given) {
    if (os)
      reportGiven(op, given, element, *os);
    return;
  }

  GPUStreamAttr streams[2];
  for (Phase phase : {Phase::Decode, Phase::Prefill}) {
    bool isDecode = phase == Phase::Decode;
    Problem problem = problemOf(op, phase);
    SmallVector<Candidate> candidates = rankStreams(
        problem, isDecode ? allowedDecode : allowedPrefill, splitOf(op), element, processor);
    if (os)
      printGPUReport(*os, op, problem, processor, candidates, /*given=*/false);
    if (candidates.empty() || !candidates.front().cost.misfit.empty())
      return keepUnplanned(describeMisfit(isDecode ? "decode" : "prefill", candidates));
    streams[!isDecode] = candidates.front().stream;
  }
  bool merges = streams[0].getForm() != StreamForm::Rows;
  int64_t tiles = std::lcm(streams[0].getKeys(), streams[1].getKeys());
  op.setScheduleAttr(GPUScheduleAttr::get(op.getContext(), streams[0], streams[1],
                                          llvm::alignTo(splitOf(op), tiles),
                                          merges ? int64_t(cluster) : 1));
}

void PlanPass::runOnOperation() {
  if (failed(readOptions()))
    return signalPassFailure();
  std::string text;
  llvm::raw_string_ostream os(text);
  getOperation().walk([&](AttentionOp op) {
    if (isGPU())
      planOnGPU(op, print ? &os : nullptr);
    else
      planOnCPU(op, print ? &os : nullptr);
  });
  llvm::errs() << text;
}
