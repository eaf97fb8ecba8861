//===- Driver.h - CUDA's driver, loaded at run time -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of CUDA's driver interface that the runtime uses, declared here so
// that building needs nothing of CUDA. Names and numbers are those of cuda.h.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CUDA_DRIVER_H
#define KVC_LIB_RUNTIME_CUDA_DRIVER_H

#include "Status.h"

#include <cstddef>

namespace kvc::rt {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_NOT_SUPPORTED = 801
};

enum : int { // CUdevice_attribute
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
};
enum : int { // CUjit_option
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};
enum : int { // CUfunction_attribute
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};
enum : int { // CUlaunchAttributeID
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4
};
struct CUlaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned clusterDim[3];
  } value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};
enum : int { // CUstreamCaptureStatus
  CU_STREAM_CAPTURE_STATUS_NONE = 0
};
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DEFAULT = 0;

/// Every entry point that the runtime calls: the exported name and the
/// parameters. All return CUresult.
#define KVC_CUDA_ENTRY_POINTS(X)                                               \
  X(cuInit, (unsigned))                                                        \
  X(cuDriverGetVersion, (int *))                                               \
  X(cuGetErrorName, (CUresult, const char **))                                 \
  X(cuGetErrorString, (CUresult, const char **))                               \
  X(cuDeviceGetCount, (int *))                                                 \
  X(cuDeviceGet, (CUdevice *, int))                                            \
  X(cuDeviceGetName, (char *, int, CUdevice))                                  \
  X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                 \
  X(cuDeviceGetAttribute, (int *, int, CUdevice))                              \
  X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                         \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                  \
  X(cuCtxPushCurrent_v2, (CUcontext))                                          \
  X(cuCtxPopCurrent_v2, (CUcontext *))                                         \
  X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                    \
  X(cuMemFree_v2, (CUdeviceptr))                                               \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))       \
  X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))             \
  X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))           \
  X(cuStreamCreate, (CUstream *, unsigned))                                    \
  X(cuStreamDestroy_v2, (CUstream))                                            \
  X(cuStreamSynchronize, (CUstream))                                           \
  X(cuStreamQuery, (CUstream))                                                 \
  X(cuStreamIsCapturing, (CUstream, int *))                                    \
  X(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                          \
  X(cuEventCreate, (CUevent *, unsigned))                                      \
  X(cuEventDestroy_v2, (CUevent))                                              \
  X(cuEventRecord, (CUevent, CUstream))                                        \
  X(cuEventSynchronize, (CUevent))                                             \
  X(cuEventElapsedTime, (float *, CUevent, CUevent))                           \
  X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, int *, void **))  \
  X(cuModuleUnload, (CUmodule))                                                \
  X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))               \
  X(cuFuncSetAttribute, (CUfunction, int, int))                                \
  X(cuLaunchKernel,                                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))

/// The entry points of one library.
struct Driver {
  /// Loads `library` (null: CUDA's own) and initialises it. Once loaded a
  /// library stays, since nobody can say what else in the process uses it.
  static kvc_status_t open(const char *library, const Driver *&outDriver);

  kvc_status_t countDevices(int32_t &count) const;
  /// Finds device `ordinal`, and says what the choice is if there is none.
  kvc_status_t getDevice(int32_t ordinal, CUdevice &device) const;
  kvc_status_t describe(CUdevice device, kvc_device_info_t &info) const;

  /// The status for `result`, unless it is CUDA_SUCCESS with the message that
  /// `call` failed, and CUDA's name and text.
  kvc_status_t check(CUresult result, const char *call) const;
  const char *getErrorName(CUresult result) const;
  const char *getErrorText(CUresult result) const;

  const char *library = nullptr; ///< For messages.
#define KVC_CUDA_MEMBER(name, params) CUresult(*name) params = nullptr;
  KVC_CUDA_ENTRY_POINTS(KVC_CUDA_MEMBER)
#undef KVC_CUDA_MEMBER

private:
  kvc_status_t load(const char *name);
  kvc_status_t initialize() const;
};

/// The status that stands for a result of the driver.
kvc_status_t getStatus(CUresult result);

} // namespace kvc::rt

/// Calls an entry point of `driver` and turns its result into a status.
#define KVC_CUDA(driver, name, ...)                                            \
  (driver).check((driver).name(__VA_ARGS__), #name)

#endif // KVC_LIB_RUNTIME_CUDA_DRIVER_H
