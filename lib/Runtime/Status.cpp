//===- Status.cpp - messages of failed calls ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The message lives in a buffer of the thread, so that recording one needs no
// memory and no lock.
//===----------------------------------------------------------------------===//
#include "Status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

/// Room for the log of a device's compiler.
static constexpr size_t kMessageSize = 4096;
static thread_local char lastMessage[kMessageSize];

kvc_status_t kvc::rt::fail(kvc_status_t status, const char *format, ...) {
  // Formatted aside first: an argument may point into `lastMessage`.
  char text[kMessageSize];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  std::memcpy(lastMessage, text, std::strlen(text) + 1);
  return status;
}

extern "C" {

const char *kvc_runtime_version(void) { return KVC_RT_VERSION; }

const char *kvc_last_message(void) { return lastMessage; }

const char *kvc_status_name(kvc_status_t status) {
  switch (status) {
  case KVC_STATUS_OK:
    return "ok";
  case KVC_STATUS_INVALID_ARGUMENT:
    return "invalid argument";
  case KVC_STATUS_OUT_OF_MEMORY:
    return "out of memory";
  case KVC_STATUS_NOT_FOUND:
    return "not found";
  case KVC_STATUS_MISMATCH:
    return "mismatch";
  case KVC_STATUS_UNSUPPORTED:
    return "unsupported";
  case KVC_STATUS_INTERNAL:
    return "internal error";
  case KVC_STATUS_DEVICE_ERROR:
    return "device error";
  default:
    return "unknown status";
  }
}

} // extern "C"
