//===- Stream.cpp - streams and events ------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work is done when it is submitted, so that a stream is always idle and an
// event has always happened. What remains is to tell what went wrong.
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <algorithm>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Result cuda::cuStreamCreateWithPriority(StreamHandle *stream, uint32_t flags,
                                        int priority) {
  return callInContext([&](Driver &driver, Context &context) {
    if (!stream || flags & ~kStreamNonBlocking)
      return InvalidValue;
    auto object = std::make_unique<Stream>();
    object->context = &context;
    object->flags = flags;
    object->priority = std::clamp(priority, kGreatestPriority, 0);
    *stream = driver.streams.add(std::move(object));
    return Success;
  });
}

Result cuda::cuStreamCreate(StreamHandle *stream, uint32_t flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

Result cuda::cuStreamDestroy_v2(StreamHandle stream) {
  return callInContext([&](Driver &driver, Context &) {
    return driver.streams.remove(stream) ? Success : InvalidHandle;
  });
}

/// Runs `body(driver, stream)` if there is such a stream.
template <typename Body>
static Result callOnStream(StreamHandle handle, Body body) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *stream = driver.findStream(context, handle);
    return stream ? body(driver, *stream) : InvalidHandle;
  });
}

Result cuda::cuStreamSynchronize(StreamHandle handle) {
  return callOnStream(handle, [](Driver &, Stream &stream) -> Result {
    if (Result result = refuseCapture(stream, StreamCaptureUnsupported))
      return result;
    return takePending(stream);
  });
}

Result cuda::cuStreamQuery(StreamHandle handle) {
  return cuStreamSynchronize(handle);
}

Result cuda::cuStreamWaitEvent(StreamHandle handle, EventHandle event,
                               uint32_t flags) {
  return callOnStream(handle, [&](Driver &driver, Stream &stream) -> Result {
    if (!driver.events.find(event))
      return InvalidHandle;
    return flags > 1 ? InvalidValue : refuseCapture(stream, NotSupported);
  });
}

Result cuda::cuStreamGetCtx(StreamHandle handle, ContextHandle *context) {
  return callOnStream(handle, [&](Driver &, Stream &stream) {
    if (!context)
      return InvalidValue;
    *context = stream.context->handle;
    return Success;
  });
}

Result cuda::cuStreamGetFlags(StreamHandle handle, uint32_t *flags) {
  return callOnStream(handle, [&](Driver &, Stream &stream) {
    if (!flags)
      return InvalidValue;
    *flags = stream.flags;
    return Success;
  });
}

Result cuda::cuStreamGetPriority(StreamHandle handle, int *priority) {
  return callOnStream(handle, [&](Driver &, Stream &stream) {
    if (!priority)
      return InvalidValue;
    *priority = stream.priority;
    return Success;
  });
}

Result cuda::cuLaunchHostFunc(StreamHandle handle, HostFunction function,
                              void *data) {
  Result result = callOnStream(handle, [&](Driver &driver, Stream &stream) -> Result {
    if (!function)
      return InvalidValue;
    if (Result refused = refuseCapture(stream, NotSupported))
      return refused;
    ++driver.time;
    return Success;
  });
  // Without the mutex: the function may block on another thread.
  if (result == Success)
    function(data);
  return result;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Result cuda::cuEventCreate(EventHandle *event, uint32_t flags) {
  return callInContext([&](Driver &driver, Context &context) {
    if (!event || flags & ~kEventFlags)
      return InvalidValue;
    auto object = std::make_unique<Event>();
    object->context = &context;
    object->flags = flags;
    *event = driver.events.add(std::move(object));
    return Success;
  });
}

Result cuda::cuEventDestroy_v2(EventHandle event) {
  return callInContext([&](Driver &driver, Context &) {
    return driver.events.remove(event) ? Success : InvalidHandle;
  });
}

Result cuda::cuEventRecordWithFlags(EventHandle handle, StreamHandle stream,
                                    uint32_t flags) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Event *event = driver.events.find(handle);
    Stream *on = driver.findStream(context, stream);
    if (!event || !on || event->context != on->context)
      return InvalidHandle;
    if (flags > 1)
      return InvalidValue;
    if (Result result = refuseCapture(*on, NotSupported))
      return result;
    event->recorded = true;
    event->time = ++driver.time;
    event->stream = stream;
    return Success;
  });
}

Result cuda::cuEventRecord(EventHandle event, StreamHandle stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}

Result cuda::cuEventSynchronize(EventHandle handle) {
  return callInContext([&](Driver &driver, Context &) {
    Event *event = driver.events.find(handle);
    if (!event)
      return InvalidHandle;
    if (!event->recorded)
      return Success;
    Stream *stream = driver.findStream(*event->context, event->stream);
    return stream ? takePending(*stream) : Success;
  });
}

Result cuda::cuEventQuery(EventHandle handle) {
  return cuEventSynchronize(handle);
}

Result cuda::cuEventElapsedTime_v2(float *milliseconds, EventHandle begin,
                                   EventHandle end) {
  return callInContext([&](Driver &driver, Context &) {
    if (!milliseconds)
      return InvalidValue;
    const Event *from = driver.events.find(begin);
    const Event *to = driver.events.find(end);
    for (const Event *event : {from, to})
      if (!event || !event->recorded || event->flags & kEventDisableTiming)
        return InvalidHandle;
    *milliseconds = float(int64_t(to->time - from->time)) * 1e-3f;
    return Success;
  });
}

Result cuda::cuEventElapsedTime(float *milliseconds, EventHandle begin,
                                EventHandle end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}
