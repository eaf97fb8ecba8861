//===- Float.cpp - f32 and f64 arithmetic ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding to nearest is the processor's; the other modes are in
// FloatRounding.cpp. Approximations are computed to within an ulp: a device has
// its own errors there, within the bounds that PTX states.
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "FloatRounding.h"
#include "Lanes.h"

using namespace kvc::emu;

namespace {

template <bool Ftz, bool Sat, class T> T finish(T value) {
  value = canonical(flushIf<Ftz>(value));
  return Sat ? saturate(value) : value;
}

// `Function` names the operation; each is a struct so that it can be an argument
// of the templates of Lanes.h.
template <bool Ftz, bool Sat> struct Add {
  template <class T> static T apply(T a, T b) {
    return finish<Ftz, Sat>(flushIf<Ftz>(a) + flushIf<Ftz>(b));
  }
};
template <bool Ftz, bool Sat> struct Sub {
  template <class T> static T apply(T a, T b) {
    return finish<Ftz, Sat>(flushIf<Ftz>(a) - flushIf<Ftz>(b));
  }
};
template <bool Ftz, bool Sat> struct Mul {
  template <class T> static T apply(T a, T b) {
    return finish<Ftz, Sat>(flushIf<Ftz>(a) * flushIf<Ftz>(b));
  }
};
template <bool Ftz, bool Sat> struct Fma {
  static float apply(float a, float b, float c) {
    return finish<Ftz, Sat>(
        __builtin_fmaf(flushIf<Ftz>(a), flushIf<Ftz>(b), flushIf<Ftz>(c)));
  }
  static double apply(double a, double b, double c) {
    return finish<Ftz, Sat>(__builtin_fma(a, b, c));
  }
};
template <bool Ftz, bool Sat> struct Div {
  template <class T> static T apply(T a, T b) {
    return finish<Ftz, Sat>(flushIf<Ftz>(a) / flushIf<Ftz>(b));
  }
};
/// a * (1 / b), where the reciprocal of what is above 2^126 is flushed to zero.
template <bool Ftz> struct ApproximateDiv {
  static float apply(float a, float b) {
    a = flushIf<Ftz>(a), b = flushIf<Ftz>(b);
    bool isHuge = __builtin_fabsf(b) > 0x1p126f;
    return finish<Ftz, false>(isHuge ? a * __builtin_copysignf(0, b) : a / b);
  }
};
template <bool Ftz, bool Sat> struct Neg {
  template <class T> static T apply(T a) { return flushIf<Ftz>(-a); }
};
template <bool Ftz, bool Sat> struct Abs {
  static float apply(float a) {
    return flushIf<Ftz>(bitCast<float>(bitCast<uint32_t>(a) & 0x7FFFFFFF));
  }
  static double apply(double a) { return __builtin_fabs(a); }
};
template <bool Ftz, bool Sat> struct Sqrt {
  static float apply(float a) {
    return finish<Ftz, false>(__builtin_sqrtf(flushIf<Ftz>(a)));
  }
  static double apply(double a) { return finish<false, false>(__builtin_sqrt(a)); }
};
template <bool Ftz, bool Sat> struct Rcp {
  template <class T> static T apply(T a) {
    return finish<Ftz, false>(T(1) / flushIf<Ftz>(a));
  }
};

/// min and max: the operand that is a number, -0 below +0.
template <bool IsMax, bool KeepsNaN, bool Ftz> struct Extremum {
  template <class T> static T apply(T a, T b) {
    a = flushIf<Ftz>(a), b = flushIf<Ftz>(b);
    using Bits = BitsOf<T>;
    bool isSmaller = a < b || (a == b && (bitCast<Bits>(a) >> (8 * sizeof(T) - 1)));
    T result = isSmaller != IsMax ? a : b;
    result = a != a ? b : b != b ? a : result;
    if (KeepsNaN)
      result = (a != a) ? a : (b != b) ? b : result;
    return canonical(result);
  }
};
template <bool IsMax, bool KeepsNaN, bool Ftz> struct Extremum3 {
  static float apply(float a, float b, float c) {
    using Two = Extremum<IsMax, KeepsNaN, Ftz>;
    return Two::apply(Two::apply(a, b), c);
  }
};
/// Magnitude by value, sign by the exclusive or of the signs.
template <bool IsMax, bool KeepsNaN, bool Ftz> struct ExtremumXorSign {
  static float apply(float a, float b) {
    uint32_t sign = (bitCast<uint32_t>(a) ^ bitCast<uint32_t>(b)) & 0x80000000;
    float result =
        Extremum<IsMax, KeepsNaN, Ftz>::apply(__builtin_fabsf(a), __builtin_fabsf(b));
    return result == result ? bitCast<float>(bitCast<uint32_t>(result) | sign)
                            : result;
  }
};

struct CopySign {
  // PTX: the sign of a, the rest of b.
  template <class T> static T apply(T a, T b) {
    using Bits = BitsOf<T>;
    constexpr Bits kSign = Bits(1) << (8 * sizeof(T) - 1);
    return bitCast<T>(Bits((bitCast<Bits>(a) & kSign) | (bitCast<Bits>(b) & ~kSign)));
  }
};

// Approximations.

/// 2^a = 2^n * 2^f, with |f| at most 1/2: the Taylor series of the second in f64 is
/// within 2^-27, and rounding to f32 sees to the ends of the range. Unlike the
/// library's function it vectorises.
template <bool Ftz> struct Ex2 {
  static float apply(float a) {
    a = flushIf<Ftz>(a);
    double x = a < -200 ? -200 : a > 200 ? 200 : a; // both are beyond f32
    constexpr double kShift = 0x1.8p52; // leaves n in the lowest bits
    double shifted = x + kShift, t = (x - (shifted - kShift)) * 0.6931471805599453;
    double p = 1.0 / 5040;
    p = p * t + 1.0 / 720;
    p = p * t + 1.0 / 120;
    p = p * t + 1.0 / 24;
    p = p * t + 1.0 / 6;
    p = ((p * t + 0.5) * t + 1) * t + 1;
    double scale = bitCast<double>((bitCast<uint64_t>(shifted) + 1023) << 52);
    return finish<Ftz, false>(float(p * scale));
  }
};
template <bool Ftz> struct Lg2 {
  static float apply(float a) {
    return finish<Ftz, false>(std::log2(flushIf<Ftz>(a)));
  }
};
template <bool Ftz> struct RSqrt {
  static float apply(float a) {
    return finish<Ftz, false>(float(1.0 / std::sqrt(double(flushIf<Ftz>(a)))));
  }
  static double apply(double a) { return finish<false, false>(1.0 / std::sqrt(a)); }
};
template <bool Ftz> struct Sin {
  static float apply(float a) {
    return finish<Ftz, false>(float(std::sin(double(flushIf<Ftz>(a)))));
  }
};
template <bool Ftz> struct Cos {
  static float apply(float a) {
    return finish<Ftz, false>(float(std::cos(double(flushIf<Ftz>(a)))));
  }
};
template <bool Ftz> struct Tanh {
  static float apply(float a) {
    return finish<Ftz, false>(std::tanh(flushIf<Ftz>(a)));
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Choosing handlers
//===----------------------------------------------------------------------===//

/// Handlers of an operation for f32 with .ftz and .sat, and for f64.
struct FloatHandlers {
  Handler f32[2][2]; ///< [ftz][sat]
  Handler f64;
  Handler get(Type type, bool ftz, bool sat) const {
    return type == Type::F64 ? (ftz || sat ? nullptr : f64) : f32[ftz][sat];
  }
};

#define KVC_FLOAT_HANDLERS(TEMPLATE, OP)                                       \
  FloatHandlers {                                                              \
    {{TEMPLATE<OP<false, false>, float, float>,                                \
      TEMPLATE<OP<false, true>, float, float>},                                \
     {TEMPLATE<OP<true, false>, float, float>,                                 \
      TEMPLATE<OP<true, true>, float, float>}},                                \
        TEMPLATE<OP<false, false>, double, double>                             \
  }

static InstructionClass getUnit(Type) { return InstructionClass::Float; }

/// Emits d = handler(sources...), of one type.
static Ins &emitFloat(Decoder &decoder, Handler handler, Type type,
                      InstructionClass unit) {
  if (!handler)
    decoder.failType(type);
  Row rows[3] = {};
  for (size_t i = 1; i < decoder.getNumOperands(); ++i)
    rows[i - 1] = decoder.read(decoder.getOperand(i), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handler, unit);
  ins.d = d, ins.a = rows[0], ins.b = rows[1], ins.c = rows[2];
  return ins;
}

/// Operations that round: the processor's rounding, or another one.
static void decodeRounded(Decoder &decoder, Type type, RoundedOperation operation,
                          const FloatHandlers &nearest, size_t operands) {
  decoder.expectOperands(operands);
  Rounding rounding = decoder.takeRounding(Rounding::NearestEven);
  bool ftz = decoder.take("ftz"), sat = decoder.take("sat");
  if (rounding == Rounding::NearestEven) {
    emitFloat(decoder, nearest.get(type, ftz, sat), type, getUnit(type));
    return;
  }
  Handler handler = type == Type::F64 ? executeRoundedF64 : executeRoundedF32;
  if (type == Type::F64 && (ftz || sat))
    decoder.failType(type);
  Ins &ins = emitFloat(decoder, handler, type, getUnit(type));
  ins.count = uint8_t(operation);
  ins.extra = uint32_t(rounding);
  ins.flags = uint8_t((ftz ? kRoundedFtz : 0) | (sat ? kRoundedSat : 0));
}

static void decodeAdd(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type))
    return decodeIntegerAdd(decoder, type);
  decodeRounded(decoder, type, RoundedOperation::Add,
                KVC_FLOAT_HANDLERS(executeBinary, Add), 3);
}

static void decodeSub(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type))
    return decodeIntegerSub(decoder, type);
  decodeRounded(decoder, type, RoundedOperation::Sub,
                KVC_FLOAT_HANDLERS(executeBinary, Sub), 3);
}

static void decodeMul(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type))
    return decodeIntegerMul(decoder, type);
  decodeRounded(decoder, type, RoundedOperation::Mul,
                KVC_FLOAT_HANDLERS(executeBinary, Mul), 3);
}

static void decodeFma(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type)) {
    if (decoder.get().opcode == "mad")
      return decodeIntegerMad(decoder, type);
    decoder.failType(type);
  }
  decodeRounded(decoder, type, RoundedOperation::Fma,
                KVC_FLOAT_HANDLERS(executeTernary, Fma), 4);
}

static void decodeDiv(Decoder &decoder) {
  Type type = decoder.takeType();
  if (!isFloat(type)) {
    if (isHalf(type))
      decoder.failType(type);
    return decodeIntegerDiv(decoder, type);
  }
  // .full is within 2 ulp of the rounded quotient, .approx for most divisors.
  int mode = decoder.takeOneOf({"approx", "full"});
  if (mode < 0)
    return decodeRounded(decoder, type, RoundedOperation::Div,
                         KVC_FLOAT_HANDLERS(executeBinary, Div), 3);
  decoder.expectOperands(3);
  if (type != Type::F32)
    decoder.failType(type);
  bool ftz = decoder.take("ftz");
  Handler approximate = ftz ? executeBinary<ApproximateDiv<true>, float, float>
                            : executeBinary<ApproximateDiv<false>, float, float>;
  Handler full = KVC_FLOAT_HANDLERS(executeBinary, Div).get(type, ftz, false);
  emitFloat(decoder, mode == 0 ? approximate : full, type, getUnit(type));
}

static void decodeNeg(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type))
    return decodeIntegerNeg(decoder, type);
  decoder.expectOperands(2);
  bool ftz = decoder.take("ftz");
  emitFloat(decoder, KVC_FLOAT_HANDLERS(executeUnary, Neg).get(type, ftz, false),
            type, getUnit(type));
}

static void decodeAbs(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type))
    return decodeIntegerAbs(decoder, type);
  decoder.expectOperands(2);
  bool ftz = decoder.take("ftz");
  emitFloat(decoder, KVC_FLOAT_HANDLERS(executeUnary, Abs).get(type, ftz, false),
            type, getUnit(type));
}

template <bool IsMax> static Handler getExtremum(bool keepsNaN, bool ftz) {
  static constexpr Handler handlers[2][2] = {
      {executeBinary<Extremum<IsMax, false, false>, float, float>,
       executeBinary<Extremum<IsMax, false, true>, float, float>},
      {executeBinary<Extremum<IsMax, true, false>, float, float>,
       executeBinary<Extremum<IsMax, true, true>, float, float>}};
  return handlers[keepsNaN][ftz];
}
template <bool IsMax> static Handler getExtremum3(bool keepsNaN, bool ftz) {
  static constexpr Handler handlers[2][2] = {
      {executeTernary<Extremum3<IsMax, false, false>, float, float>,
       executeTernary<Extremum3<IsMax, false, true>, float, float>},
      {executeTernary<Extremum3<IsMax, true, false>, float, float>,
       executeTernary<Extremum3<IsMax, true, true>, float, float>}};
  return handlers[keepsNaN][ftz];
}
template <bool IsMax> static Handler getExtremumXorSign(bool keepsNaN, bool ftz) {
  static constexpr Handler handlers[2][2] = {
      {executeBinary<ExtremumXorSign<IsMax, false, false>, float, float>,
       executeBinary<ExtremumXorSign<IsMax, false, true>, float, float>},
      {executeBinary<ExtremumXorSign<IsMax, true, false>, float, float>,
       executeBinary<ExtremumXorSign<IsMax, true, true>, float, float>}};
  return handlers[keepsNaN][ftz];
}

template <bool IsMax> static void decodeExtremum(Decoder &decoder) {
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (!isFloat(type))
    return IsMax ? decodeIntegerMax(decoder, type) : decodeIntegerMin(decoder, type);
  decoder.expectOperands(3, type == Type::F32 ? 4 : 3);
  bool ftz = decoder.take("ftz"), keepsNaN = decoder.take("NaN");
  bool isXorSign = decoder.take("xorsign");
  if (isXorSign && !decoder.take("abs"))
    decoder.fail("expected .xorsign.abs");
  Handler handler;
  if (type == Type::F64)
    handler = ftz || keepsNaN || isXorSign
                  ? nullptr
                  : Handler(executeBinary<Extremum<IsMax, false, false>, double, double>);
  else if (decoder.getNumOperands() == 4)
    handler = isXorSign ? nullptr : getExtremum3<IsMax>(keepsNaN, ftz);
  else
    handler = isXorSign ? getExtremumXorSign<IsMax>(keepsNaN, ftz)
                        : getExtremum<IsMax>(keepsNaN, ftz);
  emitFloat(decoder, handler, type, getUnit(type));
}

static void decodeSqrt(Decoder &decoder) {
  Type type = decoder.takeType();
  if (!isFloat(type) || (decoder.take("approx") && type != Type::F32))
    decoder.failType(type);
  decodeRounded(decoder, type, RoundedOperation::Sqrt,
                KVC_FLOAT_HANDLERS(executeUnary, Sqrt), 2);
}

static void decodeRcp(Decoder &decoder) {
  Type type = decoder.takeType();
  if (!isFloat(type))
    decoder.failType(type);
  bool isApproximate = decoder.take("approx");
  if (isApproximate && type != Type::F32)
    decoder.failType(type);
  decodeRounded(decoder, type, RoundedOperation::Rcp,
                KVC_FLOAT_HANDLERS(executeUnary, Rcp), 2);
  if (isApproximate)
    decoder.getProgram().code.back().unit = InstructionClass::Special;
}

template <template <bool> class Op> static void decodeSpecial(Decoder &decoder) {
  decoder.expectOperands(2);
  Type type = decoder.takeType();
  if (isHalf(type))
    return decodeHalf(decoder, type);
  if (type != Type::F32)
    decoder.failType(type);
  if (!decoder.take("approx"))
    decoder.fail("expected .approx");
  Handler handler = decoder.take("ftz") ? executeUnary<Op<true>, float, float>
                                        : executeUnary<Op<false>, float, float>;
  emitFloat(decoder, handler, type, InstructionClass::Special);
}

static void decodeRSqrt(Decoder &decoder) {
  decoder.expectOperands(2);
  Type type = decoder.takeType();
  if (!isFloat(type))
    decoder.failType(type);
  if (!decoder.take("approx"))
    decoder.fail("expected .approx");
  bool ftz = decoder.take("ftz");
  Handler handler = type == Type::F64 ? executeUnary<RSqrt<false>, double, double>
                    : ftz             ? executeUnary<RSqrt<true>, float, float>
                                      : executeUnary<RSqrt<false>, float, float>;
  emitFloat(decoder, handler, type, InstructionClass::Special);
}

static void decodeCopySign(Decoder &decoder) {
  decoder.expectOperands(3);
  Type type = decoder.takeType();
  Handler handler = type == Type::F32   ? executeBinary<CopySign, float, float>
                    : type == Type::F64 ? executeBinary<CopySign, double, double>
                                        : Handler(nullptr);
  emitFloat(decoder, handler, type, getUnit(type));
}

void kvc::emu::addFloatOpcodes(OpcodeTable &table) {
  table["add"] = decodeAdd;
  table["sub"] = decodeSub;
  table["mul"] = decodeMul;
  table["fma"] = table["mad"] = decodeFma;
  table["div"] = decodeDiv;
  table["neg"] = decodeNeg;
  table["abs"] = decodeAbs;
  table["min"] = decodeExtremum<false>;
  table["max"] = decodeExtremum<true>;
  table["sqrt"] = decodeSqrt;
  table["rcp"] = decodeRcp;
  table["rsqrt"] = decodeRSqrt;
  table["ex2"] = decodeSpecial<Ex2>;
  table["lg2"] = decodeSpecial<Lg2>;
  table["sin"] = decodeSpecial<Sin>;
  table["cos"] = decodeSpecial<Cos>;
  table["tanh"] = decodeSpecial<Tanh>;
  table["copysign"] = decodeCopySign;
}
