//===- Options.cpp - the command line of kvc-run --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include "Elements.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

using namespace kvcrun;
using namespace mlir;
namespace cl = llvm::cl;

static const char kOverview[] = R"(kvc runner: compiles a .mlir file, makes caches, sequences and inputs, and runs
one function

  The values are random, approximately normal, and depend on --seed alone: not on
  layout, page order, threads or target. Slots that no sequence owns hold NaN.
  A function takes float tensors, caches and batches; all batches are the one
  that --lengths and --query-lens describe.

EXAMPLES:
  Run a decode step of three sequences, and check it against the definition:
    kvc-run decode.mlir --lengths=1,17,8192 --verify
  Time a prefill of 512 new tokens on one thread:
    kvc-run prefill.mlir --lengths=1024 --query-lens=512 --threads=1 --bench
  Give the first argument, and keep the results:
    kvc-run decode.mlir --input 0=query.npy --output-dir=results
    kvc-run decode.mlir --input 0=query.bin:f16:3x32x128 --output 0=out.npy
  Run on a GPU, or on what imitates one, and check against the definition on the CPU:
    kvc-run decode.mlir --device=cuda --verify
    kvc-run decode.mlir --device=emulator --verify
  Read the program from a pipe, and report as JSON:
    generate | kvc-run - --function=decode --bench --json

EXIT STATUS: 0, or 1 if anything went wrong or --verify found a difference.
)";

LogicalResult kvcrun::reportError(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "kvc-run") << message << "\n";
  return failure();
}

//===----------------------------------------------------------------------===//
// The options
//===----------------------------------------------------------------------===//

namespace {
enum class PageOrder { Random, Linear };
enum class BF16Output { Bits, F32 };

struct CommandLine {
  cl::OptionCategory category{"kvc-run options"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<input file, - for stdin>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> function{"function", cl::value_desc("name"), cl::cat(category),
                                cl::desc("Function to run (default: the only one)")};
  cl::opt<kvc::CompileTarget> target{
      "target", cl::desc("What to compile for:"), cl::cat(category),
      cl::init(kvc::CompileTarget::CPU),
      cl::values(clEnumValN(kvc::CompileTarget::CPU, "cpu", "Optimised kernels (default)"),
                 clEnumValN(kvc::CompileTarget::Definition, "definition",
                            "The definition of each operation, as loops"),
                 clEnumValN(kvc::CompileTarget::GPU, "gpu",
                            "GPU kernels (default of all devices but the CPU)"))};
  cl::opt<std::string> device{
      "device", cl::value_desc("name"), cl::init("cpu"), cl::cat(category),
      cl::desc("Where to run: cpu (default), emulator, cuda (or cuda:1, ...), or the path of a "
               "library with CUDA's driver interface; list: show what there is")};
  cl::opt<std::string> tier{"tier", cl::value_desc("name"), cl::cat(category),
                            cl::desc("cpu: amx, avx512_bf16, avx512, avx2 or plain (default: "
                                     "the best that the host has)")};
  cl::opt<std::string> layout{"layout", cl::value_desc("name"), cl::cat(category),
                              cl::desc("cpu, definition: of caches: packed (default) or row_major")};
  cl::opt<int64_t> split{
      "split", cl::value_desc("n"), cl::cat(category),
      cl::desc("cpu: keys of one decode work item (default: 4096); gpu: what they are a multiple "
               "of (default: 256)")};
  cl::opt<int64_t> cachePage{
      "cache-page", cl::value_desc("n"), cl::cat(category),
      cl::desc("find attention and caches in a model's own code, and keep the caches in pages of "
               "1 to 256 tokens (default: 0, as they are)")};
  cl::opt<std::string> precision{
      "precision", cl::value_desc("type"), cl::cat(category),
      cl::desc("definition: of scores and sums: f32 (default) or f64")};

  cl::list<int64_t> lengths{
      "lengths", cl::value_desc("n,n,..."), cl::CommaSeparated, cl::cat(category),
      cl::desc("Tokens of each sequence, new ones included (default: 1,17,256)")};
  cl::list<int64_t> queryLens{
      "query-lens", cl::value_desc("n,n,..."), cl::CommaSeparated, cl::cat(category),
      cl::desc("New tokens of each sequence, or one number for all; may be 0 (default: 1)")};
  cl::opt<PageOrder> pageOrder{
      "page-order", cl::cat(category), cl::init(PageOrder::Random),
      cl::desc("Pages of a sequence in the pool:"),
      cl::values(clEnumValN(PageOrder::Random, "random", "Anywhere (default)"),
                 clEnumValN(PageOrder::Linear, "linear", "One after the other"))};
  cl::opt<uint64_t> seed{"seed", cl::value_desc("n"), cl::cat(category), cl::init(0),
                         cl::desc("Of random values, pages and rows (default: 0)")};
  cl::opt<int> threads{"threads", cl::value_desc("n"), cl::cat(category), cl::init(0),
                       cl::desc("Threads to run on (default: 0, one per CPU)")};

  cl::list<std::string> inputs{
      "input", cl::value_desc("index=file"), cl::cat(category),
      cl::desc("Tensor argument from a .npy file (bf16: uint16 with the bits), or, as "
               "index=file:type:shape, raw little-endian elements (0=q.bin:f16:3x32x128)")};
  cl::list<std::string> outputs{"output", cl::value_desc("index=file.npy"), cl::cat(category),
                                cl::desc("Write a result; bf16 as --bf16-output says")};
  cl::opt<std::string> outputDir{
      "output-dir", cl::value_desc("folder"), cl::cat(category),
      cl::desc("Write all results, as result0.npy, result1.npy, ...")};
  cl::opt<BF16Output> bf16Output{
      "bf16-output", cl::cat(category), cl::init(BF16Output::Bits),
      cl::desc("How to write bf16, which NumPy lacks:"),
      cl::values(clEnumValN(BF16Output::Bits, "bits", "As uint16 with the bits (default)"),
                 clEnumValN(BF16Output::F32, "f32", "As float32 with the value"))};

  cl::opt<bool> verify{
      "verify", cl::cat(category),
      cl::desc("Compare results and appended rows with the definition in f64")};
  cl::opt<int64_t> verifyRows{
      "verify-rows", cl::value_desc("n"), cl::cat(category), cl::init(64),
      cl::desc("New tokens of each sequence that --verify compares, the first and the last "
               "among them (default: 64)")};
  cl::opt<std::string> verifyAgainst{
      "verify-against", cl::value_desc("file"), cl::Hidden, cl::cat(category),
      cl::desc("Compare with the definition of another file's function of this name")};

  cl::opt<bool> bench{
      "bench", cl::cat(category),
      cl::desc("Time compilation and calls beside the machine's read and multiply rates")};
  cl::opt<int> repetitions{"repetitions", cl::value_desc("n"), cl::cat(category), cl::init(7),
                           cl::desc("Repetitions of --bench (default: 7)")};
  cl::opt<bool> json{"json", cl::cat(category), cl::desc("Report as one JSON object")};

  /// Reads --device, and what it means for --target.
  LogicalResult readDevice(Options &options);
  LogicalResult check();
  LogicalResult fill(Options &options);
};
} // namespace

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

/// Checks `option`'s value against a range that messages spell out.
template <typename Option>
static LogicalResult checkRange(const Option &option, int64_t least, int64_t most) {
  int64_t value = option.getValue();
  if (value >= least && value <= most)
    return success();
  return reportError("expected --" + option.ArgStr + " to be from " + Twine(least) + " to " +
                     Twine(most) + ", got " + Twine(value));
}

/// Reads the name of a device other than "list".
static LogicalResult readDeviceName(StringRef text, DeviceName &name) {
  name.text = text.str();
  StringRef ordinal = text;
  if (text == "cpu") {
    name.kind = DeviceName::CPU;
  } else if (text == "emulator") {
    name.kind = DeviceName::Emulator;
  } else if (text == "cuda" ||
             (ordinal.consume_front("cuda:") && !ordinal.getAsInteger(10, name.ordinal))) {
    name.kind = DeviceName::CUDA;
  } else if (text.contains('/') || text.contains(".so")) {
    name.kind = DeviceName::Library;
    name.library = text.str();
  } else {
    return reportError("expected --device to be cpu, emulator, cuda, cuda:<number>, list or the "
                       "path of a driver library, got '" +
                       text + "'");
  }
  return success();
}

LogicalResult CommandLine::readDevice(Options &options) {
  if (device == "list") {
    options.listDevices = true;
    return success();
  }
  if (failed(readDeviceName(device, options.device)))
    return failure();
  bool isCPU = options.device.kind == DeviceName::CPU;
  if (target.getNumOccurrences() == 0 && !isCPU)
    target = kvc::CompileTarget::GPU;
  bool isGPU = target == kvc::CompileTarget::GPU;
  if (isGPU == !isCPU)
    return success();
  if (isGPU)
    return reportError("expected --device to be a device other than the CPU for target gpu");
  return reportError("expected target gpu for device '" + device + "', got " +
                     getTargetName(target));
}

LogicalResult CommandLine::check() {
  bool isCPU = target == kvc::CompileTarget::CPU, isGPU = target == kvc::CompileTarget::GPU;
  bool isDefinition = target == kvc::CompileTarget::Definition;
  const std::pair<const cl::Option *, bool> applies[] = {
      {&tier, isCPU},           {&split, !isDefinition}, {&precision, isDefinition},
      {&layout, !isGPU},        {&verifyAgainst, verify}, {&verifyRows, verify},
      {&repetitions, bench},
  };
  for (auto [option, doesApply] : applies) {
    if (option->getNumOccurrences() == 0 || doesApply)
      continue;
    if (option == &verifyAgainst || option == &verifyRows)
      return reportError("option --" + option->ArgStr + " needs --verify");
    if (option == &repetitions)
      return reportError("option --repetitions needs --bench");
    return reportError("option --" + option->ArgStr + " has no meaning for target " +
                       getTargetName(target));
  }
  if (failed(checkRange(threads, 0, 1024)) || failed(checkRange(repetitions, 1, 10000)) ||
      failed(checkRange(verifyRows, 1, INT32_MAX)))
    return failure();
  if (split.getNumOccurrences() && failed(checkRange(split, 1, 1 << 24)))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Parsing what cl does not
//===----------------------------------------------------------------------===//

/// Fills in lengths and new tokens of the sequences.
static LogicalResult readLengths(ArrayRef<int64_t> lengths, ArrayRef<int64_t> queryLens,
                                 Options &options) {
  static constexpr int64_t kDefaultLengths[] = {1, 17, 256};
  if (lengths.empty())
    lengths = kDefaultLengths;
  SmallVector<int64_t> queries(queryLens);
  if (queries.empty())
    queries = {1};
  if (queries.size() == 1)
    queries.resize(lengths.size(), queries.front());
  if (queries.size() != lengths.size())
    return reportError("expected --query-lens to have one number, or one for each of the " +
                       Twine(lengths.size()) + " sequences, got " + Twine(queries.size()));
  int64_t tokens = 0;
  for (auto [length, query] : llvm::zip(lengths, queries)) {
    if (length < 0 || length > INT32_MAX)
      return reportError("expected --lengths to be from 0 to " + Twine(INT32_MAX) + ", got " +
                         Twine(length));
    if (query < 0 || query > length)
      return reportError("expected the new tokens of a sequence of " + Twine(length) +
                         " tokens to be from 0 to " + Twine(length) + ", got --query-lens " +
                         Twine(query));
    tokens += query;
    options.lengths.push_back(static_cast<int32_t>(length));
    options.queryLens.push_back(static_cast<int32_t>(query));
  }
  if (tokens > INT32_MAX)
    return reportError("expected at most " + Twine(INT32_MAX) + " new tokens in all, got " +
                       Twine(tokens));
  return success();
}

/// Splits "index=rest".
static LogicalResult splitIndex(StringRef option, StringRef text, unsigned &index,
                                StringRef &rest) {
  auto [number, file] = text.split('=');
  if (number.getAsInteger(10, index) || file.empty())
    return reportError("expected --" + option + " to be index=file, got '" + text + "'");
  rest = file;
  return success();
}

/// Reads "3x32x128".
static bool readShape(StringRef text, std::vector<int64_t> &shape) {
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0 || size > INT32_MAX)
      return false;
    shape.push_back(size);
  }
  return true;
}

static LogicalResult readInput(StringRef text, InputFile &file) {
  StringRef rest;
  if (failed(splitIndex("input", text, file.index, rest)))
    return failure();
  file.path = rest.str();
  if (rest.ends_with(".npy"))
    return success();
  auto [pathAndType, shape] = rest.rsplit(':');
  auto [path, type] = pathAndType.rsplit(':');
  std::optional<kvc_dtype_t> dtype = parseFloatType(type);
  if (!dtype || path.empty() || !readShape(shape, file.shape))
    return reportError("expected --input to name a .npy file, or file:type:shape with type f32, "
                       "f16 or bf16 and a shape such as 3x32x128, got '" + text + "'");
  file.path = path.str();
  file.dtype = *dtype;
  return success();
}

LogicalResult CommandLine::fill(Options &options) {
  options.input = input;
  options.function = function;
  options.compile.emit = kvc::EmitKind::Program;
  options.compile.target = target;
  options.compile.tier = tier;
  // So that the definition reads the same memory.
  options.compile.layout =
      target == kvc::CompileTarget::GPU ? std::string("row_major") : layout;
  options.compile.precision = precision;
  options.compile.split = split;
  options.compile.cachePage = cachePage;
  options.randomPages = pageOrder == PageOrder::Random;
  options.seed = seed;
  options.threads = threads;
  options.outputDir = outputDir;
  options.bf16AsF32 = bf16Output == BF16Output::F32;
  options.verify = verify;
  options.verifyRows = verifyRows;
  options.verifyAgainst = verifyAgainst;
  options.bench = bench;
  options.repetitions = repetitions;
  options.json = json;
  for (StringRef text : inputs)
    if (failed(readInput(text, options.inputs.emplace_back())))
      return failure();
  for (StringRef text : outputs) {
    OutputFile &file = options.outputs.emplace_back();
    StringRef path;
    if (failed(splitIndex("output", text, file.index, path)))
      return failure();
    file.path = path.str();
  }
  return readLengths(lengths, queryLens, options);
}

/// Frees a name that an option inside LLVM's libraries has.
static void freeName(StringRef name) {
  auto &options = cl::getRegisteredOptions();
  if (auto option = options.find(name); option != options.end())
    option->second->removeArgument();
}

std::optional<Options> kvcrun::parseOptions(int argc, char **argv) {
  freeName("threads");
  static CommandLine commandLine; // cl keeps pointers to it
  cl::HideUnrelatedOptions(commandLine.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "kvc " KVC_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  Options options;
  if (failed(commandLine.readDevice(options)))
    return std::nullopt;
  if (options.listDevices)
    return options;
  if (failed(commandLine.check()) || failed(commandLine.fill(options)))
    return std::nullopt;
  return options;
}
