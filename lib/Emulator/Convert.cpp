//===- Convert.cpp - cvt --------------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conversion loads its source, whatever the width of its register, as s64 or
// f64, which hold every value of every type but u64 above 2^63, and stores what
// it rounds to, extended to the width of the destination's register.
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

/// Bits of Ins::flags.
enum : uint8_t {
  kFtz = 1,
  kSat = 2,       ///< .sat: to the range of an integer, or [0, 1]
  kRelu = 4,
  kToInteger = 8, ///< .rni etc. between floats
  kWideSource = 16,
  kWideResult = 32,
  kSatFinite = 64 ///< .satfinite: infinity to the largest number
};

/// How Ins of a conversion is packed: `count` source type, `extra` result type,
/// `offset` rounding.
Type getSource(const Ins &ins) { return Type(ins.count); }
Type getResult(const Ins &ins) { return Type(ins.extra); }
Rounding getRounding(const Ins &ins) { return Rounding(ins.offset); }

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}
bool isInteger(Type type) { return type >= Type::U8 && type <= Type::S64; }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

template <class T, class W> void loadAs(const W *row, int64_t *values) {
  for (int l = 0; l < 32; ++l)
    values[l] = int64_t(T(row[l]));
}

void loadIntegers(const Warp &warp, const Ins &ins, int64_t *values) {
  const uint32_t *narrow = warp.getRow(ins.a);
  const uint64_t *wide = warp.getWideRow(ins.a);
  bool isWide = ins.flags & kWideSource;
#define KVC_LOAD(TYPE, T)                                                      \
  case Type::TYPE:                                                             \
    return isWide ? loadAs<T>(wide, values) : loadAs<T>(narrow, values);
  switch (getSource(ins)) {
    KVC_LOAD(U8, uint8_t) KVC_LOAD(S8, int8_t) KVC_LOAD(U16, uint16_t)
    KVC_LOAD(S16, int16_t) KVC_LOAD(U32, uint32_t) KVC_LOAD(S32, int32_t)
    KVC_LOAD(U64, uint64_t) KVC_LOAD(S64, int64_t)
  default: return;
  }
#undef KVC_LOAD
}

template <class T, class W>
void storeAs(const int64_t *values, W *row, uint32_t mask) {
  using Extended = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  if (mask == kAllLanes) {
    for (int l = 0; l < 32; ++l)
      row[l] = W(Extended(T(values[l])));
    return;
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      row[l] = W(Extended(T(values[l])));
}

void storeIntegers(const Warp &warp, const Ins &ins, const int64_t *values,
                   uint32_t mask) {
  uint32_t *narrow = warp.getRow(ins.d);
  uint64_t *wide = warp.getWideRow(ins.d);
  bool isWide = ins.flags & kWideResult;
#define KVC_STORE(TYPE, T)                                                     \
  case Type::TYPE:                                                             \
    return isWide ? storeAs<T>(values, wide, mask)                             \
                  : storeAs<T>(values, narrow, mask);
  switch (getResult(ins)) {
    KVC_STORE(U8, uint8_t) KVC_STORE(S8, int8_t) KVC_STORE(U16, uint16_t)
    KVC_STORE(S16, int16_t) KVC_STORE(U32, uint32_t) KVC_STORE(S32, int32_t)
    KVC_STORE(U64, uint64_t) KVC_STORE(S64, int64_t)
  default: return;
  }
#undef KVC_STORE
}

/// Range of an integer type, as s128 so that u64 fits.
__int128 getLeast(Type type) {
  return isSigned(type) ? -(__int128(1) << (getNumBits(type) - 1)) : 0;
}
__int128 getMost(Type type) {
  return (__int128(1) << (getNumBits(type) - isSigned(type))) - 1;
}

void executeIntegers(Warp &warp, const Ins &ins, uint32_t mask) {
  int64_t values[32];
  loadIntegers(warp, ins, values);
  if (ins.flags & kSat) {
    __int128 least = getLeast(getResult(ins)), most = getMost(getResult(ins));
    for (int64_t &value : values) {
      __int128 wide = getSource(ins) == Type::U64 ? __int128(uint64_t(value))
                                                  : __int128(value);
      value = int64_t(std::clamp(wide, least, most));
    }
  }
  storeIntegers(warp, ins, values, mask);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

void loadFloats(const Warp &warp, Type type, Row row, bool ftz, double *values) {
  const uint32_t *words = warp.getRow(row);
  switch (type) {
  case Type::F16:
    for (int l = 0; l < 32; ++l)
      values[l] = f16ToF32(uint16_t(words[l]));
    return;
  case Type::BF16:
    for (int l = 0; l < 32; ++l)
      values[l] = bf16ToF32(uint16_t(words[l]));
    return;
  case Type::F64:
    for (int l = 0; l < 32; ++l)
      values[l] = bitCast<double>(warp.getWideRow(row)[l]);
    return;
  default:
    for (int l = 0; l < 32; ++l) {
      float value = bitCast<float>(words[l]);
      values[l] = ftz ? flush(value) : value;
    }
  }
}

/// Rounds to f32 once.
uint32_t roundToF32(double value, Rounding rounding) {
  float nearest = float(value);
  if (rounding == Rounding::NearestEven || std::isnan(value) || nearest == value)
    return bitCast<uint32_t>(canonical(nearest));
  float below = nearest > value ? std::nextafterf(nearest, -INFINITY) : nearest;
  float above = nearest < value ? std::nextafterf(nearest, INFINITY) : nearest;
  bool goesDown = rounding == Rounding::Down ||
                  (rounding == Rounding::Zero && value > 0);
  return bitCast<uint32_t>(goesDown ? below : above);
}

double roundToInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero: return std::trunc(value);
  case Rounding::Down: return std::floor(value);
  case Rounding::Up: return std::ceil(value);
  case Rounding::NearestAway: return std::round(value);
  default: return std::nearbyint(value);
  }
}

constexpr uint32_t kLargestTF32 = 0x7F7FE000;

/// An f32 whose mantissa is rounded to the 10 bits of tf32.
uint32_t roundToTF32(double value, Rounding rounding) {
  uint32_t bits = bitCast<uint32_t>(float(value)), rest = bits & 0x1FFF;
  if ((bits & 0x7FFFFFFF) >= 0x7F800000)
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : bits;
  bits &= ~0x1FFFu;
  bool goesUp = rounding == Rounding::NearestAway ? rest >= 0x1000
                : rounding == Rounding::NearestEven
                    ? rest > 0x1000 || (rest == 0x1000 && (bits & 0x2000))
                    : false;
  return goesUp ? bits + 0x2000 : bits;
}

/// Bits of `value` in a type of up to 32 bits.
uint32_t narrow(double value, Type type, Rounding rounding, uint8_t flags) {
  if ((flags & kRelu) && !(value > 0) && !std::isnan(value))
    value = 0;
  bool satfinite = flags & kSatFinite;
  switch (type) {
  case Type::F16: return f64ToF16(value, rounding, satfinite);
  case Type::BF16: return f64ToBF16(value, rounding, satfinite);
  case Type::E4M3: return f64ToE4M3(value, satfinite);
  case Type::E5M2: return f64ToE5M2(value, satfinite);
  case Type::TF32: {
    uint32_t bits = roundToTF32(value, rounding);
    bool isInfinite = (bits & 0x7FFFFFFF) == 0x7F800000;
    return satfinite && isInfinite ? (bits & 0x80000000) | kLargestTF32 : bits;
  }
  default: {
    uint32_t bits = roundToF32(value, rounding);
    return flags & kFtz ? bitCast<uint32_t>(flush(bitCast<float>(bits))) : bits;
  }
  }
}

void executeFloats(Warp &warp, const Ins &ins, uint32_t mask) {
  double values[32];
  loadFloats(warp, getSource(ins), ins.a, ins.flags & kFtz, values);
  Rounding rounding = getRounding(ins);
  Type result = getResult(ins);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    double value = values[l];
    if (ins.flags & kToInteger)
      value = roundToInteger(value, rounding);
    if (ins.flags & kSat)
      value = saturate(value);
    if (result == Type::F64)
      warp.getWideRow(ins.d)[l] = bitCast<uint64_t>(canonical(value));
    else
      warp.getRow(ins.d)[l] =
          narrow(value, result, rounding, ins.flags);
  }
}

void executeFloatToInteger(Warp &warp, const Ins &ins, uint32_t mask) {
  double values[32];
  int64_t results[32];
  Type type = getResult(ins);
  loadFloats(warp, getSource(ins), ins.a, ins.flags & kFtz, values);
  double least = double(getLeast(type)), most = double(getMost(type));
  bool nanIsTop = getNumBits(type) == 64 || getSource(ins) == Type::F64;
  for (int l = 0; l < 32; ++l) {
    double value = roundToInteger(values[l], getRounding(ins));
    if (std::isnan(value))
      results[l] = nanIsTop ? int64_t(uint64_t(1) << (getNumBits(type) - 1)) : 0;
    else if (value <= least)
      results[l] = int64_t(getLeast(type));
    else if (value >= most)
      results[l] = int64_t(uint64_t(getMost(type)));
    else
      results[l] = type == Type::U64 ? int64_t(uint64_t(value)) : int64_t(value);
  }
  storeIntegers(warp, ins, results, mask);
}

/// An integer in f64, rounded to odd where it does not fit.
double toDoubleOdd(__int128 value) {
  double nearest = double(value);
  __int128 back = __int128(nearest);
  if (back == value)
    return nearest;
  uint64_t bits = bitCast<uint64_t>(nearest);
  bool isAway = value > 0 ? back > value : back < value;
  return bitCast<double>((isAway ? bits - 1 : bits) | 1);
}

double roundToF64(__int128 value, Rounding rounding) {
  double nearest = double(value);
  __int128 back = __int128(nearest);
  if (rounding == Rounding::NearestEven || back == value)
    return nearest;
  bool goesDown = rounding == Rounding::Down ||
                  (rounding == Rounding::Zero && value > 0);
  if (goesDown)
    return back > value ? std::nextafter(nearest, -INFINITY) : nearest;
  return back < value ? std::nextafter(nearest, INFINITY) : nearest;
}

void executeIntegerToFloat(Warp &warp, const Ins &ins, uint32_t mask) {
  int64_t values[32];
  loadIntegers(warp, ins, values);
  Type result = getResult(ins);
  Rounding rounding = getRounding(ins);
  bool isU64 = getSource(ins) == Type::U64;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    __int128 value = isU64 ? __int128(uint64_t(values[l])) : __int128(values[l]);
    if (result == Type::F64) {
      double wide = roundToF64(value, rounding);
      warp.getWideRow(ins.d)[l] =
          bitCast<uint64_t>(ins.flags & kSat ? saturate(wide) : wide);
      continue;
    }
    double odd = toDoubleOdd(value);
    warp.getRow(ins.d)[l] =
        narrow(ins.flags & kSat ? saturate(odd) : odd, result, rounding, ins.flags);
  }
}

/// The same for 32-bit sources to f32, to nearest: the common case.
template <class T> struct ToF32 {
  static float apply(T value) { return float(value); }
};

// The same between f32 and 16 bits.
struct ToF16 {
  static uint16_t apply(float value) { return f32ToF16(value); }
};
struct ToBF16 {
  static uint16_t apply(float value) { return f32ToBF16(value); }
};
struct FromF16 {
  static float apply(uint16_t bits) { return canonical(f16ToF32(bits)); }
};
struct FromBF16 {
  static float apply(uint16_t bits) { return canonical(bf16ToF32(bits)); }
};

/// The handler of a frequent conversion to nearest without other modifiers; null if
/// it is another one.
Handler getFastHandler(Type result, Type source) {
  if (result == Type::F32) {
    switch (source) {
    case Type::S32: return executeUnary<ToF32<int32_t>, float, int32_t>;
    case Type::U32: return executeUnary<ToF32<uint32_t>, float, uint32_t>;
    case Type::F16: return executeUnary<FromF16, float, uint16_t>;
    case Type::BF16: return executeUnary<FromBF16, float, uint16_t>;
    default: return nullptr;
    }
  }
  if (source == Type::F32 && result == Type::F16)
    return executeUnary<ToF16, uint16_t, float>;
  if (source == Type::F32 && result == Type::BF16)
    return executeUnary<ToBF16, uint16_t, float>;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// The element type of a pair.
Type getElement(Type type) {
  switch (type) {
  case Type::F16x2: return Type::F16;
  case Type::BF16x2: return Type::BF16;
  case Type::E4M3x2: return Type::E4M3;
  case Type::E5M2x2: return Type::E5M2;
  default: return Type::None;
  }
}

/// d = {a, b}: `a` to the high half.
void executePack(Warp &warp, const Ins &ins, uint32_t mask) {
  Type element = getElement(getResult(ins));
  unsigned bits = getNumBits(element);
  double high[32], low[32];
  loadFloats(warp, Type::F32, ins.a, ins.flags & kFtz, high);
  loadFloats(warp, Type::F32, ins.b, ins.flags & kFtz, low);
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      warp.getRow(ins.d)[l] =
          narrow(high[l], element, getRounding(ins), ins.flags) << bits |
          narrow(low[l], element, getRounding(ins), ins.flags);
}

/// The same to nearest, without other modifiers.
struct PackF16 {
  static uint32_t apply(float a, float b) {
    return uint32_t(f32ToF16(a)) << 16 | f32ToF16(b);
  }
};
struct PackBF16 {
  static uint32_t apply(float a, float b) {
    return uint32_t(f32ToBF16(a)) << 16 | f32ToBF16(b);
  }
};

/// A pair to a pair, element by element.
void executePairs(Warp &warp, const Ins &ins, uint32_t mask) {
  Type from = getElement(getSource(ins)), to = getElement(getResult(ins));
  unsigned fromBits = getNumBits(from), toBits = getNumBits(to);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t source = warp.getRow(ins.a)[l], result = 0;
    for (int i = 0; i < 2; ++i) {
      uint32_t bits = source >> (i * fromBits);
      double value = from == Type::F16    ? f16ToF32(uint16_t(bits))
                     : from == Type::BF16 ? bf16ToF32(uint16_t(bits))
                     : from == Type::E4M3 ? e4m3ToF32(uint8_t(bits))
                                          : e5m2ToF32(uint8_t(bits));
      result |= narrow(value, to, Rounding::NearestEven, ins.flags) << (i * toBits);
    }
    warp.getRow(ins.d)[l] = result;
  }
}

} // namespace

/// f32 to a pair, or a pair to a pair.
static void decodePair(Decoder &decoder, Type result, Type source, Rounding rounding,
                       uint8_t flags) {
  bool isFP8 = result == Type::E4M3x2 || result == Type::E5M2x2;
  Ins packed;
  packed.count = uint8_t(source);
  packed.extra = uint32_t(result);
  packed.offset = int64_t(rounding);
  packed.flags = flags;
  if (isFP8 && !(flags & kSatFinite))
    decoder.fail("expected .satfinite of a conversion to FP8");
  if (source == Type::F32) {
    decoder.expectOperands(3);
    Row a = decoder.read(decoder.getOperand(1), source);
    Row b = decoder.read(decoder.getOperand(2), source);
    Row d = decoder.write(decoder.getOperand(0), result);
    bool isPlain = rounding == Rounding::NearestEven && !flags;
    Handler handler = isPlain && result == Type::F16x2
                          ? executeBinary<PackF16, uint32_t, float>
                      : isPlain && result == Type::BF16x2
                          ? executeBinary<PackBF16, uint32_t, float>
                          : Handler(executePack);
    Ins &ins = decoder.emit(handler, InstructionClass::Convert);
    ins.d = d, ins.a = a, ins.b = b;
    ins.count = packed.count, ins.extra = packed.extra;
    ins.offset = packed.offset, ins.flags = packed.flags;
    return;
  }
  bool fromFP8 = source == Type::E4M3x2 || source == Type::E5M2x2;
  if (!(isFP8 && source == Type::F16x2) && !(fromFP8 && result == Type::F16x2))
    decoder.fail("a conversion from ." + std::string(getName(source)) + " to ." +
                 getName(result) + " is not supported on this target");
  decoder.expectOperands(2);
  Row a = decoder.read(decoder.getOperand(1), source);
  Row d = decoder.write(decoder.getOperand(0), result);
  Ins &ins = decoder.emit(executePairs, InstructionClass::Convert);
  ins.d = d, ins.a = a;
  ins.count = packed.count, ins.extra = packed.extra;
  ins.flags = packed.flags;
}

/// Takes a rounding of floats or to integers; to nearest if there is none.
static Rounding takeRounding(Decoder &decoder) {
  static constexpr Rounding kRoundings[] = {Rounding::NearestEven, Rounding::Zero,
                                            Rounding::Down, Rounding::Up,
                                            Rounding::NearestAway};
  int index = decoder.takeOneOf({"rni", "rzi", "rmi", "rpi", "rna"});
  return index < 0 ? decoder.takeRounding(Rounding::NearestEven) : kRoundings[index];
}

static void decodeCvt(Decoder &decoder) {
  bool hasInteger = false, hasRounding = false;
  for (std::string_view modifier : decoder.get().modifiers) {
    hasInteger |= modifier == "rni" || modifier == "rzi" || modifier == "rmi" ||
                  modifier == "rpi";
    hasRounding |= modifier == "rn" || modifier == "rz" || modifier == "rm" ||
                   modifier == "rp" || modifier == "rna";
  }
  Rounding rounding = takeRounding(decoder);
  uint8_t flags = 0;
  if (decoder.take("ftz"))
    flags |= kFtz;
  if (decoder.take("sat"))
    flags |= kSat;
  if (decoder.take("satfinite"))
    flags |= kSatFinite;
  if (decoder.take("relu"))
    flags |= kRelu;
  if (hasInteger)
    flags |= kToInteger;
  Type result = decoder.takeType(), source = decoder.takeType();
  Type element = getElement(result);
  bool isSmall = result == Type::F16 || result == Type::BF16 || result == Type::TF32 ||
                 element != Type::None;
  if ((flags & (kSatFinite | kRelu)) && !isSmall)
    decoder.fail("'cvt' to ." + std::string(getName(result)) +
                 " does not support the modifiers .satfinite and .relu");
  if (element != Type::None && ((flags & (kSat | kToInteger)) || !hasRounding))
    decoder.fail("expected .rn or .rz, and no .sat, of a conversion of a pair");
  if (rounding == Rounding::NearestAway && result != Type::TF32)
    decoder.fail("expected .rna only of a conversion to .tf32");
  if (element != Type::None || getElement(source) != Type::None)
    return decodePair(decoder, result, source, rounding, flags);

  auto isScalarFloat = [](Type type) {
    return isFloat(type) || type == Type::F16 || type == Type::BF16;
  };
  bool fromFloat = isScalarFloat(source);
  bool toFloat = isScalarFloat(result) || (result == Type::TF32 && source == Type::F32);
  if (!fromFloat && !isInteger(source))
    decoder.failType(source);
  if (!toFloat && !isInteger(result))
    decoder.failType(result);
  decoder.expectOperands(2);
  if (fromFloat && !toFloat && !hasInteger)
    decoder.fail("expected .rni, .rzi, .rmi or .rpi of a conversion to an integer");
  if (!fromFloat && toFloat && !hasRounding)
    decoder.fail("expected .rn, .rz, .rm or .rp of a conversion from an integer");
  if (fromFloat && toFloat && getNumBits(result) < getNumBits(source) &&
      !hasRounding && !hasInteger)
    decoder.fail("expected a rounding of a conversion to a smaller type");

  // Integers may be in registers that are wider than they.
  Row a = decoder.read(decoder.getOperand(1), source, !fromFloat);
  Row d = decoder.write(decoder.getOperand(0), result, !toFloat);
  if (!fromFloat && decoder.getRegisterBits(decoder.getOperand(1)) == 64)
    flags |= kWideSource;
  if (decoder.isImmediate(decoder.getOperand(1)) && getNumBits(source) == 64)
    flags |= kWideSource;
  if (!toFloat && (decoder.getRegisterBits(decoder.getOperand(0)) == 64 ||
                   (decoder.getOperand(0).kind == Operand::Kind::Sink &&
                    getNumBits(result) == 64)))
    flags |= kWideResult;
  Handler handler = fromFloat ? (toFloat ? executeFloats : executeFloatToInteger)
                              : (toFloat ? executeIntegerToFloat : executeIntegers);
  if (rounding == Rounding::NearestEven && !flags)
    if (Handler fast = getFastHandler(result, source))
      handler = fast;
  Ins &ins = decoder.emit(handler, InstructionClass::Convert);
  ins.d = d, ins.a = a;
  ins.count = uint8_t(source), ins.extra = uint32_t(result);
  ins.offset = int64_t(rounding);
  ins.flags = flags;
}

void kvc::emu::addConvertOpcodes(OpcodeTable &table) { table["cvt"] = decodeCvt; }
