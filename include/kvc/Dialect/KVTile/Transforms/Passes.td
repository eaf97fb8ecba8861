//===- Passes.td - passes on the kvtile dialect ------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVTILE_TRANSFORMS_PASSES
#define KVTILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayoutsPass : Pass<"kvtile-assign-layouts", "::kvc::kvtile::KernelOp"> {
  let summary = "say which thread holds which element of each tile";
  let description = [{
    Gives every tile, vec and slot that has none a layout, for the form of the kernel's
    schedule (`form` of kvtile.finish, warps from `threads`):

    | form | scores | probabilities | sums | query |
    | --- | --- | --- | --- | --- |
    | heads_m | mma_c, 1xW | mma_a, 1xW | mma_c, 1x1 | mma_a, 1x1, or a slot |
    | tokens_m | mma_c, Wx1 | mma_b, Wx1 | mma_c, 1x1 | mma_b, 1x1 |
    | rows | mma_c, Wx1 | mma_a, Wx1 | mma_c, Wx1 | mma_a, Wx1, or a slot |
    | columns | mma_c, 1xW | a slot | mma_c, 1xW | a slot |

    Sums are what is carried from tile to tile, scores what comes of a product with the
    query. Slots are swizzled.
  }];
}

def PipelineCopiesPass : Pass<"kvtile-pipeline-copies", "::kvc::kvtile::KernelOp"> {
  let summary = "let the copies of kvtile.stream run ahead";
  let description = [{
    Replaces each kvtile.stream by a loop in which tile i + stages - 1 is copied while
    tile i is consumed, and page ids are looked up one tile before that: a prologue
    that starts the first copies, then for each tile: wait for its copies, a barrier
    (after which no warp reads the slots of the tile before any more: they are filled
    next), the next copies, the next ids, and what consume does.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

#endif // KVTILE_TRANSFORMS_PASSES
