//===- AsyncCopy.h - cp.async -----------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_ASYNCCOPY_H
#define KVC_LIB_EMULATOR_ASYNCCOPY_H

#include "Machine.h"

namespace kvc::emu {

/// Under CopyPolicy::Random some of the bytes in flight arrive.
void progressCopies(Warp &warp);

/// Lanes end: reports the copies that they have not waited for, and does them.
void endCopies(Warp &warp, uint32_t lanes);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_ASYNCCOPY_H
