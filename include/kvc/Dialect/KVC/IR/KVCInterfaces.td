//===- KVCInterfaces.td - the score interface --------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_INTERFACES
#define KVC_INTERFACES

include "mlir/IR/OpBase.td"

def KVC_ScoreModifierInterface : AttrInterface<"ScoreModifierInterface"> {
  let cppNamespace = "::kvc";
  let description = [{
    A change to the scores of an attention. Kernels know only this interface,
    never a single feature: what a new modifier emits is right on every path.

    Positions are token positions within the sequence, of any integer or index
    type; scores are f32 or f64; both may be scalars or 1-D vectors. The query
    `i` of `q_len` is at position `kv_len - q_len + i`.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the changed score, given `scale * sum_i q_i k_i` as changed by the
        modifiers before this one, in natural-log units. `point` tells positions
        and head of the score if it is asked, and `math` emits functions.
      }], "::mlir::Value", "emitScore",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$score, "const ::kvc::ScorePoint &":$point,
           "const ::kvc::ScoreMath &":$math),
      "", [{ return score; }]>,
    InterfaceMethod<[{
        True if emitScore does more than return its argument.
      }], "bool", "changesScore", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Emits the condition (i1, or a vector of i1) under which the query at
        `queryPos` sees the key at `keyPos`; a null value means always.
      }], "::mlir::Value", "emitKeep",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$queryPos, "::mlir::Value":$keyPos),
      "", [{ return {}; }]>,
    InterfaceMethod<[{
        Narrows `bounds` for the queries at `firstPos` to `lastPos` inclusive:
        a tile of keys outside `any` is seen by none of them, one inside `all`
        by all of them, and only the rest needs `emitKeep`.
      }], "void", "boundKeep",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$firstPos, "::mlir::Value":$lastPos,
           "::kvc::KeyBounds &":$bounds),
      "", [{ return; }]>
  ];
}

#endif // KVC_INTERFACES
