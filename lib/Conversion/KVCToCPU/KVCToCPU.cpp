//===- KVCToCPU.cpp - the pass that generates CPU code --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"

#include "HostFunction.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#define DEBUG_TYPE "convert-kvc-to-cpu"

namespace kvc {
#define GEN_PASS_DEF_CONVERTKVCTOCPUPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
struct ConvertKVCToCPUPass final : kvc::impl::ConvertKVCToCPUPassBase<ConvertKVCToCPUPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Replaces tanh by upstream's approximation: a call of libm for each element would
/// dominate an attention with a softcap.
static void approximateTanh(ModuleOp module, CPUTier tier) {
  RewritePatternSet patterns(module.getContext());
  populatePolynomialApproximateTanhPattern(patterns);
  walkAndApplyPatterns(module, std::move(patterns));
  if (tier != CPUTier::Plain)
    return;
  // Without FMA, a fused multiply-add is a call as well.
  SmallVector<math::FmaOp> fused;
  module.walk([&](math::FmaOp op) { fused.push_back(op); });
  for (math::FmaOp op : fused) {
    OpBuilder b(op);
    Value product = arith::MulFOp::create(b, op.getLoc(), op.getA(), op.getB());
    op.replaceAllUsesWith(
        arith::AddFOp::create(b, op.getLoc(), product, op.getC()).getResult());
    op.erase();
  }
}

void ConvertKVCToCPUPass::runOnOperation() {
  ModuleOp module = getOperation();
  std::optional<CPUTier> parsed = symbolizeCPUTier(tier);
  if (!parsed) {
    module.emitError("expected tier 'amx', 'avx512_bf16', 'avx512', 'avx2' or 'plain', got '")
        << tier << "'";
    return signalPassFailure();
  }
  SymbolTable symbols(module);
  if (Operation *op = symbols.lookup(kProgramSymbol); op && !isa<LLVM::LLVMFuncOp>(op)) {
    op->emitError("symbol '") << kProgramSymbol << "' is reserved for the program";
    return signalPassFailure();
  }
  FailureOr<SmallVector<LLVM::LLVMFuncOp>> libraries = takeHostCode(module, symbols);
  if (failed(libraries))
    return signalPassFailure();
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  int64_t index = getProgramFunctions(module).size();
  for (func::FuncOp function : functions) {
    if (function.isExternal()) {
      function.emitOpError("expected a body, got a declaration");
      return signalPassFailure();
    }
    // Calls have no lowering, so that a private function is one that nobody needs.
    if (function.isPublic() &&
        failed(HostFunction(function, index++, *parsed, symbols).lower()))
      return signalPassFailure();
  }
  for (func::FuncOp function : functions)
    symbols.erase(function);
  if (failed(addLibraries(*libraries, symbols)))
    return signalPassFailure();
  approximateTanh(module, *parsed);
}
