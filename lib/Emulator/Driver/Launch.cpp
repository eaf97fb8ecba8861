//===- Launch.cpp - launches ----------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"
#include "Occupancy.h"
#include "Options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

/// Lines of reports that are kept for the caller; the rest is only printed.
static constexpr size_t kMaxKept = 10000;

//===----------------------------------------------------------------------===//
// What is launched
//===----------------------------------------------------------------------===//

static Result checkCluster(const LaunchConfig &config) {
  uint64_t blocks = 1;
  for (unsigned i = 0; i != 3; ++i) {
    uint32_t size = config.cluster[i];
    if (size == 0 || size > kMaxClusterBlocks || config.grid[i] % size != 0)
      return InvalidClusterSize;
    blocks *= size;
  }
  return blocks <= kMaxClusterBlocks ? Success : InvalidClusterSize;
}

static Result checkShape(const Function &function, const LaunchConfig &config) {
  const Dim3 &grid = config.grid, &block = config.block;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || block[0] == 0 ||
      block[1] == 0 || block[2] == 0)
    return InvalidValue;
  if (grid[0] > kMaxGridX || grid[1] > kMaxGridYZ || grid[2] > kMaxGridYZ)
    return InvalidValue;
  if (block[0] > kMaxBlockXY || block[1] > kMaxBlockXY || block[2] > kMaxBlockZ)
    return InvalidValue;
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  if (threads > kMaxThreads || threads > function.kernel->maxThreads)
    return InvalidValue;
  const Dim3 &required = function.kernel->requiredBlock;
  if (required[0] && block != required)
    return InvalidValue;
  if (config.dynamicShared > function.maxDynamicShared)
    return InvalidValue;
  return checkCluster(config);
}

/// Copies the parameters from one pointer each.
static Result packParameters(const Kernel &kernel, void **parameters,
                             std::vector<uint8_t> &buffer) {
  if (kernel.parameters.empty())
    return Success;
  if (!parameters)
    return InvalidValue;
  for (size_t i = 0; i != kernel.parameters.size(); ++i) {
    if (!parameters[i])
      return InvalidValue;
    const Parameter &parameter = kernel.parameters[i];
    std::memcpy(buffer.data() + parameter.offset, parameters[i],
                parameter.size);
  }
  return Success;
}

/// Copies the parameters from the buffer that `extra` names.
static Result unpackExtra(const Kernel &kernel, void **extra,
                          std::vector<uint8_t> &buffer) {
  const void *from = nullptr;
  const size_t *size = nullptr;
  for (; *extra; extra += 2) {
    auto key = reinterpret_cast<uintptr_t>(extra[0]);
    if (key == kExtraBuffer)
      from = extra[1];
    else if (key == kExtraSize)
      size = static_cast<const size_t *>(extra[1]);
    else
      return InvalidValue;
  }
  if (!from || !size)
    return kernel.parameterBytes == 0 ? Success : InvalidValue;
  // A structure in C++ may end in padding that the parameters do not have.
  if (*size < kernel.parameterBytes || *size - kernel.parameterBytes >= 16)
    return InvalidValue;
  std::memcpy(buffer.data(), from, kernel.parameterBytes);
  return Success;
}

static Result readAttributes(const LaunchParameters &launch, Dim3 &cluster,
                             bool &cooperative) {
  if (launch.numAttributes && !launch.attributes)
    return InvalidValue;
  for (uint32_t i = 0; i != launch.numAttributes; ++i) {
    const LaunchAttribute &attribute = launch.attributes[i];
    if (attribute.id < 0 || attribute.id >= kNumLaunchAttributes)
      return InvalidValue;
    switch (LaunchAttributeId(attribute.id)) {
    case LaunchAttributeId::Cooperative:
      cooperative = attribute.value.cooperative != 0;
      break;
    case LaunchAttributeId::ClusterDimension:
      std::copy_n(attribute.value.cluster, 3, cluster.begin());
      break;
    case LaunchAttributeId::PreferredCluster:
      for (uint32_t size : attribute.value.cluster)
        if (size > 1)
          return NotSupported;
      break;
    default:
      // Priorities, policies and overlap make no difference to results.
      break;
    }
  }
  return Success;
}

//===----------------------------------------------------------------------===//
// How it ends
//===----------------------------------------------------------------------===//

static Result getResult(ReportKind kind) {
  switch (kind) {
  case ReportKind::OutOfBounds:
    return IllegalAddress;
  case ReportKind::Misaligned:
    return MisalignedAddress;
  case ReportKind::Deadlock:
  case ReportKind::Limit:
    return LaunchTimeout;
  default:
    return LaunchFailed;
  }
}

static Result getResult(const LaunchResult &result) {
  // What a device would notice comes before what only the emulator does.
  for (const Report &report : result.reports)
    if (getResult(report.kind) != LaunchFailed)
      return getResult(report.kind);
  bool failed = !result.finished || result.numReports != 0;
  return failed ? LaunchFailed : Success;
}

static void keepReport(Driver &driver, const std::string &line) {
  std::fprintf(stderr, "kvc emulator: %s\n", line.c_str());
  if (driver.reports.size() < kMaxKept)
    driver.reports.push_back(line);
}

static void tell(Driver &driver, const Kernel &kernel,
                 const LaunchResult &result) {
  // A report stands for all of its kind at its line.
  uint64_t told = 0;
  for (const Report &report : result.reports) {
    keepReport(driver, report.print());
    told += report.count;
  }
  driver.numReports += result.numReports;
  if (result.numReports > told)
    keepReport(driver, kernel.name + ": " +
                           std::to_string(result.numReports - told) +
                           " more faults");
  if (!result.finished && result.reports.empty()) {
    keepReport(driver, kernel.name + ": error: " + result.error);
    ++driver.numReports;
  }
}

/// Adds a line to the file of the user's choice.
static void writeCounters(const std::string &path, const Kernel &kernel,
                          const LaunchConfig &config,
                          const Counters &counters) {
  auto list = [](const Dim3 &size) {
    return "[" + std::to_string(size[0]) + ", " + std::to_string(size[1]) +
           ", " + std::to_string(size[2]) + "]";
  };
  std::ofstream file(path, std::ios::app);
  file << "{\"kernel\": \"" << kernel.name
       << "\", \"grid\": " << list(config.grid)
       << ", \"block\": " << list(config.block)
       << ", \"cluster\": " << list(config.cluster)
       << ", \"dynamic_shared\": " << config.dynamicShared
       << ", \"counters\": " << counters.toJSON() << "}\n";
  file.flush();
  if (!file)
    std::fprintf(stderr,
                 "kvc emulator: error: expected counters=%s to be a file that "
                 "can be written\n",
                 path.c_str());
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

Result cuda::runLaunch(Driver &driver, const Graph::Launch &launch,
                       Stream &stream) {
  const Function *function = driver.functions.find(launch.function);
  if (!function)
    return InvalidHandle;
  const Kernel &kernel = *function->kernel;
  const LaunchConfig &config = launch.config;
  Options options;
  if (!readOptions(driver, options))
    return InvalidValue;
  if (launch.cooperative) {
    uint64_t blocks =
        uint64_t(config.grid[0]) * config.grid[1] * config.grid[2];
    uint32_t threads = config.block[0] * config.block[1] * config.block[2];
    uint64_t room = uint64_t(options.processors) *
                    getResidentBlocks(*function, threads, config.dynamicShared);
    if (blocks > room)
      return CooperativeLaunchTooLarge;
    options.launch.residentBlocks =
        std::max(options.launch.residentBlocks, uint32_t(blocks));
  }

  LaunchResult result =
      kvc::emu::launch(*driver.memory, kernel, config, options.launch);
  ++driver.time;
  ++driver.numLaunches;
  driver.counters += result.counters;
  if (!options.countersFile.empty())
    writeCounters(options.countersFile, kernel, config, result.counters);
  tell(driver, kernel, result);
  // The caller learns it when it waits; only the first counts.
  if (stream.pending == Success)
    stream.pending = getResult(result);
  return Success;
}

static Result launchKernel(Driver &driver, Context &context,
                           const LaunchParameters &parameters,
                           FunctionHandle handle, void **kernelParameters,
                           void **extra) {
  Function *function = driver.functions.find(handle);
  Stream *stream = driver.findStream(context, parameters.stream);
  if (!function || !stream)
    return InvalidHandle;
  if (stream->context != &context || function->owner->context != &context)
    return InvalidHandle;
  Graph::Launch launch;
  launch.function = handle;
  LaunchConfig &config = launch.config;
  if (Result result =
          readAttributes(parameters, config.cluster, launch.cooperative))
    return result;

  const Kernel &kernel = *function->kernel;
  std::copy_n(parameters.grid, 3, config.grid.begin());
  std::copy_n(parameters.block, 3, config.block.begin());
  config.dynamicShared = parameters.dynamicShared;
  if (Result result = checkShape(*function, config))
    return result;
  config.parameters.resize(kernel.parameterBytes);
  if (kernelParameters && extra)
    return InvalidValue;
  Result packed =
      extra ? unpackExtra(kernel, extra, config.parameters)
            : packParameters(kernel, kernelParameters, config.parameters);
  if (packed != Success)
    return packed;
  if (!stream->capture)
    return runLaunch(driver, launch, *stream);
  if (stream->captureIsSpoilt)
    return StreamCaptureInvalidated;
  stream->capture->launches.push_back(std::move(launch));
  return Success;
}

Result cuda::cuLaunchKernelEx(const LaunchParameters *parameters,
                              FunctionHandle function, void **kernelParameters,
                              void **extra) {
  return callInContext([&](Driver &driver, Context &context) {
    return parameters ? launchKernel(driver, context, *parameters, function,
                                     kernelParameters, extra)
                      : InvalidValue;
  });
}

Result cuda::cuLaunchKernel(FunctionHandle function, uint32_t gridX,
                            uint32_t gridY, uint32_t gridZ, uint32_t blockX,
                            uint32_t blockY, uint32_t blockZ,
                            uint32_t dynamicShared, StreamHandle stream,
                            void **parameters, void **extra) {
  LaunchParameters launch = {{gridX, gridY, gridZ},
                             {blockX, blockY, blockZ},
                             dynamicShared,
                             stream,
                             nullptr,
                             0};
  return cuLaunchKernelEx(&launch, function, parameters, extra);
}

Result cuda::cuLaunchCooperativeKernel(FunctionHandle function, uint32_t gridX,
                                       uint32_t gridY, uint32_t gridZ,
                                       uint32_t blockX, uint32_t blockY,
                                       uint32_t blockZ, uint32_t dynamicShared,
                                       StreamHandle stream, void **parameters) {
  LaunchAttribute attribute = {};
  attribute.id = int32_t(LaunchAttributeId::Cooperative);
  attribute.value.cooperative = 1;
  LaunchParameters launch = {{gridX, gridY, gridZ},
                             {blockX, blockY, blockZ},
                             dynamicShared,
                             stream,
                             &attribute,
                             1};
  return cuLaunchKernelEx(&launch, function, parameters, nullptr);
}
