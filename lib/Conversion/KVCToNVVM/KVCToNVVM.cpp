//===- KVCToNVVM.cpp - GPU kernels of kvc functions -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "convert-kvc-to-nvvm"

namespace kvc {
#define GEN_PASS_DEF_CONVERTKVCTONVVMPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

/// Dynamic shared memory that a block of sm_90 may have.
static constexpr int64_t kMaxSharedBytes = 227 * 1024;

/// Returns true if `op` belongs to the dialect.
static bool isKVCOp(Operation &op) { return isa<KVCDialect>(op.getDialect()); }

/// Checks that `value` comes from the caller, not from code before the kernel.
static LogicalResult checkArgument(Operation *op, Value value) {
  if (isa<BlockArgument>(value))
    return success();
  InFlightDiagnostic diag = op->emitOpError(
      "expected operands of a GPU kernel to be arguments of the function");
  diag.attachNote(value.getLoc()) << "this one is computed here";
  return diag;
}

static LogicalResult checkComponent(Operation *op, ComponentAttr component) {
  if (component.getLayout() != Layout::RowMajor)
    return op->emitOpError("has no GPU kernel for component '")
           << component.getName().getValue() << "' of layout "
           << stringifyLayout(component.getLayout()) << "; supported: row_major";
  return success();
}

static LogicalResult checkAttention(AttentionOp op) {
  if (op.getQueries().size() != 1)
    return op.emitOpError("has no GPU kernel for ")
           << op.getQueries().size() << " score terms; supported: 1";
  for (Value operand : op->getOperands())
    if (failed(checkArgument(op, operand)))
      return failure();

  ComponentAttr key = op.getTermComponent(0), value = op.getValueComponent();
  if (failed(checkComponent(op, key)) || failed(checkComponent(op, value)))
    return failure();
  Type element = key.getElementType();
  if (!element.isBF16() && !element.isF16())
    return op.emitOpError("has no GPU kernel for keys of ") << element << "; supported: bf16, f16";
  auto checkElement = [&](StringRef what, Type other) -> LogicalResult {
    if (other == element)
      return success();
    return op.emitOpError("has no GPU kernel for ")
           << what << " of " << other << " beside keys of " << element
           << "; supported: the same element type";
  };
  if (failed(checkElement("values", value.getElementType())) ||
      failed(checkElement("queries", getElementTypeOrSelf(op.getQueries()[0]))) ||
      failed(checkElement("an output", getElementTypeOrSelf(op.getOutput()))))
    return failure();
  if (key.getWidth() != value.getWidth())
    return op.emitOpError("has no GPU kernel for keys of width ")
           << key.getWidth() << " and values of width " << value.getWidth()
           << "; supported: equal widths";
  if (key.getWidth() != 64 && key.getWidth() != 128)
    return op.emitOpError("has no GPU kernel for width ")
           << key.getWidth() << "; supported: 64, 128";
  if (op.getGroup() > 128)
    return op.emitOpError("has no GPU kernel for ")
           << op.getGroup() << " query heads a KV head; supported: 1 to 128";
  if (!isa_and_nonnull<GPUScheduleAttr>(op.getScheduleAttr()))
    return op.emitOpError("expected a #kvc.gpu_schedule; run kvc-plan before");
  return success();
}

/// What the kernel of a checked attention is built from.
static AttentionConfig getConfig(AttentionOp op, StringRef name, int64_t index) {
  auto schedule = cast<GPUScheduleAttr>(op.getScheduleAttr());
  GPUStreamAttr stream = schedule.getDecode();
  ComponentAttr key = op.getTermComponent(0);
  AttentionConfig config;
  config.name = name.str();
  config.op = index;
  config.key = key.getName().getValue();
  config.value = op.getValueComponent().getName().getValue();
  config.element = key.getElementType();
  config.width = key.getWidth();
  config.kvHeads = key.getHeads();
  config.group = op.getGroup();
  config.pageSize = op.getCache().getType().getPageSize();
  config.tokensPerWarp = stream.getKeys() / stream.getWarps();
  config.stages = stream.getStages();
  config.warps = stream.getWarps();
  config.scale = op.getScale().convertToDouble();
  config.hasSinks = static_cast<bool>(op.getSinks());
  config.hasLSE = static_cast<bool>(op.getLse());
  config.deterministic = op.getDeterministic();
  config.list = {/*queryTokens=*/1, static_cast<int32_t>(schedule.getSplit()),
                 op.getModifiers()};
  return config;
}

static LogicalResult checkAppend(AppendOp op) {
  for (Value operand : op->getOperands())
    if (failed(checkArgument(op, operand)))
      return failure();
  CacheType cache = op.getCache().getType();
  for (auto name : op.getComponents().getAsRange<StringAttr>())
    if (failed(checkComponent(op, cache.getComponent(name.getValue()))))
      return failure();
  return success();
}

/// Checks the operations of a function, before any kernel is built.
static LogicalResult checkFunction(func::FuncOp function) {
  if (!function.isPublic() || function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError(
        "expected GPU kernels to be asked for by a public function of one block");
  // Kernels are named after the function, and LLVM ends the process on a name that
  // PTX cannot spell.
  if (!llvm::all_of(function.getName(),
                    [](char c) { return llvm::isAlnum(c) || StringRef("_$.").contains(c); }))
    return function.emitOpError("expected a name of letters, digits, '_', '$' and '.' for GPU "
                                "kernels");
  AttentionOp attention;
  for (Operation &op : function.getBody().front()) {
    if (auto other = dyn_cast<AttentionOp>(op)) {
      if (attention) {
        InFlightDiagnostic diag =
            other.emitOpError("expected one attention a function on the GPU");
        diag.attachNote(attention.getLoc()) << "another one is here";
        return diag;
      }
      attention = other;
      if (failed(checkAttention(attention)))
        return failure();
    } else if (auto append = dyn_cast<AppendOp>(op)) {
      if (failed(checkAppend(append)))
        return failure();
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      for (Value value : ret.getOperands())
        if (!attention || value.getDefiningOp() != attention)
          return ret.emitOpError("expected the results of an attention on the GPU");
    } else {
      return op.emitOpError("has no GPU kernel; supported: kvc.append, kvc.attention");
    }
  }
  if (!attention)
    return success();
  AttentionConfig config = getConfig(attention, function.getName(), /*index=*/0);
  if (config.sharedBytes() > kMaxSharedBytes)
    return attention.emitOpError("expected a schedule of at most ")
           << kMaxSharedBytes << " bytes of shared memory, got " << config.sharedBytes()
           << "; take fewer stages or keys";
  return success();
}

/// Emits the kernels of a checked function, in the order of its operations.
static void emitKernels(OpBuilder &b, func::FuncOp function) {
  StringRef name = function.getName();
  int64_t appends = 0;
  for (auto [index, op] : llvm::enumerate(function.getBody().front())) {
    if (auto append = dyn_cast<AppendOp>(op)) {
      std::string kernel = (name + "_append").str();
      if (appends > 0)
        kernel += "_" + std::to_string(appends);
      ++appends;
      emitAppendKernel(b, kernel, name, append, index);
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      AttentionConfig config = getConfig(attention, name, index);
      emitAttentionKernels(b, attention, config);
    }
  }
}

namespace {
struct ConvertKVCToNVVMPass final
    : kvc::impl::ConvertKVCToNVVMPassBase<ConvertKVCToNVVMPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ConvertKVCToNVVMPass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    bool hasKVC = false;
    function.walk([&](Operation *op) { hasKVC |= isKVCOp(*op); });
    if (!hasKVC)
      continue;
    if (failed(checkFunction(function)))
      return signalPassFailure();
    functions.push_back(function);
  }
  if (functions.empty())
    return;

  OpBuilder b(&getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), kKernelModuleName);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(kernels.getBody());
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, module.getLoc(), bytes, /*isConstant=*/false,
                         LLVM::Linkage::External, kSharedName, Attribute(),
                         /*alignment=*/1024, kSharedSpace);
  for (func::FuncOp function : functions) {
    emitKernels(b, function);
    if (!keepFunctions)
      function.erase();
  }
}
