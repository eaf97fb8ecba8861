//===- CheckCall.h - checks of the arguments of a call ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that a caller can get wrong about the arguments of a program is
// found here, before the program touches them.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CHECKCALL_H
#define KVC_LIB_RUNTIME_CHECKCALL_H

#include "kvc-rt/runtime.h"

namespace kvc::rt {

/// The table's check_call; see abi.h. Allocates nothing.
kvc_status_t checkCall(const kvc_program_t *program, uint32_t function,
                       const kvc_call_t *call);

/// The table's check_batch; see abi.h. Allocates nothing.
kvc_status_t checkBatch(const kvc_program_t *program, uint32_t function,
                        const kvc_batch_t *batch, const kvc_cache_view_t *cache,
                        int32_t pageSize);

/// Checks that all arguments are there and computes the upper bounds of this
/// call from them, except for the number of workers. Of a function that
/// computes shapes, those of tensors are checked against their descriptors.
kvc_status_t computeBounds(const kvc_program_t *program, uint32_t function,
                           const kvc_call_t &call, kvc_bounds_t &bounds);

/// Checks the inputs of a function as far as its `shapes` looks at them.
kvc_status_t checkInputShapes(const kvc_program_t *program, uint32_t function,
                              const void *const *inputs, uint32_t numInputs);

/// Which argument is being checked; starts every message about it.
struct ArgContext {
  /// The index of what is no argument: the function made it.
  static constexpr uint32_t kMadeInside = UINT32_MAX;

  /// What is not part of a call of a program: messages stand alone.
  static ArgContext none() { return {nullptr, 0}; }

  const char *function;
  uint32_t index;

  /// Like fail(), with the function and the argument in front.
  kvc_status_t fail(kvc_status_t status, const char *format, ...) const
      __attribute__((format(printf, 3, 4)));
};

/// A cache argument together with its type.
struct CacheArg {
  uint32_t index;
  const kvc_cache_view_t *view;
  const kvc_cache_type_t *type;
};

/// Checks the rank, elements and shape of a tensor against its descriptor.
kvc_status_t checkTensorShape(const ArgContext &context,
                              const kvc_arg_desc_t &desc,
                              const kvc_tensor_t &tensor);
/// Checks one tensor against its descriptor.
kvc_status_t checkTensor(const ArgContext &context, const kvc_arg_desc_t &desc,
                         const kvc_tensor_t &tensor);
/// Checks one cache against its type and the alignment of its descriptor.
kvc_status_t checkCache(const ArgContext &context, const CacheArg &cache,
                        uint32_t alignment);
/// Checks the fields of a batch that can be read without following a pointer.
kvc_status_t checkBatchHeader(const ArgContext &context,
                              const kvc_batch_t &batch);
/// Checks the header of a batch and that its arrays are there, and that it
/// states no longer queries than `maxQueryLen`, unless that is 0.
kvc_status_t checkBatchShape(const ArgContext &context,
                             const kvc_batch_t &batch, uint32_t maxQueryLen);
/// Checks what the arrays of a batch hold, as far as no cache has a say in it.
/// Follows checkBatchShape().
kvc_status_t checkBatchArrays(const ArgContext &context,
                              const kvc_batch_t &batch);
/// Checks that the pages and slots of a batch exist in `cache`.
kvc_status_t checkBatchInCache(const ArgContext &context,
                               const kvc_batch_t &batch, const CacheArg &cache);

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CHECKCALL_H
