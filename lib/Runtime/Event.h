//===- Event.h - points in the work of streams ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the events of the CPU and of devices have in common.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_EVENT_H
#define KVC_LIB_RUNTIME_EVENT_H

#include "Stream.h"

#include <atomic>

namespace kvc::rt {

class Event {
public:
  virtual ~Event() = default;

  /// The streams it is for, in messages: "a CPU stream".
  virtual std::string describeStreams() const = 0;
  virtual kvc_status_t record(Stream &stream) = 0;
  /// The rest is only called on events that were recorded.
  virtual kvc_status_t synchronize() = 0;
  /// Makes what is launched on `stream` later wait for the event.
  virtual kvc_status_t delay(Stream &stream) = 0;
  /// Time since `start`; both are reached.
  virtual kvc_status_t measureSince(Event &start, float &milliseconds) = 0;

  std::atomic<bool> isRecorded{false};

protected:
  kvc_status_t failOnStream(const Stream &stream) const;
  kvc_status_t failWithOther(const Event &other) const;
};

Registry<Event, kvc_event_t> &getEvents();

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_EVENT_H
