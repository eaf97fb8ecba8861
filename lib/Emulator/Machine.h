//===- Machine.h - warps, blocks and launches that run ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_MACHINE_H
#define KVC_LIB_EMULATOR_MACHINE_H

#include "Program.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace kvc::emu {

struct Block;
struct Cluster;
struct Launch;

inline constexpr uint32_t kAllLanes = ~0u;

/// Where the windows of shared, local, constant and parameter memory lie in the
/// generic address space: far from any address of the process.
inline constexpr uint64_t kSharedWindow = uint64_t(0xE1) << 56;
inline constexpr uint64_t kLocalWindow = uint64_t(0xE2) << 56;
inline constexpr uint64_t kParamWindow = uint64_t(0xE3) << 56;
inline constexpr uint64_t kWindowMask = (uint64_t(1) << 56) - 1;

/// Shared memory of a block starts here; what is below belongs to the system.
inline constexpr uint32_t kSharedStart = 1024;

/// What a register holds that was never written: a quiet NaN.
inline constexpr uint32_t kPoison = 0x7FC0DEAD;

/// A small generator of random numbers (xorshift64*).
struct Random {
  uint64_t state = 0x9E3779B97F4A7C15;
  void seed(uint64_t seed) {
    state = (seed + 1) * 0x9E3779B97F4A7C15;
    if (state == 0)
      state = 1;
    next();
  }
  uint32_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return uint32_t((state * 0x2545F4914F6CDD1D) >> 32);
  }
  uint32_t below(uint32_t limit) { return uint32_t(uint64_t(next()) * limit >> 32); }
};

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

/// Phases by the number that a warp has in the launch, in order of the numbers.
using ForeignClock = std::vector<std::pair<uint32_t, uint32_t>>;
void join(ForeignClock &clock, const ForeignClock &other);

/// What a warp knows to be done: of each warp, accesses with a phase below the
/// clock's entry. Warps of other blocks are rarely there.
struct Clock {
  std::vector<uint32_t> own; ///< Of the warps of the block.
  ForeignClock foreign;      ///< Of others.

  void join(const Clock &other);
};

/// What a fence releases, shared by the addresses that it is released to.
using ReleasedClock = std::shared_ptr<const ForeignClock>;

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

enum class AccessKind : uint8_t { Load, Store, Atomic };

/// An access of the lanes in `mask`, of `size` bytes each, a power of two.
struct Access {
  AccessKind kind = AccessKind::Load;
  /// Volatile, relaxed, acquire, release, or atomic: no race with another such.
  bool isStrong = false;
  uint32_t mask = 0;
  uint32_t size = 0;
  /// Bytes that matter, from bit 0 on; of others it is not asked whether they were
  /// written.
  uint32_t usedBytes = ~0u;
  /// All lanes take part, and each starts where the one before ends.
  bool isDense = false;
  uint64_t addresses[32];
};

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// A cp.async of one warp that is not waited for by all of its lanes.
struct Copy {
  uint32_t lanes = 0;  ///< That have not waited for it yet.
  uint32_t undone = 0; ///< Whose bytes have not been copied yet.
  uint32_t whole = 0;  ///< Whose source is as large as the destination.
  uint32_t line = 0;
  uint32_t pc = 0;
  Access source, destination;
  uint32_t groups[32];     ///< Group of each lane.
  uint8_t sourceSizes[32]; ///< Bytes; the rest of the destination becomes zero.
};

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Lanes of a warp that are at the same instruction.
struct Fragment {
  uint32_t pc = 0;
  uint32_t mask = 0;
  bool waits = false; ///< For other lanes, at an instruction of several.
};

struct Warp {
  Block *block = nullptr;
  Launch *launch = nullptr;
  const Program *program = nullptr;
  uint32_t *rows = nullptr;       ///< The register file.
  uint32_t *predicates = nullptr;
  uint8_t *local = nullptr;       ///< Local memory of lane 0, 1, ...
  std::vector<uint8_t> localWritten; ///< One byte a byte, if checked.
  uint32_t localBytes = 0;        ///< Of a lane.
  uint32_t index = 0;             ///< In the block.
  uint32_t number = 0;            ///< In the launch.
  uint32_t live = 0;              ///< Lanes that have not ended.
  uint32_t pc = 0;                ///< Of the instruction that executes.

  std::vector<Fragment> fragments; ///< Of the live lanes.
  uint32_t current = 0;            ///< The fragment that runs.
  uint32_t stalled = 0; ///< Turns for which a fragment starved another.
  uint32_t numRotations = 0; ///< Turns that were given to others therefore.
  bool isPolling = false; ///< Made a strong access since the last turn.
  /// The barrier that the warp waits at, kClusterBarrier, or -1.
  int barrier = -1;
  const Ins *barrierIns = nullptr;
  uint32_t barrierMask = 0;
  /// How often the warp arrived at the barrier of the cluster, and waited.
  uint32_t clusterArrivals = 0, clusterWaits = 0;

  std::vector<Copy> copies;
  uint32_t copyGroups[32] = {}; ///< Committed by each lane.

  uint32_t phase = 1; ///< Goes up when the lanes, or warps, synchronise.
  /// Phases below it are done for this warp, of every warp of the block.
  uint32_t syncedPhase = 0;
  Clock clock;
  ReleasedClock released; ///< As of the last fence; null if there was none.
  ForeignClock acquired;  ///< By strong reads since the last fence.

  std::vector<uint32_t> writtenLanes; ///< Of Program::unwritten.

  uint32_t *getRow(Row row) const { return rows + row; }
  uint64_t *getWideRow(Row row) const {
    return reinterpret_cast<uint64_t *>(rows + row);
  }
  uint32_t getPred(Pred pred) const {
    uint32_t value = predicates[pred >> 1];
    return pred & 1 ? ~value : value;
  }
  void setPred(Pred pred, uint32_t value, uint32_t mask) {
    uint32_t &target = predicates[pred >> 1];
    target = (target & ~mask) | (value & mask);
  }
};

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Warp::barrier of warps that wait for their cluster; a block's are below it.
inline constexpr int kClusterBarrier = 16;

/// One of the 16 barriers of a block.
struct BlockBarrier {
  uint32_t arrived = 0;  ///< Warps that have.
  uint32_t waiting = 0;  ///< Of those, warps that wait.
  uint32_t expected = 0; ///< Threads; 0: all of the block.
  uint32_t pc = 0;       ///< Of the last arrival.
  uint32_t line = 0;
  bool isReduction = false;
  uint32_t reduceCount = 0; ///< Threads whose predicate was true.
  uint32_t reduceTotal = 0; ///< Threads that brought one.
  Clock clock;              ///< Joined over those that arrived.
  uint32_t phase = 0;       ///< The largest of theirs.
};

/// Who accessed a word of shared memory, or a byte. An access is packed as phase *
/// 2048 + thread, with the phase counted from SharedShadow::firstPhase; thread 1024
/// stands for several, of the warps in `readerWarps`, with the phase of the
/// earliest. 0 is none.
struct SharedCell {
  uint32_t writer = 0, reader = 0, readerWarps = 0;
  bool isWriterStrong = false; ///< The write was atomic or volatile.
  bool isReaderStrong = false;
};

/// Beside each word of shared memory: what was written, by whom, read by whom.
/// Words whose bytes were accessed one by one have a cell for each byte.
struct SharedShadow {
  static constexpr uint32_t kThreadBits = 11;
  static constexpr uint32_t kManyThreads = 1024;
  static constexpr uint32_t kMaxPhase = (1u << (32 - kThreadBits)) - 2;
  enum State : uint8_t {
    kWritten = 0x0F, ///< A bit for each byte.
    kPending = 0x10, ///< A copy that writes it is in flight.
    kStrongWriter = 0x20,
    kStrongReader = 0x40,
    kSplit = 0x80 ///< `writer` is an index into `bytes`.
  };
  std::vector<uint32_t> writer, reader, readerWarps;
  std::vector<uint8_t> state;
  std::vector<std::array<SharedCell, 4>> bytes;
  std::vector<uint32_t> freeBytes; ///< Indices that no word uses.
  uint32_t firstPhase = 0;
};

/// A read of shared memory by a warp of another block.
struct RemoteRead {
  const Warp *reader = nullptr;
  uint32_t phase = 0; ///< Of the reader, then.
  uint32_t begin = 0, end = 0; ///< Addresses.
  bool isStrong = false;
};

struct Block {
  Launch *launch = nullptr;
  Cluster *cluster = nullptr;
  Dim3 index = {0, 0, 0};
  uint32_t number = 0; ///< In the grid.
  uint32_t rank = 0;   ///< In the cluster.
  std::vector<uint8_t> shared; ///< From address kSharedStart on.
  SharedShadow shadow;
  std::vector<RemoteRead> remoteReads; ///< That not all warps know to be done.
  std::vector<Warp> warps;
  std::vector<uint32_t> storage; ///< Register files.
  std::vector<uint8_t> localStorage;
  BlockBarrier barriers[16];
  /// What the last strong writes to an address of shared memory released.
  std::unordered_map<uint32_t, ReleasedClock> releases;
  uint32_t numLive = 0; ///< Warps with live lanes.
};

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// The barrier of a cluster. A warp can arrive for the next phase before another
/// one has waited for the last, but not for the one after it.
struct ClusterBarrier {
  /// What the warps that arrived know, in what they release.
  struct Knowledge {
    ForeignClock clock;
    ForeignClock released, acquired; ///< As of Warp.
  };
  uint32_t phase = 0;      ///< Times that it was complete.
  uint32_t numArrived = 0; ///< Live warps that have, since then.
  Knowledge complete;      ///< Of the last time.
  Knowledge arriving;      ///< Of those that arrived since.
};

/// Blocks that run together, and read each other's shared memory. Those that have
/// ended stay until all have. A launch without clusters has clusters of one block.
struct Cluster {
  Launch *launch = nullptr;
  std::vector<std::unique_ptr<Block>> blocks; ///< By rank.
  ClusterBarrier barrier;
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Thrown to give up a launch after a report that leaves nothing to go on with.
struct LaunchAborted {};

struct Launch {
  Memory &memory;
  const Kernel &kernel;
  const LaunchConfig &config;
  const LaunchOptions &options;
  LaunchResult &result;
  uint32_t launchNumber = 0; ///< For Memory::Sector.
  uint32_t warpsPerBlock = 0;
  uint32_t sharedBytes = 0;  ///< From kSharedStart to the end.
  uint32_t dynamicShared = 0; ///< Address of dynamic shared memory.
  Random random;
  std::vector<uint64_t> executions, lanes; ///< Of each instruction.
  /// The allocation that an instruction accessed last.
  std::vector<Memory::Allocation> allocations;
  /// What the last strong writes to an address released.
  std::unordered_map<uint64_t, ReleasedClock> releases;
  uint64_t numReleased = 0; ///< Entries of their clocks, about.
  /// More was released than can be kept: what other blocks did counts as done.
  bool hasLostClocks = false;
  std::unordered_map<uint64_t, size_t> reportIndex; ///< By kind and line.
  uint64_t numExecuted = 0;
  std::vector<std::unique_ptr<Cluster>> resident; ///< Those that run.

  Launch(Memory &memory, const Kernel &kernel, const LaunchConfig &config,
         const LaunchOptions &options, LaunchResult &result)
      : memory(memory), kernel(kernel), config(config), options(options),
        result(result) {}

  /// Adds a report for the instruction that `warp` executes.
  void report(const Warp &warp, ReportKind kind, uint32_t lane, uint64_t address,
              const std::string &message);
  [[noreturn]] void abort() { throw LaunchAborted(); }
};

/// "0x1234".
std::string toHex(uint64_t value);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_MACHINE_H
