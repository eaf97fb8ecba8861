//===- ClusterMemory.cpp - shared memory of other blocks ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An address that `mapa` gives holds the rank of a block above the bits of any
// address of shared memory. Blocks can read through it, not write.
//===----------------------------------------------------------------------===//
#include "Cluster.h"
#include "Lanes.h"

using namespace kvc::emu;

Block *kvc::emu::findOwner(const Block &block, uint64_t &address) {
  const std::vector<std::unique_ptr<Block>> &blocks = block.cluster->blocks;
  uint64_t window = address >> kRankShift;
  address &= ~kRankMask;
  if (window == 0)
    return blocks[block.rank].get();
  return window <= blocks.size() ? blocks[window - 1].get() : nullptr;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Reports lanes that read from a block that has ended, or (null) that there is not.
static void reportNoBlock(Warp &warp, const Block *owner, const Access &access,
                          uint32_t mask) {
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = access.addresses[l];
    warp.launch->report(
        warp, ReportKind::OutOfBounds, uint32_t(l), address,
        owner ? "read of shared memory of block " + std::to_string(owner->rank) +
                    " of the cluster, which has ended"
              : "read of " + std::to_string(access.size) + " bytes at " +
                    toHex(address) + " of shared memory of the cluster, expected an "
                                     "address in one of its blocks");
  }
}

uint32_t kvc::emu::resolveCluster(Warp &warp, const Access &access,
                                  uint8_t *pointers[32]) {
  const LaunchOptions &options = warp.launch->options;
  uint32_t rest = access.mask, valid = 0;
  while (rest) {
    // The lanes that read from the same block as the first.
    int first = __builtin_ctz(rest);
    uint64_t window = access.addresses[first] >> kRankShift;
    Access part = access;
    part.mask = 0;
    Block *owner = nullptr;
    for (int l = first; l < 32; ++l) {
      if (!isActive(rest, l) || access.addresses[l] >> kRankShift != window)
        continue;
      part.mask |= 1u << l;
      owner = findOwner(*warp.block, part.addresses[l]);
    }
    part.isDense &= part.mask == kAllLanes;
    rest &= ~part.mask;
    if (!owner || !owner->numLive) {
      reportNoBlock(warp, owner, access, part.mask);
      continue;
    }
    bool isRemote = owner != warp.block;
    if (isRemote && options.count)
      countShared(warp.launch->result.counters.remoteLoads, part);
    uint32_t found = locateShared(warp, *owner, part, pointers);
    if (options.check && isRemote)
      checkRemoteRead(warp, *owner, part, found);
    else if (options.check)
      checkSharedOrder(warp, part, found);
    valid |= found;
  }
  return valid;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

namespace {

/// Row `row` of lane `l`, of 64 bits if `isWide`.
uint64_t getLane(const Warp &warp, Row row, bool isWide, int l) {
  return isWide ? warp.getWideRow(row)[l] : warp.getRow(row)[l];
}

/// mapa: the address `a` of the block's shared memory, in that of rank `b`.
void executeMap(Warp &warp, const Ins &ins, uint32_t mask) {
  bool isWide = ins.flags & kWideAddress;
  size_t numBlocks = warp.block->cluster->blocks.size();
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = getLane(warp, ins.a, isWide, l);
    uint32_t rank = warp.getRow(ins.b)[l];
    std::string expected;
    if (address & kRankMask)
      expected = "an address of the block's own shared memory";
    else if (rank >= numBlocks)
      expected = "a rank below " + std::to_string(numBlocks) + ", got " +
                 std::to_string(rank);
    if (!expected.empty())
      warp.launch->report(warp, ReportKind::OutOfBounds, uint32_t(l), address,
                          "map of " + toHex(address) +
                              " to another block of the cluster, expected " +
                              expected);
    // Address 0 is in no block.
    address = expected.empty() ? address | uint64_t(rank + 1) << kRankShift : 0;
    if (isWide)
      warp.getWideRow(ins.d)[l] = address;
    else
      warp.getRow(ins.d)[l] = uint32_t(address);
  }
}

/// getctarank: the rank of the block whose shared memory `a` is in.
void executeGetRank(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = getLane(warp, ins.a, ins.flags & kWideAddress, l);
    const Block *owner = findOwner(*warp.block, address);
    warp.getRow(ins.d)[l] = owner ? owner->rank : ~0u;
  }
}

} // namespace

/// .shared::cluster and the type of an address.
static Type takeAddressType(Decoder &decoder) {
  if (!decoder.take("shared::cluster"))
    decoder.fail("expected .shared::cluster after '" +
                 std::string(decoder.get().opcode) + "'; generic addresses of other "
                                                     "blocks are not supported");
  Type type = decoder.takeType();
  if (type != Type::U32 && type != Type::U64)
    decoder.failType(type);
  return type;
}

/// An address in a register, or that of a shared variable.
static Row readAddress(Decoder &decoder, const Operand &operand, Type type) {
  const SymbolValue *symbol = decoder.findSymbol(operand);
  if (!symbol)
    return decoder.read(operand, type);
  if (symbol->space != Space::Shared)
    decoder.fail("expected a variable in shared memory, got '" +
                 std::string(operand.name.substr(0, 60)) + "'");
  bool isWide = type == Type::U64;
  return symbol->isDynamicShared
             ? decoder.getSpecial(Special::SharedBase, uint32_t(operand.value), isWide)
             : decoder.getConstant(symbol->address + operand.value, isWide);
}

static void decodeMap(Decoder &decoder) {
  decoder.expectOperands(3);
  Type type = takeAddressType(decoder);
  Row a = readAddress(decoder, decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), Type::U32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(executeMap, InstructionClass::Move);
  ins.d = d, ins.a = a, ins.b = b;
  ins.flags = type == Type::U64 ? kWideAddress : 0;
}

static void decodeGetRank(Decoder &decoder) {
  decoder.expectOperands(2);
  Type type = takeAddressType(decoder);
  Row a = readAddress(decoder, decoder.getOperand(1), type);
  Row d = decoder.write(decoder.getOperand(0), Type::U32);
  Ins &ins = decoder.emit(executeGetRank, InstructionClass::Move);
  ins.d = d, ins.a = a;
  ins.flags = type == Type::U64 ? kWideAddress : 0;
}

void kvc::emu::addClusterOpcodes(OpcodeTable &table) {
  table["mapa"] = decodeMap;
  table["getctarank"] = decodeGetRank;
}
