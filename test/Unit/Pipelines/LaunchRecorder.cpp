//===- LaunchRecorder.cpp - a runtime that records launches ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchRecorder.h"

#include "kvc/Pipelines/Compile.h"

#include <cstring>

using namespace kvc;

static LaunchRecorder *current;

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  return registry;
}

LaunchRecorder::LaunchRecorder()
    : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
  });
  current = this;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

uint64_t kvc::device(uint64_t number) { return 0x7f00000000000000 + number * 0x1000; }
void *kvc::devicePtr(uint64_t number) { return reinterpret_cast<void *>(device(number)); }

kvc_tensor_t kvc::makeTensor(uint64_t number, int64_t tokens, int64_t heads, int64_t width) {
  return {devicePtr(number), {tokens, heads, width}, {heads * width + 64, width, 1}, 3,
          KVC_DTYPE_BF16};
}

kvc_batch_t kvc::makeBatch(int32_t sequences, int32_t maxKvLen) {
  kvc_batch_t batch = {};
  batch.struct_size = sizeof(batch);
  batch.num_sequences = batch.num_tokens = sequences;
  batch.max_query_len = 1;
  batch.max_kv_len = maxKvLen;
  batch.query_start = static_cast<int32_t *>(devicePtr(100));
  batch.kv_lens = static_cast<int32_t *>(devicePtr(101));
  batch.page_ids = static_cast<int32_t *>(devicePtr(102));
  batch.page_start = static_cast<int32_t *>(devicePtr(103));
  batch.page_stride = 77;
  batch.slots = static_cast<int64_t *>(devicePtr(104));
  batch.positions = static_cast<int32_t *>(devicePtr(105));
  return batch;
}

kvc_cache_view_t kvc::makeCache() {
  kvc_cache_view_t cache = {};
  cache.struct_size = sizeof(cache);
  cache.num_components = 2;
  cache.num_pages = 1000;
  cache.components[0] = {devicePtr(10), 40000, 2048, 128};
  cache.components[1] = {devicePtr(11), 50000, 2049, 129};
  return cache;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::string LaunchRecorder::getImage() const {
  return getAt<char>(getAt<kvc_image_desc_t>(program->blob->images)->data);
}

std::vector<size_t> kvc::getParameterSizes(llvm::StringRef ptx, llvm::StringRef entry) {
  llvm::StringRef list = ptx.split((".entry " + entry + "(").str()).second.split(')').first;
  std::vector<size_t> sizes;
  while (!list.empty()) {
    llvm::StringRef parameter;
    std::tie(parameter, list) = list.split(',');
    if (parameter.contains(".param"))
      sizes.push_back(parameter.contains("32 ") ? 4 : 8);
  }
  return sizes;
}

uint64_t LaunchRecorder::getNeeds(int32_t sequences, int32_t tokens, int32_t kvLen,
                                  kvc_status_t expected) {
  kvc_bounds_t bounds = {sizeof(bounds), sequences, tokens, 1, kvLen, workers, nullptr};
  kvc_needs_t needs = {sizeof(needs), 0, 0};
  EXPECT_EQ(program->entries[0].needs(&table, &bounds, &needs), expected);
  return needs.workspace_size;
}

kvc_status_t LaunchRecorder::run(llvm::ArrayRef<const void *> args, uint64_t workspaceSize,
                                 uint64_t offset) {
  kvc_call_t call = {sizeof(call), static_cast<uint32_t>(args.size()), args.data(),
                     static_cast<char *>(devicePtr(1000)) + offset, workspaceSize};
  return program->entries[0].run(&table, nullptr, &call);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

kvc_status_t LaunchRecorder::recordLaunch(kvc_stream_t *, const kvc_program_t *, uint32_t kernel,
                                          const uint32_t grid[3], const uint32_t cluster[3],
                                          const void *const *params) {
  const kvc_blob_t *blob = current->program->blob;
  Launch launch;
  launch.kernel =
      current->getAt<char>(current->getAt<kvc_kernel_desc_t>(blob->kernels)[kernel].name);
  launch.grid.assign(grid, grid + 3);
  launch.cluster = cluster ? cluster[1] : 1;
  EXPECT_TRUE(!cluster || (cluster[0] == 1 && cluster[2] == 1));
  for (size_t size : getParameterSizes(current->getImage(), launch.kernel)) {
    uint64_t value = 0;
    std::memcpy(&value, *params++, size);
    launch.params.push_back(value);
  }
  current->launches.push_back(launch);
  return current->launches.size() - 1 == current->failingLaunch ? KVC_STATUS_INTERNAL
                                                                : KVC_STATUS_OK;
}

kvc_rt_api_t LaunchRecorder::makeTable() {
  kvc_rt_api_t table = {};
  table.struct_size = sizeof(table);
  table.abi_version = KVC_ABI_VERSION;
  table.check_call = [](const kvc_program_t *, uint32_t, const kvc_call_t *) {
    ++current->checkedCalls;
    return current->checkStatus;
  };
  table.fail = [](kvc_status_t status, const char *message) {
    current->messages.push_back(message);
    return status;
  };
  table.num_workers = [](kvc_stream_t *) { return current->workers; };
  table.launch = recordLaunch;
  return table;
}
