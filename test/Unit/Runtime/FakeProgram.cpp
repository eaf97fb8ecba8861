//===- FakeProgram.cpp - programs made by hand ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "FakeProgram.h"

#include <algorithm>
#include <cstring>

kvc_arg_desc_t makeTensorArg(kvc_dtype_t dtype,
                             const std::vector<int64_t> &shape,
                             bool rowsAreTokens) {
  kvc_arg_desc_t desc = {};
  desc.kind = KVC_ARG_TENSOR;
  desc.rank = static_cast<int32_t>(shape.size());
  desc.dtype = dtype;
  desc.rows_are_tokens = rowsAreTokens;
  std::copy(shape.begin(), shape.end(), desc.shape);
  std::fill_n(desc.strides, shape.size(), KVC_DYNAMIC);
  return desc;
}

kvc_arg_desc_t makeResultArg(kvc_dtype_t dtype,
                             const std::vector<int64_t> &shape,
                             bool rowsAreTokens) {
  kvc_arg_desc_t desc = makeTensorArg(dtype, shape, rowsAreTokens);
  desc.is_result = 1;
  return desc;
}

kvc_arg_desc_t makeCacheArg(uint32_t cacheType) {
  kvc_arg_desc_t desc = {};
  desc.kind = KVC_ARG_CACHE;
  desc.cache_type = cacheType;
  return desc;
}

kvc_arg_desc_t makeBatchArg() {
  kvc_arg_desc_t desc = {};
  desc.kind = KVC_ARG_BATCH;
  return desc;
}

kvc_tensor_t makeTensor(void *data, kvc_dtype_t dtype,
                        const std::vector<int64_t> &shape) {
  kvc_tensor_t tensor = {};
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    tensor.shape[i] = shape[i];
    tensor.strides[i] = stride;
  }
  return tensor;
}

static kvc_status_t needNothing(const kvc_rt_api_t *, const kvc_bounds_t *,
                                kvc_needs_t *) {
  return KVC_STATUS_OK;
}

static kvc_status_t doNothing(const kvc_rt_api_t *, kvc_stream_t *,
                              const kvc_call_t *) {
  return KVC_STATUS_OK;
}

uint32_t FakeProgram::addCacheType(const kvc_cache_type_t &type) {
  cacheTypes.push_back(type);
  return static_cast<uint32_t>(cacheTypes.size() - 1);
}

uint32_t FakeProgram::addFunction(const std::string &name,
                                  const std::vector<kvc_arg_desc_t> &args,
                                  const kvc_function_entry_t *entry) {
  functions.push_back({name, args});
  allEntries.push_back(entry ? *entry
                             : kvc_function_entry_t{needNothing, doNothing,
                                                    nullptr});
  return static_cast<uint32_t>(functions.size() - 1);
}

uint32_t FakeProgram::addImage(const std::string &target,
                               const std::string &text) {
  images.push_back({target, text});
  return static_cast<uint32_t>(images.size() - 1);
}

uint32_t FakeProgram::addKernel(const std::string &name, uint32_t image,
                                uint32_t threads, uint32_t sharedBytes) {
  kernels.push_back({name, image, threads, sharedBytes});
  return static_cast<uint32_t>(kernels.size() - 1);
}

kvc_offset_t FakeProgram::place(const void *data, size_t size) {
  size_t offset = words.size() * 8;
  words.resize(words.size() + (size + 7) / 8);
  if (size > 0)
    std::memcpy(at<char>(static_cast<kvc_offset_t>(offset)), data, size);
  return static_cast<kvc_offset_t>(offset);
}

void FakeProgram::build() {
  words.assign(sizeof(kvc_blob_t) / 8, 0);
  kvc_blob_t blob = {};
  blob.magic = KVC_BLOB_MAGIC;
  blob.abi_version = KVC_ABI_VERSION;
  blob.target = place("fake", 5);

  std::vector<kvc_function_desc_t> functionDescs;
  for (const Function &function : functions) {
    kvc_function_desc_t desc = {};
    desc.name = place(function.name.c_str(), function.name.size() + 1);
    desc.num_args = static_cast<uint32_t>(function.args.size());
    desc.num_inputs = static_cast<uint32_t>(std::count_if(
        function.args.begin(), function.args.end(),
        [](const kvc_arg_desc_t &arg) { return !arg.is_result; }));
    desc.args = place(function.args.data(),
                      function.args.size() * sizeof(kvc_arg_desc_t));
    functionDescs.push_back(desc);
  }
  blob.num_functions = static_cast<uint32_t>(functionDescs.size());
  blob.functions = place(functionDescs.data(),
                         functionDescs.size() * sizeof(kvc_function_desc_t));

  blob.num_cache_types = static_cast<uint32_t>(cacheTypes.size());
  blob.cache_types =
      place(cacheTypes.data(), cacheTypes.size() * sizeof(kvc_cache_type_t));

  std::vector<kvc_image_desc_t> imageDescs;
  for (const Image &image : images) {
    kvc_image_desc_t desc = {};
    desc.target = place(image.target.c_str(), image.target.size() + 1);
    desc.data = place(image.text.c_str(), image.text.size() + 1);
    desc.data_size = image.text.size() + 1;
    imageDescs.push_back(desc);
  }
  blob.num_images = static_cast<uint32_t>(imageDescs.size());
  blob.images =
      place(imageDescs.data(), imageDescs.size() * sizeof(kvc_image_desc_t));

  std::vector<kvc_kernel_desc_t> kernelDescs;
  for (const Kernel &kernel : kernels)
    kernelDescs.push_back({place(kernel.name.c_str(), kernel.name.size() + 1),
                           kernel.image, kernel.threads, kernel.sharedBytes});
  blob.num_kernels = static_cast<uint32_t>(kernelDescs.size());
  blob.kernels =
      place(kernelDescs.data(), kernelDescs.size() * sizeof(kvc_kernel_desc_t));

  blob.size = words.size() * 8;
  *at<kvc_blob_t>(0) = blob;
  header = {sizeof(kvc_program_t), KVC_ABI_VERSION, at<kvc_blob_t>(0),
            allEntries.data()};
}

static thread_local const kvc_program_t *programToLoad;

static const kvc_program_t *queryProgram(uint32_t version) {
  return version == KVC_ABI_VERSION ? programToLoad : nullptr;
}

kvc_status_t FakeProgram::load(const kvc_program_t **outProgram) {
  programToLoad = &header;
  return kvc_program_load(queryProgram, outProgram);
}
