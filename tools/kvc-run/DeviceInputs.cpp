//===- DeviceInputs.cpp - a call on a device ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceInputs.h"

using namespace kvcrun;
using namespace mlir;

/// Reports what the runtime said.
static LogicalResult check(kvc_status_t status) {
  return status == KVC_STATUS_OK ? success() : reportError(kvc_last_message());
}

FailureOr<void *> DeviceInputs::upload(const void *host, uint64_t size, bool isOutput) {
  void *data = nullptr;
  if (failed(check(kvc_device_allocate(device.get(), size, &data))))
    return failure();
  memory.emplace_back(data, Free{device.get()});
  if (failed(check(kvc_device_upload(device.get(), data, host, size))))
    return failure();
  if (isOutput)
    outputs.push_back({const_cast<void *>(host), data, size});
  return data;
}

/// Replaces `array` by its copy on the device.
template <typename T>
LogicalResult DeviceInputs::uploadArray(const T *&array, int64_t count) {
  if (!array)
    return success();
  FailureOr<void *> data = upload(array, count * sizeof(T));
  if (succeeded(data))
    array = static_cast<const T *>(*data);
  return data;
}

LogicalResult DeviceInputs::uploadBatch() {
  batch = inputs.getBatch();
  int64_t sequences = batch.num_sequences, tokens = batch.num_tokens;
  return success(succeeded(uploadArray(batch.query_start, sequences + 1)) &&
                 succeeded(uploadArray(batch.kv_lens, sequences)) &&
                 succeeded(uploadArray(batch.page_ids, batch.num_page_ids)) &&
                 succeeded(uploadArray(batch.page_start, sequences + 1)) &&
                 succeeded(uploadArray(batch.slots, tokens)) &&
                 succeeded(uploadArray(batch.positions, tokens)));
}

/// A pool of one layer is one stretch of memory: what is static, then page by page. The
/// first array of each begins it.
LogicalResult DeviceInputs::uploadCache(const Cache &cache, kvc_cache_view_t &view) {
  kvc_pool_stats_t stats = {};
  stats.struct_size = sizeof(stats);
  if (failed(check(kvc_pool_stats(cache.pool.get(), &stats))))
    return failure();
  view = cache.view;
  char *begin = nullptr, *pages = nullptr;
  for (unsigned i = 0; i < view.num_components; ++i) {
    char *array = static_cast<char *>(view.components[i].data);
    begin = begin ? std::min(begin, array) : array;
    if (!isStatic(cache.type.components[i]))
      pages = pages ? std::min(pages, array) : array;
  }
  FailureOr<void *> data =
      upload(begin, pages - begin + view.num_pages * stats.bytes_per_page, /*isOutput=*/true);
  if (failed(data))
    return failure();
  for (kvc_component_view_t &component :
       MutableArrayRef(view.components, view.num_components))
    component.data =
        static_cast<char *>(*data) + (static_cast<char *>(component.data) - begin);
  return success();
}

LogicalResult DeviceInputs::uploadArguments(const Program &program) {
  ArrayRef<kvc_arg_desc_t> args = program.getArgs();
  tensors.resize(args.size());
  caches.resize(args.size());
  for (auto [index, arg] : llvm::enumerate(args)) {
    if (arg.kind == KVC_ARG_BATCH) {
      arguments.push_back(&batch);
    } else if (arg.kind == KVC_ARG_CACHE) {
      auto cache = llvm::find_if(inputs.getCaches(),
                                 [&](const Cache &c) { return c.argument == index; });
      if (failed(uploadCache(*cache, caches[index])))
        return failure();
      arguments.push_back(&caches[index]);
    } else {
      Tensor &tensor = inputs.getTensor(index);
      FailureOr<void *> data = upload(tensor.getData(), tensor.getNumBytes(), arg.is_result);
      if (failed(data))
        return failure();
      tensors[index] = *tensor.getView();
      tensors[index].data = *data;
      arguments.push_back(&tensors[index]);
    }
  }
  return success();
}

std::unique_ptr<DeviceInputs> DeviceInputs::create(const Device &device, Inputs &inputs,
                                                   const Program &program) {
  std::unique_ptr<DeviceInputs> result(new DeviceInputs(device, inputs));
  if (failed(result->uploadBatch()) || failed(result->uploadArguments(program)))
    return nullptr;
  return result;
}

LogicalResult DeviceInputs::launch(const Program &program) {
  return check(kvc_program_run(program.program.get(), program.function, device.getStream(),
                               arguments.data(), static_cast<uint32_t>(arguments.size())));
}

LogicalResult DeviceInputs::synchronize() {
  return check(kvc_stream_synchronize(device.getStream()));
}

LogicalResult DeviceInputs::download() {
  for (const Copy &copy : outputs)
    if (failed(check(kvc_device_download(device.get(), copy.host, copy.data, copy.size))))
      return failure();
  return success();
}
