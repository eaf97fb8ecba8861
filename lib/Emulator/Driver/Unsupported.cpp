//===- Unsupported.cpp - what the emulated driver lacks -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that programs look up, so that they are told rather than fail to
// load. Which arguments they have makes no difference to the calling
// convention.
//===----------------------------------------------------------------------===//
#include "Driver.h"

using namespace kvc::emu::cuda;

#define KVC_CUDA_UNSUPPORTED(base, since, name)                                \
  extern "C" __attribute__((visibility("default"))) Result name() {            \
    return call([](Driver &) { return NotSupported; });                        \
  }
#include "EntryPoints.def"
