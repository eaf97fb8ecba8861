//===- WorkListModel.h - a work list, built plainly -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_PIPELINES_WORKLISTMODEL_H
#define KVC_TEST_UNIT_PIPELINES_WORKLISTMODEL_H

#include "kvc/Conversion/WorkList.h"

#include <random>
#include <vector>

namespace kvc {

/// What a list is made for.
struct ListSetup {
  const char *name;
  int32_t queryTokens, split;
  bool causal;
  int32_t window; ///< 0: none.
  bool deterministic;
  bool clusters = false; ///< Of the device's list, which then is told of them.
};

/// What a list is made from.
struct ListBatch {
  std::vector<int32_t> queryStart = {0}, kvLens, pageStart;
  int64_t pageStride = 0; ///< Counts if there is no pageStart.
  int32_t maxKvLen = 0, target = 1, cluster = 1;

  int32_t getNumSequences() const { return kvLens.size(); }
  int32_t getNumTokens() const { return queryStart.back(); }
};

struct ModelList {
  std::vector<WorkItem> items;
  std::vector<MergeEntry> merges;
  int32_t parts = 0, cluster = 1;
};

/// Splits of `setup` that make one chunk of the batch.
int64_t getSplitsOfChunk(const ListSetup &setup, const ListBatch &batch);

ModelList buildModelList(const ListSetup &setup, const ListBatch &batch);

/// Turns a list without clusters into that of clusters of `size` blocks.
void setClusters(ModelList &list, int32_t size);

/// A batch of one of several kinds, such as many sequences of one length, or one that
/// is long.
ListBatch drawBatch(const ListSetup &setup, int32_t maxSequences, std::mt19937 &random);

} // namespace kvc

#endif // KVC_TEST_UNIT_PIPELINES_WORKLISTMODEL_H
