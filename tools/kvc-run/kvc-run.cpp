//===- kvc-run.cpp - compiles a .mlir file and runs it --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Bench.h"
#include "Inputs.h"
#include "Npy.h"
#include "Options.h"
#include "Program.h"
#include "Verify.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace kvcrun;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Writes the results that were asked for.
static LogicalResult writeResults(const Options &options, const Program &program,
                                  const Inputs &inputs) {
  unsigned numResults = program.getArgs().size() - program.getNumInputs();
  std::vector<OutputFile> files = options.outputs;
  for (const OutputFile &file : files)
    if (file.index >= numResults)
      return reportError("expected the index of --output to be below the number of results, " +
                         Twine(numResults) + ", got " + Twine(file.index));
  if (!options.outputDir.empty()) {
    if (std::error_code error = llvm::sys::fs::create_directories(options.outputDir))
      return reportError("cannot make '" + options.outputDir + "': " + error.message());
    for (unsigned i = 0; i < numResults; ++i) {
      SmallString<128> path(options.outputDir);
      llvm::sys::path::append(path, "result" + Twine(i) + ".npy");
      files.push_back({i, path.str().str()});
    }
  }
  for (const OutputFile &file : files)
    if (failed(writeNpy(file.path, inputs.getTensor(program.getNumInputs() + file.index),
                        options.bf16AsF32)))
      return failure();
  return success();
}

namespace {
/// What a report says of a tensor.
struct Summary {
  double norm = 0; ///< Root of the sum of the squares of what is finite.
  int64_t numNaN = 0, numInfinite = 0;
};
} // namespace

static Summary summarize(const Tensor &tensor) {
  Summary summary;
  double squares = 0;
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    double value = loadElement(tensor.getData(), tensor.getDType(), i);
    summary.numNaN += std::isnan(value);
    summary.numInfinite += std::isinf(value);
    squares += std::isfinite(value) ? value * value : 0;
  }
  summary.norm = std::sqrt(squares);
  return summary;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

namespace {
/// All that there is to say about a run.
struct Report {
  const FunctionFacts &facts;
  const Program &program;
  const Inputs &inputs;
  int32_t threads;
  const Device *device; ///< Null: the CPU.
  std::optional<Verification> verification;
  std::optional<BenchResult> bench;

  void print(llvm::raw_ostream &os) const;
  llvm::json::Object toJSON() const;
};
} // namespace

/// "1 thread", "2 threads".
static std::string count(int64_t number, StringRef what) {
  return (Twine(number) + " " + what + (number == 1 ? "" : "s")).str();
}

static int64_t countTokens(const kvc_batch_t &batch) {
  return std::accumulate(batch.kv_lens, batch.kv_lens + batch.num_sequences, int64_t(0));
}

static void printVerification(const Verification &verification, llvm::raw_ostream &os) {
  os << "\nverify: " << count(verification.tokens, "query token")
     << " against the definition in f64\n";
  size_t width = 0;
  for (const Comparison &comparison : verification.comparisons)
    width = std::max(width, comparison.what.size());
  for (const Comparison &c : verification.comparisons) {
    os << llvm::format("  %-*s %9lld rows  ", static_cast<int>(width), c.what.c_str(),
                       static_cast<long long>(c.rows));
    if (c.measure.empty())
      os << "bit for bit";
    else
      os << llvm::formatv("worst {0} {1:e2} of {2:e0} (sequence {3}, token {4}, head {5})",
                          c.measure, c.worst, c.bound, c.sequence, c.token, c.head);
    os << (c.failures == 0 ? "  PASS\n" : "  FAIL\n");
    if (c.failures > 0)
      os << "    " << c.failures << " rows differ; " << c.failure << "\n";
  }
  os << (verification.passed() ? "PASS\n" : "FAIL\n");
}

void Report::print(llvm::raw_ostream &os) const {
  const kvc_batch_t &batch = inputs.getBatch();
  os << "@" << facts.name << " on " << program.getTarget() << ", "
     << (device ? device->getName().str() : count(threads, "thread")) << ": " << count(batch.num_sequences, "sequence") << ", "
     << count(batch.num_tokens, "new token") << ", " << count(countTokens(batch), "token")
     << " in all\n";
  ArrayRef<kvc_arg_desc_t> results = program.getArgs().drop_front(program.getNumInputs());
  for (auto [number, arg] : llvm::enumerate(results)) {
    const Tensor &tensor = inputs.getTensor(program.getNumInputs() + number);
    Summary summary = summarize(tensor);
    os << "result " << number << ": " << printShape(tensor.getShape(), arg.dtype)
       << llvm::format(", norm %.6g", summary.norm);
    if (summary.numNaN)
      os << ", " << summary.numNaN << " NaN";
    if (summary.numInfinite)
      os << ", " << summary.numInfinite << " infinite";
    os << "\n";
  }
  if (verification)
    printVerification(*verification, os);
  if (bench) {
    os << "\n";
    bench->print(os);
  }
}

static llvm::json::Object verificationToJSON(const Verification &verification) {
  llvm::json::Array comparisons;
  for (const Comparison &c : verification.comparisons) {
    llvm::json::Object object{{"what", c.what},
                              {"rows", c.rows},
                              {"failures", c.failures},
                              {"passed", c.failures == 0}};
    if (!c.measure.empty()) {
      object["measure"] = c.measure;
      object["worst"] = std::isfinite(c.worst) ? llvm::json::Value(c.worst) : nullptr;
      object["bound"] = c.bound;
      object["sequence"] = c.sequence;
      object["token"] = c.token;
      object["head"] = c.head;
    }
    if (c.failures > 0)
      object["failure"] = c.failure;
    comparisons.push_back(std::move(object));
  }
  return llvm::json::Object{{"passed", verification.passed()},
                            {"query_tokens", verification.tokens},
                            {"comparisons", std::move(comparisons)}};
}

llvm::json::Object Report::toJSON() const {
  const kvc_batch_t &batch = inputs.getBatch();
  llvm::json::Array results;
  ArrayRef<kvc_arg_desc_t> args = program.getArgs().drop_front(program.getNumInputs());
  for (auto [number, arg] : llvm::enumerate(args)) {
    const Tensor &tensor = inputs.getTensor(program.getNumInputs() + number);
    Summary summary = summarize(tensor);
    results.push_back(llvm::json::Object{{"shape", llvm::json::Array(tensor.getShape())},
                                         {"type", kvc_dtype_name(arg.dtype)},
                                         {"norm", summary.norm},
                                         {"nan", summary.numNaN},
                                         {"infinite", summary.numInfinite}});
  }
  llvm::json::Object object{{"function", facts.name},
                            {"target", program.getTarget()},
                            {"sequences", batch.num_sequences},
                            {"new_tokens", batch.num_tokens},
                            {"tokens", countTokens(batch)},
                            {"results", std::move(results)}};
  if (device)
    object["device"] = device->getName();
  else
    object["threads"] = threads;
  if (verification)
    object["verify"] = verificationToJSON(*verification);
  if (bench)
    object["bench"] = bench->toJSON();
  return object;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

/// Opens the device that was asked for, and leaves `device` null if it is the CPU.
static LogicalResult openDevice(const Options &options, std::unique_ptr<Device> &device) {
  if (options.device.kind == DeviceName::CPU)
    return success();
  device = Device::open(options.device);
  if (!device)
    return failure();
  if (options.bench && device->isEmulator())
    return reportError("expected a device that takes time for --bench, got '" +
                       options.device.text + "': the emulator counts, it does not time");
  return success();
}

/// Runs `program` on `device`, and brings back what it wrote.
static std::unique_ptr<DeviceInputs> runOnDevice(const Device &device, Inputs &inputs,
                                                 const Program &program) {
  std::unique_ptr<DeviceInputs> copies = DeviceInputs::create(device, inputs, program);
  if (!copies || failed(copies->launch(program)) || failed(copies->synchronize()) ||
      failed(copies->download()))
    return nullptr;
  return copies;
}

/// Compiles, runs, verifies, times and reports; fails after a message or a difference.
static LogicalResult runFile(const Options &options) {
  std::optional<Source> source = readSource(options.input);
  std::unique_ptr<Device> device;
  if (!source || failed(openDevice(options, device)))
    return failure();
  Compiler compiler;
  std::optional<FunctionFacts> facts =
      compiler.examine(*source, options.function, options.compile);
  if (!facts)
    return failure();
  std::optional<Program> program = compiler.compile(*source, facts->name, options.compile);
  if (!program)
    return failure();
  StreamHandle stream = makeStream(options.threads);
  if (!stream)
    return failure();
  std::unique_ptr<Inputs> inputs = Inputs::create(options, *facts, *program, stream.get());
  if (!inputs)
    return failure();
  std::unique_ptr<DeviceInputs> deviceInputs;
  if (device && !(deviceInputs = runOnDevice(*device, *inputs, *program)))
    return failure();
  if ((!device && failed(inputs->run(*program, stream.get()))) ||
      failed(writeResults(options, *program, *inputs)))
    return failure();

  Report report{*facts, *program, *inputs, kvc_stream_num_workers(stream.get()),
                device.get(), {}, {}};
  if (options.verify) {
    FailureOr<Verification> verification =
        verify(options, compiler, *source, *facts, *program, *inputs, stream.get());
    if (failed(verification))
      return failure();
    report.verification = std::move(*verification);
  }
  if (options.bench) {
    FailureOr<BenchResult> bench =
        runBench(options, compiler, *source, *facts, *program, *inputs, stream.get(),
                 device.get(), deviceInputs.get());
    if (failed(bench))
      return failure();
    report.bench = std::move(*bench);
  }
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(report.toJSON())) << "\n";
  else
    report.print(llvm::outs());
  return success(!report.verification || report.verification->passed());
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  std::optional<Options> options = parseOptions(argc, argv);
  if (!options)
    return EXIT_FAILURE;
  if (options->listDevices)
    printDevices(llvm::outs());
  else if (failed(runFile(*options)))
    return EXIT_FAILURE;
  return EXIT_SUCCESS;
}
