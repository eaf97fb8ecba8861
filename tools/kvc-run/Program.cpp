//===- Program.cpp - a .mlir file, and what it compiles to ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include "Options.h"

#include "kvc/Dialect/KVC/IR/KVC.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>

using namespace kvcrun;
using namespace mlir;

std::optional<Source> kvcrun::readSource(StringRef path) {
  std::string message;
  auto file = openInputFile(path, &message);
  if (!file) {
    (void)reportError(message);
    return std::nullopt;
  }
  return Source{file->getBufferIdentifier().str(), file->getBuffer().str()};
}

bool FunctionFacts::appendsTo(unsigned cache, unsigned array) const {
  return llvm::any_of(appends, [&](const AppendFacts &append) {
    return append.cache == cache && llvm::is_contained(append.arrays, array);
  });
}

//===----------------------------------------------------------------------===//
// Messages of the compiler
//===----------------------------------------------------------------------===//

namespace {
/// A text, and handlers that print diagnostics beside its lines.
class ParsedSource {
public:
  ParsedSource(MLIRContext &context, const Source &source)
      : sourceHandler(addText(source), &context),
        // What is wrong with the command line has no place in the source.
        optionHandler(&context, [](Diagnostic &diagnostic) {
          if (!isa<UnknownLoc>(diagnostic.getLocation()) ||
              diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          return success(failed(reportError(diagnostic.str())));
        }) {
    module = parseSourceFile<ModuleOp>(sources, &context);
  }

  OwningOpRef<ModuleOp> module; ///< Null after a message.

private:
  llvm::SourceMgr &addText(const Source &source) {
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(source.text, source.name), llvm::SMLoc());
    return sources;
  }

  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler sourceHandler;
  ScopedDiagnosticHandler optionHandler;
};
} // namespace

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  kvc::registerCompilerDialects(registry);
  return registry;
}

Compiler::Compiler() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      functions.push_back(function);
  std::string names = llvm::join(
      llvm::map_range(functions, [](func::FuncOp f) { return f.getName().str(); }), ", ");
  if (functions.empty())
    return module.emitError("expected a public function to run");
  if (name.empty() && functions.size() == 1)
    return functions.front();
  if (name.empty())
    return reportError("expected --function to choose one of the functions: " + names);
  for (func::FuncOp function : functions)
    if (function.getName() == name)
      return function;
  return reportError("expected --function to be one of the functions: " + names + ", got '" +
                     name + "'");
}

static ResultKind getKind(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (result && isa<kvc::AppendOp>(result.getOwner()))
    return ResultKind::Counts;
  bool isLSE = result && result.getResultNumber() == 1 &&
               isa<kvc::AttentionOp, kvc::MergeOp>(result.getOwner());
  return isLSE ? ResultKind::LSE : ResultKind::Rows;
}

/// Refuses arguments and results that this tool cannot make.
static LogicalResult checkTypes(func::FuncOp function) {
  auto refuse = [&](StringRef what, unsigned index, Type type) {
    return function.emitError() << what << " " << index << ": cannot run a function with "
                                << type
                                << (what == "argument"
                                        ? "; expected tensors of f32, f16 or bf16 of rank 1 to "
                                          "3, caches and batches"
                                        : "; expected tensors of f32, f16 or bf16 of rank 2 or "
                                          "3, and what kvc.append counts");
  };
  auto isTensor = [](Type type, int64_t leastRank) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() >= leastRank && tensor.getRank() <= 3 &&
           (tensor.getElementType().isF32() || tensor.getElementType().isF16() ||
            tensor.getElementType().isBF16());
  };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (!isTensor(type, /*leastRank=*/1) && !isa<kvc::CacheType, kvc::BatchType>(type))
      return refuse("argument", index, type);
  auto *end = function.front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (!isTensor(value.getType(), /*leastRank=*/2) && getKind(value) != ResultKind::Counts)
      return refuse("result", index, value.getType());
  return success();
}

/// The number of the argument that `cache` is.
static FailureOr<unsigned> getCacheArgument(Operation *op, Value cache) {
  auto arg = dyn_cast<BlockArgument>(cache);
  if (!arg || !isa<func::FuncOp>(arg.getOwner()->getParentOp()))
    return op->emitOpError("cannot be run: expected the cache to be an argument of the function");
  return arg.getArgNumber();
}

/// The arrays of a component, as places among those of the cache.
static SmallVector<unsigned> getArrays(kvc::CacheType type, StringRef component) {
  SmallVector<unsigned> arrays;
  for (StringRef suffix :
       {StringRef(), StringRef(kvc::kScaleSuffix), StringRef(kvc::kZeroSuffix)})
    if (int64_t index = type.getArrayIndex((component + suffix).str()); index >= 0)
      arrays.push_back(index);
  return arrays;
}

static LogicalResult addAttention(kvc::AttentionOp op, FunctionFacts &facts) {
  FailureOr<unsigned> cache = getCacheArgument(op, op.getCache());
  if (failed(cache))
    return failure();
  AttentionFacts attention = {};
  attention.cache = *cache;
  attention.queryHeads = op.getQueryHeads();
  attention.productWidth = op.getValueComponent().getWidth();
  auto type = cast<kvc::CacheType>(op.getCache().getType());
  auto addComponent = [&](StringRef name) {
    for (unsigned array : getArrays(type, name))
      if (!llvm::is_contained(attention.arrays, array))
        attention.arrays.push_back(array);
  };
  for (unsigned i = 0; i < op.getQueries().size(); ++i) {
    attention.productWidth += op.getTermComponent(i).getWidth();
    addComponent(op.getTermComponent(i).getName().getValue());
  }
  addComponent(op.getValue());
  for (Attribute modifier : op.getModifiers()) {
    attention.isCausal |= isa<kvc::CausalAttr>(modifier);
    if (auto window = dyn_cast<kvc::WindowAttr>(modifier))
      attention.window = window.getSize();
  }
  if (std::optional<Attribute> schedule = op.getSchedule())
    if (auto cpu = dyn_cast<kvc::CPUScheduleAttr>(*schedule)) {
      attention.decodeProducts = cpu.getDecode().getProducts();
      attention.prefillProducts = cpu.getPrefill().getProducts();
    }
  facts.attentions.push_back(std::move(attention));
  return success();
}

static LogicalResult addAppend(kvc::AppendOp op, FunctionFacts &facts) {
  FailureOr<unsigned> cache = getCacheArgument(op, op.getCache());
  if (failed(cache))
    return failure();
  auto type = cast<kvc::CacheType>(op.getCache().getType());
  SmallVector<kvc::CacheArray> all = type.getArrays();
  for (auto [name, rows] :
       llvm::zip(op.getComponents().getAsRange<StringAttr>(), op.getValues())) {
    SmallVector<unsigned> arrays = getArrays(type, name.getValue());
    llvm::erase_if(arrays, [&](unsigned array) { return all[array].isStatic; });
    facts.appends.push_back({*cache, std::move(arrays), isa<BlockArgument>(rows)});
  }
  return success();
}

/// Writes the schedules that the CPU pipeline would choose into `module`.
static LogicalResult planCPU(ModuleOp module, const kvc::CompileOptions &options) {
  auto emit = [&] { return emitError(UnknownLoc::get(module.getContext())); };
  FailureOr<kvc::CPUTarget> target =
      kvc::resolveCPUTarget(options.tier, options.cpu, options.features, emit);
  if (failed(target))
    return failure();
  kvc::PlanPassOptions plan;
  plan.target = "cpu";
  plan.tier = kvc::stringifyCPUTier(target->tier).str();
  PassManager pm(module.getContext());
  pm.addPass(kvc::createPlanPass(plan));
  return pm.run(module);
}

std::optional<FunctionFacts> Compiler::examine(const Source &source, StringRef name,
                                               const kvc::CompileOptions &options) {
  ParsedSource parsed(context, source);
  if (!parsed.module)
    return std::nullopt;
  FailureOr<func::FuncOp> function = findFunction(*parsed.module, name);
  if (failed(function) || failed(checkTypes(*function)))
    return std::nullopt;
  if (options.target == kvc::CompileTarget::CPU && failed(planCPU(*parsed.module, options)))
    return std::nullopt;
  FunctionFacts facts;
  facts.name = function->getName().str();
  WalkResult walked = function->walk([&](Operation *op) -> WalkResult {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](kvc::AttentionOp attention) { return addAttention(attention, facts); })
        .Case([&](kvc::AppendOp append) { return addAppend(append, facts); })
        .Case([&](func::ReturnOp op) {
          for (Value value : op.getOperands())
            facts.results.push_back(getKind(value));
          return success();
        })
        .Default(success());
  });
  if (walked.wasInterrupted())
    return std::nullopt;
  return facts;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::optional<Program> Compiler::compile(const Source &source, StringRef function,
                                         const kvc::CompileOptions &options) {
  auto start = std::chrono::steady_clock::now();
  ParsedSource parsed(context, source);
  Program result;
  if (!parsed.module || kvc::compile(*parsed.module, options, result.code) != KVC_STATUS_OK)
    return std::nullopt;
  std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  result.milliseconds = elapsed.count();
  const kvc_program_t *program = nullptr;
  bool isLoaded =
      kvc_program_load(result.code.program->getQuery(), &program) == KVC_STATUS_OK;
  result.program.reset(program);
  if (!isLoaded ||
      kvc_program_find(program, function.str().c_str(), &result.function) != KVC_STATUS_OK) {
    (void)reportError(kvc_last_message());
    return std::nullopt;
  }
  return result;
}

/// The part of the blob at `offset`.
template <typename T>
static const T *getAt(const kvc_program_t *program, kvc_offset_t offset) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(program->blob) + offset);
}

ArrayRef<kvc_arg_desc_t> Program::getArgs() const {
  const kvc_function_desc_t *desc = kvc_program_function(program.get(), function);
  return {getAt<kvc_arg_desc_t>(program.get(), desc->args), desc->num_args};
}

unsigned Program::getNumInputs() const {
  return kvc_program_function(program.get(), function)->num_inputs;
}

const kvc_cache_type_t &Program::getCacheType(const kvc_arg_desc_t &arg) const {
  return getAt<kvc_cache_type_t>(program.get(), program->blob->cache_types)[arg.cache_type];
}

StringRef Program::getTarget() const {
  return getAt<char>(program.get(), program->blob->target);
}
