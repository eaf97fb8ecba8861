//===- WorkListModel.cpp - a work list, built plainly ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WorkListModel.h"

#include <algorithm>
#include <map>

using namespace kvc;

namespace {
/// A block of query tokens, and keys that it sees, as numbers of splits.
struct ModelBlock {
  WorkItem item;
  int32_t kvLen;
  std::vector<int64_t> splits;
};
} // namespace

/// The keys from the first to the last that one of the queries sees.
static void setKeys(const ListSetup &setup, int32_t kvLen, WorkItem &item) {
  bool any = false;
  for (int32_t i = 0; i < item.queryCount; ++i) {
    int64_t position = int64_t(item.queryPos) + i;
    int64_t begin = 0, end = kvLen;
    if (setup.causal)
      end = std::min(end, position + 1);
    if (setup.window)
      begin = std::max(begin, position + 1 - setup.window);
    if (begin >= end)
      continue;
    item.kvBegin = any ? std::min<int64_t>(item.kvBegin, begin) : begin;
    item.kvEnd = any ? std::max<int64_t>(item.kvEnd, end) : end;
    any = true;
  }
}

static std::vector<ModelBlock> getBlocks(const ListSetup &setup, const ListBatch &batch) {
  std::vector<ModelBlock> blocks;
  for (int32_t sequence = 0; sequence < batch.getNumSequences(); ++sequence) {
    int32_t begin = batch.queryStart[sequence], end = batch.queryStart[sequence + 1];
    for (int32_t first = begin; first < end; first += setup.queryTokens) {
      ModelBlock block = {};
      WorkItem &item = block.item;
      item.queryBegin = first;
      item.queryCount = std::min(setup.queryTokens, end - first);
      block.kvLen = batch.kvLens[sequence];
      item.queryPos = block.kvLen - (end - first);
      item.numRanks = 1;
      item.firstPage = batch.pageStart.empty() ? batch.pageStride * sequence
                                               : batch.pageStart[sequence];
      setKeys(setup, block.kvLen, item);
      for (int64_t split = item.kvBegin / setup.split; split * setup.split < item.kvEnd; ++split)
        block.splits.push_back(split);
      // Without keys, or with more than there may be, it is one item.
      if (block.splits.empty() || block.kvLen > batch.maxKvLen)
        block.splits = {0};
      blocks.push_back(block);
    }
  }
  return blocks;
}

int64_t kvc::getSplitsOfChunk(const ListSetup &setup, const ListBatch &batch) {
  int64_t total = 0, chunk = 1;
  for (const ModelBlock &block : getBlocks(setup, batch))
    total += block.splits.size();
  while (!setup.deterministic && total > chunk * batch.target)
    ++chunk;
  return chunk;
}

ModelList kvc::buildModelList(const ListSetup &setup, const ListBatch &batch) {
  int64_t chunk = getSplitsOfChunk(setup, batch);
  ModelList list;
  for (const ModelBlock &block : getBlocks(setup, batch)) {
    WorkItem whole = block.item;
    std::vector<int64_t> chunks;
    if (static_cast<int64_t>(block.splits.size()) > chunk)
      for (int64_t split : block.splits)
        if (chunks.empty() || chunks.back() != split / chunk)
          chunks.push_back(split / chunk);
    if (chunks.size() < 2) {
      whole.part = -1;
      list.items.push_back(whole);
      continue;
    }
    list.merges.push_back({whole.queryBegin, list.parts, static_cast<int32_t>(chunks.size()),
                           whole.queryCount, 0});
    for (int64_t index : chunks) {
      WorkItem item = whole;
      item.kvBegin = std::max<int64_t>(whole.kvBegin, index * chunk * setup.split);
      item.kvEnd = std::min<int64_t>(whole.kvEnd, (index + 1) * chunk * setup.split);
      item.part = list.parts++;
      list.items.push_back(item);
    }
  }
  return list;
}

void kvc::setClusters(ModelList &list, int32_t size) {
  list.cluster = size;
  // By its part, the merge entry of an item.
  std::vector<int32_t> entryOf;
  for (size_t entry = 0; entry < list.merges.size(); ++entry)
    entryOf.insert(entryOf.end(), list.merges[entry].partCount, entry);
  std::vector<std::vector<size_t>> itemsOf(list.merges.size());
  for (size_t i = 0; i < list.items.size(); ++i) {
    list.items[i].firstRank = i % size;
    if (int32_t part = list.items[i].part; part >= 0)
      itemsOf[entryOf[part]].push_back(i);
  }
  for (size_t entry = 0; entry < itemsOf.size(); ++entry) {
    std::map<size_t, std::vector<size_t>> clusters;
    for (size_t i : itemsOf[entry])
      clusters[i / size].push_back(i);
    list.merges[entry].firstRank = itemsOf[entry][0] % size;
    for (const auto &[number, members] : clusters)
      for (size_t i : members) {
        list.items[i].firstRank = members[0] % size;
        list.items[i].numRanks = members.size();
        if (clusters.size() == 1)
          list.items[i].part = -1;
      }
  }
}

ListBatch kvc::drawBatch(const ListSetup &setup, int32_t maxSequences, std::mt19937 &random) {
  auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  ListBatch batch;
  int32_t kind = draw(0, 4), sequences = draw(0, draw(0, 1) ? maxSequences : 3);
  int32_t longest = 1 << draw(0, 13), common = draw(0, longest);
  for (int32_t i = 0; i < sequences; ++i) {
    int32_t length = draw(0, longest);
    if (kind == 0) // All the same: windows lie across the ends of chunks together.
      length = common;
    else if (kind == 1 && i > 0) // One is long.
      length = draw(0, 40);
    else if (kind == 2) // Just beside the ends of splits.
      length = std::max(0, length / setup.split * setup.split + draw(-1, 1));
    int32_t queries = setup.queryTokens == 1 ? draw(0, 9) > 0 : draw(0, 3 * setup.queryTokens);
    if (kind == 3 && draw(0, 4) == 0)
      queries = draw(0, 20); // Also more than there are keys.
    batch.queryStart.push_back(batch.queryStart.back() + queries);
    batch.kvLens.push_back(length);
    batch.maxKvLen = std::max(batch.maxKvLen, length);
  }
  // A bound that does not hold.
  if (kind == 4)
    batch.maxKvLen = draw(0, batch.maxKvLen);
  batch.target = draw(0, 1) ? draw(1, 12) : draw(1, 1000);
  if (setup.clusters)
    batch.cluster = 1 << draw(0, 3);
  if (draw(0, 1)) {
    for (int32_t i = 0; i <= sequences; ++i)
      batch.pageStart.push_back(draw(0, 1 << 30));
  } else {
    batch.pageStride = draw(0, 1 << 30);
  }
  return batch;
}
