//===- Objects.h - what the Python module wraps -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners of runtime objects, together with what keeps their memory alive.
//===----------------------------------------------------------------------===//
#ifndef KVC_PYTHON_KVC_OBJECTS_H
#define KVC_PYTHON_KVC_OBJECTS_H

#include "kvc-rt/runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kvc::python {

namespace nb = nanobind;

/// Throws the class `name` of kvc.errors, made from a status and a text.
[[noreturn]] inline void throwError(const char *name, kvc_status_t status,
                                    const std::string &text) {
  nb::object type = nb::module_::import_("kvc.errors").attr(name);
  nb::object error = type(status, text);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

/// Throws the message of the runtime call that just failed on this thread.
inline void check(kvc_status_t status) {
  if (status != KVC_STATUS_OK)
    throwError("Error", status, kvc_last_message());
}

[[noreturn]] inline void throwInvalid(const std::string &text) {
  throwError("Error", KVC_STATUS_INVALID_ARGUMENT, text);
}

template <typename T, void (*release)(T *)>
struct Releaser {
  void operator()(T *object) const { release(object); }
};
template <typename T, void (*release)(T *)>
using Handle = std::unique_ptr<T, Releaser<T, release>>;

using OptionalString = std::optional<std::string>;

inline const char *orNull(const OptionalString &text) {
  return text ? text->c_str() : nullptr;
}

using DeviceHandle = Handle<kvc_device_t, kvc_device_release>;

struct Device {
  Device(const OptionalString &library, int32_t ordinal)
      : library(library), ordinal(ordinal) {
    kvc_device_t *created = nullptr;
    check(kvc_device_create_cuda(orNull(library), ordinal, &created));
    handle.reset(created);
  }
  /// True if both are handles of one device.
  bool isSame(const Device &other) const {
    return library == other.library && ordinal == other.ordinal;
  }

  const OptionalString library;
  const int32_t ordinal;
  DeviceHandle handle;
};
/// Null for the host.
using DevicePtr = std::shared_ptr<Device>;

/// A piece of a device's memory.
struct DeviceMemory {
  DeviceMemory(DevicePtr on, uint64_t size)
      : device(std::move(on)), size(size) {
    check(kvc_device_allocate(device->handle.get(), size, &data));
  }
  ~DeviceMemory() { kvc_device_free(device->handle.get(), data); }
  DeviceMemory(const DeviceMemory &) = delete;

  DevicePtr device;
  uint64_t size;
  void *data = nullptr;
};

struct CacheType {
  kvc_cache_type_t type;
};

/// A cache argument, and what owns its memory.
struct CacheView {
  kvc_cache_view_t view;
  kvc_cache_type_t type;
  nb::object pool; ///< Null for a view over arrays.
  std::vector<nb::ndarray<>> arrays;
  DevicePtr device; ///< Where the memory is; null for the host.
};

/// Elements from the first to the last of `numPages` pages of component `index`;
/// 0 without pages.
inline int64_t getExtent(const CacheView &cache, uint32_t index,
                         int64_t numPages) {
  const kvc_component_view_t &view = cache.view.components[index];
  const kvc_component_type_t &type = cache.type.components[index];
  if (numPages == 0)
    return 0;
  bool isRowMajor = type.layout == KVC_LAYOUT_ROW_MAJOR;
  bool isStatic = type.layout == KVC_LAYOUT_STATIC;
  int64_t image =
      isRowMajor ? (cache.type.page_size - 1) * view.token_stride + type.width
                 : int64_t{isStatic ? 1 : cache.type.page_size} * type.width;
  return (numPages - 1) * view.page_stride +
         (type.heads - 1) * view.head_stride + image;
}

/// A batch argument: a batch of the runtime, or one over arrays of the caller.
struct Batch {
  kvc_batch_t view = {};     ///< What a call takes.
  kvc_batch_t hostView = {}; ///< The same with arrays of the host.
  DevicePtr device; ///< Where the arrays of `view` are; null: the host.
  Handle<kvc_batch_object_t, kvc_batch_release> handle;
  std::vector<nb::ndarray<nb::ro>> arrays;

  template <typename T>
  const T *own(const nb::ndarray<const T, nb::c_contig> &array) {
    arrays.emplace_back(array);
    return array.data();
  }
};

struct Stream {
  /// `numThreads` is that of a CPU stream, without a device.
  Stream(int32_t numThreads, DevicePtr on) : device(std::move(on)) {
    kvc_stream_t *created = nullptr;
    check(device ? kvc_stream_create(device->handle.get(), &created)
                 : kvc_stream_create_cpu(numThreads, &created));
    handle.reset(created);
  }
  DevicePtr device; ///< Null for the CPU.
  Handle<kvc_stream_t, kvc_stream_release> handle;
};

/// A tensor argument, and what owns its memory.
struct Tensor {
  kvc_tensor_t tensor;
  nb::ndarray<nb::ro> owner;
  nb::object deviceMemory; ///< Null for an array of the host.
  DevicePtr device;
};

/// What lies at `offset` of a checked blob.
template <typename T>
const T *inBlob(const kvc_blob_t *blob, kvc_offset_t offset) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(blob) +
                                     offset);
}

struct Program {
  const kvc_program_t *program;
  nb::object compiled; ///< Owns the code.
};

} // namespace kvc::python

#endif // KVC_PYTHON_KVC_OBJECTS_H
