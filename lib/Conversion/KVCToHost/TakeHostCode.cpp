//===- TakeHostCode.cpp - host code as part of a program ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostCode.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace kvc;

/// Moves kernels, and what they need, to the module's gpu.module of the same name.
static void takeKernels(gpu::GPUModuleOp kernels, ModuleOp module, SymbolTable &symbols) {
  auto target = symbols.lookup<gpu::GPUModuleOp>(kernels.getName());
  if (!target) {
    kernels->remove();
    symbols.insert(kernels);
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    UnitAttr::get(module.getContext()));
    return;
  }
  SymbolTable targetSymbols(target), ownSymbols(kernels);
  for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
    // Kernels have names of their own: those of parts.
    if (targetSymbols.lookup(SymbolTable::getSymbolName(&op)))
      (void)ownSymbols.renameToUnique(&op, {&targetSymbols});
    op.remove();
    targetSymbols.insert(&op);
  }
  kernels.erase();
}

/// Moves what host code became beside the functions that call it. Returns functions of
/// other libraries, whose names are to be kept, and which wait until the functions of
/// the module, of any name, are gone.
FailureOr<SmallVector<LLVM::LLVMFuncOp>> kvc::takeHostCode(ModuleOp module,
                                                           SymbolTable &symbols) {
  SmallVector<LLVM::LLVMFuncOp> libraries;
  for (auto nested : llvm::make_early_inc_range(module.getOps<ModuleOp>())) {
    if (!nested->hasAttr(kHostCodeAttr)) {
      nested.emitOpError("expected no module inside of the module but that of host code");
      return failure();
    }
    SymbolTable nestedSymbols(nested);
    for (Operation &op : llvm::make_early_inc_range(*nested.getBody())) {
      if (auto kernels = dyn_cast<gpu::GPUModuleOp>(op)) {
        takeKernels(kernels, module, symbols);
        continue;
      }
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (!function && !isa<LLVM::GlobalOp>(op)) {
        op.emitError("expected host code in the LLVM dialect, got '") << op.getName() << "'";
        return failure();
      }
      if (function && function.isExternal() && !function->hasAttr(kLaunchAttr)) {
        libraries.push_back(function);
        function->remove();
        continue;
      }
      if (function)
        function.setPassthroughAttr(ArrayAttr::get(
            op.getContext(), StringAttr::get(op.getContext(), kHostCodeFunctionAttr)));
      StringAttr name = SymbolTable::getSymbolName(&op);
      if (auto declaration = dyn_cast_or_null<func::FuncOp>(symbols.lookup(name));
          declaration && declaration.isExternal() && function)
        symbols.erase(declaration);
      else if (symbols.lookup(name) && failed(nestedSymbols.renameToUnique(&op, {&symbols})))
        return failure();
      op.remove();
      symbols.insert(&op);
    }
    nested.erase();
  }
  return libraries;
}

/// Adds declarations of functions of libraries.
LogicalResult kvc::addLibraries(ArrayRef<LLVM::LLVMFuncOp> libraries, SymbolTable &symbols) {
  for (LLVM::LLVMFuncOp function : libraries) {
    auto known = symbols.lookup<LLVM::LLVMFuncOp>(function.getName());
    if (!known && !symbols.lookup(function.getName())) {
      symbols.insert(function);
      continue;
    }
    if (!known || known.getFunctionType() != function.getFunctionType())
      return symbols.lookup(function.getName())->emitError("symbol '")
             << function.getName() << "' is that of a library";
    function.erase();
  }
  return success();
}
