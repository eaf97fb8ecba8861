//===- Compile.h - text or IR in, code out ----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kvc-translate and the C API do.
//===----------------------------------------------------------------------===//
#ifndef KVC_PIPELINES_COMPILE_H
#define KVC_PIPELINES_COMPILE_H

#include "kvc-rt/abi.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

#include <memory>
#include <string>

namespace kvc {

class JITProgram;

enum class EmitKind { Program, Object, LLVMIR, PTX, MLIR };
enum class CompileTarget { CPU, Definition, GPU };

/// Options; an empty text or a zero means the default.
struct CompileOptions {
  EmitKind emit = EmitKind::Program;
  CompileTarget target = CompileTarget::CPU;
  std::string tier;        ///< amx, avx512_bf16, avx512, avx2 or plain; default by cpu.
  std::string cpu;         ///< LLVM's name; default the host, the baseline if a tier is given.
  std::string features;    ///< LLVM's feature string, added to those of cpu and tier.
  std::string layout;      ///< packed (default) or row_major.
  std::string precision;   ///< Of the definition: f32 (default) or f64.
  std::string chip;        ///< sm_90a (default) or sm_90.
  std::string programName; ///< Prefix of the query function; default none.
  int64_t ptxVersion = 0;  ///< Times ten; default 86.
  int64_t split = 0;       ///< Keys of one work item; default by target.
  int64_t cachePage = 0;   ///< Above 0: kvc-optimize-cache-pipeline with such pages, first.
  bool printPlan = false;  ///< Print what kvc-plan considers to the error stream.
};

struct CompileResult {
  CompileResult();
  CompileResult(CompileResult &&);
  CompileResult &operator=(CompileResult &&);
  ~CompileResult();

  std::string data;                    ///< Text or bytes; empty for a program.
  std::unique_ptr<JITProgram> program; ///< Of EmitKind::Program.
};

/// Registers the dialects and interfaces that compile() needs, and no others.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Sends remarks of passes to the diagnostic handlers of `context`.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context);

/// Compiles `module`, which the passes rewrite in place. What goes wrong is
/// reported as diagnostics; the status tells invalid input from what is not
/// supported. `result` changes only on success.
kvc_status_t compile(mlir::ModuleOp module, const CompileOptions &options,
                     CompileResult &result);

/// The same for text; `name` stands for it in locations.
kvc_status_t compile(mlir::MLIRContext &context, llvm::StringRef text, llvm::StringRef name,
                     const CompileOptions &options, CompileResult &result);

} // namespace kvc

#endif // KVC_PIPELINES_COMPILE_H
