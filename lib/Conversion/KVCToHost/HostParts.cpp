//===- HostParts.cpp - calls of host code from entry points ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes first: each part computes those of its results, so that all memory is laid
// out and every shape is checked before anything runs.
//===----------------------------------------------------------------------===//
#include "ConditionTexts.h"

#include "kvc/Conversion/HostEntries.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

using namespace mlir;

namespace kvc {

/// No tensor is larger, so that sums of sizes do not overflow.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 48;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

bool HostEntries::hasHostCode() {
  return !function.getBody().front().getOps<func::CallOp>().empty();
}

LLVM::LLVMFuncOp HostEntries::getPart(func::CallOp call) {
  return symbols.lookup<LLVM::LLVMFuncOp>(call.getCallee());
}

LogicalResult HostEntries::checkHostCode() {
  for (Operation &op : function.getBody().front()) {
    if (isForeign(op) && llvm::any_of(op.getOperands(), [](Value operand) {
          return !isa<BlockArgument>(operand);
        }))
      return op.emitOpError("expected arguments of the function, got values that it computes");
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      continue;
    for (Type type : llvm::concat<const Type>(call.getOperandTypes(), call.getResultTypes()))
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          !tensor || tensor.getRank() > KVC_MAX_RANK)
        return call.emitOpError("expected tensors of rank ")
               << KVC_MAX_RANK << " or less between kvc operations and what is around them, got "
               << type;
    LLVM::LLVMFuncOp part = getPart(call);
    auto shapes = part ? part->getAttrOfType<FlatSymbolRefAttr>(kShapesAttr) : nullptr;
    if (!shapes || !symbols.lookup<LLVM::LLVMFuncOp>(shapes.getValue()))
      return call.emitOpError("expected a call of host code that has been lowered");
  }
  return success();
}

void HostEntries::failIfBroken(Value number, LLVM::LLVMFuncOp part) {
  auto conditions = part->getAttrOfType<ArrayAttr>(kConditionsAttr);
  if (!conditions || conditions.empty())
    return;
  Block *next = b.createBlock(failureBlock);
  Block *failed = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(number.getParentBlock());
  LLVM::CondBrOp::create(b, ints.loc, ints.equal(number, ints.i32(0)), next, failed);
  b.setInsertionPointToStart(failed);
  Value text = emitConditionText(b, ints.loc, symbols, function.getName(), conditions, number);
  Value status = abi.callTable(rt, offsetof(kvc_rt_api_t, fail), ints.i32Type(),
                               {ints.i32(KVC_STATUS_INVALID_ARGUMENT), text});
  LLVM::BrOp::create(b, ints.loc, ValueRange(status), failureBlock);
  b.setInsertionPointToStart(next);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The dimensions of a value whose dynamic ones are `dynamic`, of which it takes its own.
static SmallVector<Value> takeDims(IntegerEmitter &ints, Type type, ValueRange &dynamic) {
  SmallVector<Value> dims;
  for (int64_t size : cast<RankedTensorType>(type).getShape()) {
    dims.push_back(ShapedType::isDynamic(size) ? dynamic.front() : ints.i64(size));
    if (ShapedType::isDynamic(size))
      dynamic = dynamic.drop_front();
  }
  return dims;
}

HostEntries::Shapes HostEntries::emitShapesOfTokens(Value tokens) {
  Shapes shapes;
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
        SmallVector<Value> &dims = shapes.dims[result];
        for (int64_t size : type.getShape())
          dims.push_back(ShapedType::isDynamic(size) ? tokens : ints.i64(size));
      }
  });
  return shapes;
}

HostEntries::Shapes
HostEntries::emitShapes(function_ref<Value(BlockArgument)> structureOf) {
  Shapes shapes;
  for (BlockArgument arg : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      continue;
    Value structure = structureOf(arg);
    SmallVector<Value> &dims = shapes.dims[arg]; // of rank 0 as well
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      dims.push_back(
          type.isDynamicDim(dim)
              ? abi.loadI64(structure, offsetof(kvc_tensor_t, shape) + dim * sizeof(int64_t))
              : ints.i64(type.getDimSize(dim)));
  }
  for (Operation &op : function.getBody().front()) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      LLVM::LLVMFuncOp part = getPart(call);
      auto shapesOf = symbols.lookup<LLVM::LLVMFuncOp>(
          part->getAttrOfType<FlatSymbolRefAttr>(kShapesAttr).getValue());
      SmallVector<Value> dims;
      forEachDynamicDim(call.getOperandTypes(), [&](unsigned index, int64_t dim) {
        dims.push_back(shapes.dims.at(call.getOperand(index))[dim]);
      });
      Value sizes = LLVM::CallOp::create(b, ints.loc, shapesOf, dims).getResult();
      auto take = [&](int64_t place) -> Value {
        return LLVM::ExtractValueOp::create(b, ints.loc, sizes, place);
      };
      failIfBroken(take(0), shapesOf);
      SmallVector<Value> dynamic;
      int64_t numDims = countDynamicDims(call.getResultTypes());
      for (int64_t i = 0; i < numDims; ++i)
        dynamic.push_back(take(1 + i));
      ValueRange left(dynamic);
      for (Value result : call.getResults())
        shapes.dims[result] = takeDims(ints, result.getType(), left);
      Value bytes = take(1 + numDims);
      failUnless(ints.logicalAnd(ints.lessOrEqual(ints.i64(0), bytes),
                                 ints.lessOrEqual(bytes, ints.i64(kMaxTensorBytes))),
                 KVC_STATUS_OUT_OF_MEMORY,
                 "expected tensors that fit into a workspace of 2^48 bytes");
      shapes.workspace[&op] = bytes;
      continue;
    }
    // All tensors of a kvc operation have the rows of its first one.
    for (Value result : op.getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      auto rows = llvm::find_if(op.getOperands(), [](Value operand) {
        return isa<RankedTensorType>(operand.getType());
      });
      SmallVector<Value> &dims = shapes.dims[result];
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        dims.push_back(dim == 0 && type.isDynamicDim(0)
                                          ? shapes.dims.at(*rows).front()
                                          : ints.i64(type.getDimSize(dim)));
    }
  }
  return shapes;
}

HostEntries::Shapes HostEntries::emitShapesOfBounds() {
  Value args = abi.loadPtr(needs.getArgument(1), offsetof(kvc_bounds_t, args));
  Value null = LLVM::ZeroOp::create(b, ints.loc, ints.ptrType());
  failUnless(LLVM::ICmpOp::create(b, ints.loc, LLVM::ICmpPredicate::ne, args, null),
             KVC_STATUS_INVALID_ARGUMENT, "expected bounds with the arguments of a call");
  return emitShapes([&](BlockArgument arg) {
    return abi.loadPtr(args, arg.getArgNumber() * sizeof(void *));
  });
}

void HostEntries::emitShapesEntry() {
  shapesEntry = startEntry("shapes");
  Shapes shapes = emitShapes([&](BlockArgument arg) {
    return abi.loadPtr(shapesEntry.getArgument(1), arg.getArgNumber() * sizeof(void *));
  });
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
    for (auto [dim, size] : llvm::enumerate(shapes.dims.at(result.get())))
      abi.store(size, shapesEntry.getArgument(2),
                (result.getOperandNumber() * KVC_MAX_RANK + dim) * sizeof(int64_t));
  LLVM::ReturnOp::create(b, ints.loc, ints.i32(KVC_STATUS_OK));
}

/// Tensors whose rows are tokens of the batch: those of kvc operations, and those that
/// host code makes row by row of them or they of it.
SmallVector<bool> HostEntries::findTokenRows() {
  llvm::DenseSet<Value> tokenRows;
  Block &body = function.getBody().front();
  bool hasOneBatch = llvm::count_if(function.getArgumentTypes(), llvm::IsaPred<BatchType>) == 1;
  for (Operation &op : body) {
    auto add = [&](ValueRange tensors) { tokenRows.insert(tensors.begin(), tensors.end()); };
    if (auto append = dyn_cast<AppendOp>(op))
      add(append.getValues());
    else if (auto attention = dyn_cast<AttentionOp>(op))
      add(attention.getQueries());
    else if (auto rope = dyn_cast<RopeOp>(op))
      add(rope.getInput());
    else if (auto merge = dyn_cast<MergeOp>(op))
      add(merge.getOutputs()), add(merge.getLses());
    if (isa<AppendOp, AttentionOp, RopeOp, MergeOp>(op))
      add(op.getResults());
  }
  // A part says which of its dimensions are the same; this goes both ways.
  bool changed = true;
  while (std::exchange(changed, false))
    for (auto call : body.getOps<func::CallOp>()) {
      SmallVector<std::pair<Value, int64_t>> from, to;
      forEachDynamicDim(call.getOperandTypes(), [&](unsigned index, int64_t dim) {
        from.push_back({call.getOperand(index), dim});
      });
      forEachDynamicDim(call.getResultTypes(), [&](unsigned index, int64_t dim) {
        to.push_back({call.getResult(index), dim});
      });
      auto sources = getPart(call)->getAttrOfType<DenseI64ArrayAttr>(kDimSourcesAttr);
      if (!sources || sources.size() != static_cast<int64_t>(to.size()))
        continue;
      for (auto [place, source] : llvm::enumerate(sources.asArrayRef())) {
        if (source < 0 || source >= static_cast<int64_t>(from.size()))
          continue;
        auto [operand, operandDim] = from[source];
        auto [value, dim] = to[place];
        if (dim != 0 || operandDim != 0 ||
            tokenRows.contains(operand) == tokenRows.contains(value))
          continue;
        tokenRows.insert(operand);
        tokenRows.insert(value);
        changed = true;
      }
    }
  SmallVector<bool> result;
  for (ValueRange values : {ValueRange(function.getArguments()),
                            ValueRange(body.getTerminator()->getOperands())})
    for (Value value : values) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      result.push_back(hasOneBatch && type && type.getRank() > 0 && type.isDynamicDim(0) &&
                       tokenRows.contains(value));
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

Value HostEntries::emitBytes(Value tensor, const Shapes &shapes) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value limit = ints.i64(kMaxTensorBytes);
  Value bytes = ints.i64(element.isIndex() ? sizeof(int64_t) : getByteWidth(element));
  Value fits;
  for (Value dim : shapes.dims.at(tensor)) {
    auto product = arith::MulUIExtendedOp::create(b, ints.loc, bytes, dim);
    Value isSmall = ints.logicalAnd(ints.equal(product.getHigh(), ints.i64(0)),
                                    ints.logicalAnd(ints.lessOrEqual(ints.i64(0), product.getLow()),
                                                    ints.lessOrEqual(product.getLow(), limit)));
    fits = fits ? ints.logicalAnd(fits, isSmall) : isSmall;
    bytes = product.getLow();
  }
  if (fits)
    failUnless(fits, KVC_STATUS_OUT_OF_MEMORY, "expected tensors of at most 2^48 bytes");
  return ints.alignTo(bytes, kWorkspaceAlignment);
}

Value HostEntries::placeIntermediate(Value tensor, const Shapes &shapes, Value offset) {
  Value bytes = emitBytes(tensor, shapes);
  ArrayRef<Value> dims = shapes.dims.at(tensor);
  Value structure = allocate(sizeof(kvc_tensor_t));
  abi.store(ints.offset(workspace, offset), structure, offsetof(kvc_tensor_t, data));
  Value stride = ints.i64(1);
  for (int64_t dim = dims.size() - 1; dim >= 0; --dim) {
    abi.store(dims[dim], structure, offsetof(kvc_tensor_t, shape) + dim * sizeof(int64_t));
    abi.store(stride, structure, offsetof(kvc_tensor_t, strides) + dim * sizeof(int64_t));
    if (dim > 0)
      stride = ints.mul(stride, dims[dim]);
  }
  values[tensor] = structure;
  return ints.add(offset, bytes);
}

void HostEntries::checkResults(const Shapes &shapes) {
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands()) {
    auto type = cast<RankedTensorType>(result.get().getType());
    Value same;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      Value given = abi.loadI64(values.lookup(result.get()),
                                offsetof(kvc_tensor_t, shape) + dim * sizeof(int64_t));
      Value equal = ints.equal(given, shapes.dims.at(result.get())[dim]);
      same = same ? ints.logicalAnd(same, equal) : equal;
    }
    if (same)
      failUnless(same, KVC_STATUS_INVALID_ARGUMENT,
                 "expected result " + Twine(result.getOperandNumber()) +
                     " to have the shape that follows from those of the arguments");
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void HostEntries::emitPart(func::CallOp call, const Shapes &shapes, Value offset) {
  LLVM::LLVMFuncOp part = getPart(call);
  SmallVector<Value> args;
  // The fields of a memref descriptor, without strides those of a scalar.
  auto add = [&](Value data, ArrayRef<Value> sizes, ArrayRef<Value> strides) {
    args.append({data, data, ints.i64(0)});
    llvm::append_range(args, sizes);
    llvm::append_range(args, strides);
  };
  for (ValueRange tensors : {ValueRange(call.getOperands()), ValueRange(call.getResults())})
    for (Value tensor : tensors) {
      Value structure = values.lookup(tensor);
      ArrayRef<Value> dims = shapes.dims.at(tensor);
      SmallVector<Value> strides;
      for (size_t dim = 0; dim < dims.size(); ++dim)
        strides.push_back(abi.loadI64(structure, offsetof(kvc_tensor_t, strides) +
                                                     dim * sizeof(int64_t)));
      add(tensorData(structure), dims, strides);
    }
  add(ints.offset(workspace, offset), shapes.workspace.at(call), ints.i64(1));
  if (launcher)
    args.push_back(LLVM::PtrToIntOp::create(b, ints.loc, ints.i64Type(), launcher));
  Value fault = allocate(sizeof(int32_t));
  abi.store(ints.i32(0), fault, 0);
  add(fault, {}, {});
  LLVM::CallOp::create(b, ints.loc, part, args);
  failIfBroken(abi.loadI32(fault, 0), part);
  if (launcher)
    returnIfFailed(abi.loadI32(launcher, offsetof(LaunchContext, status)));
}

} // namespace kvc
