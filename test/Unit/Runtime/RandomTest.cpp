//===- RandomTest.cpp - random calls against a simple model ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

#include <map>
#include <optional>
#include <random>

namespace {
/// What a pool should be: the length of each sequence and the owner of each
/// page, kept in the plainest way.
class PoolModel {
public:
  PoolModel(int32_t pageSize, int32_t numPages, uint64_t seed)
      : pageSize(pageSize), numPages(numPages), random(seed) {
    kvc_pool_options_t options = makePoolOptions(numPages);
    options.page_order_seed = seed % 3;
    options.flags = seed % 2 ? KVC_POOL_DEBUG_FILL : 0;
    pool.emplace(makeKeyValueType(pageSize), options);
  }

  void step() {
    // More sequences begin than end, so that the pool is full most of the time;
    // now and then it is emptied.
    if (draw(1000) == 0)
      while (!lengths.empty())
        release();
    switch (draw(9)) {
    case 0:
    case 1:
      return create();
    case 2:
      return release();
    case 3:
      return snapshot();
    case 4:
      return callWithStaleHandle();
    default:
      return append();
    }
  }

  /// How often the pool had too few pages.
  int64_t getNumRefused() const { return numRefused; }

  /// Compares everything that the pool tells with the model.
  void check() const {
    std::vector<bool> isOwned(numPages);
    int64_t usedPages = 0, usedTokens = 0;
    for (const auto &[sequence, length] : lengths) {
      ASSERT_EQ(pool->getLength(sequence), length);
      std::vector<int32_t> pages = pool->getPages(sequence);
      ASSERT_EQ(static_cast<int32_t>(pages.size()), pagesOf(length));
      for (int32_t page : pages) {
        ASSERT_TRUE(page >= 0 && page < numPages);
        ASSERT_FALSE(isOwned[page]) << "page " << page << " has two owners";
        isOwned[page] = true;
      }
      usedPages += pagesOf(length);
      usedTokens += length;
    }
    kvc_pool_stats_t stats = pool->getStats();
    ASSERT_EQ(stats.total_pages, numPages);
    ASSERT_EQ(stats.used_pages, usedPages);
    ASSERT_EQ(stats.free_pages, numPages - usedPages);
    ASSERT_EQ(stats.used_tokens, usedTokens);
  }

private:
  int32_t draw(int32_t limit) {
    return static_cast<int32_t>(random() % static_cast<uint32_t>(limit));
  }
  int32_t pagesOf(int32_t length) const {
    return (length + pageSize - 1) / pageSize;
  }
  auto drawSequence() {
    return std::next(lengths.begin(), draw(lengths.size()));
  }

  void create() {
    if (lengths.size() >= 24)
      return;
    kvc_sequence_t sequence = pool->createSequence();
    ASSERT_TRUE(lengths.emplace(sequence, 0).second);
  }

  void release() {
    if (lengths.empty())
      return;
    auto it = drawSequence();
    kvc_sequence_t sequence = it->first;
    stale.push_back(sequence);
    lengths.erase(it);
    ASSERT_OK(kvc_sequence_free(*pool, sequence));
  }

  void append() {
    if (lengths.empty())
      return;
    auto it = drawSequence();
    int32_t tokens = draw(2) ? draw(3) : draw(5 * pageSize);
    int64_t freePages = pool->getStats().free_pages;
    bool fits = pagesOf(it->second + tokens) - pagesOf(it->second) <= freePages;
    ASSERT_EQ(kvc_sequence_append(*pool, it->first, tokens),
              fits ? KVC_STATUS_OK : KVC_STATUS_OUT_OF_MEMORY);
    if (fits)
      it->second += tokens;
    else
      ++numRefused;
  }

  /// Makes a batch of a random choice of sequences and recomputes each entry.
  void snapshot() {
    std::vector<kvc_sequence_t> sequences;
    std::vector<int32_t> queryLens;
    for (const auto &[sequence, length] : lengths) {
      if (draw(2))
        continue;
      sequences.push_back(sequence);
      queryLens.push_back(draw(length + 1));
    }
    kvc_batch_object_t *batch = nullptr;
    ASSERT_OK(kvc_batch_create(*pool, sequences.data(), queryLens.data(),
                               static_cast<int32_t>(sequences.size()), &batch));
    const kvc_batch_t &view = *kvc_batch_view(batch);
    ASSERT_EQ(view.num_sequences, static_cast<int32_t>(sequences.size()));
    int32_t token = 0, page = 0;
    for (size_t i = 0; i < sequences.size(); ++i) {
      int32_t length = lengths.at(sequences[i]);
      std::vector<int32_t> pages = pool->getPages(sequences[i]);
      ASSERT_EQ(view.kv_lens[i], length);
      ASSERT_EQ(view.query_start[i], token);
      ASSERT_EQ(view.page_start[i], page);
      ASSERT_LE(length, view.max_kv_len);
      ASSERT_LE(queryLens[i], view.max_query_len);
      for (int32_t id : pages)
        ASSERT_EQ(view.page_ids[page++], id);
      for (int32_t p = length - queryLens[i]; p < length; ++p, ++token) {
        ASSERT_EQ(view.positions[token], p);
        ASSERT_EQ(view.slots[token],
                  int64_t{pages[p / pageSize]} * pageSize + p % pageSize);
      }
    }
    ASSERT_EQ(view.query_start[sequences.size()], token);
    ASSERT_EQ(view.page_start[sequences.size()], page);
    ASSERT_EQ(view.num_tokens, token);
    ASSERT_EQ(view.num_page_ids, page);
    kvc_batch_release(batch);
  }

  void callWithStaleHandle() {
    if (stale.empty())
      return;
    kvc_sequence_t sequence = stale[draw(stale.size())];
    ASSERT_EQ(kvc_sequence_append(*pool, sequence, 1), KVC_STATUS_NOT_FOUND);
    ASSERT_EQ(kvc_sequence_free(*pool, sequence), KVC_STATUS_NOT_FOUND);
  }

  int32_t pageSize;
  int32_t numPages;
  std::mt19937_64 random;
  std::optional<OwnedPool> pool;
  std::map<kvc_sequence_t, int32_t> lengths;
  std::vector<kvc_sequence_t> stale;
  int64_t numRefused = 0;
};
} // namespace

TEST(RandomTest, PoolAgreesWithItsModel) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const int32_t pageSizes[] = {1, 2, 3, 16, 7};
    PoolModel model(pageSizes[seed % 5], seed < 5 ? 40 : 17, seed);
    for (int i = 0; i < 10000; ++i) {
      model.step();
      if (i % 16 == 0)
        model.check();
      if (HasFatalFailure()) {
        FAIL() << "seed " << seed << ", step " << i;
      }
    }
    EXPECT_GT(model.getNumRefused(), 100);
  }
}
