//===- Occupancy.cpp - how many blocks a processor holds ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Occupancy.h"

#include "Options.h"

#include <algorithm>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

/// Registers and shared memory are given in units of so many.
static constexpr uint32_t kRegisterUnit = 256, kSharedUnit = 128;

static uint32_t roundUp(uint32_t value, uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

uint32_t cuda::getRegisters(const Kernel &kernel) {
  // ptxas spills what is more.
  return std::clamp(kernel.registers, 1u, 255u);
}

/// Shared memory that a block takes.
static uint32_t getSharedBytes(const Kernel &kernel, uint32_t dynamicShared) {
  return roundUp(kernel.staticShared + dynamicShared + kReservedShared,
                 kSharedUnit);
}

/// Blocks that a processor has the threads and registers for.
static uint32_t getBlocksByThreads(const Kernel &kernel, uint32_t threads) {
  uint32_t warps = roundUp(threads, 32) / 32;
  uint32_t registers = roundUp(getRegisters(kernel) * 32, kRegisterUnit);
  uint32_t byWarps = kThreadsPerProcessor / 32 / warps;
  uint32_t byRegisters = kRegistersPerProcessor / registers / warps;
  return std::min({kBlocksPerProcessor, byWarps, byRegisters});
}

uint32_t cuda::getResidentBlocks(const Function &function, uint32_t threads,
                                 uint64_t dynamicShared) {
  const Kernel &kernel = *function.kernel;
  if (threads > kernel.maxThreads || threads > kMaxThreads ||
      dynamicShared > kMaxShared ||
      kernel.staticShared + dynamicShared > kMaxShared)
    return 0;
  return std::min(getBlocksByThreads(kernel, threads),
                  kSharedPerProcessor /
                      getSharedBytes(kernel, uint32_t(dynamicShared)));
}

Result cuda::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, FunctionHandle handle, int blockSize, size_t dynamicShared,
    uint32_t flags) {
  return callInContext([&](Driver &driver, Context &) {
    Function *function = driver.functions.find(handle);
    if (!function)
      return InvalidHandle;
    if (!blocks || blockSize <= 0 || flags > 1)
      return InvalidValue;
    *blocks =
        int(getResidentBlocks(*function, uint32_t(blockSize), dynamicShared));
    return Success;
  });
}

Result cuda::cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                         FunctionHandle handle,
                                                         int blockSize,
                                                         size_t dynamicShared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, handle, blockSize, dynamicShared, 0);
}

Result cuda::cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicShared,
                                                     FunctionHandle handle,
                                                     int blocks,
                                                     int blockSize) {
  return callInContext([&](Driver &driver, Context &) {
    Function *function = driver.functions.find(handle);
    if (!function)
      return InvalidHandle;
    if (!dynamicShared || blocks <= 0 || blockSize <= 0 ||
        uint32_t(blockSize) > kMaxThreads ||
        uint32_t(blocks) >
            getBlocksByThreads(*function->kernel, uint32_t(blockSize)))
      return InvalidValue;
    uint32_t share =
        kSharedPerProcessor / uint32_t(blocks) / kSharedUnit * kSharedUnit;
    uint32_t taken = function->kernel->staticShared + kReservedShared;
    *dynamicShared =
        std::min(share, kMaxShared + kReservedShared) - std::min(share, taken);
    return Success;
  });
}

Result cuda::cuOccupancyMaxPotentialBlockSize(int *minGrid, int *blockSize,
                                              FunctionHandle handle,
                                              BlockSizeToShared toShared,
                                              size_t dynamicShared, int limit) {
  return callInContext([&](Driver &driver, Context &) {
    Function *function = driver.functions.find(handle);
    if (!function)
      return InvalidHandle;
    if (!minGrid || !blockSize || limit < 0)
      return InvalidValue;
    Options options;
    if (!readOptions(driver, options))
      return InvalidValue;
    uint32_t most = std::min(function->kernel->maxThreads, kMaxThreads);
    if (limit)
      most = std::min(most, uint32_t(limit));
    // The largest block of those that keep the most threads busy.
    uint32_t bestThreads = 0;
    *minGrid = *blockSize = 0;
    for (uint32_t threads = roundUp(most, 32); threads != 0; threads -= 32) {
      uint32_t size = std::min(threads, most);
      size_t shared = toShared ? toShared(int(size)) : dynamicShared;
      uint32_t blocks = getResidentBlocks(*function, size, shared);
      if (blocks * size <= bestThreads)
        continue;
      bestThreads = blocks * size;
      *blockSize = int(size);
      *minGrid = int(blocks * options.processors);
    }
    return bestThreads ? Success : InvalidValue;
  });
}
