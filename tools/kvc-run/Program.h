//===- Program.h - a .mlir file, and what it compiles to --------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_PROGRAM_H
#define KVC_TOOLS_KVC_RUN_PROGRAM_H

#include "kvc-rt/runtime.h"
#include "kvc/Dialect/KVC/IR/KVC.h"
#include "kvc/Pipelines/Compile.h"
#include "kvc/Target/LLVM/JIT.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace kvcrun {

struct Source {
  std::string name; ///< For locations.
  std::string text;
};

/// Reads a file, or stdin for "-"; nothing after a message.
std::optional<Source> readSource(llvm::StringRef path);

//===----------------------------------------------------------------------===//
// What the text says about a function
//===----------------------------------------------------------------------===//

/// An attention operation, as far as counting its work needs.
struct AttentionFacts {
  unsigned cache; ///< Argument of the function.
  llvm::SmallVector<unsigned> arrays; ///< Read ones of that cache, each once.
  int64_t queryHeads;
  int64_t productWidth; ///< Of all terms and the value.
  bool isCausal;
  std::optional<int64_t> window;
  /// On the CPU.
  kvc::Products decodeProducts = kvc::Products::Fma, prefillProducts = kvc::Products::Fma;
};

/// A component that the function appends to.
struct AppendFacts {
  unsigned cache; ///< Argument of the function.
  /// The component's elements, then what an append computes: scales and zero points.
  llvm::SmallVector<unsigned> arrays;
  bool isArgument; ///< The rows are an argument, so what is stored is known to the bit.
};

/// What a result holds.
enum class ResultKind {
  Rows,
  LSE,    ///< A log-sum-exp.
  Counts, ///< Of each new token, what an append counted.
};

struct FunctionFacts {
  std::string name;
  std::vector<AttentionFacts> attentions;
  std::vector<AppendFacts> appends;
  std::vector<ResultKind> results;

  bool appendsTo(unsigned cache, unsigned array) const;
};

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct UnloadProgram {
  void operator()(const kvc_program_t *program) const { (void)kvc_program_unload(program); }
};

/// A compiled function, ready to run.
struct Program {
  kvc::CompileResult code;
  /// What the runtime keeps of it goes before the code does.
  std::unique_ptr<const kvc_program_t, UnloadProgram> program;
  uint32_t function = 0;
  double milliseconds = 0; ///< From text to machine code.

  /// Inputs, then results.
  llvm::ArrayRef<kvc_arg_desc_t> getArgs() const;
  unsigned getNumInputs() const;
  const kvc_cache_type_t &getCacheType(const kvc_arg_desc_t &arg) const;
  /// Such as "x86_64 avx2".
  llvm::StringRef getTarget() const;
};

/// Compiles, and prints what is wrong with text and options.
class Compiler {
public:
  Compiler();

  /// Finds `name`, or the only function if it is empty, and refuses what cannot be
  /// run; `options` say for what schedules are planned.
  std::optional<FunctionFacts> examine(const Source &source, llvm::StringRef name,
                                       const kvc::CompileOptions &options);

  std::optional<Program> compile(const Source &source, llvm::StringRef function,
                                 const kvc::CompileOptions &options);

private:
  mlir::MLIRContext context;
};

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_PROGRAM_H
