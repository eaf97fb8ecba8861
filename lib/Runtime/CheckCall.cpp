//===- CheckCall.cpp - checks of the arguments of a call ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through the arguments of a call: each by itself first, then what they
// have to agree on.
//===----------------------------------------------------------------------===//
#include "CheckCall.h"
#include "Descriptor.h"
#include "Status.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace kvc::rt;

using Long = long long; // what %lld takes

kvc_status_t ArgContext::fail(kvc_status_t status, const char *format,
                              ...) const {
  char text[768];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (!function)
    return kvc::rt::fail(status, "%s", text);
  if (index == kMadeInside)
    return kvc::rt::fail(status, "function '%s', batch made inside: %s",
                         function, text);
  return kvc::rt::fail(status, "function '%s', argument %u: %s", function,
                       index, text);
}

namespace {
/// A call together with its descriptor.
struct Call {
  Call(const kvc_program_t *program, uint32_t function, const kvc_call_t &call)
      : blob(program->blob), name(getName(blob, function)),
        numArgs(getFunction(blob, function).num_args),
        descs(getArgs(blob, function)), numGiven(call.num_args),
        maxQueryLen(getFunction(blob, function).max_query_len),
        args(call.args) {}

  const kvc_tensor_t &tensor(uint32_t i) const {
    return *static_cast<const kvc_tensor_t *>(args[i]);
  }
  const kvc_batch_t &batch(uint32_t i) const {
    return *static_cast<const kvc_batch_t *>(args[i]);
  }
  CacheArg cache(uint32_t i) const {
    return {i, static_cast<const kvc_cache_view_t *>(args[i]),
            &getCacheType(blob, descs[i])};
  }
  bool isTokenTensor(uint32_t i) const {
    return descs[i].kind == KVC_ARG_TENSOR && descs[i].rows_are_tokens;
  }
  ArgContext context(uint32_t i) const { return {name, i}; }

  kvc_status_t checkPresence() const;
  kvc_status_t checkShapes(uint32_t count) const;
  kvc_status_t checkEach() const;
  kvc_status_t checkTokenCounts() const;
  kvc_status_t checkBatchesInCaches() const;

  const kvc_blob_t *blob;
  const char *name;
  uint32_t numArgs;
  const kvc_arg_desc_t *descs;
  uint32_t numGiven;
  uint32_t maxQueryLen;
  const void *const *args;
};
} // namespace

/// True if the data of a program's calls is the host's to read.
static bool isReadable(const kvc_blob_t *blob) { return blob->num_images == 0; }

static const char *getKindName(kvc_arg_kind_t kind) {
  switch (kind) {
  case KVC_ARG_TENSOR:
    return "tensor";
  case KVC_ARG_CACHE:
    return "cache";
  default:
    return "batch";
  }
}

/// Checks that there are as many arguments as the function has, none null.
kvc_status_t Call::checkPresence() const {
  if (numGiven != numArgs)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "function '%s': expected %u arguments, got %u", name, numArgs,
                numGiven);
  if (!args && numArgs > 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "function '%s': expected an array of %u arguments, got null",
                name, numArgs);
  for (uint32_t i = 0; i < numArgs; ++i)
    if (!args[i])
      return context(i).fail(KVC_STATUS_INVALID_ARGUMENT,
                             "expected a %s, got null",
                             getKindName(descs[i].kind));
  return KVC_STATUS_OK;
}

/// Checks the shapes of the tensors among the first `count` arguments.
kvc_status_t Call::checkShapes(uint32_t count) const {
  for (uint32_t i = 0; i < count; ++i)
    if (descs[i].kind == KVC_ARG_TENSOR)
      KVC_RETURN_IF_FAILED(checkTensorShape(context(i), descs[i], tensor(i)));
  return KVC_STATUS_OK;
}

kvc_status_t Call::checkEach() const {
  for (uint32_t i = 0; i < numArgs; ++i) {
    switch (descs[i].kind) {
    case KVC_ARG_TENSOR:
      KVC_RETURN_IF_FAILED(checkTensor(context(i), descs[i], tensor(i)));
      break;
    case KVC_ARG_CACHE:
      KVC_RETURN_IF_FAILED(
          checkCache(context(i), cache(i), descs[i].alignment));
      break;
    default:
      KVC_RETURN_IF_FAILED(checkBatchShape(context(i), batch(i), maxQueryLen));
      if (isReadable(blob))
        KVC_RETURN_IF_FAILED(checkBatchArrays(context(i), batch(i)));
      break;
    }
  }
  return KVC_STATUS_OK;
}

/// Checks that all tensors whose rows are tokens have the same number of them,
/// that of the batch if there is exactly one.
kvc_status_t Call::checkTokenCounts() const {
  uint32_t numBatches = 0, batchIndex = 0, first = numArgs;
  for (uint32_t i = 0; i < numArgs; ++i) {
    if (descs[i].kind == KVC_ARG_BATCH) {
      ++numBatches;
      batchIndex = i;
    }
    if (isTokenTensor(i) && first == numArgs)
      first = i;
  }
  for (uint32_t i = first; i < numArgs; ++i) {
    if (!isTokenTensor(i))
      continue;
    int64_t rows = tensor(i).shape[0];
    if (numBatches == 1 && rows != batch(batchIndex).num_tokens)
      return context(i).fail(KVC_STATUS_INVALID_ARGUMENT,
                             "expected a row for each of the %d tokens of the "
                             "batch in argument %u, got %lld",
                             batch(batchIndex).num_tokens, batchIndex,
                             Long{rows});
    if (rows != tensor(first).shape[0])
      return context(i).fail(KVC_STATUS_INVALID_ARGUMENT,
                             "expected as many rows as argument %u has (%lld), "
                             "got %lld",
                             first, Long{tensor(first).shape[0]}, Long{rows});
  }
  return KVC_STATUS_OK;
}

kvc_status_t Call::checkBatchesInCaches() const {
  for (uint32_t c = 0; c < numArgs; ++c) {
    if (descs[c].kind != KVC_ARG_CACHE)
      continue;
    CacheArg current = cache(c);
    // The caches of many layers are alike; one of a kind is enough.
    auto isAlike = [&](uint32_t other) {
      return descs[other].kind == KVC_ARG_CACHE &&
             cache(other).view->num_pages == current.view->num_pages &&
             cache(other).type->page_size == current.type->page_size;
    };
    bool isKnown = false;
    for (uint32_t other = 0; other < c && !isKnown; ++other)
      isKnown = isAlike(other);
    if (isKnown)
      continue;
    for (uint32_t i = 0; i < numArgs; ++i)
      if (descs[i].kind == KVC_ARG_BATCH)
        KVC_RETURN_IF_FAILED(checkBatchInCache(context(i), batch(i), current));
  }
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkCall(const kvc_program_t *program, uint32_t function,
                                const kvc_call_t *call) {
  KVC_RETURN_IF_FAILED(checkFunction(program, function));
  const char *name = getName(program->blob, function);
  if (!call)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "function '%s': expected a call, got null", name);
  if (call->struct_size < sizeof(*call))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "function '%s': expected a struct_size of a call of at least "
                "%zu, got %u",
                name, sizeof(*call), call->struct_size);
  Call checked(program, function, *call);
  KVC_RETURN_IF_FAILED(checked.checkPresence());
  KVC_RETURN_IF_FAILED(checked.checkEach());
  KVC_RETURN_IF_FAILED(checked.checkTokenCounts());
  return isReadable(program->blob) ? checked.checkBatchesInCaches()
                                   : kvc_status_t{KVC_STATUS_OK};
}

kvc_status_t kvc::rt::checkBatch(const kvc_program_t *program,
                                 uint32_t function, const kvc_batch_t *batch,
                                 const kvc_cache_view_t *cache,
                                 int32_t pageSize) {
  KVC_RETURN_IF_FAILED(checkFunction(program, function));
  ArgContext context{getName(program->blob, function), ArgContext::kMadeInside};
  if (!batch)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected a batch, got null");
  const kvc_blob_t *blob = program->blob;
  KVC_RETURN_IF_FAILED(checkBatchShape(
      context, *batch, getFunction(blob, function).max_query_len));
  if (isReadable(blob))
    KVC_RETURN_IF_FAILED(checkBatchArrays(context, *batch));
  if (!cache)
    return KVC_STATUS_OK;
  if (pageSize < 1)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected a page size of at least 1, got %d", pageSize);
  if (!isReadable(blob))
    return KVC_STATUS_OK;
  kvc_cache_type_t type = {};
  type.page_size = pageSize;
  return checkBatchInCache(context, *batch,
                           CacheArg{ArgContext::kMadeInside, cache, &type});
}

kvc_status_t kvc::rt::checkInputShapes(const kvc_program_t *program,
                                       uint32_t function,
                                       const void *const *inputs,
                                       uint32_t numInputs) {
  kvc_call_t call = {};
  call.struct_size = sizeof(call);
  call.num_args = numInputs;
  call.args = inputs;
  Call given(program, function, call);
  given.numArgs = getFunction(program->blob, function).num_inputs;
  KVC_RETURN_IF_FAILED(given.checkPresence());
  return given.checkShapes(given.numArgs);
}

kvc_status_t kvc::rt::computeBounds(const kvc_program_t *program,
                                    uint32_t function, const kvc_call_t &call,
                                    kvc_bounds_t &bounds) {
  Call given(program, function, call);
  KVC_RETURN_IF_FAILED(given.checkPresence());
  bounds = {};
  bounds.struct_size = sizeof(bounds);
  bounds.args = call.args;
  // A function without a batch argument may make its batch from arrays: no
  // array is shorter than what it has an element for.
  bool hasBatch = false;
  for (uint32_t i = 0; i < given.numArgs; ++i)
    hasBatch |= given.descs[i].kind == KVC_ARG_BATCH;
  for (uint32_t i = 0; i < given.numArgs && !hasBatch; ++i) {
    if (given.descs[i].kind != KVC_ARG_TENSOR || given.tensor(i).rank < 1)
      continue;
    auto extent = static_cast<int32_t>(
        std::clamp<int64_t>(given.tensor(i).shape[0], 0, INT32_MAX));
    bounds.max_tokens = std::max(bounds.max_tokens, extent);
    if (given.descs[i].dtype == KVC_DTYPE_I32)
      bounds.max_sequences = std::max(bounds.max_sequences, extent);
  }
  for (uint32_t i = 0; i < given.numArgs; ++i) {
    if (given.isTokenTensor(i)) {
      const kvc_tensor_t &tensor = given.tensor(i);
      if (tensor.rank < 1 || tensor.shape[0] < 0 || tensor.shape[0] > INT32_MAX)
        return given.context(i).fail(
            KVC_STATUS_INVALID_ARGUMENT,
            "expected 0 to %d rows, got rank %d and %lld rows", INT32_MAX,
            tensor.rank, Long{tensor.shape[0]});
      bounds.max_tokens =
          std::max(bounds.max_tokens, static_cast<int32_t>(tensor.shape[0]));
    }
    if (given.descs[i].kind != KVC_ARG_BATCH)
      continue;
    const kvc_batch_t &batch = given.batch(i);
    KVC_RETURN_IF_FAILED(checkBatchHeader(given.context(i), batch));
    bounds.max_sequences = std::max(bounds.max_sequences, batch.num_sequences);
    bounds.max_tokens = std::max(bounds.max_tokens, batch.num_tokens);
    bounds.max_query_len = std::max(bounds.max_query_len, batch.max_query_len);
    bounds.max_kv_len = std::max(bounds.max_kv_len, batch.max_kv_len);
  }
  // Its `needs` looks at them, but cannot say what is wrong as well as this.
  if (program->entries[function].shapes) {
    KVC_RETURN_IF_FAILED(given.checkShapes(given.numArgs));
    KVC_RETURN_IF_FAILED(given.checkTokenCounts());
  }
  return KVC_STATUS_OK;
}
