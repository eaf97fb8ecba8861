//===- DriverLibrary.h - a driver, loaded by its path -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the emulated driver as a program does: by its path, function by
// function. With the variable KVC_CUDA_LIBRARY set to libcuda.so.1, the tests
// compare what they expect with a real driver.
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_EMULATOR_DRIVERLIBRARY_H
#define KVC_TEST_UNIT_EMULATOR_DRIVERLIBRARY_H

#include "Emulator/Driver/Cuda.h"
#include "kvc-emulator/driver.h"

#include <gtest/gtest.h>
#include <string>

/// The functions of a driver, by their own names.
struct DriverLibrary {
#define KVC_CUDA_ENTRY(base, since, name, parameters)                          \
  decltype(&kvc::emu::cuda::name) name = nullptr;
#include "Emulator/Driver/EntryPoints.def"

  // Null in a real driver.
  decltype(&kvc_emulator_set_options) setOptions = nullptr;
  decltype(&kvc_emulator_last_message) getMessage = nullptr;
  decltype(&kvc_emulator_num_reports) getNumReports = nullptr;
  decltype(&kvc_emulator_reports) getReports = nullptr;
  decltype(&kvc_emulator_counters_json) getCounters = nullptr;
  decltype(&kvc_emulator_clear) clear = nullptr;

  /// What a function returned before cuInit.
  kvc::emu::cuda::Result beforeInit = kvc::emu::cuda::Success;

  bool isEmulator() const { return setOptions != nullptr; }
  /// The address of any function; null if there is none.
  void *find(const char *name) const;

private:
  friend const DriverLibrary &getDriverLibrary();
  void *library = nullptr;
};

/// Loads the library once. Ends the program if it cannot be loaded.
const DriverLibrary &getDriverLibrary();

/// Starts each test with an initialised driver and the primary context.
class DriverTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Loads the kernels of DriverKernels.cpp, and finds one.
  kvc::emu::cuda::FunctionHandle findKernel(const char *name);
  /// Allocates device memory that is freed with the context.
  kvc::emu::cuda::DevicePointer allocate(size_t size);

  const DriverLibrary &driver = getDriverLibrary();
  kvc::emu::cuda::ContextHandle context = nullptr;
  kvc::emu::cuda::ModuleHandle module = nullptr;
};

/// PTX of small kernels, for these tests only.
extern const char *const kDriverKernels;

#endif // KVC_TEST_UNIT_EMULATOR_DRIVERLIBRARY_H
