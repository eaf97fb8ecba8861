//===- HostABI.h - the host ABI as IR ---------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to the structures of kvc-rt/abi.h from code in the LLVM dialect, and
// the module attributes through which conversions hand over functions, kernels and
// their image.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_HOSTABI_H
#define KVC_CONVERSION_HOSTABI_H

#include "kvc-rt/abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvc {

class CacheType;

/// A function that has been lowered to the two entry points of the ABI.
struct ProgramFunction {
  llvm::StringRef name;    ///< As the user wrote it.
  mlir::FunctionType type; ///< Its type before lowering, with kvc types.
  llvm::StringRef needs;   ///< Symbol of kvc_function_entry_t::needs.
  llvm::StringRef run;     ///< Symbol of kvc_function_entry_t::run.
  llvm::StringRef shapes;  ///< Symbol of kvc_function_entry_t::shapes; or empty.
  int32_t maxQueryLen = 0; ///< kvc_function_desc_t::max_query_len
  /// kvc_arg_desc_t::alignment of arguments, then results; or none.
  llvm::ArrayRef<int32_t> alignments = {};
  /// kvc_arg_desc_t::rows_are_tokens of arguments, then results; or none: then their
  /// types tell.
  llvm::ArrayRef<bool> tokenRows = {};
};

/// Adds `function` to the module's list, the attribute `kvc.functions`. Its
/// place in the list is its index in the program.
void addProgramFunction(mlir::ModuleOp module, const ProgramFunction &function);

/// The module's list, in order; empty if there is none.
llvm::SmallVector<ProgramFunction> getProgramFunctions(mlir::ModuleOp module);

/// A kernel of the program's image.
struct ProgramKernel {
  llvm::StringRef name; ///< Of its entry.
  int32_t threads;
  int32_t sharedBytes;
};

/// Adds `kernel` to the module's list, the attribute `kvc.kernels`; returns its
/// place, which is its index in the program.
int32_t addProgramKernel(mlir::ModuleOp module, const ProgramKernel &kernel);

/// The module's list, in order; empty if there is none.
llvm::SmallVector<ProgramKernel> getProgramKernels(mlir::ModuleOp module);

/// The device code of a program.
struct ProgramImage {
  llvm::StringRef target; ///< Such as "sm_90a".
  llvm::StringRef data;   ///< PTX text, without a NUL.
};

/// Sets the module's image, the attribute `kvc.image`.
void setProgramImage(mlir::ModuleOp module, const ProgramImage &image);

/// The module's image, if it has one.
std::optional<ProgramImage> getProgramImage(mlir::ModuleOp module);

/// Removes the attributes that the functions above set.
void removeProgramAttributes(mlir::ModuleOp module);

/// True if `name` can be a program's name: empty, or a C identifier.
bool isProgramName(llvm::StringRef name);

/// The query function of the program called `programName`.
std::string getQuerySymbol(llvm::StringRef programName);

/// The structure of kvc-rt/abi.h for a cache type.
kvc_cache_type_t getABICacheType(CacheType type);

/// The number of kvc-rt/abi.h for an element type; 0 if there is none.
kvc_dtype_t getABIDtype(mlir::Type elementType);

/// Emits loads and stores of structure fields, given `offsetof` of them.
class ABIBuilder {
public:
  ABIBuilder(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);

  /// Address `bytes` after `base`.
  mlir::Value at(mlir::Value base, int64_t bytes);
  mlir::Value load(mlir::Value base, int64_t bytes, mlir::Type type);
  mlir::Value loadI32(mlir::Value base, int64_t bytes) { return load(base, bytes, b.getI32Type()); }
  mlir::Value loadI64(mlir::Value base, int64_t bytes) { return load(base, bytes, b.getI64Type()); }
  mlir::Value loadPtr(mlir::Value base, int64_t bytes) { return load(base, bytes, ptr()); }
  void store(mlir::Value value, mlir::Value base, int64_t bytes);

  /// The pointer of argument `index` of a kvc_call_t.
  mlir::Value loadArg(mlir::Value call, int64_t index);

  /// Calls a function pointer of the runtime table and returns its result.
  mlir::Value callTable(mlir::Value rt, int64_t offset, mlir::Type result,
                        mlir::ValueRange args);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace kvc

#endif // KVC_CONVERSION_HOSTABI_H
