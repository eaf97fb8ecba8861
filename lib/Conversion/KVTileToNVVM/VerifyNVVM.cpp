//===- VerifyNVVM.cpp - what device code must not contain -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM 22 compiles some constructs to wrong PTX without a word, leaves calls of
// a device library unresolved, or ends the process on an instruction that the
// architecture does not have. Each check here names one and says what to write
// instead. (Others, such as nvvm.mma.sync on f8 types, the dialects' own
// verifiers refuse.)
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "kvc-verify-nvvm"

namespace kvc {
#define GEN_PASS_DEF_VERIFYNVVMPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;

/// Intrinsics without an op of their own that were seen to assemble for sm_90a.
static bool isKnownIntrinsic(StringRef name) {
  static const llvm::StringSet<> known = {
      "llvm.ceil",
      "llvm.copysign",
      "llvm.fabs",
      "llvm.floor",
      "llvm.nvvm.ex2.approx.ftz.f",
      "llvm.nvvm.ex2.approx.ftz.v2bf16",
      "llvm.nvvm.lg2.approx.ftz.f",
      "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32",
      "llvm.roundeven",
      "llvm.sqrt",
  };
  return known.contains(name);
}

static LogicalResult verifyIntrinsic(LLVM::CallIntrinsicOp op) {
  if (isKnownIntrinsic(op.getIntrin()))
    return success();
  return op.emitOpError("calls intrinsic '")
         << op.getIntrin()
         << "', which is not known to be selected for sm_90a: an unknown one ends the process; "
            "use an nvvm op, or add it to the list of VerifyNVVM.cpp once it assembles";
}

static LogicalResult verifyInlinePtx(NVVM::InlinePtxOp op) {
  if (op.getReadWriteArgs().empty())
    return success();
  return op.emitOpError("has rw operands, which LLVM 22 ties to the wrong registers; use "
                        "ro(...) operands and results, or llvm.inline_asm with tied operands");
}

static LogicalResult verifyAtomic(LLVM::AtomicRMWOp op) {
  if (op.getOrdering() <= LLVM::AtomicOrdering::monotonic)
    return success();
  return op.emitOpError("has ordering ")
         << LLVM::stringifyAtomicOrdering(op.getOrdering())
         << ", which becomes a relaxed PTX instruction; use monotonic between two llvm.fence, "
            "or llvm.inline_asm";
}

static LogicalResult verifyRedux(NVVM::ReduxOp op) {
  if (op.getKind() != NVVM::ReduxKind::FMIN && op.getKind() != NVVM::ReduxKind::FMAX)
    return success();
  return op.emitOpError("of kind ")
         << NVVM::stringifyReduxKind(op.getKind())
         << " does not exist on sm_90a, where LLVM ends the process; use nvvm.shfl.sync";
}

static LogicalResult verifyTensorCopy(Operation *op, NVVM::TMALoadMode mode) {
  if (mode != NVVM::TMALoadMode::TILE_GATHER4)
    return success();
  return op->emitOpError("of mode tile_gather4 does not exist on sm_90a, where LLVM ends the "
                         "process; use one copy a row, or nvvm.cp.async");
}

/// `setmaxnreg` is ignored, and wgmma serialised, unless the register count of
/// the kernel is bounded.
static LogicalResult verifySetMaxRegister(NVVM::SetMaxRegisterOp op) {
  Operation *kernel = op->getParentOp();
  while (kernel && !isa<FunctionOpInterface>(kernel))
    kernel = kernel->getParentOp();
  bool hasThreads = kernel && kernel->hasAttr("nvvm.reqntid");
  bool hasBound =
      kernel && (kernel->hasAttr("nvvm.minctasm") || kernel->hasAttr("nvvm.maxnreg"));
  if (hasThreads && hasBound)
    return success();
  return op.emitOpError("is ignored without nvvm.reqntid and one of nvvm.minctasm and "
                        "nvvm.maxnreg on the kernel; add them");
}

/// Conversions between f8 and other floats have no lowering.
static LogicalResult verifyCast(Operation *op) {
  auto isF8 = [](Type type) {
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    return element && element.getWidth() == 8;
  };
  if (!llvm::any_of(op->getOperandTypes(), isF8) && !llvm::any_of(op->getResultTypes(), isF8))
    return success();
  return op->emitOpError("on f8 types has no NVVM lowering; use nvvm.convert.f8x2.to.f16x2 or "
                         "nvvm.convert.f32x2.to.f8x2");
}

static LogicalResult verifyParameters(FunctionOpInterface function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<BaseMemRefType>(type))
      return function.emitOpError("parameter ")
             << index << " is a memref, which becomes a parameter for each of its fields; "
                         "use !llvm.ptr<1> and the strides that are needed";
  return success();
}

/// convert-gpu-to-nvvm makes calls of these.
static LogicalResult verifyArith(Operation *op) {
  return op->emitOpError("becomes a call of a device library that need not be there; use "
                         "llvm.intr.maxnum, llvm.intr.minnum, or a division and a product");
}

/// Floating-point functions of LLVM that the NVPTX backend cannot select.
static LogicalResult verifyLLVMFunction(Operation *op) {
  return op->emitOpError("has no PTX instruction, and LLVM ends the process; use "
                         "llvm.call_intrinsic \"llvm.nvvm.ex2.approx.ftz.f\" or "
                         "\"llvm.nvvm.lg2.approx.ftz.f\" and arithmetic");
}

static LogicalResult verifyOp(Operation *op) {
  if (isa<math::MathDialect>(op->getDialect())) {
    if (isa<math::FmaOp>(op))
      return success();
    return op->emitOpError("becomes a call of a device library that need not be there; use "
                           "llvm.call_intrinsic \"llvm.nvvm.ex2.approx.ftz.f\" or "
                           "\"llvm.nvvm.lg2.approx.ftz.f\" and arithmetic");
  }
  if (op->getName().getDialectNamespace() == "nvgpu")
    return op->emitOpError("is of the nvgpu dialect, whose lowerings fail on bf16 and f8; use "
                           "the nvvm op");
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<NVVM::InlinePtxOp>(verifyInlinePtx)
      .Case<LLVM::AtomicRMWOp>(verifyAtomic)
      .Case<LLVM::CallIntrinsicOp>(verifyIntrinsic)
      .Case<NVVM::ReduxOp>(verifyRedux)
      .Case<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp, NVVM::CpAsyncBulkTensorPrefetchOp>(
          [](auto copy) { return verifyTensorCopy(copy, copy.getMode()); })
      .Case<NVVM::SetMaxRegisterOp>(verifySetMaxRegister)
      .Case<arith::ExtFOp, arith::TruncFOp>([](auto cast) { return verifyCast(cast); })
      .Case<arith::MaxNumFOp, arith::MinNumFOp, arith::RemFOp>(verifyArith)
      .Case<LLVM::ExpOp, LLVM::Exp10Op, LLVM::LogOp, LLVM::Log2Op, LLVM::Log10Op, LLVM::PowOp,
            LLVM::PowIOp, LLVM::SinOp, LLVM::CosOp, LLVM::TanOp, LLVM::TanhOp>(verifyLLVMFunction)
      .Case<FunctionOpInterface>(verifyParameters)
      .Default([](Operation *) { return success(); });
}

namespace {
struct VerifyNVVMPass final : kvc::impl::VerifyNVVMPassBase<VerifyNVVMPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void VerifyNVVMPass::runOnOperation() {
  bool hasFailed = false;
  getOperation().walk([&](gpu::GPUModuleOp kernels) {
    kernels.walk([&](Operation *op) { hasFailed |= failed(verifyOp(op)); });
  });
  if (hasFailed)
    return signalPassFailure();
  markAllAnalysesPreserved();
}
