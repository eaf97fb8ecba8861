//===- ConvertToKernels.cpp - host code on a GPU --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread computes an element of the results: right for whatever linalg says, and fast
// enough for what is small beside the cache. Sizes and views stay on the host.
//===----------------------------------------------------------------------===//
#include "LoopNest.h"
#include "Patterns.h"

#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/KernelABI.h"
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#define DEBUG_TYPE "kvc-convert-host-code-to-kernels"

namespace kvc {
#define GEN_PASS_DEF_CONVERTHOSTCODETOKERNELSPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// Makes a kernel of one operation, and launches it in its place.
class KernelEmitter {
public:
  KernelEmitter(linalg::GenericOp op, StringRef name, gpu::GPUModuleOp module, Value launcher)
      : op(op), name(name), module(module), launcher(launcher), host(op.getLoc(), op),
        b(op.getLoc(), op.getContext()) {}

  void emit();

private:
  // The kernel.
  void findParameters();
  bool isRebuilt(Value value);
  Value rebuild(Value value);
  void emitBody();
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  SmallVector<Value> emitIndices(Value number);

  // The launch.
  void appendFields(Value value, SmallVectorImpl<Value> &fields);
  void emitLaunch();

  linalg::GenericOp op;
  StringRef name;
  gpu::GPUModuleOp module;
  Value launcher;
  ImplicitLocOpBuilder host, b;
  SmallVector<Value> sizes; ///< Of the loops, on the host.
  llvm::SetVector<Value> parameters;
  IRMapping map; ///< Values of the host to those of the kernel.
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Constants, and views of them, are part of the kernel.
bool KernelEmitter::isRebuilt(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return false;
  if (isa<arith::ConstantOp, memref::GetGlobalOp>(producer))
    return true;
  return isa<ViewLikeOpInterface>(producer) && isRebuilt(producer->getOperand(0));
}

void KernelEmitter::findParameters() {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert(sizes.begin(), sizes.end());
  SmallVector<Value> worklist(used.begin(), used.end());
  for (size_t i = 0; i < worklist.size(); ++i) {
    if (!isRebuilt(worklist[i]))
      parameters.insert(worklist[i]);
    else // a view has offsets and sizes
      llvm::append_range(worklist, worklist[i].getDefiningOp()->getOperands());
  }
}

Value KernelEmitter::rebuild(Value value) {
  if (Value known = map.lookupOrNull(value))
    return known;
  Operation *producer = value.getDefiningOp();
  if (auto get = dyn_cast<memref::GetGlobalOp>(producer);
      get && !module.lookupSymbol(get.getName())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    b.clone(*SymbolTable::lookupNearestSymbolFrom(get, get.getNameAttr()));
  }
  for (Value operand : producer->getOperands())
    rebuild(operand);
  b.clone(*producer, map);
  return map.lookup(value);
}

/// The position along the parallel loops, the last of which changes first.
SmallVector<Value> KernelEmitter::emitIndices(Value number) {
  SmallVector<unsigned> loops;
  op.getParallelDims(loops);
  SmallVector<Value> indices(op.getNumLoops());
  for (unsigned loop : llvm::reverse(loops)) {
    if (loop == loops.front()) {
      indices[loop] = number;
      continue;
    }
    Value size = map.lookup(sizes[loop]);
    indices[loop] = arith::RemUIOp::create(b, number, size);
    number = arith::DivUIOp::create(b, number, size);
  }
  return indices;
}

void KernelEmitter::emitBody() {
  Value total = index(1);
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  for (unsigned loop : parallel)
    total = arith::MulIOp::create(b, total, map.lookup(sizes[loop]));
  Value threads = index(kHostKernelThreads);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value first = arith::AddIOp::create(b, arith::MulIOp::create(b, block, threads),
                                      gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value step = arith::MulIOp::create(b, gpu::GridDimOp::create(b, gpu::Dimension::x), threads);
  auto loop = scf::ForOp::create(b, first, total, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  LoopNest nest(op, b, sizes, map);
  nest.position = emitIndices(loop.getInductionVar());
  nest.emitElements();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The fields that a parameter has in a kernel, as the bits of an index.
void KernelEmitter::appendFields(Value value, SmallVectorImpl<Value> &fields) {
  Type type = value.getType();
  if (isa<MemRefType>(type)) {
    auto metadata = memref::ExtractStridedMetadataOp::create(host, value);
    Value pointer =
        memref::ExtractAlignedPointerAsIndexOp::create(host, metadata.getBaseBuffer());
    fields.append({pointer, pointer, metadata.getOffset()});
    llvm::append_range(fields, metadata.getSizes());
    llvm::append_range(fields, metadata.getStrides());
    return;
  }
  if (auto real = dyn_cast<FloatType>(type)) {
    type = host.getIntegerType(real.getWidth());
    value = arith::BitcastOp::create(host, type, value);
  }
  if (!type.isIndex())
    value = arith::IndexCastUIOp::create(host, host.getIndexType(), value);
  fields.push_back(value);
}

void KernelEmitter::emitLaunch() {
  SmallVector<Value> fields;
  for (Value parameter : parameters)
    appendFields(parameter, fields);
  auto type = MemRefType::get({static_cast<int64_t>(fields.size())}, host.getIndexType());
  Value values = memref::AllocaOp::create(host, type);
  Value addresses = memref::AllocaOp::create(host, type);
  Value begin = memref::ExtractAlignedPointerAsIndexOp::create(host, values);
  for (auto [i, field] : llvm::enumerate(fields)) {
    Value number = arith::ConstantIndexOp::create(host, i);
    Value offset = arith::ConstantIndexOp::create(host, 8 * i);
    memref::StoreOp::create(host, field, values, number);
    memref::StoreOp::create(host, arith::AddIOp::create(host, begin, offset), addresses,
                            number);
  }
  Value count = arith::ConstantIndexOp::create(host, 1);
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  for (unsigned loop : parallel)
    count = arith::MulIOp::create(host, count, sizes[loop]);
  Value threads = arith::ConstantIndexOp::create(host, kHostKernelThreads);
  Value blocks = arith::CeilDivUIOp::create(host, count, threads);
  func::CallOp::create(
      host, name, TypeRange(),
      ValueRange{launcher, blocks,
                 memref::ExtractAlignedPointerAsIndexOp::create(host, addresses)});
}

void KernelEmitter::emit() {
  auto loops = cast<linalg::LinalgOp>(op.getOperation());
  for (Range range : loops.createLoopRanges(host, op.getLoc()))
    sizes.push_back(getValueOrCreateConstantIndexOp(host, op.getLoc(), range.size));
  findParameters();
  b.setInsertionPointToEnd(module.getBody());
  auto types = llvm::map_to_vector(parameters, [](Value value) { return value.getType(); });
  auto kernel = gpu::GPUFuncOp::create(b, name, b.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(kHostCodeAttr, b.getUnitAttr());
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({kHostKernelThreads, 1, 1}));
  b.setInsertionPointToStart(&kernel.getBody().front());
  map.map(parameters.getArrayRef(), kernel.getBody().front().getArguments());
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert(sizes.begin(), sizes.end());
  for (Value value : used)
    rebuild(value);
  emitBody();
  gpu::ReturnOp::create(b);
  emitLaunch();
  op.erase();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
struct ConvertHostCodeToKernelsPass final
    : kvc::impl::ConvertHostCodeToKernelsPassBase<ConvertHostCodeToKernelsPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult convert(func::FuncOp function, gpu::GPUModuleOp kernels, SymbolTable &symbols);
};
} // namespace

/// What depends on values would be known too late to be reported: those that only report are
/// left out, and what only they need.
static void eraseReports(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PostOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops)) {
    auto assertion = dyn_cast<cf::AssertOp>(op);
    if ((assertion && !followsFromShapes(assertion.getArg())) || isOpTriviallyDead(op))
      op->erase();
  }
}

/// The operation as one of linalg.generic, if it is one that computes elements.
static FailureOr<linalg::GenericOp> getGeneric(Operation *op) {
  IRRewriter rewriter(op->getContext());
  rewriter.setInsertionPoint(op);
  linalg::LinalgOp loops = dyn_cast<linalg::LinalgOp>(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    loops = cast<linalg::LinalgOp>(
        linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(), copy.getTarget())
            .getOperation());
    copy.erase();
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(loops.getOperation()))
    return generic;
  return linalg::generalizeNamedOp(rewriter, loops);
}

LogicalResult ConvertHostCodeToKernelsPass::convert(func::FuncOp function,
                                                    gpu::GPUModuleOp kernels,
                                                    SymbolTable &symbols) {
  eraseReports(function);
  Builder builder(&getContext());
  if (failed(function.insertArgument(function.getNumArguments(), builder.getIndexType(), {},
                                     function.getLoc())))
    return failure();
  Value launcher = function.getArguments().back();
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front()) {
    if (isa<linalg::LinalgOp, memref::CopyOp>(op))
      ops.push_back(&op);
    else if (!isMemoryEffectFree(&op) && !isa<func::ReturnOp, cf::AssertOp>(op))
      return op.emitError("no GPU kernel for what becomes '")
             << op.getName() << "': expected operations on whole tensors around kvc operations";
  }
  for (Operation *op : ops) {
    FailureOr<linalg::GenericOp> generic = getGeneric(op);
    if (failed(generic) || !sumsInRegisters(*generic))
      return function.emitError("no GPU kernel for an operation whose sums move along");
    relaxSums(*generic);
    // What launches it has its name.
    std::string name = function.getName().str();
    for (char &c : name) // PTX knows few
      c = llvm::isAlnum(c) ? c : '_';
    OpBuilder b(function);
    auto type = b.getFunctionType(SmallVector<Type>(3, b.getIndexType()), {});
    auto stub = func::FuncOp::create(b, generic->getLoc(), name + "_0", type);
    stub.setPrivate();
    StringRef unique = symbols.insert(stub).getValue();
    stub->setAttr(kLaunchAttr, b.getStringAttr(unique));
    KernelEmitter(*generic, unique, kernels, launcher).emit();
  }
  return success();
}

void ConvertHostCodeToKernelsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
  auto kernels = gpu::GPUModuleOp::create(b, getOperation().getLoc(), kKernelModuleName);
  symbols.insert(kernels);
  getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
  SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
  for (func::FuncOp function : functions)
    if (function->hasAttr(kFunctionTypeAttr) && failed(convert(function, kernels, symbols)))
      return signalPassFailure();
}
