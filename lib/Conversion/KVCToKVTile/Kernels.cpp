//===- Kernels.cpp - parameters and attributes of kernels -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"

using namespace mlir;
using namespace kvc::kvtile;

namespace kvc {

/// Registers a thread may have.
static constexpr int32_t kMaxRegisters = 255;

void KernelSignature::add(std::string name, Type type, int32_t alignment) {
  indices[name] = names.size();
  names.push_back(std::move(name));
  types.push_back(type);
  alignments.push_back(alignment);
}

void KernelSignature::add(StringRef name) {
  MLIRContext *context = op->getContext();
  Type type = LLVM::LLVMPointerType::get(context, 1);
  if (name == "batch page_stride" || name == "rows")
    type = IntegerType::get(context, 64);
  else if (llvm::is_contained({"batch num_tokens", "batch num_sequences", "batch max_kv_len",
                               "list target"},
                              name))
    type = IntegerType::get(context, 32);
  add(name.str(), type, 0);
}

std::string KernelSignature::nameOf(Operation *owner, Value tensor) const {
  std::string prefix;
  if (owner != op)
    prefix = "op " + std::to_string(std::distance(owner->getBlock()->begin(),
                                                  owner->getIterator())) + " ";
  for (OpOperand &operand : owner->getOpOperands())
    if (operand.get() == tensor)
      return prefix + "operand " + std::to_string(operand.getOperandNumber());
  return prefix + "result " + std::to_string(cast<OpResult>(tensor).getResultNumber());
}

void KernelSignature::addTensorOf(Operation *owner, Value tensor, int32_t alignment) {
  auto type = cast<RankedTensorType>(tensor.getType());
  MLIRContext *context = op->getContext();
  Type element = type.getElementType();
  std::string name = nameOf(owner, tensor);
  if (indices.count(name)) // a tensor may be an operand twice
    return;
  if (type.getRank() == 1)
    return add(name, HeadsType::get(context, type.getDimSize(0), element), alignment);
  int64_t width = type.getRank() == 3 ? type.getDimSize(2) : 0;
  add(name, RowsType::get(context, type.getDimSize(1), width, element), alignment);
}

void KernelSignature::addComponent(ComponentAttr component, int32_t alignment) {
  auto cache = cast<CacheType>(op->getOperand(0).getType());
  add(("component " + component.getName().getValue()).str(),
      PagesType::get(op->getContext(), cache.getPageSize(), component.getHeads(),
                     component.getWidth(), component.getElementType()),
      alignment);
}

Value KernelArguments::get(StringRef name) const {
  auto found = signature->indices.find(name);
  assert(found != signature->indices.end() && "the signature has every parameter");
  return values[found->second];
}

Value KernelArguments::tensorOf(Operation *owner, Value tensor) const {
  return get(signature->nameOf(owner, tensor));
}

Value KernelArguments::component(ComponentAttr component) const {
  return get(("component " + component.getName().getValue()).str());
}

KernelOp createKernel(OpBuilder &b, Location loc, StringRef name, const KernelOrigin &origin,
                      StringRef kind, ArrayRef<int32_t> grid, int64_t threads,
                      int64_t sharedBytes, const KernelSignature &signature,
                      KernelArguments &arguments) {
  auto kernel = KernelOp::create(b, loc, b.getStringAttr(name),
                                 TypeAttr::get(b.getFunctionType(signature.types, {})),
                                 StringAttr(), ArrayAttr(), ArrayAttr(),
                                 b.getI32IntegerAttr(threads), b.getI32IntegerAttr(sharedBytes),
                                 b.getI32IntegerAttr(kMaxRegisters));
  kernel->setAttr("kvc.function", b.getStringAttr(origin.function));
  kernel->setAttr("kvc.op", b.getI32IntegerAttr(origin.op));
  kernel->setAttr("kvc.kind", b.getStringAttr(kind));
  kernel->setAttr("kvc.grid", b.getDenseI32ArrayAttr(grid));
  SmallVector<StringRef> names(signature.names.begin(), signature.names.end());
  kernel->setAttr("kvc.parameters", b.getStrArrayAttr(names));
  kernel->setAttr("kvc.alignments", b.getDenseI32ArrayAttr(signature.alignments));
  Block *body = b.createBlock(&kernel.getBody(), {}, signature.types,
                              SmallVector<Location>(signature.types.size(), loc));
  arguments = KernelArguments(signature, body->getArguments());
  return kernel;
}

void setPartAttributes(KernelOp kernel, AttentionOp op, const KernelShape &shape) {
  Builder b(op.getContext());
  auto schedule = cast<GPUScheduleAttr>(op.getScheduleAttr());
  kernel->setAttr("kvc.split", b.getI32IntegerAttr(schedule.getSplit()));
  kernel->setAttr("kvc.query_tokens", b.getI32IntegerAttr(shape.stream.getQueryTokens()));
  kernel->setAttr("kvc.query_heads", b.getI32IntegerAttr(shape.queryHeads));
  kernel->setAttr("kvc.width", b.getI32IntegerAttr(shape.valueWidth));
  if (op.getDeterministic())
    kernel->setAttr("kvc.deterministic", b.getUnitAttr());
}

} // namespace kvc
