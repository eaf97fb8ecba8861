//===- Device.cpp - devices to run on -------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Device.h"

#include "MachineRates.h"

#include "kvc/Target/LLVM/CPUTarget.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

#include <array>

using namespace kvcrun;
using namespace mlir;

static constexpr StringLiteral kEmulatorFile = "libkvc_emulator_cuda.so";
/// How the emulator's name begins.
static constexpr StringLiteral kEmulatorName = "kvc emulator";

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// Finds the emulator's library: in the folder of libraries beside that of this
/// program, or beside the program. Fails with the reason in `error`.
static FailureOr<std::string> findEmulator(std::string &error) {
  static int anchor;
  std::string program = llvm::sys::fs::getMainExecutable(/*argv0=*/nullptr, &anchor);
  StringRef folder = llvm::sys::path::parent_path(program);
  SmallString<256> inLib(llvm::sys::path::parent_path(folder)), beside(folder);
  llvm::sys::path::append(inLib, "lib", kEmulatorFile);
  llvm::sys::path::append(beside, kEmulatorFile);
  for (const SmallString<256> &path : {inLib, beside})
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  error = llvm::formatv("expected the emulator at '{0}' or '{1}', found neither", inLib.str(),
                        beside.str());
  return failure();
}

/// The library as the runtime takes it, or null for its default.
static FailureOr<std::string> findLibrary(const DeviceName &name, std::string &error) {
  switch (name.kind) {
  case DeviceName::Emulator:
    return findEmulator(error);
  case DeviceName::CUDA:
    return std::string();
  default:
    return name.library;
  }
}

static const char *orNull(const std::string &library) {
  return library.empty() ? nullptr : library.c_str();
}

//===----------------------------------------------------------------------===//
// Open devices
//===----------------------------------------------------------------------===//

std::unique_ptr<Device> Device::open(const DeviceName &name) {
  std::string error;
  auto fail = [&](const Twine &reason) -> std::unique_ptr<Device> {
    (void)reportError("cannot run on device '" + name.text + "': " + reason);
    return nullptr;
  };
  FailureOr<std::string> library = findLibrary(name, error);
  if (failed(library))
    return fail(error);
  auto result = std::make_unique<Device>();
  kvc_device_t *device = nullptr;
  kvc_stream_t *stream = nullptr;
  if (kvc_device_create_cuda(orNull(*library), name.ordinal, &device) != KVC_STATUS_OK)
    return fail(kvc_last_message());
  result->device.reset(device);
  if (kvc_device_info(device, &result->info) != KVC_STATUS_OK ||
      kvc_stream_create(device, &stream) != KVC_STATUS_OK)
    return fail(kvc_last_message());
  result->stream.reset(stream);
  return result;
}

bool Device::isEmulator() const { return getName().starts_with(kEmulatorName); }

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// A row of the table; with a reason, the device is not there.
struct Row {
  std::array<std::string, 6> cells; ///< As in the title.
  std::string reason;
};
} // namespace

static std::string printGigabytes(uint64_t bytes) {
  return llvm::formatv("{0:f1} GB", bytes * 1e-9);
}

static Row describeCPU() {
  StreamHandle all = makeStream(0);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  FailureOr<kvc::CPUTarget> host = kvc::resolveCPUTarget("", "", "", emitError);
  std::optional<uint64_t> memory = getAvailableMemory();
  return {{"cpu", "cpu", llvm::sys::getHostCPUName().str(),
           succeeded(host) ? kvc::stringifyCPUTier(host->tier).str() : "-",
           memory ? printGigabytes(*memory) : "-",
           all ? std::to_string(kvc_stream_num_workers(all.get())) : "-"},
          ""};
}

/// Adds the devices of one driver, called `name`, `name`:1, ...
static void describeDriver(StringRef name, StringRef kind, const std::string &library,
                           std::vector<Row> &rows) {
  int32_t count = 0;
  auto addReason = [&](StringRef device, StringRef reason) {
    rows.push_back({{device.str(), kind.str()}, reason.str()});
  };
  if (kvc_device_count(orNull(library), &count) != KVC_STATUS_OK)
    return addReason(name, kvc_last_message());
  if (count == 0)
    return addReason(name, "the driver offers no device");
  for (int32_t ordinal = 0; ordinal < count; ++ordinal) {
    std::string device = name.str() + (ordinal > 0 ? ":" + std::to_string(ordinal) : "");
    kvc_device_info_t info;
    if (kvc_device_describe(orNull(library), ordinal, &info) != KVC_STATUS_OK) {
      addReason(device, kvc_last_message());
      continue;
    }
    rows.push_back({{device, kind.str(), info.name,
                     llvm::formatv("{0}.{1}", info.compute_major, info.compute_minor),
                     printGigabytes(info.total_memory),
                     std::to_string(info.num_multiprocessors)},
                    ""});
  }
}

void kvcrun::printDevices(llvm::raw_ostream &os) {
  std::vector<Row> rows = {
      {{"device", "kind", "name", "capability", "memory", "multiprocessors"}, ""},
      describeCPU()};
  std::string error;
  FailureOr<std::string> emulator = findEmulator(error);
  if (succeeded(emulator))
    describeDriver("emulator", "emulator", *emulator, rows);
  else
    rows.push_back({{"emulator", "emulator"}, error});
  describeDriver("cuda", "gpu", /*library=*/"", rows);

  std::array<size_t, 6> widths = {};
  for (const Row &row : rows)
    for (auto [width, cell] : llvm::zip(widths, row.cells))
      width = std::max(width, cell.size());
  for (const Row &row : rows) {
    std::string line;
    llvm::raw_string_ostream text(line);
    size_t shown = row.reason.empty() ? row.cells.size() : 2;
    for (size_t i = 0; i < shown; ++i)
      text << llvm::left_justify(row.cells[i], widths[i]) << "  ";
    if (!row.reason.empty())
      text << "not available: " << row.reason;
    os << StringRef(line).rtrim() << "\n";
  }
}
