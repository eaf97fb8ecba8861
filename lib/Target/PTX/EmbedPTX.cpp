//===- EmbedPTX.cpp - PTX as the image of a program -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/PTX/Passes.h"

#include "kvc/Conversion/HostABI.h"
#include "kvc/Target/PTX/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#define DEBUG_TYPE "kvc-embed-ptx"

namespace kvc {
#define GEN_PASS_DEF_EMBEDPTXPASS
#include "kvc/Target/PTX/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
struct EmbedPTXPass final : kvc::impl::EmbedPTXPassBase<EmbedPTXPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void EmbedPTXPass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<std::string> text = getPTX(module);
  if (failed(text))
    return signalPassFailure();
  auto binary = *module.getOps<gpu::BinaryOp>().begin();
  // No other target is registered.
  auto target = cast<NVVM::NVVMTargetAttr>(
      cast<gpu::ObjectAttr>(binary.getObjects()[0]).getTarget());
  setProgramImage(module, {target.getChip(), *text});
  binary.erase();
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
}
