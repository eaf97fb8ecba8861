//===- Verify.cpp - compares a call with the definition -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition is slow, so it computes some query tokens only. Each becomes a
// sequence of its own, on the pages of the one it is from and as long as what it
// sees: its keys are its sequence's first, which for causal attention end at itself.
// Nothing is appended then, as the call under test has done so. What an append
// writes is computed apart, into small caches.
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>

using namespace kvcrun;
using namespace mlir;

/// Query tokens of one call of the definition, unless its types ask for all.
static constexpr int64_t kChunkTokens = 4;

//===----------------------------------------------------------------------===//
// Tolerances
//===----------------------------------------------------------------------===//

/// Largest relative L2 error of a row, by the type that it was rounded to.
static double getRowBound(kvc_dtype_t dtype) {
  switch (dtype) {
  case KVC_DTYPE_F32:
    return 1e-5;
  case KVC_DTYPE_F16:
    return 1e-3;
  default:
    return 5e-3;
  }
}

/// No element may be off by more than this many times the bound times the row's largest.
static constexpr double kElementFactor = 4;
static constexpr double kLSEAbsolute = 1e-4, kLSERelative = 1e-5;

/// Of a code that is made of computed numbers: at most this many steps off, where one in
/// `kCodesPerMiss` and one more of a row may be off by more than a small part of a step,
/// as numbers beside the middle of two codes may go either way.
static constexpr double kCodeSteps = 1.01, kCodeRounding = 0.05;
static constexpr int64_t kCodesPerMiss = 32;

namespace {
/// The outcome for one row.
struct RowError {
  double error = 0; ///< As the comparison's measure says.
  std::string failure; ///< Empty: within the tolerance.
};
} // namespace

static std::string printNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// True if NaN or an infinity stands where `want` has another value.
static bool differsInSpecials(double got, double want) {
  if (std::isfinite(got) && std::isfinite(want))
    return false;
  return !(std::isnan(got) && std::isnan(want)) && got != want;
}

static RowError compareRow(llvm::function_ref<double(int64_t)> getGot,
                           llvm::function_ref<double(int64_t)> getWant, int64_t width,
                           double bound) {
  double errors = 0, norm = 0, worst = 0, largest = 0;
  for (int64_t i = 0; i < width; ++i) {
    double got = getGot(i), want = getWant(i);
    if (differsInSpecials(got, want))
      return {HUGE_VAL, llvm::formatv("element {0}: expected {1}, got {2}", i, printNumber(want),
                                       printNumber(got))};
    if (!std::isfinite(want))
      continue;
    double error = std::fabs(got - want);
    errors += error * error;
    norm += want * want;
    worst = std::max(worst, error);
    largest = std::max(largest, std::fabs(want));
  }
  RowError result;
  if (errors > 0)
    result.error = std::sqrt(errors / norm);
  if (result.error > bound)
    result.failure = llvm::formatv("relative L2 error {0:e2}", result.error);
  else if (worst > kElementFactor * bound * largest)
    result.failure = llvm::formatv("an element is off by {0} beside a largest of {1}",
                                   printNumber(worst), printNumber(largest));
  return result;
}

static RowError compareLSE(double got, double want) {
  if (differsInSpecials(got, want))
    return {HUGE_VAL, llvm::formatv("expected {0}, got {1}", printNumber(want),
                                 printNumber(got))};
  if (!std::isfinite(want))
    return {};
  // Scaled, so that all are held against the bound for a log-sum-exp near 0.
  double error = std::fabs(got - want) / (1 + kLSERelative / kLSEAbsolute * std::fabs(want));
  if (error <= kLSEAbsolute)
    return {error, ""};
  return {error, llvm::formatv("expected {0}, got {1}", printNumber(want),
                                 printNumber(got))};
}

/// Compares what the codes of a row stand for, in steps of the code.
static RowError compareCodes(ArrayRef<double> got, ArrayRef<double> want,
                             ArrayRef<double> steps) {
  RowError result;
  int64_t misses = 0;
  for (auto [i, step] : llvm::enumerate(steps)) {
    if (differsInSpecials(got[i], want[i]))
      return {HUGE_VAL, llvm::formatv("element {0}: expected {1}, got {2}", i,
                                      printNumber(want[i]), printNumber(got[i]))};
    if (!std::isfinite(want[i]) || got[i] == want[i])
      continue;
    double error = std::fabs(got[i] - want[i]) / step;
    misses += error > kCodeRounding;
    if (error > kCodeSteps && result.failure.empty())
      result.failure =
          llvm::formatv("element {0}: expected {1}, got {2}, at steps of {3}", i,
                        printNumber(want[i]), printNumber(got[i]), printNumber(step));
    result.error = std::max(result.error, error);
  }
  int64_t width = static_cast<int64_t>(steps.size());
  if (misses > 1 + width / kCodesPerMiss && result.failure.empty())
    result.failure = llvm::formatv("{0} of {1} codes differ", misses, width);
  return result;
}

/// Compares one head of two rows of an array bit for bit.
static RowError compareBits(const kvc_component_type_t &array, const Row &got, const Row &want,
                            int32_t head) {
  int64_t size = kvc_dtype_size(array.dtype);
  for (int64_t w = 0; w < array.width; ++w) {
    int64_t i = int64_t{head} * array.width + w;
    if (std::memcmp(&got[i * size], &want[i * size], size) != 0)
      return {0, llvm::formatv("element {0}: expected {1}, got {2}", w,
                               printElement(array, want, i), printElement(array, got, i))};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Query tokens to compare
//===----------------------------------------------------------------------===//

namespace {
/// A query token.
struct Sample {
  int32_t sequence;
  int32_t row;    ///< Of token-indexed tensors.
  int32_t kvLen;  ///< Tokens of the cache that it may see.
};
} // namespace

/// Adds `count` or more of the queries of one sequence: the first, the last, and one
/// anywhere in each of as many equal parts between them as are wanted.
static void addQueries(int64_t numQueries, int64_t count, RandomNumbers random,
                       llvm::function_ref<void(int64_t)> add) {
  count = std::max<int64_t>(2, count);
  if (numQueries <= count) {
    for (int64_t i = 0; i < numQueries; ++i)
      add(i);
    return;
  }
  int64_t inner = numQueries - 2, parts = count - 2;
  add(0);
  for (int64_t part = 0; part < parts; ++part) {
    int64_t first = inner * part / parts, size = inner * (part + 1) / parts - first;
    add(1 + first + static_cast<int64_t>(random.bitsAt(part) % size));
  }
  add(numQueries - 1);
}

static std::vector<Sample> chooseSamples(const Options &options, const kvc_batch_t &batch,
                                         bool all, bool isCausal) {
  std::vector<Sample> samples;
  RandomNumbers random = RandomNumbers(options.seed).fork(batch.num_sequences);
  for (int32_t i = 0; i < batch.num_sequences; ++i) {
    int32_t first = batch.query_start[i], numQueries = batch.query_start[i + 1] - first;
    int64_t count = all ? numQueries : options.verifyRows;
    addQueries(numQueries, count, random.fork(i), [&](int64_t query) {
      int32_t position = batch.kv_lens[i] - numQueries + static_cast<int32_t>(query);
      samples.push_back({i, first + static_cast<int32_t>(query),
                         isCausal ? position + 1 : batch.kv_lens[i]});
    });
  }
  return samples;
}

//===----------------------------------------------------------------------===//
// Calls of the definition
//===----------------------------------------------------------------------===//

namespace {
/// A batch of sequences of one query token each, with a padded table of pages.
class SampleBatch {
public:
  explicit SampleBatch(int64_t tokens, int64_t maxPages)
      : starts(tokens + 1), lengths(tokens), positions(tokens), pages(tokens * maxPages, -1),
        slots(tokens, -1), maxPages(maxPages) {
    for (int64_t i = 0; i <= tokens; ++i)
      starts[i] = static_cast<int32_t>(i);
  }

  void set(int64_t i, int32_t kvLen, int32_t position, ArrayRef<int32_t> sequencePages) {
    lengths[i] = kvLen;
    positions[i] = position;
    llvm::copy(sequencePages.take_front(maxPages), pages.begin() + i * maxPages);
  }
  void setSlot(int64_t i, int64_t slot) { slots[i] = slot; }

  kvc_batch_t getView() const {
    kvc_batch_t view = {};
    view.struct_size = sizeof(view);
    view.num_sequences = view.num_tokens = static_cast<int32_t>(lengths.size());
    view.max_query_len = 1;
    view.max_kv_len = *std::max_element(lengths.begin(), lengths.end());
    view.query_start = starts.data();
    view.kv_lens = lengths.data();
    view.page_ids = pages.data();
    view.page_stride = maxPages;
    view.num_page_ids = static_cast<int64_t>(pages.size());
    view.slots = slots.data();
    view.positions = positions.data();
    return view;
  }

private:
  std::vector<int32_t> starts, lengths, positions, pages;
  std::vector<int64_t> slots;
  int64_t maxPages;
};

/// What is compared of an append: one array bit for bit or within its tolerance, or what
/// the arrays of a quantised component stand for.
struct AppendCheck {
  unsigned cache; ///< Argument of the function.
  unsigned array;
  bool isExact;
  std::optional<QuantizedArrays> quantized; ///< Unless bit for bit.
};

/// The sequence that a page belongs to, and its number there.
struct PageOwner {
  int32_t sequence = -1; ///< -1: none.
  int64_t number = 0;
};

/// Compares samples with the definition; all threads use it at once.
class Verifier {
public:
  Verifier(const FunctionFacts &facts, const Program &program, const Program &definition,
           const Inputs &inputs, std::vector<Cache> definitionCaches,
           std::vector<Sample> samples)
      : facts(facts), program(program), definition(definition), inputs(inputs),
        definitionCaches(std::move(definitionCaches)), samples(std::move(samples)) {
    startComparisons();
  }

  FailureOr<Verification> run(kvc_stream_t *stream);

private:
  void startComparisons();

  void runChunk(ArrayRef<Sample> chunk, kvc_stream_t *stream);
  std::vector<Tensor> gatherTensors(ArrayRef<Sample> chunk) const;
  bool callDefinition(const kvc_batch_t &batch, ArrayRef<kvc_cache_view_t> caches,
                      std::vector<Tensor> &tensors, kvc_stream_t *stream);
  void checkResults(ArrayRef<Sample> chunk, kvc_stream_t *stream);
  void checkAppends(ArrayRef<Sample> chunk, kvc_stream_t *stream);
  void checkAppend(const AppendCheck &check, const Sample &sample, const Cache &small,
                   int64_t page, Comparison &comparison);
  void checkUntouched(kvc_stream_t *stream);
  void checkPage(const Cache &cache, int array, int64_t page, const PageOwner &owner,
                 Comparison &comparison);
  void checkStatic(const Cache &cache, int array, Comparison &comparison);
  Row readToken(const Cache &cache, std::optional<unsigned> array, int64_t slot);
  void recordError();

  void record(Comparison &comparison, const Sample &sample, int32_t head,
              const RowError &error);
  void showProgress(size_t done, size_t all);

  const FunctionFacts &facts;
  const Program &program, &definition;
  const Inputs &inputs;
  const std::vector<Cache> definitionCaches; ///< Those of `inputs` as it takes them.
  std::vector<Sample> samples;
  std::vector<AppendCheck> checks; ///< One for each of `appends`.

  std::mutex mutex; ///< Of all below.
  std::vector<Comparison> results, appends, untouched;
  std::string error; ///< Of a call that failed.
  size_t done = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool showsProgress = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

/// How messages name an array of a cache argument.
static std::string nameArray(const Cache &cache, unsigned array) {
  return ("argument " + Twine(cache.argument) + ", component " +
          cache.type.components[array].name)
      .str();
}

static const Cache &findCache(const Inputs &inputs, unsigned argument) {
  return *llvm::find_if(inputs.getCaches(),
                        [&](const Cache &cache) { return cache.argument == argument; });
}

void Verifier::startComparisons() {
  ArrayRef<kvc_arg_desc_t> args = program.getArgs().drop_front(program.getNumInputs());
  for (auto [index, arg] : llvm::enumerate(args)) {
    Comparison &comparison = results.emplace_back();
    comparison.what = "result " + std::to_string(index);
    if (facts.results[index] == ResultKind::Counts)
      continue;
    bool isRows = facts.results[index] == ResultKind::Rows;
    comparison.measure = isRows ? "relative L2 error" : "error";
    comparison.bound = isRows ? getRowBound(arg.dtype) : kLSEAbsolute;
  }
  for (const AppendFacts &append : facts.appends) {
    const kvc_cache_type_t &type = findCache(inputs, append.cache).type;
    for (unsigned array : append.arrays)
      checks.push_back({append.cache, array, append.isArgument, {}});
    if (append.isArgument)
      continue;
    // Scales and codes by themselves may differ where what they stand for does not.
    if (std::optional<QuantizedArrays> arrays = findQuantized(type, append.arrays.front())) {
      checks.resize(checks.size() - append.arrays.size());
      checks.push_back({append.cache, arrays->codes, /*isExact=*/false, arrays});
    }
  }
  for (const AppendCheck &check : checks) {
    const Cache &cache = findCache(inputs, check.cache);
    Comparison &comparison = appends.emplace_back();
    comparison.what = nameArray(cache, check.array) + ", appended rows";
    if (check.isExact)
      continue;
    comparison.measure = check.quantized ? "error in steps of a code" : "relative L2 error";
    comparison.bound =
        check.quantized ? kCodeSteps : getRowBound(cache.type.components[check.array].dtype);
  }
}

/// Adds one row to `comparison`.
void Verifier::record(Comparison &comparison, const Sample &sample, int32_t head,
                      const RowError &error) {
  std::lock_guard<std::mutex> lock(mutex);
  int32_t token = sample.row - inputs.getBatch().query_start[sample.sequence];
  if (comparison.rows++ == 0 || error.error > comparison.worst) {
    comparison.worst = error.error;
    comparison.sequence = sample.sequence;
    comparison.token = token;
    comparison.head = head;
  }
  if (error.failure.empty())
    return;
  if (comparison.failures++ == 0)
    comparison.failure = llvm::formatv("sequence {0}, token {1}, head {2}: {3}",
                                       sample.sequence, token, head, error.failure);
}

/// Keeps the message of a call of the runtime that failed on this thread.
void Verifier::recordError() {
  std::lock_guard<std::mutex> lock(mutex);
  error = kvc_last_message();
}

/// Shows on a terminal how far it is, from the third second on.
void Verifier::showProgress(size_t done, size_t all) {
  constexpr std::chrono::seconds kPatience(2);
  if (!llvm::sys::Process::StandardErrIsDisplayed() ||
      std::chrono::steady_clock::now() - start < kPatience)
    return;
  showsProgress = true;
  llvm::errs() << llvm::formatv("\rverifying: {0} of {1} query tokens", done, all);
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// The tensors of a call on the tokens of `chunk` alone.
std::vector<Tensor> Verifier::gatherTensors(ArrayRef<Sample> chunk) const {
  std::vector<Tensor> tensors(definition.getArgs().size());
  for (auto [index, arg] : llvm::enumerate(definition.getArgs())) {
    if (arg.kind != KVC_ARG_TENSOR)
      continue;
    const Tensor &whole = inputs.getTensor(index);
    SmallVector<int64_t> shape(whole.getShape());
    if (isTokenIndexed(arg))
      shape[0] = static_cast<int64_t>(chunk.size());
    Tensor &part = tensors[index] = Tensor(arg.dtype, shape);
    if (!part.getData() || arg.is_result)
      continue;
    if (!isTokenIndexed(arg)) {
      std::memcpy(part.getData(), whole.getData(), whole.getNumBytes());
      continue;
    }
    int64_t rowBytes = whole.getRowBytes();
    for (auto [i, sample] : llvm::enumerate(chunk))
      std::memcpy(part.getData() + i * rowBytes, whole.getData() + sample.row * rowBytes,
                  rowBytes);
  }
  return tensors;
}

/// Calls the definition; `caches` are those of `inputs`, in order.
bool Verifier::callDefinition(const kvc_batch_t &batch, ArrayRef<kvc_cache_view_t> caches,
                              std::vector<Tensor> &tensors, kvc_stream_t *stream) {
  std::vector<const void *> arguments;
  for (auto [index, arg] : llvm::enumerate(definition.getArgs())) {
    if (arg.kind == KVC_ARG_BATCH)
      arguments.push_back(&batch);
    else if (arg.kind == KVC_ARG_TENSOR)
      arguments.push_back(tensors[index].getView());
    else
      for (auto [cache, view] : llvm::zip(inputs.getCaches(), caches))
        if (cache.argument == index)
          arguments.push_back(&view);
  }
  if (kvc_program_run(definition.program.get(), definition.function, stream, arguments.data(),
                      static_cast<uint32_t>(arguments.size())) == KVC_STATUS_OK)
    return true;
  recordError();
  return false;
}

void Verifier::checkResults(ArrayRef<Sample> chunk, kvc_stream_t *stream) {
  size_t maxPages = 1;
  for (const Sample &sample : chunk)
    maxPages = std::max(maxPages, inputs.getPages(sample.sequence).size());
  SampleBatch batch(chunk.size(), maxPages);
  for (auto [i, sample] : llvm::enumerate(chunk))
    batch.set(i, sample.kvLen, inputs.getBatch().positions[sample.row],
              inputs.getPages(sample.sequence));
  std::vector<kvc_cache_view_t> caches;
  for (const Cache &cache : definitionCaches)
    caches.push_back(cache.view);
  std::vector<Tensor> tensors = gatherTensors(chunk);
  if (!callDefinition(batch.getView(), caches, tensors, stream))
    return;

  for (auto [number, comparison] : llvm::enumerate(results)) {
    if (facts.results[number] == ResultKind::Counts) // see checkAppends
      continue;
    unsigned index = program.getNumInputs() + number;
    const Tensor &got = inputs.getTensor(index), &want = tensors[index];
    int64_t heads = got.getShape()[1];
    int64_t width = got.getNumElements() / std::max<int64_t>(1, got.getShape()[0] * heads);
    for (auto [i, sample] : llvm::enumerate(chunk))
      for (int64_t head = 0; head < heads; ++head) {
        int64_t gotRow = (sample.row * heads + head) * width;
        int64_t wantRow = (i * heads + head) * width;
        auto getGot = [&](int64_t w) {
          return loadElement(got.getData(), got.getDType(), gotRow + w);
        };
        auto getWant = [&](int64_t w) {
          return loadElement(want.getData(), want.getDType(), wantRow + w);
        };
        record(comparison, sample, static_cast<int32_t>(head),
               facts.results[number] == ResultKind::LSE
                   ? compareLSE(getGot(0), getWant(0))
                   : compareRow(getGot, getWant, width, comparison.bound));
      }
  }
}

/// Makes a cache of `pages` pages like `like`, with the same static arrays; no pool after a
/// failure.
static Cache makeCacheLike(const Cache &like, int64_t pages) {
  kvc_pool_options_t options = {};
  options.struct_size = sizeof(options);
  options.flags = KVC_POOL_DEBUG_FILL;
  options.num_pages = pages;
  options.num_layers = 1;
  kvc_pool_t *pool = nullptr;
  Cache cache = {like.argument, like.type, {}, {}};
  if (kvc_pool_create(&like.type, &options, &pool) == KVC_STATUS_OK) {
    cache.pool.reset(pool);
    (void)kvc_pool_view(pool, /*layer=*/0, &cache.view);
    for (int array = 0; array < like.type.num_components; ++array)
      if (isStatic(like.type.components[array]))
        writeStatic(like.type, cache.view, array, readStatic(like.type, like.view, array));
  }
  return cache;
}

/// Lets the definition append each token of `chunk` to a page of its own, and compares.
void Verifier::checkAppends(ArrayRef<Sample> chunk, kvc_stream_t *stream) {
  std::vector<Cache> small;
  std::vector<kvc_cache_view_t> views;
  for (const Cache &cache : definitionCaches) {
    small.push_back(makeCacheLike(cache, chunk.size()));
    if (!small.back().pool)
      return recordError();
    views.push_back(small.back().view);
  }
  const kvc_batch_t &whole = inputs.getBatch();
  int64_t pageSize = small.front().type.page_size;
  SampleBatch batch(chunk.size(), /*maxPages=*/1);
  for (auto [i, sample] : llvm::enumerate(chunk)) {
    int32_t page = static_cast<int32_t>(i);
    batch.set(i, /*kvLen=*/1, whole.positions[sample.row], page);
    batch.setSlot(i, page * pageSize + whole.slots[sample.row] % pageSize);
  }
  std::vector<Tensor> tensors = gatherTensors(chunk);
  if (!callDefinition(batch.getView(), views, tensors, stream))
    return;

  for (auto [check, comparison] : llvm::zip(checks, appends)) {
    auto isSame = [&](const Cache &cache) { return cache.argument == check.cache; };
    const Cache &want = *llvm::find_if(small, isSame);
    for (auto [i, sample] : llvm::enumerate(chunk))
      checkAppend(check, sample, want, static_cast<int64_t>(i), comparison);
  }
  for (auto [number, comparison] : llvm::enumerate(results)) {
    if (facts.results[number] != ResultKind::Counts)
      continue;
    unsigned index = program.getNumInputs() + number;
    for (auto [i, sample] : llvm::enumerate(chunk)) {
      double got = loadElement(inputs.getTensor(index).getData(), KVC_DTYPE_I32, sample.row);
      double want = loadElement(tensors[index].getData(), KVC_DTYPE_I32, i);
      RowError row;
      row.error = std::fabs(got - want);
      if (got != want)
        row.failure = llvm::formatv("expected {0}, got {1}", want, got);
      record(comparison, sample, /*head=*/0, row);
    }
  }
}

/// The row of an array at a slot; empty without an array. Of a static one all of it.
Row Verifier::readToken(const Cache &cache, std::optional<unsigned> array, int64_t slot) {
  Row row;
  if (!array)
    return row;
  if (isStatic(cache.type.components[*array]))
    return readStatic(cache.type, cache.view, *array);
  if (!readRows(cache.type, cache.view, *array, slot, row))
    recordError();
  return row;
}

/// Compares what was appended of `sample` with page `page` of `small`.
void Verifier::checkAppend(const AppendCheck &check, const Sample &sample, const Cache &small,
                           int64_t page, Comparison &comparison) {
  const Cache &cache = findCache(inputs, check.cache);
  const kvc_component_type_t &type = cache.type.components[check.array];
  int64_t slot = inputs.getBatch().slots[sample.row];
  int64_t smallSlot = page * cache.type.page_size + slot % cache.type.page_size;
  Row got = readToken(cache, check.array, slot),
      want = readToken(small, check.array, smallSlot);
  Numbers gotNumbers, wantNumbers;
  if (const std::optional<QuantizedArrays> &arrays = check.quantized) {
    gotNumbers = dequantize(cache.type, *arrays, got, readToken(cache, arrays->scales, slot),
                            readToken(cache, arrays->zeros, slot));
    wantNumbers =
        dequantize(cache.type, *arrays, want, readToken(small, arrays->scales, smallSlot),
                   readToken(small, arrays->zeros, smallSlot));
  }
  size_t width = wantNumbers.values.size() / type.heads;
  for (int32_t head = 0; head < type.heads; ++head) {
    auto getElement = [&](const Row &row, int64_t w) {
      return loadElement(row.data(), type.dtype, head * type.width + w);
    };
    if (check.isExact)
      record(comparison, sample, head, compareBits(type, got, want, head));
    else if (check.quantized)
      record(comparison, sample, head,
             compareCodes(ArrayRef(gotNumbers.values).slice(head * width, width),
                          ArrayRef(wantNumbers.values).slice(head * width, width),
                          ArrayRef(wantNumbers.steps).slice(head * width, width)));
    else
      record(comparison, sample, head,
             compareRow([&](int64_t w) { return getElement(got, w); },
                        [&](int64_t w) { return getElement(want, w); }, type.width,
                        comparison.bound));
  }
}

/// Compares with what was there before the call all of a page but the new tokens.
void Verifier::checkPage(const Cache &cache, int array, int64_t page, const PageOwner &owner,
                         Comparison &comparison) {
  const kvc_component_type_t &type = cache.type.components[array];
  int64_t pageSize = cache.type.page_size, firstToken = owner.number * pageSize;
  int64_t stored = 0, length = 0;
  if (owner.sequence >= 0) {
    stored = inputs.getStoredTokens(cache, array, owner.sequence);
    length = inputs.getBatch().kv_lens[owner.sequence];
  }
  int64_t rows = 0, failures = 0, headBytes = getRowBytes(type) / type.heads;
  std::string failure;
  for (int64_t slot = 0; slot < pageSize; ++slot) {
    int64_t token = firstToken + slot;
    if (token >= stored && token < length) // a new token
      continue;
    Row got = readToken(cache, array, page * pageSize + slot);
    Row want = token < stored ? inputs.getStoredRow(cache, array, owner.sequence, token)
                              : Row(got.size(), '\xff'); // nobody's
    for (int64_t head = 0; head < type.heads; ++head) {
      ++rows;
      if (std::memcmp(&got[head * headBytes], &want[head * headBytes], headBytes) != 0 &&
          failures++ == 0)
        failure = llvm::formatv("page {0}, slot {1}, head {2}: changed by the call", page, slot,
                                head);
    }
  }
  std::lock_guard<std::mutex> lock(mutex);
  comparison.rows += rows;
  if (comparison.failures == 0)
    comparison.failure = failure;
  comparison.failures += failures;
}

/// Compares a static array with what was there before the call.
void Verifier::checkStatic(const Cache &cache, int array, Comparison &comparison) {
  Row got = readStatic(cache.type, cache.view, array), want = inputs.getStaticRow(cache, array);
  comparison.rows = cache.type.components[array].heads;
  comparison.failures = got != want;
  comparison.failure = got != want ? "changed by the call" : "";
}

void Verifier::checkUntouched(kvc_stream_t *stream) {
  std::vector<PageOwner> owners(inputs.getCaches().front().view.num_pages);
  for (int32_t sequence = 0; sequence < inputs.getBatch().num_sequences; ++sequence)
    for (auto [number, page] : llvm::enumerate(inputs.getPages(sequence)))
      owners[page] = {sequence, static_cast<int64_t>(number)};
  for (const Cache &cache : inputs.getCaches())
    for (int array = 0; array < cache.type.num_components; ++array) {
      auto appendsToCache = [&](const AppendFacts &append) {
        return append.cache == cache.argument;
      };
      bool isStaticArray = isStatic(cache.type.components[array]);
      if (isStaticArray ? llvm::none_of(facts.appends, appendsToCache)
                        : !facts.appendsTo(cache.argument, array))
        continue;
      Comparison &comparison = untouched.emplace_back();
      comparison.what = nameArray(cache, array) + (isStaticArray ? "" : ", other rows");
      if (isStaticArray)
        checkStatic(cache, array, comparison);
      else
        parallelFor(stream, cache.view.num_pages, [&](int64_t page, int32_t) {
          checkPage(cache, array, page, owners[page], comparison);
        });
    }
}

FailureOr<Verification> Verifier::run(kvc_stream_t *stream) {
  int64_t numSamples = static_cast<int64_t>(samples.size());
  int64_t numChunks = llvm::divideCeil(numSamples, kChunkTokens);
  if (getStaticTokens(definition))
    numChunks = std::min<int64_t>(1, numChunks); // of all tokens
  int64_t chunkTokens = numChunks == 1 ? numSamples : kChunkTokens;
  // Each thread calls the definition on a stream of its own.
  std::vector<StreamHandle> streams;
  for (int32_t i = 0, e = kvc_stream_num_workers(stream); i < e; ++i)
    if (!streams.emplace_back(makeStream(1)))
      return failure();
  parallelFor(stream, numChunks, [&](int64_t item, int32_t worker) {
    ArrayRef<Sample> chunk =
        ArrayRef(samples).drop_front(item * chunkTokens).take_front(chunkTokens);
    checkResults(chunk, streams[worker].get());
    if (!facts.appends.empty())
      checkAppends(chunk, streams[worker].get());
    std::lock_guard<std::mutex> lock(mutex);
    showProgress(done += chunk.size(), samples.size());
  });
  if (error.empty() && !facts.appends.empty())
    checkUntouched(stream);
  if (showsProgress)
    llvm::errs() << "\r\x1b[K";
  if (!error.empty())
    return reportError("cannot run the definition: " + error);
  Verification result;
  result.tokens = numSamples;
  for (std::vector<Comparison> *some : {&results, &appends, &untouched})
    llvm::append_range(result.comparisons, *some);
  return result;
}

//===----------------------------------------------------------------------===//
// The definition
//===----------------------------------------------------------------------===//

static LogicalResult checkSameArguments(const Program &program, const Program &definition) {
  auto isSame = [](const kvc_arg_desc_t &a, const kvc_arg_desc_t &b) {
    return a.kind == b.kind && a.is_result == b.is_result && a.rank == b.rank &&
           a.dtype == b.dtype && std::equal(a.shape, a.shape + a.rank, b.shape);
  };
  ArrayRef<kvc_arg_desc_t> a = program.getArgs(), b = definition.getArgs();
  if (a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), isSame))
    return success();
  return reportError("expected the function of --verify-against to have the same arguments and "
                     "results");
}

/// True if rows of `b` are those of `a`: the same arrays in pages of the same size.
static bool haveSameRows(const kvc_cache_type_t &a, const kvc_cache_type_t &b) {
  auto isSame = [](const kvc_component_type_t &x, const kvc_component_type_t &y) {
    return std::strcmp(x.name, y.name) == 0 && x.heads == y.heads && x.width == y.width &&
           x.dtype == y.dtype && x.scale == y.scale && isStatic(x) == isStatic(y);
  };
  return a.page_size == b.page_size && a.num_components == b.num_components &&
         std::equal(a.components, a.components + a.num_components, b.components, isSame);
}

/// Copies the rows of all pages to a cache of another layout.
static bool copyRows(const Cache &from, const Cache &to, kvc_stream_t *stream,
                     std::string &message) {
  std::mutex mutex;
  for (int array = 0; array < from.type.num_components; ++array) {
    if (isStatic(from.type.components[array])) {
      writeStatic(to.type, to.view, array, readStatic(from.type, from.view, array));
      continue;
    }
    parallelFor(stream, from.view.num_pages, [&](int64_t page, int32_t) {
      std::vector<int64_t> slots(from.type.page_size);
      std::iota(slots.begin(), slots.end(), page * from.type.page_size);
      Row rows;
      if (readRows(from.type, from.view, array, slots, rows) &&
          writeRows(to.type, to.view, array, slots, rows))
        return;
      std::lock_guard<std::mutex> lock(mutex);
      message = kvc_last_message();
    });
  }
  return message.empty();
}

/// The caches of a call as the definition takes them, which may choose other layouts.
static FailureOr<std::vector<Cache>>
makeDefinitionCaches(const Inputs &inputs, const Program &definition, kvc_stream_t *stream) {
  std::vector<Cache> result;
  for (const Cache &cache : inputs.getCaches()) {
    Cache same = {cache.argument, cache.type, {}, cache.view};
    if (cache.argument >= definition.getArgs().size()) { // no argument of any function
      result.push_back(std::move(same));
      continue;
    }
    const kvc_cache_type_t &type =
        definition.getCacheType(definition.getArgs()[cache.argument]);
    if (!haveSameRows(cache.type, type))
      return reportError("expected argument " + Twine(cache.argument) +
                         " of the function of --verify-against to be a cache of the same "
                         "components and page size");
    if (kvc_cache_type_fingerprint(&cache.type) == kvc_cache_type_fingerprint(&type)) {
      result.push_back(std::move(same));
      continue;
    }
    same.type = type;
    result.push_back(makeCacheLike(same, cache.view.num_pages));
    std::string message = result.back().pool ? "" : kvc_last_message();
    if (!message.empty() || !copyRows(cache, result.back(), stream, message))
      return reportError("cannot copy a cache to the layout of the definition: " + message);
  }
  return result;
}

static FailureOr<bool> areAllCausal(const FunctionFacts &facts) {
  auto isCausal = [](const AttentionFacts &attention) { return attention.isCausal; };
  if (llvm::all_of(facts.attentions, isCausal))
    return true;
  if (llvm::none_of(facts.attentions, isCausal))
    return false;
  return reportError("cannot verify '" + facts.name +
                     "': expected its attention to be all causal or all not");
}

FailureOr<Verification> kvcrun::verify(const Options &options, Compiler &compiler,
                                       const Source &source, const FunctionFacts &facts,
                                       const Program &program, const Inputs &inputs,
                                       kvc_stream_t *stream) {
  kvc::CompileOptions compile;
  compile.target = kvc::CompileTarget::Definition;
  compile.precision = "f64";
  compile.layout = options.compile.layout;
  std::optional<Source> other;
  if (!options.verifyAgainst.empty() && !(other = readSource(options.verifyAgainst)))
    return failure();
  const Source &text = other ? *other : source;
  std::optional<FunctionFacts> definitionFacts = compiler.examine(text, facts.name, compile);
  if (!definitionFacts)
    return failure();
  std::optional<Program> definition = compiler.compile(text, facts.name, compile);
  if (!definition || failed(checkSameArguments(program, *definition)))
    return failure();
  FailureOr<bool> isCausal = areAllCausal(*definitionFacts);
  if (failed(isCausal))
    return failure();
  FailureOr<std::vector<Cache>> caches = makeDefinitionCaches(inputs, *definition, stream);
  if (failed(caches))
    return failure();
  bool all = getStaticTokens(*definition).has_value();
  return Verifier(facts, program, *definition, inputs, std::move(*caches),
                  chooseSamples(options, inputs.getBatch(), all, *isCausal))
      .run(stream);
}
