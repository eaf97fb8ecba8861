//===- Passes.td - passes on compiled device code ----------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TARGET_PTX_PASSES
#define KVC_TARGET_PTX_PASSES

include "mlir/Pass/PassBase.td"

def EmbedPTXPass : Pass<"kvc-embed-ptx", "::mlir::ModuleOp"> {
  let summary = "make the PTX of a module the image of its program";
  let description = [{
    Replaces the one `gpu.binary`, which `gpu-module-to-binary` makes, by the
    attribute `kvc.image` of the module, from which `-kvc-build-program` takes the
    device code. Text that calls a library is refused: the driver would not link it.
  }];
}

#endif // KVC_TARGET_PTX_PASSES
