//===- DeviceFixture.cpp - tests with a device of the fake driver ---------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "DeviceFixture.h"

StoreBehaviour storeBehaviour;

/// The program whose function runs in this thread.
static thread_local const kvc_program_t *running;

static kvc_status_t needsForStore(const kvc_rt_api_t *, const kvc_bounds_t *,
                                  kvc_needs_t *needs) {
  needs->workspace_size = storeBehaviour.workspaceSize;
  return KVC_STATUS_OK;
}

static kvc_status_t runStore(const kvc_rt_api_t *rt, kvc_stream_t *stream,
                             const kvc_call_t *call) {
  if (kvc_status_t status = rt->check_call(running, 0, call))
    return status;
  if (reinterpret_cast<uintptr_t>(call->workspace) % 64 != 0)
    return rt->fail(KVC_STATUS_INTERNAL, "workspace is not aligned");
  const auto *in = static_cast<const kvc_tensor_t *>(call->args[0]);
  const auto *out = static_cast<const kvc_tensor_t *>(call->args[1]);
  const void *params[] = {&in->data, &call->workspace, &out->data};
  return rt->launch(stream, running, storeBehaviour.kernel,
                    storeBehaviour.grid.data(),
                    storeBehaviour.cluster.empty()
                        ? nullptr
                        : storeBehaviour.cluster.data(),
                    params);
}

FakeCUDA::Kernel makeStoreKernel() {
  return {{8, 8, 8}, [](void **params) {
            auto get = [&](int i) {
              return *static_cast<int32_t **>(params[i]);
            };
            *get(1) = *get(0) + 1;
            *get(2) = *get(1);
          }};
}

StoreProgram::StoreProgram(const std::string &text, const std::string &target,
                           uint32_t sharedBytes) {
  kvc_function_entry_t entry = {needsForStore, runStore, nullptr};
  fake.addFunction("store",
                   {makeTensorArg(KVC_DTYPE_I32, {KVC_DYNAMIC}),
                    makeResultArg(KVC_DTYPE_I32, {KVC_DYNAMIC})},
                   &entry);
  fake.addKernel("store", fake.addImage(target, text), 96, sharedBytes);
  fake.build();
  EXPECT_OK(fake.load(&program));
}

kvc_status_t StoreProgram::run(kvc_stream_t *stream, const void *in,
                               void *out) {
  kvc_tensor_t input = makeTensor(const_cast<void *>(in), KVC_DTYPE_I32, {1});
  kvc_tensor_t output = makeTensor(out, KVC_DTYPE_I32, {1});
  const void *args[] = {&input, &output};
  running = program;
  return kvc_program_run(program, 0, stream, args, 2);
}
