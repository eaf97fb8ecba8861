//===- KVCDialect.td - the kvc dialect ---------------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT
#define KVC_DIALECT

include "mlir/IR/OpBase.td"

def KVC_Dialect : Dialect {
  let name = "kvc";
  let cppNamespace = "::kvc";
  let summary = "attention over a paged key-value cache";
  let description = [{
    Says what to compute: caches with named components, ragged batches, append,
    attention, and how partial results merge. It knows nothing of tiles, threads
    or targets.

    A cache is a *reference*: `kvc.append` writes it and `kvc.attention` reads
    it, as memory effects on that operand. Distinct cache arguments of a
    function do not alias. Tensors have value semantics.

    Rules that hold for every op and every path:

    * Causal is bottom-right: the queries of a sequence are its last tokens.
    * A slot that no sequence owns never matters, whatever bits it holds.
    * A query that sees no key gives output 0 and log-sum-exp `-inf`.
    * Log-sum-exp is in natural units.
    * Sums are accumulated in f32 (f64 by option in the definition).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasOperationAttrVerify = 1;
}

class KVC_Op<string opMnemonic, list<Trait> traits = []>
    : Op<KVC_Dialect, opMnemonic, traits> {
  let hasVerifier = 1;
}

#endif // KVC_DIALECT
