//===- JIT.cpp - programs ready to run in this process --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/LLVM/JIT.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace kvc;

/// What a program may take from the process: functions that LLVM or MLIR make
/// calls to, and that have no effect but on the memory they are given.
static bool isAllowedSymbol(StringRef name) {
  static const llvm::StringSet<> memory = {"memcpy", "memmove", "memset", "memcmp",
                                           "malloc", "free",    "aligned_alloc"};
  // Each also exists with the suffix `f`, for float.
  static const llvm::StringSet<> math = {
      "acos",  "acosh", "asin",  "asinh",     "atan",  "atan2", "atanh", "cbrt",
      "ceil",  "cos",   "cosh",  "erf",       "erfc",  "exp",   "exp10", "exp2",
      "expm1", "fabs",  "floor", "fma",       "fmax",  "fmin",  "fmod",  "ldexp",
      "log",   "log10", "log1p", "log2",      "pow",   "rint",  "round", "roundeven",
      "sin",   "sinh",  "sqrt",  "nearbyint", "tan",   "tanh",  "trunc", "fmaximum",
      "fminimum", "sincos"};
  if (memory.contains(name) || math.contains(name))
    return true;
  return name.consume_back("f") && math.contains(name);
}

JITProgram::JITProgram() = default;
JITProgram::~JITProgram() = default;

FailureOr<std::unique_ptr<JITProgram>> JITProgram::create(ArrayRef<char> object,
                                                          const CPUTarget &target,
                                                          StringRef querySymbol,
                                                          EmitErrorFn emitError) {
  if (failed(checkRunsOnHost(target, emitError)))
    return failure();
  // A failed lookup says that it failed; why, the session reports.
  std::string reasons;
  auto fail = [&](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    return emitError() << "cannot link the program: " << text << reasons;
  };

  llvm::orc::LLJITBuilder builder;
  builder.setJITTargetMachineBuilder(
      llvm::orc::JITTargetMachineBuilder(llvm::Triple(target.triple)));
  // Only what the allow list names is visible, and there is nothing to initialise.
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  auto jit = builder.create();
  if (!jit)
    return fail(jit.takeError());
  std::unique_ptr<JITProgram> program(new JITProgram());
  program->jit = std::move(*jit);
  llvm::orc::ExecutionSession &session = program->jit->getExecutionSession();
  session.setErrorReporter(
      [&](llvm::Error error) { reasons += "; " + llvm::toString(std::move(error)); });

  char prefix = program->jit->getDataLayout().getGlobalPrefix();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      prefix, [prefix](const llvm::orc::SymbolStringPtr &symbol) {
        StringRef name = *symbol;
        if (prefix)
          name.consume_front(StringRef(&prefix, 1));
        return isAllowedSymbol(name);
      });
  if (!process)
    return fail(process.takeError());
  program->jit->getMainJITDylib().addGenerator(std::move(*process));

  if (llvm::Error error = program->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
          StringRef(object.data(), object.size()), "kvc program")))
    return fail(std::move(error));
  auto address = program->jit->lookup(querySymbol);
  if (!address)
    return fail(address.takeError());
  program->query = address->toPtr<kvc_program_query_fn>();
  // `reasons` goes away; later errors, at the end of the session, have no reader.
  session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  return program;
}
