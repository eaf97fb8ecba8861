//===- Cuda.h - types and constants of CUDA's driver ------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is used of the interface of CUDA 13's driver, declared anew, so that the
// emulator is built where CUDA is not. test/Unit/Emulator/CudaHeaderTest.cpp
// compares it with cuda.h where there is one.
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_DRIVER_CUDA_H
#define KVC_LIB_EMULATOR_DRIVER_CUDA_H

#include <cstddef>
#include <cstdint>

namespace kvc::emu::cuda {

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

enum Result : int32_t {
#define KVC_CUDA_RESULT(id, value, name, text) id = value,
#include "Results.def"
};

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

using Device = int32_t;
using DevicePointer = uint64_t;

// Handles are numbers that only look like pointers.
using ContextHandle = struct ContextTag *;
using ModuleHandle = struct ModuleTag *;
using FunctionHandle = struct FunctionTag *;
using StreamHandle = struct StreamTag *;
using EventHandle = struct EventTag *;
using GraphHandle = struct GraphTag *;
using GraphExecHandle = struct GraphExecTag *;

/// Streams that exist without being created, besides null.
inline constexpr uintptr_t kLegacyStream = 1, kPerThreadStream = 2;

struct Uuid {
  char bytes[16];
};

struct ContextParameters {
  void *affinity;
  int32_t numAffinities;
  void *graphics;
};

using HostFunction = void (*)(void *);
using BlockSizeToShared = size_t (*)(int);

//===----------------------------------------------------------------------===//
// Attributes and options
//===----------------------------------------------------------------------===//

/// Device attributes with a value other than zero; see Device.cpp.
inline constexpr int32_t kNumDeviceAttributes = 148; ///< One past the last.

enum class FunctionAttribute : int32_t {
  MaxThreads = 0,
  SharedBytes = 1,
  ConstantBytes = 2,
  LocalBytes = 3,
  Registers = 4,
  PTXVersion = 5,
  BinaryVersion = 6,
  CacheMode = 7,
  MaxDynamicShared = 8,
  SharedCarveout = 9,
  ClusterMustBeSet = 10,
  ClusterWidth = 11,
  ClusterHeight = 12,
  ClusterDepth = 13,
  NonPortableCluster = 14,
  ClusterPolicy = 15,
};
inline constexpr int32_t kNumFunctionAttributes = 16;

enum class JITOption : int32_t {
  WallTime = 2,
  InfoLog = 3,
  InfoLogSize = 4,
  ErrorLog = 5,
  ErrorLogSize = 6,
};
inline constexpr int32_t kNumJITOptions = 35;

enum class PointerAttribute : int32_t {
  Context = 1,
  MemoryType = 2,
  DevicePointer = 3,
  HostPointer = 4,
  SyncMemops = 6,
  BufferId = 7,
  IsManaged = 8,
  DeviceOrdinal = 9,
  RangeStart = 11,
  RangeSize = 12,
  Mapped = 13,
};
inline constexpr int32_t kNumPointerAttributes = 22;

enum class MemoryType : int32_t { Host = 1, Device = 2 };

enum class Limit : int32_t { StackSize = 0, PrintfSize = 1, HeapSize = 2 };

/// Flags of streams and events.
inline constexpr uint32_t kStreamNonBlocking = 1;
inline constexpr uint32_t kEventFlags = 7, kEventDisableTiming = 2;

/// How much else the calls of a thread may do while it captures a stream.
enum class CaptureMode : int32_t { Global = 0, ThreadLocal = 1, Relaxed = 2 };
enum class CaptureStatus : int32_t { None = 0, Active = 1, Invalidated = 2 };

enum class SymbolStatus : int32_t { Found = 0, NotFound = 1, TooOld = 2 };

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

enum class LaunchAttributeId : int32_t {
  Cooperative = 2,
  ClusterDimension = 4,
  PreferredCluster = 11,
};
inline constexpr int32_t kNumLaunchAttributes = 17;

struct LaunchAttribute {
  int32_t id;
  int32_t padding;
  union {
    char bytes[64];
    int32_t cooperative;
    uint32_t cluster[3];
    uint64_t alignment;
  } value;
};

struct LaunchParameters {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamicShared;
  StreamHandle stream;
  LaunchAttribute *attributes;
  uint32_t numAttributes;
};

/// Keys in the `extra` array of a launch.
inline constexpr uintptr_t kExtraEnd = 0, kExtraBuffer = 1, kExtraSize = 2;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// Without these, the types can be used beside cuda.h.
#ifndef KVC_CUDA_TYPES_ONLY
#define KVC_CUDA_ENTRY(base, since, name, parameters)                          \
  extern "C" __attribute__((visibility("default"))) Result name parameters;
#include "EntryPoints.def"
#endif

} // namespace kvc::emu::cuda

#endif // KVC_LIB_EMULATOR_DRIVER_CUDA_H
