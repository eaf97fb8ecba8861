//===- Compiler.cpp - the compiler from C ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing of C++ leaves this file: exceptions become statuses, diagnostics text.
//===----------------------------------------------------------------------===//
#include "kvc-c/compiler.h"

#include "kvc/Pipelines/Compile.h"
#include "kvc/Target/LLVM/JIT.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Config/llvm-config.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>

using namespace mlir;

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  kvc::registerCompilerDialects(registry);
  return registry;
}

struct kvc_compiler {
  kvc_compiler() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
    // Without remarks, messages hold errors and warnings only.
    (void)kvc::enableRemarks(context);
  }

  std::mutex mutex; ///< Held by every call.
  MLIRContext context;
  std::string messages;
};

struct kvc_compiled {
  kvc::CompileResult result;
  double milliseconds = 0;
};

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Prints the file position that `loc` stands for, as compilers do, or else the
/// location as MLIR prints it; nothing if it is unknown.
static void printLocation(Location loc, llvm::raw_ostream &os) {
  FileLineColLoc position = loc->findInstanceOf<FileLineColLoc>();
  if (position)
    os << position.getFilename().getValue() << ':' << position.getLine() << ':'
       << position.getColumn() << ": ";
  else if (!isa<UnknownLoc>(loc))
    os << loc << ": ";
}

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

/// Appends a line for `diagnostic` and one for each of its notes.
static void appendMessage(Diagnostic &diagnostic, std::string &messages) {
  llvm::raw_string_ostream os(messages);
  auto print = [&](Diagnostic &part) {
    printLocation(part.getLocation(), os);
    os << getSeverityName(part.getSeverity()) << ": " << part.str() << '\n';
  };
  print(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
  // A message may quote the text; a NUL in it must not end what C callers see.
  std::replace(messages.begin(), messages.end(), '\0', '?');
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static std::string toString(const char *text) { return text ? text : ""; }

/// Reads `given`, of which an older caller may know only the first fields.
static LogicalResult readOptions(const kvc_compile_options_t *given,
                                 kvc::CompileOptions &options,
                                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  kvc_compile_options_t known = {};
  if (given) {
    if (given->struct_size < offsetof(kvc_compile_options_t, ptx_version))
      return emitError() << "expected a struct_size of options of at least "
                         << offsetof(kvc_compile_options_t, ptx_version) << ", got "
                         << given->struct_size;
    std::memcpy(&known, given, std::min<size_t>(given->struct_size, sizeof(known)));
  }
  switch (known.emit) {
  case KVC_EMIT_PROGRAM:
    options.emit = kvc::EmitKind::Program;
    break;
  case KVC_EMIT_OBJECT:
    options.emit = kvc::EmitKind::Object;
    break;
  case KVC_EMIT_LLVMIR:
    options.emit = kvc::EmitKind::LLVMIR;
    break;
  case KVC_EMIT_PTX:
    options.emit = kvc::EmitKind::PTX;
    break;
  case KVC_EMIT_MLIR:
    options.emit = kvc::EmitKind::MLIR;
    break;
  default:
    return emitError() << "expected emit to be from " << int{KVC_EMIT_PROGRAM} << " to "
                       << int{KVC_EMIT_MLIR} << ", got " << static_cast<int>(known.emit);
  }
  switch (known.target) {
  case KVC_TARGET_CPU:
    options.target = kvc::CompileTarget::CPU;
    break;
  case KVC_TARGET_DEFINITION:
    options.target = kvc::CompileTarget::Definition;
    break;
  case KVC_TARGET_GPU:
    options.target = kvc::CompileTarget::GPU;
    break;
  default:
    return emitError() << "expected target to be from " << int{KVC_TARGET_CPU} << " to "
                       << int{KVC_TARGET_GPU} << ", got " << static_cast<int>(known.target);
  }
  options.ptxVersion = known.ptx_version;
  options.tier = toString(known.tier);
  options.layout = toString(known.layout);
  options.precision = toString(known.precision);
  options.chip = toString(known.chip);
  options.cpu = toString(known.cpu);
  options.features = toString(known.features);
  options.programName = toString(known.program_name);
  options.split = known.split;
  options.cachePage = known.cache_page;
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// kvc_compile with the compiler locked; may throw.
static kvc_status_t compileLocked(kvc_compiler &compiler, StringRef text,
                                  const kvc_compile_options_t *givenOptions,
                                  kvc_compiled_t **out) {
  auto start = std::chrono::steady_clock::now();
  ScopedDiagnosticHandler handler(&compiler.context, [&](Diagnostic &diagnostic) {
    appendMessage(diagnostic, compiler.messages);
    return success();
  });
  auto emit = [&] { return emitError(UnknownLoc::get(&compiler.context)); };
  if (!text.data()) {
    emit() << "expected text, got null";
    return KVC_STATUS_INVALID_ARGUMENT;
  }
  if (!out) {
    emit() << "expected a place for the result, got null";
    return KVC_STATUS_INVALID_ARGUMENT;
  }
  kvc::CompileOptions options;
  if (failed(readOptions(givenOptions, options, emit)))
    return KVC_STATUS_INVALID_ARGUMENT;

  auto compiled = std::make_unique<kvc_compiled>();
  kvc_status_t status =
      kvc::compile(compiler.context, text, "<input>", options, compiled->result);
  if (status != KVC_STATUS_OK) {
    if (!StringRef(compiler.messages).contains("error: "))
      emit() << "compilation failed without a message; please report it";
    return status;
  }
  std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  compiled->milliseconds = elapsed.count();
  *out = compiled.release();
  return KVC_STATUS_OK;
}

const char *kvc_compiler_version(void) {
  return "kvc " KVC_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

kvc_compiler_t *kvc_compiler_create(void) {
  try {
    return new kvc_compiler();
  } catch (...) {
    return nullptr;
  }
}

void kvc_compiler_release(kvc_compiler_t *compiler) { delete compiler; }

kvc_status_t kvc_compile(kvc_compiler_t *compiler, const char *text, size_t size,
                         const kvc_compile_options_t *options, kvc_compiled_t **out) {
  if (!compiler)
    return KVC_STATUS_INVALID_ARGUMENT;
  try {
    std::lock_guard<std::mutex> lock(compiler->mutex);
    compiler->messages.clear();
    return compileLocked(*compiler, StringRef(text, size), options, out);
  } catch (const std::bad_alloc &) {
    return KVC_STATUS_OUT_OF_MEMORY;
  } catch (...) {
    return KVC_STATUS_INTERNAL;
  }
}

const char *kvc_compiler_messages(kvc_compiler_t *compiler) {
  return compiler ? compiler->messages.c_str() : "expected a compiler, got null\n";
}

void kvc_compiled_release(kvc_compiled_t *compiled) { delete compiled; }

const char *kvc_compiled_data(const kvc_compiled_t *compiled, size_t *out_size) {
  bool hasData = compiled && !compiled->result.program;
  if (out_size)
    *out_size = hasData ? compiled->result.data.size() : 0;
  return hasData ? compiled->result.data.c_str() : nullptr;
}

kvc_program_query_fn kvc_compiled_query(const kvc_compiled_t *compiled) {
  return compiled && compiled->result.program ? compiled->result.program->getQuery() : nullptr;
}

double kvc_compiled_milliseconds(const kvc_compiled_t *compiled) {
  return compiled ? compiled->milliseconds : 0;
}
