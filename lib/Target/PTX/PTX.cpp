//===- PTX.cpp - PTX text of a compiled module ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/PTX/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace kvc;

void kvc::registerPTXTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
}

/// The name of a function that `text` declares without a body, or empty.
static StringRef findExternalFunction(StringRef text) {
  size_t begin = text.find(".extern .func");
  if (begin == StringRef::npos)
    return {};
  StringRef declaration = text.substr(begin).drop_front(StringRef(".extern .func").size());
  declaration = declaration.take_until([](char c) { return c == ';'; }).ltrim();
  if (declaration.consume_front("(")) // the result
    declaration = declaration.drop_until([](char c) { return c == ')'; }).drop_front();
  return declaration.take_until([](char c) { return c == '('; }).trim();
}

FailureOr<std::string> kvc::getPTX(ModuleOp module) {
  auto binaries = llvm::to_vector(module.getOps<gpu::BinaryOp>());
  if (binaries.size() != 1)
    return module.emitError("expected at least one function of kvc operations to make PTX "
                            "of, which gives one gpu.binary; got ")
           << binaries.size();
  ArrayAttr objects = binaries[0].getObjects();
  auto object = objects.size() == 1 ? dyn_cast<gpu::ObjectAttr>(objects[0]) : nullptr;
  if (!object || object.getFormat() != gpu::CompilationTarget::Assembly)
    return binaries[0].emitOpError("expected one object of PTX text");
  StringRef text = object.getObject().getValue().rtrim('\0');
  if (StringRef name = findExternalFunction(text); !name.empty())
    return binaries[0].emitOpError("expected device code that needs no library, but it "
                                   "calls '")
           << name << "'";
  return text.str();
}
