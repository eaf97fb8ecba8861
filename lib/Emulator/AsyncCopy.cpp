//===- AsyncCopy.cpp - cp.async -------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The destination of a copy is poisoned when it is issued, and in flight until its
// thread waits: whoever reads it before makes a report, and computes with NaN. When
// the bytes are copied is a matter of the policy; sources are read then.
//===----------------------------------------------------------------------===//
#include "AsyncCopy.h"

#include "Access.h"
#include "Decoder.h"
#include "Lanes.h"
#include "MemoryFlags.h"

#include <algorithm>

using namespace kvc::emu;

/// Copies the bytes of some lanes.
static void performCopy(Warp &warp, Copy &copy, uint32_t lanes) {
  lanes &= copy.undone;
  if (!lanes)
    return;
  copy.undone &= ~lanes;
  uint8_t *shared = warp.block->shared.data() - kSharedStart;
  const Access &source = copy.source, &destination = copy.destination;
  if (lanes == kAllLanes && copy.whole == kAllLanes && source.isDense &&
      destination.isDense) {
    std::memcpy(shared + destination.addresses[0],
                Memory::getBytes(source.addresses[0]), 32 * size_t(source.size));
    return;
  }
  // Whole vectors, the usual case, are moves of one instruction.
  if (source.size == 16) {
    for (uint32_t whole = lanes & copy.whole; whole; whole &= whole - 1) {
      int l = __builtin_ctz(whole);
      std::memcpy(shared + destination.addresses[l],
                  Memory::getBytes(source.addresses[l]), 16);
    }
    lanes &= ~copy.whole;
  }
  for (; lanes; lanes &= lanes - 1) {
    int l = __builtin_ctz(lanes);
    uint32_t size = copy.sourceSizes[l];
    uint8_t *to = shared + destination.addresses[l];
    if (size)
      std::memcpy(to, Memory::getBytes(source.addresses[l]), size);
    std::memset(to + size, 0, destination.size - size);
  }
}

/// Calls `visit(source, lanes)` for the sources of some lanes, all of which are of
/// one size.
template <class Visit>
static void visitSources(const Copy &copy, uint32_t lanes, Visit visit) {
  if (lanes & copy.whole)
    visit(copy.source, lanes & copy.whole);
  for (lanes &= ~copy.whole; lanes; lanes &= lanes - 1) {
    int l = __builtin_ctz(lanes);
    Access one = copy.source;
    one.size = copy.sourceSizes[l];
    one.mask = 1u << l;
    if (one.size)
      visit(one, one.mask);
  }
}

/// The lanes have waited for the copy.
static void finishCopy(Warp &warp, Copy &copy, uint32_t lanes) {
  lanes &= copy.lanes;
  performCopy(warp, copy, lanes);
  if (warp.launch->options.check) {
    finishSharedCopy(warp, copy.destination, lanes);
    visitSources(copy, lanes, [&](const Access &source, uint32_t mask) {
      finishGlobalCopy(warp, source, mask);
    });
  }
  copy.lanes &= ~lanes;
}

static void dropFinished(Warp &warp) {
  warp.copies.erase(std::remove_if(warp.copies.begin(), warp.copies.end(),
                                   [](const Copy &copy) { return copy.lanes == 0; }),
                    warp.copies.end());
}

void kvc::emu::progressCopies(Warp &warp) {
  if (warp.launch->options.copies != CopyPolicy::Random)
    return;
  Random &random = warp.launch->random;
  for (Copy &copy : warp.copies)
    if (copy.undone && random.below(4) == 0)
      performCopy(warp, copy, random.below(2) ? random.next() : kAllLanes);
}

void kvc::emu::endCopies(Warp &warp, uint32_t lanes) {
  for (Copy &copy : warp.copies) {
    if (!(copy.lanes & lanes))
      continue;
    uint32_t pc = warp.pc;
    warp.pc = copy.pc;
    if (warp.launch->options.check)
      warp.launch->report(warp, ReportKind::Leftover,
                          uint32_t(__builtin_ctz(copy.lanes & lanes)), 0,
                          "copy that its thread ends without waiting for");
    warp.pc = pc;
    finishCopy(warp, copy, lanes);
  }
  dropFinished(warp);
}

namespace {

/// `a` destination, `b` source, `c` source size or predicate, `count` size,
/// `extra` how `c` is meant.
enum : uint32_t { kWholeSource, kSourceSize, kIgnoreSource };
enum : uint8_t { kWideSource = 2 };

/// The lanes whose source exists, of those with one.
uint32_t locateSources(Warp &warp, const Copy &copy, uint32_t partial) {
  uint8_t *from[32];
  uint32_t valid = copy.source.mask ? locateGlobal(warp, copy.source, from) : 0;
  for (; partial; partial &= partial - 1) {
    int l = __builtin_ctz(partial);
    // The address is a multiple of the whole size, though less is read.
    Access one = copy.source;
    one.mask = 1u << l;
    one.isDense = false;
    one.size = 1;
    bool isAligned = one.addresses[l] % copy.source.size == 0;
    if (!isAligned)
      warp.launch->report(warp, ReportKind::Misaligned, l, one.addresses[l],
                          "copy of " + std::to_string(copy.source.size) +
                              " bytes from " + toHex(one.addresses[l]) +
                              ", which is no multiple");
    bool isThere = locateGlobal(warp, one, from);
    one.addresses[l] += copy.sourceSizes[l] - 1;
    if (isThere && isAligned && locateGlobal(warp, one, from))
      valid |= 1u << l;
  }
  return valid;
}

void executeCopy(Warp &warp, const Ins &ins, uint32_t mask) {
  Launch &launch = *warp.launch;
  warp.copies.emplace_back();
  Copy &copy = warp.copies.back();
  copy.pc = warp.pc;
  copy.line = ins.line;
  Access &destination = copy.destination, &source = copy.source;
  destination.kind = AccessKind::Store;
  destination.mask = mask;
  destination.size = source.size = ins.count;
  fillAddresses(destination, warp, ins.a, ins.flags & kWideAddress,
                int64_t(int32_t(ins.target)));
  source.mask = mask;
  fillAddresses(source, warp, ins.b, true, ins.offset);
  uint32_t partial = 0;
  std::memset(copy.sourceSizes, ins.count, sizeof(copy.sourceSizes));
  if (ins.extra != kWholeSource) {
    uint32_t ignored = ins.extra == kIgnoreSource ? warp.getPred(ins.c) : 0;
    for (int l = 0; l < 32; ++l) {
      if (!isActive(mask, l))
        continue;
      uint32_t size = ins.extra == kSourceSize ? warp.getRow(ins.c)[l] : ins.count;
      if (isActive(ignored, l))
        size = 0;
      if (size > ins.count) {
        launch.report(warp, ReportKind::OutOfBounds, l, source.addresses[l],
                      "copy of " + std::to_string(ins.count) +
                          " bytes from a source of " + std::to_string(size));
        size = ins.count;
      }
      copy.sourceSizes[l] = uint8_t(size);
      if (size < ins.count)
        source.mask &= ~(1u << l);
      if (size < ins.count && size > 0)
        partial |= 1u << l;
    }
    source.isDense &= source.mask == kAllLanes;
  }
  copy.whole = source.mask;

  if (launch.options.count) {
    Access asked = source;
    asked.mask |= partial;
    if (asked.mask)
      countGlobal(launch.result.counters.copies, asked);
    countShared(launch.result.counters.copyStores, destination);
  }
  uint8_t *to[32];
  uint32_t valid = locateShared(warp, *warp.block, destination, to);
  uint32_t hasSource = source.mask | partial;
  valid &= ~hasSource | locateSources(warp, copy, partial);
  if (!valid) {
    warp.copies.pop_back();
    return;
  }
  copy.lanes = copy.undone = valid;
  copy.whole &= valid;
  std::memcpy(copy.groups, warp.copyGroups, sizeof(copy.groups));
  if (launch.options.check) {
    startSharedCopy(warp, destination, valid);
    visitSources(copy, valid, [&](const Access &part, uint32_t lanes) {
      startGlobalCopy(warp, part, lanes);
    });
  }
  if (launch.options.copies == CopyPolicy::Eager) {
    performCopy(warp, copy, valid);
  } else {
    for (uint32_t lanes = valid; lanes; lanes &= lanes - 1)
      for (unsigned i = 0; i < ins.count; i += 4)
        std::memcpy(to[__builtin_ctz(lanes)] + i, &kPoison, 4);
  }
  progressCopies(warp);
}

void executeCommit(Warp &warp, const Ins &, uint32_t mask) {
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      ++warp.copyGroups[l];
  warp.launch->result.counters.copyGroups += 1;
  progressCopies(warp);
}

/// wait_group N; `flags`: wait_all, which needs no commit.
void executeWait(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t pending = uint32_t(ins.offset);
  for (Copy &copy : warp.copies) {
    uint32_t done = ins.flags ? kAllLanes : 0;
    for (int l = 0; l < 32 && !ins.flags; ++l)
      done |= uint32_t(copy.groups[l] + pending < warp.copyGroups[l]) << l;
    if (done & mask & copy.lanes)
      finishCopy(warp, copy, done & mask);
  }
  dropFinished(warp);
}

} // namespace

/// cp.async.{ca,cg}.shared.global [to], [from], size{, source size}{, policy}, or
/// with a predicate in place of the source size.
static void decodeCopy(Decoder &decoder) {
  bool isGlobalOnly = false;
  switch (decoder.takeOneOf({"ca", "cg"})) {
  case 0: break;
  case 1: isGlobalOnly = true; break;
  default: decoder.fail("expected .ca or .cg after 'cp.async'");
  }
  if (decoder.takeOneOf({"shared", "shared::cta"}) < 0 || !decoder.take("global"))
    decoder.fail("expected a copy from .global to .shared");
  takeCacheHints(decoder);
  bool hasPolicy = decoder.take("L2::cache_hint");
  decoder.expectOperands(3 + hasPolicy, 4 + hasPolicy);
  uint64_t size = decoder.getImmediate(decoder.getOperand(2));
  if (size != 16 && (isGlobalOnly || (size != 4 && size != 8)))
    decoder.fail("expected a copy of " +
                 std::string(isGlobalOnly ? "16" : "4, 8 or 16") + " bytes, got " +
                 std::to_string(size));
  Decoder::Address to = decoder.getAddress(decoder.getOperand(0), Space::Shared);
  Decoder::Address from = decoder.getAddress(decoder.getOperand(1), Space::Global);
  uint32_t how = kWholeSource;
  Row source = 0;
  if (decoder.getNumOperands() == size_t(4) + hasPolicy) {
    const Operand &operand = decoder.getOperand(3);
    if (decoder.getRegisterBits(operand) == 1) {
      how = kIgnoreSource;
      source = decoder.readPred(operand);
    } else {
      how = kSourceSize;
      source = decoder.read(operand, Type::U32);
    }
  }
  if (hasPolicy)
    decoder.read(decoder.getOperand(decoder.getNumOperands() - 1), Type::B64);
  if (to.offset != int32_t(to.offset))
    decoder.fail("expected an offset of 32 bits");
  Ins &ins = decoder.emit(executeCopy, InstructionClass::Copy);
  ins.a = to.base, ins.b = from.base, ins.c = source;
  ins.flags = to.isWide ? kWideAddress : 0;
  ins.target = uint32_t(int32_t(to.offset));
  ins.offset = from.offset;
  ins.count = uint8_t(size);
  ins.extra = how;
}

static void decodeCp(Decoder &decoder) {
  if (!decoder.take("async"))
    decoder.fail("expected .async after 'cp'");
  if (decoder.take("bulk"))
    decoder.fail("bulk copies ('cp.async.bulk') are not supported");
  if (decoder.take("commit_group")) {
    decoder.expectOperands(0);
    decoder.emit(executeCommit, InstructionClass::Copy);
    return;
  }
  bool waitsAll = decoder.take("wait_all");
  if (waitsAll || decoder.take("wait_group")) {
    decoder.expectOperands(waitsAll ? 0 : 1);
    uint64_t pending = waitsAll ? 0 : decoder.getImmediate(decoder.getOperand(0));
    if (pending > 1 << 20)
      decoder.fail("expected a number of groups, got " + std::to_string(pending));
    Ins &ins = decoder.emit(executeWait, InstructionClass::Copy);
    ins.offset = int64_t(pending);
    ins.flags = waitsAll;
    return;
  }
  decodeCopy(decoder);
}

void kvc::emu::addCopyOpcodes(OpcodeTable &table) { table["cp"] = decodeCp; }
