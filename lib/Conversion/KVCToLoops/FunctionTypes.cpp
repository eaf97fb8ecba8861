//===- FunctionTypes.cpp - types of public functions ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostABI.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace kvc;

/// Returns true if a kvc_tensor_t can describe a value of the shaped type.
static bool isABITensor(ShapedType type) {
  return type.hasRank() && type.getRank() <= KVC_MAX_RANK &&
         getABIDtype(type.getElementType()) != 0;
}

/// Returns true if an argument of the type can come from a kvc_call_t.
static bool isABIArgument(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type)) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return isABITensor(memref) && succeeded(memref.getStridesAndOffset(strides, offset)) &&
           (offset == 0 || ShapedType::isDynamic(offset));
  }
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return isABITensor(tensor);
  return isa<CacheType, BatchType>(type);
}

static bool isABIResult(Type type) {
  return isa<RankedTensorType>(type) && isABIArgument(type);
}

LogicalResult kvc::recordFunctionTypes(ModuleOp module) {
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, module);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.isPublic())
      continue;
    for (Type type : function.getArgumentTypes())
      if (!isABIArgument(type))
        return function.emitOpError("expected arguments of a public function to be tensors, "
                                    "strided memrefs, caches or batches, got ")
               << type;
    for (Type type : function.getResultTypes())
      if (!isABIResult(type))
        return function.emitOpError("expected results of a public function to be tensors, ")
               << "got " << type;
    for (Operation *user : users.getUsers(function)) {
      InFlightDiagnostic diag =
          function.emitOpError("expected a public function not to be used within its module");
      diag.attachNote(user->getLoc()) << "used here";
      return diag;
    }
    // What is made of arrays is checked before anything is computed.
    WalkResult made = function.walk([&](Operation *op) {
      bool isForeign = isa<CacheFromBuffersOp, BatchFromBlockTableOp, BatchFromCSROp>(op);
      for (Value operand : isForeign ? op->getOperands() : ValueRange()) {
        auto arg = dyn_cast<BlockArgument>(operand);
        if (arg && arg.getOwner() == &function.getBody().front())
          continue;
        op->emitOpError("expected arguments of the function, got values that it computes");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (made.wasInterrupted())
      return failure();
    function->setAttr(kFunctionTypeAttr, TypeAttr::get(function.getFunctionType()));
    recordChecks(function);
  }
  return success();
}
