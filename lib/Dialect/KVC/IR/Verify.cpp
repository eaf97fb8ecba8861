//===- Verify.cpp - checks that operations share --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace kvc {

LogicalResult verifyRank(Operation *op, StringRef what, RankedTensorType type, int64_t rank) {
  if (type.getRank() != rank)
    return op->emitOpError("expected ")
           << what << " of rank " << rank << ", got rank " << type.getRank();
  return success();
}

LogicalResult verifyDim(Operation *op, StringRef what, RankedTensorType type, int64_t dim,
                        int64_t expected) {
  int64_t actual = type.getDimSize(dim);
  if (actual == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << what << " to be " << expected << ", got ";
  if (ShapedType::isDynamic(actual))
    diag << "a dynamic one";
  else
    diag << actual;
  return diag;
}

LogicalResult verifySameDim(Operation *op, StringRef what, int64_t actual, int64_t expected) {
  if (actual == expected || ShapedType::isDynamic(actual) || ShapedType::isDynamic(expected))
    return success();
  return op->emitOpError("expected ") << what << " to be " << expected << ", got " << actual;
}

LogicalResult verifyScore(Operation *op, ArrayAttr modifiers, FloatAttr scale) {
  llvm::SmallPtrSet<const void *, 4> kinds;
  bool causal = false, window = false;
  for (Attribute attr : modifiers) {
    if (!isa<ScoreModifierInterface>(attr))
      return op->emitOpError("expected score modifiers, got ") << attr;
    if (!kinds.insert(attr.getTypeID().getAsOpaquePointer()).second)
      return op->emitOpError("expected each kind of score modifier once, got a second ")
             << attr;
    causal |= isa<CausalAttr>(attr);
    window |= isa<WindowAttr>(attr);
  }
  if (window && !causal)
    return op->emitOpError("expected #kvc.causal beside #kvc.window");
  if (!scale.getValue().isFinite())
    return op->emitOpError("expected a finite scale, got ") << scale;
  return success();
}

LogicalResult verifyRotation(Operation *op, int64_t width, int64_t rotaryWidth, FloatAttr theta,
                             Value frequencies) {
  if (rotaryWidth < 2 || rotaryWidth % 2 != 0 || rotaryWidth > width)
    return op->emitOpError("expected an even rotary width from 2 to the width (")
           << width << "), got " << rotaryWidth;
  if (static_cast<bool>(frequencies) == static_cast<bool>(theta))
    return op->emitOpError("expected either theta or frequencies, got ")
           << (frequencies ? "both" : "neither");
  if (theta && !(theta.getValue().isFinite() && theta.getValueAsDouble() > 0))
    return op->emitOpError("expected a finite theta above 0, got ") << theta;
  if (!frequencies)
    return success();
  auto type = cast<RankedTensorType>(frequencies.getType());
  if (failed(verifyRank(op, "frequencies", type, 1)))
    return failure();
  return verifyDim(op, "the number of frequencies", type, 0, rotaryWidth / 2);
}

} // namespace kvc
