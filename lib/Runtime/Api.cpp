//===- Api.cpp - the table that programs are given ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that a compiled program may ask of the runtime.
//===----------------------------------------------------------------------===//
#include "CPUStream.h"
#include "CUDA/DeviceStream.h"
#include "CheckCall.h"
#include "Status.h"

using namespace kvc::rt;

extern "C" {

static kvc_status_t apiFail(kvc_status_t status, const char *message) {
  return fail(status, "%s", message ? message : "");
}

const kvc_rt_api_t *kvc_runtime_api(void) {
  static const kvc_rt_api_t api = {
      sizeof(kvc_rt_api_t),    KVC_ABI_VERSION, &checkCall,  &apiFail,
      &kvc_stream_num_workers, &parallelFor,    &checkBatch, &launch,
  };
  return &api;
}

} // extern "C"
