//===- HostEntries.h - needs and run of a function --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the conversions of functions of kvc operations share on the host: the two
// entry points of kvc-rt/abi.h, their checks and failures, and the workspace. How
// the work is done is up to the conversion.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_HOSTENTRIES_H
#define KVC_CONVERSION_HOSTENTRIES_H

#include "kvc/Conversion/HostABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/IntegerEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kvc {

class CacheFromBuffersOp;

/// Function that returns the program, defined by -kvc-build-program.
inline constexpr llvm::StringLiteral kProgramSymbol = "kvc.program";

/// Builds the entry points of one function. In `run` each of its values is a
/// pointer to its structure: kvc_tensor_t, kvc_cache_view_t or kvc_batch_t.
class HostEntries {
protected:
  using Value = mlir::Value;

  /// What is known of the tensors before anything runs: all dimensions (i64), and the
  /// bytes of workspace of each call of host code.
  struct Shapes {
    llvm::DenseMap<Value, llvm::SmallVector<Value>> dims;
    llvm::DenseMap<mlir::Operation *, Value> workspace;
  };

  /// What sizes depend on: of a call, or upper bounds of calls (i32).
  struct Sizes {
    Value sequences, tokens, kvLen, workers;
  };

  /// `index` is the function's place in the program, `symbols` the table of its
  /// module.
  HostEntries(mlir::func::FuncOp function, int64_t index, mlir::SymbolTable &symbols);

  /// Checks the function's name, and that it has one block whose results can be
  /// computed into memory of their own.
  llvm::LogicalResult checkFunction();

  //===--- The entry points -----------------------------------------------===//

  /// Begins `needs`: checks the bounds and returns them.
  Sizes startNeeds();
  /// Ends it with what a call needs.
  void finishNeeds(Value workspaceBytes);
  /// Begins `run`: has the runtime check the call, and maps arguments and results.
  void startRun();
  void finishRun();
  /// Adds `shapes`, if the function calls host code.
  void emitShapesEntry();
  /// Adds the finished function to the module's list. `alignments` are those of
  /// arguments, then results, in bytes; none if elements are enough.
  void addToProgram(int32_t maxQueryLen = 0, llvm::ArrayRef<int32_t> alignments = {});

  //===--- Control flow ---------------------------------------------------===//

  void returnIfFailed(Value status);
  /// The message goes on after "in '<function>': ".
  void failUnless(Value condition, kvc_status_t status, const llvm::Twine &message);
  /// Tensors of one operation must have as many rows as the batch has tokens.
  void checkTokens(mlir::Operation *op, llvm::ArrayRef<Value> tensors, Value tokens);

  //===--- Workspace ------------------------------------------------------===//

  /// A tensor that is neither an argument nor a result of the function.
  static bool isIntermediate(Value tensor);
  /// Fails unless the call's workspace has `bytes`, then sets `workspace`.
  void takeWorkspace(Value bytes);
  /// The offset after `count` elements of `bytes` at `offset`.
  Value offsetAfter(Value offset, Value count, int64_t bytes);

  //===--- Host code ------------------------------------------------------===//

  /// True if the function calls parts of host code.
  bool hasHostCode();
  /// Checks that what it calls are parts of host code, lowered, and that batches and
  /// caches are made of its arguments.
  llvm::LogicalResult checkHostCode();
  /// Computes the shapes of all tensors from those of the arguments, whose structures
  /// `structureOf` gives; fails if they do not fit each other.
  Shapes emitShapes(llvm::function_ref<Value(mlir::BlockArgument)> structureOf);
  /// The arguments' structures in `needs`.
  Shapes emitShapesOfBounds();
  /// In `needs` of a function without host code, in which dynamic are numbers of tokens.
  Shapes emitShapesOfTokens(Value tokens);
  /// Bytes in the workspace of a tensor of known shape; fails if they are too many.
  Value emitBytes(Value tensor, const Shapes &shapes);
  /// Lays an intermediate tensor out at `offset` of the workspace; returns the
  /// offset after it.
  Value placeIntermediate(Value tensor, const Shapes &shapes, Value offset);
  /// Fails unless the results of host code have the shapes that follow.
  void checkResults(const Shapes &shapes);
  /// Calls a part in `run`; `offset` is that of its workspace.
  void emitPart(mlir::func::CallOp call, const Shapes &shapes, Value offset);

  //===--- Values in `run` ------------------------------------------------===//

  /// Memory of the function's frame.
  Value allocate(int64_t bytes);
  Value tensorData(Value tensor);
  Value tensorTokens(Value tensor);
  Value batchField(Value batch, int64_t offset, mlir::Type type);
  /// `workers` are those of the stream, which the runtime is asked for if not given.
  Sizes batchSizes(Value batch, Value workers = {});

  //===--- Caches and batches that somebody else laid out ------------------===//

  /// True if `op` makes one of the function's arguments.
  static bool isForeign(mlir::Operation &op);
  /// Emits it in `run`: its structure, in the function's frame.
  void emitForeign(mlir::Operation &op);
  /// A batch that the function makes itself knows its longest sequence.
  void includeForeign(Sizes &sizes);

  mlir::func::FuncOp function;
  int64_t index;
  mlir::SymbolTable &symbols;
  mlir::OpBuilder b;
  IntegerEmitter ints;
  ABIBuilder abi;

  mlir::LLVM::LLVMFuncOp needs, run, shapesEntry;
  Value rt, stream, call, program, workspace;
  Value launcher; ///< A LaunchContext, if host code launches kernels.
  llvm::DenseMap<Value, Value> values;

private:
  void emitCacheFromBuffers(CacheFromBuffersOp op);
  void emitBatchFrom(mlir::Operation *op, Value queryStart, Value kvLens, Value slots,
                     Value positions, int64_t maxQueryLen, int64_t maxKvLen);
  /// Creates an entry point, with its failure block and the builder in its body.
  mlir::LLVM::LLVMFuncOp startEntry(llvm::StringRef name);
  mlir::LLVM::LLVMFuncOp createEntry(llvm::StringRef name);

  /// Fails with the text of condition `number` if that is not 0.
  void failIfBroken(Value number, mlir::LLVM::LLVMFuncOp part);
  mlir::LLVM::LLVMFuncOp getPart(mlir::func::CallOp call);
  llvm::SmallVector<bool> findTokenRows();

  mlir::Block *failureBlock = nullptr; ///< Returns its argument, a status.
};

} // namespace kvc

#endif // KVC_CONVERSION_HOSTENTRIES_H
