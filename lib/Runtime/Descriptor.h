//===- Descriptor.h - reading a program's descriptor ------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to the flat blob that describes a program, and the check that makes
// this access safe.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_DESCRIPTOR_H
#define KVC_LIB_RUNTIME_DESCRIPTOR_H

#include "kvc-rt/runtime.h"

namespace kvc::rt {

/// Checks all that a program says about itself: sizes, versions, entries, and
/// that every offset of its blob stays inside.
kvc_status_t checkProgram(const kvc_program_t *program);

/// The cheap part of checkProgram, for every call: null pointers and versions.
/// What the blob says beyond its header is believed.
kvc_status_t checkHeaders(const kvc_program_t *program);

/// checkHeaders, and that there is a function `function`.
kvc_status_t checkFunction(const kvc_program_t *program, uint32_t function);

/// What lies at `offset` of a blob that was checked.
template <typename T>
const T *at(const kvc_blob_t *blob, kvc_offset_t offset) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(blob) +
                                     offset);
}

inline const kvc_function_desc_t &getFunction(const kvc_blob_t *blob,
                                              uint32_t function) {
  return at<kvc_function_desc_t>(blob, blob->functions)[function];
}

inline const char *getName(const kvc_blob_t *blob, uint32_t function) {
  return at<char>(blob, getFunction(blob, function).name);
}

inline const kvc_arg_desc_t *getArgs(const kvc_blob_t *blob,
                                     uint32_t function) {
  return at<kvc_arg_desc_t>(blob, getFunction(blob, function).args);
}

inline const kvc_cache_type_t &getCacheType(const kvc_blob_t *blob,
                                            const kvc_arg_desc_t &desc) {
  return at<kvc_cache_type_t>(blob, blob->cache_types)[desc.cache_type];
}

inline const kvc_kernel_desc_t &getKernel(const kvc_blob_t *blob,
                                          uint32_t kernel) {
  return at<kvc_kernel_desc_t>(blob, blob->kernels)[kernel];
}

/// What the first image of a program is for, or what the program is.
inline const char *getTarget(const kvc_blob_t *blob) {
  return blob->num_images == 0
             ? at<char>(blob, blob->target)
             : at<char>(blob, at<kvc_image_desc_t>(blob, blob->images)->target);
}

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_DESCRIPTOR_H
