//===- Decompose.cpp - every kvc operation as loops -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition of the operations. Each has a file; this one sets up the
// conversion and says what caches and batches become.
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/Passes.h"

#include "Patterns.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#define DEBUG_TYPE "kvc-decompose"

namespace kvc {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// A cache becomes a buffer a component, a batch becomes its arrays.
struct ReferenceTypeConverter final : TypeConverter {
  ReferenceTypeConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](CacheType type, SmallVectorImpl<Type> &types) {
      for (const CacheArray &array : type.getArrays())
        types.push_back(getArrayBuffer(type, array));
      return success();
    });
    addConversion([](BatchType type, SmallVectorImpl<Type> &types) {
      llvm::append_range(types, BatchArrays::getTypes(type.getContext()));
      return success();
    });
  }
};

struct DecomposePass final : kvc::impl::DecomposePassBase<DecomposePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void DecomposePass::runOnOperation() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  if (precision != "f32" && precision != "f64") {
    module.emitError("expected precision 'f32' or 'f64', got '") << precision << "'";
    return signalPassFailure();
  }
  Type real = precision == "f64" ? Type(Float64Type::get(context))
                                 : Type(Float32Type::get(context));
  if (failed(recordFunctionTypes(module)))
    return signalPassFailure();

  ReferenceTypeConverter converter;
  RewritePatternSet patterns(context);
  populateAppendLoopPatterns(patterns, converter);
  populateAttentionLoopPatterns(patterns, converter, real);
  populateMergeLoopPatterns(patterns, converter, real);
  populateRopeLoopPatterns(patterns, converter);
  populateEdgeLoopPatterns(patterns, converter);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);

  ConversionTarget target(*context);
  target.addIllegalDialect<KVCDialect>();
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType()) &&
           converter.isLegal(&op.getBody());
  });
  target.addDynamicallyLegalOp<func::CallOp, func::ReturnOp>(
      [&](Operation *op) { return converter.isLegal(op); });
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    return signalPassFailure();

  convertBoundaries(module);
}
