//===- WarpInstructions.cpp - shfl, vote, match, redux --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduler runs them when all lanes of the member mask are there. A lane must
// be in its own mask, and lanes of one fragment must name the same lanes, except
// that those of different masks take part in different instructions.
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

enum class ShuffleMode : uint8_t { Up, Down, Bfly, Idx };

/// Source lane of a shuffle; not valid: the lane keeps its own value.
struct Source {
  int lane;
  bool isValid;
};

Source findSource(ShuffleMode mode, int lane, uint32_t b, uint32_t c) {
  int clamp = c & 31, segment = c >> 8 & 31, offset = b & 31;
  int most = (lane & segment) | (clamp & ~segment), least = lane & segment, source;
  bool isValid;
  switch (mode) {
  case ShuffleMode::Up:
    source = lane - offset;
    isValid = source >= most;
    break;
  case ShuffleMode::Down:
    source = lane + offset;
    isValid = source <= most;
    break;
  case ShuffleMode::Bfly:
    source = lane ^ offset;
    isValid = source <= most;
    break;
  default:
    source = least | (offset & ~segment);
    isValid = source <= most;
  }
  return {isValid ? source : lane, isValid};
}

/// The member mask of a lane, and a report if the lane is not in it.
uint32_t getMembers(Warp &warp, const Ins &ins, int lane) {
  uint32_t members = warp.getRow(ins.maskRow)[lane];
  if (!isActive(members, lane))
    warp.launch->report(warp, ReportKind::Divergence, lane, 0,
                        "expected a member mask with the lane that executes it, got " +
                            toHex(members));
  return members;
}

void executeShuffle(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t values[32], predicate = 0;
  const uint32_t *a = warp.getRow(ins.a), *b = warp.getRow(ins.b);
  const uint32_t *c = warp.getRow(ins.c);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t members = getMembers(warp, ins, l);
    Source source = findSource(ShuffleMode(ins.count), l, b[l], c[l]);
    values[l] = a[source.lane];
    predicate |= uint32_t(source.isValid) << l;
    if (!isActive(mask & members, source.lane)) {
      values[l] = kPoison;
      warp.launch->report(warp, ReportKind::Divergence, l, 0,
                          "shuffle from lane " + std::to_string(source.lane) +
                              ", which does not take part");
    }
  }
  uint32_t *d = warp.getRow(ins.d);
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      d[l] = values[l];
  if (ins.flags)
    warp.setPred(ins.extra, predicate, mask);
}

enum class VoteMode : uint8_t { All, Any, Uni, Ballot };

/// vote: `a` a predicate, `d` a predicate, or a row for a ballot.
void executeVote(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t a = warp.getPred(ins.a), result = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t members = getMembers(warp, ins, l) & mask, votes = a & members;
    bool isTrue = false;
    switch (VoteMode(ins.count)) {
    case VoteMode::All: isTrue = votes == members; break;
    case VoteMode::Any: isTrue = votes != 0; break;
    case VoteMode::Uni: isTrue = votes == members || votes == 0; break;
    case VoteMode::Ballot: warp.getRow(ins.d)[l] = votes; continue;
    }
    result |= uint32_t(isTrue) << l;
  }
  if (VoteMode(ins.count) != VoteMode::Ballot)
    warp.setPred(ins.d, result, mask);
}

/// match: lanes with the same value; .all: only if all have it.
template <class T> void executeMatch(Warp &warp, const Ins &ins, uint32_t mask) {
  const T *a = getWords<T>(warp, ins.a);
  uint32_t results[32], predicate = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t members = getMembers(warp, ins, l) & mask, equal = 0;
    for (int k = 0; k < 32; ++k)
      equal |= uint32_t(isActive(members, k) && a[k] == a[l]) << k;
    bool isAll = equal == members;
    results[l] = ins.count && !isAll ? 0 : equal;
    predicate |= uint32_t(isAll) << l;
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      warp.getRow(ins.d)[l] = results[l];
  if (ins.flags)
    warp.setPred(ins.extra, predicate, mask);
}

enum class Reduction : uint8_t { Add, Min, Max, And, Or, Xor };

template <class T> T reduce(Reduction how, T x, T y) {
  switch (how) {
  case Reduction::Add: return T(uint32_t(x) + uint32_t(y));
  case Reduction::Min: return std::min(x, y);
  case Reduction::Max: return std::max(x, y);
  case Reduction::And: return x & y;
  case Reduction::Or: return x | y;
  case Reduction::Xor: return x ^ y;
  }
  return x;
}

template <class T> void executeRedux(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t results[32];
  const uint32_t *a = warp.getRow(ins.a);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t members = getMembers(warp, ins, l) & mask;
    // Most often all lanes name the same members.
    int first = members ? __builtin_ctz(members) : l;
    if (first < l && warp.getRow(ins.maskRow)[first] == warp.getRow(ins.maskRow)[l]) {
      results[l] = results[first];
      continue;
    }
    T result = T(a[l]);
    for (int k = 0; k < 32; ++k)
      if (k != l && isActive(members, k))
        result = reduce(Reduction(ins.count), result, T(a[k]));
    results[l] = uint32_t(result);
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      warp.getRow(ins.d)[l] = results[l];
}

void executeActiveMask(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      warp.getRow(ins.d)[l] = mask;
}

/// elect: the lowest lane of the members.
void executeElect(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t predicate = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t members = getMembers(warp, ins, l) & mask;
    uint32_t leader = members ? uint32_t(__builtin_ctz(members)) : uint32_t(l);
    warp.getRow(ins.d)[l] = leader;
    predicate |= uint32_t(leader == uint32_t(l)) << l;
  }
  warp.setPred(ins.extra, predicate, mask);
}

} // namespace

static void requireSync(Decoder &decoder) {
  if (!decoder.take("sync"))
    decoder.fail("expected .sync after '" + std::string(decoder.get().opcode) + "'");
}

static void decodeShuffle(Decoder &decoder) {
  decoder.expectOperands(5);
  requireSync(decoder);
  int mode = decoder.takeOneOf({"up", "down", "bfly", "idx"});
  Type type = decoder.takeType();
  if (mode < 0)
    decoder.fail("expected .up, .down, .bfly or .idx after 'shfl.sync'");
  if (type != Type::B32)
    decoder.failType(type);
  const Operand &result = decoder.getOperand(0);
  bool isPair = result.kind == Operand::Kind::Pair;
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), type);
  Row members = decoder.read(decoder.getOperand(4), type);
  Row d = decoder.write(isPair ? result.elements[0] : result, type);
  Pred p = isPair ? decoder.writePred(result.elements[1]) : 0;
  Ins &ins = decoder.emit(executeShuffle, InstructionClass::Shuffle, Kind::Converged);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
  ins.maskRow = members;
  ins.extra = p;
  ins.flags = isPair;
  ins.count = uint8_t(mode);
}

static void decodeVote(Decoder &decoder) {
  decoder.expectOperands(3);
  requireSync(decoder);
  int mode = decoder.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = decoder.takeType();
  bool isBallot = mode == int(VoteMode::Ballot);
  if (mode < 0 || type != (isBallot ? Type::B32 : Type::Pred))
    decoder.fail("expected vote.sync.all, .any or .uni of .pred, or .ballot of .b32");
  Pred a = decoder.readPred(decoder.getOperand(1));
  Row members = decoder.read(decoder.getOperand(2), Type::B32);
  uint32_t d = isBallot ? decoder.write(decoder.getOperand(0), type)
                        : decoder.writePred(decoder.getOperand(0));
  Ins &ins = decoder.emit(executeVote, InstructionClass::Shuffle, Kind::Converged);
  ins.d = d, ins.a = a;
  ins.maskRow = members;
  ins.count = uint8_t(mode);
}

static void decodeMatch(Decoder &decoder) {
  decoder.expectOperands(3);
  int mode = decoder.takeOneOf({"any", "all"});
  requireSync(decoder);
  Type type = decoder.takeType();
  if (type != Type::B32 && type != Type::B64)
    decoder.failType(type);
  if (mode < 0)
    decoder.fail("expected .any or .all after 'match'");
  const Operand &result = decoder.getOperand(0);
  bool isPair = result.kind == Operand::Kind::Pair;
  if (isPair && mode == 0)
    decoder.fail("expected one result of 'match.any'");
  Row a = decoder.read(decoder.getOperand(1), type);
  Row members = decoder.read(decoder.getOperand(2), Type::B32);
  Row d = decoder.write(isPair ? result.elements[0] : result, Type::B32);
  Pred p = isPair ? decoder.writePred(result.elements[1]) : 0;
  Ins &ins = decoder.emit(type == Type::B64 ? executeMatch<uint64_t>
                                            : executeMatch<uint32_t>,
                          InstructionClass::Shuffle, Kind::Converged);
  ins.d = d, ins.a = a;
  ins.maskRow = members;
  ins.extra = p;
  ins.flags = isPair;
  ins.count = uint8_t(mode);
}

static void decodeRedux(Decoder &decoder) {
  decoder.expectOperands(3);
  requireSync(decoder);
  int mode = decoder.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = decoder.takeType();
  bool isLogic = mode >= int(Reduction::And);
  bool fits = isLogic ? type == Type::B32 : type == Type::U32 || type == Type::S32;
  if (mode < 0)
    decoder.fail("expected an operation after 'redux.sync'");
  if (!fits)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row members = decoder.read(decoder.getOperand(2), Type::B32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(type == Type::S32 ? executeRedux<int32_t>
                                            : executeRedux<uint32_t>,
                          InstructionClass::Shuffle, Kind::Converged);
  ins.d = d, ins.a = a;
  ins.maskRow = members;
  ins.count = uint8_t(mode);
}

static void decodeActiveMask(Decoder &decoder) {
  decoder.expectOperands(1);
  if (Type type = decoder.takeType(); type != Type::B32)
    decoder.failType(type);
  Row d = decoder.write(decoder.getOperand(0), Type::B32);
  Ins &ins = decoder.emit(executeActiveMask, InstructionClass::Shuffle);
  ins.d = d;
}

static void decodeElect(Decoder &decoder) {
  decoder.expectOperands(2);
  requireSync(decoder);
  const Operand &result = decoder.getOperand(0);
  if (result.kind != Operand::Kind::Pair)
    decoder.fail("expected d|p of 'elect.sync'");
  Row members = decoder.read(decoder.getOperand(1), Type::B32);
  Row d = decoder.write(result.elements[0], Type::B32);
  Pred p = decoder.writePred(result.elements[1]);
  Ins &ins = decoder.emit(executeElect, InstructionClass::Shuffle, Kind::Converged);
  ins.d = d;
  ins.maskRow = members;
  ins.extra = p;
}

void kvc::emu::addWarpOpcodes(OpcodeTable &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeRedux;
  table["activemask"] = decodeActiveMask;
  table["elect"] = decodeElect;
}
