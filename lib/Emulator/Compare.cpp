//===- Compare.cpp - comparisons ------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "Lanes.h"

using namespace kvc::emu;

namespace {

enum class Comparison : uint8_t {
  Eq, Ne, Lt, Le, Gt, Ge,             // false if an operand is NaN
  Equ, Neu, Ltu, Leu, Gtu, Geu,       // true if an operand is NaN
  Num, Nan
};
enum class Combine : uint8_t { None, And, Or, Xor };

// With NaN `ne` is false too, unlike in C++.
template <class T> bool compare(Comparison comparison, T a, T b) {
  bool isUnordered = (a != a) | (b != b);
  switch (comparison) {
  case Comparison::Eq: return a == b;
  case Comparison::Ne: return (a != b) & !isUnordered;
  case Comparison::Lt: return a < b;
  case Comparison::Le: return a <= b;
  case Comparison::Gt: return a > b;
  case Comparison::Ge: return a >= b;
  case Comparison::Equ: return (a == b) | isUnordered;
  case Comparison::Neu: return a != b;
  case Comparison::Ltu: return (a < b) | isUnordered;
  case Comparison::Leu: return (a <= b) | isUnordered;
  case Comparison::Gtu: return (a > b) | isUnordered;
  case Comparison::Geu: return (a >= b) | isUnordered;
  case Comparison::Num: return !isUnordered;
  case Comparison::Nan: return isUnordered;
  }
  return false;
}

/// What a comparison reads: the values of all lanes.
template <class T, bool Ftz = false> struct Plain {
  using Value = T;
  static void load(const Warp &warp, Row row, T *values) {
    const Word<T> *words = getWords<T>(warp, row);
    for (int l = 0; l < 32; ++l) {
      values[l] = fromWord<T>(words[l]);
      if constexpr (Ftz)
        values[l] = flush(values[l]);
    }
  }
};
/// Halves of registers as f32.
template <bool IsBF16, int Half, bool Ftz = false> struct HalfOf {
  using Value = float;
  static void load(const Warp &warp, Row row, float *values) {
    const uint32_t *words = warp.getRow(row);
    for (int l = 0; l < 32; ++l) {
      uint16_t bits = uint16_t(words[l] >> (16 * Half));
      if (Ftz && !(bits & 0x7C00)) // f16 only
        bits &= 0x8000;
      values[l] = IsBF16 ? bf16ToF32(bits) : f16ToF32(bits);
    }
  }
};

/// Bits of the lanes whose byte is 1.
uint32_t packLanes(const uint8_t *lanes) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t bytes;
    std::memcpy(&bytes, lanes + 8 * i, 8);
    // Moves bit 0 of byte k to bit 56 + k; the others fall off or stay below.
    result |= uint32_t((bytes * 0x0102040810204080) >> 56) << (8 * i);
  }
  return result;
}

template <class Source, Comparison C>
uint32_t compareAll(const Warp &warp, const Ins &ins) {
  typename Source::Value a[32], b[32];
  uint8_t lanes[32];
  Source::load(warp, ins.a, a);
  Source::load(warp, ins.b, b);
  for (int l = 0; l < 32; ++l)
    lanes[l] = compare(C, a[l], b[l]);
  return packLanes(lanes);
}

template <class Source>
uint32_t compareLanes(const Warp &warp, const Ins &ins, Comparison comparison) {
  switch (comparison) {
#define KVC_CASE(NAME)                                                         \
  case Comparison::NAME: return compareAll<Source, Comparison::NAME>(warp, ins);
    KVC_CASE(Eq) KVC_CASE(Ne) KVC_CASE(Lt) KVC_CASE(Le) KVC_CASE(Gt) KVC_CASE(Ge)
    KVC_CASE(Equ) KVC_CASE(Neu) KVC_CASE(Ltu) KVC_CASE(Leu) KVC_CASE(Gtu)
    KVC_CASE(Geu) KVC_CASE(Num) KVC_CASE(Nan)
#undef KVC_CASE
  }
  return 0;
}

uint32_t combine(Combine how, uint32_t value, uint32_t other) {
  switch (how) {
  case Combine::None: return value;
  case Combine::And: return value & other;
  case Combine::Or: return value | other;
  case Combine::Xor: return value ^ other;
  }
  return value;
}

/// setp: p = (a cmp b) op c, q = !(a cmp b) op c. `count` is the comparison,
/// `flags` the combination, `d` p, `extra` q, `c` the predicate c.
template <class Source>
void executeSetp(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t result = compareLanes<Source>(warp, ins, Comparison(ins.count));
  uint32_t other = warp.getPred(ins.c);
  auto how = Combine(ins.flags);
  warp.setPred(ins.d, combine(how, result, other), mask);
  if (ins.offset)
    warp.setPred(ins.extra, combine(how, ~result, other), mask);
}

/// setp of f16x2 and bf16x2: p of the low halves, q of the high ones.
template <bool IsBF16, bool Ftz>
void executeSetpPacked(Warp &warp, const Ins &ins, uint32_t mask) {
  auto comparison = Comparison(ins.count);
  uint32_t other = warp.getPred(ins.c);
  auto how = Combine(ins.flags);
  uint32_t low = compareLanes<HalfOf<IsBF16, 0, Ftz>>(warp, ins, comparison);
  uint32_t high = compareLanes<HalfOf<IsBF16, 1, Ftz>>(warp, ins, comparison);
  warp.setPred(ins.d, combine(how, low, other), mask);
  warp.setPred(ins.extra, combine(how, high, other), mask);
}

/// set: all ones, or 1.0f, where setp gives true. `offset` holds the value.
template <class Source>
void executeSet(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t result = combine(Combine(ins.flags),
                            compareLanes<Source>(warp, ins, Comparison(ins.count)),
                            warp.getPred(ins.c));
  uint32_t *d = warp.getRow(ins.d);
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      d[l] = result >> l & 1 ? uint32_t(ins.offset) : 0;
}

/// testp
enum class Test : uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };

template <class T> bool test(Test what, T value) {
  switch (what) {
  case Test::Finite: return std::isfinite(value);
  case Test::Infinite: return std::isinf(value);
  case Test::Number: return !std::isnan(value);
  case Test::NotANumber: return std::isnan(value);
  case Test::Normal: return std::isnormal(value) || value == 0; // zero is one
  case Test::Subnormal: return std::fpclassify(value) == FP_SUBNORMAL;
  }
  return false;
}

template <class T> void executeTest(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t result = 0;
  for (int l = 0; l < 32; ++l)
    result |= uint32_t(test(Test(ins.count),
                            fromWord<T>(getWords<T>(warp, ins.a)[l])))
              << l;
  warp.setPred(ins.d, result, mask);
}

/// slct: a if c >= 0, else b.
template <class T, class C>
void executeSlct(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    C c = fromWord<C>(warp.getRow(ins.c)[l]);
    if constexpr (std::is_same_v<C, float>)
      c = ins.flags ? flush(c) : c;
    getWords<T>(warp, ins.d)[l] = getWords<T>(warp, c >= 0 ? ins.a : ins.b)[l];
  }
}

} // namespace

static Comparison takeComparison(Decoder &decoder, Type type) {
  int index = decoder.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu",
                                 "ltu", "leu", "gtu", "geu", "num", "nan"});
  bool hasNaN = isFloat(type) || isHalf(type);
  bool isBits = type == Type::B16 || type == Type::B32 || type == Type::B64;
  if (index >= 0) {
    if ((index >= int(Comparison::Equ) && !hasNaN) ||
        (index > int(Comparison::Ne) && isBits))
      decoder.failType(type);
    return Comparison(index);
  }
  // lo, ls, hi, hs: unsigned.
  static constexpr Comparison kUnsigned[] = {Comparison::Lt, Comparison::Le,
                                             Comparison::Gt, Comparison::Ge};
  index = decoder.takeOneOf({"lo", "ls", "hi", "hs"});
  if (index < 0)
    decoder.fail("expected a comparison after '" +
                 std::string(decoder.get().opcode) + "'");
  if (type != Type::U16 && type != Type::U32 && type != Type::U64)
    decoder.failType(type);
  return kUnsigned[index];
}

#define KVC_SOURCE_HANDLER(TEMPLATE)                                           \
  static Handler get_##TEMPLATE(Type type, bool ftz) {                         \
    switch (type) {                                                            \
    case Type::B16: case Type::U16: return TEMPLATE<Plain<uint16_t>>;          \
    case Type::B32: case Type::U32: return TEMPLATE<Plain<uint32_t>>;          \
    case Type::B64: case Type::U64: return TEMPLATE<Plain<uint64_t>>;          \
    case Type::S16: return TEMPLATE<Plain<int16_t>>;                           \
    case Type::S32: return TEMPLATE<Plain<int32_t>>;                           \
    case Type::S64: return TEMPLATE<Plain<int64_t>>;                           \
    case Type::F32:                                                            \
      return ftz ? Handler(TEMPLATE<Plain<float, true>>)                       \
                 : Handler(TEMPLATE<Plain<float>>);                            \
    case Type::F64: return TEMPLATE<Plain<double>>;                            \
    case Type::F16:                                                            \
      return ftz ? Handler(TEMPLATE<HalfOf<false, 0, true>>)                   \
                 : Handler(TEMPLATE<HalfOf<false, 0>>);                        \
    case Type::BF16: return TEMPLATE<HalfOf<true, 0>>;                         \
    default: return nullptr;                                                   \
    }                                                                          \
  }
KVC_SOURCE_HANDLER(executeSetp)
KVC_SOURCE_HANDLER(executeSet)

/// Takes .ftz, where the type has it.
static bool takeFtz(Decoder &decoder, Type type) {
  return (type == Type::F32 || type == Type::F16 || type == Type::F16x2) &&
         decoder.take("ftz");
}

static Combine takeCombine(Decoder &decoder) {
  return Combine(decoder.takeOneOf({"and", "or", "xor"}) + 1);
}

static void decodeSetp(Decoder &decoder) {
  Type type = decoder.takeType();
  Comparison comparison = takeComparison(decoder, type);
  Combine how = takeCombine(decoder);
  bool ftz = takeFtz(decoder, type);
  decoder.expectOperands(how == Combine::None ? 3 : 4);
  bool isPacked = type == Type::F16x2 || type == Type::BF16x2;
  Handler handler = type == Type::BF16x2 ? executeSetpPacked<true, false>
                    : type != Type::F16x2 ? get_executeSetp(type, ftz)
                    : ftz                 ? Handler(executeSetpPacked<false, true>)
                                          : Handler(executeSetpPacked<false, false>);
  if (!handler)
    decoder.failType(type);
  const Operand &result = decoder.getOperand(0);
  bool isPair = result.kind == Operand::Kind::Pair;
  if (isPacked && !isPair)
    decoder.fail("expected p|q of a packed comparison");
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Pred c = how == Combine::None ? kAlways : decoder.readPred(decoder.getOperand(3));
  Pred p = decoder.writePred(isPair ? result.elements[0] : result);
  Pred q = isPair ? decoder.writePred(result.elements[1]) : 0;
  Ins &ins = decoder.emit(handler, InstructionClass::Compare);
  ins.d = p, ins.extra = q, ins.a = a, ins.b = b, ins.c = c;
  ins.count = uint8_t(comparison);
  ins.flags = uint8_t(how);
  ins.offset = isPair;
}

/// set.cmp{.op}{.ftz}.dtype.stype d, a, b{, c}
static void decodeSet(Decoder &decoder) {
  Type result = decoder.takeType(), type = decoder.takeType();
  Comparison comparison = takeComparison(decoder, type);
  Combine how = takeCombine(decoder);
  bool ftz = takeFtz(decoder, type);
  decoder.expectOperands(how == Combine::None ? 3 : 4);
  if (result != Type::U32 && result != Type::S32 && result != Type::F32)
    decoder.failType(result);
  Handler handler = get_executeSet(type, ftz);
  if (!handler)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Pred c = how == Combine::None ? kAlways : decoder.readPred(decoder.getOperand(3));
  Row d = decoder.write(decoder.getOperand(0), result);
  Ins &ins = decoder.emit(handler, InstructionClass::Compare);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
  ins.count = uint8_t(comparison);
  ins.flags = uint8_t(how);
  ins.offset = result == Type::F32 ? 0x3F800000 : 0xFFFFFFFF;
}

static void decodeTest(Decoder &decoder) {
  decoder.expectOperands(2);
  Type type = decoder.takeType();
  int what = decoder.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (!isFloat(type))
    decoder.failType(type);
  if (what < 0)
    decoder.fail("expected a property after 'testp'");
  Row a = decoder.read(decoder.getOperand(1), type);
  Pred d = decoder.writePred(decoder.getOperand(0));
  Ins &ins = decoder.emit(type == Type::F64 ? executeTest<double> : executeTest<float>,
                          InstructionClass::Compare);
  ins.d = d, ins.a = a;
  ins.count = uint8_t(what);
}

static void decodeSlct(Decoder &decoder) {
  decoder.expectOperands(4);
  Type type = decoder.takeType(), selector = decoder.takeType();
  unsigned bits = getNumBits(type);
  bool isFloatSelector = selector == Type::F32;
  bool ftz = takeFtz(decoder, selector);
  if (!isFloatSelector && selector != Type::S32)
    decoder.failType(selector);
  Handler handler = nullptr;
  if (bits == 64)
    handler = isFloatSelector ? executeSlct<uint64_t, float>
                              : executeSlct<uint64_t, int32_t>;
  else if (bits == 32 || bits == 16)
    handler = isFloatSelector ? executeSlct<uint32_t, float>
                              : executeSlct<uint32_t, int32_t>;
  else
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), selector);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handler, InstructionClass::Move);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
  ins.flags = ftz;
}

void kvc::emu::addCompareOpcodes(OpcodeTable &table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["testp"] = decodeTest;
  table["slct"] = decodeSlct;
}
