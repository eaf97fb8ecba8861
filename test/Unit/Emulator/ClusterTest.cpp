//===- ClusterTest.cpp - blocks that read each other's memory -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

using namespace kvc::emu;

static CheckRunner makeRunner(const std::string &body, uint32_t blocks,
                              uint32_t threads = 32) {
  CheckRunner runner(body);
  runner.grid = runner.cluster = {blocks, 1, 1};
  runner.block = {threads, 1, 1};
  return runner;
}

/// Stores %r10 to the word of `out` that a thread has in its block, of `threads`.
static std::string storeResult(uint32_t threads = 32) {
  return "mad.lo.u32 %r20, %b, " + std::to_string(threads) + R"(, %t;
  mul.wide.u32 %d10, %r20, 4;
  add.u64 %d10, %d10, %out;
  st.global.u32 [%d10], %r10;
)";
}

/// What all warps of the cluster pass together.
static constexpr const char *kBarrier = R"(
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";

//===----------------------------------------------------------------------===//
// What is right
//===----------------------------------------------------------------------===//

// Each block reads what the next one wrote: 100 * rank + thread.
TEST(ClusterTest, ReadsTheNextBlock) {
  CheckRunner runner = makeRunner(std::string(R"(
  mov.u32 %r0, %cluster_ctarank;
  mad.lo.u32 %r1, %r0, 100, %t;
  st.shared.u32 [%s], %r1;)") + kBarrier + R"(
  add.u32 %r2, %r0, 1;
  and.b32 %r2, %r2, 3;
  mapa.shared::cluster.u32 %r3, %s, %r2;
  ld.shared::cluster.u32 %r10, [%r3];
)" + storeResult() + kBarrier, 4);
  runner.grid = {8, 1, 1};
  std::vector<uint32_t> words = runner.expectClean();
  for (uint32_t block = 0; block < 8; ++block)
    for (uint32_t t = 0; t < 32; ++t)
      EXPECT_EQ(words[block * 32 + t], (block + 1) % 4 * 100 + t) << block;
}
