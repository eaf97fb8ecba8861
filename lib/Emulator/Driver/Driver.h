//===- Driver.h - state of the emulated driver ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device, whose memory all contexts share. Everything is behind one mutex;
// only the stack of contexts belongs to a thread. Work is done before the call
// that asks for it returns; what went wrong in a kernel is kept with its stream
// until the next call that waits for that stream.
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_DRIVER_DRIVER_H
#define KVC_LIB_EMULATOR_DRIVER_DRIVER_H

#include "Cuda.h"
#include "kvc/Emulator/Emulator.h"

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace kvc::emu::cuda {

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

inline constexpr uint64_t kDeviceBytes = uint64_t(80) << 30;
inline constexpr int kVersion = 13000; ///< Of the driver.
inline constexpr uint32_t kMaxGridX = 0x7FFFFFFF, kMaxGridYZ = 65535;
inline constexpr uint32_t kMaxBlockXY = 1024, kMaxBlockZ = 64;
inline constexpr uint32_t kThreadsPerProcessor = 2048;
inline constexpr uint32_t kBlocksPerProcessor = 32;
inline constexpr uint32_t kRegistersPerProcessor = 65536;
inline constexpr uint32_t kSharedPerProcessor = 228 * 1024;
inline constexpr uint32_t kReservedShared = 1024; ///< Per block.
inline constexpr int kGreatestPriority = -5;

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

struct Context;

/// Launches of a stream that was captured, in their order.
struct Graph {
  struct Launch {
    FunctionHandle function = nullptr;
    LaunchConfig config;
    bool cooperative = false;
  };
  Context *context = nullptr;
  std::vector<Launch> launches;
};

struct Stream {
  Context *context = nullptr;
  uint32_t flags = 0;
  int priority = 0;
  /// What went wrong in a kernel and was not yet told.
  Result pending = Success;
  /// What was captured so far; null if nothing is being captured.
  std::unique_ptr<Graph> capture;
  CaptureMode captureMode = CaptureMode::Global;
  bool captureIsSpoilt = false;
};

struct Context {
  ContextHandle handle = nullptr;
  bool primary = false;
  uint32_t flags = 0;
  uint32_t apiVersion = 3020;
  Stream defaultStream;
  size_t limits[3] = {1024, 1 << 20, 8 << 20}; ///< By Limit.
};

struct LoadedModule {
  Context *context = nullptr;
  std::unique_ptr<Module> code;
  int architecture = 0; ///< Of `.target`, such as 80.
  std::map<const Kernel *, FunctionHandle> functions;
};

struct Function {
  ModuleHandle module = nullptr;
  const LoadedModule *owner = nullptr;
  const Kernel *kernel = nullptr;
  uint32_t maxDynamicShared = 0;
  int carveout = -1;
};

struct Event {
  Context *context = nullptr;
  uint32_t flags = 0;
  bool recorded = false;
  uint64_t time = 0;             ///< Virtual, in microseconds.
  StreamHandle stream = nullptr; ///< Where it was recorded.
};

/// An allocation on the device or the host.
struct Buffer {
  Context *context = nullptr;
  uint64_t size = 0;
  uint64_t id = 0;
  uint32_t flags = 0;
};

/// Objects by their handles. A handle is never given twice, so that an old one
/// is always told from a new one.
template <typename T, typename Handle>
class Table {
public:
  Handle add(std::unique_ptr<T> object) {
    static uintptr_t last = uintptr_t(0x4B5643) << 24;
    last += 16;
    auto handle = reinterpret_cast<Handle>(last);
    objects[handle] = std::move(object);
    return handle;
  }
  T *find(Handle handle) const {
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : found->second.get();
  }
  bool remove(Handle handle) { return objects.erase(handle) != 0; }
  /// Removes what belongs to a context that ends.
  template <typename Condition>
  void removeIf(Condition condition) {
    for (auto it = objects.begin(); it != objects.end();)
      it = condition(*it->second) ? objects.erase(it) : std::next(it);
  }

  template <typename Function>
  void forEach(Function function) {
    for (auto &entry : objects)
      function(*entry.second);
  }

private:
  std::map<Handle, std::unique_ptr<T>> objects;
};

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

struct Driver {
  std::mutex mutex;
  bool initialised = false;
  std::unique_ptr<Memory> memory;

  Table<Context, ContextHandle> contexts;
  Table<LoadedModule, ModuleHandle> modules;
  Table<Function, FunctionHandle> functions;
  Table<Stream, StreamHandle> streams;
  Table<Event, EventHandle> events;
  Table<Graph, GraphHandle> graphs;
  Table<Graph, GraphExecHandle> graphExecs;
  std::map<DevicePointer, Buffer> allocations;
  std::map<uintptr_t, Buffer> hostAllocations;
  uint64_t numAllocations = 0;

  ContextHandle primary = nullptr;
  uint32_t primaryUsers = 0;
  uint32_t primaryFlags = 0;

  /// Advances by a microsecond with each operation of a stream, so that
  /// elapsed times are the same in each run. They say nothing of speed.
  uint64_t time = 0;

  // What kvc-emulator/driver.h hands out.
  std::string options; ///< Over those of the environment.
  std::vector<std::string> reports;
  uint64_t numReports = 0;
  uint64_t numLaunches = 0;
  Counters counters;

  /// The context of the calling thread.
  Result getCurrent(Context *&context);
  /// A stream of `context`, or one of the streams that always exist.
  Stream *findStream(Context &context, StreamHandle handle);
  /// Ends a context and all that belongs to it.
  void destroy(ContextHandle handle);
};

/// Never destroyed, because threads may outlive the program's end.
Driver &getDriver();

/// Contexts of the calling thread; the last is current.
std::vector<ContextHandle> &getContextStack();

/// Returns and forgets what went wrong in the kernels of a stream.
inline Result takePending(Stream &stream) {
  Result result = stream.pending;
  stream.pending = Success;
  return result;
}
/// The same for all streams of a context.
Result takePending(Driver &driver, Context &context);

/// Runs one launch, whose arguments have been checked, on a stream.
Result runLaunch(Driver &driver, const Graph::Launch &launch, Stream &stream);

/// Success, unless the stream is being captured: then that is spoilt, and the result
/// is `refusal`. For what a graph cannot hold, or that waits.
Result refuseCapture(Stream &stream, Result refusal);
/// The same for what waits for all streams of a context.
Result refuseCapture(Driver &driver, Context &context);

/// Runs `body(driver)` with the mutex held.
template <typename Body>
Result call(Body body) noexcept {
  try {
    Driver &driver = getDriver();
    std::lock_guard<std::mutex> lock(driver.mutex);
    if (!driver.initialised)
      return NotInitialized;
    return body(driver);
  } catch (const std::bad_alloc &) {
    return OutOfMemory;
  } catch (...) {
    return Unknown;
  }
}

/// Runs `body(driver, context)` with the context of the calling thread.
template <typename Body>
Result callInContext(Body body) noexcept {
  return call([&](Driver &driver) -> Result {
    Context *context = nullptr;
    if (Result result = driver.getCurrent(context))
      return result;
    return body(driver, *context);
  });
}

} // namespace kvc::emu::cuda

#endif // KVC_LIB_EMULATOR_DRIVER_DRIVER_H
