//===- Inputs.cpp - caches, sequences and tensors of a call ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Inputs.h"

#include "MachineRates.h"
#include "Npy.h"

#include "llvm/Support/FormatVariadic.h"

#include <mutex>

using namespace kvcrun;
using namespace mlir;

/// Pages that stay free, full of NaN.
static constexpr int64_t kFreePages = 3;

/// An argument number that no function has: the cache that a function without one
/// takes its sequences from.
static constexpr unsigned kNoArgument = ~0u;

std::optional<int64_t> kvcrun::getStaticTokens(const Program &program) {
  for (const kvc_arg_desc_t &arg : program.getArgs())
    if (isTokenIndexed(arg) && arg.shape[0] != KVC_DYNAMIC)
      return arg.shape[0];
  return std::nullopt;
}

/// Reports what the runtime said.
static LogicalResult check(kvc_status_t status) {
  return status == KVC_STATUS_OK ? success() : reportError(kvc_last_message());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int64_t countPages(const Options &options, int64_t pageSize) {
  int64_t count = kFreePages;
  for (int32_t length : options.lengths)
    count += llvm::divideCeil(length, pageSize);
  return count;
}

/// Refuses what does not fit, before the system ends the process for it.
LogicalResult Inputs::checkMemory() const {
  double needed = 0, tokens = 0;
  for (int32_t query : options.queryLens)
    tokens += query;
  for (const kvc_arg_desc_t &arg : program.getArgs()) {
    if (isTokenIndexed(arg)) {
      double row = kvc_dtype_size(arg.dtype);
      for (int i = 1; i < arg.rank; ++i)
        row *= arg.shape[i];
      needed += tokens * row;
    }
    if (arg.kind != KVC_ARG_CACHE)
      continue;
    const kvc_cache_type_t &type = program.getCacheType(arg);
    double bytesPerToken = 0;
    for (int i = 0; i < type.num_components; ++i)
      if (!isStatic(type.components[i]))
        bytesPerToken += double(getRowBytes(type.components[i]));
    needed += double(countPages(options, type.page_size)) * type.page_size * bytesPerToken;
  }
  std::optional<uint64_t> available = getAvailableMemory();
  if (!available || needed <= double(*available))
    return success();
  return reportError(llvm::formatv("expected caches and tensors to fit in the {0:f2} GB of "
                                   "memory that are available, got {1:f2} GB",
                                   *available * 1e-9, needed * 1e-9)
                         .str());
}

//===----------------------------------------------------------------------===//
// Caches and sequences
//===----------------------------------------------------------------------===//

LogicalResult Inputs::makeCaches() {
  for (auto [index, arg] : llvm::enumerate(program.getArgs()))
    if (arg.kind == KVC_ARG_CACHE && failed(makeCache(index, program.getCacheType(arg))))
      return failure();
  if (!caches.empty())
    return success();
  // Sequences have to be of some pool.
  kvc_cache_type_t none = {};
  none.page_size = 16;
  none.num_components = 1;
  none.components[0] = {"none", 1, 1, KVC_DTYPE_F16, KVC_LAYOUT_ROW_MAJOR, 0, 0};
  return makeCache(kNoArgument, none);
}

LogicalResult Inputs::makeCache(unsigned argument, const kvc_cache_type_t &type) {
  if (!caches.empty() && caches.front().type.page_size != type.page_size)
    return reportError("expected all caches to have the same page size, got " +
                       Twine(caches.front().type.page_size) + " for argument " +
                       Twine(caches.front().argument) + " and " + Twine(type.page_size) +
                       " for argument " + Twine(argument));
  kvc_pool_options_t pool = {};
  pool.struct_size = sizeof(pool);
  pool.flags = KVC_POOL_DEBUG_FILL;
  pool.num_pages = countPages(options, type.page_size);
  pool.num_layers = 1;
  // Equal seeds and calls give equal pages in every pool.
  pool.page_order_seed = options.randomPages ? std::max<uint64_t>(1, options.seed + 1) : 0;
  kvc_pool_t *created = nullptr;
  if (failed(check(kvc_pool_create(&type, &pool, &created))))
    return failure();
  Cache cache = {argument, type, PoolHandle(created), {}};
  if (failed(check(kvc_pool_view(created, /*layer=*/0, &cache.view))))
    return failure();
  caches.push_back(std::move(cache));
  return makeSequences(caches.back());
}

/// Makes the sequences of `cache`, on the same pages as in the caches before it.
LogicalResult Inputs::makeSequences(Cache &cache) {
  std::vector<kvc_sequence_t> made(options.lengths.size());
  std::vector<std::vector<int32_t>> madePages(made.size());
  for (kvc_sequence_t &sequence : made)
    if (failed(check(kvc_sequence_create(cache.pool.get(), &sequence))))
      return failure();
  for (auto [sequence, sequencePages, length] : llvm::zip(made, madePages, options.lengths)) {
    if (failed(check(kvc_sequence_append(cache.pool.get(), sequence, length))))
      return failure();
    sequencePages.resize(llvm::divideCeil(length, cache.type.page_size));
    int32_t count;
    if (failed(check(kvc_sequence_pages(cache.pool.get(), sequence, sequencePages.data(),
                                        static_cast<int32_t>(sequencePages.size()), &count))))
      return failure();
  }
  if (caches.size() == 1) {
    sequences = std::move(made);
    pages = std::move(madePages);
    return success();
  }
  return madePages == pages ? success()
                            : reportError("expected the pools of two caches to give the same "
                                          "pages; please report it");
}

LogicalResult Inputs::makeBatch() {
  kvc_batch_object_t *created = nullptr;
  if (failed(check(kvc_batch_create(caches.front().pool.get(), sequences.data(),
                                    options.queryLens.data(),
                                    static_cast<int32_t>(sequences.size()), &created))))
    return failure();
  batch.reset(created);
  return success();
}

int32_t Inputs::getStoredTokens(const Cache &cache, unsigned array, unsigned sequence) const {
  int32_t length = options.lengths[sequence];
  return facts.appendsTo(cache.argument, array) ? length - options.queryLens[sequence] : length;
}

Row Inputs::getStoredRow(const Cache &cache, unsigned array, unsigned sequence,
                         int64_t token) const {
  const kvc_component_type_t &type = cache.type.components[array];
  RandomNumbers numbers = random.fork(cache.argument).fork(array).fork(sequence);
  return makeRandomRow(cache.type, array, numbers, token * type.heads * type.width);
}

Row Inputs::getStaticRow(const Cache &cache, unsigned array) const {
  return makeRandomRow(cache.type, array, random.fork(cache.argument).fork(array), 0);
}

/// Writes the rows of one page that are there before the call.
bool Inputs::fillPage(const Cache &cache, unsigned array, unsigned sequence,
                      int64_t number) const {
  int64_t pageSize = cache.type.page_size, first = number * pageSize;
  int64_t last = std::min<int64_t>(first + pageSize, getStoredTokens(cache, array, sequence));
  Row rows;
  std::vector<int64_t> slots;
  for (int64_t token = first; token < last; ++token) {
    llvm::append_range(rows, getStoredRow(cache, array, sequence, token));
    slots.push_back(getPages(sequence)[number] * pageSize + token - first);
  }
  return writeRows(cache.type, cache.view, array, slots, rows);
}

LogicalResult Inputs::fillCaches(kvc_stream_t *stream) {
  std::string message;
  std::mutex mutex;
  for (const Cache &cache : caches) {
    if (cache.argument == kNoArgument)
      continue;
    for (int array = 0; array < cache.type.num_components; ++array) {
      if (isStatic(cache.type.components[array])) {
        writeStatic(cache.type, cache.view, array, getStaticRow(cache, array));
        continue;
      }
      for (unsigned sequence = 0; sequence < pages.size(); ++sequence)
        parallelFor(stream, pages[sequence].size(), [&](int64_t number, int32_t) {
          if (fillPage(cache, array, sequence, number))
            return;
          std::lock_guard<std::mutex> lock(mutex);
          message = kvc_last_message();
        });
    }
  }
  return message.empty() ? success() : reportError(message);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The shape of argument or result `index`, with the batch's tokens and, for an
/// argument of unknown size, the shape of its raw file.
FailureOr<std::vector<int64_t>> Inputs::getShape(unsigned index) const {
  const kvc_arg_desc_t &arg = program.getArgs()[index];
  std::vector<int64_t> shape(arg.shape, arg.shape + arg.rank);
  int64_t tokens = getBatch().num_tokens;
  bool isInput = index < program.getNumInputs();
  std::string name = isInput ? "argument " + std::to_string(index)
                             : "result " + std::to_string(index - program.getNumInputs());
  if (isTokenIndexed(arg) && shape[0] == KVC_DYNAMIC)
    shape[0] = tokens;
  if (isTokenIndexed(arg) && shape[0] != tokens)
    return reportError(name + ": expected " + Twine(shape[0]) +
                       " new tokens in all, got " + Twine(tokens) +
                       " from --lengths and --query-lens");
  for (const InputFile &file : options.inputs) {
    if (!isInput || file.index != index || file.dtype == 0)
      continue;
    bool fits = file.shape.size() == shape.size() && file.dtype == arg.dtype;
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits &= shape[i] == KVC_DYNAMIC || shape[i] == file.shape[i];
    if (!fits)
      return reportError(name + ": expected " + printShape(shape, arg.dtype) + ", got " +
                         printShape(file.shape, file.dtype) + " from --input");
    shape = file.shape;
  }
  if (llvm::is_contained(shape, KVC_DYNAMIC))
    return reportError(name + ": expected sizes that are known, but for the number of tokens; "
                              "got " + printShape(shape, arg.dtype));
  return shape;
}

LogicalResult Inputs::makeTensors() {
  tensors.resize(program.getArgs().size());
  for (auto [index, arg] : llvm::enumerate(program.getArgs())) {
    if (arg.kind == KVC_ARG_CACHE) {
      auto cache = llvm::find_if(caches, [&](const Cache &c) { return c.argument == index; });
      arguments.push_back(&cache->view);
      continue;
    }
    if (arg.kind == KVC_ARG_BATCH) {
      arguments.push_back(&getBatch());
      continue;
    }
    FailureOr<std::vector<int64_t>> shape = getShape(index);
    if (failed(shape))
      return failure();
    Tensor &tensor = tensors[index] = Tensor(arg.dtype, *shape);
    if (!tensor.getData())
      return reportError("no memory for " + printShape(*shape, arg.dtype));
    arguments.push_back(tensor.getView());
    RandomNumbers numbers = random.fork(index);
    if (!arg.is_result)
      for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
        storeElement(tensor.getData(), arg.dtype, i, numbers.at(i));
  }
  return success();
}

LogicalResult Inputs::readFiles() {
  for (const InputFile &file : options.inputs) {
    if (file.index >= program.getNumInputs())
      return reportError("expected the index of --input to be below the number of arguments, " +
                         Twine(program.getNumInputs()) + ", got " + Twine(file.index));
    if (program.getArgs()[file.index].kind != KVC_ARG_TENSOR)
      return reportError("expected --input for a tensor, got argument " + Twine(file.index) +
                         ", which is a cache or a batch");
    Tensor &tensor = tensors[file.index];
    if (failed(file.dtype == 0 ? readNpy(file.path, tensor) : readRaw(file.path, tensor)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::unique_ptr<Inputs> Inputs::create(const Options &options, const FunctionFacts &facts,
                                       const Program &program, kvc_stream_t *stream) {
  std::unique_ptr<Inputs> inputs(new Inputs(options, facts, program));
  if (failed(inputs->checkMemory()) || failed(inputs->makeCaches()) ||
      failed(inputs->makeBatch()) || failed(inputs->makeTensors()) ||
      failed(inputs->readFiles()) || failed(inputs->fillCaches(stream)))
    return nullptr;
  return inputs;
}

LogicalResult Inputs::run(const Program &program, kvc_stream_t *stream) {
  return check(kvc_program_run(program.program.get(), program.function, stream, arguments.data(),
                               static_cast<uint32_t>(arguments.size())));
}
