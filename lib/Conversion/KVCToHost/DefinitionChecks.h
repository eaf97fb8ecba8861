//===- DefinitionChecks.h - checks before the definition runs ---*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOHOST_DEFINITIONCHECKS_H
#define KVC_LIB_CONVERSION_KVCTOHOST_DEFINITIONCHECKS_H

#include "kvc/Conversion/HostABI.h"

namespace kvc {

/// Emits the checks of a call into its `run`, each with a return if it fails, or into
/// another entry point those of its shapes.
class DefinitionChecks {
public:
  DefinitionChecks(mlir::OpBuilder &builder, mlir::LLVM::LLVMFuncOp run, mlir::Value program,
                   int64_t functionIndex);

  /// Calls the function of shapes with what the structures at `args`, an array of
  /// pointers, say; returns the dynamic dimensions of the results and the bytes of
  /// workspace.
  llvm::SmallVector<mlir::Value> emitShapes(mlir::LLVM::LLVMFuncOp shapes,
                                            mlir::FunctionType type, mlir::Value args);
  /// Fails with the text of condition `number` if that is not 0.
  void failIfBroken(mlir::Value number, mlir::ArrayAttr conditions);
  void failUnless(mlir::Value condition, llvm::StringRef message,
                  kvc_status_t status = KVC_STATUS_INVALID_ARGUMENT);
  mlir::Value isEqual(mlir::Value lhs, mlir::Value rhs);

  /// The runtime's check of the arguments against their types.
  void emitCall();
  /// What kChecksAttr says, if it is there; it must be well formed.
  void emitRecorded(mlir::DictionaryAttr checks);

  /// True if `checks` has the form that kvc-decompose writes, for a function of
  /// `numArgs` arguments and results: hand-written text can say anything.
  static bool isWellFormed(mlir::DictionaryAttr checks, int64_t numArgs);

private:
  void emitBatch(mlir::DictionaryAttr batch);
  void emitCache(llvm::ArrayRef<int64_t> buffers);
  void emitUse(llvm::ArrayRef<int64_t> use);
  void emitRows(mlir::Value count, llvm::ArrayRef<int64_t> tensors, llvm::StringRef message);

  mlir::Value getBatch(int64_t number);
  mlir::Value getCache(int64_t number);
  /// Size of a dimension of a tensor argument.
  mlir::Value getSize(int64_t number, int64_t dim = 0);
  mlir::Value getData(int64_t number);
  mlir::Value allocate(int64_t bytes);

  /// Goes on in a new block if `condition`, else in the one returned.
  mlir::Block *branch(mlir::Value condition);
  void returnIfFailed(mlir::Value status);

  mlir::OpBuilder &b;
  mlir::Location loc;
  ABIBuilder abi;
  mlir::LLVM::LLVMFuncOp run;
  mlir::Value rt, call, program;
  int64_t functionIndex;
  llvm::SmallVector<mlir::Value> batches, caches; ///< That the function makes.
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOHOST_DEFINITIONCHECKS_H
