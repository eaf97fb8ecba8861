//===- Launch.cpp - a launch from its configuration to its end ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lanes.h"
#include "Scheduler.h"

#include <algorithm>
#include <iterator>
#include <cstdio>
#include <map>
#include <new>

using namespace kvc::emu;

/// Bytes of local memory that a thread can have.
static constexpr uint32_t kMaxLocal = 512 * 1024;

std::string kvc::emu::toHex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
  return text;
}

void Launch::report(const Warp &warp, ReportKind kind, uint32_t lane, uint64_t address,
                    const std::string &message) {
  const Ins &ins = kernel.program->code[warp.pc];
  ++result.numReports;
  uint64_t key = uint64_t(ins.line) << 8 | uint64_t(kind);
  auto [it, isNew] = reportIndex.try_emplace(key, result.reports.size());
  if (!isNew) {
    if (it->second < result.reports.size())
      ++result.reports[it->second].count;
    return;
  }
  if (result.reports.size() >= options.maxReports)
    return;
  Report report;
  report.kind = kind;
  report.kernel = kernel.name;
  report.line = ins.line;
  report.block = warp.block->index;
  report.warp = warp.index;
  report.lane = lane;
  report.address = address;
  report.message = message;
  report.instruction = kernel.program->texts[warp.pc];
  result.reports.push_back(std::move(report));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static uint64_t getSize(const Dim3 &shape) {
  return uint64_t(shape[0]) * shape[1] * shape[2];
}

static uint64_t getSpecial(Special special, const Launch &launch, const Block &block,
                           uint32_t thread) {
  const Dim3 &size = launch.config.block, &grid = launch.config.grid;
  const Dim3 &cluster = launch.config.cluster;
  uint32_t lane = thread % 32;
  switch (special) {
  case Special::TidX: return thread % size[0];
  case Special::TidY: return thread / size[0] % size[1];
  case Special::TidZ: return thread / size[0] / size[1];
  case Special::NTidX: return size[0];
  case Special::NTidY: return size[1];
  case Special::NTidZ: return size[2];
  case Special::CTAIdX: return block.index[0];
  case Special::CTAIdY: return block.index[1];
  case Special::CTAIdZ: return block.index[2];
  case Special::NCTAIdX: return grid[0];
  case Special::NCTAIdY: return grid[1];
  case Special::NCTAIdZ: return grid[2];
  case Special::ClusterIdX: return block.index[0] / cluster[0];
  case Special::ClusterIdY: return block.index[1] / cluster[1];
  case Special::ClusterIdZ: return block.index[2] / cluster[2];
  case Special::NClusterIdX: return grid[0] / cluster[0];
  case Special::NClusterIdY: return grid[1] / cluster[1];
  case Special::NClusterIdZ: return grid[2] / cluster[2];
  case Special::ClusterCTAIdX: return block.index[0] % cluster[0];
  case Special::ClusterCTAIdY: return block.index[1] % cluster[1];
  case Special::ClusterCTAIdZ: return block.index[2] % cluster[2];
  case Special::ClusterNCTAIdX: return cluster[0];
  case Special::ClusterNCTAIdY: return cluster[1];
  case Special::ClusterNCTAIdZ: return cluster[2];
  case Special::ClusterCTARank: return block.rank;
  case Special::ClusterNCTARank: return getSize(cluster);
  case Special::LaneId: return lane;
  case Special::WarpId: return thread / 32;
  case Special::NWarpId: return launch.warpsPerBlock;
  case Special::SMId: return block.number % kNumProcessors;
  case Special::NSMId: return kNumProcessors;
  case Special::GridId: return launch.launchNumber;
  case Special::LaneMaskEq: return 1u << lane;
  case Special::LaneMaskLe: return ~0u >> (31 - lane);
  case Special::LaneMaskLt: return (1u << lane) - 1;
  case Special::LaneMaskGe: return ~0u << lane;
  case Special::LaneMaskGt: return uint32_t(uint64_t(~0u) << (lane + 1));
  case Special::DynamicShared: return launch.config.dynamicShared;
  case Special::TotalShared: return launch.sharedBytes;
  case Special::SharedBase: return launch.dynamicShared;
  }
  return 0;
}

static uint32_t alignTo(uint64_t value, uint32_t alignment) {
  return uint32_t((value + alignment - 1) / alignment * alignment);
}

static void startWarp(Block &block, uint32_t index, uint32_t numThreads) {
  Launch &launch = *block.launch;
  const Program &program = *launch.kernel.program;
  Warp &warp = block.warps[index];
  warp.block = &block;
  warp.launch = &launch;
  warp.program = &program;
  warp.index = index;
  warp.number = block.number * launch.warpsPerBlock + index;
  uint32_t numLanes = std::min(32u, numThreads - index * 32);
  warp.live = numLanes == 32 ? kAllLanes : (1u << numLanes) - 1;
  warp.fragments.assign(1, {0, warp.live, false});

  std::copy(program.constants.begin(), program.constants.end(), warp.rows);
  for (const Program::SpecialRow &row : program.specials) {
    for (uint32_t l = 0; l < 32; ++l) {
      uint64_t value =
          getSpecial(row.special, launch, block, index * 32 + l) + row.offset;
      if (row.isWide)
        warp.getWideRow(row.row)[l] = value;
      else
        warp.getRow(row.row)[l] = uint32_t(value);
    }
  }
  warp.predicates[0] = kAllLanes;
  warp.writtenLanes.assign(program.unwritten.size(), 0);
  warp.clock.own.assign(launch.warpsPerBlock, 1);
  warp.syncedPhase = 1;
  if (launch.options.check)
    warp.localWritten.assign(size_t(32) * warp.localBytes, 0);
}

/// `block` is new, or one that has ended, whose memory is mapped already.
static void startBlock(Block &block, Cluster &cluster, uint32_t rank,
                       const Dim3 &index) {
  std::fill(std::begin(block.barriers), std::end(block.barriers), BlockBarrier());
  block.shadow.firstPhase = 0;
  block.remoteReads.clear();
  block.releases.clear();
  block.warps.clear();
  Launch &launch = *cluster.launch;
  const Kernel &kernel = launch.kernel;
  const Program &program = *kernel.program;
  const Dim3 &grid = launch.config.grid;
  block.launch = &launch;
  block.cluster = &cluster;
  block.number = (index[2] * grid[1] + index[1]) * grid[0] + index[0];
  block.index = index;
  block.rank = rank;
  block.shared.assign(launch.sharedBytes, 0xFF);
  if (launch.options.check) {
    uint32_t words = (launch.sharedBytes + 3) / 4;
    block.shadow.writer.assign(words, 0);
    block.shadow.reader.assign(words, 0);
    block.shadow.readerWarps.assign(words, 0);
    block.shadow.state.assign(words, 0);
  }
  const Dim3 &size = launch.config.block;
  uint32_t numThreads = size[0] * size[1] * size[2];
  // Rows are aligned to cache lines, and there is always one to read.
  uint32_t rowWords = alignTo(program.numRowWords, 32) + 64;
  uint32_t warpWords = alignTo(rowWords + program.numPredicates, 32);
  block.storage.assign(size_t(warpWords) * launch.warpsPerBlock + 32, kPoison);
  auto base = reinterpret_cast<uintptr_t>(block.storage.data());
  auto *words = reinterpret_cast<uint32_t *>((base + 127) & ~uintptr_t(127));
  block.localStorage.assign(
      size_t(kernel.localBytes) * 32 * launch.warpsPerBlock, 0xFF);
  block.warps.resize(launch.warpsPerBlock);
  block.numLive = launch.warpsPerBlock;
  for (uint32_t i = 0; i < launch.warpsPerBlock; ++i) {
    Warp &warp = block.warps[i];
    warp.rows = words + size_t(i) * warpWords;
    warp.predicates = warp.rows + rowWords;
    warp.local = block.localStorage.data() + size_t(i) * 32 * kernel.localBytes;
    warp.localBytes = kernel.localBytes;
    startWarp(block, i, numThreads);
  }
}

/// Starts the blocks of a cluster, which is a box of the grid. Those that have
/// ended are used again.
static std::unique_ptr<Cluster>
startCluster(Launch &launch, uint32_t number,
             std::vector<std::unique_ptr<Cluster>> &ended) {
  std::unique_ptr<Cluster> result;
  const Dim3 &grid = launch.config.grid, &shape = launch.config.cluster;
  if (ended.empty()) {
    result = std::make_unique<Cluster>();
    result->launch = &launch;
    for (uint64_t i = 0; i < getSize(shape); ++i)
      result->blocks.push_back(std::make_unique<Block>());
  } else {
    result = std::move(ended.back());
    ended.pop_back();
    result->barrier = ClusterBarrier();
  }
  uint32_t numX = grid[0] / shape[0], numY = grid[1] / shape[1];
  Dim3 first = {number % numX * shape[0], number / numX % numY * shape[1],
                number / numX / numY * shape[2]};
  for (uint32_t rank = 0; rank < result->blocks.size(); ++rank)
    startBlock(*result->blocks[rank], *result, rank,
               {first[0] + rank % shape[0], first[1] + rank / shape[0] % shape[1],
                first[2] + rank / shape[0] / shape[1]});
  return result;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Memory of blocks: of one, and of those that run at a time.
static constexpr uint64_t kMaxBlockBytes = uint64_t(1) << 30;
static constexpr uint64_t kMaxResidentBytes = uint64_t(2) << 30;

/// Bytes that the registers and the local memory of a block take.
static uint64_t getBlockBytes(const Kernel &kernel, const Dim3 &block) {
  uint64_t warps = (uint64_t(block[0]) * block[1] * block[2] + 31) / 32;
  const Program &program = *kernel.program;
  return warps * ((uint64_t(program.numRowWords) + program.numPredicates) * 4 +
                  uint64_t(kernel.localBytes) * 64);
}

static std::string print(const Dim3 &shape) {
  return std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " x " +
         std::to_string(shape[2]);
}

/// Why a grid cannot be launched as clusters; empty if it can.
static std::string checkCluster(const Dim3 &grid, const Dim3 &cluster) {
  bool isSmall = true, divides = true;
  for (unsigned i = 0; i < 3; ++i) {
    isSmall &= cluster[i] >= 1 && cluster[i] <= kMaxClusterBlocks;
    divides &= isSmall && grid[i] % cluster[i] == 0;
  }
  if (!isSmall || getSize(cluster) > kMaxClusterBlocks)
    return "expected a cluster of 1 to " + std::to_string(kMaxClusterBlocks) +
           " blocks, got " + print(cluster);
  if (!divides)
    return "expected a grid that is a multiple of the cluster of " + print(cluster) +
           " blocks, got " + print(grid);
  return "";
}

/// Why a configuration cannot be launched; empty if it can.
static std::string checkConfig(const Kernel &kernel, const LaunchConfig &config,
                               const LaunchOptions &options) {
  const Dim3 &grid = config.grid, &block = config.block;
  if (!grid[0] || !grid[1] || !grid[2] || grid[0] > 0x7FFFFFFF || grid[1] > 65535 ||
      grid[2] > 65535)
    return "expected a grid of 1 x 1 x 1 to 2147483647 x 65535 x 65535 blocks, got " +
           print(grid);
  if (uint64_t(grid[0]) * grid[1] > ~0u || uint64_t(grid[0]) * grid[1] * grid[2] > ~0u)
    return "expected fewer than 2^32 blocks";
  const Dim3 &cluster = config.cluster;
  if (std::string error = checkCluster(grid, cluster); !error.empty())
    return error;
  uint64_t threads = uint64_t(block[0]) * block[1];
  threads = threads > kMaxThreads ? threads : threads * block[2];
  if (threads == 0 || threads > kernel.maxThreads || block[2] > 64)
    return "expected a block of 1 to " + std::to_string(kernel.maxThreads) +
           " threads, at most 64 of them along z, got " + print(block);
  const Dim3 &required = kernel.requiredBlock;
  if (required[0] && block != required)
    return "expected a block of " + print(required) +
           " threads, as .reqntid says, got " + print(block);
  if (kernel.staticShared > kMaxStaticShared)
    return "expected at most " + std::to_string(kMaxStaticShared) +
           " bytes of shared variables, got " + std::to_string(kernel.staticShared);
  uint64_t shared = uint64_t(kernel.staticShared) + config.dynamicShared;
  if (shared > kMaxShared)
    return "expected at most " + std::to_string(kMaxShared) +
           " bytes of shared memory, got " + std::to_string(shared);
  if (kernel.localBytes > kMaxLocal)
    return "expected at most " + std::to_string(kMaxLocal) +
           " bytes of local memory a thread, got " + std::to_string(kernel.localBytes);
  if (getBlockBytes(kernel, block) * getSize(cluster) > kMaxBlockBytes)
    return "expected registers and local memory that fit 1 GiB, got " +
           std::to_string(kernel.registers) + " registers and " +
           std::to_string(kernel.localBytes) + " bytes of " +
           std::to_string(threads * getSize(cluster)) + " threads";
  if (options.sharedShift % 128 || options.sharedShift > 65536)
    return "expected a shift that is a multiple of 128 up to 65536 bytes, got " +
           std::to_string(options.sharedShift);
  if (config.parameters.size() != kernel.parameterBytes)
    return "expected " + std::to_string(kernel.parameterBytes) +
           " bytes of parameters, got " + std::to_string(config.parameters.size());
  return "";
}

static void runGrid(Launch &launch) {
  const Dim3 &grid = launch.config.grid;
  uint64_t perCluster = getSize(launch.config.cluster);
  uint64_t numClusters = getSize(grid) / perCluster, next = 0;
  bool isRandom = launch.options.seed != 0;
  uint64_t blockBytes = std::max<uint64_t>(
      1, getBlockBytes(launch.kernel, launch.config.block));
  uint64_t maxBlocks = std::min<uint64_t>(launch.options.residentBlocks,
                                          kMaxResidentBytes / blockBytes);
  uint64_t maxResident = std::max<uint64_t>(1, maxBlocks / perCluster);
  std::vector<std::unique_ptr<Cluster>> &resident = launch.resident, idle;
  while (next < numClusters || !resident.empty()) {
    // A cluster runs alone unless it takes long: it may wait for another one.
    while (next < numClusters &&
           (resident.empty() || (isRandom && resident.size() < maxResident)))
      resident.push_back(startCluster(launch, uint32_t(next++), idle));
    size_t ended = 0;
    for (size_t i = 0; i < resident.size(); ++i) {
      uint64_t budget = isRandom ? 1 + launch.random.below(4096) : 1 << 17;
      if (!runCluster(*resident[i], budget))
        continue;
      idle.push_back(std::move(resident[i]));
      ++ended;
    }
    resident.erase(std::remove(resident.begin(), resident.end(), nullptr),
                   resident.end());
    if (ended == 0 && next < numClusters && resident.size() < maxResident)
      resident.push_back(startCluster(launch, uint32_t(next++), idle));
  }
}

/// Sums what the instructions did.
static void finishCounters(const Launch &launch, Counters &counters) {
  const Program &program = *launch.kernel.program;
  for (size_t i = 0; i < program.code.size(); ++i) {
    counters.instructions[unsigned(program.code[i].unit)] += launch.executions[i];
    counters.threadInstructions += launch.lanes[i];
  }
  if (launch.options.count) {
    std::map<uint32_t, LineCount> lines;
    for (size_t i = 0; i < program.code.size(); ++i) {
      if (!launch.executions[i])
        continue;
      LineCount &line = lines[program.code[i].line];
      line.line = program.code[i].line;
      line.warpInstructions += launch.executions[i];
      line.threadInstructions += launch.lanes[i];
    }
    for (const auto &entry : lines)
      launch.result.lines.push_back(entry.second);
  }
  counters.blocks = getSize(launch.config.grid);
  counters.warps = counters.blocks * launch.warpsPerBlock;
}

/// The kernel without the instructions of a line.
static Kernel omitLine(const Kernel &kernel, uint32_t line) {
  Kernel result = kernel;
  auto program = std::make_shared<Program>(*kernel.program);
  for (Ins &ins : program->code) {
    if (ins.line != line)
      continue;
    ins.kind = Kind::Plain;
    ins.handler = [](Warp &, const Ins &, uint32_t) {};
  }
  result.program = std::move(program);
  return result;
}

LaunchResult kvc::emu::launch(Memory &memory, const Kernel &kernel,
                              const LaunchConfig &config,
                              const LaunchOptions &options) {
  LaunchResult result;
  result.error = checkConfig(kernel, config, options);
  if (!result.error.empty())
    return result;
  if (options.omittedLine) {
    LaunchOptions rest = options;
    rest.omittedLine = 0;
    return launch(memory, omitLine(kernel, options.omittedLine), config, rest);
  }
  Launch launch(memory, kernel, config, options, result);
  launch.launchNumber = memory.startLaunch();
  const Dim3 &size = config.block;
  launch.warpsPerBlock = (size[0] * size[1] * size[2] + 31) / 32;
  uint32_t start = alignTo(kernel.staticShared, 128) + options.sharedShift;
  launch.dynamicShared = kSharedStart + start;
  launch.sharedBytes = config.dynamicShared ? start + config.dynamicShared
                                            : kernel.staticShared;
  launch.random.seed(options.seed);
  launch.executions.assign(kernel.program->code.size(), 0);
  launch.lanes.assign(kernel.program->code.size(), 0);
  launch.allocations.assign(kernel.program->code.size(), {});
  try {
    runGrid(launch);
    result.finished = true;
  } catch (const LaunchAborted &) {
    result.error = "the launch was given up";
    if (!result.reports.empty())
      result.error += ": " + result.reports.back().print();
  } catch (const std::bad_alloc &) {
    result.error = "no memory to run the blocks of the launch";
  }
  finishCounters(launch, result.counters);
  return result;
}
