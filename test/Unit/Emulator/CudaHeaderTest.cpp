//===- CudaHeaderTest.cpp - the emulated driver against cuda.h ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares, where CUDA's header is found, numbers, layouts and prototypes. All
// of it happens while this is compiled.
//===----------------------------------------------------------------------===//
#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

// The driver is that of CUDA 13; other versions have other entry points.
#if defined(CUDA_VERSION) && CUDA_VERSION / 1000 == 13

#define KVC_CUDA_TYPES_ONLY
#include "Emulator/Driver/Cuda.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

TEST(CudaHeaderTest, Results) {
#define KVC_CUDA_RESULT(id, value, name, text)                                 \
  EXPECT_EQ(findResult(name), value) << name;
  auto findResult = [](const char *name) -> int {
    struct Entry {
      const char *name;
      int value;
    };
    static const Entry entries[] = {
        {"CUDA_SUCCESS", CUDA_SUCCESS},
        {"CUDA_ERROR_INVALID_VALUE", CUDA_ERROR_INVALID_VALUE},
        {"CUDA_ERROR_OUT_OF_MEMORY", CUDA_ERROR_OUT_OF_MEMORY},
        {"CUDA_ERROR_NOT_INITIALIZED", CUDA_ERROR_NOT_INITIALIZED},
        {"CUDA_ERROR_DEINITIALIZED", CUDA_ERROR_DEINITIALIZED},
        {"CUDA_ERROR_STUB_LIBRARY", CUDA_ERROR_STUB_LIBRARY},
        {"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
         CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER},
        {"CUDA_ERROR_DEVICE_UNAVAILABLE", CUDA_ERROR_DEVICE_UNAVAILABLE},
        {"CUDA_ERROR_NO_DEVICE", CUDA_ERROR_NO_DEVICE},
        {"CUDA_ERROR_INVALID_DEVICE", CUDA_ERROR_INVALID_DEVICE},
        {"CUDA_ERROR_INVALID_IMAGE", CUDA_ERROR_INVALID_IMAGE},
        {"CUDA_ERROR_INVALID_CONTEXT", CUDA_ERROR_INVALID_CONTEXT},
        {"CUDA_ERROR_NO_BINARY_FOR_GPU", CUDA_ERROR_NO_BINARY_FOR_GPU},
        {"CUDA_ERROR_UNSUPPORTED_LIMIT", CUDA_ERROR_UNSUPPORTED_LIMIT},
        {"CUDA_ERROR_INVALID_PTX", CUDA_ERROR_INVALID_PTX},
        {"CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
         CUDA_ERROR_JIT_COMPILER_NOT_FOUND},
        {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
         CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
        {"CUDA_ERROR_INVALID_SOURCE", CUDA_ERROR_INVALID_SOURCE},
        {"CUDA_ERROR_FILE_NOT_FOUND", CUDA_ERROR_FILE_NOT_FOUND},
        {"CUDA_ERROR_OPERATING_SYSTEM", CUDA_ERROR_OPERATING_SYSTEM},
        {"CUDA_ERROR_INVALID_HANDLE", CUDA_ERROR_INVALID_HANDLE},
        {"CUDA_ERROR_ILLEGAL_STATE", CUDA_ERROR_ILLEGAL_STATE},
        {"CUDA_ERROR_NOT_FOUND", CUDA_ERROR_NOT_FOUND},
        {"CUDA_ERROR_NOT_READY", CUDA_ERROR_NOT_READY},
        {"CUDA_ERROR_ILLEGAL_ADDRESS", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
         CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
        {"CUDA_ERROR_LAUNCH_TIMEOUT", CUDA_ERROR_LAUNCH_TIMEOUT},
        {"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
         CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE},
        {"CUDA_ERROR_CONTEXT_IS_DESTROYED", CUDA_ERROR_CONTEXT_IS_DESTROYED},
        {"CUDA_ERROR_ASSERT", CUDA_ERROR_ASSERT},
        {"CUDA_ERROR_ILLEGAL_INSTRUCTION", CUDA_ERROR_ILLEGAL_INSTRUCTION},
        {"CUDA_ERROR_MISALIGNED_ADDRESS", CUDA_ERROR_MISALIGNED_ADDRESS},
        {"CUDA_ERROR_INVALID_ADDRESS_SPACE", CUDA_ERROR_INVALID_ADDRESS_SPACE},
        {"CUDA_ERROR_INVALID_PC", CUDA_ERROR_INVALID_PC},
        {"CUDA_ERROR_LAUNCH_FAILED", CUDA_ERROR_LAUNCH_FAILED},
        {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
         CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE},
        {"CUDA_ERROR_NOT_PERMITTED", CUDA_ERROR_NOT_PERMITTED},
        {"CUDA_ERROR_NOT_SUPPORTED", CUDA_ERROR_NOT_SUPPORTED},
        {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
        {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
         CUDA_ERROR_STREAM_CAPTURE_INVALIDATED},
        {"CUDA_ERROR_INVALID_CLUSTER_SIZE", CUDA_ERROR_INVALID_CLUSTER_SIZE},
        {"CUDA_ERROR_UNKNOWN", CUDA_ERROR_UNKNOWN},
    };
    for (const Entry &entry : entries)
      if (std::strcmp(entry.name, name) == 0)
        return entry.value;
    return -1;
  };
#include "Emulator/Driver/Results.def"
}

#define EXPECT_NUMBER(ours, theirs)                                            \
  static_assert(int64_t(ours) == int64_t(theirs), #theirs)

EXPECT_NUMBER(kLegacyStream, 1);
EXPECT_NUMBER(kPerThreadStream, 2);
EXPECT_NUMBER(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
EXPECT_NUMBER(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
EXPECT_NUMBER(kExtraEnd, 0);
static_assert(kNumDeviceAttributes <= CU_DEVICE_ATTRIBUTE_MAX);

EXPECT_NUMBER(FunctionAttribute::MaxThreads,
              CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
EXPECT_NUMBER(FunctionAttribute::SharedBytes,
              CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
EXPECT_NUMBER(FunctionAttribute::ConstantBytes,
              CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
EXPECT_NUMBER(FunctionAttribute::LocalBytes,
              CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
EXPECT_NUMBER(FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
EXPECT_NUMBER(FunctionAttribute::PTXVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
EXPECT_NUMBER(FunctionAttribute::BinaryVersion,
              CU_FUNC_ATTRIBUTE_BINARY_VERSION);
EXPECT_NUMBER(FunctionAttribute::CacheMode, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
EXPECT_NUMBER(FunctionAttribute::MaxDynamicShared,
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
EXPECT_NUMBER(FunctionAttribute::SharedCarveout,
              CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
EXPECT_NUMBER(FunctionAttribute::ClusterMustBeSet,
              CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
EXPECT_NUMBER(FunctionAttribute::ClusterWidth,
              CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
EXPECT_NUMBER(FunctionAttribute::ClusterHeight,
              CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
EXPECT_NUMBER(FunctionAttribute::ClusterDepth,
              CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
EXPECT_NUMBER(FunctionAttribute::NonPortableCluster,
              CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
EXPECT_NUMBER(FunctionAttribute::ClusterPolicy,
              CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
static_assert(kNumFunctionAttributes <= CU_FUNC_ATTRIBUTE_MAX);

EXPECT_NUMBER(JITOption::WallTime, CU_JIT_WALL_TIME);
EXPECT_NUMBER(JITOption::InfoLog, CU_JIT_INFO_LOG_BUFFER);
EXPECT_NUMBER(JITOption::InfoLogSize, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
EXPECT_NUMBER(JITOption::ErrorLog, CU_JIT_ERROR_LOG_BUFFER);
EXPECT_NUMBER(JITOption::ErrorLogSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(kNumJITOptions <= CU_JIT_NUM_OPTIONS);

EXPECT_NUMBER(PointerAttribute::Context, CU_POINTER_ATTRIBUTE_CONTEXT);
EXPECT_NUMBER(PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
EXPECT_NUMBER(PointerAttribute::DevicePointer,
              CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
EXPECT_NUMBER(PointerAttribute::HostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
EXPECT_NUMBER(PointerAttribute::SyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
EXPECT_NUMBER(PointerAttribute::BufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
EXPECT_NUMBER(PointerAttribute::IsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
EXPECT_NUMBER(PointerAttribute::DeviceOrdinal,
              CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
EXPECT_NUMBER(PointerAttribute::RangeStart,
              CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
EXPECT_NUMBER(PointerAttribute::RangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
EXPECT_NUMBER(PointerAttribute::Mapped, CU_POINTER_ATTRIBUTE_MAPPED);
static_assert(kNumPointerAttributes <=
              CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE + 1);

EXPECT_NUMBER(MemoryType::Host, CU_MEMORYTYPE_HOST);
EXPECT_NUMBER(MemoryType::Device, CU_MEMORYTYPE_DEVICE);
EXPECT_NUMBER(Limit::StackSize, CU_LIMIT_STACK_SIZE);
EXPECT_NUMBER(Limit::PrintfSize, CU_LIMIT_PRINTF_FIFO_SIZE);
EXPECT_NUMBER(Limit::HeapSize, CU_LIMIT_MALLOC_HEAP_SIZE);
EXPECT_NUMBER(SymbolStatus::Found, CU_GET_PROC_ADDRESS_SUCCESS);
EXPECT_NUMBER(SymbolStatus::NotFound, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
EXPECT_NUMBER(SymbolStatus::TooOld, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
EXPECT_NUMBER(LaunchAttributeId::Cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
EXPECT_NUMBER(LaunchAttributeId::ClusterDimension,
              CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
EXPECT_NUMBER(LaunchAttributeId::PreferredCluster,
              CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
static_assert(kNumLaunchAttributes <=
              CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING + 1);

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(ContextParameters) == sizeof(CUctxCreateParams));
static_assert(offsetof(ContextParameters, graphics) ==
              offsetof(CUctxCreateParams, cigParams));
static_assert(sizeof(LaunchParameters) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchParameters, block) ==
              offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchParameters, dynamicShared) ==
              offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchParameters, stream) ==
              offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchParameters, attributes) ==
              offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchParameters, numAttributes) ==
              offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) ==
              offsetof(CUlaunchAttribute, value));

//===----------------------------------------------------------------------===//
// Prototypes
//===----------------------------------------------------------------------===//

/// True if both types are passed alike and, where they point to numbers, those
/// have one size.
template <typename Ours, typename Theirs>
constexpr bool isAlike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Ours>;
    using Other = std::remove_pointer_t<Theirs>;
    constexpr bool number = std::is_arithmetic_v<To> || std::is_enum_v<To>;
    constexpr bool other = std::is_arithmetic_v<Other> || std::is_enum_v<Other>;
    if constexpr (number && other)
      return sizeof(To) == sizeof(Other);
    return number == other;
  }
  return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
         sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs>
struct HasShape : std::false_type {};
template <typename... Ours, typename... Theirs>
struct HasShape<Result(Ours...), CUresult(Theirs...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
      return (isAlike<Ours, Theirs>() && ...);
    return false;
  }
  static constexpr bool value = check();
};

#define KVC_CUDA_ENTRY(base, since, name, parameters)                          \
  static_assert(HasShape<Result parameters, decltype(::name)>::value, #name);
#define KVC_CUDA_OLD_ENTRY(base, since, name, parameters)
#define KVC_CUDA_UNSUPPORTED(base, since, name)                                \
  static_assert(std::is_function_v<decltype(::name)>, #name);
#include "Emulator/Driver/EntryPoints.def"

TEST(CudaHeaderTest, Compiles) {}

#else

TEST(CudaHeaderTest, Compiles) {
  GTEST_SKIP() << "cuda.h of CUDA 13 was not found";
}

#endif
