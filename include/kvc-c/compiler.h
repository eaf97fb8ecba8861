/*===- compiler.h - the compiler from C ---------------------------*- C -*-===*
 *
 * Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Text in; bytes, a program ready to run, and messages out. Everything is
 * opaque, so the caller needs no header of LLVM or MLIR.
 *
 * Threads: different compilers may be used at once; calls on one compiler are
 * serialised inside.
 *===----------------------------------------------------------------------===*/
#ifndef KVC_C_COMPILER_H
#define KVC_C_COMPILER_H

#include "kvc-rt/abi.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define KVC_C_API __attribute__((visibility("default")))
#else
#define KVC_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What to compile to. */
typedef enum kvc_emit {
  KVC_EMIT_PROGRAM = 0, /**< Machine code in memory, ready to run. */
  KVC_EMIT_OBJECT = 1,  /**< A relocatable object file (ELF). */
  KVC_EMIT_LLVMIR = 2,  /**< LLVM IR as text. */
  KVC_EMIT_PTX = 3,     /**< PTX as text. */
  KVC_EMIT_MLIR = 4     /**< The module after the target's passes, as text. */
} kvc_emit_t;

typedef enum kvc_target {
  KVC_TARGET_CPU = 0,        /**< Optimised kernels. */
  KVC_TARGET_DEFINITION = 1, /**< The definition of every op, as loops. */
  KVC_TARGET_GPU = 2         /**< Kernels for sm_90a, as PTX or in a program that
                                  launches them. */
} kvc_target_t;

/** Options; null strings and zeros mean the default. */
typedef struct kvc_compile_options {
  uint32_t struct_size;
  kvc_emit_t emit;
  kvc_target_t target;
  uint32_t ptx_version;     /**< Times ten; default 86. */
  const char *tier;         /**< CPU: "amx", "avx512_bf16", "avx512", "avx2", "plain";
                                 default: the best that the host has. */
  const char *layout;       /**< "packed" or "row_major"; default packed. */
  const char *precision;    /**< Definition: "f32" or "f64"; default f32. */
  const char *chip;         /**< GPU; default "sm_90a". */
  const char *cpu;          /**< LLVM's name of the CPU; default: the host, or
                                 "x86-64" if a tier is given. */
  const char *features;     /**< LLVM's feature string, added to the tier's. */
  const char *program_name; /**< Prefix of the query function; default none. */
  int64_t split;            /**< Keys of one work item; default by target. */
  int64_t cache_page;       /**< If above 0, attention and caches are first found in
                                 a model's own code, and the caches kept in pages
                                 of that many tokens, 1 to 256
                                 (kvc-optimize-cache-pipeline). */
} kvc_compile_options_t;

typedef struct kvc_compiler kvc_compiler_t;
typedef struct kvc_compiled kvc_compiled_t;

KVC_C_API const char *kvc_compiler_version(void);

/** Creates a compiler: loads dialects and passes once. Null: no memory. */
KVC_C_API kvc_compiler_t *kvc_compiler_create(void);
/** Results of the compiler stay valid after it is released. */
KVC_C_API void kvc_compiler_release(kvc_compiler_t *compiler);

/** Compiles `size` bytes of MLIR text. On failure the status is not
 *  KVC_STATUS_OK, `*out` is unchanged, and kvc_compiler_messages() says why. */
KVC_C_API kvc_status_t kvc_compile(kvc_compiler_t *compiler, const char *text,
                                   size_t size,
                                   const kvc_compile_options_t *options,
                                   kvc_compiled_t **out);

/** All diagnostics of the last kvc_compile of this compiler, errors, warnings
 *  and remarks with their locations, one a line; valid until the next. */
KVC_C_API const char *kvc_compiler_messages(kvc_compiler_t *compiler);

KVC_C_API void kvc_compiled_release(kvc_compiled_t *compiled);

/** The bytes of an object, or text (NUL-terminated, not counted in the size);
 *  null for KVC_EMIT_PROGRAM. */
KVC_C_API const char *kvc_compiled_data(const kvc_compiled_t *compiled,
                                        size_t *out_size);

/** The query function of a KVC_EMIT_PROGRAM result, else null. The code lives
 *  until `compiled` is released. */
KVC_C_API kvc_program_query_fn kvc_compiled_query(const kvc_compiled_t *compiled);

/** Milliseconds that kvc_compile took, from text to result. */
KVC_C_API double kvc_compiled_milliseconds(const kvc_compiled_t *compiled);

#ifdef __cplusplus
}
#endif
#endif /* KVC_C_COMPILER_H */
