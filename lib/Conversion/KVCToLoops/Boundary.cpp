//===- Boundary.cpp - arguments and results of public functions -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostABI.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
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
    function->setAttr(kFunctionTypeAttr, TypeAttr::get(function.getFunctionType()));
    recordChecks(function);
  }
  return success();
}

/// Replaces each tensor argument by a buffer.
static void convertArguments(func::FuncOp function) {
  OpBuilder b(function.getBody());
  for (BlockArgument arg : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      continue;
    arg.setType(getTensorBuffer(type));
    auto tensor = bufferization::ToTensorOp::create(b, arg.getLoc(), type, arg,
                                                    /*restrict=*/true, /*writable=*/false);
    arg.replaceAllUsesExcept(tensor, tensor);
  }
}

/// Replaces each result by a buffer argument, in which it is materialised.
static void convertResults(func::FuncOp function) {
  SmallVector<Value> buffers;
  for (Type type : function.getResultTypes())
    buffers.push_back(function.getBody().front().addArgument(
        getTensorBuffer(cast<RankedTensorType>(type)), function.getLoc()));
  for (auto terminator : llvm::make_early_inc_range(function.getOps<func::ReturnOp>())) {
    OpBuilder b(terminator);
    for (auto [result, buffer] : llvm::zip(terminator.getOperands(), buffers))
      bufferization::MaterializeInDestinationOp::create(
          b, terminator.getLoc(), /*result=*/Type(), result, buffer, /*restrict=*/true,
          /*writable=*/true);
    terminator->setOperands({});
  }
}

void kvc::convertBoundaries(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(kFunctionTypeAttr))
      continue;
    convertArguments(function);
    convertResults(function);
    function.setAllResultAttrs(ArrayRef<DictionaryAttr>());
    Block &entry = function.getBody().front();
    SmallVector<DictionaryAttr> attrs;
    function.getAllArgAttrs(attrs);
    function.setType(FunctionType::get(module.getContext(), entry.getArgumentTypes(), {}));
    attrs.resize(entry.getNumArguments(), DictionaryAttr::get(module.getContext()));
    function.setAllArgAttrs(attrs);
  }
}
