//===- Registry.h - handles of live objects ---------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the opaque pointers of the C interface into objects. A handle is not
// an address: it is a number that is given out once per process, with the top
// bit set, which no address of user space has. So a stale handle is recognised
// even when its object's memory has been reused, and a foreign pointer is
// recognised without looking at what it points to.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_REGISTRY_H
#define KVC_LIB_RUNTIME_REGISTRY_H

#include "Status.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace kvc::rt {

/// The live objects of class `Object`, known to callers as `Handle *`. A call
/// that has found an object keeps it alive until it returns, even when another
/// thread releases it meanwhile.
template <typename Object, typename Handle>
class Registry {
public:
  /// `name` is the object in messages, such as "a pool"; `kind` keeps the
  /// numbers of several registries apart.
  Registry(const char *name, uint8_t kind)
      : name(name),
        firstNumber((uint64_t{1} << 63) | (static_cast<uint64_t>(kind) << 48)),
        nextNumber(firstNumber) {}

  Handle *insert(std::shared_ptr<Object> object) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    uint64_t number = nextNumber;
    objects.emplace(number, std::move(object));
    ++nextNumber;
    return reinterpret_cast<Handle *>(static_cast<uintptr_t>(number));
  }

  /// Returns the object, or null with a message.
  std::shared_ptr<Object> find(const Handle *handle) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto it = objects.find(reinterpret_cast<uintptr_t>(handle));
    if (it != objects.end())
      return it->second;
    return reportUnknown(handle);
  }

  /// Takes the object out, or returns null, with a message unless `handle` is
  /// null itself.
  std::shared_ptr<Object> remove(const Handle *handle) {
    if (!handle)
      return nullptr;
    std::unique_lock<std::shared_mutex> lock(mutex);
    auto it = objects.find(reinterpret_cast<uintptr_t>(handle));
    if (it == objects.end())
      return reportUnknown(handle);
    std::shared_ptr<Object> object = std::move(it->second);
    objects.erase(it);
    return object;
  }

private:
  static_assert(sizeof(void *) == 8, "handles are 64-bit numbers");

  std::nullptr_t reportUnknown(const Handle *handle) const {
    uint64_t number = reinterpret_cast<uintptr_t>(handle);
    if (!handle)
      fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s, got null", name);
    else if (number >= firstNumber && number < nextNumber)
      fail(KVC_STATUS_INVALID_ARGUMENT,
           "expected %s, got one that was released", name);
    else
      fail(KVC_STATUS_INVALID_ARGUMENT,
           "expected %s, got a pointer that never was one", name);
    return nullptr;
  }

  const char *name;
  mutable std::shared_mutex mutex;
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects;
  const uint64_t firstNumber;
  uint64_t nextNumber;
};

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_REGISTRY_H
