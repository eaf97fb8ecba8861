//===- Compile.cpp - text or IR in, code out ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Pipelines/Compile.h"

#include "kvc/Conversion/HostABI.h"
#include "kvc/Pipelines/Pipelines.h"
#include "kvc/Target/LLVM/Emit.h"
#include "kvc/Target/LLVM/JIT.h"
#include "kvc/Target/PTX/PTX.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace kvc;

CompileResult::CompileResult() = default;
CompileResult::CompileResult(CompileResult &&) = default;
CompileResult &CompileResult::operator=(CompileResult &&) = default;
CompileResult::~CompileResult() = default;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Checks that `value` is empty or one of `allowed`, the first being the default,
/// which it becomes if empty.
static LogicalResult checkChoice(StringRef option, std::string &value,
                                 ArrayRef<StringRef> allowed, EmitErrorFn emitError) {
  if (value.empty())
    value = allowed.front();
  if (llvm::is_contained(allowed, value))
    return success();
  return emitError() << "expected " << option << " to be " << llvm::join(allowed, " or ")
                     << ", got '" << value << "'";
}

/// Checks what does not depend on the host, and fills in defaults.
static LogicalResult checkOptions(CompileOptions &options, EmitErrorFn emitError) {
  if (options.target != CompileTarget::GPU && options.emit == EmitKind::PTX)
    return emitError() << "expected target gpu to emit PTX";
  if (failed(checkChoice("layout", options.layout, {"packed", "row_major"}, emitError)) ||
      failed(checkChoice("precision", options.precision, {"f32", "f64"}, emitError)) ||
      failed(checkChoice("chip", options.chip, {"sm_90a", "sm_90"}, emitError)))
    return failure();
  if (options.ptxVersion == 0)
    options.ptxVersion = 86;
  // LLVM has no 8.9.
  if (options.ptxVersion < 80 || options.ptxVersion > 90 || options.ptxVersion == 89)
    return emitError() << "expected a PTX version (times ten) of 80 to 88 or 90, got "
                       << options.ptxVersion;
  if (options.split < 0)
    return emitError() << "expected split to be at least 1, got " << options.split;
  if (options.cachePage < 0 || options.cachePage > 256)
    return emitError() << "expected cache-page to be from 1 to 256 tokens, or 0, got "
                       << options.cachePage;
  if (!isProgramName(options.programName))
    return emitError() << "expected program-name to be a C identifier, got '"
                       << options.programName << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Fills in what PTX and programs with PTX have in common.
template <typename Options>
static void setDeviceOptions(Options &device, const CompileOptions &options) {
  device.chip = options.chip;
  device.ptxVersion = options.ptxVersion;
  device.split = options.split;
  device.printPlan = options.printPlan;
}

static LogicalResult runPasses(ModuleOp module, const CompileOptions &options,
                               CPUTier tier) {
  PassManager pm(module.getContext());
  if (options.cachePage > 0) {
    OptimizeCachePipelineOptions optimize;
    optimize.page = options.cachePage;
    buildOptimizeCachePipeline(pm, optimize);
  }
  switch (options.target) {
  case CompileTarget::CPU: {
    CPUPipelineOptions cpu;
    cpu.tier = stringifyCPUTier(tier).str();
    cpu.layout = options.layout;
    cpu.programName = options.programName;
    cpu.split = options.split;
    cpu.printPlan = options.printPlan;
    buildKVCToCPUPipeline(pm, cpu);
    break;
  }
  case CompileTarget::Definition: {
    DefinitionPipelineOptions definition;
    definition.precision = options.precision;
    definition.layout = options.layout;
    definition.programName = options.programName;
    buildKVCToDefinitionPipeline(pm, definition);
    break;
  }
  case CompileTarget::GPU: {
    if (options.emit == EmitKind::PTX) {
      PTXPipelineOptions ptx;
      setDeviceOptions(ptx, options);
      buildKVCToPTXPipeline(pm, ptx);
      break;
    }
    GPUPipelineOptions gpu;
    setDeviceOptions(gpu, options);
    gpu.programName = options.programName;
    buildKVCToGPUPipeline(pm, gpu);
    break;
  }
  }
  return pm.run(module);
}

/// Makes host code of a module in the LLVM dialect.
static LogicalResult emitHost(ModuleOp module, const CompileOptions &options,
                              const CPUTarget &target, CompileResult &result) {
  if (options.emit == EmitKind::LLVMIR) {
    FailureOr<std::string> text = emitLLVMIR(module, target);
    if (succeeded(text))
      result.data = std::move(*text);
    return text;
  }
  FailureOr<SmallVector<char, 0>> object = emitObject(module, target);
  if (failed(object))
    return failure();
  if (options.emit == EmitKind::Object) {
    result.data.assign(object->begin(), object->end());
    return success();
  }
  std::string query = getQuerySymbol(options.programName);
  auto program = JITProgram::create(*object, target, query, [&] { return module.emitError(); });
  if (succeeded(program))
    result.program = std::move(*program);
  return program;
}

kvc_status_t kvc::compile(ModuleOp module, const CompileOptions &givenOptions,
                          CompileResult &result) {
  CompileOptions options = givenOptions;
  auto emitOptionError = [&] { return emitError(UnknownLoc::get(module.getContext())); };
  if (failed(checkOptions(options, emitOptionError)))
    return KVC_STATUS_INVALID_ARGUMENT;

  // What launches kernels computes a few sizes: any processor will do.
  bool isGPU = options.target == CompileTarget::GPU;
  FailureOr<CPUTarget> cpuTarget =
      isGPU ? resolveCPUTarget(stringifyCPUTier(CPUTier::Plain), /*cpu=*/"", /*features=*/"",
                               emitOptionError)
            : resolveCPUTarget(options.tier, options.cpu, options.features, emitOptionError);
  if (failed(cpuTarget))
    return KVC_STATUS_INVALID_ARGUMENT;
  if (options.emit == EmitKind::Program && failed(checkRunsOnHost(*cpuTarget, emitOptionError)))
    return KVC_STATUS_UNSUPPORTED;

  if (failed(runPasses(module, options, cpuTarget->tier)))
    return KVC_STATUS_UNSUPPORTED;

  CompileResult made;
  if (options.emit == EmitKind::MLIR) {
    llvm::raw_string_ostream stream(made.data);
    module.print(stream);
    stream << "\n";
  } else if (options.emit == EmitKind::PTX) {
    FailureOr<std::string> ptx = getPTX(module);
    if (failed(ptx))
      return KVC_STATUS_INTERNAL;
    made.data = std::move(*ptx);
  } else if (failed(emitHost(module, options, *cpuTarget, made))) {
    return KVC_STATUS_INTERNAL;
  }
  result = std::move(made);
  return KVC_STATUS_OK;
}

kvc_status_t kvc::compile(MLIRContext &context, StringRef text, StringRef name,
                          const CompileOptions &options, CompileResult &result) {
  // The lexer needs the NUL at the end that a copy has.
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return KVC_STATUS_INVALID_ARGUMENT;
  return compile(*module, options, result);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

LogicalResult kvc::enableRemarks(MLIRContext &context) {
  remark::RemarkCategories categories;
  // `all` alone adds to kinds that are asked for, and asks for none.
  categories.passed = categories.missed = categories.analysis = categories.failed = ".*";
  return remark::enableOptimizationRemarks(
      context, /*streamer=*/nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(),
      categories, /*printAsEmitRemarks=*/true);
}
