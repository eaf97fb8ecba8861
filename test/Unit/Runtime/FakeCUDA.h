//===- FakeCUDA.h - a CUDA driver for tests ---------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared library with the entry points of CUDA's driver that the runtime
// uses. Device memory is host memory, kernels are functions of the test, and
// every call can be made to fail.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_RUNTIME_FAKECUDA_H
#define KVC_TEST_UNIT_RUNTIME_FAKECUDA_H

#include "CUDA/Driver.h"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

struct FakeCUDA {
  /// What a kernel does; `params[i]` points to a copy of parameter i.
  struct Kernel {
    std::vector<size_t> paramSizes;
    std::function<void(void **params)> body;
  };
  struct Launch {
    std::string kernel;
    std::vector<unsigned> grid;
    unsigned threads;
    unsigned sharedBytes;
    void *stream;
    std::vector<unsigned> cluster; ///< Empty: none was asked for.
  };
  struct Failure {
    kvc::rt::CUresult result;
    int skip; ///< Calls that still succeed.
  };
  struct Stream {
    std::vector<std::function<void()>> pending;
    bool isCapturing = false;
    kvc::rt::CUresult error = 0; ///< Comes out when it is synchronised.
  };

  /// Back to one good device that works at once; nothing may be alive.
  void reset();
  /// Makes the call of `name` after `skip` others fail, and those after it
  /// succeed again.
  void failCall(const std::string &name, kvc::rt::CUresult result,
                int skip = 0);
  bool isIdle();

  // The rest is read and written by one thread at a time, or under the mutex.
  std::recursive_mutex mutex;
  int numDevices = 1;
  int driverVersion = 12040;
  int computeMajor = 9, computeMinor = 0;
  /// True: what is put on a stream happens when it is synchronised.
  bool isDeferred = false;
  std::map<std::string, Kernel> kernels;

  std::map<std::string, int> numCalls;
  std::map<std::string, Failure> failures;
  std::vector<Launch> launches;
  std::map<uint64_t, size_t> allocations; ///< Address and size.
  std::set<void *> modules, events;
  std::map<void *, Stream> streams;
  int numContexts = 0;
  int numFreedWhileBusy = 0;
  int numUnloadedWhileBusy = 0;
  int numSpoiltCaptures = 0; ///< By what a captured stream cannot do.
  int maxSharedBytes = 0;    ///< That a function was allowed.
};

extern "C" FakeCUDA *kvc_fake_cuda();

#endif // KVC_TEST_UNIT_RUNTIME_FAKECUDA_H
