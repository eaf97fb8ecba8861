//===- HostABI.h - the host ABI as IR ---------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to the structures of kvc-rt/abi.h from code in the LLVM dialect, and
// the module attribute through which conversions hand over their functions.
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
};

/// Adds `function` to the module's list, the attribute `kvc.functions`. Its
/// place in the list is its index in the program.
void addProgramFunction(mlir::ModuleOp module, const ProgramFunction &function);

/// The module's list, in order; empty if there is none.
llvm::SmallVector<ProgramFunction> getProgramFunctions(mlir::ModuleOp module);

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
