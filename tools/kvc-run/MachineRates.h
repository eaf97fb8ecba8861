//===- MachineRates.h - what this machine can do at best --------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_MACHINERATES_H
#define KVC_TOOLS_KVC_RUN_MACHINERATES_H

#include "Threads.h"

#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace kvcrun {

/// Bytes of memory that the system can still give, as it estimates them; nothing if it
/// does not say.
std::optional<uint64_t> getAvailableMemory();

/// Memory to read linearly, in huge pages where the system gives them.
class ReadBuffer {
public:
  static constexpr int64_t kBytes = int64_t(1) << 30;

  /// Null after a message.
  static std::unique_ptr<ReadBuffer> create(kvc_stream_t *stream);
  ~ReadBuffer();
  ReadBuffer(const ReadBuffer &) = delete;

  /// Sums all of it with the widest loads of the host, on all threads of `stream`.
  /// Returns the seconds that took.
  double read(kvc_stream_t *stream) const;

private:
  explicit ReadBuffer(void *memory) : memory(memory) {}

  void *memory;
};

/// Instructions that kernels multiply with.
enum class Multiply {
  BF16Tile,  ///< tdpbf16ps of 16 rows.
  BF16Dot,   ///< vdpbf16ps of 512 bits.
  FMA512,    ///< vfmadd of 512 bits.
  FMA256,    ///< vfmadd of 256 bits.
  MulAdd128, ///< mulps and addps.
};

/// How reports call it.
llvm::StringRef getMultiplyName(Multiply multiply);

/// Multiplies and adds in registers for some milliseconds, on all threads of `stream`,
/// which must have the instruction. Returns FLOP per second.
double measurePeak(Multiply multiply, kvc_stream_t *stream);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_MACHINERATES_H
