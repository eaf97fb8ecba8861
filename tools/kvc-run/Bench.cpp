//===- Bench.cpp - times compilation and calls ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Bench.h"

#include "MachineRates.h"

#include "kvc/Support/CPUTier.h"

#include "llvm/Support/Format.h"

#include <chrono>
#include <map>

using namespace kvcrun;
using namespace mlir;

/// Calls shorter than this are repeated until they take as long, which is several time
/// slices of a busy system.
static constexpr double kLeastSeconds = 0.05;
static constexpr int kCompilations = 3;

static Spread getSpread(std::vector<double> values) {
  llvm::sort(values);
  size_t middle = values.size() / 2;
  double median = values.size() % 2 ? values[middle]
                                    : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

//===----------------------------------------------------------------------===//
// Work of a call
//===----------------------------------------------------------------------===//

/// The first key that query `query` of a sequence sees, and one past the last.
static std::pair<int64_t, int64_t> getVisibleKeys(const AttentionFacts &attention,
                                                  int64_t query, int64_t queryLen,
                                                  int64_t kvLen) {
  if (!attention.isCausal)
    return {0, kvLen};
  int64_t last = kvLen - queryLen + query + 1;
  return {attention.window ? std::max<int64_t>(0, last - *attention.window) : 0, last};
}

/// Operations of the products of queries with keys, and of weights with values.
static double countProducts(const FunctionFacts &facts, const kvc_batch_t &batch) {
  double operations = 0;
  for (const AttentionFacts &attention : facts.attentions)
    for (int32_t i = 0; i < batch.num_sequences; ++i) {
      int64_t queryLen = batch.query_start[i + 1] - batch.query_start[i];
      for (int64_t query = 0; query < queryLen; ++query) {
        auto [first, last] = getVisibleKeys(attention, query, queryLen, batch.kv_lens[i]);
        operations += 2.0 * attention.queryHeads * attention.productWidth * (last - first);
      }
    }
  return operations;
}

/// Bytes of all arrays of the keys that any query of a sequence sees, scales and zero
/// points included, each counted once, whatever number of operations reads it.
static double countBytes(const FunctionFacts &facts, const Inputs &inputs) {
  const kvc_batch_t &batch = inputs.getBatch();
  double bytes = 0;
  for (const Cache &cache : inputs.getCaches())
    for (int array = 0; array < cache.type.num_components; ++array) {
      const kvc_component_type_t &type = cache.type.components[array];
      auto reads = [&](const AttentionFacts &attention) {
        return attention.cache == cache.argument && llvm::is_contained(attention.arrays, array);
      };
      if (isStatic(type)) { // has no tokens
        if (llvm::any_of(facts.attentions, reads))
          bytes += getRowBytes(type);
        continue;
      }
      double tokens = 0;
      for (int32_t i = 0; i < batch.num_sequences; ++i) {
        int64_t queryLen = batch.query_start[i + 1] - batch.query_start[i];
        int64_t kvLen = batch.kv_lens[i], firstRead = kvLen;
        for (const AttentionFacts &attention : facts.attentions)
          if (queryLen > 0 && reads(attention))
            firstRead = std::min(firstRead,
                                 getVisibleKeys(attention, 0, queryLen, kvLen).first);
        tokens += kvLen - firstRead;
      }
      bytes += tokens * getRowBytes(type);
    }
  return bytes;
}

static std::string getPhase(const FunctionFacts &facts, const kvc_batch_t &batch) {
  if (facts.attentions.empty())
    return "no attention";
  bool hasDecode = false, hasPrefill = false;
  for (int32_t i = 0; i < batch.num_sequences; ++i) {
    int32_t queryLen = batch.query_start[i + 1] - batch.query_start[i];
    hasDecode |= queryLen == 1;
    hasPrefill |= queryLen > 1;
  }
  if (hasDecode && hasPrefill)
    return "mixed";
  return hasPrefill ? "prefill" : "decode";
}

/// The instruction that the attention of `program` multiplies with in `phase`; none if it
/// does not say, or if they differ.
static std::optional<Multiply> getMultiply(const FunctionFacts &facts, const Program &program,
                                           StringRef phase) {
  StringRef name = program.getTarget().split(' ').second;
  std::optional<kvc::CPUTier> tier = kvc::symbolizeCPUTier(name);
  if (!tier || facts.attentions.empty())
    return std::nullopt;
  const AttentionFacts &first = facts.attentions.front();
  kvc::Products products = phase == "prefill" ? first.prefillProducts : first.decodeProducts;
  for (const AttentionFacts &attention : facts.attentions)
    if ((phase != "prefill" && attention.decodeProducts != products) ||
        (phase != "decode" && attention.prefillProducts != products))
      return std::nullopt;
  if (products != kvc::Products::Fma)
    return products == kvc::Products::Bf16Tile ? Multiply::BF16Tile : Multiply::BF16Dot;
  switch (*tier) {
  case kvc::CPUTier::AMX:
  case kvc::CPUTier::AVX512BF16:
  case kvc::CPUTier::AVX512:
    return Multiply::FMA512;
  case kvc::CPUTier::AVX2:
    return Multiply::FMA256;
  case kvc::CPUTier::Plain:
    return Multiply::MulAdd128;
  }
  llvm_unreachable("unknown tier");
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Seconds of a call, the mean of `count`.
static FailureOr<double> timeCalls(const Program &program, Inputs &inputs,
                                   kvc_stream_t *stream, int64_t count) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i)
    if (failed(inputs.run(program, stream)))
      return failure();
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / count;
}

namespace {
struct ReleaseEvent {
  void operator()(kvc_event_t *event) const { kvc_event_release(event); }
};
using EventHandle = std::unique_ptr<kvc_event_t, ReleaseEvent>;

/// Times calls on a device, from the first one's begin to the last one's end.
class DeviceTimer {
public:
  /// Fails after a message.
  LogicalResult create(kvc_stream_t *stream);
  FailureOr<double> timeCalls(const Program &program, DeviceInputs &inputs, int64_t count);

private:
  LogicalResult check(kvc_status_t status) const {
    return status == KVC_STATUS_OK ? success() : reportError(kvc_last_message());
  }

  kvc_stream_t *stream = nullptr;
  EventHandle start, end;
};
} // namespace

LogicalResult DeviceTimer::create(kvc_stream_t *onStream) {
  stream = onStream;
  for (EventHandle *event : {&start, &end}) {
    kvc_event_t *created = nullptr;
    if (failed(check(kvc_event_create(stream, &created))))
      return failure();
    event->reset(created);
  }
  return success();
}

FailureOr<double> DeviceTimer::timeCalls(const Program &program, DeviceInputs &inputs,
                                         int64_t count) {
  if (failed(check(kvc_event_record(start.get(), stream))))
    return failure();
  for (int64_t i = 0; i < count; ++i)
    if (failed(inputs.launch(program)))
      return failure();
  float milliseconds = 0;
  if (failed(check(kvc_event_record(end.get(), stream))) ||
      failed(check(kvc_event_elapsed(start.get(), end.get(), &milliseconds))) ||
      failed(inputs.synchronize()))
    return failure();
  return milliseconds / 1e3 / count;
}

/// Times calls by `time`, which gives the mean seconds of a number of them, and does
/// `between` after each measurement.
static FailureOr<Spread> measureCalls(int32_t repetitions,
                                      llvm::function_ref<FailureOr<double>(int64_t)> time,
                                      llvm::function_ref<void()> between) {
  // The first call warms up, the second tells how many make a measurement.
  FailureOr<double> once = time(1);
  if (failed(once) || failed(once = time(1)))
    return failure();
  int64_t count = static_cast<int64_t>(std::clamp(kLeastSeconds / *once, 0.0, 1e6)) + 1;
  std::vector<double> calls;
  for (int i = 0; i < repetitions; ++i) {
    FailureOr<double> seconds = time(count);
    if (failed(seconds))
      return failure();
    calls.push_back(*seconds);
    between();
  }
  return getSpread(calls);
}

/// Times calls on the CPU, and what the machine can do at best.
static LogicalResult measureCPU(const Options &options, const FunctionFacts &facts,
                                const Program &program, Inputs &inputs, kvc_stream_t *stream,
                                BenchResult &result) {
  std::vector<double> reads, peaks;
  std::unique_ptr<ReadBuffer> buffer = ReadBuffer::create(stream);
  if (!buffer)
    return failure();
  std::optional<Multiply> multiply = getMultiply(facts, program, result.phase);
  FailureOr<Spread> seconds = measureCalls(
      options.repetitions,
      [&](int64_t count) { return timeCalls(program, inputs, stream, count); },
      [&] {
        reads.push_back(ReadBuffer::kBytes / buffer->read(stream));
        if (multiply)
          peaks.push_back(measurePeak(*multiply, stream));
      });
  if (failed(seconds))
    return failure();
  result.seconds = *seconds;
  result.readRate = getSpread(reads);
  if (multiply) {
    result.peakName = getMultiplyName(*multiply).str();
    result.peak = getSpread(peaks);
  }
  return success();
}

static LogicalResult measureDevice(const Options &options, const Program &program,
                                   const Device &device, DeviceInputs &inputs,
                                   BenchResult &result) {
  DeviceTimer timer;
  if (failed(timer.create(device.getStream())))
    return failure();
  FailureOr<Spread> seconds = measureCalls(
      options.repetitions,
      [&](int64_t count) { return timer.timeCalls(program, inputs, count); }, [] {});
  if (failed(seconds))
    return failure();
  result.seconds = *seconds;
  return success();
}

FailureOr<BenchResult> kvcrun::runBench(const Options &options, Compiler &compiler,
                                        const Source &source, const FunctionFacts &facts,
                                        const Program &program, Inputs &inputs,
                                        kvc_stream_t *stream, const Device *device,
                                        DeviceInputs *deviceInputs) {
  BenchResult result;
  result.phase = getPhase(facts, inputs.getBatch());
  result.tokens = inputs.getBatch().num_tokens;
  result.bytes = countBytes(facts, inputs);
  result.products = countProducts(facts, inputs.getBatch());

  std::vector<double> compile;
  for (int i = 0; i < kCompilations; ++i) {
    std::optional<Program> again = compiler.compile(source, facts.name, options.compile);
    if (!again)
      return failure();
    compile.push_back(again->milliseconds / 1000);
  }
  result.compileSeconds = getSpread(compile);
  if (failed(device ? measureDevice(options, program, *device, *deviceInputs, result)
                    : measureCPU(options, facts, program, inputs, stream, result)))
    return failure();
  return result;
}

//===----------------------------------------------------------------------===//
// Reporting
//===----------------------------------------------------------------------===//

/// Prints a line of the table; `spread` is scaled.
static void printSpread(llvm::raw_ostream &os, const Twine &name, const char *unit,
                        const Spread &spread, double scale) {
  os << llvm::format("%-26s %12.3f %-9s", name.str().c_str(), spread.median * scale, unit)
     << llvm::format(" [%.3f .. %.3f]\n", spread.least * scale, spread.most * scale);
}

static void printValue(llvm::raw_ostream &os, const char *name, const char *unit,
                       double value) {
  os << llvm::format("%-26s %12.3f ", name, value) << unit << "\n";
}

void BenchResult::print(llvm::raw_ostream &os) const {
  printSpread(os, "compile", "ms", compileSeconds, 1e3);
  printSpread(os, "call (" + phase + ")", "ms", seconds, 1e3);
  printValue(os, "new tokens", "tokens/s", tokens / seconds.median);
  double rate = bytes / seconds.median;
  printValue(os, "KV bytes a call", "MB", bytes * 1e-6);
  printValue(os, "KV read rate", "GB/s", rate * 1e-9);
  if (readRate) {
    printSpread(os, "linear read rate", "GB/s", *readRate, 1e-9);
    printValue(os, "share", "%", 100 * rate / readRate->median);
  }
  if (products == 0)
    return;
  printValue(os, "products", "GFLOP/s", products / seconds.median * 1e-9);
  if (peakName.empty())
    return;
  printSpread(os, "peak, " + peakName, "GFLOP/s", peak, 1e-9);
  printValue(os, "share", "%", 100 * products / seconds.median / peak.median);
}

static llvm::json::Object spreadToJSON(const Spread &spread) {
  return llvm::json::Object{
      {"median", spread.median}, {"min", spread.least}, {"max", spread.most}};
}

llvm::json::Object BenchResult::toJSON() const {
  llvm::json::Object object{
      {"phase", phase},
      {"compile_seconds", spreadToJSON(compileSeconds)},
      {"seconds", spreadToJSON(seconds)},
      {"new_tokens", tokens},
      {"tokens_per_second", tokens / seconds.median},
      {"kv_bytes", bytes},
      {"kv_bytes_per_second", bytes / seconds.median},
      {"flop", products},
      {"flop_per_second", products / seconds.median},
  };
  if (readRate) {
    object["linear_read_bytes_per_second"] = spreadToJSON(*readRate);
    object["share_of_read_rate"] = bytes / seconds.median / readRate->median;
  }
  if (!peakName.empty()) {
    object["peak_instruction"] = peakName;
    object["peak_flop_per_second"] = spreadToJSON(peak);
    object["share_of_peak"] = products / seconds.median / peak.median;
  }
  return object;
}
