//===- Emit.cpp - LLVM dialect to LLVM IR and machine code ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/LLVM/Emit.h"

#include "kvc/Conversion/HostCode.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

using namespace mlir;
using namespace kvc;

void kvc::registerLLVMTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

namespace {
/// An LLVM module with its context and its target; what LLVM has to say becomes
/// a diagnostic of the MLIR module.
class Translation {
public:
  Translation(ModuleOp module, const CPUTarget &target) : module(module), target(target) {
    context.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *self) {
          static_cast<Translation *>(self)->report(*info);
        },
        this);
  }

  LogicalResult translate();
  LogicalResult emit(SmallVectorImpl<char> &object);
  void vectorizeHostCode();
  llvm::Module &getLLVMModule() { return *llvmModule; }

private:
  void report(const llvm::DiagnosticInfo &info);

  ModuleOp module;
  const CPUTarget &target;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> llvmModule;
  bool sawError = false;
};
} // namespace

void Translation::report(const llvm::DiagnosticInfo &info) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info.print(printer);
  switch (info.getSeverity()) {
  case llvm::DS_Error:
    sawError = true;
    module.emitError("LLVM: ") << text;
    break;
  case llvm::DS_Warning:
    module.emitWarning("LLVM: ") << text;
    break;
  case llvm::DS_Remark:
  case llvm::DS_Note:
    break;
  }
}

LogicalResult Translation::translate() {
  std::string error;
  llvm::Triple triple(target.triple);
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvmTarget)
    return module.emitError("LLVM: ") << error;
  machine.reset(llvmTarget->createTargetMachine(triple, target.cpu, target.features,
                                                llvm::TargetOptions(), llvm::Reloc::PIC_,
                                                std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return module.emitError("LLVM has no code generator for ") << target.triple;

  llvmModule = translateModuleToLLVMIR(module, context, "kvc");
  if (!llvmModule)
    return module.emitError("expected a module in the LLVM dialect, which this one is not");
  llvmModule->setTargetTriple(triple);
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setPICLevel(llvm::PICLevel::BigPIC);
  // Printed IR then says what it is for, to whoever compiles it further.
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
  }
  return failure(sawError);
}

/// Makes vectors of the loops of host code. Kernels of ours are vectors already, in an order
/// that was measured.
void Translation::vectorizeHostCode() {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes = builder.buildFunctionSimplificationPipeline(
      llvm::OptimizationLevel::O3, llvm::ThinOrFullLTOPhase::None);
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : *llvmModule)
    if (function.hasFnAttribute(kHostCodeFunctionAttr))
      passes.run(function, functions);
}

LogicalResult Translation::emit(SmallVectorImpl<char> &object) {
  vectorizeHostCode();
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM cannot emit object files for ") << target.triple;
  passes.run(*llvmModule);
  return failure(sawError);
}

FailureOr<std::string> kvc::emitLLVMIR(ModuleOp module, const CPUTarget &target) {
  Translation translation(module, target);
  if (failed(translation.translate()))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  translation.getLLVMModule().print(stream, nullptr);
  return text;
}

FailureOr<SmallVector<char, 0>> kvc::emitObject(ModuleOp module, const CPUTarget &target) {
  Translation translation(module, target);
  SmallVector<char, 0> object;
  if (failed(translation.translate()) || failed(translation.emit(object)))
    return failure();
  return object;
}
