//===- FakeProgram.h - programs made by hand --------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds what a compiler would emit: descriptors of arguments, the flat blob,
// and the program around it.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_RUNTIME_FAKEPROGRAM_H
#define KVC_TEST_UNIT_RUNTIME_FAKEPROGRAM_H

#include "kvc-rt/runtime.h"

#include <string>
#include <vector>

/// Descriptors with strides that may be anything.
kvc_arg_desc_t makeTensorArg(kvc_dtype_t dtype,
                             const std::vector<int64_t> &shape,
                             bool rowsAreTokens = false);
kvc_arg_desc_t makeResultArg(kvc_dtype_t dtype,
                             const std::vector<int64_t> &shape,
                             bool rowsAreTokens = false);
kvc_arg_desc_t makeCacheArg(uint32_t cacheType);
kvc_arg_desc_t makeBatchArg();

/// A contiguous tensor of the given shape.
kvc_tensor_t makeTensor(void *data, kvc_dtype_t dtype,
                        const std::vector<int64_t> &shape);

class FakeProgram {
public:
  uint32_t addCacheType(const kvc_cache_type_t &type);
  /// Inputs come before results in `args`. Without an entry of its own the
  /// function needs nothing and does nothing.
  uint32_t addFunction(const std::string &name,
                       const std::vector<kvc_arg_desc_t> &args,
                       const kvc_function_entry_t *entry = nullptr);
  uint32_t addImage(const std::string &target, const std::string &text);
  uint32_t addKernel(const std::string &name, uint32_t image, uint32_t threads,
                     uint32_t sharedBytes = 0);

  /// Lays out the blob; after that the parts may be spoilt through the
  /// accessors.
  void build();

  kvc_program_t &program() { return header; }
  kvc_blob_t &blob() { return *at<kvc_blob_t>(0); }
  kvc_function_desc_t &function(uint32_t i) {
    return at<kvc_function_desc_t>(blob().functions)[i];
  }
  kvc_arg_desc_t &arg(uint32_t i, uint32_t j) {
    return at<kvc_arg_desc_t>(function(i).args)[j];
  }
  kvc_cache_type_t &cacheType(uint32_t i) {
    return at<kvc_cache_type_t>(blob().cache_types)[i];
  }
  kvc_image_desc_t &image(uint32_t i) {
    return at<kvc_image_desc_t>(blob().images)[i];
  }
  kvc_kernel_desc_t &kernel(uint32_t i) {
    return at<kvc_kernel_desc_t>(blob().kernels)[i];
  }
  std::vector<kvc_function_entry_t> &entries() { return allEntries; }

  /// Loads it as kvc_program_load does for a program that `query` returns.
  kvc_status_t load(const kvc_program_t **outProgram);

private:
  struct Function {
    std::string name;
    std::vector<kvc_arg_desc_t> args;
  };
  struct Image {
    std::string target, text;
  };
  struct Kernel {
    std::string name;
    uint32_t image, threads, sharedBytes;
  };

  template <typename T>
  T *at(kvc_offset_t offset) {
    return reinterpret_cast<T *>(reinterpret_cast<char *>(words.data()) +
                                 offset);
  }
  /// Appends bytes at a multiple of 8 and returns where.
  kvc_offset_t place(const void *data, size_t size);

  std::vector<kvc_cache_type_t> cacheTypes;
  std::vector<Function> functions;
  std::vector<Image> images;
  std::vector<Kernel> kernels;
  std::vector<kvc_function_entry_t> allEntries;
  std::vector<uint64_t> words; ///< The blob.
  kvc_program_t header = {};
};

#endif // KVC_TEST_UNIT_RUNTIME_FAKEPROGRAM_H
