//===- KVTileDialect.td - the kvtile dialect ---------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVTILE_DIALECT
#define KVTILE_DIALECT

include "mlir/IR/OpBase.td"

def KVTile_Dialect : Dialect {
  let name = "kvtile";
  let cppNamespace = "::kvc::kvtile";
  let summary = "GPU kernels as programs on tiles";
  let description = [{
    A kernel is what one thread block does: it takes work items and holds tiles of
    rows in registers while tiles of the cache stream past in shared memory. It
    knows tiles, key ranges and pages; no operation of the kvc dialect.

    * A *tile* is an immutable matrix in the registers of a thread block, a *vec*
      one value for each of its rows or columns, a *slot* a matrix in shared memory.
    * A *layout* says which thread holds which element of a tile. It is named, not
      computed: see `#kvtile.layout`.
    * `kvtile.stream` is the one loop over the cache. What it copies (`lookup`,
      `produce`) and what it computes (`consume`) are apart, so that a pass can let
      the copies run ahead.

    The levels of a kernel, each a pass: tiles without layouts
    (`convert-kvc-to-kvtile`), with layouts (`kvtile-assign-layouts`), with a
    pipelined loop (`kvtile-pipeline-copies`), the nvvm dialect
    (`convert-kvtile-to-nvvm`).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // KVTILE_DIALECT
