//===- FusedRope.h - rotations that an append takes with it -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_FUSEDROPE_H
#define KVC_CONVERSION_FUSEDROPE_H

#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

/// The rotation that `value`, which `append` stores, comes from, if nothing else needs its
/// result: the kernel of the append can rotate as it reads. Else null.
inline RopeOp getFusableRope(AppendOp append, mlir::Value value) {
  auto rope = value.getDefiningOp<RopeOp>();
  bool fuses = rope && value.hasOneUse() && rope.getBatch() == append.getBatch();
  return fuses ? rope : RopeOp();
}

/// The append that can take `rope` with it, or null.
inline AppendOp getFusingAppend(RopeOp rope) {
  if (!rope.getOutput().hasOneUse())
    return {};
  auto append = llvm::dyn_cast<AppendOp>(*rope.getOutput().getUsers().begin());
  return append && getFusableRope(append, rope.getOutput()) ? append : AppendOp();
}

} // namespace kvc

#endif // KVC_CONVERSION_FUSEDROPE_H
