//===- KVTileOps.cpp - operations of the kvtile dialect -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace kvc::kvtile;

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

//===----------------------------------------------------------------------===//
// StreamOp
//===----------------------------------------------------------------------===//

/// Checks the types of the arguments of a region.
static LogicalResult verifyArguments(StreamOp op, Block &block, StringRef region,
                                     ArrayRef<Type> expected) {
  if (TypeRange(block.getArgumentTypes()) == TypeRange(expected))
    return success();
  return op.emitOpError("expected arguments of ")
         << region << " of types " << expected << ", got " << block.getArgumentTypes();
}

LogicalResult StreamOp::verify() {
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

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

/// Rows and columns of an operand as it takes part.
static std::pair<int64_t, int64_t> getShape(Type type, bool transposed) {
  std::pair<int64_t, int64_t> shape;
  if (auto tile = dyn_cast<TileType>(type))
    shape = {tile.getRows(), tile.getColumns()};
  else
    shape = {cast<SlotType>(type).getRows(), cast<SlotType>(type).getColumns()};
  if (transposed)
    std::swap(shape.first, shape.second);
  return shape;
}

static Type getElement(Type type) {
  if (auto tile = dyn_cast<TileType>(type))
    return tile.getElementType();
  return cast<SlotType>(type).getElementType();
}

LogicalResult DotOp::verify() {
  auto [m, k] = getShape(getA().getType(), getTransposeA());
  auto [k2, n] = getShape(getB().getType(), getTransposeB());
  TileType result = getResult().getType();
  // The columns of a slot are a multiple of 16, its tile's need not be.
  if (m < result.getRows() || n < result.getColumns() || k != k2)
    return emitOpError("expected M x K, K x N and M x N, got ")
           << m << "x" << k << ", " << k2 << "x" << n << " and " << result.getRows() << "x"
           << result.getColumns();
  if (getElement(getA().getType()) != getElement(getB().getType()))
    return emitOpError("expected operands of one element type, got ")
           << getElement(getA().getType()) << " and " << getElement(getB().getType());
  for (auto [value, transposed] : {std::pair<Value, bool>{getA(), getTransposeA()},
                                   std::pair<Value, bool>{getB(), getTransposeB()}})
    if (transposed && isa<TileType>(value.getType()))
      return emitOpError("expected a transposed operand to be a slot, got ") << value.getType();
  return success();
}
