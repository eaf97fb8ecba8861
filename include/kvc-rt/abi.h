/*===- abi.h - what a compiled program and its host agree on ------*- C -*-===*
 *
 * Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The binary interface between a program compiled by kvc and whoever runs it.
 * A program exports one symbol, `kvc_program_query` (or
 * `<name>_program_query` with --program-name=<name>). It needs no symbol from
 * anyone: the runtime comes in as a table of function pointers.
 *
 * Every structure that crosses the interface starts with its size or sits in
 * one that does. Plain C, no other header of kvc, LLVM or MLIR.
 *===----------------------------------------------------------------------===*/
#ifndef KVC_RT_ABI_H
#define KVC_RT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define KVC_ABI_ASSERT(cond, text) static_assert(cond, text)
#else
#define KVC_ABI_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define KVC_ABI_VERSION 5u
#define KVC_MAX_RANK 6       /**< Largest rank of a tensor argument. */
#define KVC_MAX_COMPONENTS 8 /**< Largest number of components of a cache. */
#define KVC_MAX_NAME 16      /**< Bytes of a component name, NUL included. */

/*===--- Statuses ---------------------------------------------------------===*/

/** What a call came to. Anything but KVC_STATUS_OK leaves the state of the
 *  callee as it was; the text is in kvc_last_message() of the runtime. */
typedef int32_t kvc_status_t;
enum {
  KVC_STATUS_OK = 0,
  KVC_STATUS_INVALID_ARGUMENT = 1, /**< An argument breaks a stated rule. */
  KVC_STATUS_OUT_OF_MEMORY = 2,    /**< No memory, or no free page. */
  KVC_STATUS_NOT_FOUND = 3,        /**< No such function, sequence, symbol. */
  KVC_STATUS_MISMATCH = 4,         /**< ABI version or cache fingerprint. */
  KVC_STATUS_UNSUPPORTED = 5,      /**< Legal, but not on this path. */
  KVC_STATUS_INTERNAL = 6,         /**< A fault of kvc; please report it. */
  KVC_STATUS_DEVICE_ERROR = 7      /**< What a device or its driver reports. */
};

/*===--- Element types and layouts ----------------------------------------===*/

/** Element types. The numbers are part of the interface. */
typedef int32_t kvc_dtype_t;
enum {
  KVC_DTYPE_F32 = 1,
  KVC_DTYPE_F16 = 2,
  KVC_DTYPE_BF16 = 3,
  KVC_DTYPE_F8E4M3FN = 4,
  KVC_DTYPE_F8E5M2 = 5,
  KVC_DTYPE_I8 = 6,
  KVC_DTYPE_I4X2 = 7, /**< Two 4-bit integers in a byte, the first in its low
                           half: what shapes and strides count is pairs. */
  KVC_DTYPE_I32 = 8,
  KVC_DTYPE_I64 = 9,
  KVC_DTYPE_F64 = 10,
  KVC_DTYPE_I1 = 11 /**< A byte each, 0 or 1. */
};

/** Physical order of the elements of one page of one component.
 *
 *  With P tokens a page, H KV heads, width W, element pairs of p (2 for bf16,
 *  1 for f16 and f32):
 *  - ROW_MAJOR: element (token, head, w) at
 *    token * token_stride + head * head_stride + w; P >= 1. Covers NHD and HND.
 *  - PACKED_KEY: head * head_stride, then [P/16][W/p][16 tokens][p].
 *  - PACKED_VALUE: head * head_stride, then [P/p][W][p tokens].
 *  - STATIC: one [H][W] for all pages, at head * head_stride + w; page_stride
 *    and token_stride are 0.
 *  Packed bytes (f8, i8) have words of 4 and W a multiple of 4:
 *  - PACKED_KEY: [P/16][W/4][4][2][4][2]: of token t in 16 and w in 4, at
 *    t / 4, w / 2, t % 4, w % 2.
 *  - PACKED_VALUE: [P/4][W/4][2][4][2]: of token t in 4 and w in 4, at t / 2, w,
 *    t % 2.
 *  Packed i4x2, of 2 W elements, likewise with W a multiple of 4:
 *  - PACKED_KEY: [P/16][W/4][16 tokens] words of 8 elements, from the lowest bits
 *    up 0, 2, 4, 6, 1, 3, 5, 7.
 *  - PACKED_VALUE: [P/4][W/4][4] words of 4 tokens, a byte each in the order 0, 2,
 *    1, 3; word l has element l of 8 in the low halves and l + 4 in the high.
 *  - LANE_KEY, of f8, i8 and i4x2: head * head_stride, then [P/16][W][16 tokens].
 *  The packed layouts need P to be a multiple of 16, PACKED_KEY also W to be a
 *  multiple of p. They take as many bytes as ROW_MAJOR. */
typedef int32_t kvc_layout_t;
enum {
  KVC_LAYOUT_ROW_MAJOR = 0,
  KVC_LAYOUT_PACKED_KEY = 1,
  KVC_LAYOUT_PACKED_VALUE = 2,
  KVC_LAYOUT_STATIC = 3,
  KVC_LAYOUT_LANE_KEY = 4
};

/*===--- Cache types ------------------------------------------------------===*/

/** One named component of a cache type: `name: heads x width x dtype`. Scales
 *  and zero points of a quantised component are components of their own, which
 *  follow it: `<name>.scale` and `<name>.zero`, one element for each that shares
 *  a scale along the width; static ones have one head if they are per tensor. */
typedef struct kvc_component_type {
  char name[KVC_MAX_NAME]; /**< NUL-terminated, the rest zero. */
  int32_t heads;           /**< KV heads, >= 1. */
  int32_t width;           /**< Elements per head and token, >= 1. */
  kvc_dtype_t dtype;
  kvc_layout_t layout;
  float scale; /**< What the code 1 stands for, of quantised elements with such
                    a constant; else 0. */
  int32_t reserved; /**< 0 */
} kvc_component_type_t;
KVC_ABI_ASSERT(sizeof(kvc_component_type_t) == 40, "part of the ABI");

/** `!kvc.cache<page = page_size, ...>`. */
typedef struct kvc_cache_type {
  int32_t page_size; /**< Tokens a page, >= 1. */
  int32_t num_components;
  kvc_component_type_t components[KVC_MAX_COMPONENTS]; /**< Unused ones zero. */
} kvc_cache_type_t;
KVC_ABI_ASSERT(sizeof(kvc_cache_type_t) == 328, "part of the ABI");

/** 64-bit fingerprint of a cache type: FNV-1a over the bytes of the structure
 *  with unused components and name bytes zero. */
static inline uint64_t
kvc_cache_type_fingerprint(const kvc_cache_type_t *type) {
  const unsigned char *bytes = (const unsigned char *)type;
  uint64_t hash = 14695981039346656037ull;
  for (uint64_t i = 0; i < sizeof(*type); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

/*===--- Arguments of a call ----------------------------------------------===*/

/** A strided array, as DLPack describes it; strides count elements. */
typedef struct kvc_tensor {
  void *data;
  int64_t shape[KVC_MAX_RANK];
  int64_t strides[KVC_MAX_RANK];
  int32_t rank;
  kvc_dtype_t dtype;
} kvc_tensor_t;
KVC_ABI_ASSERT(sizeof(kvc_tensor_t) == 112, "part of the ABI");

/** Where one component of a cache lies. Strides count *elements*. */
typedef struct kvc_component_view {
  void *data;
  int64_t page_stride;
  int64_t head_stride;
  int64_t token_stride; /**< Row-major layouts only, else 0. */
} kvc_component_view_t;
KVC_ABI_ASSERT(sizeof(kvc_component_view_t) == 32, "part of the ABI");

/** A cache argument. It refers to memory that somebody else owns. Strides of
 *  dimensions with more than one element are positive, and no two elements
 *  share a place; data may be null only without pages. */
typedef struct kvc_cache_view {
  uint32_t struct_size;
  uint32_t num_components;
  uint64_t fingerprint; /**< kvc_cache_type_fingerprint of its type. */
  int64_t num_pages;
  kvc_component_view_t components[KVC_MAX_COMPONENTS];
} kvc_cache_view_t;
KVC_ABI_ASSERT(sizeof(kvc_cache_view_t) == 280, "part of the ABI");

/** A ragged batch. The new tokens (queries) of sequence i are rows
 *  query_start[i] .. query_start[i + 1] of every token-indexed tensor, and are
 *  the last ones of its kv_lens[i] tokens; where there are more of them than
 *  tokens, the first ones see no key. Page n of sequence i is
 *  page_ids[first(i) + n], where first(i) is page_start[i] (CSR), or
 *  i * page_stride if page_start is null (padded block table). Only the pages
 *  that kv_lens[i] needs are looked at.
 *
 *  Each of these ids must be a page of every cache that the batch goes with; a
 *  page that no query sees any more, since a sliding window has passed it, may
 *  have the id of any page. Slots other than -1 must differ from each other;
 *  that is not checked. No array may be null unless it is empty or page_start,
 *  whether the function uses it or not. */
typedef struct kvc_batch {
  uint32_t struct_size;
  int32_t num_sequences;
  int32_t num_tokens;    /**< New tokens of all sequences. */
  int32_t max_query_len; /**< Upper bound of the new tokens of a sequence. */
  int32_t max_kv_len;    /**< Upper bound of kv_lens. */
  int32_t reserved;
  const int32_t *query_start; /**< [num_sequences + 1], starts with 0. */
  const int32_t *kv_lens;     /**< [num_sequences], new tokens included. */
  const int32_t *page_ids;    /**< [num_page_ids] */
  const int32_t *page_start;  /**< [num_sequences + 1], or null. */
  int64_t page_stride;
  int64_t num_page_ids;
  const int64_t *slots; /**< [num_tokens]: page id * page size + offset of each
                             new token; -1 = do not append it. */
  const int32_t *positions; /**< [num_tokens]: position of each new token. */
} kvc_batch_t;
KVC_ABI_ASSERT(sizeof(kvc_batch_t) == 88, "part of the ABI");

/** One call: pointers to the arguments in the order of the function's
 *  descriptor, inputs first, then results (which the caller allocates). */
typedef struct kvc_call {
  uint32_t struct_size;
  uint32_t num_args;
  const void *const *args; /**< kvc_tensor_t, kvc_cache_view_t, kvc_batch_t. */
  void *workspace;         /**< Aligned to 64 bytes; null if it has none. */
  uint64_t workspace_size; /**< Bytes, at least what `needs` said. */
} kvc_call_t;
KVC_ABI_ASSERT(sizeof(kvc_call_t) == 32, "part of the ABI");

/** Upper bounds of the calls that a workspace must serve. With several batches
 *  each is the largest. Without one the function may make its batch from
 *  arrays: then max_tokens is the largest first dimension of any tensor,
 *  max_sequences that of any tensor of i32, and the other two are 0. */
typedef struct kvc_bounds {
  uint32_t struct_size;
  int32_t max_sequences;
  int32_t max_tokens; /**< New tokens of the whole batch. */
  int32_t max_query_len;
  int32_t max_kv_len;
  int32_t num_workers; /**< Of the stream: kvc_rt_api.num_workers. */
  /** The arguments of the call, as in kvc_call_t, or of one whose tensors are as
   *  large. Functions with an entry `shapes` need the shapes of their inputs,
   *  and look at nothing else; others take null. */
  const void *const *args;
} kvc_bounds_t;
KVC_ABI_ASSERT(sizeof(kvc_bounds_t) == 32, "part of the ABI");

typedef struct kvc_needs {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t workspace_size; /**< Bytes. */
} kvc_needs_t;
KVC_ABI_ASSERT(sizeof(kvc_needs_t) == 16, "part of the ABI");

/*===--- A program's descriptor: one flat constant blob -------------------===*/

/** Offsets count bytes from the start of the blob. */
typedef uint32_t kvc_offset_t;

typedef uint32_t kvc_arg_kind_t;
enum { KVC_ARG_TENSOR = 1, KVC_ARG_CACHE = 2, KVC_ARG_BATCH = 3 };

#define KVC_DYNAMIC INT64_MIN /**< A dimension or stride known only at run. */

typedef struct kvc_arg_desc {
  kvc_arg_kind_t kind;
  uint32_t is_result;
  int64_t shape[KVC_MAX_RANK]; /**< Tensors; KVC_DYNAMIC where unknown. */
  /** Tensors; KVC_DYNAMIC = any, but 1 for the last dimension. Strides of
   *  dimensions with at most one element, and of empty tensors, are ignored. */
  int64_t strides[KVC_MAX_RANK];
  int32_t rank;
  kvc_dtype_t dtype;
  uint32_t cache_type; /**< Caches: index into the blob's cache types. */
  /** Tensors: nonzero when dimension 0 is the batch's number of tokens. */
  uint32_t rows_are_tokens;
  /** Tensors and caches: data, and every stride that matters but the last
   *  dimension's, are multiples of this many bytes; 0: of the element. Of a
   *  component whose rows (packed: images) are no multiple of it, of the largest
   *  power of two that their bytes are a multiple of; of a static one, of the
   *  element. */
  uint32_t alignment;
  uint32_t reserved;
} kvc_arg_desc_t;
KVC_ABI_ASSERT(sizeof(kvc_arg_desc_t) == 128, "part of the ABI");

typedef struct kvc_function_desc {
  kvc_offset_t name; /**< NUL-terminated. */
  uint32_t num_inputs;
  uint32_t num_args; /**< Inputs, then results. */
  kvc_offset_t args; /**< kvc_arg_desc_t[num_args] */
  uint32_t max_query_len; /**< Largest that a batch may state; 0: any. */
  uint32_t reserved;
} kvc_function_desc_t;
KVC_ABI_ASSERT(sizeof(kvc_function_desc_t) == 24, "part of the ABI");

/** Device code of the program. A program with images runs on a device of their
 *  target: all data that its arguments point to, the arrays of a batch included,
 *  is in the memory of that device. A program without runs on a CPU stream. */
typedef struct kvc_image_desc {
  kvc_offset_t target; /**< "sm_90a": the architecture that the code is for. */
  kvc_offset_t data;   /**< PTX text, NUL-terminated. */
  uint64_t data_size;  /**< Bytes, NUL included. */
} kvc_image_desc_t;
KVC_ABI_ASSERT(sizeof(kvc_image_desc_t) == 16, "part of the ABI");

/** A kernel of an image. */
typedef struct kvc_kernel_desc {
  kvc_offset_t name;     /**< Of the entry, NUL-terminated. */
  uint32_t image;        /**< Index into the blob's images. */
  uint32_t threads;      /**< A block, along x. */
  uint32_t shared_bytes; /**< Dynamic shared memory. */
} kvc_kernel_desc_t;
KVC_ABI_ASSERT(sizeof(kvc_kernel_desc_t) == 16, "part of the ABI");

typedef struct kvc_blob {
  uint32_t magic; /**< KVC_BLOB_MAGIC */
  uint32_t abi_version;
  uint64_t size;       /**< Bytes of the whole blob. */
  kvc_offset_t target; /**< "x86_64 avx512_bf16", "sm_90a", ... */
  uint32_t num_functions;
  kvc_offset_t functions; /**< kvc_function_desc_t[num_functions] */
  uint32_t num_cache_types;
  kvc_offset_t cache_types; /**< kvc_cache_type_t[num_cache_types] */
  uint32_t num_images;
  kvc_offset_t images; /**< kvc_image_desc_t[num_images] */
  uint32_t num_kernels;
  kvc_offset_t kernels; /**< kvc_kernel_desc_t[num_kernels] */
  uint32_t reserved;
} kvc_blob_t;
KVC_ABI_ASSERT(sizeof(kvc_blob_t) == 56, "part of the ABI");
#define KVC_BLOB_MAGIC 0x5043564bu /* "KVCP" */

typedef struct kvc_rt_api kvc_rt_api_t;
typedef struct kvc_stream kvc_stream_t; /**< Opaque; belongs to the runtime. */

/** The entry points of a function of a program. */
typedef struct kvc_function_entry {
  /** Bytes of workspace that any call within `bounds` needs. The caller has
   *  set out_needs->struct_size and zeroed the rest. */
  kvc_status_t (*needs)(const kvc_rt_api_t *rt, const kvc_bounds_t *bounds,
                        kvc_needs_t *out_needs);
  /** Checks the arguments, then does or launches the work. Allocates nothing
   *  and waits for nothing but, on a CPU stream, its own work. */
  kvc_status_t (*run)(const kvc_rt_api_t *rt, kvc_stream_t *stream,
                      const kvc_call_t *call);
  /** Computes the shape of each result from those of the inputs: of result i,
   *  dimension d is out_shapes[i * KVC_MAX_RANK + d]. Shapes that do not fit
   *  each other are an error. `args` are the inputs; only shapes of tensors are
   *  looked at. Null if every dimension of the results that is dynamic is the
   *  first and the number of new tokens (rows_are_tokens). */
  kvc_status_t (*shapes)(const kvc_rt_api_t *rt, const void *const *args,
                         int64_t *out_shapes);
} kvc_function_entry_t;
KVC_ABI_ASSERT(sizeof(kvc_function_entry_t) == 24, "part of the ABI");

typedef struct kvc_program {
  uint32_t struct_size;
  uint32_t abi_version;
  const kvc_blob_t *blob;
  const kvc_function_entry_t *entries; /**< [blob->num_functions] */
} kvc_program_t;
KVC_ABI_ASSERT(sizeof(kvc_program_t) == 24, "part of the ABI");

/** The one exported symbol. Returns null for an ABI version that it does not
 *  speak. */
typedef const kvc_program_t *(*kvc_program_query_fn)(uint32_t abi_version);

/*===--- What a program asks of the runtime -------------------------------===*/

/** A CPU kernel: does item `item` of `params`; `worker` is below num_workers
 *  and no two items run at once with the same one. */
typedef void (*kvc_cpu_kernel_fn)(const void *params, int64_t item,
                                  int32_t worker);

struct kvc_rt_api {
  uint32_t struct_size;
  uint32_t abi_version;
  /** Checks a call against the descriptor of function `function`: number of
   *  arguments, dtypes, ranks, shapes, strides, data, fingerprints, batch
   *  arrays, and every page id and slot of every batch against every cache.
   *  Elements of a result must not overlap. Rows that are tokens agree with the
   *  batch if there is exactly one, and with each other. What was checked of
   *  the descriptor by kvc_program_load is believed, and the workspace is left
   *  to the program. Allocates nothing. Of a program with images no data is
   *  read, so what the arrays of a batch hold is not checked. */
  kvc_status_t (*check_call)(const kvc_program_t *program, uint32_t function,
                             const kvc_call_t *call);
  /** Records `message` for kvc_last_message() and returns `status`. */
  kvc_status_t (*fail)(kvc_status_t status, const char *message);
  /** Threads that parallel_for uses on `stream`, >= 1; of a stream of a device,
   *  its multiprocessors; 0 if it is none. */
  int32_t (*num_workers)(kvc_stream_t *stream);
  /** Runs items 0 .. count - 1 of `kernel`, in any order, and returns when all
   *  are done; the calling thread is worker 0. Loops that several threads start
   *  on one stream take turns. A kernel must not start one on its own stream:
   *  KVC_STATUS_INVALID_ARGUMENT. */
  kvc_status_t (*parallel_for)(kvc_stream_t *stream, kvc_cpu_kernel_fn kernel,
                               const void *params, int64_t count);
  /** Checks a batch that function `function` made from arrays, or that goes
   *  with a cache it made from buffers: the batch by itself and, unless `cache`
   *  is null, that its pages and slots exist there at `page_size` tokens a
   *  page, >= 1. */
  kvc_status_t (*check_batch)(const kvc_program_t *program, uint32_t function,
                              const kvc_batch_t *batch,
                              const kvc_cache_view_t *cache, int32_t page_size);
  /** Launches kernel `kernel` of the program's blob on a stream of a device, as
   *  grid[0] x grid[1] x grid[2] blocks; a grid with a 0 launches nothing.
   *  cluster[0] x cluster[1] x cluster[2] neighbouring blocks, which divide the
   *  grid, are a cluster; null, or 1 x 1 x 1: there are none.
   *  `params` points to the value of each parameter of the entry, in order.
   *  Returns at once; kernels on one stream run in order. Allocates nothing. */
  kvc_status_t (*launch)(kvc_stream_t *stream, const kvc_program_t *program,
                         uint32_t kernel, const uint32_t grid[3],
                         const uint32_t cluster[3], const void *const *params);
};
KVC_ABI_ASSERT(sizeof(kvc_rt_api_t) == 56, "part of the ABI");

#ifdef __cplusplus
}
#endif
#endif /* KVC_RT_ABI_H */
