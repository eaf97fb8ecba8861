//===- KVTileOps.cpp - kernels and streams of the kvtile dialect ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

using namespace mlir;
using namespace kvc::kvtile;

bool kvc::kvtile::isGlobalPointer(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && pointer.getAddressSpace() == static_cast<unsigned>(NVVM::NVVMMemorySpace::Global);
}

#define GET_OP_CLASSES
#include "kvc/Dialect/KVTile/IR/KVTileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

/// What a host can pass.
static bool isParameter(Type type) {
  return isa<PagesType, RowsType, HeadsType>(type) || isGlobalPointer(type) ||
         type.isInteger(32) || type.isInteger(64);
}

LogicalResult KernelOp::verify() {
  // LLVM ends the process on a name that PTX cannot spell.
  if (!llvm::all_of(getName(),
                    [](char c) { return llvm::isAlnum(c) || StringRef("_$.").contains(c); }))
    return emitOpError("expected a name of letters, digits, '_', '$' and '.'");
  if (getThreads() % kWarpSize != 0)
    return emitOpError("expected threads to be a multiple of ")
           << kWarpSize << ", got " << getThreads();
  for (auto [index, type] : llvm::enumerate(getArgumentTypes()))
    if (!isParameter(type))
      return emitOpError("expected parameter ")
             << index << " to be pages, rows, heads, a pointer to global memory, i32 or i64, got "
             << type;
  if (!getResultTypes().empty())
    return emitOpError("expected no results, got ") << getResultTypes();
  if (!getBody().hasOneBlock())
    return emitOpError("expected a body of one block, got ")
           << std::distance(getBody().begin(), getBody().end());
  // They become attributes of an llvm.func, which has names of its own.
  for (NamedAttribute attribute : (*this)->getDiscardableAttrs())
    if (!attribute.getName().strref().contains('.'))
      return emitOpError("expected further attributes to have a dialect's prefix, got ")
             << attribute.getName();
  return success();
}

/// Blocks that a layout cuts a tile or vec into; 1 if `type` has none.
static int64_t getLayoutBlocks(Type type) {
  LayoutAttr layout;
  if (auto tile = dyn_cast<TileType>(type))
    layout = tile.getLayout();
  else if (auto vec = dyn_cast<VecType>(type))
    layout = vec.getLayout();
  return layout ? layout.getWarpRows() * layout.getWarpColumns() : 1;
}

/// What finish uses of the shared memory: from where, and how many bytes.
static std::pair<int64_t, int64_t> getShared(FinishOp op, int64_t warps) {
  TileType acc = op.getAcc().getType();
  bool isTransposed = op.getForm() == kvc::StreamForm::TokensM;
  int64_t rows = isTransposed ? acc.getColumns() : acc.getRows();
  int64_t width = isTransposed ? acc.getRows() : acc.getColumns();
  switch (op.getForm()) {
  case kvc::StreamForm::Rows:
    return {0, 0};
  case kvc::StreamForm::Columns:
    if (op.getCluster()) // rows of a block, with padding, maximum and sum
      return {0, std::max<int64_t>(op.getExchange() + warps * rows * 4,
                                   rows * (width * 4 + 32 + 8))};
    return {op.getExchange(), warps * rows * 4};
  default: // a row with padding, its maximum and its sum, of each warp
    return {0, warps * rows * (width * 4 + (isTransposed ? 16 : 32) + 8) +
                   (op.getCluster() ? rows * 8 : 0)};
  }
}

/// Checks that `bytes` from `offset` on are shared memory of the kernel, as 16-byte
/// chunks.
static LogicalResult verifyShared(KernelOp kernel, Operation *op, int64_t offset, int64_t bytes) {
  if (offset % 16 != 0)
    return op->emitOpError("expected an offset that is a multiple of 16, got ") << offset;
  if (offset + bytes <= kernel.getSharedBytes())
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected to stay within the kernel's ")
                            << kernel.getSharedBytes() << " bytes of shared memory, got "
                            << bytes << " bytes from " << offset << " on";
  diag.attachNote(kernel.getLoc()) << "kernel defined here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Checks a slot of scales with column `column` for each of `keys` keys, if given.
static LogicalResult verifyKeyScales(Operation *op, SlotType slot, int64_t column,
                                     std::optional<int64_t> keys) {
  if (!slot.isLinear())
    return op->emitOpError("expected a linear slot, got ") << slot;
  if (column >= slot.getColumns() || (keys && slot.getRows() != *keys))
    return op->emitOpError("expected a slot of ")
           << keys.value_or(slot.getRows()) << " rows and more than " << column << " columns, got " << slot;
  return success();
}

static LogicalResult verifyScales(ReferenceStepOp op) {
  SlotType slot = op.getScales().getType();
  if (failed(verifyKeyScales(op, slot, 0, std::nullopt)))
    return failure();
  LayoutAttr layout = op.getReference().getType().getLayout();
  int64_t warps = !layout || op.getAllKeys() ? 1
                  : op.getKeysAxis() == 0    ? layout.getWarpRows()
                                             : layout.getWarpColumns();
  if (slot.getRows() % warps == 0)
    return success();
  return op.emitOpError("expected rows to be a multiple of ")
         << warps << " warps, got " << slot;
}

static LogicalResult verifyScales(SumKeysOp op) {
  TileType tile = op.getTile().getType();
  VecType sum = op.getSum().getType();
  bool isTransposed = op.getKeysAxis() == 0;
  if (!tile.getElementType().isF32())
    return op.emitOpError("expected a tile of f32, got ") << tile;
  if (failed(verifyKeyScales(op, op.getZeros().getType(), op.getColumn(),
                             isTransposed ? tile.getRows() : tile.getColumns())))
    return failure();
  int64_t lines = isTransposed ? tile.getColumns() : tile.getRows();
  if (sum.getSize() != lines || (sum.getAxis() == 1) != isTransposed)
    return op.emitOpError("expected a value for each of ")
           << lines << (isTransposed ? " columns (axis 1)" : " rows (axis 0)") << ", got "
           << sum;
  if (tile.getLayout() && sum.getLayout() && tile.getLayout() != sum.getLayout())
    return op.emitOpError("expected values in the warps that hold ") << tile << ", got " << sum;
  return success();
}

static LogicalResult verifyScales(SumRowsOp op) {
  SlotType slot = op.getSlot().getType();
  VecType sums = op.getSums().getType();
  int64_t begin = op.getBegin(), end = op.getEnd();
  if (slot.holdsCodes() || slot.isLinear() || begin >= end || end > slot.getColumns() ||
      begin % 8 != 0 || end % 8 != 0)
    return op.emitOpError("expected columns from ")
           << begin << " to " << end
           << " in multiples of 8 of a slot of f16 or bf16 with them, got " << slot;
  if (sums.getSize() > slot.getRows())
    return op.emitOpError("expected at most ") << slot.getRows() << " sums, got " << sums;
  return success();
}

/// What has to come before and after a kvtile.gather_rows: thread blocks that do not
/// arrive as often as they wait would wait for ever.
static LogicalResult verifyGather(GatherRowsOp gather) {
  Block &block = *gather->getBlock();
  auto countBefore = [&](Operation *op, auto matches) {
    return llvm::count_if(block.without_terminator(), [&](Operation &other) {
      return other.isBeforeInBlock(op) && matches(&other);
    });
  };
  for (Value slot : gather.getSlots()) {
    auto stages = [&](Operation *op) {
      auto stage = dyn_cast<StageRowsOp>(op);
      return stage && stage.getShared() && stage.getSlot() == slot &&
             stage.getItem() == gather.getItem() &&
             stage.getFirstRow() == gather.getFirstRow() &&
             stage.getGroup() == gather.getGroup();
    };
    if (countBefore(gather, stages) != 1 || llvm::count(gather.getSlots(), slot) != 1)
      return gather.emitOpError(
          "expected slots that one kvtile.stage_rows before it shares each, "
          "of the same item, first row and group");
  }
  auto isClustered = [](Operation *op) {
    auto finish = dyn_cast<FinishOp>(op);
    return finish && finish.getCluster();
  };
  auto isGather = [](Operation *op) { return isa<GatherRowsOp>(op); };
  for (Operation *op = gather->getNextNode(); op && !isGather(op); op = op->getNextNode())
    if (isClustered(op))
      return success();
  return gather.emitOpError("expected a kvtile.finish of a cluster after it in its block");
}

/// A kvtile.finish of a cluster has a kvtile.gather_rows of its own.
static LogicalResult verifyCluster(FinishOp finish) {
  if (!finish.getCluster())
    return success();
  for (Operation *op = finish->getPrevNode(); op; op = op->getPrevNode()) {
    auto other = dyn_cast<FinishOp>(op);
    if (other && other.getCluster())
      break;
    if (isa<GatherRowsOp>(op))
      return success();
  }
  return finish.emitOpError("expected a kvtile.gather_rows before it in its block, for the "
                            "cluster");
}

/// Shared rows are gathered.
static LogicalResult verifyShares(StageRowsOp stage) {
  if (!stage.getShared())
    return success();
  for (Operation *op = stage->getNextNode(); op; op = op->getNextNode())
    if (auto gather = dyn_cast<GatherRowsOp>(op);
        gather && llvm::is_contained(gather.getSlots(), stage.getSlot()))
      return success();
  return stage.emitOpError("expected a kvtile.gather_rows of its slot after it in its block");
}

LogicalResult KernelOp::verifyRegions() {
  if (!isa<ReturnOp>(getBody().front().getTerminator()))
    return emitOpError("expected its body to end in kvtile.return");
  int64_t warps = getThreads() / kWarpSize;
  auto verifyTypes = [&](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (int64_t blocks = getLayoutBlocks(type); blocks != 1 && blocks != warps)
        return op->emitOpError("expected one block, or one for each of the kernel's ")
               << warps << " warps, got " << type;
    return success();
  };
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    if (failed(verifyTypes(op, op->getResultTypes())))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(verifyTypes(op, block.getArgumentTypes())))
          return WalkResult::interrupt();
    if (auto step = dyn_cast<ReferenceStepOp>(op))
      return verifyScales(step);
    if (auto sum = dyn_cast<SumKeysOp>(op))
      return verifyScales(sum);
    if (auto sum = dyn_cast<SumRowsOp>(op))
      return verifyScales(sum);
    if (auto scale = dyn_cast<ScaleColumnsOp>(op); scale && scale.getExchange())
      return verifyShared(*this, op, *scale.getExchange(),
                          scale.getTile().getType().getRows() * getThreads() / kWarpSize *
                              static_cast<int64_t>(sizeof(float)));
    if (auto slot = dyn_cast<SlotOp>(op))
      return verifyShared(*this, op, slot.getOffset(), slot.getSlot().getType().getBytes());
    if (auto stream = dyn_cast<StreamOp>(op))
      return verifyShared(*this, op, stream.getOffset(),
                          stream.getStages() * stream.getStageBytes());
    if (auto step = dyn_cast<SoftmaxStepOp>(op); step && step.getExchange())
      return verifyShared(*this, op, *step.getExchange(),
                          warps * step.getScores().getType().getRows() * 4);
    if (auto stage = dyn_cast<StageRowsOp>(op))
      return verifyShares(stage);
    if (auto gather = dyn_cast<GatherRowsOp>(op))
      return verifyGather(gather);
    if (auto finish = dyn_cast<FinishOp>(op)) {
      if (failed(verifyCluster(finish)))
        return WalkResult::interrupt();
      auto [offset, bytes] = getShared(finish, warps);
      return verifyShared(*this, op, offset, bytes);
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// StreamOp
//===----------------------------------------------------------------------===//

int64_t StreamOp::getStageBytes() {
  int64_t bytes = 0;
  for (Type type : getSlots().getAsValueRange<TypeAttr>())
    bytes += cast<SlotType>(type).getBytes();
  return bytes;
}

/// Checks the types of the arguments of a region.
static LogicalResult verifyArguments(StreamOp op, Block &block, StringRef region,
                                     ArrayRef<Type> expected) {
  if (TypeRange(block.getArgumentTypes()) == TypeRange(expected))
    return success();
  return op.emitOpError("expected arguments of ")
         << region << " of types " << expected << ", got " << block.getArgumentTypes();
}

// After the operations within, whose blocks then are known to end in a terminator.
LogicalResult StreamOp::verifyRegions() {
  if (getStages() < 2 || getStages() > 8)
    return emitOpError("expected 2 to 8 stages, got ") << getStages();
  SmallVector<Type> slots;
  for (Type type : getSlots().getAsValueRange<TypeAttr>()) {
    if (!isa<SlotType>(type))
      return emitOpError("expected types of slots, got ") << type;
    slots.push_back(type);
  }
  for (Region *region : {&getLookup(), &getProduce(), &getConsume()})
    if (!isa<YieldOp>(region->front().getTerminator()))
      return emitOpError("expected its regions to end in kvtile.yield");

  Type i32 = IntegerType::get(getContext(), 32);
  SmallVector<Type> types = {i32};
  if (failed(verifyArguments(*this, getLookup().front(), "lookup", types)))
    return failure();
  types.append(slots);
  SmallVector<Type> consumed = types;
  llvm::append_range(types, getLookup().front().getTerminator()->getOperandTypes());
  if (failed(verifyArguments(*this, getProduce().front(), "produce", types)))
    return failure();
  llvm::append_range(consumed, getInits().getTypes());
  if (failed(verifyArguments(*this, getConsume().front(), "consume", consumed)))
    return failure();
  if (getProduce().front().getTerminator()->getNumOperands() != 0)
    return emitOpError("expected produce to yield nothing");
  if (getConsume().front().getTerminator()->getOperandTypes() != getInits().getTypes() ||
      getResultTypes() != getInits().getTypes())
    return emitOpError("expected consume to yield, and the operation to return, the types of "
                       "its inits");
  return success();
}
