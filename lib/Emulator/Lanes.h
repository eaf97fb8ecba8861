//===- Lanes.h - loops over the lanes of a warp -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handler for an operation is one of the templates below with a function of one
// lane, which is a struct with a static `apply`. With all lanes active the loop
// vectorises; the sources may be the destination, lane by lane.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_LANES_H
#define KVC_LIB_EMULATOR_LANES_H

#include "Machine.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace kvc::emu {

template <class To, class From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// The word that a value of T occupies in a register.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
/// The integer as wide as T.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class T> inline T fromWord(Word<T> word) {
  return bitCast<T>(BitsOf<T>(word));
}
template <class T> inline Word<T> toWord(T value) {
  return Word<T>(bitCast<BitsOf<T>>(value));
}

template <class T> inline Word<T> *getWords(const Warp &warp, Row row) {
  return reinterpret_cast<Word<T> *>(warp.rows + row);
}

inline bool isActive(uint32_t mask, int lane) { return mask >> lane & 1; }

/// d = Op(a)
template <class Op, class D, class A>
void executeUnary(Warp &warp, const Ins &ins, uint32_t mask) {
  Word<D> *d = getWords<D>(warp, ins.d);
  const Word<A> *a = getWords<A>(warp, ins.a);
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < 32; ++l)
      d[l] = toWord<D>(Op::apply(fromWord<A>(a[l])));
    return;
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      d[l] = toWord<D>(Op::apply(fromWord<A>(a[l])));
}

/// d = Op(a, b)
template <class Op, class D, class A, class B = A>
void executeBinary(Warp &warp, const Ins &ins, uint32_t mask) {
  Word<D> *d = getWords<D>(warp, ins.d);
  const Word<A> *a = getWords<A>(warp, ins.a);
  const Word<B> *b = getWords<B>(warp, ins.b);
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < 32; ++l)
      d[l] = toWord<D>(Op::apply(fromWord<A>(a[l]), fromWord<B>(b[l])));
    return;
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      d[l] = toWord<D>(Op::apply(fromWord<A>(a[l]), fromWord<B>(b[l])));
}

/// d = Op(a, b, c)
template <class Op, class D, class A, class B = A, class C = A>
void executeTernary(Warp &warp, const Ins &ins, uint32_t mask) {
  Word<D> *d = getWords<D>(warp, ins.d);
  const Word<A> *a = getWords<A>(warp, ins.a);
  const Word<B> *b = getWords<B>(warp, ins.b);
  const Word<C> *c = getWords<C>(warp, ins.c);
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < 32; ++l)
      d[l] = toWord<D>(
          Op::apply(fromWord<A>(a[l]), fromWord<B>(b[l]), fromWord<C>(c[l])));
    return;
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      d[l] = toWord<D>(
          Op::apply(fromWord<A>(a[l]), fromWord<B>(b[l]), fromWord<C>(c[l])));
}

/// Defines a function of lanes.
#define KVC_LANE_OP(NAME, PARAMETERS, ...)                                     \
  struct NAME {                                                                \
    template <class T> static auto apply PARAMETERS { return __VA_ARGS__; }    \
  };

//===----------------------------------------------------------------------===//
// Floating point as PTX has it
//===----------------------------------------------------------------------===//

/// Flushes a subnormal to zero with its sign.
inline float flush(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  return bitCast<float>((bits & 0x7F800000) ? bits : bits & 0x80000000);
}
inline double flush(double value) { return value; }
template <bool Ftz, class T> inline T flushIf(T value) {
  if constexpr (Ftz)
    return flush(value);
  else
    return value;
}

/// The NaN that arithmetic gives.
inline float canonical(float value) {
  return value == value ? value : bitCast<float>(0x7FFFFFFFu);
}
inline double canonical(double value) {
  return value == value ? value : bitCast<double>(0x7FFFFFFFFFFFFFFFull);
}
template <class T> inline T saturate(T value) {
  // NaN becomes 0.
  return value > T(0) ? (value < T(1) ? value : T(1)) : T(0);
}

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_LANES_H
