//===- Boundary.cpp - buffers at the boundary of functions ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#define DEBUG_TYPE "kvc-convert-boundaries"

namespace kvc {
#define GEN_PASS_DEF_CONVERTBOUNDARIESPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

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

namespace {
struct ConvertBoundariesPass final
    : kvc::impl::ConvertBoundariesPassBase<ConvertBoundariesPass> {
  using Base::Base;
  void runOnOperation() override { convertBoundaries(getOperation()); }
};
} // namespace
