//===- KVCToLaunches.cpp - the pass that generates launches ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#define DEBUG_TYPE "convert-kvc-to-launches"

namespace kvc {
#define GEN_PASS_DEF_CONVERTKVCTOLAUNCHESPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
struct ConvertKVCToLaunchesPass final
    : kvc::impl::ConvertKVCToLaunchesPassBase<ConvertKVCToLaunchesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Reads what `op` says of itself, and adds it to the program.
static FailureOr<Kernel> readKernel(ModuleOp module, LLVM::LLVMFuncOp op) {
  FailureOr<KernelDescription> description = getKernelDescription(op);
  if (failed(description))
    return failure();
  int32_t index = addProgramKernel(
      module, {op.getName(), description->threads, description->sharedBytes});
  return Kernel{*description, index, op};
}

/// The kernels of the gpu.module in their order.
static FailureOr<SmallVector<Kernel>> readKernels(ModuleOp module) {
  SmallVector<Kernel> kernels;
  auto device = module.lookupSymbol<gpu::GPUModuleOp>(kKernelModuleName);
  if (!device)
    return kernels;
  for (auto op : device.getOps<LLVM::LLVMFuncOp>()) {
    if (!op->hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) && !op->hasAttr("nvvm.kernel"))
      continue;
    FailureOr<Kernel> kernel = readKernel(module, op);
    if (failed(kernel))
      return failure();
    kernels.push_back(*kernel);
  }
  return kernels;
}

void ConvertKVCToLaunchesPass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<SmallVector<Kernel>> kernels = readKernels(module);
  if (failed(kernels))
    return signalPassFailure();
  SymbolTable symbols(module);
  if (Operation *op = symbols.lookup(kProgramSymbol); op && !isa<LLVM::LLVMFuncOp>(op)) {
    op->emitError("symbol '") << kProgramSymbol << "' is reserved for the program";
    return signalPassFailure();
  }
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  int64_t index = getProgramFunctions(module).size();
  for (func::FuncOp function : functions) {
    if (!function.isPublic())
      continue;
    auto own = llvm::make_filter_range(
        *kernels,
        [&](const Kernel &kernel) { return kernel.description.function == function.getName(); });
    if (failed(LaunchFunction(function, index++, symbols, llvm::to_vector(own)).lower()))
      return signalPassFailure();
  }
  for (func::FuncOp function : functions)
    symbols.erase(function);
}
