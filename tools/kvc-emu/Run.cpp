//===- Run.cpp - launches of a kernel -------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Run.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace kvcemu;
using namespace kvc;
using llvm::StringRef;
using llvm::Twine;

std::unique_ptr<emu::Module> kvcemu::loadModule(std::string_view text, StringRef file,
                                                emu::Memory &memory) {
  std::string log;
  std::unique_ptr<emu::Module> module = emu::Module::load(text, memory, log);
  if (!module)
    llvm::errs() << file << ":" << log << "\n";
  return module;
}

/// The kernel that is asked for; null after a message.
static const emu::Kernel *findKernel(const emu::Module &module, const Options &options) {
  const std::vector<emu::Kernel> &kernels = module.getKernels();
  std::string names = llvm::join(
      llvm::map_range(kernels, [](const emu::Kernel &kernel) { return kernel.name; }), ", ");
  if (options.entry.empty()) {
    if (kernels.size() == 1)
      return &kernels.front();
    reportError(kernels.empty()
                    ? Twine("expected a kernel (.entry) in the file, got none")
                    : "expected --entry to name one of the kernels " + Twine(names));
    return nullptr;
  }
  const emu::Kernel *kernel = module.findKernel(options.entry);
  if (!kernel)
    reportError("expected --entry to name a kernel of the file (" + Twine(names) + "), got '" +
                options.entry + "'");
  return kernel;
}

/// Prints a message if the arguments do not fit the parameters.
static bool checkArguments(const emu::Kernel &kernel, const Job &job) {
  if (job.arguments.size() != kernel.parameters.size()) {
    std::string list;
    for (const emu::Parameter &parameter : kernel.parameters)
      list += (list.empty() ? ": " : ", ") + parameter.name + " of " +
              std::to_string(parameter.size);
    reportError("expected " + Twine(kernel.parameters.size()) + " arguments of '" + kernel.name +
                "' (bytes" + (list.empty() ? ": none" : list) + "), got " +
                Twine(job.arguments.size()));
    return false;
  }
  for (size_t i = 0; i < job.arguments.size(); ++i) {
    const emu::Parameter &parameter = kernel.parameters[i];
    if (job.arguments[i].getSize() == parameter.size)
      continue;
    reportError("expected " + Twine(parameter.size) + " bytes for parameter " + Twine(i + 1) +
                ", '" + parameter.name + "', got " + Twine(job.arguments[i].getSize()) +
                " by '" + job.arguments[i].text + "'");
    return false;
  }
  return true;
}

static std::optional<Run> runOnce(const Job &job, const Policy &policy) {
  const Options &options = *job.options;
  emu::Memory memory;
  if (!memory.getCapacity()) {
    reportError("cannot reserve the addresses of a device's memory");
    return std::nullopt;
  }
  auto module = loadModule(job.text, job.file, memory);
  const emu::Kernel *kernel = module ? findKernel(*module, options) : nullptr;
  if (!kernel || !checkArguments(*kernel, job))
    return std::nullopt;
  std::vector<uint64_t> addresses;
  for (const Array &array : job.arrays) {
    // An array without elements has an address all the same.
    uint64_t address = memory.allocate(std::max<size_t>(1, array.bytes.size()));
    if (!address) {
      reportError("no device memory for the array '" + array.name + "'");
      return std::nullopt;
    }
    addresses.push_back(address);
    if (!array.isWritten)
      continue;
    std::memcpy(emu::Memory::getBytes(address), array.bytes.data(), array.bytes.size());
    memory.markWritten(address, array.bytes.size());
  }
  emu::LaunchConfig config = options.config;
  config.parameters.resize(kernel->parameterBytes);
  for (size_t i = 0; i < job.arguments.size(); ++i)
    storeArgument(job.arguments[i], addresses,
                  config.parameters.data() + kernel->parameters[i].offset);
  emu::LaunchOptions launchOptions = options.launch;
  launchOptions.copies = policy.copies;
  launchOptions.seed = policy.seed;
  Run run;
  run.policy = policy;
  run.result = emu::launch(memory, *kernel, config, launchOptions);
  std::fflush(stdout); // what the kernel printed
  bool isRefused = !run.result.finished && run.result.reports.empty() &&
                   run.result.numReports == 0;
  if (isRefused) {
    reportError("cannot launch '" + kernel->name + "': " + run.result.error);
    return std::nullopt;
  }
  for (size_t i = 0; i < job.arrays.size(); ++i) {
    const auto *bytes = reinterpret_cast<const char *>(emu::Memory::getBytes(addresses[i]));
    run.arrays.emplace_back(bytes, bytes + job.arrays[i].bytes.size());
  }
  return run;
}

std::optional<std::vector<Run>> kvcemu::run(const Job &job) {
  std::vector<Run> runs;
  for (const Policy &policy : job.options->policies) {
    std::optional<Run> run = runOnce(job, policy);
    if (!run)
      return std::nullopt;
    runs.push_back(std::move(*run));
  }
  return runs;
}
