//===- Emulator.h - runs PTX on the CPU -------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes kernels from their PTX text, checks them while they run, and counts
// what they do. Uses nothing of kvc's compiler or runtime, nor LLVM, so that it
// shares no fault with what it judges.
//
//   Memory memory;
//   std::string log;
//   std::unique_ptr<Module> module = Module::load(text, memory, log);
//   LaunchResult result = launch(memory, *module->findKernel("add"), config, {});
//
// An object is used by one thread at a time.
//===----------------------------------------------------------------------===//
#ifndef KVC_EMULATOR_EMULATOR_H
#define KVC_EMULATOR_EMULATOR_H

#include "kvc/Emulator/Counters.h"
#include "kvc/Emulator/Memory.h"
#include "kvc/Emulator/Report.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kvc::emu {

struct Program; ///< A decoded kernel; see lib/Emulator/Program.h.

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

using Dim3 = std::array<uint32_t, 3>;

/// One parameter of a kernel, in its parameter buffer.
struct Parameter {
  std::string name;
  uint32_t offset = 0; ///< Bytes from the start of the buffer.
  uint32_t size = 0;   ///< Bytes.
};

/// An `.entry` of a module.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0; ///< Size of the parameter buffer.
  uint32_t staticShared = 0;   ///< Bytes of shared variables with a size.
  uint32_t localBytes = 0;     ///< Bytes of local memory a thread.
  uint32_t registers = 0;      ///< 32-bit registers a thread, after allocation.
  uint32_t maxThreads = 1024;  ///< .maxntid or .reqntid, else the device's limit.
  Dim3 requiredBlock = {};     ///< Of .reqntid; zeros: any.
  bool usesDynamicShared = false;
  std::shared_ptr<const Program> program;
};

/// A variable in global or constant memory.
struct Symbol {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
};

/// A loaded PTX module. Its variables live in the memory it was loaded into,
/// which must outlive it.
class Module {
public:
  /// Parses and decodes `text`. Returns null and an error in `log`, as
  /// "line:column: error: ...", if it is not PTX or holds an instruction that
  /// the emulator cannot run.
  static std::unique_ptr<Module> load(std::string_view text, Memory &memory,
                                      std::string &log);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const std::vector<Kernel> &getKernels() const { return kernels; }
  const Kernel *findKernel(std::string_view name) const;
  const Symbol *findSymbol(std::string_view name) const;

private:
  explicit Module(Memory &memory) : memory(memory) {}
  Memory &memory;
  std::vector<Kernel> kernels;
  std::vector<Symbol> symbols;
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// When an asynchronous copy takes place. A right kernel gives the same bits
/// under each.
enum class CopyPolicy {
  Eager, ///< When it is issued.
  Lazy,  ///< When it is waited for: sources are read then.
  Random ///< Anywhere in between, by the seed.
};

/// How products of matrix instructions are added.
enum class MatrixArithmetic {
  H100, ///< As an H100 does: aligned, truncated to 25 fraction bits.
  F32,  ///< In f32, in order of k.
  F64   ///< In f64, rounded once.
};

struct LaunchOptions {
  CopyPolicy copies = CopyPolicy::Lazy;
  MatrixArithmetic matrix = MatrixArithmetic::H100;
  /// Order of warps and blocks, and the choices of CopyPolicy::Random; 0: in
  /// order.
  uint64_t seed = 0;
  bool check = true; ///< Look for faults other than accesses out of bounds.
  bool count = true; ///< Fill LaunchResult::counters.
  /// Warp instructions after which a launch is given up.
  uint64_t maxInstructions = uint64_t(1) << 40;
  uint32_t maxReports = 32;     ///< Reports kept; the rest is only counted.
  uint32_t residentBlocks = 32; ///< Blocks that run at a time, interleaved.
  /// Added to the address of dynamic shared memory, in multiples of 128 bytes:
  /// shows code that assumes an alignment that it did not declare.
  uint32_t sharedShift = 0;
  /// Line of the text whose instructions are not executed; 0: none. Shows whether
  /// the checks notice that a barrier, a wait or a fence is missing.
  uint32_t omittedLine = 0;
};

struct LaunchConfig {
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  /// Blocks of a cluster, which run together; the grid is a multiple of it.
  Dim3 cluster = {1, 1, 1};
  uint32_t dynamicShared = 0;      ///< Bytes.
  std::vector<uint8_t> parameters; ///< Kernel::parameterBytes bytes.
};

/// What warps did at one line of the text.
struct LineCount {
  uint32_t line = 0;
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0; ///< Lanes that took part, summed.
};

/// What a launch came to.
struct LaunchResult {
  /// Every thread ran to its end, and nothing was wrong with the configuration.
  bool finished = false;
  std::string error; ///< Why not.
  std::vector<Report> reports;
  uint64_t numReports = 0; ///< Of kind error, kept or not.
  Counters counters;
  std::vector<LineCount> lines; ///< That were executed, in order; if counted.
};

/// The limits of the emulated device, those of an H100.
inline constexpr uint32_t kMaxThreads = 1024;           ///< Per block.
inline constexpr uint32_t kMaxShared = 227 * 1024;      ///< Bytes, per block.
inline constexpr uint32_t kMaxStaticShared = 48 * 1024; ///< Bytes, per block.
inline constexpr uint32_t kMaxClusterBlocks = 8;  ///< That every device allows.
inline constexpr uint32_t kNumProcessors = 132;

/// Runs `kernel` to its end.
LaunchResult launch(Memory &memory, const Kernel &kernel,
                    const LaunchConfig &config, const LaunchOptions &options);

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Opcodes that are executed, such as "add" and "cp", sorted.
struct InstructionFamily {
  std::string name;
  std::vector<std::string> opcodes;
};
std::vector<InstructionFamily> getInstructionFamilies();

} // namespace kvc::emu

#endif // KVC_EMULATOR_EMULATOR_H
