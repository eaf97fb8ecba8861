//===- Kernels.cpp - parameters and attributes of kernels -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include "kvc/Conversion/KernelBuilder.h"

using namespace mlir;
using namespace kvc::kvtile;

namespace kvc {

/// Registers a thread may have.
static constexpr int32_t kMaxRegisters = 255;

void KernelArguments::add(const KernelParameter &parameter, Type type, int32_t alignment) {
  if (llvm::is_contained(parameters, parameter)) // a tensor may be an operand twice
    return;
  parameters.push_back(parameter);
  types.push_back(type);
  alignments.push_back(alignment);
}

void KernelArguments::add(KernelValue value) {
  add(value, getParameterTypes(value, op, kGlobalSpace)->front(), 0);
}

KernelParameter KernelArguments::parameterOf(Operation *owner, Value tensor) const {
  auto found = llvm::find_if(owner->getOpOperands(),
                             [&](OpOperand &operand) { return operand.get() == tensor; });
  KernelParameter parameter =
      found != owner->getOpOperands().end()
          ? KernelParameter::operand(found->getOperandNumber())
          : KernelParameter::result(cast<OpResult>(tensor).getResultNumber());
  if (owner != op)
    parameter.op = std::distance(owner->getBlock()->begin(), owner->getIterator());
  return parameter;
}

void KernelArguments::addTensorOf(Operation *owner, Value tensor, int32_t alignment) {
  auto type = cast<RankedTensorType>(tensor.getType());
  MLIRContext *context = op->getContext();
  Type element = type.getElementType();
  KernelParameter parameter = parameterOf(owner, tensor);
  if (type.getRank() == 1) {
    int64_t size = type.isDynamicDim(0) ? INT32_MAX : type.getDimSize(0);
    return add(parameter, HeadsType::get(context, size, element), alignment);
  }
  int64_t width = type.getRank() == 3 ? type.getDimSize(2) : 0;
  add(parameter, RowsType::get(context, type.getDimSize(1), width, element), alignment);
}

void KernelArguments::addArray(StringRef name, int32_t alignment) {
  auto cache = cast<CacheType>(op->getOperand(0).getType());
  CacheArray array = cache.getArrays()[cache.getArrayIndex(name)];
  // The name is one that the context keeps, as that of a component is.
  StringRef kept = StringAttr::get(op->getContext(), name).getValue();
  add(KernelParameter::component(kept),
      PagesType::get(op->getContext(), cache.getPageSize(), array.heads, array.width,
                     array.getMemoryElement()),
      alignment);
}

Value KernelArguments::find(const KernelParameter &parameter) const {
  auto found = llvm::find(parameters, parameter);
  assert(found != parameters.end() && "every parameter was added");
  return values[found - parameters.begin()];
}

Value KernelArguments::tensorOf(Operation *owner, Value tensor) const {
  return find(parameterOf(owner, tensor));
}

Value KernelArguments::array(StringRef name) const {
  return find(KernelParameter::component(name));
}

KernelOp createKernel(OpBuilder &b, Location loc, StringRef name, KernelDescription description,
                      KernelArguments &arguments) {
  ArrayRef<Type> types = arguments.types;
  auto kernel = KernelOp::create(
      b, loc, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})), StringAttr(),
      ArrayAttr(), ArrayAttr(), b.getI32IntegerAttr(description.threads),
      b.getI32IntegerAttr(description.sharedBytes), b.getI32IntegerAttr(kMaxRegisters));
  description.parameters = arguments.parameters;
  description.alignments = arguments.alignments;
  setKernelDescription(kernel, description);
  Block *body =
      b.createBlock(&kernel.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  arguments.values = body->getArguments();
  return kernel;
}

KernelDescription describeAttention(const KernelDescription &origin, AttentionOp op,
                                    const KernelShape &shape) {
  KernelDescription description = origin;
  description.kind = KernelKind::Attention;
  description.split = cast<GPUScheduleAttr>(op.getScheduleAttr()).getSplit();
  description.queryTokens = shape.stream.getQueryTokens();
  description.queryHeads = shape.queryHeads;
  description.width = shape.valueWidth;
  description.deterministic = op.getDeterministic();
  description.cluster = shape.cluster;
  return description;
}

} // namespace kvc
