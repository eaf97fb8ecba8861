//===- kvc-translate.cpp - compiles .mlir files ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Pipelines/Compile.h"
#include "kvc/Target/LLVM/JIT.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
namespace cl = llvm::cl;

static constexpr StringLiteral kTool = "kvc-translate";

static const char kOverview[] =
    "kvc compiler: .mlir in, code out\n\n"
    "  kvc-translate --kvc-to-ptx decode.mlir -o decode.ptx\n"
    "  kvc-translate --kvc-to-object --tier=avx2 decode.mlir -o decode.o\n"
    "  kvc-translate --kvc-to-object --target=gpu decode.mlir -o decode.o\n";

namespace {
enum class PlanReport { None, Print };

/// The command line. `on` tells for which targets an option means something.
struct Options {
  cl::OptionCategory category{"kvc-translate options"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<input file, - for stdin>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file, - for stdout (default)"),
                              cl::value_desc("file"), cl::init("-"), cl::cat(category)};
  cl::opt<kvc::EmitKind> emit{
      cl::desc("What to make (one of these):"), cl::Required, cl::cat(category),
      cl::values(
          clEnumValN(kvc::EmitKind::PTX, "kvc-to-ptx", "PTX text for a GPU"),
          clEnumValN(kvc::EmitKind::LLVMIR, "kvc-to-llvmir", "LLVM IR text"),
          clEnumValN(kvc::EmitKind::Object, "kvc-to-object",
                     "Relocatable object file; exports the query function of "
                     "kvc-rt/abi.h"),
          clEnumValN(kvc::EmitKind::MLIR, "kvc-to-mlir",
                     "The module after all passes of the target"))};
  cl::opt<kvc::CompileTarget> target{
      "target", cl::desc("What to compile for:"), cl::cat(category),
      cl::init(kvc::CompileTarget::CPU),
      cl::values(clEnumValN(kvc::CompileTarget::CPU, "cpu", "Optimised kernels (default)"),
                 clEnumValN(kvc::CompileTarget::Definition, "definition",
                            "The definition of each operation, as loops"),
                 clEnumValN(kvc::CompileTarget::GPU, "gpu",
                            "GPU kernels, and a host that launches them (default of "
                            "--kvc-to-ptx)"))};
  cl::opt<std::string> tier{
      "tier", cl::value_desc("name"), cl::cat(category),
      cl::desc("cpu: amx, avx512_bf16, avx512, avx2 or plain (default: the best that --cpu and "
               "--features have)")};
  cl::opt<std::string> cpu{
      "cpu", cl::value_desc("name"), cl::cat(category),
      cl::desc("cpu, definition: LLVM's name of the processor (default: the host, or "
               "x86-64 if --tier is given)")};
  cl::opt<std::string> features{
      "features", cl::value_desc("+a,-b"), cl::cat(category),
      cl::desc("cpu, definition: LLVM's features, added to those of --cpu and --tier")};
  cl::opt<std::string> layout{
      "layout", cl::value_desc("name"), cl::cat(category),
      cl::desc("cpu, definition: of caches: packed (default) or row_major")};
  cl::opt<std::string> precision{
      "precision", cl::value_desc("type"), cl::cat(category),
      cl::desc("definition: of scores and sums: f32 (default) or f64")};
  cl::opt<std::string> programName{
      "program-name", cl::value_desc("name"), cl::cat(category),
      cl::desc("the query function is <name>_program_query (default: kvc_program_query); "
               "not for --kvc-to-ptx")};
  cl::opt<std::string> chip{"chip", cl::value_desc("name"), cl::cat(category),
                            cl::desc("gpu: sm_90a (default) or sm_90")};
  cl::opt<int64_t> ptxVersion{
      "ptx-version", cl::value_desc("n"), cl::cat(category),
      cl::desc("gpu: PTX version times ten: 80 to 88 or 90 (default: 86)")};
  cl::opt<int64_t> split{
      "split", cl::value_desc("n"), cl::cat(category),
      cl::desc("cpu: keys of one decode work item (default: 4096); gpu: what they are a "
               "multiple of (default: 256)")};
  cl::opt<int64_t> cachePage{
      "cache-page", cl::value_desc("n"), cl::cat(category),
      cl::desc("find attention and caches in a model's own code, and keep the caches in pages of "
               "1 to 256 tokens (default: 0, as they are)")};
  cl::opt<PlanReport> plan{
      "kvc-plan", cl::cat(category), cl::init(PlanReport::None),
      cl::desc("cpu, gpu: what to show of the choice of schedules:"),
      cl::values(clEnumValN(PlanReport::Print, "print",
                            "what was considered, and its predicted costs, on the error "
                            "stream"))};
  cl::opt<bool> remarks{"remarks", cl::cat(category),
                        cl::desc("Print the remarks of passes, such as why a slower way "
                                 "was taken")};

  /// Reports options that the target does not have.
  LogicalResult check();
  kvc::CompileOptions get() const;
};
} // namespace

static void printError(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), kTool) << message << "\n";
}

static StringRef getTargetName(kvc::CompileTarget target) {
  switch (target) {
  case kvc::CompileTarget::CPU:
    return "cpu";
  case kvc::CompileTarget::Definition:
    return "definition";
  case kvc::CompileTarget::GPU:
    return "gpu";
  }
  llvm_unreachable("unknown target");
}

LogicalResult Options::check() {
  using kvc::CompileTarget;
  if (emit == kvc::EmitKind::PTX && target.getNumOccurrences() == 0)
    target = CompileTarget::GPU;
  bool isCPU = target == CompileTarget::CPU, isGPU = target == CompileTarget::GPU;
  bool isDefinition = target == CompileTarget::Definition;
  if (programName.getNumOccurrences() && emit == kvc::EmitKind::PTX) {
    printError("option --program-name has no meaning for --kvc-to-ptx");
    return failure();
  }
  const std::pair<const cl::Option *, bool> applies[] = {
      {&tier, isCPU},          {&cpu, !isGPU},         {&features, !isGPU},
      {&layout, !isGPU},       {&chip, isGPU},         {&ptxVersion, isGPU},
      {&split, !isDefinition}, {&precision, isDefinition}, {&plan, !isDefinition},
  };
  for (auto [option, doesApply] : applies) {
    if (option->getNumOccurrences() == 0 || doesApply)
      continue;
    printError("option --" + option->ArgStr + " has no meaning for target " +
               getTargetName(target));
    return failure();
  }
  if (split.getNumOccurrences() && split < 1) {
    printError("expected --split to be at least 1, got " + Twine(split));
    return failure();
  }
  if (ptxVersion.getNumOccurrences() && ptxVersion == 0)
    ptxVersion = -1; // refused like any other number
  return success();
}

kvc::CompileOptions Options::get() const {
  kvc::CompileOptions options;
  options.emit = emit;
  options.target = target;
  options.tier = tier;
  options.cpu = cpu;
  options.features = features;
  options.layout = layout;
  options.precision = precision;
  options.chip = chip;
  options.programName = programName;
  options.ptxVersion = ptxVersion;
  options.split = split;
  options.cachePage = cachePage;
  options.printPlan = plan == PlanReport::Print;
  return options;
}

/// Writes `data` to `path`, of which nothing is left on failure.
static LogicalResult writeOutput(StringRef path, StringRef data) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(path, &message);
  if (!file) {
    printError(message);
    return failure();
  }
  llvm::raw_fd_ostream &os = file->os();
  os << data;
  os.flush();
  if (std::error_code error = os.error()) {
    os.clear_error(); // or else the destructor ends the process
    printError("cannot write '" + path + "': " + error.message());
    return failure();
  }
  file->keep();
  return success();
}

static LogicalResult translate(const Options &options) {
  bool isBinary = options.emit == kvc::EmitKind::Object;
  if (isBinary && options.output == "-" && llvm::sys::Process::StandardOutIsDisplayed()) {
    printError("refusing to write an object file to a terminal; use -o <file>");
    return failure();
  }
  std::string message;
  auto input = openInputFile(options.input, &message);
  if (!input) {
    printError(message);
    return failure();
  }

  DialectRegistry registry;
  kvc::registerCompilerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler sourceHandler(*sources, &context);
  // What is wrong with the command line has no place in the source.
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    if (!isa<UnknownLoc>(diagnostic.getLocation()) ||
        diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    printError(diagnostic.str());
    return success();
  });
  if (options.remarks && failed(kvc::enableRemarks(context))) {
    printError("cannot enable remarks");
    return failure();
  }

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  kvc::CompileResult result;
  if (!module || kvc::compile(*module, options.get(), result) != KVC_STATUS_OK)
    return failure();
  return writeOutput(options.output, result.data);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "kvc " KVC_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  if (failed(options.check()) || failed(translate(options)))
    return EXIT_FAILURE;
  return EXIT_SUCCESS;
}
