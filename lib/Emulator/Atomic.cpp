//===- Atomic.cpp - atom, red, fences -------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes take their turns in order, or in a random one if the launch has a seed.
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Families.h"
#include "Lanes.h"
#include "MemoryFlags.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

enum class Operation : uint8_t { And, Or, Xor, Cas, Exch, Add, Inc, Dec, Min, Max };

template <class T> T apply(Operation operation, T old, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
    case Operation::And: return old & b;
    case Operation::Or: return old | b;
    case Operation::Xor: return old ^ b;
    case Operation::Add: return T(uint64_t(old) + uint64_t(b));
    case Operation::Inc: return old >= b ? T(0) : T(old + 1);
    case Operation::Dec: return old == 0 || old > b ? b : T(old - 1);
    case Operation::Min: return std::min(old, b);
    case Operation::Max: return std::max(old, b);
    default: break;
    }
  } else if (operation == Operation::Add) {
    return canonical(T(old + b));
  }
  if (operation == Operation::Cas)
    return bitCast<BitsOf<T>>(old) == bitCast<BitsOf<T>>(b) ? c : old;
  return b; // exch
}

bool isShared(Space space, uint64_t address) {
  return space == Space::Shared ||
         (space == Space::Generic && (address & ~kWindowMask) == kSharedWindow);
}

/// Sums in global memory flush subnormals, sums in shared memory do not.
float applyF32(Operation operation, float old, float b, float c, bool inShared) {
  if (operation != Operation::Add || inShared)
    return apply(operation, old, b, c);
  return flush(apply(operation, flush(old), flush(b), c));
}

/// Pairs and single halves.
template <Type Element, unsigned Count> struct Halves {
  uint16_t values[Count];
};
template <class T> struct IsHalves : std::false_type {};
template <Type E, unsigned N> struct IsHalves<Halves<E, N>> : std::true_type {
  static constexpr Type element = E;
  static constexpr unsigned count = N;
};

template <class T> T applyHalves(Operation operation, T old, T b) {
  constexpr Type element = IsHalves<T>::element;
  for (unsigned i = 0; i < IsHalves<T>::count; ++i) {
    auto widen = [](uint16_t bits) {
      return double(element == Type::F16 ? f16ToF32(bits) : bf16ToF32(bits));
    };
    double x = widen(old.values[i]), y = widen(b.values[i]);
    double value = operation == Operation::Add   ? x + y
                   : operation == Operation::Min ? std::fmin(x, y)
                                                 : std::fmax(x, y);
    old.values[i] = element == Type::F16 ? f64ToF16(value, Rounding::NearestEven)
                                         : f64ToBF16(value, Rounding::NearestEven);
  }
  return old;
}

/// `d` the old value (atom), `b` and `c` operands, `count` the operation.
template <class T, bool Returns>
void executeAtomic(Warp &warp, const Ins &ins, uint32_t mask) {
  Access access;
  access.kind = AccessKind::Atomic;
  access.isStrong = true;
  access.mask = mask;
  access.size = sizeof(T);
  fillAddresses(access, warp, ins.a, ins.flags & kWideAddress, ins.offset);
  uint8_t *pointers[32];
  Space space = getSpace(ins.target);
  if (ins.target & kRelease)
    executeFence(warp);
  uint32_t valid = resolve(warp, space, access, pointers);
  auto operation = Operation(ins.count);
  uint32_t start =
      warp.launch->options.seed ? warp.launch->random.below(32) : 0;
  for (uint32_t i = 0; i < 32; ++i) {
    int l = int((start + i) % 32);
    if (!isActive(mask, l))
      continue;
    if (!isActive(valid, l)) {
      if (Returns)
        getWords<T>(warp, ins.d)[l] = Word<T>(uint64_t(kPoison) << 32 | kPoison);
      continue;
    }
    synchroniseByAddress(warp, space, access.addresses[l], true, true,
                         ins.target & kAcquire, false);
    T old, b = fromWord<T>(getWords<T>(warp, ins.b)[l]), updated;
    std::memcpy(&old, pointers[l], sizeof(T));
    if constexpr (IsHalves<T>::value)
      updated = applyHalves(operation, old, b);
    else if constexpr (std::is_same_v<T, float>)
      updated = applyF32(operation, old, b, fromWord<T>(getWords<T>(warp, ins.c)[l]),
                         isShared(space, access.addresses[l]));
    else
      updated = apply(operation, old, b, fromWord<T>(getWords<T>(warp, ins.c)[l]));
    std::memcpy(pointers[l], &updated, sizeof(T));
    if (Returns)
      getWords<T>(warp, ins.d)[l] = toWord<T>(old);
  }
}

void executeFenceInstruction(Warp &warp, const Ins &, uint32_t) { executeFence(warp); }

} // namespace

template <bool Returns> static Handler getHandler(Operation operation, Type type) {
  bool isSwap = operation == Operation::Cas || operation == Operation::Exch;
  bool isLogic = operation <= Operation::Xor;
  bool isCount = operation == Operation::Inc || operation == Operation::Dec;
  switch (type) {
  case Type::B16: // cas only
    return operation == Operation::Cas ? executeAtomic<uint16_t, Returns> : nullptr;
  case Type::B32:
    return isSwap || isLogic ? executeAtomic<uint32_t, Returns> : nullptr;
  case Type::B64:
    return isSwap || isLogic ? executeAtomic<uint64_t, Returns> : nullptr;
  case Type::U32: return isLogic ? nullptr : executeAtomic<uint32_t, Returns>;
  case Type::S32:
    return isLogic || isCount ? nullptr : executeAtomic<int32_t, Returns>;
  case Type::U64:
    return isLogic || isCount ? nullptr : executeAtomic<uint64_t, Returns>;
  case Type::S64:
    return isLogic || isCount ? nullptr : executeAtomic<int64_t, Returns>;
  case Type::F32:
    return operation == Operation::Add || isSwap ? executeAtomic<float, Returns>
                                                 : nullptr;
  case Type::F64:
    return operation == Operation::Add || isSwap ? executeAtomic<double, Returns>
                                                 : nullptr;
  default: break;
  }
  if (operation != Operation::Add && operation != Operation::Min &&
      operation != Operation::Max)
    return nullptr;
  switch (type) {
  case Type::F16: return executeAtomic<Halves<Type::F16, 1>, Returns>;
  case Type::F16x2: return executeAtomic<Halves<Type::F16, 2>, Returns>;
  case Type::BF16: return executeAtomic<Halves<Type::BF16, 1>, Returns>;
  case Type::BF16x2: return executeAtomic<Halves<Type::BF16, 2>, Returns>;
  default: return nullptr;
  }
}

/// atom{.order}{.scope}{.space}.op.type d, [a], b{, c}; red without d.
static void decodeAtomic(Decoder &decoder) {
  bool returns = decoder.get().opcode == "atom";
  uint32_t flags = takeMemoryOrder(decoder) | kStrong;
  Space space = takeSpace(decoder);
  decoder.take("noftz");
  int index = decoder.takeOneOf(
      {"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"});
  if (index < 0)
    decoder.fail("expected an operation after '" +
                 std::string(decoder.get().opcode) + "'");
  auto operation = Operation(index);
  Type type = decoder.takeType();
  bool isCas = operation == Operation::Cas;
  decoder.expectOperands(size_t(2) + returns + isCas);
  if (!returns && (isCas || operation == Operation::Exch))
    decoder.fail("expected an operation that 'red' has");
  Handler handler = returns ? getHandler<true>(operation, type)
                            : getHandler<false>(operation, type);
  if (!handler)
    decoder.failType(type);
  Decoder::Address address = decoder.getAddress(decoder.getOperand(returns), space);
  if (address.space != Space::Global && address.space != Space::Shared &&
      address.space != Space::Generic)
    decoder.fail("expected an address of global or shared memory");
  Row b = decoder.read(decoder.getOperand(size_t(1) + returns), type);
  Row c = isCas ? decoder.read(decoder.getOperand(3), type) : b;
  Row d = returns ? decoder.write(decoder.getOperand(0), type) : 0;
  Ins &ins = decoder.emit(handler, InstructionClass::Atomic);
  ins.d = d, ins.a = address.base, ins.b = b, ins.c = c;
  ins.offset = address.offset;
  ins.count = uint8_t(operation);
  ins.flags = address.isWide ? kWideAddress : 0;
  ins.target = flags | makeSpaceFlags(address.space);
}

/// membar.cta, fence.acq_rel.gpu, ...: one strength and scope for all. Fences
/// between proxies belong to copies that are not supported yet.
static void decodeFence(Decoder &decoder) {
  decoder.expectOperands(0);
  if (decoder.get().opcode == "membar") {
    if (decoder.takeOneOf({"cta", "gl", "sys"}) < 0)
      decoder.fail("expected .cta, .gl or .sys after 'membar'");
  } else {
    decoder.takeOneOf({"sc", "acq_rel", "acquire", "release"});
    if (decoder.takeOneOf({"cta", "cluster", "gpu", "sys"}) < 0)
      decoder.fail("expected a scope after 'fence'");
  }
  decoder.emit(executeFenceInstruction, InstructionClass::Barrier);
}

void kvc::emu::addAtomicOpcodes(OpcodeTable &table) {
  table["atom"] = table["red"] = decodeAtomic;
  table["membar"] = table["fence"] = decodeFence;
}
