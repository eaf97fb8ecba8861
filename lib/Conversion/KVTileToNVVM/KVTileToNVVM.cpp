//===- KVTileToNVVM.cpp - tile programs as llvm.func kernels --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

#define DEBUG_TYPE "convert-kvtile-to-nvvm"

namespace kvc {
#define GEN_PASS_DEF_CONVERTKVTILETONVVMPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

/// Tiles, vecs and slots without a layout have no registers yet, and no conversion.
static void addTypeConversions(TypeConverter &converter, MLIRContext *context) {
  converter.addConversion([](Type type) { return type; });
  auto repeat = [](Type type, int64_t count, SmallVectorImpl<Type> &types) {
    types.append(count, type);
    return success();
  };
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  Type f32 = Float32Type::get(context);
  Type global = LLVM::LLVMPointerType::get(context, kGlobalSpace);
  converter.addConversion([=](TileType type, SmallVectorImpl<Type> &types) -> LogicalResult {
    if (!type.getLayout())
      return failure();
    return repeat(type.getElementType().isF32() ? f32 : i32, type.getNumRegisters(), types);
  });
  converter.addConversion([=](VecType type, SmallVectorImpl<Type> &types) -> LogicalResult {
    if (!type.getLayout())
      return failure();
    return repeat(f32, type.getNumRegisters(), types);
  });
  converter.addConversion([=](SlotType type, SmallVectorImpl<Type> &types) -> LogicalResult {
    if (type.getLayout() == SlotLayout::Unassigned)
      return failure();
    return repeat(i32, 2, types);
  });
  converter.addConversion([=](PageIdsType type, SmallVectorImpl<Type> &types) {
    return repeat(i32, type.getCount(), types);
  });
  converter.addConversion([=](ItemType, SmallVectorImpl<Type> &types) {
    types.append(8, i32);
    types.push_back(i64);
    return success();
  });
  converter.addConversion([=](PagesType, SmallVectorImpl<Type> &types) {
    types.push_back(global);
    types.append(3, i64);
    return success();
  });
  converter.addConversion([=](RowsType, SmallVectorImpl<Type> &types) {
    types.push_back(global);
    types.append(2, i64);
    return success();
  });
  converter.addConversion([=](HeadsType, SmallVectorImpl<Type> &types) {
    types.append({global, i64});
    return success();
  });
}

namespace {
struct LowerKernel final : Lowering<KernelOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(KernelOp op, Adaptor, Rewriter &rewriter) const override {
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    if (failed(getTypeConverter()->convertSignatureArgs(op.getArgumentTypes(), signature)))
      return rewriter.notifyMatchFailure(op, "has parameters of other types");
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(op.getContext()),
                                            signature.getConvertedTypes());
    auto kernel = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getName(), type);
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      kernel->setAttr(attribute.getName(), attribute.getValue());
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    rewriter.getDenseI32ArrayAttr(static_cast<int32_t>(op.getThreads())));
    kernel->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(), op.getMaxRegistersAttr());
    kernel->setAttr("kvc.threads", op.getThreadsAttr());
    kernel->setAttr("kvc.shared_bytes", op.getSharedBytesAttr());
    rewriter.inlineRegionBefore(op.getBody(), kernel.getBody(), kernel.end());
    if (failed(rewriter.convertRegionTypes(&kernel.getBody(), *getTypeConverter(), &signature)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerReturn final : Lowering<ReturnOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ReturnOp op, Adaptor, Rewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

struct ConvertKVTileToNVVMPass final
    : kvc::impl::ConvertKVTileToNVVMPassBase<ConvertKVTileToNVVMPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Checks that what has several registers goes through operations that know it.
static LogicalResult checkOperands(Operation *op) {
  if (isa_and_nonnull<scf::SCFDialect>(op->getDialect()))
    return success();
  for (Type type : op->getOperandTypes())
    if (isa<KVTileDialect>(type.getDialect()))
      return op->emitOpError("expected no operand of kvtile, got ") << type;
  return success();
}

/// Checks that operations are where their threads are known.
static LogicalResult checkPlaces(gpu::GPUModuleOp module) {
  Operation *shared = module.lookupSymbol(kSharedName);
  if (shared && !isa<LLVM::GlobalOp>(shared))
    return shared->emitOpError("expected another name than that of the shared memory, '")
           << kSharedName << "'";
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    if (!isa_and_nonnull<KVTileDialect>(op->getDialect()))
      return checkOperands(op);
    if (isa<KernelOp>(op) ? op->getParentOp() == module
                          : static_cast<bool>(op->getParentOfType<KernelOp>()))
      return WalkResult::advance();
    return op->emitOpError("expected to be in a ")
           << (isa<KernelOp>(op) ? "gpu.module" : "kvtile.kernel") << ", got '"
           << op->getParentOp()->getName() << "'";
  });
  return failure(result.wasInterrupted());
}

/// What the passes before have to have done.
static LogicalResult checkReady(gpu::GPUModuleOp module) {
  WalkResult result = module.walk([](StreamOp op) {
    op.emitOpError("has to be pipelined first; run kvtile-pipeline-copies");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  auto isReady = [](Type type) {
    if (auto tile = dyn_cast<TileType>(type))
      return static_cast<bool>(tile.getLayout());
    if (auto vec = dyn_cast<VecType>(type))
      return static_cast<bool>(vec.getLayout());
    auto slot = dyn_cast<SlotType>(type);
    return !slot || slot.getLayout() != SlotLayout::Unassigned;
  };
  result = module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (!isReady(type)) {
        op->emitOpError("has a result without a layout, ")
            << type << "; run kvtile-assign-layouts";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void ConvertKVTileToNVVMPass::runOnOperation() {
  gpu::GPUModuleOp module = getOperation();
  if (failed(checkPlaces(module)) || failed(checkReady(module)))
    return signalPassFailure();
  if (module.getOps<KernelOp>().empty())
    return;
  OpBuilder b(&getContext());
  declareShared(b, module);

  TypeConverter converter;
  addTypeConversions(converter, &getContext());
  ConversionTarget target(getContext());
  target.addLegalDialect<arith::ArithDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                         vector::VectorDialect>();
  target.addIllegalDialect<KVTileDialect>();
  RewritePatternSet patterns(&getContext());
  patterns.add<LowerKernel, LowerReturn>(converter, &getContext());
  populateCopyPatterns(converter, patterns);
  populateRowPatterns(converter, patterns);
  populateDotPatterns(converter, patterns);
  populateScorePatterns(converter, patterns);
  populateScalePatterns(converter, patterns);
  populateSoftmaxPatterns(converter, patterns);
  populateFinishPatterns(converter, patterns);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    return signalPassFailure();
}
