//===- PlanGPU.cpp - schedules of attention on the GPU --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "kvc-plan-gpu"

namespace kvc {
#define GEN_PASS_DEF_PLANGPUPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
struct PlanGPUPass final : kvc::impl::PlanGPUPassBase<PlanGPUPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

// Three stages of 64 keys: 96 KiB for 128 columns of 16 bit, so that two thread
// blocks share a multiprocessor, each with two tiles in flight.
static constexpr int64_t kKeys = 64;
static constexpr int64_t kStages = 3;
static constexpr int64_t kWarps = 4;

void PlanGPUPass::runOnOperation() {
  if (split < 1 || split > (1 << 24)) {
    getOperation().emitError("expected a split of 1 to 16777216 keys, got ") << split.getValue();
    return signalPassFailure();
  }
  auto decode = GPUStreamAttr::get(&getContext(), StreamForm::HeadsM, /*rows=*/16, kKeys, kStages,
                                   kWarps, /*queryTokens=*/1);
  auto schedule = GPUScheduleAttr::get(&getContext(), decode, decode,
                                       llvm::alignTo(split, kKeys));
  getOperation().walk([&](AttentionOp op) {
    if (!op.getSchedule())
      op.setScheduleAttr(schedule);
  });
}
