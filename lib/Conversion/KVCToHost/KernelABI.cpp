//===- KernelABI.cpp - the attributes of kernels --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/KernelABI.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;

static constexpr std::pair<KernelKind, StringLiteral> kKinds[] = {
    {KernelKind::Append, "append"},       {KernelKind::Rope, "rope"},
    {KernelKind::Merge, "merge"},         {KernelKind::WorkList, "worklist"},
    {KernelKind::Attention, "attention"}, {KernelKind::Combine, "combine"},
};

static constexpr std::pair<KernelPhase, StringLiteral> kPhases[] = {
    {KernelPhase::Decode, "decode"},
    {KernelPhase::Prefill, "prefill"},
};

StringRef kvc::stringifyKernelKind(KernelKind kind) {
  return llvm::find_if(kKinds, [&](auto &entry) { return entry.first == kind; })->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void kvc::setKernelDescription(Operation *kernel, const KernelDescription &description) {
  Builder b(kernel->getContext());
  auto setNumber = [&](StringRef name, int32_t number) {
    kernel->setAttr(name, b.getI32IntegerAttr(number));
  };
  kernel->setAttr("kvc.function", b.getStringAttr(description.function));
  kernel->setAttr("kvc.kind", b.getStringAttr(stringifyKernelKind(description.kind)));
  setNumber("kvc.op", description.op);
  for (auto [phase, name] : kPhases)
    if (phase == description.phase)
      kernel->setAttr("kvc.phase", b.getStringAttr(name));
  kernel->setAttr("kvc.grid", b.getDenseI32ArrayAttr(description.grid));
  SmallVector<Attribute> parameters;
  for (const KernelParameter &parameter : description.parameters)
    parameters.push_back(b.getStringAttr(parameter.print()));
  kernel->setAttr("kvc.parameters", b.getArrayAttr(parameters));
  if (!description.alignments.empty())
    kernel->setAttr("kvc.alignments", b.getDenseI32ArrayAttr(description.alignments));
  if (description.kind != KernelKind::Attention)
    return;
  setNumber("kvc.split", description.split);
  setNumber("kvc.query_tokens", description.queryTokens);
  setNumber("kvc.query_heads", description.queryHeads);
  setNumber("kvc.width", description.width);
  if (description.deterministic)
    kernel->setAttr("kvc.deterministic", b.getUnitAttr());
  if (description.cluster > 1)
    setNumber("kvc.cluster", description.cluster);
}

LLVM::LLVMFuncOp kvc::createKernel(OpBuilder &b, Operation *op, StringRef name,
                                   const KernelDescription &description,
                                   unsigned addressSpace) {
  SmallVector<Type> types;
  for (const KernelParameter &parameter : description.parameters)
    llvm::append_range(types, *getParameterTypes(parameter, op, addressSpace));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
  auto kernel = LLVM::LLVMFuncOp::create(b, op->getLoc(), name, type);
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr(description.threads));
  setKernelDescription(kernel, description);
  kernel->setAttr("kvc.threads", b.getI32IntegerAttr(description.threads));
  kernel->setAttr("kvc.shared_bytes", b.getI32IntegerAttr(description.sharedBytes));
  b.setInsertionPointToStart(kernel.addEntryBlock(b));
  return kernel;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads the attributes of one kernel.
namespace {
struct DescriptionReader {
  LLVM::LLVMFuncOp kernel;

  InFlightDiagnostic expected(StringRef name, const Twine &what) {
    InFlightDiagnostic diag = kernel.emitOpError("expected '") << name << "' to be " << what;
    if (Attribute attr = kernel->getAttr(name))
      diag << ", got " << attr;
    else
      diag << ", got none";
    return diag;
  }

  /// Fills `number`, which must be from `min` to `max`.
  LogicalResult read(StringRef name, int64_t min, int64_t max, int32_t &number) {
    auto attr = kernel->getAttrOfType<IntegerAttr>(name);
    if (!attr || !attr.getType().isInteger(32) || attr.getInt() < min || attr.getInt() > max)
      return expected(name, "an i32 from " + Twine(min) + " to " + Twine(max));
    number = attr.getInt();
    return success();
  }

  /// Fills `value`, whose spelling must be in `table`.
  template <typename T, size_t count>
  LogicalResult read(StringRef name, const std::pair<T, StringLiteral> (&table)[count],
                     T &value) {
    auto attr = kernel->getAttrOfType<StringAttr>(name);
    std::string choices;
    for (auto [choice, spelling] : table) {
      if (attr && attr.getValue() == spelling) {
        value = choice;
        return success();
      }
      choices += (choices.empty() ? "\"" : ", \"") + spelling.str() + "\"";
    }
    return expected(name, "one of " + choices);
  }

  LogicalResult readGrid(int32_t (&grid)[3]) {
    auto attr = kernel->getAttrOfType<DenseI32ArrayAttr>("kvc.grid");
    if (!attr || attr.size() != 3 || llvm::count(attr.asArrayRef(), 0) > 1 ||
        llvm::any_of(attr.asArrayRef(), [](int32_t extent) { return extent < 0; }))
      return expected("kvc.grid", "three numbers of at least 0, of which one may be 0");
    llvm::copy(attr.asArrayRef(), grid);
    return success();
  }

  LogicalResult readParameters(KernelDescription &description) {
    auto attr = kernel->getAttrOfType<ArrayAttr>("kvc.parameters");
    if (!attr)
      return expected("kvc.parameters", "an array of strings");
    for (Attribute entry : attr) {
      auto text = dyn_cast<StringAttr>(entry);
      auto parameter = text ? KernelParameter::parse(text.getValue()) : std::nullopt;
      if (!parameter)
        return kernel.emitOpError("expected a parameter as in KernelABI.h, got ") << entry;
      description.parameters.push_back(*parameter);
    }
    return success();
  }

  LogicalResult readAlignments(KernelDescription &description) {
    if (!kernel->hasAttr("kvc.alignments"))
      return success();
    auto attr = kernel->getAttrOfType<DenseI32ArrayAttr>("kvc.alignments");
    if (!attr || static_cast<size_t>(attr.size()) != description.parameters.size())
      return expected("kvc.alignments", "a number for each of the " +
                                            Twine(description.parameters.size()) +
                                            " parameters");
    for (auto [alignment, parameter] :
         llvm::zip(attr.asArrayRef(), description.parameters)) {
      if (alignment == 0)
        continue;
      if (!parameter.hasStrides())
        return kernel.emitOpError("expected no alignment of '")
               << parameter.print() << "', got " << alignment;
      if (alignment < 0 || !llvm::isPowerOf2_32(alignment))
        return kernel.emitOpError("expected the alignment of '")
               << parameter.print() << "' to be a power of two, got " << alignment;
    }
    llvm::append_range(description.alignments, attr.asArrayRef());
    return success();
  }

  LogicalResult readCluster(KernelDescription &description) {
    if (!kernel->hasAttr("kvc.cluster"))
      return success();
    if (failed(read("kvc.cluster", 1, INT32_MAX, description.cluster)))
      return failure();
    if (!llvm::is_contained({1, 2, 4, 8}, description.cluster))
      return expected("kvc.cluster", "1, 2, 4 or 8");
    if (description.cluster > 1 && description.deterministic)
      return kernel.emitOpError("expected no 'kvc.cluster' beside 'kvc.deterministic'");
    if (description.cluster > 1 && description.grid[1] != 0)
      return kernel.emitOpError("expected 'kvc.grid' with a 0 for y beside 'kvc.cluster', got ")
             << description.grid[1];
    return success();
  }

  LogicalResult readAttention(KernelDescription &description) {
    description.deterministic = kernel->hasAttr("kvc.deterministic");
    return success(succeeded(read("kvc.split", 1, INT32_MAX, description.split)) &&
                   succeeded(read("kvc.query_tokens", 1, INT16_MAX, description.queryTokens)) &&
                   succeeded(read("kvc.query_heads", 1, INT32_MAX, description.queryHeads)) &&
                   succeeded(read("kvc.width", 1, INT32_MAX, description.width)) &&
                   succeeded(readCluster(description)));
  }
};
} // namespace

FailureOr<KernelDescription> kvc::getKernelDescription(LLVM::LLVMFuncOp kernel) {
  DescriptionReader reader{kernel};
  KernelDescription description;
  auto function = kernel->getAttrOfType<StringAttr>("kvc.function");
  if (!function)
    return LogicalResult(reader.expected("kvc.function", "the name of a function"));
  description.function = function.getValue();
  int32_t op = 0;
  if (failed(reader.read("kvc.op", 0, INT32_MAX, op)) ||
      failed(reader.read("kvc.kind", kKinds, description.kind)) ||
      (kernel->hasAttr("kvc.phase") &&
       failed(reader.read("kvc.phase", kPhases, description.phase))) ||
      failed(reader.readGrid(description.grid)) ||
      failed(reader.read("kvc.threads", 1, 1024, description.threads)) ||
      failed(reader.read("kvc.shared_bytes", 0, INT32_MAX, description.sharedBytes)) ||
      failed(reader.readParameters(description)) || failed(reader.readAlignments(description)))
    return failure();
  description.op = op;
  if (description.kind == KernelKind::Attention && failed(reader.readAttention(description)))
    return failure();
  return description;
}
