//===- Event.cpp - points in the work of streams --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of events.
//===----------------------------------------------------------------------===//
#include "Event.h"

using namespace kvc::rt;

Registry<Event, kvc_event_t> &kvc::rt::getEvents() {
  // Never destroyed: an event may be released while the process ends.
  static auto *events = new Registry<Event, kvc_event_t>("an event", 5);
  return *events;
}

kvc_status_t Event::failOnStream(const Stream &stream) const {
  return fail(KVC_STATUS_INVALID_ARGUMENT,
              "expected %s for the event, which was made for such, got %s",
              describeStreams().c_str(), stream.describe().c_str());
}

kvc_status_t Event::failWithOther(const Event &other) const {
  return fail(KVC_STATUS_INVALID_ARGUMENT,
              "expected both events to be for streams of one kind, got %s and "
              "%s",
              other.describeStreams().c_str(), describeStreams().c_str());
}

/// Finds an event that was recorded, or returns null with a message.
static std::shared_ptr<Event> findRecorded(const kvc_event_t *event) {
  std::shared_ptr<Event> object = getEvents().find(event);
  if (object && !object->isRecorded) {
    fail(KVC_STATUS_INVALID_ARGUMENT,
         "expected an event that was recorded, got one that never was");
    return nullptr;
  }
  return object;
}

extern "C" {

kvc_status_t kvc_event_create(kvc_stream_t *stream, kvc_event_t **out_event) {
  return guarded("kvc_event_create", [&]() -> kvc_status_t {
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_event)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_event, got null");
    std::shared_ptr<Event> event;
    KVC_RETURN_IF_FAILED(object->createEvent(event));
    *out_event = getEvents().insert(std::move(event));
    return KVC_STATUS_OK;
  });
}

void kvc_event_release(kvc_event_t *event) { getEvents().remove(event); }

kvc_status_t kvc_event_record(kvc_event_t *event, kvc_stream_t *stream) {
  return guarded("kvc_event_record", [&]() -> kvc_status_t {
    std::shared_ptr<Event> object = getEvents().find(event);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    std::shared_ptr<Stream> on = getStreams().find(stream);
    return on ? object->record(*on) : kvc_status_t{KVC_STATUS_INVALID_ARGUMENT};
  });
}

kvc_status_t kvc_event_synchronize(kvc_event_t *event) {
  return guarded("kvc_event_synchronize", [&]() -> kvc_status_t {
    std::shared_ptr<Event> object = findRecorded(event);
    return object ? object->synchronize()
                  : kvc_status_t{KVC_STATUS_INVALID_ARGUMENT};
  });
}

kvc_status_t kvc_event_elapsed(kvc_event_t *start, kvc_event_t *end,
                               float *out_milliseconds) {
  return guarded("kvc_event_elapsed", [&]() -> kvc_status_t {
    std::shared_ptr<Event> first = findRecorded(start);
    if (!first)
      return KVC_STATUS_INVALID_ARGUMENT;
    std::shared_ptr<Event> second = findRecorded(end);
    if (!second)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_milliseconds)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected out_milliseconds, got null");
    KVC_RETURN_IF_FAILED(first->synchronize());
    KVC_RETURN_IF_FAILED(second->synchronize());
    float milliseconds;
    KVC_RETURN_IF_FAILED(second->measureSince(*first, milliseconds));
    *out_milliseconds = milliseconds;
    return KVC_STATUS_OK;
  });
}

kvc_status_t kvc_stream_wait_event(kvc_stream_t *stream, kvc_event_t *event) {
  return guarded("kvc_stream_wait_event", [&]() -> kvc_status_t {
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    std::shared_ptr<Event> on = findRecorded(event);
    return on ? on->delay(*object) : kvc_status_t{KVC_STATUS_INVALID_ARGUMENT};
  });
}

} // extern "C"
