//===- kvc-emu.cpp - runs a kernel of a PTX file on the CPU ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Print.h"

#include "../Common/Npy.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

#include <unistd.h>

using namespace kvcemu;
using namespace kvc;
using llvm::StringRef;
using llvm::Twine;

/// Statuses that the process ends with.
enum { kRight = 0, kWrong = 1, kUnusable = 2 };

static bool report(llvm::Error error) {
  if (!error)
    return false;
  reportError(llvm::toString(std::move(error)));
  return true;
}

/// Reads arrays and arguments. Returns false after a message.
static bool readArguments(const Options &options, Job &job) {
  for (StringRef text : options.arrays) {
    Array array;
    if (report(parseArray(text, unsigned(job.arrays.size()), array)))
      return false;
    if (findArray(job.arrays, array.name) >= 0) {
      reportError("expected one array '" + array.name + "', got another");
      return false;
    }
    job.arrays.push_back(std::move(array));
  }
  for (StringRef text : options.arguments)
    if (report(parseArgument(text, job.arrays, job.arguments.emplace_back())))
      return false;
  return true;
}

/// The array that an option names; -1 after a message.
static int findNamed(const Job &job, StringRef option, StringRef name) {
  int index = findArray(job.arrays, name);
  if (index < 0)
    reportError("expected --" + option + " to name an array of the arguments, got '" + name +
                "'");
  return index;
}

static bool checkNames(const Job &job) {
  const Options &options = *job.options;
  return llvm::all_of(options.prints, [&](const std::string &name) {
           return findNamed(job, "print", name) >= 0;
         }) &&
         llvm::all_of(options.saves, [&](const NamedText &save) {
           return findNamed(job, "save", save.name) >= 0;
         }) &&
         llvm::all_of(options.expectations, [&](const NamedText &expectation) {
           return findNamed(job, "expect", expectation.name) >= 0;
         });
}

static std::string describe(const Array &expected, llvm::ArrayRef<char> bytes,
                            const Difference &difference) {
  const ElementType &type = *expected.type;
  int64_t first = difference.first;
  std::string text = "expected " + printElement(type, expected.getElement(first)) + " at " +
                     std::to_string(first) + ", got " +
                     printElement(type, bytes.data() + first * type.bytes) + "; " +
                     std::to_string(difference.count) + " of " +
                     std::to_string(expected.getNumElements()) + " elements differ";
  char largest[40];
  std::snprintf(largest, sizeof(largest), ", by at most %.3g", difference.largest);
  return text + largest;
}

/// Adds what is not as --expect says; returns false after a message.
static bool compareExpected(const Job &job, const std::vector<Run> &runs,
                            std::vector<Complaint> &complaints) {
  for (const NamedText &expectation : job.options->expectations) {
    int index = findArray(job.arrays, expectation.name);
    Array expected;
    expected.name = expectation.name;
    expected.type = job.arrays[index].type;
    expected.shape = job.arrays[index].shape;
    expected.bytes.resize(job.arrays[index].bytes.size());
    if (report(fillArray(expectation.text, unsigned(index), expected)))
      return false;
    const std::vector<char> &bytes = runs.front().arrays[index];
    Difference difference = compare(expected, bytes, job.options->tolerance);
    if (difference.count)
      complaints.push_back({expectation.name,
                            "array '" + expectation.name + "': " +
                                describe(expected, bytes, difference),
                            difference});
  }
  return true;
}

/// Adds what differs between policies.
static void comparePolicies(const Job &job, const std::vector<Run> &runs,
                            std::vector<Complaint> &complaints) {
  for (size_t i = 0; i < job.arrays.size(); ++i) {
    Array first = job.arrays[i];
    first.bytes = runs.front().arrays[i];
    for (const Run &run : llvm::drop_begin(runs)) {
      Difference difference = compare(first, run.arrays[i], {});
      if (!difference.count)
        continue;
      complaints.push_back({first.name,
                            "array '" + first.name + "' under policy " + run.policy.name +
                                ", as under " + runs.front().policy.name + ": " +
                                describe(first, run.arrays[i], difference),
                            difference});
    }
  }
}

/// Whether the line to leave out was met: one that is not shows nothing.
static bool checkOmitted(const Options &options, const std::vector<Run> &runs) {
  uint32_t line = options.launch.omittedLine;
  bool isMet = llvm::any_of(runs, [&](const Run &run) {
    return !run.result.finished ||
           llvm::any_of(run.result.lines, [&](const emu::LineCount &count) {
             return count.line == line;
           });
  });
  if (line && !isMet)
    reportError("expected --omit to name a line that the kernel executes, got " +
                llvm::Twine(line));
  return !line || isMet;
}

static int runJob(Job &job, llvm::raw_ostream &os) {
  const Options &options = *job.options;
  if (!readArguments(options, job) || !checkNames(job))
    return kUnusable;
  std::optional<std::vector<Run>> runs = run(job);
  if (!runs || !checkOmitted(options, *runs))
    return kUnusable;
  std::vector<Complaint> complaints;
  if (!compareExpected(job, *runs, complaints))
    return kUnusable;
  comparePolicies(job, *runs, complaints);

  bool isRight = complaints.empty();
  for (const Run &run : *runs)
    isRight &= run.result.finished && run.result.numReports == 0;
  printReports(*runs);
  for (const Complaint &complaint : complaints)
    reportError(complaint.message);
  const Run &first = runs->front();
  for (StringRef name : options.prints) {
    int index = findArray(job.arrays, name);
    (options.json ? llvm::errs() : os)
        << printArray(job.arrays[index], first.arrays[index]) << "\n";
  }
  for (const NamedText &save : options.saves) {
    int index = findArray(job.arrays, save.name);
    if (report(saveArray(save.text, job.arrays[index], first.arrays[index])))
      return kUnusable;
  }
  if (options.json)
    printJSON(job, *runs, complaints, os);
  else
    printCounters(job, first, os);
  return isRight ? kRight : kWrong;
}

static int runTool(const Options &options, llvm::raw_ostream &os) {
  if (options.listsInstructions) {
    printInstructions(os);
    return kRight;
  }
  std::string message;
  auto input = mlir::openInputFile(options.input, &message);
  if (!input) {
    reportError(message);
    return kUnusable;
  }
  Job job;
  job.text = std::string_view(input->getBufferStart(), input->getBufferSize());
  job.file = options.input == "-" ? "<stdin>" : options.input;
  job.options = &options;
  if (!options.listsKernels)
    return runJob(job, os);
  emu::Memory memory;
  auto module = loadModule(job.text, job.file, memory);
  if (!module)
    return kUnusable;
  printKernels(*module, os);
  return kRight;
}

/// Ends the program where LLVM would print a backtrace; allocates nothing.
static void endWithoutMemory(void *, const char *, bool) {
  static constexpr char kMessage[] = "kvc-emu: error: out of memory\n";
  (void)!::write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  ::_exit(kUnusable);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::install_bad_alloc_error_handler(endWithoutMemory);
  std::optional<Options> options = parseOptions(argc, argv);
  if (!options)
    return kUnusable;
  std::string message;
  auto output = mlir::openOutputFile(options->output, &message);
  if (!output) {
    reportError(message);
    return kUnusable;
  }
  int status = runTool(*options, output->os());
  output->os().flush();
  if (std::error_code error = output->os().error()) {
    output->os().clear_error(); // or else the destructor ends the process
    reportError("cannot write " +
                (options->output == "-" ? "to stdout" : "'" + options->output + "'") +
                ": " + error.message());
    return kUnusable;
  }
  if (status != kUnusable)
    output->keep();
  return status;
}
