/*===- kvc-emulator/driver.h - the emulated CUDA driver -----------*- C -*-===*\
|*                                                                            *|
|* Part of kvc, under the Apache License v2.0 with LLVM Exceptions.           *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * libkvc_emulator_cuda.so offers the functions of CUDA's driver under their own
 * names, and runs PTX on the CPU. A program loads it by its path, in the place
 * of libcuda.so.1. What it offers besides is declared here.
 *
 * The driver behaves as CUDA's, with these differences:
 *
 * - Kernels come as PTX text, not as cubins or fat binaries.
 * - All work is done before the call that asks for it returns. What a kernel did
 *   wrong is still told by the next call that waits for its stream, once: the
 *   context can be used as before. On a device it could not.
 * - A kernel with a fault that a device does not notice, such as a race, fails
 *   with CUDA_ERROR_LAUNCH_FAILED. Reports are printed to stderr.
 * - Events count a microsecond for each operation before them.
 * - A stream that is captured takes launches only; a graph is launched as a whole.
 *
 * Options, for debugging, are read at each launch from the environment variable
 * KVC_EMULATOR, as "name=value,...":
 *
 *   copies=lazy|eager|random  when asynchronous copies take place (lazy)
 *   matrix=h100|f32|f64       how products of matrices are added (h100)
 *   seed=N                    order of warps and blocks; 0: in order (0)
 *   check=0|1                 look for faults other than addresses (1)
 *   count=0|1                 count instructions and accesses (1)
 *   shift=N                   bytes added to the address of dynamic shared
 *                             memory, a multiple of 128 (0)
 *   resident=N                blocks that run at a time (32)
 *   max-reports=N             reports of one launch that are kept (32)
 *   max-instructions=N        instructions of warps after which a launch ends
 *   processors=N              multiprocessors that the device says it has (132)
 *   omit=N                    line of the PTX whose instructions are not
 *                             executed, to try the checks (0: none)
 *   counters=FILE             file that gets a line of JSON per launch
 *
 * A launch with other words in the variable returns CUDA_ERROR_INVALID_VALUE.
 * All functions may be called from several threads.
 */
#ifndef KVC_EMULATOR_DRIVER_H
#define KVC_EMULATOR_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define KVC_EMULATOR_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** Sets options for the launches that follow, over those of the environment;
 *  null forgets those set before. Returns 0, or another number if `text` is
 *  wrong, which then changes nothing. */
KVC_EMULATOR_API int kvc_emulator_set_options(const char *text);

/** Says what was wrong with this thread's last call of
 *  kvc_emulator_set_options; empty if nothing was. Valid until the next. */
KVC_EMULATOR_API const char *kvc_emulator_last_message(void);

/** Faults found since the start or kvc_emulator_clear. */
KVC_EMULATOR_API uint64_t kvc_emulator_num_reports(void);

/** Writes those faults to `buffer`, one a line, cut to `size` bytes with the
 *  final zero. Returns the bytes that all of them take. */
KVC_EMULATOR_API size_t kvc_emulator_reports(char *buffer, size_t size);

/** Writes what all launches since then did, as a JSON object {"launches": N,
 *  "counters": {...}}, likewise. */
KVC_EMULATOR_API size_t kvc_emulator_counters_json(char *buffer, size_t size);

/** Forgets reports and counters. */
KVC_EMULATOR_API void kvc_emulator_clear(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVC_EMULATOR_DRIVER_H */
