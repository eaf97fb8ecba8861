//===- Status.h - messages and the C boundary -------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a call of the runtime reports what went wrong, and how no exception
// leaves it.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_STATUS_H
#define KVC_LIB_RUNTIME_STATUS_H

#include "kvc-rt/runtime.h"

#include <exception>
#include <new>

namespace kvc::rt {

/// Records a printf-style message for kvc_last_message() of this thread and
/// returns `status`. Allocates nothing; a message that is too long is cut.
kvc_status_t fail(kvc_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// Runs `body` on behalf of the C function `what` and turns an exception into
/// a status. Every function that may allocate has its body in one.
template <typename Body>
kvc_status_t guarded(const char *what, Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(KVC_STATUS_OUT_OF_MEMORY, "%s: out of host memory", what);
  } catch (const std::exception &error) {
    return fail(KVC_STATUS_INTERNAL, "%s: %s", what, error.what());
  }
}

} // namespace kvc::rt

/// Returns from the enclosing function with the status of `call` unless it is
/// KVC_STATUS_OK.
#define KVC_RETURN_IF_FAILED(call)                                             \
  do {                                                                         \
    if (kvc_status_t status_ = (call))                                         \
      return status_;                                                          \
  } while (false)

#endif // KVC_LIB_RUNTIME_STATUS_H
