//===- Options.cpp - the command line of kvc-emu --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

using namespace kvcemu;
using namespace llvm;
using kvc::emu::CopyPolicy;
using kvc::emu::MatrixArithmetic;

static const char kOverview[] =
    R"(runs a kernel of a PTX file on the CPU, and checks what it does

  kvc-emu add.ptx --grid=4 --block=128 --arg=in:x.npy --arg='out:f32[512]' \
      --arg=i32:512 --policy=all --save=out=sum.npy
  kvc-emu add.ptx --list

An argument (--arg, one a parameter, in order) is one of

  TYPE:NUMBER             a scalar: i32:-5, f32:0.5, u64:0xff
  NAME:FILE.npy           the address of an array, from a file
  NAME:TYPE[SHAPE]        of one that is not initialised: out:f32[4x8]
  NAME:TYPE[SHAPE]=SOURCE of one that is
  NAME:TYPE=FILE.npy      of one whose bits a file has as unsigned integers
  @NAME, @NAME+BYTES      an address in an array of an argument before
  null                    the address 0
  {ARGUMENT, ...}         a struct, laid out as in C
  hex:00ff, bytes:FILE    the bytes themselves

a SOURCE is zeros, ones, iota, uniform(SEED), normal(SEED), a NUMBER for all, {NUMBER, ...},
FILE.npy or @FILE of raw bytes, and a TYPE i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16,
f32, f64, e4m3 or e5m2. Files have bf16, e4m3 and e5m2 as their bits.

ends with 0 if all was right, 1 if the kernel did something wrong or gave something else than
was expected, 2 if the command line or the PTX is wrong
)";

void kvcemu::reportError(const Twine &message) {
  WithColor::error(errs(), "kvc-emu") << message << "\n";
}

namespace {
enum class PolicyName { Lazy, Eager, Random, All };

struct CommandLine {
  cl::OptionCategory category{"kvc-emu options"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<PTX file, - for stdin>"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file, - for stdout (default)"),
                              cl::value_desc("file"), cl::init("-"), cl::cat(category)};
  cl::opt<std::string> entry{"entry", cl::value_desc("name"), cl::cat(category),
                             cl::desc("Kernel to run (default: the only one)")};
  cl::opt<bool> list{"list", cl::cat(category),
                     cl::desc("List the kernels, their parameters and what they need")};
  cl::opt<bool> instructions{"instructions", cl::cat(category),
                             cl::desc("List the instructions that can be run")};

  cl::opt<std::string> grid{"grid", cl::value_desc("XxYxZ"), cl::init("1"),
                            cl::cat(category), cl::desc("Blocks of the grid (default: 1)")};
  cl::opt<std::string> block{"block", cl::value_desc("XxYxZ"), cl::init("1"),
                             cl::cat(category),
                             cl::desc("Threads of a block (default: 1)")};
  cl::opt<std::string> cluster{"cluster", cl::value_desc("XxYxZ"), cl::init("1"),
                               cl::cat(category),
                               cl::desc("Blocks of a cluster (default: 1)")};
  cl::opt<uint32_t> shared{"shared", cl::value_desc("bytes"), cl::init(0),
                           cl::cat(category),
                           cl::desc("Dynamic shared memory of a block (default: 0)")};
  cl::list<std::string> arguments{"arg", cl::value_desc("argument"), cl::cat(category),
                                  cl::desc("Value of the next parameter; see above")};
  cl::list<std::string> arrays{
      "array", cl::value_desc("name:..."), cl::cat(category),
      cl::desc("Array that is no argument, for @NAME in a struct")};

  cl::opt<PolicyName> policy{
      "policy", cl::cat(category), cl::init(PolicyName::Lazy),
      cl::desc("When asynchronous copies take place:"),
      cl::values(clEnumValN(PolicyName::Lazy, "lazy", "When they are waited for (default)"),
                 clEnumValN(PolicyName::Eager, "eager", "When they are issued"),
                 clEnumValN(PolicyName::Random, "random", "In between, by the seed"),
                 clEnumValN(PolicyName::All, "all",
                            "Each in turn; the results must have the same bits"))};
  cl::opt<uint64_t> seed{"seed", cl::value_desc("n"), cl::cat(category), cl::init(0),
                         cl::desc("Order of warps and blocks; 0: in order (default: 0, "
                                  "for random policies 1)")};
  cl::opt<bool> check{"check", cl::init(true), cl::cat(category),
                      cl::desc("Look for races and the like (default)")};
  cl::opt<bool> noCheck{"no-check", cl::cat(category),
                        cl::desc("Look only for wrong addresses, which is faster")};
  cl::opt<MatrixArithmetic> matrix{
      "matrix", cl::cat(category), cl::init(MatrixArithmetic::H100),
      cl::desc("How products of matrices are added:"),
      cl::values(clEnumValN(MatrixArithmetic::H100, "h100", "As an H100 does (default)"),
                 clEnumValN(MatrixArithmetic::F32, "f32", "In f32, in order"),
                 clEnumValN(MatrixArithmetic::F64, "f64", "In f64, rounded once"))};
  cl::opt<uint32_t> shift{"shift", cl::value_desc("bytes"), cl::init(0), cl::cat(category),
                          cl::desc("Added to the address of dynamic shared memory, a "
                                   "multiple of 128 (default: 0)")};
  cl::opt<uint32_t> resident{"resident", cl::value_desc("n"), cl::init(32),
                             cl::cat(category),
                             cl::desc("Blocks that run at a time (default: 32)")};
  cl::opt<uint32_t> omit{"omit", cl::value_desc("line"), cl::init(0), cl::cat(category),
                         cl::desc("Line of the PTX whose instructions are not executed, to "
                                  "see whether a missing barrier or wait is noticed")};
  cl::opt<uint64_t> maxInstructions{
      "max-instructions", cl::value_desc("n"), cl::init(uint64_t(1) << 40),
      cl::cat(category), cl::desc("Warp instructions after which a launch is given up")};
  cl::opt<uint32_t> maxReports{"max-reports", cl::value_desc("n"), cl::init(32),
                               cl::cat(category),
                               cl::desc("Reports that are printed (default: 32)")};

  cl::list<std::string> prints{"print", cl::value_desc("name"), cl::cat(category),
                               cl::desc("Print an array after the launch")};
  cl::list<std::string> saves{"save", cl::value_desc("name=file"), cl::cat(category),
                              cl::desc("Write an array to a .npy file")};
  cl::list<std::string> expectations{
      "expect", cl::value_desc("name=source"), cl::cat(category),
      cl::desc("Compare an array with a source as of an argument")};
  cl::opt<std::string> tolerance{
      "tolerance", cl::value_desc("a[,r]"), cl::cat(category),
      cl::desc("How far elements may be from those expected: a + r * |expected| "
               "(default: the same bits)")};
  cl::opt<bool> quiet{"quiet", cl::cat(category),
                      cl::desc("Print only what --print and the like ask for, and errors")};
  cl::opt<bool> json{"json", cl::cat(category), cl::desc("Print all as a JSON object")};
  cl::opt<std::string> profile{"profile", cl::value_desc("n"), cl::ValueOptional,
                               cl::cat(category),
                               cl::desc("Print the n lines that were executed most "
                                        "(default: 10)")};

  bool fill(Options &options) const;
};
} // namespace

/// Reads "4x2" or "4,2,1".
static bool readDim3(StringRef option, StringRef text, kvc::emu::Dim3 &dim) {
  SmallVector<StringRef> parts;
  text.split(parts, text.contains(',') ? ',' : 'x');
  bool isRight = parts.size() <= 3;
  for (size_t i = 0; isRight && i < parts.size(); ++i)
    isRight = !parts[i].trim().getAsInteger(10, dim[i]);
  if (!isRight)
    reportError("expected --" + option + " to be up to three numbers such as 4x2x1, got '" +
                text + "'");
  return isRight;
}

static bool readNamed(StringRef option, const cl::list<std::string> &texts,
                      std::vector<NamedText> &result) {
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    if (name.empty() || value.empty()) {
      reportError("expected --" + option + "=name=..., got '" + text + "'");
      return false;
    }
    result.push_back({name.str(), value.str()});
  }
  return true;
}

static bool readTolerance(StringRef text, Tolerance &tolerance) {
  if (text.empty())
    return true;
  auto [absolute, relative] = text.split(',');
  if (!absolute.getAsDouble(tolerance.absolute) && tolerance.absolute >= 0 &&
      (relative.empty() ||
       (!relative.getAsDouble(tolerance.relative) && tolerance.relative >= 0)))
    return true;
  reportError("expected --tolerance to be one or two numbers such as 1e-3,1e-2, got '" +
              text + "'");
  return false;
}

static std::vector<Policy> makePolicies(PolicyName name, uint64_t seed) {
  auto random = [](uint64_t seed) {
    return Policy{"random, seed " + std::to_string(seed), CopyPolicy::Random, seed};
  };
  std::string suffix = seed ? ", seed " + std::to_string(seed) : "";
  switch (name) {
  case PolicyName::Lazy: return {{"lazy" + suffix, CopyPolicy::Lazy, seed}};
  case PolicyName::Eager: return {{"eager" + suffix, CopyPolicy::Eager, seed}};
  case PolicyName::Random: return {random(std::max<uint64_t>(1, seed))};
  case PolicyName::All: break;
  }
  uint64_t first = std::max<uint64_t>(1, seed);
  return {{"lazy", CopyPolicy::Lazy, 0},
          {"eager", CopyPolicy::Eager, 0},
          {"lazy, seed " + std::to_string(first), CopyPolicy::Lazy, first},
          random(first),
          random(first + 1)};
}

bool CommandLine::fill(Options &options) const {
  options.input = input;
  options.output = output;
  options.entry = entry;
  options.listsKernels = list;
  options.listsInstructions = instructions;
  if (input.empty() && !instructions) {
    reportError("expected a PTX file, or - for stdin; --help tells more");
    return false;
  }
  options.config.dynamicShared = shared;
  options.arguments.assign(arguments.begin(), arguments.end());
  options.arrays.assign(arrays.begin(), arrays.end());
  options.policies = makePolicies(policy, seed);
  options.launch.matrix = matrix;
  options.launch.check = check && !noCheck;
  options.launch.sharedShift = shift;
  options.launch.residentBlocks = resident;
  options.launch.omittedLine = omit;
  options.launch.maxInstructions = maxInstructions;
  options.launch.maxReports = maxReports;
  options.prints.assign(prints.begin(), prints.end());
  options.json = json;
  options.quiet = quiet;
  if (profile.getNumOccurrences()) {
    StringRef text = profile.getValue();
    options.profileLines = 10;
    if (!text.empty() && (text.getAsInteger(10, options.profileLines) ||
                          options.profileLines == 0)) {
      reportError("expected --profile to be a number of lines, got '" + text + "'");
      return false;
    }
  }
  return readDim3("grid", grid, options.config.grid) &&
         readDim3("block", block, options.config.block) &&
         readDim3("cluster", cluster, options.config.cluster) &&
         readNamed("save", saves, options.saves) &&
         readNamed("expect", expectations, options.expectations) &&
         readTolerance(tolerance, options.tolerance);
}

/// Frees a name that an option inside LLVM's libraries has.
static void freeNames() {
  auto &options = cl::getRegisteredOptions();
  for (StringRef name : {"entry", "list", "instructions", "grid", "block", "cluster", "shared",
                         "arg", "array", "policy", "seed", "check", "no-check", "matrix", "shift",
                         "resident", "omit", "max-instructions", "max-reports", "print", "save",
                         "expect", "tolerance", "quiet", "json", "profile", "o"})
    if (auto option = options.find(name); option != options.end())
      option->second->removeArgument();
}

std::optional<Options> kvcemu::parseOptions(int argc, char **argv) {
  freeNames();
  static CommandLine commandLine; // cl keeps pointers to it
  cl::HideUnrelatedOptions(commandLine.category);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "kvc " KVC_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  Options options;
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &errs()) ||
      !commandLine.fill(options))
    return std::nullopt;
  return options;
}
