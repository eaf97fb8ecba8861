//===- Scheduler.cpp - which lanes run next -------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX does not say where diverged lanes meet again. A warp is a set of fragments,
// lanes at one instruction each; the one that is first in the text runs, and merges
// with the next when it gets there. An instruction for several lanes waits until
// they have come; nothing else promises that they do. With a seed, fragments are
// split and picked at random, to show code that relies on lock-step.
//===----------------------------------------------------------------------===//
#include "Scheduler.h"

#include "Access.h"
#include "AsyncCopy.h"
#include "Barriers.h"
#include "Cluster.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

/// Instructions of a warp's turn.
constexpr uint32_t kQuantum = 64;
/// Turns after which a fragment that is behind lets the others go on: it may wait
/// for one of them, in vain. Turns with a strong access, which is how lanes wait
/// for each other, count many times.
constexpr uint32_t kPatience = 1 << 16;
constexpr uint32_t kPollingWeight = 1 << 10;
/// Instructions of a block's turn, if there are others in its cluster.
constexpr uint32_t kBlockQuantum = 4096;
/// Places where warps wait that the report of a deadlock names.
constexpr unsigned kMaxWaiters = 16;

/// Why a warp stopped.
enum class Stop : uint8_t { Quantum, Barrier, Done };

class WarpRunner {
public:
  explicit WarpRunner(Warp &warp)
      : warp(warp), launch(*warp.launch), code(warp.program->code.data()) {}

  Stop run(uint32_t quantum);

private:
  bool selectFragment();
  void mergeFragments();
  uint32_t findLimit() const;
  bool executeSpecial(const Ins &ins, uint32_t active);
  void branch(const Ins &ins, uint32_t taken);
  void endLanes(uint32_t lanes);
  bool synchroniseLanes(const Ins &ins, uint32_t active);
  uint32_t getNeeded(const Ins &ins, uint32_t active) const;
  void checkMembers(const Ins &ins, uint32_t active);
  void checkUnwritten(const Ins &ins, uint32_t active);
  [[noreturn]] void reportStuck();

  /// The lane that a report of several names.
  static uint32_t firstLane(uint32_t mask) { return uint32_t(__builtin_ctz(mask)); }

  Warp &warp;
  Launch &launch;
  const Ins *code;
  // Of the fragment that runs; in `warp.fragments` it is out of date.
  uint32_t pc = 0, mask = 0;
  bool mustSelect = false; ///< The fragments have changed.
  Stop stop = Stop::Quantum;
};

} // namespace

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

void WarpRunner::mergeFragments() {
  std::vector<Fragment> &fragments = warp.fragments;
  for (size_t i = 0; i < fragments.size(); ++i) {
    for (size_t k = i + 1; k < fragments.size();) {
      if (fragments[k].pc != fragments[i].pc) {
        ++k;
        continue;
      }
      fragments[i].mask |= fragments[k].mask;
      fragments[i].waits = false;
      fragments.erase(fragments.begin() + k);
      warp.stalled = 0;
    }
  }
}

/// Picks the fragment that runs; false if all wait.
bool WarpRunner::selectFragment() {
  std::vector<Fragment> &fragments = warp.fragments;
  if (fragments.size() > 1)
    mergeFragments();
  uint32_t best = ~0u, numReady = 0;
  for (uint32_t i = 0; i < fragments.size(); ++i) {
    if (fragments[i].waits)
      continue;
    ++numReady;
    if (best == ~0u || fragments[i].pc < fragments[best].pc)
      best = i;
  }
  if (best == ~0u)
    return false;
  bool isRandom = launch.options.seed != 0;
  if (numReady > 1) {
    warp.stalled += warp.isPolling ? kPollingWeight : 1;
    warp.isPolling = false;
    bool isStalled = warp.stalled > kPatience;
    if (isStalled || (isRandom && launch.random.below(4) == 0)) {
      uint32_t skip = isRandom ? launch.random.below(numReady)
                               : warp.numRotations++ % numReady;
      for (uint32_t i = 0; i < fragments.size(); ++i)
        if (!fragments[i].waits && skip-- == 0) {
          best = i;
          break;
        }
    }
  }
  if (isRandom && launch.random.below(64) == 0) {
    uint32_t apart = fragments[best].mask & launch.random.next();
    if (apart && apart != fragments[best].mask) {
      fragments.push_back({fragments[best].pc, apart, false});
      fragments[best].mask &= ~apart;
    }
  }
  warp.current = best;
  pc = fragments[best].pc;
  mask = fragments[best].mask;
  mustSelect = false;
  return true;
}

/// The first instruction after `pc` at which another fragment is.
uint32_t WarpRunner::findLimit() const {
  uint32_t limit = ~0u;
  for (uint32_t i = 0; i < warp.fragments.size(); ++i)
    if (i != warp.current && warp.fragments[i].pc > pc)
      limit = std::min(limit, warp.fragments[i].pc);
  return limit;
}

void WarpRunner::reportStuck() {
  std::string message = "lanes wait for others that wait elsewhere:";
  const Fragment *first = nullptr;
  for (const Fragment &fragment : warp.fragments) {
    message += " " + toHex(fragment.mask) + " at line " +
               std::to_string(code[fragment.pc].line) + ";";
    if (!first || fragment.pc < first->pc)
      first = &fragment;
  }
  message.back() = ' ';
  message += "expected all at one instruction";
  warp.pc = first->pc;
  launch.report(warp, ReportKind::Divergence, firstLane(first->mask), 0, message);
  launch.abort();
}

//===----------------------------------------------------------------------===//
// Instructions that are more than their handler
//===----------------------------------------------------------------------===//

void WarpRunner::branch(const Ins &ins, uint32_t taken) {
  uint32_t others = mask & ~taken;
  mustSelect = warp.fragments.size() > 1;
  if (!others) {
    pc = ins.target;
  } else if (!taken) {
    ++pc;
  } else {
    launch.result.counters.divergentBranches += 1;
    warp.fragments.push_back({ins.target, taken, false});
    mask = others;
    ++pc;
    mustSelect = true;
  }
}

void WarpRunner::endLanes(uint32_t lanes) {
  endCopies(warp, lanes);
  warp.live &= ~lanes;
  mask &= ~lanes;
  ++pc;
  mustSelect = true;
  // Whoever waits for all lanes has fewer to wait for.
  for (Fragment &fragment : warp.fragments)
    fragment.waits = false;
  if (warp.live == 0) {
    warp.fragments.clear();
    --warp.block->numLive;
    leaveBarriers(warp);
    leaveClusterBarrier(warp);
    stop = Stop::Done;
  } else if (mask == 0) {
    warp.fragments.erase(warp.fragments.begin() + warp.current);
    warp.current = ~0u;
  }
}

/// Live lanes that the member masks of `active` name.
uint32_t WarpRunner::getNeeded(const Ins &ins, uint32_t active) const {
  const uint32_t *members = warp.getRow(ins.maskRow);
  uint32_t needed = 0;
  for (int l = 0; l < 32; ++l)
    if (isActive(active, l))
      needed |= members[l];
  return needed & warp.live;
}

/// Reports lanes whose member mask is without them.
void WarpRunner::checkMembers(const Ins &ins, uint32_t active) {
  const uint32_t *members = warp.getRow(ins.maskRow);
  for (int l = 0; l < 32; ++l)
    if (isActive(active & ~members[l], l))
      launch.report(warp, ReportKind::Divergence, uint32_t(l), 0,
                    "expected a member mask with the lane that executes it, got " +
                        toHex(members[l]));
}

/// bar.warp.sync, whose lanes may be at several instructions of its kind. False if
/// the fragment has to wait.
bool WarpRunner::synchroniseLanes(const Ins &ins, uint32_t active) {
  if (active != mask) { // the others go on
    warp.fragments.push_back({pc + 1, mask & ~active, false});
    mask = active;
    mustSelect = true;
  }
  uint32_t needed = getNeeded(ins, active), present = active;
  for (uint32_t i = 0; i < warp.fragments.size(); ++i) {
    const Fragment &fragment = warp.fragments[i];
    if (i != warp.current && fragment.waits && code[fragment.pc].kind == Kind::WarpSync)
      present |= fragment.mask;
  }
  if (needed & ~present) {
    // Lanes with masks of their own may go on without the rest.
    uint32_t free = 0;
    const uint32_t *members = warp.getRow(ins.maskRow);
    for (int l = 0; l < 32; ++l)
      if (isActive(active, l) && !(members[l] & warp.live & ~present))
        free |= 1u << l;
    if (!free)
      return false;
    warp.fragments.push_back({pc, mask & ~free, true});
    mask = free;
    mustSelect = true;
    needed = getNeeded(ins, free);
  }
  for (uint32_t i = 0; i < warp.fragments.size(); ++i) {
    Fragment fragment = warp.fragments[i];
    uint32_t released = fragment.mask & needed;
    if (i == warp.current || !fragment.waits || !released ||
        code[fragment.pc].kind != Kind::WarpSync)
      continue;
    mustSelect = true;
    warp.fragments[i] = {fragment.pc + 1, released, false};
    if (released != fragment.mask)
      warp.fragments.push_back({fragment.pc, fragment.mask & ~released, true});
  }
  checkMembers(ins, mask);
  synchroniseWarp(warp);
  return true;
}

/// Returns false if the fragment waits where it is.
bool WarpRunner::executeSpecial(const Ins &ins, uint32_t active) {
  warp.pc = pc;
  switch (ins.kind) {
  case Kind::Branch: branch(ins, active); return true;
  case Kind::Exit:
    if (active)
      endLanes(active);
    else
      ++pc;
    return true;
  case Kind::Trap:
    if (active) {
      launch.report(warp, ReportKind::Trap, firstLane(active), 0,
                    "the kernel executed 'trap'");
      launch.abort();
    }
    ++pc;
    return true;
  case Kind::Yield:
    ++pc;
    mustSelect = true;
    return true;
  default: break;
  }
  if (!active) {
    ++pc;
    return true;
  }
  switch (ins.kind) {
  case Kind::WarpSync:
    if (!synchroniseLanes(ins, active))
      return false;
    break;
  case Kind::Converged: {
    uint32_t needed = getNeeded(ins, active);
    if (needed & ~mask)
      return false;
    if (needed & ~active)
      launch.report(warp, ReportKind::Divergence, firstLane(needed & ~active), 0,
                    "a lane of the member mask does not execute the instruction");
    ins.handler(warp, ins, active);
    break;
  }
  default: // all lanes of the warp
    if (mask != warp.live)
      return false;
    if (active != mask) {
      launch.report(warp, ReportKind::Divergence, firstLane(mask & ~active), 0,
                    "expected all lanes of the warp, got " + toHex(active));
      if (ins.kind != Kind::Aligned)
        launch.abort();
    }
    ins.handler(warp, ins, active);
    if (warp.barrier >= 0) {
      stop = Stop::Barrier;
      mustSelect = true;
    }
  }
  ++pc;
  return true;
}

/// Compilers compute with undefined values in lanes whose results nobody wants;
/// what reaches memory, or a product of the whole warp, is wanted.
static bool hasEffect(InstructionClass unit) {
  switch (unit) {
  case InstructionClass::Global: case InstructionClass::Shared:
  case InstructionClass::Local: case InstructionClass::Atomic:
  case InstructionClass::Matrix: case InstructionClass::MatrixLoad:
  case InstructionClass::Copy: case InstructionClass::Barrier:
    return true;
  default: return false;
  }
}

void WarpRunner::checkUnwritten(const Ins &ins, uint32_t active) {
  const std::vector<Program::UnwrittenUse> &uses = warp.program->unwrittenUses;
  auto it = std::lower_bound(uses.begin(), uses.end(), pc,
                             [](const Program::UnwrittenUse &use, uint32_t value) {
                               return use.instruction < value;
                             });
  warp.pc = pc;
  for (; it != uses.end() && it->instruction == pc; ++it) {
    uint32_t &written = warp.writtenLanes[it->index];
    if (!it->isWrite && (active & ~written) && hasEffect(ins.unit))
      launch.report(warp, ReportKind::Uninitialised, firstLane(active & ~written), 0,
                    "read of the register " +
                        warp.program->unwritten[it->index].name +
                        ", which was never written");
    written |= active;
  }
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

Stop WarpRunner::run(uint32_t quantum) {
  uint64_t *executions = launch.executions.data(), *lanes = launch.lanes.data();
  bool checks = launch.options.check;
  progressCopies(warp);
  uint32_t left = quantum;
  mustSelect = true;
  while (left > 0 && stop == Stop::Quantum) {
    if (!selectFragment())
      reportStuck();
    uint32_t limit = findLimit();
    bool waits = false, yields = false;
    while (left > 0) {
      const Ins &ins = code[pc];
      uint32_t active = mask;
      if (ins.guard != kAlways)
        active &= warp.getPred(ins.guard);
      --left;
      if (ins.isTracked && checks)
        checkUnwritten(ins, active);
      if (ins.kind == Kind::Plain) {
        if (active) {
          warp.pc = pc;
          ins.handler(warp, ins, active);
        }
        executions[pc] += 1;
        lanes[pc] += uint32_t(__builtin_popcount(active));
        if (++pc == limit)
          break;
        continue;
      }
      uint32_t at = pc;
      yields = ins.kind == Kind::Yield;
      if (!executeSpecial(ins, active)) {
        waits = true;
        break;
      }
      executions[at] += 1;
      lanes[at] += uint32_t(__builtin_popcount(active));
      if (mustSelect || pc == limit)
        break;
    }
    if (warp.live && warp.current < warp.fragments.size()) {
      Fragment &fragment = warp.fragments[warp.current];
      fragment.pc = pc;
      fragment.mask = mask;
      fragment.waits = waits;
    }
    if (yields)
      break;
  }
  launch.numExecuted += quantum - left;
  return stop;
}

/// " warps 0 to 3 of block 1 wait at barrier 2 at line 17".
static std::string describeWait(const Warp &first, const Warp &last, bool isBlock) {
  bool isOne = &first == &last;
  return (isOne ? " warp " : " warps ") + std::to_string(first.index) +
         (isOne ? "" : " to " + std::to_string(last.index)) +
         (isBlock ? "" : " of block " + std::to_string(first.block->rank)) +
         (isOne ? " waits at " : " wait at ") +
         (first.barrier == kClusterBarrier
              ? "the barrier of the cluster"
              : "barrier " + std::to_string(first.barrier)) +
         " at line " + std::to_string(first.barrierIns ? first.barrierIns->line : 0);
}

[[noreturn]] static void reportDeadlock(Cluster &cluster) {
  bool isBlock = cluster.blocks.size() == 1;
  std::string message = isBlock ? "no warp of the block can go on:"
                                : "no warp of the cluster can go on:";
  const Warp *first = nullptr;
  unsigned numGroups = 0;
  for (const std::unique_ptr<Block> &block : cluster.blocks) {
    const std::vector<Warp> &warps = block->warps;
    for (size_t i = 0, next; i < warps.size(); i = next) {
      next = i + 1;
      if (!warps[i].live)
        continue;
      if (!first)
        first = &warps[i];
      // Warps that follow each other and wait at the same place.
      while (next < warps.size() && warps[next].live &&
             warps[next].barrierIns == warps[i].barrierIns &&
             warps[next].barrier == warps[i].barrier)
        ++next;
      if (++numGroups > kMaxWaiters)
        continue;
      message += describeWait(warps[i], warps[next - 1], isBlock) + ";";
    }
  }
  message.pop_back();
  if (numGroups > kMaxWaiters)
    message += "; and others elsewhere";
  cluster.launch->report(*first, ReportKind::Deadlock, 0, 0, message);
  cluster.launch->abort();
}

[[noreturn]] static void reportLimit(Block &block) {
  Warp &warp = *std::find_if(block.warps.begin(), block.warps.end(),
                             [](const Warp &warp) { return warp.live != 0; });
  const Fragment &fragment = warp.fragments[0];
  warp.pc = fragment.pc;
  block.launch->report(warp, ReportKind::Limit, uint32_t(__builtin_ctz(fragment.mask)),
                       0,
                       "the launch did not end within " +
                           std::to_string(block.launch->options.maxInstructions) +
                           " warp instructions");
  block.launch->abort();
}

/// Runs the warps of a block in turns until it ends (true), none can go on, or about
/// `budget` instructions were executed.
static bool runBlock(Block &block, uint64_t budget) {
  Launch &launch = *block.launch;
  bool isRandom = launch.options.seed != 0;
  uint64_t end = launch.numExecuted + budget;
  uint32_t numWarps = uint32_t(block.warps.size());
  while (block.numLive) {
    if (launch.numExecuted >= launch.options.maxInstructions)
      reportLimit(block);
    bool progressed = false;
    uint32_t start = isRandom ? launch.random.below(numWarps) : 0;
    for (uint32_t i = 0; i < numWarps; ++i) {
      Warp &warp = block.warps[(start + i) % numWarps];
      if (!warp.live || warp.barrier >= 0)
        continue;
      progressed = true;
      WarpRunner(warp).run(isRandom ? 1 + launch.random.below(2 * kQuantum) : kQuantum);
    }
    if (!progressed)
      return false;
    if (launch.numExecuted >= end)
      return block.numLive == 0;
  }
  return true;
}

bool kvc::emu::runCluster(Cluster &cluster, uint64_t budget) {
  Launch &launch = *cluster.launch;
  bool isRandom = launch.options.seed != 0;
  uint64_t end = launch.numExecuted + budget;
  uint32_t numBlocks = uint32_t(cluster.blocks.size());
  while (true) {
    uint64_t before = launch.numExecuted;
    bool ended = true;
    uint32_t start = isRandom && numBlocks > 1 ? launch.random.below(numBlocks) : 0;
    for (uint32_t i = 0; i < numBlocks; ++i) {
      Block &block = *cluster.blocks[(start + i) % numBlocks];
      if (!block.numLive)
        continue;
      uint64_t turn = numBlocks == 1 ? budget
                      : isRandom     ? 1 + launch.random.below(kBlockQuantum)
                                     : kBlockQuantum;
      if (!runBlock(block, turn)) {
        ended = false;
        continue;
      }
      checkBarriersAtEnd(block);
      checkRemoteReadsAtEnd(block);
    }
    if (ended)
      return true;
    if (launch.numExecuted == before)
      reportDeadlock(cluster);
    if (launch.numExecuted >= end)
      return false;
  }
}
