//===- SharedRaces.cpp - order of accesses to shared memory ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most accesses find words that are written, and last accessed before a barrier.
// That is tested for several words at once; only what is different is looked at
// word by word.
//===----------------------------------------------------------------------===//
#include "Cluster.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

/// The earlier access of a race.
struct Conflict {
  uint32_t access = 0; ///< Packed; 0: there is no race.
  const char *what = "";
};

/// Looks at the words that one instruction accesses.
class SharedCheck {
public:
  SharedCheck(Warp &warp, const Access &access)
      : warp(warp), shadow(warp.block->shadow), access(access) {
    phase = std::min(warp.phase - shadow.firstPhase, SharedShadow::kMaxPhase);
    uint32_t synced = warp.syncedPhase > shadow.firstPhase
                          ? warp.syncedPhase - shadow.firstPhase
                          : 0;
    ordered = std::min(synced, SharedShadow::kMaxPhase) << SharedShadow::kThreadBits;
    firstPacked = phase << SharedShadow::kThreadBits | warp.index * 32;
  }

  void check(uint32_t mask);
  void startCopy(uint32_t mask);
  void finishCopy(uint32_t mask);

private:
  uint32_t getWord(int lane) const {
    return uint32_t(access.addresses[lane] - kSharedStart) / 4;
  }
  uint32_t getPacked(int lane) const { return firstPacked + uint32_t(lane); }
  bool isDone(uint32_t other, uint32_t packed) const {
    return other < ordered || other == packed;
  }

  // Whole accesses of which nothing has to be said; false if there may be.
  bool tryRead(uint32_t word, uint32_t count, int lane);
  bool tryWrite(uint32_t word, uint32_t count, int lane, uint8_t state);
  bool tryDense(bool isWrite, uint8_t state);

  void readWord(uint32_t word, uint32_t bytes, uint32_t used, int lane);
  void writeWord(uint32_t word, uint32_t bytes, int lane);
  template <class Visit> void visitCells(uint32_t word, uint32_t bytes, Visit visit);

  bool isOrderedWarp(uint32_t other, uint32_t otherPhase) const {
    return otherPhase + shadow.firstPhase < warp.clock.own[other];
  }
  bool isOrdered(uint32_t other, int lane) const {
    if (other < ordered)
      return true;
    uint32_t thread = other & ((1u << SharedShadow::kThreadBits) - 1);
    return thread == warp.index * 32 + uint32_t(lane) ||
           isOrderedWarp(thread / 32, other >> SharedShadow::kThreadBits);
  }
  bool areReadersOrdered(const SharedCell &cell, int lane) const;
  void checkWriter(const SharedCell &cell, int lane, Conflict &conflict) const;
  void readCell(SharedCell &cell, int lane, Conflict &conflict) const;
  void writeCell(SharedCell &cell, int lane, Conflict &conflict) const;

  const char *getVerb() const {
    return access.kind == AccessKind::Load ? "read" : "write";
  }
  void report(ReportKind kind, int lane, const char *verb, const std::string &what) {
    warp.launch->report(warp, kind, uint32_t(lane), access.addresses[lane],
                        std::string(verb) + " of shared memory at " +
                            toHex(access.addresses[lane]) + what);
  }
  void reportRace(int lane, const Conflict &conflict);

  Warp &warp;
  SharedShadow &shadow;
  const Access &access;
  uint32_t phase;   ///< Counted from the shadow's first.
  uint32_t ordered; ///< Packed accesses below it are done, whoever made them.
  uint32_t firstPacked; ///< The access of lane 0.
};

} // namespace

//===----------------------------------------------------------------------===//
// One cell
//===----------------------------------------------------------------------===//

bool SharedCheck::areReadersOrdered(const SharedCell &cell, int lane) const {
  if (cell.reader < ordered)
    return true;
  uint32_t thread = cell.reader & ((1u << SharedShadow::kThreadBits) - 1);
  if (thread != SharedShadow::kManyThreads)
    return isOrdered(cell.reader, lane);
  for (uint32_t warps = cell.readerWarps; warps; warps &= warps - 1)
    if (!isOrderedWarp(uint32_t(__builtin_ctz(warps)),
                       cell.reader >> SharedShadow::kThreadBits))
      return false;
  return true;
}

void SharedCheck::checkWriter(const SharedCell &cell, int lane,
                              Conflict &conflict) const {
  if ((access.isStrong && cell.isWriterStrong) || isOrdered(cell.writer, lane))
    return;
  conflict = {cell.writer, "write"};
}

void SharedCheck::readCell(SharedCell &cell, int lane, Conflict &conflict) const {
  checkWriter(cell, lane, conflict);
  uint32_t packed = getPacked(lane);
  bool isAlone = areReadersOrdered(cell, lane);
  // Strong reads conflict with fewer writes, so that weak ones are kept instead.
  if (!isAlone && access.isStrong && !cell.isReaderStrong)
    return;
  if (isAlone || (!access.isStrong && cell.isReaderStrong)) {
    cell.reader = packed;
    cell.readerWarps = 1u << warp.index;
    cell.isReaderStrong = access.isStrong;
    return;
  }
  // The earliest phase: what is unordered after that is so for sure.
  cell.readerWarps |= 1u << warp.index;
  cell.reader = std::min(cell.reader >> SharedShadow::kThreadBits, phase)
                    << SharedShadow::kThreadBits |
                SharedShadow::kManyThreads;
}

void SharedCheck::writeCell(SharedCell &cell, int lane, Conflict &conflict) const {
  checkWriter(cell, lane, conflict);
  if (!conflict.access && !(access.isStrong && cell.isReaderStrong) &&
      !areReadersOrdered(cell, lane))
    conflict = {cell.reader, "read"};
  cell = SharedCell();
  cell.writer = getPacked(lane);
  cell.isWriterStrong = access.isStrong;
}

//===----------------------------------------------------------------------===//
// One word
//===----------------------------------------------------------------------===//

void SharedCheck::reportRace(int lane, const Conflict &conflict) {
  uint32_t thread = conflict.access & ((1u << SharedShadow::kThreadBits) - 1);
  std::string who = thread == SharedShadow::kManyThreads
                        ? "several threads"
                        : "warp " + std::to_string(thread / 32) + " lane " +
                              std::to_string(thread % 32);
  report(ReportKind::Race, lane, getVerb(),
         std::string(" that nothing orders after the ") + conflict.what + " by " + who);
}

/// Calls `visit(cell)` for the cell of the word, or those of its bytes.
template <class Visit>
void SharedCheck::visitCells(uint32_t word, uint32_t bytes, Visit visit) {
  uint8_t &state = shadow.state[word];
  if (!(state & SharedShadow::kSplit)) {
    SharedCell cell;
    cell.writer = shadow.writer[word];
    cell.reader = shadow.reader[word];
    cell.readerWarps = shadow.readerWarps[word];
    cell.isWriterStrong = state & SharedShadow::kStrongWriter;
    cell.isReaderStrong = state & SharedShadow::kStrongReader;
    if (bytes == 0xF) {
      visit(cell);
      shadow.writer[word] = cell.writer;
      shadow.reader[word] = cell.reader;
      shadow.readerWarps[word] = cell.readerWarps;
      state = uint8_t((state & (SharedShadow::kWritten | SharedShadow::kPending)) |
                      (cell.isWriterStrong ? SharedShadow::kStrongWriter : 0) |
                      (cell.isReaderStrong ? SharedShadow::kStrongReader : 0));
      return;
    }
    uint32_t index = uint32_t(shadow.bytes.size());
    if (shadow.freeBytes.empty()) {
      shadow.bytes.emplace_back();
    } else {
      index = shadow.freeBytes.back();
      shadow.freeBytes.pop_back();
    }
    shadow.bytes[index].fill(cell);
    shadow.writer[word] = index;
    state |= SharedShadow::kSplit;
  }
  std::array<SharedCell, 4> &cells = shadow.bytes[shadow.writer[word]];
  for (unsigned i = 0; i < 4; ++i)
    if (bytes >> i & 1)
      visit(cells[i]);
}

void SharedCheck::readWord(uint32_t word, uint32_t bytes, uint32_t used, int lane) {
  uint8_t state = shadow.state[word];
  if (state & SharedShadow::kPending) {
    report(ReportKind::PendingCopy, lane, "read",
           " that an asynchronous copy is still writing");
    return;
  }
  if ((state & used) != used) {
    report(ReportKind::Uninitialised, lane, "read", ", which was never written");
    shadow.state[word] |= uint8_t(bytes);
  }
  Conflict conflict;
  visitCells(word, bytes, [&](SharedCell &cell) { readCell(cell, lane, conflict); });
  if (conflict.access)
    reportRace(lane, conflict);
}

void SharedCheck::writeWord(uint32_t word, uint32_t bytes, int lane) {
  uint8_t &state = shadow.state[word];
  if (state & SharedShadow::kPending)
    report(ReportKind::PendingCopy, lane, "write",
           " that an asynchronous copy is still writing");
  Conflict conflict;
  visitCells(word, bytes, [&](SharedCell &cell) { writeCell(cell, lane, conflict); });
  if (conflict.access)
    reportRace(lane, conflict);
  if ((state & SharedShadow::kSplit) && bytes == 0xF) { // all bytes are alike again
    uint32_t index = shadow.writer[word];
    shadow.writer[word] = getPacked(lane);
    shadow.reader[word] = shadow.readerWarps[word] = 0;
    shadow.freeBytes.push_back(index);
    state = access.isStrong ? SharedShadow::kStrongWriter : 0;
  }
  state = uint8_t((state & ~SharedShadow::kPending) | bytes);
}

//===----------------------------------------------------------------------===//
// Several words
//===----------------------------------------------------------------------===//

bool SharedCheck::tryRead(uint32_t word, uint32_t count, int lane) {
  uint32_t packed = getPacked(lane);
  uint32_t *reader = &shadow.reader[word], *warps = &shadow.readerWarps[word];
  const uint32_t *writer = &shadow.writer[word];
  const uint8_t *state = &shadow.state[word];
  // Several threads read in this phase already.
  uint32_t many = phase << SharedShadow::kThreadBits | SharedShadow::kManyThreads;
  bool isPlain = true, isAlone = true, isShared = true;
  for (uint32_t i = 0; i < count; ++i) {
    isPlain &= state[i] == SharedShadow::kWritten && isDone(writer[i], packed);
    isAlone &= isDone(reader[i], packed);
    isShared &= reader[i] == many;
  }
  if (!isPlain || !(isAlone || isShared))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    reader[i] = isAlone ? packed : many;
    warps[i] = (isAlone ? 0 : warps[i]) | 1u << warp.index;
  }
  return true;
}

bool SharedCheck::tryWrite(uint32_t word, uint32_t count, int lane, uint8_t newState) {
  uint32_t packed = getPacked(lane);
  uint32_t *reader = &shadow.reader[word], *writer = &shadow.writer[word];
  uint8_t *state = &shadow.state[word];
  bool isPlain = true;
  for (uint32_t i = 0; i < count; ++i)
    isPlain &= !(state[i] & ~SharedShadow::kWritten) && isDone(writer[i], packed) &&
               isDone(reader[i], packed);
  if (!isPlain)
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    writer[i] = packed;
    reader[i] = 0;
    state[i] = newState;
  }
  return true;
}

/// The access of a whole warp to words that follow each other, all of which were
/// last accessed before a barrier.
bool SharedCheck::tryDense(bool isWrite, uint8_t newState) {
  uint32_t word = getWord(0), count = 8 * access.size, perLane = access.size / 4;
  uint32_t *reader = &shadow.reader[word], *writer = &shadow.writer[word];
  uint8_t *state = &shadow.state[word];
  uint32_t latest = 0;
  for (uint32_t i = 0; i < count; ++i)
    latest = std::max(latest, std::max(writer[i], reader[i]));
  if (latest >= ordered)
    return false;
  uint8_t others = 0, written = SharedShadow::kWritten;
  for (uint32_t i = 0; i < count; ++i) {
    others |= state[i];
    written &= state[i];
  }
  if ((others & ~SharedShadow::kWritten) ||
      (!isWrite && written != SharedShadow::kWritten))
    return false;
  uint32_t *last = isWrite ? writer : reader;
  for (uint32_t l = 0; l < 32; ++l)
    for (uint32_t i = 0; i < perLane; ++i)
      last[l * perLane + i] = firstPacked + l;
  if (isWrite) {
    std::fill(reader, reader + count, 0);
    std::fill(state, state + count, newState);
  } else {
    std::fill(&shadow.readerWarps[word], &shadow.readerWarps[word] + count,
              1u << warp.index);
  }
  return true;
}

void SharedCheck::check(uint32_t mask) {
  bool reads = access.kind != AccessKind::Store, writes = access.kind != AccessKind::Load;
  bool isWeakWord = access.size >= 4 && !access.isStrong && !(reads && writes);
  if (isWeakWord && access.isDense && mask == kAllLanes &&
      tryDense(writes, SharedShadow::kWritten))
    return;
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    int lane = __builtin_ctz(lanes);
    uint32_t word = getWord(lane), count = std::max(1u, access.size / 4);
    if (isWeakWord && (writes ? tryWrite(word, count, lane, SharedShadow::kWritten)
                              : tryRead(word, count, lane)))
      continue;
    uint32_t bytes = access.size >= 4
                         ? 0xF
                         : ((1u << access.size) - 1) << (access.addresses[lane] % 4);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t used =
          access.size >= 4 ? bytes & (access.usedBytes >> (4 * i)) : bytes;
      if (reads)
        readWord(word + i, bytes, used, lane);
      if (writes)
        writeWord(word + i, bytes, lane);
    }
  }
}

void kvc::emu::checkSharedOrder(Warp &warp, const Access &access, uint32_t mask) {
  if (access.kind != AccessKind::Load && !warp.block->remoteReads.empty())
    checkRemoteReaders(warp, access, mask);
  SharedCheck(warp, access).check(mask);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void SharedCheck::startCopy(uint32_t mask) {
  constexpr uint8_t kStarted = SharedShadow::kWritten | SharedShadow::kPending;
  if (access.isDense && mask == kAllLanes && tryDense(true, kStarted))
    return;
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    int lane = __builtin_ctz(lanes);
    uint32_t word = getWord(lane), count = access.size / 4;
    if (tryWrite(word, count, lane, kStarted))
      continue;
    for (uint32_t i = 0; i < count; ++i) {
      writeWord(word + i, 0xF, lane);
      shadow.state[word + i] |= SharedShadow::kPending;
    }
  }
}

/// From now on it is a write by the thread that waited.
void SharedCheck::finishCopy(uint32_t mask) {
  if (access.isDense && mask == kAllLanes) {
    uint32_t word = getWord(0), perLane = access.size / 4;
    uint8_t *state = &shadow.state[word], others = 0;
    for (uint32_t i = 0; i < 32 * perLane; ++i)
      others |= state[i];
    if (!(others & SharedShadow::kSplit)) {
      for (uint32_t l = 0; l < 32; ++l)
        for (uint32_t i = 0; i < perLane; ++i)
          shadow.writer[word + l * perLane + i] = firstPacked + l;
      for (uint32_t i = 0; i < 32 * perLane; ++i)
        state[i] &= uint8_t(~SharedShadow::kPending);
      return;
    }
  }
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    int lane = __builtin_ctz(lanes);
    uint32_t word = getWord(lane);
    for (uint32_t i = 0; i < access.size / 4; ++i) {
      uint8_t &state = shadow.state[word + i];
      if (state & SharedShadow::kSplit) {
        for (SharedCell &cell : shadow.bytes[shadow.writer[word + i]])
          cell.writer = getPacked(lane);
      } else {
        shadow.writer[word + i] = getPacked(lane);
      }
      state &= uint8_t(~SharedShadow::kPending);
    }
  }
}

void kvc::emu::startSharedCopy(Warp &warp, const Access &destination, uint32_t mask) {
  if (!warp.block->remoteReads.empty())
    checkRemoteReaders(warp, destination, mask);
  SharedCheck(warp, destination).startCopy(mask);
}

void kvc::emu::finishSharedCopy(Warp &warp, const Access &destination,
                                uint32_t mask) {
  SharedCheck(warp, destination).finishCopy(mask);
}
