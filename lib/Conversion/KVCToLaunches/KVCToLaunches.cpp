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
    if (op->hasAttr(kHostCodeAttr)) // a launch of it has its name
      continue;
    FailureOr<Kernel> kernel = readKernel(module, op);
    if (failed(kernel))
      return failure();
    kernels.push_back(*kernel);
  }
  return kernels;
}

/// Gives a function that launches a kernel of host code its body.
static void emitLaunch(ModuleOp module, LLVM::LLVMFuncOp launch) {
  StringRef kernel = launch->getAttrOfType<StringAttr>(kLaunchAttr).getValue();
  int32_t index = addProgramKernel(module, {kernel, kHostKernelThreads, /*sharedBytes=*/0});
  launch->removeAttr(kLaunchAttr);
  launch.setLinkage(LLVM::Linkage::Internal);
  OpBuilder b(launch);
  IntegerEmitter ints(b, launch.getLoc());
  ABIBuilder abi(b, launch.getLoc());
  Block *entry = launch.addEntryBlock(b);
  Block *body = b.createBlock(&launch.getBody()), *end = b.createBlock(&launch.getBody());
  LLVM::ReturnOp::create(b, ints.loc, ValueRange());
  b.setInsertionPointToStart(entry);
  auto toPointer = [&](Value address) -> Value {
    return LLVM::IntToPtrOp::create(b, ints.loc, ints.ptrType(), address);
  };
  Value context = toPointer(launch.getArgument(0));
  Value grid = LLVM::AllocaOp::create(b, ints.loc, ints.ptrType(), ints.i32Type(), ints.i32(3));
  Value isFine = ints.equal(abi.loadI32(context, offsetof(LaunchContext, status)),
                            ints.i32(KVC_STATUS_OK));
  LLVM::CondBrOp::create(b, ints.loc, isFine, body, end);
  b.setInsertionPointToStart(body);
  // Threads take several elements if there are more than a grid can have.
  Value blocks = ints.toI32(ints.min(launch.getArgument(1), ints.i64(INT32_MAX)));
  for (auto [dim, extent] : llvm::enumerate(SmallVector<Value>{blocks, ints.i32(1), ints.i32(1)}))
    abi.store(extent, grid, dim * sizeof(uint32_t));
  Value status = abi.callTable(
      abi.loadPtr(context, offsetof(LaunchContext, rt)), offsetof(kvc_rt_api_t, launch),
      ints.i32Type(),
      {abi.loadPtr(context, offsetof(LaunchContext, stream)),
       abi.loadPtr(context, offsetof(LaunchContext, program)), ints.i32(index), grid,
       LLVM::ZeroOp::create(b, ints.loc, ints.ptrType()), toPointer(launch.getArgument(2))});
  abi.store(status, context, offsetof(LaunchContext, status));
  LLVM::BrOp::create(b, ints.loc, ValueRange(), end);
}

void ConvertKVCToLaunchesPass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  FailureOr<SmallVector<LLVM::LLVMFuncOp>> libraries = takeHostCode(module, symbols);
  if (failed(libraries))
    return signalPassFailure();
  FailureOr<SmallVector<Kernel>> kernels = readKernels(module);
  if (failed(kernels))
    return signalPassFailure();
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
  if (failed(addLibraries(*libraries, symbols)))
    return signalPassFailure();
  SmallVector<LLVM::LLVMFuncOp> launches;
  for (auto op : module.getOps<LLVM::LLVMFuncOp>())
    if (op->hasAttr(kLaunchAttr))
      launches.push_back(op);
  for (LLVM::LLVMFuncOp launch : launches)
    emitLaunch(module, launch);
}
