//===- RegisterAllocation.cpp - rows for registers ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilers declare thousands of virtual registers, one for each value; a warp's
// file of all of them would not stay in the cache. Linear scan over the order of
// the text. Lanes share no storage, so that it does not matter in which order
// diverged lanes run.
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>
#include <map>

using namespace kvc::emu;

namespace {

using Bits = std::vector<uint64_t>;

/// Bounds time and memory: 64 MiB for each set of the blocks.
constexpr size_t kMaxLivenessWords = 1 << 23;

struct BasicBlock {
  uint32_t begin = 0, end = 0; ///< Instructions.
  std::vector<uint32_t> successors, predecessors;
  Bits reads;  ///< Before any write.
  Bits writes; ///< By all lanes.
  Bits liveIn, liveOut;
};

struct Interval {
  RegisterId reg;
  uint32_t first, last;
  bool isWide;
};

} // namespace

static std::vector<BasicBlock> findBlocks(const std::vector<Ins> &code) {
  std::vector<bool> starts(code.size() + 1, false);
  starts[0] = true;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].kind == Kind::Branch)
      starts[code[i].target] = starts[i + 1] = true;
    if (code[i].kind == Kind::Exit)
      starts[i + 1] = true;
  }
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> blockOf(code.size() + 1, 0);
  for (size_t i = 0; i < code.size(); ++i) {
    if (starts[i]) {
      blocks.emplace_back();
      blocks.back().begin = uint32_t(i);
    }
    blocks.back().end = uint32_t(i) + 1;
    blockOf[i] = uint32_t(blocks.size()) - 1;
  }
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const Ins &last = code[blocks[b].end - 1];
    if (last.kind == Kind::Branch)
      blocks[b].successors.push_back(blockOf[last.target]);
    bool falls = (last.kind != Kind::Branch && last.kind != Kind::Exit) ||
                 last.guard != kAlways;
    if (falls && b + 1 < blocks.size())
      blocks[b].successors.push_back(b + 1);
    for (uint32_t successor : blocks[b].successors)
      blocks[successor].predecessors.push_back(b);
  }
  return blocks;
}

/// Solves the equations of liveness, backwards.
static void solve(std::vector<BasicBlock> &blocks, size_t numWords) {
  std::vector<uint32_t> work;
  std::vector<bool> isQueued(blocks.size(), true);
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    work.push_back(b);
    blocks[b].liveIn.assign(numWords, 0);
    blocks[b].liveOut.assign(numWords, 0);
  }
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    isQueued[b] = false;
    BasicBlock &block = blocks[b];
    bool changed = false;
    for (size_t w = 0; w < numWords; ++w) {
      uint64_t out = 0;
      for (uint32_t successor : block.successors)
        out |= blocks[successor].liveIn[w];
      block.liveOut[w] = out;
      uint64_t in = block.reads[w] | (out & ~block.writes[w]);
      changed |= in != block.liveIn[w];
      block.liveIn[w] = in;
    }
    if (!changed)
      continue;
    for (uint32_t predecessor : block.predecessors) {
      if (!isQueued[predecessor]) {
        isQueued[predecessor] = true;
        work.push_back(predecessor);
      }
    }
  }
}

RegisterRows kvc::emu::allocateRegisters(const std::vector<Ins> &code,
                                         const std::vector<RegisterUse> &uses,
                                         const std::vector<Register> &registers,
                                         Row firstRow) {
  // Only registers that occur.
  std::unordered_map<RegisterId, uint32_t> numbers;
  std::vector<Interval> intervals;
  for (const RegisterUse &use : uses) {
    auto [it, isNew] = numbers.try_emplace(use.reg, uint32_t(intervals.size()));
    if (isNew)
      intervals.push_back({use.reg, use.instruction, use.instruction,
                           getNumBits(registers[use.reg].type) == 64});
    Interval &interval = intervals[it->second];
    interval.first = std::min(interval.first, use.instruction);
    interval.last = std::max(interval.last, use.instruction);
  }
  size_t numWords = (intervals.size() + 63) / 64;

  std::vector<BasicBlock> blocks = findBlocks(code);
  if (blocks.size() * numWords > kMaxLivenessWords)
    throw PTXError({code.empty() ? 1 : code.back().line, 1},
                   "expected a kernel of fewer registers and branches, got " +
                       std::to_string(intervals.size()) + " registers in " +
                       std::to_string(blocks.size()) + " blocks");
  for (BasicBlock &block : blocks) {
    block.reads.assign(numWords, 0);
    block.writes.assign(numWords, 0);
  }
  // Uses come in the order of instructions; within one, reads before writes.
  size_t next = 0;
  for (BasicBlock &block : blocks) {
    while (next < uses.size() && uses[next].instruction < block.end) {
      uint32_t instruction = uses[next].instruction;
      size_t end = next;
      while (end < uses.size() && uses[end].instruction == instruction)
        ++end;
      for (bool isWrite : {false, true}) {
        for (size_t i = next; i < end; ++i) {
          if (uses[i].isWrite != isWrite)
            continue;
          uint32_t number = numbers.at(uses[i].reg);
          uint64_t bit = uint64_t(1) << (number % 64);
          bool isWritten = block.writes[number / 64] & bit;
          if (!isWrite && !isWritten)
            block.reads[number / 64] |= bit;
          if (isWrite && code[instruction].guard == kAlways)
            block.writes[number / 64] |= bit;
        }
      }
      next = end;
    }
  }
  solve(blocks, numWords);
  for (const BasicBlock &block : blocks) {
    for (size_t w = 0; w < numWords; ++w) {
      for (uint64_t in = block.liveIn[w]; in; in &= in - 1) {
        Interval &interval = intervals[w * 64 + __builtin_ctzll(in)];
        interval.first = std::min(interval.first, block.begin);
        interval.last = std::max(interval.last, block.begin);
      }
      for (uint64_t out = block.liveOut[w]; out; out &= out - 1) {
        Interval &interval = intervals[w * 64 + __builtin_ctzll(out)];
        interval.first = std::min(interval.first, block.end - 1);
        interval.last = std::max(interval.last, block.end - 1);
      }
    }
  }

  RegisterRows result;
  std::vector<bool> isUnwritten(intervals.size(), false);
  if (!blocks.empty()) {
    for (size_t i = 0; i < intervals.size(); ++i) {
      if (blocks[0].liveIn[i / 64] >> (i % 64) & 1) {
        isUnwritten[i] = true;
        result.unwritten.push_back(intervals[i].reg);
        // Keeps its row from the first to the last instruction.
        intervals[i].first = 0;
        intervals[i].last = uint32_t(code.size());
      }
    }
  }
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval &a, const Interval &b) {
              return std::tie(a.first, a.reg) < std::tie(b.first, b.reg);
            });

  // A row is free again after the last instruction that uses it.
  Row end = firstRow;
  std::multimap<uint32_t, std::pair<Row, bool>> active;
  std::vector<Row> freeRows[2];
  for (const Interval &interval : intervals) {
    while (!active.empty() && active.begin()->first < interval.first) {
      auto [row, isWide] = active.begin()->second;
      freeRows[isWide].push_back(row);
      active.erase(active.begin());
    }
    Row row;
    std::vector<Row> &pool = freeRows[interval.isWide];
    if (pool.empty()) {
      row = end;
      end += interval.isWide ? 64 : 32;
    } else {
      row = pool.back();
      pool.pop_back();
    }
    active.emplace(interval.last, std::make_pair(row, interval.isWide));
    result.rows[interval.reg] = row;
  }
  result.end = end;
  return result;
}
