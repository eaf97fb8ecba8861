//===- Pool.h - a pool of pages and its sequences ---------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owns the memory of the pages, the list of free ones, and the sequences.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_POOL_H
#define KVC_LIB_RUNTIME_POOL_H

#include "CUDA/Device.h"
#include "CacheType.h"
#include "Mapping.h"
#include "Registry.h"

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace kvc::rt {

/// The free pages of a pool: a stack of page ids of fixed capacity, so that
/// giving pages back never allocates.
class FreeList {
public:
  /// All of `numPages` pages are free. With a seed other than 0, take() draws
  /// at random; with 0 it takes what was given back last, and 0, 1, 2, ... from
  /// a new pool. Throws std::bad_alloc.
  FreeList(int32_t numPages, uint64_t seed);

  int32_t size() const { return numFree; }
  /// Takes one page; there must be one.
  int32_t take();
  /// Gives `page` back.
  void give(int32_t page) { set(numFree++, page); }

private:
  struct Deleter {
    void operator()(int32_t *entries) const;
  };

  /// Entry i holds its page id XORed with what a new unseeded list has there,
  /// numPages - 1 - i: the zeroed memory that the system hands out lazily is
  /// that list, so a huge pool costs nothing before its pages are used.
  int32_t get(int32_t i) const { return entries[i] ^ (numPages - 1 - i); }
  void set(int32_t i, int32_t page) { entries[i] = page ^ (numPages - 1 - i); }
  uint64_t nextRandom();

  int32_t numPages;
  int32_t numFree;
  bool shuffled;
  uint64_t randomState;
  std::unique_ptr<int32_t[], Deleter> entries;
};

struct Sequence {
  std::vector<int32_t> pages; ///< ceil(length / page size) of them.
  int32_t length = 0;         ///< Tokens.
};

/// A page pool. Its methods lock it, except where they say that the caller has.
class Pool {
public:
  /// Without a device its memory is the host's.
  Pool(const kvc_cache_type_t &type, const PageLayout &layout,
       const kvc_pool_options_t &options, std::shared_ptr<Device> device);
  ~Pool();

  /// Takes the memory of all layers.
  kvc_status_t map();

  kvc_status_t getView(int32_t layer, kvc_cache_view_t &view) const;
  void getStats(kvc_pool_stats_t &stats) const;

  kvc_status_t createSequence(kvc_sequence_t &handle);
  kvc_status_t append(kvc_sequence_t handle, int32_t numTokens);
  kvc_status_t freeSequence(kvc_sequence_t handle);

  /// Finds a sequence, or returns null with a message. The caller holds
  /// `mutex` for as long as it uses the result.
  const Sequence *find(kvc_sequence_t handle) const;

  const kvc_cache_type_t type;
  const std::shared_ptr<Device> device; ///< Null for the host.
  mutable std::mutex mutex;

private:
  /// Pages that came back while work on the device might read them.
  struct RetiredPages {
    std::vector<int32_t> pages;
    Fence fence;
  };

  kvc_status_t takeMemory(uint64_t bytes);
  Sequence *findMutable(kvc_sequence_t handle);
  uint64_t getLayerBytes() const;
  kvc_status_t fillInLayers(uint64_t offset, uint64_t bytes);
  kvc_status_t fillStatic();
  kvc_status_t fillPage(int32_t page);
  kvc_status_t givePages(const std::vector<int32_t> &pages);
  kvc_status_t freeRetired(int32_t wanted, bool wait);

  const PageLayout layout;
  const int32_t numPages;
  const int32_t numLayers;
  const bool debugFill;
  const uint64_t identity; ///< High bits of the handles of its sequences.
  Mapping mapping;         ///< Of the host,
  Block block;             ///< or of the device.
  char *memory = nullptr;  ///< Of either: [layer](static, [page][component])
  FreeList freePages;
  std::deque<RetiredPages> retired; ///< Oldest first; empty on the host.
  int32_t numRetired = 0;           ///< Pages in there.
  /// By handle, which is `identity` and a serial number.
  std::unordered_map<kvc_sequence_t, Sequence> sequences;
  uint64_t nextSerial = 1;
  int64_t usedTokens = 0;
};

Registry<Pool, kvc_pool_t> &getPools();

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_POOL_H
