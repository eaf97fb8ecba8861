//===- Call.h - calls of a program from Python ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call whose arguments are where the caller has them.
//===----------------------------------------------------------------------===//
#ifndef KVC_PYTHON_KVC_CALL_H
#define KVC_PYTHON_KVC_CALL_H

#include "Objects.h"

namespace kvc::python {

/// Runs a function and waits for it. `args` are Tensor, CacheView and Batch;
/// what they have in the host's memory goes to the stream's device and back.
void run(const Program &program, uint32_t function, const Stream &stream,
         nb::list args);

/// Computes the shape of each result of a call with these inputs.
nb::list computeShapes(const Program &program, uint32_t function,
                       nb::list inputs);

} // namespace kvc::python

#endif // KVC_PYTHON_KVC_CALL_H
