//===- Descriptor.cpp - reading a program's descriptor --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A blob comes from a file or from a compiler of another version, so nothing in
// it is believed before it was checked.
//===----------------------------------------------------------------------===//
#include "Descriptor.h"
#include "CacheType.h"
#include "Status.h"

#include <cstdint>
#include <cstring>

using namespace kvc::rt;

static constexpr uint32_t kMaxThreads = 1024;           // of a block
static constexpr uint32_t kMaxSharedBytes = 227 * 1024; // of a block
static constexpr uint32_t kMaxAlignment = 256;

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Checks that `count` elements of type T lie inside the blob at `offset`.
template <typename T>
static kvc_status_t checkArray(const kvc_blob_t *blob, const char *what,
                               kvc_offset_t offset, uint64_t count) {
  if (count == 0)
    return KVC_STATUS_OK;
  if (offset % alignof(T) != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected %s at a multiple of %zu, got offset %u", what,
                alignof(T), offset);
  if (offset > blob->size || count > (blob->size - offset) / sizeof(T))
    return fail(
        KVC_STATUS_INVALID_ARGUMENT,
        "blob: expected %s inside its %llu bytes, got %llu of %zu bytes "
        "at offset %u",
        what, static_cast<unsigned long long>(blob->size),
        static_cast<unsigned long long>(count), sizeof(T), offset);
  return KVC_STATUS_OK;
}

/// Checks that a string lies inside the blob at `offset`, its NUL included.
static kvc_status_t checkString(const kvc_blob_t *blob, const char *what,
                                kvc_offset_t offset) {
  if (offset >= blob->size ||
      !std::memchr(at<char>(blob, offset), 0, blob->size - offset))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected %s that ends inside its %llu bytes, got offset "
                "%u",
                what, static_cast<unsigned long long>(blob->size), offset);
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Functions and their arguments
//===----------------------------------------------------------------------===//

static kvc_status_t checkTensorDesc(const kvc_arg_desc_t &desc,
                                    const char *function, uint32_t index) {
  if (desc.rank < 0 || desc.rank > KVC_MAX_RANK)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected a rank from 0 to "
                "%d, got %d",
                function, index, KVC_MAX_RANK, desc.rank);
  if (desc.dtype < KVC_DTYPE_F32 || desc.dtype > KVC_DTYPE_I1)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected an element type "
                "from %d to %d, got %d",
                function, index, KVC_DTYPE_F32, KVC_DTYPE_I1, desc.dtype);
  for (int32_t i = 0; i < desc.rank; ++i)
    if (desc.shape[i] < 0 && desc.shape[i] != KVC_DYNAMIC)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "blob: function '%s', argument %u: expected dimension %d to "
                  "be at least 0 or dynamic, got %lld",
                  function, index, i, static_cast<long long>(desc.shape[i]));
  if (desc.rows_are_tokens && desc.rank == 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected a rank of at least "
                "1 where rows are tokens, got 0",
                function, index);
  return KVC_STATUS_OK;
}

static kvc_status_t checkArgDesc(const kvc_blob_t *blob, const char *function,
                                 uint32_t index, const kvc_arg_desc_t &desc,
                                 bool isResult) {
  if ((desc.is_result != 0) != isResult)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected is_result to be %d "
                "after its inputs, got %u",
                function, index, isResult, desc.is_result);
  if (isResult && desc.kind != KVC_ARG_TENSOR)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected a result to be a "
                "tensor, got kind %u",
                function, index, desc.kind);
  if ((desc.alignment & (desc.alignment - 1)) != 0 ||
      desc.alignment > kMaxAlignment)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected an alignment of 0 "
                "or a power of two up to %u, got %u",
                function, index, kMaxAlignment, desc.alignment);
  switch (desc.kind) {
  case KVC_ARG_TENSOR:
    return checkTensorDesc(desc, function, index);
  case KVC_ARG_CACHE:
    if (desc.cache_type >= blob->num_cache_types)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "blob: function '%s', argument %u: expected a cache type "
                  "below %u, got %u",
                  function, index, blob->num_cache_types, desc.cache_type);
    return KVC_STATUS_OK;
  case KVC_ARG_BATCH:
    return KVC_STATUS_OK;
  default:
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s', argument %u: expected kind %d, %d or %d, "
                "got %u",
                function, index, KVC_ARG_TENSOR, KVC_ARG_CACHE, KVC_ARG_BATCH,
                desc.kind);
  }
}

static kvc_status_t checkFunctionDesc(const kvc_blob_t *blob, uint32_t index) {
  const kvc_function_desc_t &function = getFunction(blob, index);
  KVC_RETURN_IF_FAILED(checkString(blob, "a function's name", function.name));
  const char *name = getName(blob, index);
  if (!*name)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected a name of function %u, got an empty one",
                index);
  for (uint32_t other = 0; other < index; ++other)
    if (std::strcmp(getName(blob, other), name) == 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "blob: expected different names of functions, got '%s' for "
                  "functions %u and %u",
                  name, other, index);
  if (function.num_inputs > function.num_args)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: function '%s': expected at most %u inputs, got %u", name,
                function.num_args, function.num_inputs);
  KVC_RETURN_IF_FAILED(checkArray<kvc_arg_desc_t>(
      blob, "a function's arguments", function.args, function.num_args));
  const kvc_arg_desc_t *args = getArgs(blob, index);
  for (uint32_t i = 0; i < function.num_args; ++i)
    KVC_RETURN_IF_FAILED(
        checkArgDesc(blob, name, i, args[i], i >= function.num_inputs));
  return KVC_STATUS_OK;
}

static kvc_status_t checkImageDesc(const kvc_blob_t *blob,
                                   const kvc_image_desc_t &image) {
  KVC_RETURN_IF_FAILED(checkString(blob, "an image's target", image.target));
  KVC_RETURN_IF_FAILED(
      checkArray<char>(blob, "an image", image.data, image.data_size));
  if (image.data_size == 0 ||
      at<char>(blob, image.data)[image.data_size - 1] != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected an image that ends in NUL, got %llu bytes "
                "without",
                static_cast<unsigned long long>(image.data_size));
  return KVC_STATUS_OK;
}

static kvc_status_t checkKernelDesc(const kvc_blob_t *blob, uint32_t index) {
  const kvc_kernel_desc_t &kernel = getKernel(blob, index);
  KVC_RETURN_IF_FAILED(checkString(blob, "a kernel's name", kernel.name));
  const char *name = at<char>(blob, kernel.name);
  if (!*name)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected a name of kernel %u, got an empty one", index);
  if (kernel.image >= blob->num_images)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: kernel '%s': expected an image below %u, got %u", name,
                blob->num_images, kernel.image);
  if (kernel.threads < 1 || kernel.threads > kMaxThreads)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: kernel '%s': expected 1 to %u threads, got %u", name,
                kMaxThreads, kernel.threads);
  if (kernel.shared_bytes > kMaxSharedBytes)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: kernel '%s': expected at most %u bytes of shared "
                "memory, got %u",
                name, kMaxSharedBytes, kernel.shared_bytes);
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

kvc_status_t kvc::rt::checkHeaders(const kvc_program_t *program) {
  if (!program)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected a program, got null");
  if (program->struct_size < sizeof(*program))
    return fail(KVC_STATUS_MISMATCH,
                "program: expected a struct_size of at least %zu, got %u",
                sizeof(*program), program->struct_size);
  if (program->abi_version != KVC_ABI_VERSION)
    return fail(KVC_STATUS_MISMATCH, "program: expected ABI version %u, got %u",
                KVC_ABI_VERSION, program->abi_version);
  const kvc_blob_t *blob = program->blob;
  if (!blob)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "program: expected a blob, got null");
  if (reinterpret_cast<uintptr_t>(blob) % alignof(kvc_blob_t) != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "program: expected a blob at a multiple of %zu, got %p",
                alignof(kvc_blob_t), static_cast<const void *>(blob));
  if (blob->magic != KVC_BLOB_MAGIC)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected magic word %#x, got %#x", KVC_BLOB_MAGIC,
                blob->magic);
  if (blob->abi_version != KVC_ABI_VERSION)
    return fail(KVC_STATUS_MISMATCH, "blob: expected ABI version %u, got %u",
                KVC_ABI_VERSION, blob->abi_version);
  if (!program->entries && blob->num_functions > 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "program: expected entries of its %u functions, got null",
                blob->num_functions);
  return KVC_STATUS_OK;
}

static kvc_status_t checkEntry(const kvc_program_t *program, uint32_t index) {
  const kvc_function_entry_t &entry = program->entries[index];
  if (!entry.needs || !entry.run)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "program: expected an entry '%s' of function '%s', got null",
                !entry.needs ? "needs" : "run", getName(program->blob, index));
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkProgram(const kvc_program_t *program) {
  KVC_RETURN_IF_FAILED(checkHeaders(program));
  const kvc_blob_t *blob = program->blob;
  if (blob->size < sizeof(*blob))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "blob: expected a size of at least %zu, got %llu",
                sizeof(*blob), static_cast<unsigned long long>(blob->size));
  KVC_RETURN_IF_FAILED(checkString(blob, "a target", blob->target));
  KVC_RETURN_IF_FAILED(checkArray<kvc_cache_type_t>(
      blob, "cache types", blob->cache_types, blob->num_cache_types));
  for (uint32_t i = 0; i < blob->num_cache_types; ++i)
    KVC_RETURN_IF_FAILED(
        checkCacheType(at<kvc_cache_type_t>(blob, blob->cache_types)[i]));
  KVC_RETURN_IF_FAILED(checkArray<kvc_function_desc_t>(
      blob, "functions", blob->functions, blob->num_functions));
  for (uint32_t i = 0; i < blob->num_functions; ++i) {
    KVC_RETURN_IF_FAILED(checkFunctionDesc(blob, i));
    KVC_RETURN_IF_FAILED(checkEntry(program, i));
  }
  KVC_RETURN_IF_FAILED(checkArray<kvc_image_desc_t>(
      blob, "images", blob->images, blob->num_images));
  for (uint32_t i = 0; i < blob->num_images; ++i)
    KVC_RETURN_IF_FAILED(
        checkImageDesc(blob, at<kvc_image_desc_t>(blob, blob->images)[i]));
  KVC_RETURN_IF_FAILED(checkArray<kvc_kernel_desc_t>(
      blob, "kernels", blob->kernels, blob->num_kernels));
  for (uint32_t i = 0; i < blob->num_kernels; ++i)
    KVC_RETURN_IF_FAILED(checkKernelDesc(blob, i));
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkFunction(const kvc_program_t *program,
                                    uint32_t function) {
  KVC_RETURN_IF_FAILED(checkHeaders(program));
  if (function >= program->blob->num_functions)
    return fail(KVC_STATUS_NOT_FOUND,
                "expected a function below %u, got function %u",
                program->blob->num_functions, function);
  return KVC_STATUS_OK;
}
