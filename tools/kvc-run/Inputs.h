//===- Inputs.h - caches, sequences and tensors of a call -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_INPUTS_H
#define KVC_TOOLS_KVC_RUN_INPUTS_H

#include "CacheRows.h"
#include "Options.h"
#include "Program.h"
#include "Threads.h"

namespace kvcrun {

struct ReleasePool {
  void operator()(kvc_pool_t *pool) const { kvc_pool_release(pool); }
};
using PoolHandle = std::unique_ptr<kvc_pool_t, ReleasePool>;

struct ReleaseBatch {
  void operator()(kvc_batch_object_t *batch) const { kvc_batch_release(batch); }
};
using BatchHandle = std::unique_ptr<kvc_batch_object_t, ReleaseBatch>;

/// A tensor that has a row for each new token: all but vectors that are arguments, sinks
/// and frequencies.
inline bool isTokenIndexed(const kvc_arg_desc_t &arg) {
  return arg.kind == KVC_ARG_TENSOR && (arg.rank >= 2 || arg.is_result);
}

/// The new tokens that the type of a token-indexed argument or result asks for; nothing
/// if it takes any number.
std::optional<int64_t> getStaticTokens(const Program &program);

/// The memory of one cache argument.
struct Cache {
  unsigned argument;
  kvc_cache_type_t type;
  PoolHandle pool;
  kvc_cache_view_t view;
};

/// All that a call of one function needs.
class Inputs {
public:
  /// Makes the caches, the batch and the tensors; null after a message.
  static std::unique_ptr<Inputs> create(const Options &options, const FunctionFacts &facts,
                                        const Program &program, kvc_stream_t *stream);

  /// Runs `program`, whose arguments are of these types.
  mlir::LogicalResult run(const Program &program, kvc_stream_t *stream);

  llvm::ArrayRef<Cache> getCaches() const { return caches; }
  const kvc_batch_t &getBatch() const { return *kvc_batch_view(batch.get()); }
  llvm::ArrayRef<int32_t> getPages(unsigned sequence) const { return pages[sequence]; }
  /// Argument or result `index`; empty if it is no tensor.
  const Tensor &getTensor(unsigned index) const { return tensors[index]; }
  Tensor &getTensor(unsigned index) { return tensors[index]; }
  const void *getArgument(unsigned index) const { return arguments[index]; }

  /// Tokens of a sequence whose rows of an array are there before the call.
  int32_t getStoredTokens(const Cache &cache, unsigned array, unsigned sequence) const;
  /// What an array holds of a token of a sequence before the call.
  Row getStoredRow(const Cache &cache, unsigned array, unsigned sequence, int64_t token) const;
  /// The same of a static array.
  Row getStaticRow(const Cache &cache, unsigned array) const;

private:
  Inputs(const Options &options, const FunctionFacts &facts, const Program &program)
      : options(options), facts(facts), random(options.seed), program(program) {}

  mlir::LogicalResult checkMemory() const;
  mlir::LogicalResult makeCaches();
  mlir::LogicalResult makeCache(unsigned argument, const kvc_cache_type_t &type);
  mlir::LogicalResult makeSequences(Cache &cache);
  mlir::LogicalResult makeBatch();
  mlir::LogicalResult fillCaches(kvc_stream_t *stream);
  bool fillPage(const Cache &cache, unsigned array, unsigned sequence, int64_t number) const;
  mlir::LogicalResult makeTensors();
  mlir::FailureOr<std::vector<int64_t>> getShape(unsigned index) const;
  mlir::LogicalResult readFiles();

  const Options &options;
  const FunctionFacts &facts;
  RandomNumbers random;
  const Program &program; ///< For the types of the arguments.
  std::vector<Cache> caches; ///< At least one; the first one makes the batch.
  std::vector<kvc_sequence_t> sequences; ///< Of the first cache.
  std::vector<std::vector<int32_t>> pages; ///< Of each sequence, in every cache.
  BatchHandle batch;
  std::vector<Tensor> tensors;
  std::vector<const void *> arguments;
};

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_INPUTS_H
