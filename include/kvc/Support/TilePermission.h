//===- TilePermission.h - leave to use AMX tiles ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_SUPPORT_TILEPERMISSION_H
#define KVC_SUPPORT_TILEPERMISSION_H

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kvc {

/// Asks the system for the state of AMX tiles, 8 KB a thread that Linux gives a process only
/// when asked (Documentation/arch/x86/xstate.rst). True if this process may use them.
inline bool requestTiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool isGranted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return isGranted;
#else
  return false;
#endif
}

} // namespace kvc

#endif // KVC_SUPPORT_TILEPERMISSION_H
