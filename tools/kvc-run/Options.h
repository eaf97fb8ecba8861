//===- Options.h - the command line of kvc-run ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_OPTIONS_H
#define KVC_TOOLS_KVC_RUN_OPTIONS_H

#include "kvc/Pipelines/Compile.h"

#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>
#include <vector>

namespace kvcrun {

/// Prints an error message of this tool; returns failure.
mlir::LogicalResult reportError(const llvm::Twine &message);

/// A file that holds argument `index`: a .npy file if `dtype` is 0.
struct InputFile {
  unsigned index = 0;
  std::string path;
  kvc_dtype_t dtype = 0; ///< Raw files: what they hold.
  std::vector<int64_t> shape;
};

/// A .npy file for result `index`.
struct OutputFile {
  unsigned index = 0;
  std::string path;
};

/// What --device names.
struct DeviceName {
  enum Kind { CPU, Emulator, CUDA, Library };
  Kind kind = CPU;
  std::string text = "cpu"; ///< As it was given.
  std::string library;      ///< Path of the driver, of Library.
  int32_t ordinal = 0;
};

struct Options {
  bool listDevices = false; ///< And nothing else.
  DeviceName device;
  std::string input;
  std::string function; ///< Empty: the only one.
  kvc::CompileOptions compile;

  std::vector<int32_t> lengths;   ///< Tokens of each sequence, new ones included.
  std::vector<int32_t> queryLens; ///< New tokens of each sequence.
  bool randomPages = true;
  uint64_t seed = 0;
  int32_t threads = 0; ///< 0: all.

  std::vector<InputFile> inputs;
  std::vector<OutputFile> outputs;
  std::string outputDir; ///< Empty: none.
  bool bf16AsF32 = false;

  bool verify = false;
  int64_t verifyRows = 64;   ///< Query tokens a sequence.
  std::string verifyAgainst; ///< Empty: the input.

  bool bench = false;
  int32_t repetitions = 7;
  bool json = false;
};

/// Reads the command line. Prints what is wrong with it and returns nothing.
std::optional<Options> parseOptions(int argc, char **argv);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_OPTIONS_H
