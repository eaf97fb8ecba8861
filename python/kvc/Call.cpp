//===- Call.cpp - calls of a program from Python --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a device, the memory of the host that a call refers to is copied there
// before and, where the call may write, back afterwards.
//===----------------------------------------------------------------------===//
#include "Call.h"

#include <algorithm>

using namespace kvc::python;

namespace {
/// A call with copies of its argument structures, in which memory of the host
/// is replaced by memory of the stream's device. Arguments that share memory
/// share its copy, so that they are to each other what they were.
class Call {
public:
  Call(const Program &program, uint32_t function, const Stream &stream,
       nb::list args);

  /// Copies to the device, runs, waits, and copies back what was written.
  kvc_status_t run();

private:
  /// A range of the host's memory and its place on the device.
  struct Range {
    uintptr_t begin, end;
    bool isWritten;
    void *allocation = nullptr;
    uintptr_t place = 0;
  };
  /// A copy of an argument.
  struct Argument {
    kvc_tensor_t tensor;
    kvc_cache_view_t cache;
    kvc_batch_t batch;
    bool isOnHost;
  };

  void checkPlace(size_t index, const DevicePtr &device) const;
  void addTensor(const Tensor &tensor, bool isWritten);
  void addCache(const CacheView &cache);
  void addBatch(const Batch &batch);
  void addRange(const void *data, int64_t low, int64_t high,
                int64_t elementSize, bool isWritten);
  void mergeRanges();
  kvc_status_t upload();
  kvc_status_t download();
  void freeRanges();
  template <typename T>
  void translate(T *&data) const;
  void translateAll();

  const Program &program;
  const uint32_t function;
  const Stream &stream;
  std::vector<std::unique_ptr<Argument>> arguments;
  std::vector<const void *> pointers;
  std::vector<Range> ranges; ///< In order and apart, once merged.
};
} // namespace

Call::Call(const Program &program, uint32_t function, const Stream &stream,
           nb::list args)
    : program(program), function(function), stream(stream) {
  const kvc_function_desc_t *desc =
      kvc_program_function(program.program, function);
  for (size_t i = 0; i < args.size(); ++i) {
    nb::handle arg = args[i];
    arguments.push_back(std::make_unique<Argument>());
    if (nb::isinstance<Tensor>(arg)) {
      const auto &tensor = nb::cast<const Tensor &>(arg);
      checkPlace(i, tensor.device);
      // More than three dimensions are a buffer of a cache, which an append writes.
      addTensor(tensor, (desc && i >= desc->num_inputs) || tensor.tensor.rank > 3);
    } else if (nb::isinstance<CacheView>(arg)) {
      const auto &cache = nb::cast<const CacheView &>(arg);
      checkPlace(i, cache.device);
      addCache(cache);
    } else {
      const auto &batch = nb::cast<const Batch &>(arg);
      checkPlace(i, batch.device);
      addBatch(batch);
    }
  }
}

/// Checks that an argument is on the host, or where the call runs.
void Call::checkPlace(size_t index, const DevicePtr &device) const {
  arguments[index]->isOnHost = !device;
  if (device && !(stream.device && stream.device->isSame(*device)))
    throwInvalid("argument " + std::to_string(index) +
                 ": expected memory of the host or of the stream's device, got "
                 "that of another device");
}

void Call::addTensor(const Tensor &tensor, bool isWritten) {
  Argument &argument = *arguments.back();
  argument.tensor = tensor.tensor;
  pointers.push_back(&argument.tensor);
  if (!argument.isOnHost)
    return;
  int64_t low = 0, high = 1;
  for (int32_t i = 0; i < argument.tensor.rank; ++i) {
    if (argument.tensor.shape[i] == 0)
      return;
    int64_t span = (argument.tensor.shape[i] - 1) * argument.tensor.strides[i];
    (span < 0 ? low : high) += span;
  }
  addRange(argument.tensor.data, low, high,
           kvc_dtype_size(argument.tensor.dtype), isWritten);
}

void Call::addCache(const CacheView &cache) {
  Argument &argument = *arguments.back();
  argument.cache = cache.view;
  pointers.push_back(&argument.cache);
  for (uint32_t i = 0; argument.isOnHost && i < cache.view.num_components; ++i)
    addRange(cache.view.components[i].data, 0,
             getExtent(cache, i, cache.view.num_pages),
             kvc_dtype_size(cache.type.components[i].dtype),
             /*isWritten=*/true);
}

void Call::addBatch(const Batch &batch) {
  Argument &argument = *arguments.back();
  argument.batch = batch.view;
  pointers.push_back(&argument.batch);
  if (!argument.isOnHost)
    return;
  for (const auto &array : batch.arrays)
    addRange(array.data(), 0, static_cast<int64_t>(array.size()),
             static_cast<int64_t>(array.itemsize()), /*isWritten=*/false);
  if (!batch.handle)
    return;
  const kvc_batch_t &view = batch.view;
  auto add = [&](const auto *array, int64_t count) {
    addRange(array, 0, count, sizeof(*array), /*isWritten=*/false);
  };
  add(view.query_start, int64_t{view.num_sequences} + 1);
  add(view.kv_lens, view.num_sequences);
  add(view.page_ids, view.num_page_ids);
  add(view.page_start, int64_t{view.num_sequences} + 1);
  add(view.slots, view.num_tokens);
  add(view.positions, view.num_tokens);
}

/// Adds elements `low` to below `high` of `data`.
void Call::addRange(const void *data, int64_t low, int64_t high,
                    int64_t elementSize, bool isWritten) {
  if (!stream.device || !data || low >= high)
    return;
  auto address = reinterpret_cast<uintptr_t>(data);
  ranges.push_back({address + static_cast<uintptr_t>(low * elementSize),
                    address + static_cast<uintptr_t>(high * elementSize),
                    isWritten});
}

void Call::mergeRanges() {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range &range : ranges) {
    if (merged.empty() || range.begin >= merged.back().end) {
      merged.push_back(range);
      continue;
    }
    merged.back().end = std::max(merged.back().end, range.end);
    merged.back().isWritten |= range.isWritten;
  }
  ranges = std::move(merged);
}

/// Copies every range to the device, at the same distance from a multiple of
/// the alignment that device memory has.
kvc_status_t Call::upload() {
  constexpr uintptr_t kAlignment = 256;
  kvc_device_t *device = stream.device->handle.get();
  for (Range &range : ranges) {
    uint64_t size = range.end - range.begin;
    if (kvc_status_t status =
            kvc_device_allocate(device, size + kAlignment, &range.allocation))
      return status;
    range.place = reinterpret_cast<uintptr_t>(range.allocation) +
                  range.begin % kAlignment;
    if (kvc_status_t status = kvc_device_upload(
            device, reinterpret_cast<void *>(range.place),
            reinterpret_cast<const void *>(range.begin), size))
      return status;
  }
  return KVC_STATUS_OK;
}

kvc_status_t Call::download() {
  for (const Range &range : ranges) {
    if (!range.isWritten)
      continue;
    if (kvc_status_t status = kvc_device_download(
            stream.device->handle.get(), reinterpret_cast<void *>(range.begin),
            reinterpret_cast<const void *>(range.place),
            range.end - range.begin))
      return status;
  }
  return KVC_STATUS_OK;
}

void Call::freeRanges() {
  for (const Range &range : ranges)
    if (range.allocation)
      kvc_device_free(stream.device->handle.get(), range.allocation);
}

/// Replaces an address of the host by that of its copy, if there is one.
template <typename T>
void Call::translate(T *&data) const {
  auto address = reinterpret_cast<uintptr_t>(data);
  for (const Range &range : ranges)
    if (address >= range.begin && address < range.end) {
      data = reinterpret_cast<T *>(range.place + (address - range.begin));
      return;
    }
}

void Call::translateAll() {
  for (size_t i = 0; i < arguments.size(); ++i) {
    Argument &argument = *arguments[i];
    if (!argument.isOnHost)
      continue;
    if (pointers[i] == &argument.tensor) {
      translate(argument.tensor.data);
    } else if (pointers[i] == &argument.cache) {
      for (uint32_t c = 0; c < argument.cache.num_components; ++c)
        translate(argument.cache.components[c].data);
    } else {
      translate(argument.batch.query_start);
      translate(argument.batch.kv_lens);
      translate(argument.batch.page_ids);
      translate(argument.batch.page_start);
      translate(argument.batch.slots);
      translate(argument.batch.positions);
    }
  }
}

kvc_status_t Call::run() {
  kvc_status_t status = KVC_STATUS_OK;
  if (stream.device) {
    mergeRanges();
    if ((status = upload()) == KVC_STATUS_OK)
      translateAll();
  }
  if (status == KVC_STATUS_OK)
    status = kvc_program_run(program.program, function, stream.handle.get(),
                             pointers.data(),
                             static_cast<uint32_t>(pointers.size()));
  if (status == KVC_STATUS_OK)
    status = kvc_stream_synchronize(stream.handle.get());
  if (status == KVC_STATUS_OK)
    status = download();
  std::string message = status == KVC_STATUS_OK ? "" : kvc_last_message();
  freeRanges();
  if (status != KVC_STATUS_OK) // said by the first that failed
    kvc_runtime_api()->fail(status, message.c_str());
  return status;
}

/// `args` keeps every argument alive while the interpreter lock is released.
void kvc::python::run(const Program &program, uint32_t function,
                      const Stream &stream, nb::list args) {
  Call call(program, function, stream, args);
  kvc_status_t status;
  {
    nb::gil_scoped_release release;
    status = call.run();
  }
  check(status);
}

nb::list kvc::python::computeShapes(const Program &program, uint32_t function,
                                    nb::list inputs) {
  std::vector<const void *> pointers;
  for (nb::handle input : inputs) {
    if (nb::isinstance<Tensor>(input))
      pointers.push_back(&nb::cast<const Tensor &>(input).tensor);
    else if (nb::isinstance<CacheView>(input))
      pointers.push_back(&nb::cast<const CacheView &>(input).view);
    else
      pointers.push_back(&nb::cast<const Batch &>(input).view);
  }
  const kvc_function_desc_t *desc =
      kvc_program_function(program.program, function);
  uint32_t numResults = desc ? desc->num_args - desc->num_inputs : 0;
  std::vector<int64_t> shapes(size_t{numResults} * KVC_MAX_RANK);
  check(kvc_program_shapes(program.program, function, pointers.data(),
                           static_cast<uint32_t>(pointers.size()),
                           shapes.data()));
  const auto *args = desc ? inBlob<kvc_arg_desc_t>(program.program->blob, desc->args)
                          : nullptr;
  nb::list result;
  for (uint32_t i = 0; i < numResults; ++i) {
    nb::list shape;
    for (int32_t dim = 0; dim < args[desc->num_inputs + i].rank; ++dim)
      shape.append(shapes[i * KVC_MAX_RANK + dim]);
    result.append(nb::tuple(shape));
  }
  return result;
}
