//===- Control.cpp - branches, barriers, ends -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What most of these do is the scheduler's; see Scheduler.cpp.
//===----------------------------------------------------------------------===//
#include "Barriers.h"
#include "Cluster.h"
#include "Decoder.h"

using namespace kvc::emu;

static void executeNothing(Warp &, const Ins &, uint32_t) {}

static void decodeBranch(Decoder &decoder) {
  decoder.expectOperands(1);
  decoder.take("uni");
  if (decoder.getOperand(0).kind != Operand::Kind::Name)
    decoder.fail("expected a label");
  // Until the whole body is decoded it numbers an instruction of the text.
  uint32_t target = decoder.get().target;
  Ins &ins = decoder.emit(executeNothing, InstructionClass::Control, Kind::Branch);
  ins.target = target;
}

static void decodeEnd(Decoder &decoder) {
  decoder.expectOperands(0);
  decoder.take("uni");
  decoder.emit(executeNothing, InstructionClass::Control, Kind::Exit);
}

static void decodeTrap(Decoder &decoder) {
  decoder.expectOperands(0);
  decoder.emit(executeNothing, InstructionClass::Control, Kind::Trap);
}

static void decodeYield(Decoder &decoder) {
  decoder.expectOperands(1);
  decoder.takeType();
  decoder.read(decoder.getOperand(0), Type::U32);
  decoder.emit(executeNothing, InstructionClass::Control, Kind::Yield);
}

/// The grid before is complete, since streams run in order.
static void decodeGridDependency(Decoder &decoder) {
  decoder.expectOperands(0);
  if (decoder.takeOneOf({"wait", "launch_dependents"}) < 0)
    decoder.fail("expected .wait or .launch_dependents after 'griddepcontrol'");
  decoder.emit(executeNothing, InstructionClass::Barrier);
}

/// bar{.warp}.sync, bar.arrive, bar.red, barrier{.cta}..., barrier.cluster....
static void decodeBarrier(Decoder &decoder) {
  bool isWarp = decoder.take("warp");
  decoder.take("cta");
  decoder.take("aligned");
  if (decoder.take("cluster"))
    return decodeClusterBarrier(decoder);
  int what = decoder.takeOneOf({"sync", "arrive", "red"});
  if (what < 0)
    decoder.fail("expected .sync, .arrive or .red");
  if (isWarp) {
    decoder.expectOperands(1);
    if (what != 0)
      decoder.fail("expected .sync after 'bar.warp'");
    Row members = decoder.read(decoder.getOperand(0), Type::B32);
    Ins &ins = decoder.emit(executeNothing, InstructionClass::Barrier, Kind::WarpSync);
    ins.maskRow = members;
    return;
  }
  bool isReduction = what == 2;
  int operation = isReduction ? decoder.takeOneOf({"popc", "and", "or"}) : 0;
  Type type = isReduction ? decoder.takeType() : Type::None;
  size_t first = isReduction ? 1 : 0, tail = isReduction ? 1 : 0;
  decoder.expectOperands(first + 1 + tail + (what == 1), first + 2 + tail);
  if (isReduction && (operation < 0 || type != (operation ? Type::Pred : Type::U32)))
    decoder.fail("expected bar.red.popc.u32, .and.pred or .or.pred");
  bool hasCount = decoder.getNumOperands() == first + 2 + tail;
  Row id = decoder.read(decoder.getOperand(first), Type::U32);
  Row count = hasCount ? decoder.read(decoder.getOperand(first + 1), Type::U32) : 0;
  Pred vote = isReduction
                  ? decoder.readPred(decoder.getOperand(decoder.getNumOperands() - 1))
                  : kAlways;
  uint32_t d = 0;
  if (isReduction)
    d = operation ? decoder.writePred(decoder.getOperand(0))
                  : decoder.write(decoder.getOperand(0), Type::U32);
  Ins &ins = decoder.emit(arriveAtBarrier, InstructionClass::Barrier,
                          what == 1 ? Kind::BlockArrive : Kind::BlockSync);
  ins.d = d, ins.a = id, ins.b = count, ins.c = vote;
  ins.flags = uint8_t((hasCount ? kBarrierHasCount : 0) |
                      (isReduction ? kBarrierReduces : 0));
  ins.count = uint8_t(operation);
}

void kvc::emu::addControlOpcodes(OpcodeTable &table) {
  table["bra"] = decodeBranch;
  table["ret"] = table["exit"] = decodeEnd;
  table["trap"] = decodeTrap;
  table["nanosleep"] = decodeYield;
  table["griddepcontrol"] = decodeGridDependency;
  table["bar"] = table["barrier"] = decodeBarrier;
}
