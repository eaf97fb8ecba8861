//===- DriverLibrary.cpp - a driver, loaded by its path -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DriverLibrary.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace kvc::emu::cuda;

void *DriverLibrary::find(const char *name) const {
  return dlsym(library, name);
}

const DriverLibrary &getDriverLibrary() {
  static const DriverLibrary loaded = [] {
    DriverLibrary driver;
    const char *path = std::getenv("KVC_CUDA_LIBRARY");
    driver.library =
        dlopen(path ? path : KVC_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!driver.library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    auto load = [&](auto &function, const char *name) {
      function =
          reinterpret_cast<std::decay_t<decltype(function)>>(driver.find(name));
    };
#define KVC_CUDA_ENTRY(base, since, name, parameters) load(driver.name, #name);
#include "Emulator/Driver/EntryPoints.def"
    load(driver.setOptions, "kvc_emulator_set_options");
    load(driver.getMessage, "kvc_emulator_last_message");
    load(driver.getNumReports, "kvc_emulator_num_reports");
    load(driver.getReports, "kvc_emulator_reports");
    load(driver.getCounters, "kvc_emulator_counters_json");
    load(driver.clear, "kvc_emulator_clear");
    int count;
    driver.beforeInit = driver.cuDeviceGetCount(&count);
    return driver;
  }();
  return loaded;
}

void DriverTest::SetUp() {
  ASSERT_EQ(driver.cuInit(0), Success);
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), Success);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(context), Success);
  if (driver.isEmulator()) {
    ASSERT_EQ(driver.setOptions(nullptr), 0);
    driver.clear();
  }
}

void DriverTest::TearDown() {
  ContextHandle top = nullptr;
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&top), Success);
  EXPECT_EQ(top, context);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), Success);
}

FunctionHandle DriverTest::findKernel(const char *name) {
  if (!module) {
    EXPECT_EQ(driver.cuModuleLoadData(&module, kDriverKernels), Success);
  }
  FunctionHandle function = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, name), Success)
      << name;
  return function;
}

DevicePointer DriverTest::allocate(size_t size) {
  DevicePointer address = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, size), Success);
  return address;
}

const char *const kDriverKernels = R"(
.version 8.0
.target sm_80
.address_size 64

.global .align 4 .u32 counter = 7;
.extern .shared .align 16 .b8 dynamic[];

// data[i] *= factor, for i < n.
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra DONE;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r5, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.f32 %f2, [%rd3];
  mul.rn.f32 %f3, %f2, %f1;
  st.global.f32 [%rd3], %f3;
DONE:
  ret;
}

// Writes a word to an address.
.visible .entry store(.param .u64 address)
{
  .reg .b32 %r1;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [address];
  mov.u32 %r1, 42;
  st.global.u32 [%rd1], %r1;
  ret;
}

// Adds one to the variable.
.visible .entry count()
{
  .reg .b32 %r1;
  atom.global.add.u32 %r1, [counter], 1;
  ret;
}

.visible .entry fail()
{
  trap;
  ret;
}

.visible .entry spin()
{
AGAIN:
  bra AGAIN;
}

// All threads write their number to one place.
.visible .entry race(.param .u64 address)
{
  .reg .b32 %r1;
  .reg .b64 %rd1;
  ld.param.u64 %rd1, [address];
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}

// Takes 40,000 bytes of shared memory, and some more.
.visible .entry shared()
{
  .shared .align 4 .b8 fixed[40000];
  .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, fixed;
  mad.lo.u32 %r2, %r1, 4, %r2;
  st.shared.u32 [%r2], %r1;
  mov.u32 %r2, dynamic;
  ret;
}

.visible .entry bounded()
.maxntid 64, 1, 1
{
  ret;
}
)";
