//===- Graph.cpp - capture of streams, and graphs -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph is a list of launches, with copies of their parameters: what a stream that
// is captured was given, in its order. Copies, fills, allocations, events and functions
// of the host cannot be captured; with CUDA they can.
//===----------------------------------------------------------------------===//
#include "Driver.h"

using namespace kvc::emu;
using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

Result cuda::refuseCapture(Stream &stream, Result refusal) {
  if (!stream.capture)
    return Success;
  stream.captureIsSpoilt = true;
  return refusal;
}

Result cuda::refuseCapture(Driver &driver, Context &context) {
  Result result = Success;
  driver.streams.forEach([&](Stream &stream) {
    if (stream.context != &context || stream.captureMode == CaptureMode::Relaxed)
      return;
    if (Result refused = refuseCapture(stream, StreamCaptureUnsupported))
      result = refused;
  });
  return result;
}

Result cuda::cuStreamBeginCapture_v2(StreamHandle handle, CaptureMode mode) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *stream = driver.findStream(context, handle);
    if (!stream)
      return InvalidHandle;
    if (mode < CaptureMode::Global || mode > CaptureMode::Relaxed)
      return InvalidValue;
    // Who waits for the default stream waits for others.
    if (stream == &context.defaultStream)
      return StreamCaptureUnsupported;
    if (stream->capture)
      return IllegalState;
    stream->capture = std::make_unique<Graph>();
    stream->capture->context = &context;
    stream->captureMode = mode;
    stream->captureIsSpoilt = false;
    return Success;
  });
}

Result cuda::cuStreamEndCapture(StreamHandle handle, GraphHandle *graph) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *stream = driver.findStream(context, handle);
    if (!stream)
      return InvalidHandle;
    if (!graph)
      return InvalidValue;
    if (!stream->capture)
      return IllegalState;
    std::unique_ptr<Graph> captured = std::move(stream->capture);
    *graph = nullptr;
    if (stream->captureIsSpoilt)
      return StreamCaptureInvalidated;
    *graph = driver.graphs.add(std::move(captured));
    return Success;
  });
}

Result cuda::cuStreamIsCapturing(StreamHandle handle, int *status) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *stream = driver.findStream(context, handle);
    if (!stream)
      return InvalidHandle;
    if (!status)
      return InvalidValue;
    CaptureStatus now = CaptureStatus::None;
    if (stream->capture)
      now = stream->captureIsSpoilt ? CaptureStatus::Invalidated : CaptureStatus::Active;
    *status = int(now);
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Result cuda::cuGraphInstantiateWithFlags(GraphExecHandle *exec, GraphHandle graph,
                                         unsigned long long flags) {
  return callInContext([&](Driver &driver, Context &) -> Result {
    const Graph *from = driver.graphs.find(graph);
    if (!from)
      return InvalidHandle;
    if (!exec)
      return InvalidValue;
    if (flags)
      return NotSupported;
    *exec = driver.graphExecs.add(std::make_unique<Graph>(*from));
    return Success;
  });
}

Result cuda::cuGraphLaunch(GraphExecHandle exec, StreamHandle handle) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    const Graph *graph = driver.graphExecs.find(exec);
    Stream *stream = driver.findStream(context, handle);
    if (!graph || !stream || graph->context != stream->context)
      return InvalidHandle;
    if (Result result = refuseCapture(*stream, NotSupported))
      return result;
    for (const Graph::Launch &launch : graph->launches)
      if (Result result = runLaunch(driver, launch, *stream))
        return result;
    return Success;
  });
}

Result cuda::cuGraphExecDestroy(GraphExecHandle exec) {
  return callInContext([&](Driver &driver, Context &) {
    return driver.graphExecs.remove(exec) ? Success : InvalidHandle;
  });
}

Result cuda::cuGraphDestroy(GraphHandle graph) {
  return callInContext([&](Driver &driver, Context &) {
    return driver.graphs.remove(graph) ? Success : InvalidHandle;
  });
}
