//===- LoadStore.cpp - ld, st ---------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Decoder.h"
#include "Lanes.h"
#include "MemoryFlags.h"

using namespace kvc::emu;

Space kvc::emu::takeSpace(Decoder &decoder) {
  if (decoder.take("shared::cluster"))
    decoder.fail("'" + std::string(decoder.get().opcode) +
                 "' does not support .shared::cluster, as 'ld' does");
  static constexpr Space kSpaces[] = {
      Space::Global, Space::Shared, Space::Shared, Space::Local, Space::Const,
      Space::Param,  Space::Param,  Space::Param};
  int index = decoder.takeOneOf({"global", "shared", "shared::cta", "local", "const",
                                 "param", "param::entry", "param::func"});
  return index < 0 ? Space::Generic : kSpaces[index];
}

uint32_t kvc::emu::takeMemoryOrder(Decoder &decoder) {
  uint32_t flags = 0;
  switch (decoder.takeOneOf({"weak", "volatile", "relaxed", "acquire", "release",
                             "acq_rel"})) {
  case 1: flags = kStrong; break;
  case 2: flags = kStrong; break;
  case 3: flags = kStrong | kAcquire; break;
  case 4: flags = kStrong | kRelease; break;
  case 5: flags = kStrong | kAcquire | kRelease; break;
  default: break;
  }
  decoder.takeOneOf({"cta", "cluster", "gpu", "sys"});
  return flags;
}

void kvc::emu::takeCacheHints(Decoder &decoder) {
  while (decoder.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"}) >= 0)
    ;
  while (decoder.takeOneOf(
             {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
              "L1::evict_last", "L1::no_allocate", "L2::evict_normal",
              "L2::evict_first", "L2::evict_last", "L2::64B", "L2::128B", "L2::256B",
              "evict_first", "evict_last", "evict_normal", "no_allocate"}) >= 0)
    ;
}

InstructionClass kvc::emu::getUnit(Space space) {
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster: return InstructionClass::Shared;
  case Space::Local: return InstructionClass::Local;
  case Space::Param:
  case Space::Const: return InstructionClass::Parameter;
  default: return InstructionClass::Global;
  }
}

namespace {

template <class T> uint64_t extend(T value) {
  using Extended = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  return uint64_t(Extended(value));
}

template <class T> T readElement(const uint8_t *bytes, unsigned index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

/// Fills a row of registers with element `index` of what each lane loads.
template <class T, class Register>
void loadElement(Register *row, uint8_t *const pointers[32], unsigned index,
                 uint32_t mask, uint32_t valid) {
  if (valid == kAllLanes) {
    for (int l = 0; l < 32; ++l)
      row[l] = Register(extend(readElement<T>(pointers[l], index)));
    return;
  }
  for (; mask; mask &= mask - 1) {
    int l = __builtin_ctz(mask);
    row[l] = Register(isActive(valid, l)
                          ? extend(readElement<T>(pointers[l], index))
                          : uint64_t(kPoison) << 32 | kPoison);
  }
}

template <class T, class Register>
void storeElement(const Register *row, uint8_t *const pointers[32], unsigned index,
                  uint32_t valid) {
  for (; valid; valid &= valid - 1) {
    int l = __builtin_ctz(valid);
    T value = T(row[l]);
    std::memcpy(pointers[l] + index * sizeof(T), &value, sizeof(T));
  }
}

/// `target` holds the flags of MemoryFlags.h, `extra` is a list of the rows of the
/// elements, `count` their number.
template <class T> void executeLoad(Warp &warp, const Ins &ins, uint32_t mask) {
  Access access;
  access.mask = mask;
  access.size = uint32_t(sizeof(T)) * ins.count;
  access.isStrong = ins.target & kStrong;
  access.usedBytes = ins.maskRow;
  fillAddresses(access, warp, ins.a, ins.flags & kWideAddress, ins.offset);
  uint8_t *pointers[32];
  Space space = getSpace(ins.target);
  uint32_t valid = resolve(warp, space, access, pointers);
  if (ins.target & kStrong)
    for (int l = 0; l < 32; ++l)
      if (isActive(valid, l))
        synchroniseByAddress(warp, space, access.addresses[l], true, false,
                             ins.target & kAcquire, false);
  const uint32_t *rows = &warp.program->lists[ins.extra];
  for (unsigned i = 0; i < ins.count; ++i) {
    if (ins.flags & kWideData)
      loadElement<T>(warp.getWideRow(rows[i]), pointers, i, mask, valid);
    else
      loadElement<T>(warp.getRow(rows[i]), pointers, i, mask, valid);
  }
}

template <class T> void executeStore(Warp &warp, const Ins &ins, uint32_t mask) {
  Access access;
  access.kind = AccessKind::Store;
  access.mask = mask;
  access.size = uint32_t(sizeof(T)) * ins.count;
  access.isStrong = ins.target & kStrong;
  fillAddresses(access, warp, ins.a, ins.flags & kWideAddress, ins.offset);
  uint8_t *pointers[32];
  Space space = getSpace(ins.target);
  if (ins.target & kRelease)
    executeFence(warp);
  uint32_t valid = resolve(warp, space, access, pointers);
  if (ins.target & kStrong)
    for (int l = 0; l < 32; ++l)
      if (isActive(valid, l))
        synchroniseByAddress(warp, space, access.addresses[l], false, true, false,
                             false);
  const uint32_t *rows = &warp.program->lists[ins.extra];
  for (unsigned i = 0; i < ins.count; ++i) {
    if (ins.flags & kWideData)
      storeElement<T>(warp.getWideRow(rows[i]), pointers, i, valid);
    else
      storeElement<T>(warp.getRow(rows[i]), pointers, i, valid);
  }
}

} // namespace

/// 8, 16, 32 or 64 bits, and whether a load extends the sign.
static Handler getHandler(Type type, bool isLoad) {
  switch (type) {
  case Type::B8: case Type::U8:
    return isLoad ? executeLoad<uint8_t> : executeStore<uint8_t>;
  case Type::S8: return isLoad ? executeLoad<int8_t> : executeStore<uint8_t>;
  case Type::B16: case Type::U16: case Type::F16: case Type::BF16:
    return isLoad ? executeLoad<uint16_t> : executeStore<uint16_t>;
  case Type::S16: return isLoad ? executeLoad<int16_t> : executeStore<uint16_t>;
  case Type::B32: case Type::U32: case Type::F32: case Type::F16x2:
  case Type::BF16x2:
    return isLoad ? executeLoad<uint32_t> : executeStore<uint32_t>;
  case Type::S32: return isLoad ? executeLoad<int32_t> : executeStore<uint32_t>;
  case Type::B64: case Type::U64: case Type::S64: case Type::F64:
    return isLoad ? executeLoad<uint64_t> : executeStore<uint64_t>;
  default: return nullptr;
  }
}

static void decodeLoadStore(Decoder &decoder) {
  bool isLoad = decoder.get().opcode == "ld";
  uint32_t flags = takeMemoryOrder(decoder);
  bool isCluster = isLoad && decoder.take("shared::cluster");
  // A variable as address is one of the block.
  Space space = isCluster ? Space::Shared : takeSpace(decoder);
  takeCacheHints(decoder);
  bool hasPolicy = decoder.take("L2::cache_hint");
  int vector = decoder.takeOneOf({"v2", "v4"});
  unsigned count = vector < 0 ? 1 : vector == 0 ? 2 : 4;
  Type type = decoder.takeType();
  decoder.expectOperands(hasPolicy ? 3 : 2);
  Handler handler = getHandler(type, isLoad);
  if (!handler || getNumBits(type) * count > 128)
    decoder.failType(type);
  if (isLoad && (flags & kRelease))
    decoder.fail("expected a load without .release");
  if (!isLoad && (flags & kAcquire))
    decoder.fail("expected a store without .acquire");

  const Operand &data = decoder.getOperand(isLoad ? 0 : 1);
  std::vector<const Operand *> elements;
  if (count == 1 && data.kind != Operand::Kind::Vector)
    elements.push_back(&data);
  else
    for (const Operand &element : data.elements)
      elements.push_back(&element);
  if (elements.size() != count || (count > 1 && data.kind != Operand::Kind::Vector))
    decoder.fail("expected " + std::to_string(count) + " elements");
  Decoder::Address address =
      decoder.getAddress(decoder.getOperand(isLoad ? 1 : 0), space);
  if (isCluster)
    address.space = Space::SharedCluster;
  if (hasPolicy)
    decoder.read(decoder.getOperand(2), Type::B64);
  std::vector<uint32_t> rows;
  // Elements may be in registers that are wider, all equally so.
  int isWide = -1;
  for (const Operand *element : elements) {
    if (element->kind == Operand::Kind::Sink) {
      rows.push_back(decoder.getScratch(true));
      continue;
    }
    bool wide = decoder.getRegisterBits(*element) == 64 ||
                (decoder.isImmediate(*element) && getNumBits(type) == 64);
    if (isWide >= 0 && isWide != wide)
      decoder.fail("expected elements of one width");
    isWide = wide;
    rows.push_back(isLoad ? decoder.write(*element, type, true)
                          : decoder.read(*element, type, true));
  }
  uint32_t list = decoder.addList(rows);
  Ins &ins = decoder.emit(handler, getUnit(address.space));
  ins.a = address.base;
  ins.offset = address.offset;
  ins.extra = list;
  ins.count = uint8_t(count);
  ins.flags = uint8_t((address.isWide ? kWideAddress : 0) |
                      (isWide == 1 ? kWideData : 0));
  ins.target = flags | makeSpaceFlags(address.space);
  uint32_t used = decoder.get().usedBytesMask & 0xFFFF;
  ins.maskRow = used ? used : 0xFFFF;
}

/// prefetch, discard, applypriority: nothing happens, whatever the address.
static void executeNothing(Warp &, const Ins &, uint32_t) {}

static void decodePrefetch(Decoder &decoder) {
  decoder.expectOperands(1, 2);
  takeSpace(decoder);
  decoder.takeOneOf({"L1", "L2"});
  takeCacheHints(decoder);
  decoder.getAddress(decoder.getOperand(0), Space::Generic);
  decoder.emit(executeNothing, InstructionClass::Other);
}

static void decodeCreatePolicy(Decoder &decoder) {
  decoder.expectOperands(1, 4);
  decoder.takeOneOf({"fractional", "range"});
  takeCacheHints(decoder);
  takeCacheHints(decoder);
  decoder.takeType();
  Row d = decoder.write(decoder.getOperand(0), Type::B64);
  Row zero = decoder.getConstant(0, true);
  struct Policy {
    static uint64_t apply(uint64_t a) { return a; }
  };
  Ins &ins = decoder.emit(executeUnary<Policy, uint64_t, uint64_t>,
                          InstructionClass::Other);
  ins.d = d, ins.a = zero;
}

void kvc::emu::addMemoryOpcodes(OpcodeTable &table) {
  table["ld"] = table["st"] = decodeLoadStore;
  table["prefetch"] = table["prefetchu"] = decodePrefetch;
  table["createpolicy"] = decodeCreatePolicy;
}
