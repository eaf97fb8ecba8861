//===- ClusterRaces.cpp - order of reads from other blocks ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a block wrote is beside its shared memory already; see SharedRaces.cpp. What
// other blocks read from it is kept as a list, until all of its warps know that it
// is done: that is empty most of the time, and nothing is looked at then.
//===----------------------------------------------------------------------===//
#include "Cluster.h"

#include <algorithm>

using namespace kvc::emu;

/// Reads that a block keeps; a race with one of those beyond may be missed.
static constexpr size_t kMaxRemoteReads = 1 << 14;

static std::string describe(const Block &block) {
  return "block " + std::to_string(block.rank) + " of the cluster";
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

namespace {

/// Looks at what one instruction reads from another block.
class RemoteCheck {
public:
  RemoteCheck(Warp &warp, Block &owner, const Access &access)
      : warp(warp), owner(owner), shadow(owner.shadow), access(access) {}

  void check(uint32_t mask);

private:
  void readWord(uint32_t word, uint32_t bytes, uint32_t used, int lane);
  bool isDone(uint32_t writer);
  void checkWriter(uint32_t writer, bool isStrong, int lane);
  void record(uint32_t begin, uint32_t end);

  void report(ReportKind kind, int lane, const std::string &what) {
    warp.launch->report(warp, kind, uint32_t(lane), access.addresses[lane],
                        "read of shared memory at " + toHex(access.addresses[lane]) +
                            " of " + describe(owner) + what);
  }

  Warp &warp;
  Block &owner;
  SharedShadow &shadow;
  const Access &access;
  uint32_t known = 0; ///< Warp and phase of the last write that was looked up.
};

} // namespace

/// Whether the write of a cell is in order before this read.
bool RemoteCheck::isDone(uint32_t writer) {
  uint32_t warpAndPhase = writer / 32;
  if (writer == 0 || warpAndPhase == known)
    return true;
  uint32_t thread = writer & ((1u << SharedShadow::kThreadBits) - 1);
  uint32_t phase = (writer >> SharedShadow::kThreadBits) + shadow.firstPhase;
  if (!isOrdered(warp, owner.warps[thread / 32].number, phase))
    return false;
  known = warpAndPhase;
  return true;
}

void RemoteCheck::checkWriter(uint32_t writer, bool isStrong, int lane) {
  if ((isStrong && access.isStrong) || isDone(writer))
    return;
  uint32_t thread = writer & ((1u << SharedShadow::kThreadBits) - 1);
  report(ReportKind::Race, lane,
         " that nothing orders after the write by its warp " +
             std::to_string(thread / 32) + " lane " + std::to_string(thread % 32));
}

void RemoteCheck::readWord(uint32_t word, uint32_t bytes, uint32_t used, int lane) {
  uint8_t state = shadow.state[word];
  if (state & SharedShadow::kPending)
    return report(ReportKind::PendingCopy, lane,
                  " that an asynchronous copy is still writing");
  if ((state & used) != used) {
    report(ReportKind::Uninitialised, lane, ", which was never written");
    shadow.state[word] |= uint8_t(bytes);
  }
  if (!(state & SharedShadow::kSplit))
    return checkWriter(shadow.writer[word], state & SharedShadow::kStrongWriter, lane);
  const std::array<SharedCell, 4> &cells = shadow.bytes[shadow.writer[word]];
  for (unsigned i = 0; i < 4; ++i)
    if (bytes >> i & 1)
      checkWriter(cells[i].writer, cells[i].isWriterStrong, lane);
}

/// Keeps that the addresses from `begin` to `end` were read.
void RemoteCheck::record(uint32_t begin, uint32_t end) {
  std::vector<RemoteRead> &reads = owner.remoteReads;
  size_t newest = reads.size() > 32 ? reads.size() - 32 : 0;
  for (size_t i = reads.size(); i-- > newest;) {
    RemoteRead &read = reads[i];
    if (read.reader != &warp || read.isStrong != access.isStrong)
      continue;
    // What a warp reads again, as it does when it polls, is done later than before.
    if (read.begin == begin && read.end == end) {
      read.phase = warp.phase;
      return;
    }
    if (read.end == begin && read.phase == warp.phase) {
      read.end = end;
      return;
    }
  }
  if (reads.size() < kMaxRemoteReads)
    reads.push_back({&warp, warp.phase, begin, end, access.isStrong});
}

void RemoteCheck::check(uint32_t mask) {
  uint32_t begin = 0, end = 0; // of lanes that follow each other
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    int lane = __builtin_ctz(lanes);
    uint32_t address = uint32_t(access.addresses[lane]);
    uint32_t word = (address - kSharedStart) / 4;
    uint32_t count = std::max(1u, access.size / 4);
    uint32_t bytes =
        access.size >= 4 ? 0xF : ((1u << access.size) - 1) << (address % 4);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t used =
          access.size >= 4 ? bytes & (access.usedBytes >> (4 * i)) : bytes;
      readWord(word + i, bytes, used, lane);
    }
    if (address != end && end)
      record(begin, end);
    if (address != end)
      begin = address;
    end = address + access.size;
  }
  if (end)
    record(begin, end);
}

void kvc::emu::checkRemoteRead(Warp &warp, Block &owner, const Access &access,
                               uint32_t mask) {
  RemoteCheck(warp, owner, access).check(mask);
}

//===----------------------------------------------------------------------===//
// What the block does then
//===----------------------------------------------------------------------===//

void kvc::emu::checkRemoteReaders(Warp &warp, const Access &access, uint32_t mask) {
  uint64_t least = ~uint64_t(0), most = 0;
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    uint64_t address = access.addresses[__builtin_ctz(lanes)];
    least = std::min(least, address);
    most = std::max(most, address + access.size);
  }
  for (const RemoteRead &read : warp.block->remoteReads) {
    if (most <= read.begin || read.end <= least ||
        (read.isStrong && access.isStrong) ||
        isOrdered(warp, read.reader->number, read.phase))
      continue;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
      int lane = __builtin_ctz(lanes);
      uint64_t address = access.addresses[lane];
      if (address >= read.end || read.begin >= address + access.size)
        continue;
      warp.launch->report(warp, ReportKind::Race, uint32_t(lane), address,
                          "write of shared memory at " + toHex(address) +
                              " that nothing orders after the read by warp " +
                              std::to_string(read.reader->index) + " of " +
                              describe(*read.reader->block));
      return;
    }
  }
}

void kvc::emu::forgetRemoteReads(Block &block) {
  std::vector<RemoteRead> &reads = block.remoteReads;
  auto isKnown = [&](const RemoteRead &read) {
    return std::all_of(block.warps.begin(), block.warps.end(), [&](const Warp &warp) {
      return !warp.live || isOrdered(warp, read.reader->number, read.phase);
    });
  };
  reads.erase(std::remove_if(reads.begin(), reads.end(), isKnown), reads.end());
}

void kvc::emu::checkRemoteReadsAtEnd(Block &block) {
  for (const RemoteRead &read : block.remoteReads) {
    // One warp that waited for the reader keeps the memory of all.
    bool isKnown =
        std::any_of(block.warps.begin(), block.warps.end(), [&](const Warp &warp) {
          return isOrdered(warp, read.reader->number, read.phase);
        });
    if (isKnown)
      continue;
    block.launch->report(block.warps[0], ReportKind::Race, 0, read.begin,
                         "the block ends, which nothing orders after the read of its "
                         "shared memory at " +
                             toHex(read.begin) + " by warp " +
                             std::to_string(read.reader->index) + " of " +
                             describe(*read.reader->block));
    return;
  }
}
