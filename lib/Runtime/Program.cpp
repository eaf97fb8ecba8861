//===- Program.cpp - loading and running programs -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is constant data and code that somebody else owns; the runtime
// keeps nothing about it but what it loads onto devices.
//===----------------------------------------------------------------------===//
#include "CUDA/DeviceStream.h"
#include "CUDA/Module.h"
#include "CheckCall.h"
#include "Descriptor.h"
#include "ThreadPool.h"

#include "kvc/Support/TilePermission.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace kvc::rt;

/// Checks that the code of a program is for where `stream` runs, and loads it
/// there if need be.
static kvc_status_t place(const kvc_program_t *program, uint32_t function,
                          Stream &stream) {
  const kvc_blob_t *blob = program->blob;
  DeviceStream *device = stream.asDevice();
  if ((blob->num_images > 0) != (device != nullptr))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "function '%s': expected %s for a program of target '%s', got "
                "%s",
                getName(blob, function),
                device ? "a CPU stream" : "a stream of a device",
                getTarget(blob), stream.describe().c_str());
  if (!device && std::strcmp(getTarget(blob), "x86_64 amx") == 0 && !kvc::requestTiles())
    return fail(KVC_STATUS_UNSUPPORTED,
                "function '%s': expected AMX tiles for a program of target "
                "'%s', got a processor or a system without",
                getName(blob, function), getTarget(blob));
  std::shared_ptr<ModuleSet> modules;
  return device ? device->getModules(program, modules)
                : kvc_status_t{KVC_STATUS_OK};
}

/// Asks the program for the workspace of calls within `bounds` on `stream`.
static kvc_status_t computeWorkspace(const kvc_program_t *program,
                                     uint32_t function, Stream &stream,
                                     kvc_bounds_t &bounds, uint64_t &size) {
  bounds.num_workers = stream.getNumWorkers();
  kvc_needs_t needs = {};
  needs.struct_size = sizeof(needs);
  KVC_RETURN_IF_FAILED(
      program->entries[function].needs(kvc_runtime_api(), &bounds, &needs));
  size = needs.workspace_size;
  return KVC_STATUS_OK;
}

/// Runs `body` while the calling thread has the workspace of `stream`, of at
/// least `size` bytes, to itself.
template <typename Body>
static kvc_status_t withWorkspace(const kvc_program_t *program,
                                  uint32_t function, Stream &stream,
                                  uint64_t size, Body &&body) {
  if (Scope::isInside(&stream.callMutex))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "function '%s': a call inside a call on the same stream would "
                "wait for itself",
                getName(program->blob, function));
  std::lock_guard<std::mutex> lock(stream.callMutex);
  Scope inside(&stream.callMutex);
  KVC_RETURN_IF_FAILED(stream.growWorkspace(size));
  return body();
}

/// Runs a checked function.
static kvc_status_t runOnStream(const kvc_program_t *program, uint32_t function,
                                kvc_stream_t *handle, Stream &stream,
                                kvc_call_t &call) {
  kvc_bounds_t bounds;
  uint64_t size;
  KVC_RETURN_IF_FAILED(computeBounds(program, function, call, bounds));
  KVC_RETURN_IF_FAILED(place(program, function, stream));
  KVC_RETURN_IF_FAILED(
      computeWorkspace(program, function, stream, bounds, size));
  return withWorkspace(program, function, stream, size, [&] {
    call.workspace = stream.getWorkspace();
    call.workspace_size = size;
    return program->entries[function].run(kvc_runtime_api(), handle, &call);
  });
}

/// New tokens of the calls that `inputs` begins: of a batch, or the rows of a
/// tensor that has one for each; -1 if there is neither.
static int64_t countTokens(const kvc_program_t *program, uint32_t function,
                           const void *const *inputs) {
  const kvc_arg_desc_t *descs = getArgs(program->blob, function);
  int64_t rows = -1;
  for (uint32_t i = 0; i < getFunction(program->blob, function).num_inputs;
       ++i) {
    if (descs[i].kind == KVC_ARG_BATCH)
      return static_cast<const kvc_batch_t *>(inputs[i])->num_tokens;
    if (rows < 0 && descs[i].kind == KVC_ARG_TENSOR && descs[i].rows_are_tokens)
      rows = static_cast<const kvc_tensor_t *>(inputs[i])->shape[0];
  }
  return rows;
}

/// Shapes of the results of a function without an entry for them.
static kvc_status_t describeResults(const kvc_program_t *program,
                                    uint32_t function,
                                    const void *const *inputs,
                                    int64_t *shapes) {
  const kvc_function_desc_t &desc = getFunction(program->blob, function);
  int64_t tokens = countTokens(program, function, inputs);
  for (uint32_t i = desc.num_inputs; i < desc.num_args; ++i) {
    const kvc_arg_desc_t &result = getArgs(program->blob, function)[i];
    for (int32_t dim = 0; dim < result.rank; ++dim) {
      bool isTokens = dim == 0 && result.rows_are_tokens && tokens >= 0;
      if (result.shape[dim] == KVC_DYNAMIC && !isTokens)
        return fail(KVC_STATUS_UNSUPPORTED,
                    "function '%s': expected a result whose shape the inputs "
                    "determine, got dimension %d of result %u",
                    getName(program->blob, function), dim,
                    i - desc.num_inputs);
      shapes[(i - desc.num_inputs) * KVC_MAX_RANK + dim] =
          result.shape[dim] == KVC_DYNAMIC ? tokens : result.shape[dim];
    }
  }
  return KVC_STATUS_OK;
}

extern "C" {

kvc_status_t kvc_program_load(kvc_program_query_fn query,
                              const kvc_program_t **out_program) {
  return guarded("kvc_program_load", [&]() -> kvc_status_t {
    if (!query || !out_program)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s, got null",
                  !query ? "query" : "out_program");
    const kvc_program_t *program = query(KVC_ABI_VERSION);
    if (!program)
      return fail(KVC_STATUS_MISMATCH,
                  "expected a program that speaks ABI version %u, got one that "
                  "does not",
                  KVC_ABI_VERSION);
    KVC_RETURN_IF_FAILED(checkProgram(program));
    rememberProgram(program);
    *out_program = program;
    return KVC_STATUS_OK;
  });
}

kvc_status_t kvc_program_unload(const kvc_program_t *program) {
  return guarded("kvc_program_unload", [&]() -> kvc_status_t {
    if (!program)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected a program, got null");
    forgetProgram(program);
    return KVC_STATUS_OK;
  });
}

kvc_status_t kvc_program_find(const kvc_program_t *program, const char *name,
                              uint32_t *out_function) {
  KVC_RETURN_IF_FAILED(checkHeaders(program));
  if (!name || !out_function)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s, got null",
                !name ? "name" : "out_function");
  for (uint32_t i = 0; i < program->blob->num_functions; ++i) {
    if (std::strcmp(getName(program->blob, i), name) == 0) {
      *out_function = i;
      return KVC_STATUS_OK;
    }
  }
  return fail(KVC_STATUS_NOT_FOUND,
              "expected a function of the program, got '%s', which it does not "
              "have",
              name);
}

const kvc_function_desc_t *kvc_program_function(const kvc_program_t *program,
                                                uint32_t function) {
  if (checkFunction(program, function))
    return nullptr;
  return &getFunction(program->blob, function);
}

kvc_status_t kvc_program_shapes(const kvc_program_t *program,
                                uint32_t function, const void *const *inputs,
                                uint32_t num_inputs, int64_t *out_shapes) {
  return guarded("kvc_program_shapes", [&]() -> kvc_status_t {
    KVC_RETURN_IF_FAILED(checkFunction(program, function));
    const kvc_function_desc_t &desc = getFunction(program->blob, function);
    uint32_t numResults = desc.num_args - desc.num_inputs;
    if (!out_shapes && numResults > 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "function '%s': expected out_shapes, got null",
                  getName(program->blob, function));
    KVC_RETURN_IF_FAILED(
        checkInputShapes(program, function, inputs, num_inputs));
    std::vector<int64_t> shapes(size_t{numResults} * KVC_MAX_RANK);
    if (auto compute = program->entries[function].shapes)
      KVC_RETURN_IF_FAILED(compute(kvc_runtime_api(), inputs, shapes.data()));
    else
      KVC_RETURN_IF_FAILED(
          describeResults(program, function, inputs, shapes.data()));
    std::copy(shapes.begin(), shapes.end(), out_shapes);
    return KVC_STATUS_OK;
  });
}

kvc_status_t kvc_program_prepare(const kvc_program_t *program,
                                 uint32_t function, kvc_stream_t *stream,
                                 const kvc_bounds_t *bounds) {
  return guarded("kvc_program_prepare", [&]() -> kvc_status_t {
    KVC_RETURN_IF_FAILED(checkFunction(program, function));
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (bounds && bounds->struct_size < sizeof(*bounds))
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "function '%s': expected a struct_size of bounds of at least "
                  "%zu, got %u",
                  getName(program->blob, function), sizeof(*bounds),
                  bounds->struct_size);
    KVC_RETURN_IF_FAILED(place(program, function, *object));
    if (!bounds)
      return KVC_STATUS_OK;
    kvc_bounds_t checked = *bounds;
    checked.struct_size = sizeof(checked);
    uint64_t size;
    KVC_RETURN_IF_FAILED(
        computeWorkspace(program, function, *object, checked, size));
    return withWorkspace(program, function, *object, size,
                         [] { return kvc_status_t{KVC_STATUS_OK}; });
  });
}

kvc_status_t kvc_program_run(const kvc_program_t *program, uint32_t function,
                             kvc_stream_t *stream, const void *const *args,
                             uint32_t num_args) {
  return guarded("kvc_program_run", [&]() -> kvc_status_t {
    KVC_RETURN_IF_FAILED(checkFunction(program, function));
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    kvc_call_t call = {};
    call.struct_size = sizeof(call);
    call.num_args = num_args;
    call.args = args;
    return runOnStream(program, function, stream, *object, call);
  });
}

} // extern "C"
