//===- Kernels.cpp - which kernels compute what ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each operation its kernels, and checks that what they say of themselves
// fits the function: every value that is read is one that a kernel writes.
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

using namespace mlir;

namespace kvc {

Value getBatch(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<BatchType>(operand.getType()))
      return operand;
  return {};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static bool fits(KernelKind kind, Operation *op) {
  switch (kind) {
  case KernelKind::Append:
    return isa<AppendOp>(op);
  case KernelKind::Rope:
    return isa<RopeOp>(op);
  case KernelKind::Merge:
    return isa<MergeOp>(op);
  case KernelKind::WorkList:
  case KernelKind::Attention:
  case KernelKind::Combine:
    return isa<AttentionOp>(op);
  }
  llvm_unreachable("unknown kind");
}

LogicalResult LaunchFunction::checkKernel(const Kernel &kernel) {
  const KernelDescription &description = kernel.description;
  LLVM::LLVMFuncOp symbol = kernel.op;
  if (description.op >= static_cast<int64_t>(body.size()))
    return symbol.emitOpError("expected 'kvc.op' to be one of the ")
           << body.size() << " operations of '" << function.getName() << "', got "
           << description.op;
  Operation *op = body[description.op];
  if (!fits(description.kind, op)) {
    InFlightDiagnostic diag = symbol.emitOpError("expected 'kvc.kind' to fit operation '")
                              << op->getName() << "', got \""
                              << stringifyKernelKind(description.kind) << "\"";
    diag.attachNote(op->getLoc()) << "which is this one";
    return diag;
  }
  if (description.phase != KernelPhase::Any && !isa<AttentionOp>(op))
    return symbol.emitOpError("expected 'kvc.phase' on kernels of an attention only");
  return success();
}

Operation *LaunchFunction::getOwner(const Kernel &kernel, const KernelParameter &parameter) {
  int64_t index = parameter.op.value_or(kernel.description.op);
  return index < static_cast<int64_t>(body.size()) ? body[index] : nullptr;
}

Value LaunchFunction::getArgument(const Kernel &kernel, const KernelParameter &parameter) {
  Operation *op = getOwner(kernel, parameter);
  if (parameter.value == KernelValue::Operand)
    return op->getOperand(parameter.number);
  if (parameter.value == KernelValue::Result)
    return op->getResult(parameter.number);
  for (Value operand : op->getOperands())
    if (isa<CacheType>(operand.getType()))
      return operand;
  llvm_unreachable("expected a checked parameter with strides");
}

/// Pointers may be to any address space.
static bool isSameType(Type expected, Type got) {
  return expected == got ||
         (isa<LLVM::LLVMPointerType>(expected) && isa<LLVM::LLVMPointerType>(got));
}

LogicalResult LaunchFunction::checkParameters(const Kernel &kernel) {
  LLVM::LLVMFuncOp symbol = kernel.op;
  SmallVector<Type> types;
  for (const KernelParameter &parameter : kernel.description.parameters) {
    Operation *op = getOwner(kernel, parameter);
    auto own = op ? getParameterTypes(parameter, op) : std::nullopt;
    if (!own || (parameter.isOfList() && !isa<AttentionOp>(op)))
      return symbol.emitOpError("expected its operation to have '") << parameter.print() << "'";
    types.append(own->begin(), own->end());
    if (parameter.op)
      covered.insert(op);
    if (parameter.value == KernelValue::Result)
      computed.insert(op->getResult(parameter.number));
  }
  ArrayRef<Type> given = symbol.getFunctionType().getParams();
  if (given.size() != types.size())
    return symbol.emitOpError("expected the ")
           << types.size() << " parameters of 'kvc.parameters', got " << given.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(types, given)))
    if (auto [expected, got] = pair; !isSameType(expected, got))
      return symbol.emitOpError("expected parameter ")
             << i << " of 'kvc.parameters' to be " << expected << ", got " << got;
  return success();
}

/// Collects the alignments that kernels ask for. Rows in the workspace must have
/// them as they are.
LogicalResult LaunchFunction::setAlignments() {
  for (const Kernel &kernel : kernels) {
    const KernelDescription &description = kernel.description;
    for (auto [parameter, alignment] :
         llvm::zip(description.parameters, description.alignments)) {
      if (alignment == 0)
        continue;
      Value value = getArgument(kernel, parameter);
      auto require = [&, alignment = alignment](Value of) {
        alignments[of] = std::max(alignments[of], alignment);
      };
      require(value);
      if (auto cache = value.getDefiningOp<CacheFromBuffersOp>()) {
        // A fused buffer has all components.
        auto type = cast<CacheType>(value.getType());
        int64_t index = cache.getFused() ? 0 : type.getArrayIndex(parameter.name);
        require(cache.getBuffers()[index]);
      }
      if (!isPlaced(value))
        continue;
      auto type = cast<RankedTensorType>(value.getType());
      int64_t bytes = getByteWidth(type.getElementType());
      for (int64_t dim = type.getRank() - 1; dim > 0; --dim) {
        bytes *= type.getDimSize(dim);
        if (bytes % alignment != 0 || alignment > kWorkspaceAlignment)
          return LLVM::LLVMFuncOp(kernel.op).emitOpError("expected '")
                 << parameter.print() << "' with strides of a multiple of " << alignment
                 << " bytes, got a tensor of the workspace with " << bytes;
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool LaunchFunction::hasPhase(AttentionOp op, KernelPhase phase) {
  return llvm::any_of(kernelsOf[op], [&](const Kernel &kernel) {
    return kernel.description.phase == phase;
  });
}

const Kernel &LaunchFunction::getAttentionKernel(const Kernel &kernel) {
  return *llvm::find_if(kernelsOf[body[kernel.description.op]], [&](const Kernel &other) {
    return other.description.kind == KernelKind::Attention &&
           other.description.phase == kernel.description.phase;
  });
}

/// True if a parameter of the kernel is one of `values`.
static bool names(const Kernel &kernel, ArrayRef<KernelValue> values) {
  return llvm::any_of(kernel.description.parameters, [&](const KernelParameter &parameter) {
    return llvm::is_contained(values, parameter.value);
  });
}

/// The list is written before it is read, and all parts are combined.
LogicalResult LaunchFunction::checkPhase(AttentionOp op, KernelPhase phase) {
  int64_t attentions = 0;
  bool hasList = false, hasTarget = false, hasCluster = false;
  LLVM::LLVMFuncOp uncombined;
  for (const Kernel &kernel : kernelsOf[op]) {
    if (kernel.description.phase != phase)
      continue;
    LLVM::LLVMFuncOp symbol = kernel.op;
    KernelKind kind = kernel.description.kind;
    if (kind == KernelKind::WorkList) {
      hasList = true;
      hasTarget |= names(kernel, {KernelValue::ListTarget});
      hasCluster |= names(kernel, {KernelValue::ListCluster});
    } else if (!hasList && names(kernel, {KernelValue::ListItems, KernelValue::ListMerges,
                                        KernelValue::ListCounts}))
      return symbol.emitOpError("expected a worklist kernel of its attention before it");
    // The sizes of list and parts depend on it.
    if (kind == KernelKind::Attention && hasList &&
        hasTarget == kernel.description.deterministic)
      return symbol.emitOpError("expected its worklist kernel to take 'list target', or "
                                "'kvc.deterministic' here, got ")
             << (hasTarget ? "both" : "neither");
    if (kind == KernelKind::Attention && hasCluster != (kernel.description.cluster > 1))
      return symbol.emitOpError("expected its worklist kernel to take 'list cluster', and "
                                "'kvc.cluster' here, or none of them, got the ")
             << (hasCluster ? "first" : "second") << " alone";
    if (kind == KernelKind::Attention) {
      ++attentions;
      if (names(kernel, {KernelValue::PartsOutput, KernelValue::PartsStats}))
        uncombined = symbol;
    }
    if (kind == KernelKind::Combine)
      uncombined = {};
  }
  if (attentions != 1)
    return op.emitOpError("expected one attention kernel a phase, got ") << attentions;
  if (uncombined)
    return uncombined.emitOpError("expected a combine kernel for its parts after it");
  return success();
}

LogicalResult LaunchFunction::checkPhases(AttentionOp op) {
  bool any = hasPhase(op, KernelPhase::Any), decode = hasPhase(op, KernelPhase::Decode),
       prefill = hasPhase(op, KernelPhase::Prefill);
  if (any && (decode || prefill))
    return op.emitOpError("expected a phase of all its kernels or of none");
  if (prefill && !decode)
    return op.emitOpError("expected decode kernels beside those for prefill");
  for (KernelPhase phase : {KernelPhase::Any, KernelPhase::Decode, KernelPhase::Prefill})
    if (hasPhase(op, phase) && failed(checkPhase(op, phase)))
      return failure();
  return success();
}

LogicalResult LaunchFunction::checkOperation(Operation &op) {
  if (isa<func::ReturnOp>(op) || isForeign(op))
    return success();
  if (isa<func::CallOp>(op)) { // host code, of which a part launches kernels itself
    computed.insert(op.result_begin(), op.result_end());
    return success();
  }
  if (!isa<AppendOp, AttentionOp, MergeOp, RopeOp>(op))
    return op.emitError("no launch for operation '")
           << op.getName()
           << "'; supported: kvc.append, kvc.attention, kvc.merge, kvc.rope";
  if (kernelsOf[&op].empty()) {
    if (covered.contains(&op))
      return success();
    return op.emitOpError("expected a kernel in the gpu.module, found none; run "
                          "convert-kvc-to-kvtile with keep-functions before this pass");
  }
  if (auto attention = dyn_cast<AttentionOp>(op))
    return checkPhases(attention);
  return success();
}

/// Whatever is read or returned is an argument, or written by a kernel.
LogicalResult LaunchFunction::checkWritten() {
  auto check = [&](Operation *user, Value value) -> LogicalResult {
    if (!value.getDefiningOp() || computed.contains(value) || isForeign(*value.getDefiningOp()))
      return success();
    InFlightDiagnostic diag = user->emitOpError("expected values that a kernel writes");
    diag.attachNote(value.getLoc()) << "no kernel has this one as its result";
    return diag;
  };
  for (const Kernel &kernel : kernels)
    for (const KernelParameter &parameter : kernel.description.parameters)
      if (parameter.hasStrides() && failed(check(kernel.op, getArgument(kernel, parameter))))
        return failure();
  for (Value value : body.back()->getOperands())
    if (failed(check(body.back(), value)))
      return failure();
  return success();
}

LogicalResult LaunchFunction::assignKernels() {
  for (Operation &op : function.getBody().front())
    body.push_back(&op);
  for (const Kernel &kernel : kernels) {
    if (failed(checkKernel(kernel)) || failed(checkParameters(kernel)))
      return failure();
    kernelsOf[body[kernel.description.op]].push_back(kernel);
  }
  for (Operation *op : body)
    if (failed(checkOperation(*op)))
      return failure();
  if (failed(checkWritten()))
    return failure();
  return setAlignments();
}

} // namespace kvc
