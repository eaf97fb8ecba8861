//===- KVCToLaunches.cpp - the pass that generates launches ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

#include "kvc/Conversion/KVCToNVVM.h"
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

/// Reads what `op` says of itself as a kernel, and adds it to the program.
static FailureOr<Kernel> readKernel(ModuleOp module, LLVM::LLVMFuncOp op) {
  auto function = op->getAttrOfType<StringAttr>("kvc.function");
  auto kind = op->getAttrOfType<StringAttr>("kvc.kind");
  auto grid = op->getAttrOfType<DenseI32ArrayAttr>("kvc.grid");
  auto threads = op->getAttrOfType<IntegerAttr>("kvc.threads");
  auto sharedBytes = op->getAttrOfType<IntegerAttr>("kvc.shared_bytes");
  if (!function || !kind || !grid || grid.size() != 3 || !threads || !sharedBytes)
    return op.emitOpError("expected the attributes of a kernel that convert-kvc-to-nvvm "
                          "writes: kvc.function, kvc.kind, kvc.grid of three numbers, "
                          "kvc.threads, kvc.shared_bytes");
  Kernel kernel;
  kernel.function = function.getValue();
  kernel.kind = kind.getValue();
  llvm::copy(grid.asArrayRef(), kernel.grid);
  kernel.threads = threads.getInt();
  kernel.sharedBytes = sharedBytes.getInt();
  kernel.op = op;
  kernel.index = addProgramKernel(
      module, {op.getName(), static_cast<int32_t>(kernel.threads),
               static_cast<int32_t>(kernel.sharedBytes)});
  return kernel;
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
        *kernels, [&](const Kernel &kernel) { return kernel.function == function.getName(); });
    if (failed(LaunchFunction(function, index++, symbols, llvm::to_vector(own)).lower()))
      return signalPassFailure();
  }
  for (func::FuncOp function : functions)
    symbols.erase(function);
}
