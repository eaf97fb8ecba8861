//===- KVCToKVTile.cpp - GPU kernels of kvc functions ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include "kvc/Conversion/KernelABI.h"
#include "kvc/Conversion/Passes.h"
#include "kvc/Conversion/WorkListKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "convert-kvc-to-kvtile"

namespace kvc {
#define GEN_PASS_DEF_CONVERTKVCTOKVTILEPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

//===----------------------------------------------------------------------===//
// What is supported
//===----------------------------------------------------------------------===//

static LogicalResult checkComponent(Operation *op, ComponentAttr component) {
  if (component.getLayout() != Layout::RowMajor)
    return op->emitOpError("has no GPU kernel for component '")
           << component.getName().getValue() << "' of layout "
           << stringifyLayout(component.getLayout()) << "; supported: row_major";
  return success();
}

/// Checks the elements of an attention: those of 16 bits are all the same, and beside
/// codes queries and output may be of either type.
static LogicalResult checkElements(AttentionOp op) {
  auto check16Bit = [&](const Twine &what, Type element) -> LogicalResult {
    if (element.isBF16() || element.isF16())
      return success();
    return op.emitOpError("has no GPU kernel for ")
           << what << " of " << element << "; supported: bf16, f16";
  };
  auto checkElement = [&](const Twine &what, Type element, ComponentAttr beside) {
    if (isQuantized(beside.getElementType()))
      return check16Bit(what, element);
    if (element == beside.getElementType())
      return success();
    return LogicalResult(op.emitOpError("has no GPU kernel for ")
                         << what << " of " << element << " beside a component of "
                         << beside.getElementType() << "; supported: the same element type");
  };
  auto checkStored = [&](ComponentAttr component) -> LogicalResult {
    Type element = component.getElementType();
    if (failed(checkComponent(op, component)))
      return failure();
    if (isQuantized(element) || element.isBF16() || element.isF16())
      return success();
    return op.emitOpError("has no GPU kernel for component '")
           << component.getName().getValue() << "' of " << element
           << "; supported: bf16, f16, f8E4M3FN, f8E5M2, i8, i4";
  };
  ComponentAttr value = op.getValueComponent();
  if (failed(checkStored(value)))
    return failure();
  for (unsigned term = 0; term < op.getQueries().size(); ++term)
    if (failed(checkStored(op.getTermComponent(term))))
      return failure();
  for (auto [term, query] : llvm::enumerate(op.getQueries())) {
    ComponentAttr key = op.getTermComponent(term);
    std::string name = ("component '" + key.getName().getValue() + "'").str();
    bool isPlain = !isQuantized(key.getElementType());
    if ((isPlain && !isQuantized(value.getElementType()) &&
         failed(checkElement(name, key.getElementType(), value))) ||
        failed(checkElement("a query", getElementTypeOrSelf(query), key)))
      return failure();
  }
  // Probabilities are rounded to 16 bits: an output of f32 would promise more digits
  // than there are.
  return checkElement("an output", getElementTypeOrSelf(op.getOutput()), value);
}

/// Checks what the columns of a value that are scaled apart need of a stream.
static LogicalResult checkValueScales(AttentionOp op, const KernelShape &shape) {
  if (shape.stream.getForm() != StreamForm::Columns)
    return success();
  ComponentAttr value = op.getValueComponent();
  int64_t columns = shape.paddedValueWidth() / shape.stream.getWarps();
  int64_t group = getScaleGroup(value);
  if (shape.valueGroups() == 1 || group % columns == 0 || columns % group == 0)
    return success();
  return op.emitOpError("has no GPU kernel of form columns in which a warp has ")
         << columns << " columns and scales are of groups of " << group
         << "; supported: groups of whole warps, and warps of whole groups";
}

static LogicalResult checkAttention(AttentionOp op) {
  if (failed(checkElements(op)))
    return failure();
  if (op.getGroup() > 128)
    return op.emitOpError("has no GPU kernel for ")
           << op.getGroup() << " query heads a KV head; supported: 1 to 128";
  auto schedule = dyn_cast_or_null<GPUScheduleAttr>(op.getScheduleAttr());
  if (!schedule) {
    InFlightDiagnostic diag = op.emitOpError("expected a #kvc.gpu_schedule");
    if (op.getScheduleAttr())
      return diag << ", got " << op.getScheduleAttr();
    return diag << "; run kvc-plan before, which says in a remark if none fits";
  }
  for (KernelPhase phase : {KernelPhase::Decode, KernelPhase::Prefill}) {
    KernelShape shape(op, phase);
    if (failed(checkValueScales(op, shape)))
      return failure();
    int64_t bytes = shape.sharedBytes();
    if (bytes > kMaxSharedBytes)
      return op.emitOpError("expected a schedule of at most ")
             << kMaxSharedBytes << " bytes of shared memory, got " << bytes << " for "
             << shape.stream << "; take fewer stages, keys or rows";
  }
  return success();
}

/// Refuses what a function does around its kvc operations, all in one message.
static LogicalResult checkHostCode(func::FuncOp function) {
  SmallVector<Operation *> hostCode;
  for (Operation &op : function.getBody().front())
    if (!isa<func::ReturnOp, func::CallOp>(op) &&
        !isa_and_nonnull<KVCDialect>(op.getDialect()))
      hostCode.push_back(&op);
  if (hostCode.empty())
    return success();
  llvm::SetVector<StringRef> names;
  for (Operation *op : hostCode)
    names.insert(op->getName().getStringRef());
  InFlightDiagnostic diag = function.emitOpError("has no GPU kernel for ");
  llvm::interleaveComma(names, diag, [&](StringRef name) { diag << "'" << name << "'"; });
  diag << "; supported: kvc.append, kvc.attention, kvc.merge, kvc.rope, and in a program, whose "
          "host code launches them, what is around these";
  for (Operation *op : hostCode)
    diag.attachNote(op->getLoc()) << "'" << op->getName() << "' is here";
  return diag;
}

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
  if (failed(checkHostCode(function)))
    return failure();
  for (Operation &op : function.getBody().front()) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (failed(checkAttention(attention)))
        return failure();
    } else if (auto append = dyn_cast<AppendOp>(op)) {
      for (auto name : append.getComponents().getAsRange<StringAttr>())
        if (failed(checkComponent(append, append.getCache().getType().getComponent(name))))
          return failure();
    } else if (auto rope = dyn_cast<RopeOp>(op)) {
      if (failed(checkRope(rope)))
        return failure();
    } else if (auto merge = dyn_cast<MergeOp>(op)) {
      if (failed(checkMerge(merge)))
        return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Emits the kernels of an attention: for each phase the list, the items, and the parts
/// put together.
static void emitAttentionKernels(OpBuilder &b, StringRef prefix, KernelDescription origin,
                                 AttentionOp op) {
  for (KernelPhase phase : {KernelPhase::Decode, KernelPhase::Prefill}) {
    KernelShape shape(op, phase);
    std::string name = (prefix + (phase == KernelPhase::Decode ? "_decode" : "_prefill")).str();
    origin.phase = phase;
    emitWorkListKernel(b, op, name + "_worklist", describeAttention(origin, op, shape));
    emitStreamKernel(b, name, origin, op, shape);
    emitCombineKernel(b, name + "_combine", origin, op, shape);
  }
}

/// Emits the kernels of an append: of what is copied, of what is quantised, and the count.
static void emitAppendKernels(OpBuilder &b, function_ref<std::string(StringRef)> nameOf,
                              const KernelDescription &origin, AppendOp op) {
  CacheType cache = op.getCache().getType();
  auto isCode = [&](StringAttr name) {
    return isQuantized(cache.getComponent(name).getElementType());
  };
  auto names = op.getComponents().getAsRange<StringAttr>();
  if (!llvm::all_of(names, isCode))
    emitAppendKernel(b, nameOf("append"), origin, op);
  if (llvm::any_of(names, isCode))
    emitQuantizedAppendKernel(b, nameOf("quantize"), origin, op);
  if (op.getNonfinite())
    emitCountKernel(b, nameOf("count"), origin, op);
}

/// Emits the kernels of a checked function, in the order of its operations.
static void emitKernels(OpBuilder &b, func::FuncOp function) {
  StringRef name = function.getName();
  llvm::StringMap<int64_t> uses;
  // @f_append, then @f_append_1, ...
  auto nameOf = [&](StringRef what) {
    int64_t count = uses[what]++;
    return (name + "_" + what + (count == 0 ? Twine() : "_" + Twine(count))).str();
  };
  for (auto [index, op] : llvm::enumerate(function.getBody().front())) {
    KernelDescription origin;
    origin.function = name;
    origin.op = index;
    if (auto attention = dyn_cast<AttentionOp>(op))
      emitAttentionKernels(b, nameOf("attention"), origin, attention);
    else if (auto append = dyn_cast<AppendOp>(op))
      emitAppendKernels(b, nameOf, origin, append);
    else if (auto rope = dyn_cast<RopeOp>(op); rope && !isFusedRope(rope))
      emitRopeKernel(b, nameOf("rope"), origin, rope);
    else if (auto merge = dyn_cast<MergeOp>(op))
      emitMergeKernel(b, nameOf("merge"), origin, merge);
  }
}

namespace {
struct ConvertKVCToKVTilePass final
    : kvc::impl::ConvertKVCToKVTilePassBase<ConvertKVCToKVTilePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ConvertKVCToKVTilePass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    bool hasKVC = false;
    function.walk(
        [&](Operation *op) { hasKVC |= isa_and_nonnull<KVCDialect>(op->getDialect()); });
    if (!hasKVC) {
      // One without any is host code alone.
      if (function.isPublic() && !function.isExternal() && function.getBody().hasOneBlock() &&
          failed(checkHostCode(function)))
        return signalPassFailure();
      continue;
    }
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
  for (func::FuncOp function : functions) {
    emitKernels(b, function);
    if (!keepFunctions)
      function.erase();
  }
}
