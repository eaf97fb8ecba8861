//===- Driver.cpp - state of the emulated driver --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

using namespace kvc::emu;
using namespace kvc::emu::cuda;

Driver &cuda::getDriver() {
  static Driver &driver = *new Driver;
  return driver;
}

std::vector<ContextHandle> &cuda::getContextStack() {
  thread_local std::vector<ContextHandle> stack;
  return stack;
}

Result Driver::getCurrent(Context *&context) {
  const std::vector<ContextHandle> &stack = getContextStack();
  if (stack.empty() || !stack.back())
    return InvalidContext;
  context = contexts.find(stack.back());
  return context ? Success : ContextIsDestroyed;
}

Stream *Driver::findStream(Context &context, StreamHandle handle) {
  auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 0 || number == kLegacyStream || number == kPerThreadStream)
    return &context.defaultStream;
  return streams.find(handle);
}

void Driver::destroy(ContextHandle handle) {
  Context *context = contexts.find(handle);
  auto belongs = [&](const auto &object) { return object.context == context; };
  functions.removeIf(
      [&](const Function &function) { return belongs(*function.owner); });
  modules.removeIf(belongs);
  streams.removeIf(belongs);
  events.removeIf(belongs);
  graphs.removeIf(belongs);
  graphExecs.removeIf(belongs);
  for (auto it = allocations.begin(); it != allocations.end();) {
    if (!belongs(it->second)) {
      ++it;
      continue;
    }
    memory->free(it->first);
    it = allocations.erase(it);
  }
  for (auto it = hostAllocations.begin(); it != hostAllocations.end();) {
    if (!belongs(it->second)) {
      ++it;
      continue;
    }
    ::operator delete(reinterpret_cast<void *>(it->first),
                      std::align_val_t(4096));
    it = hostAllocations.erase(it);
  }
  contexts.remove(handle);
}

Result cuda::takePending(Driver &driver, Context &context) {
  Result first = takePending(context.defaultStream);
  driver.streams.forEach([&](Stream &stream) {
    if (stream.context != &context)
      return;
    Result result = takePending(stream);
    if (first == Success)
      first = result;
  });
  return first;
}
