//===- ProcAddress.cpp - functions by their names -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <cstring>

using namespace kvc::emu::cuda;

#define KVC_CUDA_UNSUPPORTED(base, since, name) extern "C" Result name();
#include "EntryPoints.def"

namespace {
struct EntryPoint {
  const char *base;
  int since;
  void *function;
};
} // namespace

/// Those with the same base have the newest first.
static const EntryPoint kEntryPoints[] = {
#define KVC_CUDA_ENTRY(base, since, name, parameters)                          \
  {#base, since, reinterpret_cast<void *>(&name)},
#define KVC_CUDA_UNSUPPORTED(base, since, name)                                \
  {#base, since, reinterpret_cast<void *>(&name)},
#include "EntryPoints.def"
};

Result kvc::emu::cuda::cuGetProcAddress_v2(const char *symbol, void **function,
                                           int version, uint64_t flags,
                                           SymbolStatus *status) {
  if (!symbol || !function || version < 0 || flags > 2)
    return InvalidValue;
  SymbolStatus found = SymbolStatus::NotFound;
  *function = nullptr;
  for (const EntryPoint &entry : kEntryPoints) {
    if (std::strcmp(entry.base, symbol) != 0)
      continue;
    found = SymbolStatus::TooOld;
    if (entry.since > version)
      continue;
    found = SymbolStatus::Found;
    *function = entry.function;
    break;
  }
  if (status)
    *status = found;
  else if (found != SymbolStatus::Found)
    return NotFound;
  return Success;
}

Result kvc::emu::cuda::cuGetProcAddress(const char *symbol, void **function,
                                        int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
