//===- LaunchRecorder.h - a runtime that records launches -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table that records what a program for a GPU asks for. No pointer to device
// memory is ever followed: each is one that no process has.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_PIPELINES_LAUNCHRECORDER_H
#define KVC_TEST_UNIT_PIPELINES_LAUNCHRECORDER_H

#include "kvc-rt/abi.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace kvc {

/// A launch as the runtime sees it.
struct Launch {
  std::string kernel;
  std::vector<uint32_t> grid;
  uint32_t cluster; ///< Blocks along y; 1 if there are none.
  std::vector<uint64_t> params;
};

/// An address on the device.
uint64_t device(uint64_t number);
void *devicePtr(uint64_t number);

/// A tensor of [tokens, heads, width] whose rows have a gap between them.
kvc_tensor_t makeTensor(uint64_t number, int64_t tokens, int64_t heads, int64_t width);
/// A batch of one token a sequence.
kvc_batch_t makeBatch(int32_t sequences, int32_t maxKvLen);
/// A view of two components.
kvc_cache_view_t makeCache();

/// Holds a program, whose calls it records.
class LaunchRecorder : public testing::Test {
protected:
  LaunchRecorder();

  template <typename T>
  const T *getAt(kvc_offset_t offset) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(program->blob) + offset);
  }
  /// The program's PTX.
  std::string getImage() const;

  uint64_t getNeeds(int32_t sequences, int32_t tokens, int32_t kvLen,
                    kvc_status_t expected = KVC_STATUS_OK);
  /// Runs the first function with a workspace `offset` bytes after device(1000).
  kvc_status_t run(llvm::ArrayRef<const void *> args, uint64_t workspaceSize,
                   uint64_t offset = 0);

  mlir::MLIRContext context;
  std::string diagnostics;
  const kvc_program_t *program = nullptr;

  // What the table is asked for, and what it answers.
  std::vector<Launch> launches;
  std::vector<std::string> messages;
  int checkedCalls = 0;
  kvc_status_t checkStatus = KVC_STATUS_OK;
  size_t failingLaunch = SIZE_MAX;
  int32_t workers = 132;

private:
  static kvc_status_t recordLaunch(kvc_stream_t *, const kvc_program_t *, uint32_t kernel,
                                   const uint32_t grid[3], const uint32_t cluster[3],
                                   const void *const *params);
  static kvc_rt_api_t makeTable();

  kvc_rt_api_t table = makeTable();
};

/// Bytes of each parameter of an entry, as PTX declares it.
std::vector<size_t> getParameterSizes(llvm::StringRef ptx, llvm::StringRef entry);

} // namespace kvc

#endif // KVC_TEST_UNIT_PIPELINES_LAUNCHRECORDER_H
