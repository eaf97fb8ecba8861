//===- HostCode.h - what functions do around kvc operations -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the passes on host code hand on what they know of a function, until the
// entry points of the host ABI call it. A function of tensors, which takes the
// memory of its results, a workspace and a place for its fault, has a second one
// beside it that takes the dynamic dimensions of its tensors, and of its batches the
// numbers of new tokens, and returns
// - the number of the condition that they break, from 1, or 0 (i32);
// - the dynamic dimensions of the results, in order;
// - the bytes of workspace.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_HOSTCODE_H
#define KVC_CONVERSION_HOSTCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvc {

/// Attribute (unit) of the module inside a module that holds host code.
inline constexpr llvm::StringLiteral kHostCodeAttr = "kvc.host_code";

/// Attribute of LLVM's functions of host code, whose loops become vectors.
inline constexpr llvm::StringLiteral kHostCodeFunctionAttr = "kvc-host-code";

/// Attribute of a function of host code: the function that computes its sizes.
inline constexpr llvm::StringLiteral kShapesAttr = "kvc.shapes";

/// Attribute of a function of host code: for each dynamic dimension of its results the
/// number, in the same way of counting, of the one of its arguments that it is, or -1.
inline constexpr llvm::StringLiteral kDimSourcesAttr = "kvc.dim_sources";

/// Attribute of both functions: the conditions whose numbers they give, as texts.
inline constexpr llvm::StringLiteral kConditionsAttr = "kvc.conditions";

/// Attribute of a public function: kvc_arg_desc_t::rows_are_tokens of its arguments,
/// then of its results.
inline constexpr llvm::StringLiteral kTokenRowsAttr = "kvc.token_rows";

/// Attribute (unit) of an assertion without which its operation is harmless as well.
inline constexpr llvm::StringLiteral kHarmlessAttr = "kvc.harmless";

/// Attribute of a public function that a program has: the name it is known by. Parts
/// that were cut from it have it too.
inline constexpr llvm::StringLiteral kFunctionNameAttr = "kvc.function";

/// Attribute of a function that launches a kernel of host code: the kernel's name. It takes
/// a LaunchContext, the number of thread blocks, and the parameters as
/// kvc_rt_api_t::launch takes them, all as index.
inline constexpr llvm::StringLiteral kLaunchAttr = "kvc.launch";

/// Threads of a block of a kernel of host code.
inline constexpr int32_t kHostKernelThreads = 256;

/// What launches of host code need; in the frame of `run`.
struct LaunchContext {
  const void *rt, *stream, *program;
  int32_t status; ///< Of the first launch that failed; nothing is launched after it.
};

/// Alignment of everything in the workspace.
inline constexpr int64_t kWorkspaceAlignment = 64;

/// Moves the functions of host code in a module inside of `module`, and its kernels, to those
/// of `module`. They must be in the LLVM dialect; what they declare is returned.
llvm::FailureOr<llvm::SmallVector<mlir::LLVM::LLVMFuncOp>>
takeHostCode(mlir::ModuleOp module, mlir::SymbolTable &symbols);

/// Adds declarations of functions of libraries, once there are no others of their names.
llvm::LogicalResult addLibraries(llvm::ArrayRef<mlir::LLVM::LLVMFuncOp> libraries,
                                 mlir::SymbolTable &symbols);

/// True if `op` can be part of the host code of a program.
bool isHostCode(mlir::Operation *op);

/// Calls `visit` for each dynamic dimension of the tensors in `types`, in order. Of a
/// batch, its number of new tokens counts as one.
void forEachDynamicDim(mlir::TypeRange types,
                       llvm::function_ref<void(unsigned index, int64_t dim)> visit);
int64_t countDynamicDims(mlir::TypeRange types);

/// True if `value` follows from the dimensions of arguments of the function it is in:
/// integer arithmetic on constants and dimensions, outside of any control flow.
bool followsFromShapes(mlir::Value value);

/// Makes each function with kFunctionTypeAttr in `module` take buffers in place of
/// tensors, those of its results last, so that the caller decides where they lie.
void convertBoundaries(mlir::ModuleOp module);

} // namespace kvc

#endif // KVC_CONVERSION_HOSTCODE_H
