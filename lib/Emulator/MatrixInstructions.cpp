//===- MatrixInstructions.cpp - mma, ldmatrix, stmatrix, movmatrix --------===//
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

namespace {

const LaneRow *getLanes(const Warp &warp, Row row) {
  return reinterpret_cast<const LaneRow *>(warp.getRow(row));
}

/// The list holds the rows of d, a, b, c; `count` numbers the matrix.
void executeMma(Warp &warp, const Ins &ins, uint32_t) {
  const MatrixInstruction &matrix = warp.program->matrices[uint32_t(ins.offset)];
  const uint32_t *rows = &warp.program->lists[ins.extra];
  const LaneRow *a[4], *b[4], *c[4];
  LaneRow *d[4];
  unsigned numCD = matrix.getNumCD();
  for (unsigned i = 0; i < numCD; ++i)
    d[i] = reinterpret_cast<LaneRow *>(warp.getRow(*rows++));
  for (unsigned i = 0; i < matrix.getNumA(); ++i)
    a[i] = getLanes(warp, *rows++);
  for (unsigned i = 0; i < matrix.getNumB(); ++i)
    b[i] = getLanes(warp, *rows++);
  for (unsigned i = 0; i < numCD; ++i)
    c[i] = getLanes(warp, *rows++);
  multiplyAccumulate(matrix, warp.launch->options.matrix, a, b, c, d);
  warp.launch->result.counters.multiplyAdds += uint64_t(16) * 8 * matrix.k;
}

/// Addresses of the rows of 8 x 8 matrices of 16 bits: lane 8j + r has row r of
/// matrix j.
uint32_t resolveRows(Warp &warp, const Ins &ins, AccessKind kind,
                     uint8_t *pointers[32]) {
  Access access;
  access.kind = kind;
  access.size = 16;
  access.mask = ins.count == 4 ? kAllLanes : (1u << (8 * ins.count)) - 1;
  fillAddresses(access, warp, ins.a, ins.flags & kWideAddress, ins.offset);
  if (getSpace(ins.target) == Space::Generic)
    for (uint64_t &address : access.addresses)
      address -= kSharedWindow;
  Counters &counters = warp.launch->result.counters;
  if (warp.launch->options.count)
    countShared(kind == AccessKind::Load ? counters.matrixLoads : counters.sharedStores,
                access);
  uint32_t valid = locateShared(warp, *warp.block, access, pointers);
  if (warp.launch->options.check)
    checkSharedOrder(warp, access, valid);
  return valid;
}

/// Lane l holds, in register j, elements 2(l%4) and 2(l%4)+1 of row l/4 of matrix
/// j; transposed, of column l/4.
template <bool IsTransposed>
void executeLoadMatrix(Warp &warp, const Ins &ins, uint32_t) {
  uint8_t *pointers[32];
  uint32_t valid = resolveRows(warp, ins, AccessKind::Load, pointers);
  const uint32_t *rows = &warp.program->lists[ins.extra];
  for (unsigned j = 0; j < ins.count; ++j) {
    uint16_t matrix[8][8];
    for (unsigned r = 0; r < 8; ++r) {
      if (isActive(valid, int(8 * j + r)))
        std::memcpy(matrix[r], pointers[8 * j + r], 16);
      else
        for (uint16_t &element : matrix[r])
          element = 0x7FC0;
    }
    uint32_t *d = warp.getRow(rows[j]);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l / 4, t = 2 * (l % 4);
      d[l] = IsTransposed ? uint32_t(matrix[t + 1][g]) << 16 | matrix[t][g]
                          : uint32_t(matrix[g][t + 1]) << 16 | matrix[g][t];
    }
  }
}

template <bool IsTransposed>
void executeStoreMatrix(Warp &warp, const Ins &ins, uint32_t) {
  uint8_t *pointers[32];
  uint32_t valid = resolveRows(warp, ins, AccessKind::Store, pointers);
  const uint32_t *rows = &warp.program->lists[ins.extra];
  for (unsigned j = 0; j < ins.count; ++j) {
    uint16_t matrix[8][8];
    const uint32_t *source = warp.getRow(rows[j]);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l / 4, t = 2 * (l % 4);
      uint16_t low = uint16_t(source[l]), high = uint16_t(source[l] >> 16);
      (IsTransposed ? matrix[t][g] : matrix[g][t]) = low;
      (IsTransposed ? matrix[t + 1][g] : matrix[g][t + 1]) = high;
    }
    for (unsigned r = 0; r < 8; ++r)
      if (isActive(valid, int(8 * j + r)))
        std::memcpy(pointers[8 * j + r], matrix[r], 16);
  }
}

void executeMoveMatrix(Warp &warp, const Ins &ins, uint32_t) {
  uint16_t matrix[8][8];
  const uint32_t *a = warp.getRow(ins.a);
  for (unsigned l = 0; l < 32; ++l) {
    matrix[l / 4][2 * (l % 4)] = uint16_t(a[l]);
    matrix[l / 4][2 * (l % 4) + 1] = uint16_t(a[l] >> 16);
  }
  uint32_t *d = warp.getRow(ins.d);
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l / 4, t = 2 * (l % 4);
    d[l] = uint32_t(matrix[t + 1][g]) << 16 | matrix[t][g];
  }
}

} // namespace

static std::optional<MatrixType> getMatrixType(Type type) {
  switch (type) {
  case Type::F16: return MatrixType::F16;
  case Type::BF16: return MatrixType::BF16;
  case Type::TF32: return MatrixType::TF32;
  case Type::E4M3: return MatrixType::E4M3;
  case Type::E5M2: return MatrixType::E5M2;
  case Type::S8: return MatrixType::S8;
  case Type::U8: return MatrixType::U8;
  case Type::F32: return MatrixType::F32;
  case Type::S32: return MatrixType::S32;
  default: return std::nullopt;
  }
}

/// Whether PTX has an instruction of these types and k.
static bool isSupported(const MatrixInstruction &matrix) {
  MatrixType a = matrix.a, b = matrix.b, d = matrix.d;
  if (d != matrix.c)
    return false;
  switch (a) {
  case MatrixType::F16:
    return b == a && (d == MatrixType::F32 || d == MatrixType::F16) &&
           (matrix.k == 8 || matrix.k == 16);
  case MatrixType::BF16:
    return b == a && d == MatrixType::F32 && (matrix.k == 8 || matrix.k == 16);
  case MatrixType::TF32:
    return b == a && d == MatrixType::F32 && (matrix.k == 4 || matrix.k == 8);
  case MatrixType::E4M3:
  case MatrixType::E5M2:
    return (b == MatrixType::E4M3 || b == MatrixType::E5M2) &&
           (d == MatrixType::F32 || d == MatrixType::F16) && matrix.k == 32;
  case MatrixType::S8:
  case MatrixType::U8:
    return (b == MatrixType::S8 || b == MatrixType::U8) && d == MatrixType::S32 &&
           (matrix.k == 16 || matrix.k == 32);
  default: return false;
  }
}

/// mma.sync.aligned.m16n8kK.row.col.D.A.B.C d, a, b, c
static void decodeMma(Decoder &decoder) {
  decoder.expectOperands(4);
  bool isWhole = decoder.take("sync") & decoder.take("aligned") &
                 decoder.take("row") & decoder.take("col");
  int shape = decoder.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  bool isSaturated = decoder.take("satfinite");
  if (!isWhole || shape < 0)
    decoder.fail("expected mma.sync.aligned of a shape m16n8k4, k8, k16 or k32 with "
                 ".row.col");
  Type types[4]; // d, a, b, c
  MatrixInstruction matrix;
  matrix.k = uint8_t(4 << shape);
  MatrixType *fields[] = {&matrix.d, &matrix.a, &matrix.b, &matrix.c};
  for (int i = 0; i < 4; ++i) {
    types[i] = decoder.takeType();
    std::optional<MatrixType> type = getMatrixType(types[i]);
    if (!type)
      decoder.failType(types[i]);
    *fields[i] = *type;
  }
  matrix.saturate = isSaturated;
  if (!isSupported(matrix) || (isSaturated && matrix.d != MatrixType::S32))
    decoder.fail("a product m16n8k" + std::to_string(matrix.k) + " of ." +
                 getName(types[1]) + " and ." + getName(types[2]) + " with sums of ." +
                 getName(types[0]) + " and ." + getName(types[3]) +
                 " is not supported");
  unsigned counts[] = {matrix.getNumCD(), matrix.getNumA(), matrix.getNumB(),
                       matrix.getNumCD()};
  std::vector<uint32_t> rows[4];
  for (int i : {1, 2, 3, 0}) {
    const Operand &operand = decoder.getOperand(i);
    size_t found = operand.kind == Operand::Kind::Vector ? operand.elements.size() : 1;
    if (found != counts[i])
      decoder.fail("expected " + std::to_string(counts[i]) + " registers of operand " +
                   std::to_string(i + 1) + ", got " + std::to_string(found));
    for (unsigned k = 0; k < counts[i]; ++k) {
      const Operand &element =
          operand.kind == Operand::Kind::Vector ? operand.elements[k] : operand;
      rows[i].push_back(i == 0 ? decoder.write(element, Type::B32)
                               : decoder.read(element, Type::B32));
    }
  }
  uint32_t list = decoder.addList(rows[0]);
  for (int i : {1, 2, 3})
    decoder.addList(rows[i]);
  uint32_t number = uint32_t(decoder.getProgram().matrices.size());
  decoder.getProgram().matrices.push_back(matrix);
  Ins &ins = decoder.emit(executeMma, InstructionClass::Matrix, Kind::Aligned);
  ins.extra = list;
  ins.offset = number;
}

/// ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16 {d...}, [a]; stmatrix the other
/// way round.
static void decodeMatrixAccess(Decoder &decoder) {
  decoder.expectOperands(2);
  bool isLoad = decoder.get().opcode == "ldmatrix";
  bool isWhole = decoder.take("sync") & decoder.take("aligned") & decoder.take("m8n8");
  int log = decoder.takeOneOf({"x1", "x2", "x4"});
  bool isTransposed = decoder.take("trans");
  Space space = takeSpace(decoder);
  if (!isWhole || log < 0 || (space != Space::Shared && space != Space::Generic))
    decoder.fail("expected .sync.aligned.m8n8 with .x1, .x2 or .x4 in shared memory");
  if (Type type = decoder.takeType(); type != Type::B16)
    decoder.failType(type);
  const Operand &data = decoder.getOperand(isLoad ? 0 : 1);
  unsigned count = 1u << log;
  size_t found = data.kind == Operand::Kind::Vector ? data.elements.size() : 1;
  if (found != count)
    decoder.fail("expected " + std::to_string(count) + " registers, got " +
                 std::to_string(found));
  Decoder::Address address =
      decoder.getAddress(decoder.getOperand(isLoad ? 1 : 0), space);
  std::vector<uint32_t> rows;
  for (unsigned i = 0; i < count; ++i) {
    const Operand &element =
        data.kind == Operand::Kind::Vector ? data.elements[i] : data;
    rows.push_back(isLoad ? decoder.write(element, Type::B32)
                          : decoder.read(element, Type::B32));
  }
  Handler handler = isLoad ? (isTransposed ? executeLoadMatrix<true>
                                           : executeLoadMatrix<false>)
                           : (isTransposed ? executeStoreMatrix<true>
                                           : executeStoreMatrix<false>);
  uint32_t list = decoder.addList(rows);
  Ins &ins = decoder.emit(handler, InstructionClass::MatrixLoad, Kind::Aligned);
  ins.a = address.base;
  ins.offset = address.offset;
  ins.extra = list;
  ins.count = uint8_t(count);
  ins.flags = address.isWide ? kWideAddress : 0;
  ins.target = makeSpaceFlags(address.space);
}

static void decodeMoveMatrix(Decoder &decoder) {
  decoder.expectOperands(2);
  bool isWhole = decoder.take("sync") & decoder.take("aligned") &
                 decoder.take("m8n8") & decoder.take("trans");
  Type type = decoder.takeType();
  if (!isWhole || type != Type::B16)
    decoder.fail("expected movmatrix.sync.aligned.m8n8.trans.b16");
  Row a = decoder.read(decoder.getOperand(1), Type::B32);
  Row d = decoder.write(decoder.getOperand(0), Type::B32);
  Ins &ins =
      decoder.emit(executeMoveMatrix, InstructionClass::MatrixLoad, Kind::Aligned);
  ins.d = d, ins.a = a;
}

void kvc::emu::addMatrixOpcodes(OpcodeTable &table) {
  table["mma"] = decodeMma;
  table["ldmatrix"] = table["stmatrix"] = decodeMatrixAccess;
  table["movmatrix"] = decodeMoveMatrix;
}
