//===- _kvc.cpp - the C interfaces of kvc for Python ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thin wrappers of kvc-c and kvc-rt that own handles, keep alive what a call
// refers to, and turn statuses into exceptions. The package's Python modules
// give them types, defaults and documentation. Arrays come in as NumPy arrays
// together with the number of their element type, since NumPy itself has no
// bf16: such arrays arrive viewed as uint16.
//===----------------------------------------------------------------------===//
#include "Call.h"
#include "Objects.h"

#include "kvc-c/compiler.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

using namespace kvc::python;
using namespace nb::literals;

//===----------------------------------------------------------------------===//
// Compiler
//===----------------------------------------------------------------------===//

namespace {
/// What the compiler made; a program's code lives as long as this does.
struct Compiled {
  Compiled() = default;
  Compiled(const Compiled &) = delete;
  ~Compiled() {
    if (loaded)
      kvc_program_unload(loaded);
  }

  Handle<kvc_compiled_t, kvc_compiled_release> handle;
  std::string messages;
  const kvc_program_t *loaded = nullptr;
};

struct Compiler {
  Compiler() : handle(kvc_compiler_create()) {
    if (!handle)
      throw std::bad_alloc();
  }

  /// The messages belong to the last call, so they are fetched under the lock.
  kvc_status_t compile(const std::string &text,
                       const kvc_compile_options_t &options,
                       Compiled &compiled) {
    std::lock_guard<std::mutex> lock(mutex);
    kvc_compiled_t *result = nullptr;
    kvc_status_t status = kvc_compile(handle.get(), text.data(), text.size(),
                                      &options, &result);
    if (const char *messages = kvc_compiler_messages(handle.get()))
      compiled.messages = messages;
    compiled.handle.reset(result);
    return status;
  }

  Handle<kvc_compiler_t, kvc_compiler_release> handle;
  std::mutex mutex;
};
} // namespace

static std::unique_ptr<Compiled>
compile(Compiler &compiler, const std::string &text, int emit, int target,
        uint32_t ptxVersion, int64_t split, int64_t cachePage,
        const OptionalString &tier,
        const OptionalString &layout, const OptionalString &precision,
        const OptionalString &chip, const OptionalString &cpu,
        const OptionalString &features, const OptionalString &programName) {
  kvc_compile_options_t options = {};
  options.struct_size = sizeof(options);
  options.emit = static_cast<kvc_emit_t>(emit);
  options.target = static_cast<kvc_target_t>(target);
  options.ptx_version = ptxVersion;
  options.tier = orNull(tier);
  options.layout = orNull(layout);
  options.precision = orNull(precision);
  options.chip = orNull(chip);
  options.cpu = orNull(cpu);
  options.features = orNull(features);
  options.program_name = orNull(programName);
  options.split = split;
  options.cache_page = cachePage;
  auto compiled = std::make_unique<Compiled>();
  kvc_status_t status;
  {
    nb::gil_scoped_release release;
    status = compiler.compile(text, options, *compiled);
  }
  if (status != KVC_STATUS_OK)
    throwError("CompileError", status, compiled->messages);
  return compiled;
}

static nb::object getData(const Compiled &compiled) {
  size_t size = 0;
  const char *data = kvc_compiled_data(compiled.handle.get(), &size);
  return data ? nb::object(nb::bytes(data, size)) : nb::none();
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static nb::dict describeDevice(const kvc_device_info_t &info) {
  nb::dict result;
  result["name"] = info.name;
  result["num_multiprocessors"] = info.num_multiprocessors;
  result["compute_capability"] =
      nb::make_tuple(info.compute_major, info.compute_minor);
  result["driver_version"] = info.driver_version;
  result["total_memory"] = info.total_memory;
  return result;
}

using Bytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes =
    nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static void checkSize(uint64_t expected, uint64_t size) {
  if (size != expected)
    throwInvalid("expected an array of " + std::to_string(expected) +
                 " bytes, got " + std::to_string(size));
}

/// The address of a part of device memory.
static void *findPart(const DeviceMemory &memory, uint64_t offset,
                      uint64_t size) {
  if (offset > memory.size || size > memory.size - offset)
    throwInvalid("expected a part of " + std::to_string(memory.size) +
                 " bytes, got " + std::to_string(size) + " from byte " +
                 std::to_string(offset));
  return static_cast<char *>(memory.data) + offset;
}

static void uploadMemory(const DeviceMemory &memory, uint64_t offset,
                         const ConstBytes &bytes) {
  void *part = findPart(memory, offset, bytes.size());
  kvc_status_t status;
  {
    nb::gil_scoped_release release;
    status = kvc_device_upload(memory.device->handle.get(), part, bytes.data(),
                               bytes.size());
  }
  check(status);
}

static void downloadMemory(const DeviceMemory &memory, uint64_t offset,
                           const Bytes &bytes) {
  void *part = findPart(memory, offset, bytes.size());
  kvc_status_t status;
  {
    nb::gil_scoped_release release;
    status = kvc_device_download(memory.device->handle.get(), bytes.data(),
                                 part, bytes.size());
  }
  check(status);
}

//===----------------------------------------------------------------------===//
// Cache types and views
//===----------------------------------------------------------------------===//

namespace {
/// Name, heads, width, element type, layout, constant scale.
using ComponentTuple =
    std::tuple<std::string, int32_t, int32_t, kvc_dtype_t, kvc_layout_t, float>;
} // namespace

static CacheType makeCacheType(int32_t pageSize,
                               const std::vector<ComponentTuple> &components) {
  if (components.size() > KVC_MAX_COMPONENTS)
    throwInvalid("expected at most " + std::to_string(KVC_MAX_COMPONENTS) +
                 " components, got " + std::to_string(components.size()));
  CacheType result = {};
  result.type.page_size = pageSize;
  result.type.num_components = static_cast<int32_t>(components.size());
  for (size_t i = 0; i < components.size(); ++i) {
    const auto &[name, heads, width, dtype, layout, scale] = components[i];
    if (name.size() >= KVC_MAX_NAME || name.find('\0') != std::string::npos)
      throwInvalid("expected a component name of at most " +
                   std::to_string(KVC_MAX_NAME - 1) + " characters, got '" +
                   name + "'");
    kvc_component_type_t &component = result.type.components[i];
    std::memcpy(component.name, name.data(), name.size());
    component.heads = heads;
    component.width = width;
    component.dtype = dtype;
    component.layout = layout;
    component.scale = scale;
  }
  return result;
}

static std::vector<ComponentTuple> getComponents(const CacheType &type) {
  std::vector<ComponentTuple> result;
  for (int32_t i = 0; i < type.type.num_components; ++i) {
    const kvc_component_type_t &c = type.type.components[i];
    result.emplace_back(c.name, c.heads, c.width, c.dtype, c.layout, c.scale);
  }
  return result;
}

/// Makes a view over one array a component: [pages, page, heads, width],
/// [pages, heads, image] for the packed layouts, or [heads, width] if static.
static CacheView makeCacheView(const CacheType &type, int64_t numPages,
                               const std::vector<nb::ndarray<>> &arrays) {
  CacheView result = {};
  result.type = type.type;
  result.view.struct_size = sizeof(result.view);
  result.view.num_components = static_cast<uint32_t>(arrays.size());
  result.view.fingerprint = kvc_cache_type_fingerprint(&type.type);
  result.view.num_pages = numPages;
  for (size_t i = 0; i < arrays.size() && i < KVC_MAX_COMPONENTS; ++i) {
    const nb::ndarray<> &array = arrays[i];
    kvc_component_view_t &component = result.view.components[i];
    bool isRowMajor = type.type.components[i].layout == KVC_LAYOUT_ROW_MAJOR;
    component.data = array.data();
    result.arrays.push_back(array);
    if (type.type.components[i].layout == KVC_LAYOUT_STATIC) {
      component.head_stride = array.stride(0);
      continue;
    }
    component.page_stride = array.stride(0);
    component.head_stride = array.stride(isRowMajor ? 2 : 1);
    component.token_stride = isRowMajor ? array.stride(1) : 0;
  }
  return result;
}

static const kvc_component_type_t &findComponent(const CacheView &cache, uint32_t index) {
  if (index >= cache.view.num_components)
    throw nb::index_error();
  return cache.type.components[index];
}

static uint64_t getBytes(const CacheView &cache, uint32_t index) {
  return static_cast<uint64_t>(getExtent(cache, index, cache.view.num_pages)) *
         static_cast<uint64_t>(kvc_dtype_size(cache.type.components[index].dtype));
}

/// The memory of component `index` as an array of unsigned integers, shaped as
/// makeCacheView takes it; of a device a copy of it.
static nb::ndarray<nb::numpy> getMemory(nb::handle self, uint32_t index) {
  const auto &cache = nb::cast<const CacheView &>(self);
  const kvc_component_type_t &type = findComponent(cache, index);
  kvc_component_view_t view = cache.view.components[index];
  nb::object owner = nb::borrow(self);
  if (cache.device) {
    uint64_t size = getBytes(cache, index);
    auto copy = std::make_unique<char[]>(size);
    check(kvc_device_download(cache.device->handle.get(), copy.get(), view.data,
                              size));
    view.data = copy.get();
    owner = nb::capsule(copy.release(), [](void *memory) noexcept {
      delete[] static_cast<char *>(memory);
    });
  }
  auto pages = static_cast<size_t>(cache.view.num_pages);
  auto heads = static_cast<size_t>(type.heads);
  auto page = static_cast<size_t>(cache.type.page_size);
  auto width = static_cast<size_t>(type.width);
  nb::dlpack::dtype dtype = {
      static_cast<uint8_t>(nb::dlpack::dtype_code::UInt),
      static_cast<uint8_t>(8 * kvc_dtype_size(type.dtype)), 1};
  if (type.layout == KVC_LAYOUT_STATIC) {
    size_t shape[] = {heads, width};
    int64_t strides[] = {view.head_stride, 1};
    return {view.data, 2, shape, owner, strides, dtype};
  }
  if (type.layout == KVC_LAYOUT_ROW_MAJOR) {
    size_t shape[] = {pages, page, heads, width};
    int64_t strides[] = {view.page_stride, view.token_stride, view.head_stride, 1};
    return {view.data, 4, shape, owner, strides, dtype};
  }
  size_t shape[] = {pages, heads, page * width};
  int64_t strides[] = {view.page_stride, view.head_stride, 1};
  return {view.data, 3, shape, owner, strides, dtype};
}

/// Writes back what getMemory() copied from a device.
static void setMemory(const CacheView &cache, uint32_t index,
                      const nb::ndarray<nb::ro> &memory) {
  findComponent(cache, index);
  int64_t extent = 1;
  for (size_t i = 0; i < memory.ndim(); ++i)
    extent = memory.shape(i) == 0
                 ? 0
                 : extent + static_cast<int64_t>(memory.shape(i) - 1) *
                                memory.stride(i);
  auto size = static_cast<uint64_t>(extent) * memory.itemsize();
  checkSize(getBytes(cache, index), size);
  check(kvc_device_upload(cache.device->handle.get(), cache.view.components[index].data,
                          memory.data(), size));
}

using Slots = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Checks that `size` is that of the rows of a component for each slot.
static void checkRows(const CacheView &cache, uint32_t index, const Slots &slots,
                      uint64_t size) {
  const kvc_component_type_t &type = findComponent(cache, index);
  checkSize(slots.size() * static_cast<uint64_t>(type.heads) *
                static_cast<uint64_t>(type.width) *
                static_cast<uint64_t>(kvc_dtype_size(type.dtype)),
            size);
}

static kvc_device_t *getDevice(const CacheView &cache) {
  return cache.device ? cache.device->handle.get() : nullptr;
}

static void readRows(const CacheView &cache, uint32_t index, const Slots &slots,
                     const Bytes &rows) {
  checkRows(cache, index, slots, rows.size());
  kvc_status_t status;
  {
    nb::gil_scoped_release release;
    status =
        kvc_cache_read(&cache.type, &cache.view, getDevice(cache), static_cast<int32_t>(index),
                       slots.data(), static_cast<int64_t>(slots.size()), rows.data());
  }
  check(status);
}

static void writeRows(const CacheView &cache, uint32_t index, const Slots &slots,
                      const ConstBytes &rows) {
  checkRows(cache, index, slots, rows.size());
  kvc_status_t status;
  {
    nb::gil_scoped_release release;
    status =
        kvc_cache_write(&cache.type, &cache.view, getDevice(cache), static_cast<int32_t>(index),
                        slots.data(), static_cast<int64_t>(slots.size()), rows.data());
  }
  check(status);
}

//===----------------------------------------------------------------------===//
// Pools and sequences
//===----------------------------------------------------------------------===//

namespace {
struct Pool {
  Pool(const CacheType &type, int64_t numPages, int32_t numLayers,
       bool debugFill, uint64_t pageOrderSeed, DevicePtr on)
      : type(type), device(std::move(on)) {
    kvc_pool_options_t options = {};
    options.struct_size = sizeof(options);
    options.flags = debugFill ? KVC_POOL_DEBUG_FILL : 0;
    options.num_pages = numPages;
    options.num_layers = numLayers;
    options.page_order_seed = pageOrderSeed;
    options.device = device ? device->handle.get() : nullptr;
    kvc_pool_t *created = nullptr;
    check(kvc_pool_create(&type.type, &options, &created));
    handle.reset(created);
  }

  CacheType type;
  DevicePtr device; ///< Null for the host.
  Handle<kvc_pool_t, kvc_pool_release> handle;
};
} // namespace

static CacheView getPoolView(nb::handle self, int32_t layer) {
  const auto &pool = nb::cast<const Pool &>(self);
  CacheView result = {};
  result.type = pool.type.type;
  check(kvc_pool_view(pool.handle.get(), layer, &result.view));
  result.pool = nb::borrow(self);
  result.device = pool.device;
  return result;
}

static nb::dict getPoolStats(const Pool &pool) {
  kvc_pool_stats_t stats = {};
  stats.struct_size = sizeof(stats);
  check(kvc_pool_stats(pool.handle.get(), &stats));
  nb::dict result;
  result["total_pages"] = stats.total_pages;
  result["free_pages"] = stats.free_pages;
  result["used_pages"] = stats.used_pages;
  result["used_tokens"] = stats.used_tokens;
  result["bytes_per_page"] = stats.bytes_per_page;
  return result;
}

static kvc_sequence_t createSequence(const Pool &pool) {
  kvc_sequence_t result;
  check(kvc_sequence_create(pool.handle.get(), &result));
  return result;
}

static int32_t getSequenceLength(const Pool &pool, kvc_sequence_t sequence) {
  int32_t result;
  check(kvc_sequence_length(pool.handle.get(), sequence, &result));
  return result;
}

static std::vector<int32_t> getSequencePages(const Pool &pool,
                                             kvc_sequence_t sequence) {
  int32_t count;
  check(kvc_sequence_pages(pool.handle.get(), sequence, nullptr, 0, &count));
  std::vector<int32_t> result(static_cast<size_t>(count));
  check(kvc_sequence_pages(pool.handle.get(), sequence, result.data(), count,
                           &count));
  return result;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

namespace {
using I32Array = nb::ndarray<const int32_t, nb::c_contig>;
using I64Array = nb::ndarray<const int64_t, nb::c_contig>;
} // namespace

static std::unique_ptr<Batch>
batchFromSequences(const Pool &pool,
                   const std::vector<kvc_sequence_t> &sequences,
                   const std::vector<int32_t> &queryLens) {
  if (sequences.size() != queryLens.size())
    throwInvalid("expected as many query lengths as sequences (" +
                 std::to_string(sequences.size()) + "), got " +
                 std::to_string(queryLens.size()));
  auto batch = std::make_unique<Batch>();
  kvc_batch_object_t *created = nullptr;
  check(kvc_batch_create(pool.handle.get(), sequences.data(), queryLens.data(),
                         static_cast<int32_t>(sequences.size()), &created));
  batch->handle.reset(created);
  batch->view = *kvc_batch_view(created);
  batch->hostView = *kvc_batch_host_view(created);
  batch->device = pool.device;
  return batch;
}

static std::unique_ptr<Batch>
batchFromArrays(const I32Array &queryStart, const I32Array &kvLens,
                const I32Array &pageIds, const std::optional<I32Array> &pageStart,
                int64_t pageStride, const I64Array &slots,
                const I32Array &positions, int32_t numSequences,
                int32_t numTokens, int32_t maxQueryLen, int32_t maxKVLen) {
  auto batch = std::make_unique<Batch>();
  kvc_batch_t &view = batch->view;
  view.struct_size = sizeof(view);
  view.num_sequences = numSequences;
  view.num_tokens = numTokens;
  view.max_query_len = maxQueryLen;
  view.max_kv_len = maxKVLen;
  view.query_start = batch->own(queryStart);
  view.kv_lens = batch->own(kvLens);
  view.page_ids = batch->own(pageIds);
  view.page_start = pageStart ? batch->own(*pageStart) : nullptr;
  view.page_stride = pageStride;
  view.num_page_ids = static_cast<int64_t>(pageIds.size());
  view.slots = batch->own(slots);
  view.positions = batch->own(positions);
  batch->hostView = view;
  return batch;
}

/// A read-only array over `count` elements that the batch owns.
template <typename T>
static nb::ndarray<nb::numpy, const T, nb::ndim<1>>
getBatchArray(nb::handle self, const T *data, int64_t count) {
  size_t shape[] = {static_cast<size_t>(count)};
  return {data, 1, shape, self};
}

/// The arrays of the batch by name; page_start is absent in a padded table.
static nb::dict getBatchArrays(nb::handle self) {
  const kvc_batch_t &view = nb::cast<const Batch &>(self).hostView;
  nb::dict result;
  result["query_start"] =
      getBatchArray(self, view.query_start, int64_t{view.num_sequences} + 1);
  result["kv_lens"] = getBatchArray(self, view.kv_lens, view.num_sequences);
  result["page_ids"] = getBatchArray(self, view.page_ids, view.num_page_ids);
  if (view.page_start)
    result["page_start"] =
        getBatchArray(self, view.page_start, int64_t{view.num_sequences} + 1);
  result["slots"] = getBatchArray(self, view.slots, view.num_tokens);
  result["positions"] = getBatchArray(self, view.positions, view.num_tokens);
  return result;
}

//===----------------------------------------------------------------------===//
// Programs and calls
//===----------------------------------------------------------------------===//

static Tensor makeTensor(const nb::ndarray<nb::ro> &array, kvc_dtype_t dtype) {
  if (array.ndim() > KVC_MAX_RANK)
    throwInvalid("expected an array of rank at most " +
                 std::to_string(KVC_MAX_RANK) + ", got " +
                 std::to_string(array.ndim()));
  Tensor result = {};
  result.tensor.data = const_cast<void *>(array.data());
  result.tensor.rank = static_cast<int32_t>(array.ndim());
  result.tensor.dtype = dtype;
  for (size_t i = 0; i < array.ndim(); ++i) {
    result.tensor.shape[i] = static_cast<int64_t>(array.shape(i));
    result.tensor.strides[i] = array.stride(i);
  }
  result.owner = array;
  return result;
}

/// A contiguous tensor in device memory.
static Tensor makeDeviceTensor(nb::handle_t<DeviceMemory> memory,
                               const std::vector<int64_t> &shape,
                               int64_t rowStride, kvc_dtype_t dtype) {
  if (shape.size() > KVC_MAX_RANK)
    throwInvalid("expected an array of rank at most " +
                 std::to_string(KVC_MAX_RANK) + ", got " +
                 std::to_string(shape.size()));
  const auto &owner = nb::cast<const DeviceMemory &>(memory);
  Tensor result = {};
  result.tensor.data = owner.data;
  result.tensor.rank = static_cast<int32_t>(shape.size());
  result.tensor.dtype = dtype;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    result.tensor.shape[i] = shape[i];
    result.tensor.strides[i] = i == 0 ? std::max(stride, rowStride) : stride;
  }
  // Up to the end of the last row.
  int64_t elements = stride;
  if (stride > 0 && !shape.empty())
    elements += (shape[0] - 1) * (result.tensor.strides[0] - stride / shape[0]);
  findPart(owner, 0, static_cast<uint64_t>(elements) *
                         static_cast<uint64_t>(kvc_dtype_size(dtype)));
  result.deviceMemory = nb::borrow(memory);
  result.device = owner.device;
  return result;
}

static Program loadProgram(nb::handle self) {
  auto &compiled = nb::cast<Compiled &>(self);
  kvc_program_query_fn query = kvc_compiled_query(compiled.handle.get());
  if (!query)
    throwInvalid("expected a compiled program, got another kind of result");
  Program result = {nullptr, nb::borrow(self)};
  check(kvc_program_load(query, &result.program));
  compiled.loaded = result.program;
  return result;
}

/// A dimension or stride; none if it is known only at run.
static nb::object getExtent(int64_t value) {
  return value == KVC_DYNAMIC ? nb::none() : nb::object(nb::int_(value));
}

static nb::dict describeArg(const kvc_blob_t *blob, const kvc_arg_desc_t &arg) {
  nb::dict result;
  result["kind"] = arg.kind;
  result["is_result"] = arg.is_result != 0;
  nb::list shape, strides;
  for (int32_t i = 0; i < arg.rank && arg.kind == KVC_ARG_TENSOR; ++i) {
    shape.append(getExtent(arg.shape[i]));
    strides.append(getExtent(arg.strides[i]));
  }
  result["shape"] = nb::tuple(shape);
  result["strides"] = nb::tuple(strides);
  result["dtype"] = arg.dtype;
  result["rows_are_tokens"] = arg.rows_are_tokens != 0;
  result["cache_type"] = nb::none();
  if (arg.kind == KVC_ARG_CACHE)
    result["cache_type"] = nb::cast(CacheType{
        inBlob<kvc_cache_type_t>(blob, blob->cache_types)[arg.cache_type]});
  return result;
}

/// Pairs of a name and the arguments' descriptions, inputs before results.
static nb::list describeFunctions(const Program &program) {
  const kvc_blob_t *blob = program.program->blob;
  nb::list result;
  for (uint32_t i = 0; i < blob->num_functions; ++i) {
    const kvc_function_desc_t *function = kvc_program_function(program.program, i);
    const auto *descs = inBlob<kvc_arg_desc_t>(blob, function->args);
    nb::list args;
    for (uint32_t arg = 0; arg < function->num_args; ++arg)
      args.append(describeArg(blob, descs[arg]));
    result.append(nb::make_tuple(inBlob<char>(blob, function->name), args));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

NB_MODULE(_kvc, m) {
  m.doc() = "Wrappers of kvc's C interfaces; use the package kvc instead.";
  m.def("compiler_version", [] { return kvc_compiler_version(); });
  m.def("runtime_version", [] { return kvc_runtime_version(); });
  m.def("status_name", [](kvc_status_t s) { return kvc_status_name(s); });

  nb::class_<Compiler>(m, "Compiler")
      .def(nb::init<>())
      .def("compile", compile, "text"_a, nb::kw_only(), "emit"_a, "target"_a,
           "ptx_version"_a, "split"_a, "cache_page"_a, "tier"_a.none(), "layout"_a.none(),
           "precision"_a.none(), "chip"_a.none(), "cpu"_a.none(),
           "features"_a.none(), "program_name"_a.none());
  nb::class_<Compiled>(m, "Compiled")
      .def("data", getData)
      .def("load", loadProgram)
      .def_ro("messages", &Compiled::messages)
      .def_prop_ro("milliseconds", [](const Compiled &compiled) {
        return kvc_compiled_milliseconds(compiled.handle.get());
      });

  m.def("device_count", [](const OptionalString &library) {
    int32_t count = 0;
    check(kvc_device_count(orNull(library), &count));
    return count;
  }, "library"_a.none());
  m.def("describe_device", [](const OptionalString &library, int32_t ordinal) {
    kvc_device_info_t info;
    check(kvc_device_describe(orNull(library), ordinal, &info));
    return describeDevice(info);
  }, "library"_a.none(), "ordinal"_a);
  nb::class_<Device>(m, "Device")
      .def(nb::init<const OptionalString &, int32_t>(), "library"_a.none(),
           "ordinal"_a)
      .def("info", [](const Device &device) {
        kvc_device_info_t info;
        check(kvc_device_info(device.handle.get(), &info));
        return describeDevice(info);
      })
      .def("synchronize", [](const Device &device) {
        kvc_status_t status;
        {
          nb::gil_scoped_release release;
          status = kvc_device_synchronize(device.handle.get());
        }
        check(status);
      });
  nb::class_<DeviceMemory>(m, "DeviceMemory")
      .def(nb::init<DevicePtr, uint64_t>(), "device"_a, "size"_a)
      .def("upload", uploadMemory, "offset"_a, "bytes"_a)
      .def("download", downloadMemory, "offset"_a, "bytes"_a);

  nb::class_<CacheType>(m, "CacheType")
      .def_static("make", makeCacheType, "page_size"_a, "components"_a)
      .def_prop_ro("page_size",
                   [](const CacheType &t) { return t.type.page_size; })
      .def_prop_ro("components", getComponents)
      .def_prop_ro("fingerprint", [](const CacheType &t) {
        return kvc_cache_type_fingerprint(&t.type);
      });
  nb::class_<CacheView>(m, "CacheView")
      .def_static("make", makeCacheView, "type"_a, "num_pages"_a, "arrays"_a)
      .def("memory",
           [](nb::handle_t<CacheView> self, uint32_t index) { return getMemory(self, index); })
      .def("set_memory", setMemory, "index"_a, "memory"_a)
      .def("read", readRows, "index"_a, "slots"_a, "rows"_a)
      .def("write", writeRows, "index"_a, "slots"_a, "rows"_a)
      .def_prop_ro("num_pages", [](const CacheView &v) { return v.view.num_pages; });
  nb::class_<Pool>(m, "Pool")
      .def(nb::init<const CacheType &, int64_t, int32_t, bool, uint64_t,
                    DevicePtr>(),
           "type"_a, "num_pages"_a, "num_layers"_a, "debug_fill"_a,
           "page_order_seed"_a, "device"_a.none())
      .def("view", [](nb::handle_t<Pool> self,
                      int32_t layer) { return getPoolView(self, layer); })
      .def("stats", getPoolStats)
      .def("create_sequence", createSequence)
      .def("sequence_length", getSequenceLength)
      .def("sequence_pages", getSequencePages)
      .def("append",
           [](const Pool &pool, kvc_sequence_t sequence, int32_t numTokens) {
             check(kvc_sequence_append(pool.handle.get(), sequence, numTokens));
           })
      .def("free_sequence", [](const Pool &pool, kvc_sequence_t sequence) {
        check(kvc_sequence_free(pool.handle.get(), sequence));
      });
  nb::class_<Batch>(m, "Batch")
      .def_static("from_sequences", batchFromSequences, "pool"_a, "sequences"_a,
                  "query_lens"_a)
      .def_static("from_arrays", batchFromArrays, "query_start"_a, "kv_lens"_a,
                  "page_ids"_a, "page_start"_a.none(), "page_stride"_a,
                  "slots"_a, "positions"_a, "num_sequences"_a, "num_tokens"_a,
                  "max_query_len"_a, "max_kv_len"_a)
      .def("arrays", [](nb::handle_t<Batch> self) { return getBatchArrays(self); })
      .def_prop_ro("num_tokens", [](const Batch &b) { return b.view.num_tokens; })
      .def_prop_ro("max_query_len",
                   [](const Batch &b) { return b.view.max_query_len; })
      .def_prop_ro("max_kv_len", [](const Batch &b) { return b.view.max_kv_len; });

  nb::class_<Stream>(m, "Stream")
      .def(nb::init<int32_t, DevicePtr>(), "num_threads"_a, "device"_a.none())
      .def_prop_ro("num_workers", [](const Stream &stream) {
        return kvc_stream_num_workers(stream.handle.get());
      });
  nb::class_<Tensor>(m, "Tensor")
      .def_static("make", makeTensor, "array"_a, "dtype"_a)
      .def_static("make_on_device", makeDeviceTensor, "memory"_a, "shape"_a,
                  "row_stride"_a, "dtype"_a);
  nb::class_<Program>(m, "Program")
      .def("functions", describeFunctions)
      .def("shapes", computeShapes, "function"_a, "inputs"_a)
      .def("run", run, "function"_a, "stream"_a, "args"_a)
      .def_prop_ro("target", [](const Program &program) {
        const kvc_blob_t *blob = program.program->blob;
        return inBlob<char>(blob, blob->target);
      });
}
