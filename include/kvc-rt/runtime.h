/*===- runtime.h - page pools, sequences, batches, calls ----------*- C -*-===*
 *
 * Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime of kvc: owns devices, page pools, sequences and batches, and
 * runs compiled programs (kvc-rt/abi.h).
 *
 * Every fallible call is a transaction: it succeeds whole, or returns a status,
 * leaves a message in kvc_last_message() and changes nothing, its out_
 * parameters included. `create` gives one reference owned by the caller,
 * `release` drops it (null is allowed), an accessor gives none. Handles are
 * checked: a stale or foreign one is an error, not a crash; `release` of one
 * leaves a message and does nothing else. Structures that a call fills need not
 * be initialised.
 *
 * Threads: each object may be used from several threads; calls on one object
 * are serialised inside. A view stays valid until the object it came from is
 * released, and the caller keeps a pool, and the sequences of a batch, alive
 * and unchanged while a call reads them. Devices and streams do not survive
 * fork().
 *
 * Devices: a call on a stream of a device returns when its work is launched.
 * What it launched reads and writes later, in the order of the stream, until
 * kvc_stream_synchronize; how long each object has to stay is said there.
 *===----------------------------------------------------------------------===*/
#ifndef KVC_RT_RUNTIME_H
#define KVC_RT_RUNTIME_H

#include "kvc-rt/abi.h"

#if defined(__GNUC__)
#define KVC_RT_API __attribute__((visibility("default")))
#else
#define KVC_RT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the runtime, such as "0.1.0". */
KVC_RT_API const char *kvc_runtime_version(void);

/** Message of the last call that failed on this thread; never null, valid until
 *  the next call on this thread. */
KVC_RT_API const char *kvc_last_message(void);

/** Name of a status, such as "invalid argument"; never null. */
KVC_RT_API const char *kvc_status_name(kvc_status_t status);

/** Bytes of one element (of i4x2: of a pair); 0 for unknown numbers. */
KVC_RT_API int32_t kvc_dtype_size(kvc_dtype_t dtype);
/** Name of an element type as MLIR spells it ("bf16"), "?" if unknown. */
KVC_RT_API const char *kvc_dtype_name(kvc_dtype_t dtype);

/** The table that programs are given. One for the whole process. */
KVC_RT_API const kvc_rt_api_t *kvc_runtime_api(void);

/*===--- Devices ----------------------------------------------------------===*/

/** A GPU, or an emulator of one, behind CUDA's driver interface. The driver is
 *  a shared library, loaded when it is first named and kept until the process
 *  ends; nothing of CUDA is needed to build or to run on the CPU. `library` in
 *  the calls below is its path or name as dlopen() takes it; null means
 *  "libcuda.so.1". Handles of one ordinal of one library refer to one device.
 *
 *  Each of these calls may fail with KVC_STATUS_NOT_FOUND: no such library, no
 *  such device; KVC_STATUS_UNSUPPORTED: an entry point is missing, or the
 *  driver is older than CUDA 12.0; KVC_STATUS_DEVICE_ERROR: what the driver
 *  says. The message names what was looked for. */
typedef struct kvc_device kvc_device_t;

typedef struct kvc_device_info {
  uint32_t struct_size;
  int32_t num_multiprocessors;
  int32_t compute_major; /**< Compute capability, such as 9.0. */
  int32_t compute_minor;
  int32_t driver_version; /**< CUDA's: 1000 * major + 10 * minor. */
  int32_t reserved;
  uint64_t total_memory; /**< Bytes. */
  char name[128];        /**< NUL-terminated. */
} kvc_device_info_t;
KVC_ABI_ASSERT(sizeof(kvc_device_info_t) == 160, "part of the ABI");

/** Counts the devices that the driver in `library` offers, which may be 0. */
KVC_RT_API kvc_status_t kvc_device_count(const char *library,
                                         int32_t *out_count);
/** Describes device `ordinal` of `library` without opening it. */
KVC_RT_API kvc_status_t kvc_device_describe(const char *library,
                                            int32_t ordinal,
                                            kvc_device_info_t *out_info);
/** Opens device `ordinal` of `library`, by its primary context: memory and
 *  streams of others that use the primary context can be used along with it. */
KVC_RT_API kvc_status_t kvc_device_create_cuda(const char *library,
                                               int32_t ordinal,
                                               kvc_device_t **out_device);
/** The device itself stays until its streams, pools and batches are released
 *  too; memory that was not freed by then is freed with it. */
KVC_RT_API void kvc_device_release(kvc_device_t *device);
KVC_RT_API kvc_status_t kvc_device_info(kvc_device_t *device,
                                        kvc_device_info_t *out_info);

/** Allocates `size` bytes of the device's memory, aligned to 256 bytes; null
 *  for 0 bytes. */
KVC_RT_API kvc_status_t kvc_device_allocate(kvc_device_t *device, uint64_t size,
                                            void **out_data);
/** Frees what kvc_device_allocate gave, after all work launched on the device's
 *  streams so far; null is allowed. */
KVC_RT_API kvc_status_t kvc_device_free(kvc_device_t *device, void *data);
/** Copies `size` bytes from the host to the device, the other way round, or
 *  sets each to `value`. Each first waits for all work launched on the device's
 *  streams so far, and returns when it is done itself. */
KVC_RT_API kvc_status_t kvc_device_upload(kvc_device_t *device, void *data,
                                          const void *host, uint64_t size);
KVC_RT_API kvc_status_t kvc_device_download(kvc_device_t *device, void *host,
                                            const void *data, uint64_t size);
KVC_RT_API kvc_status_t kvc_device_fill(kvc_device_t *device, void *data,
                                        uint8_t value, uint64_t size);
/** Waits for all work launched on the device's streams so far. Errors are those
 *  of kvc_stream_synchronize. */
KVC_RT_API kvc_status_t kvc_device_synchronize(kvc_device_t *device);

/*===--- Streams ----------------------------------------------------------===*/

/** Creates a CPU stream with `num_threads` (at most 1024) workers, the calling
 *  thread among them; 0 means one per CPU that the process may use. A call on
 *  it returns when its work is done. Idle workers spin for a moment, then
 *  sleep. */
KVC_RT_API kvc_status_t kvc_stream_create_cpu(int32_t num_threads,
                                              kvc_stream_t **out_stream);
/** Creates a stream of `device`, independent of its others. */
KVC_RT_API kvc_status_t kvc_stream_create(kvc_device_t *device,
                                          kvc_stream_t **out_stream);
/** Makes a stream of `device` out of `native`, a CUstream of its primary
 *  context (null: the default stream), which stays its owner's and must outlive
 *  the result. Only the work that goes through the result is waited for where
 *  this header speaks of launched work. */
KVC_RT_API kvc_status_t kvc_stream_wrap(kvc_device_t *device, void *native,
                                        kvc_stream_t **out_stream);
/** Waits for the stream's work, whose errors are lost, and releases it. */
KVC_RT_API void kvc_stream_release(kvc_stream_t *stream);
/** Workers of `stream`, the calling thread among them; of a stream of a device
 *  its multiprocessors; 0 if it is none. */
KVC_RT_API int32_t kvc_stream_num_workers(kvc_stream_t *stream);
/** The CUstream of a stream of a device; null of a CPU stream. */
KVC_RT_API void *kvc_stream_native(kvc_stream_t *stream);
/** Waits until all work launched on `stream` is done. What went wrong in it is
 *  reported here, as KVC_STATUS_DEVICE_ERROR with CUDA's name and text; after
 *  that the device is of no more use to this process. Until then the caller
 *  keeps alive, and does not change from the host, what the work touches:
 *  tensors, the caches' memory, and batches over arrays of its own. Pools,
 *  sequences and batches of the runtime take care of themselves. Nothing to do
 *  for a CPU stream. */
KVC_RT_API kvc_status_t kvc_stream_synchronize(kvc_stream_t *stream);

/*===--- Events -----------------------------------------------------------===*/

/** A point in the work of streams, and when it was reached. */
typedef struct kvc_event kvc_event_t;

/** Creates an event for streams like `stream`: CPU streams, or streams of the
 *  same device. */
KVC_RT_API kvc_status_t kvc_event_create(kvc_stream_t *stream,
                                         kvc_event_t **out_event);
KVC_RT_API void kvc_event_release(kvc_event_t *event);
/** Puts the event after all work launched on `stream` so far, and no longer
 *  where it was before. */
KVC_RT_API kvc_status_t kvc_event_record(kvc_event_t *event,
                                         kvc_stream_t *stream);
/** Waits until the event is reached. Errors are those of
 *  kvc_stream_synchronize. */
KVC_RT_API kvc_status_t kvc_event_synchronize(kvc_event_t *event);
/** Waits for both events; then stores the milliseconds from one to the other. */
KVC_RT_API kvc_status_t kvc_event_elapsed(kvc_event_t *start, kvc_event_t *end,
                                          float *out_milliseconds);
/** Makes work that is launched on `stream` from now on wait, on the device,
 *  until the event is reached. */
KVC_RT_API kvc_status_t kvc_stream_wait_event(kvc_stream_t *stream,
                                              kvc_event_t *event);

/*===--- Page pools -------------------------------------------------------===*/

typedef struct kvc_pool kvc_pool_t;

enum {
  /** Fills new and freed pages with NaN (bytes 0xFF), so that a read of a slot
   *  that no sequence owns shows in the result. */
  KVC_POOL_DEBUG_FILL = 1u << 0
};

typedef struct kvc_pool_options {
  uint32_t struct_size;
  uint32_t flags;     /**< KVC_POOL_... */
  int64_t num_pages;  /**< >= 1 */
  int32_t num_layers; /**< >= 1; all layers share the block tables. */
  int32_t reserved;
  uint64_t page_order_seed; /**< 0: pages are handed out in order, those that
                                 came back last first; otherwise each is drawn
                                 at random from the free ones, by this seed. */
  kvc_device_t *device; /**< Where the pages lie; null, or a struct_size that
                             ends before: in the host's memory. */
} kvc_pool_options_t;
KVC_ABI_ASSERT(sizeof(kvc_pool_options_t) == 40, "part of the ABI");

/** Creates a pool of pages for a cache of type `type` with elements of f32, f16,
 *  bf16, f8, i8 or i4x2. Static components are once in each layer, and NaN (bytes
 *  0xFF) until they are written through a view. Memory is reserved
 *  lazily: a page that was never handed out costs none, unless debug fill is
 *  on. Page n of a layer is contiguous: component by component in the order
 *  of the type, each [heads][page_size][width] (row-major: HND), or the packed
 *  image; each component starts at a multiple of 64 bytes. Memory before and
 *  after the pool cannot be touched.
 *
 *  On a device the memory is taken at once, and has no such fences; the pool's
 *  views point into it, and so do those of batches of its sequences. The pool's
 *  books stay on the host. */
KVC_RT_API kvc_status_t kvc_pool_create(const kvc_cache_type_t *type,
                                        const kvc_pool_options_t *options,
                                        kvc_pool_t **out_pool);
/** Releases the pool and all its sequences; on a device after all work launched
 *  on the device's streams so far. */
KVC_RT_API void kvc_pool_release(kvc_pool_t *pool);

/** The cache argument of layer `layer` (0 .. num_layers - 1). */
KVC_RT_API kvc_status_t kvc_pool_view(kvc_pool_t *pool, int32_t layer,
                                      kvc_cache_view_t *out_view);

typedef struct kvc_pool_stats {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t total_pages;
  int64_t free_pages; /**< Those that launched work may still read, too. */
  int64_t used_pages;
  int64_t used_tokens;    /**< Tokens of all sequences. */
  int64_t bytes_per_page; /**< One layer, all components. */
} kvc_pool_stats_t;
KVC_ABI_ASSERT(sizeof(kvc_pool_stats_t) == 48, "part of the ABI");
KVC_RT_API kvc_status_t kvc_pool_stats(kvc_pool_t *pool,
                                       kvc_pool_stats_t *out_stats);

/*===--- Contents of caches ------------------------------------------------===*/

/** Copies tokens of component `component` of a cache to plain rows, or from them,
 *  whatever the component's layout. `slots` is [num_slots]: page id * page size +
 *  offset of each token; `rows` and `out_rows` are [num_slots][heads][width]
 *  elements of the component (of i4x2 bytes of two). Static components have no
 *  tokens: KVC_STATUS_UNSUPPORTED.
 *
 *  `device` is where the memory of `view` is, null for the host. Pages of a device
 *  are downloaded, and uploaded when they are changed, one by one, each once if
 *  slots of the same page follow each other. Both calls first wait for all work
 *  launched on the device's streams so far; work on pages that are written may be
 *  launched again when the call is done. After an error that the device reports
 *  some rows may have been copied.
 *
 *  Threads may write different tokens of one page at once: no byte of others is
 *  touched, and of a device writes take turns. A slot that comes twice has the
 *  last of its rows. */
KVC_RT_API kvc_status_t kvc_cache_read(const kvc_cache_type_t *type,
                                       const kvc_cache_view_t *view, kvc_device_t *device,
                                       int32_t component, const int64_t *slots,
                                       int64_t num_slots, void *out_rows);
KVC_RT_API kvc_status_t kvc_cache_write(const kvc_cache_type_t *type,
                                        const kvc_cache_view_t *view, kvc_device_t *device,
                                        int32_t component, const int64_t *slots,
                                        int64_t num_slots, const void *rows);

/*===--- Sequences --------------------------------------------------------===*/

/** A sequence of one pool; 0 is never one. Not reused after it is freed. One
 *  that was freed or belongs to another pool is KVC_STATUS_NOT_FOUND. */
typedef uint64_t kvc_sequence_t;

/** Creates an empty sequence. */
KVC_RT_API kvc_status_t kvc_sequence_create(kvc_pool_t *pool,
                                            kvc_sequence_t *out_sequence);
/** Extends `sequence` by `num_tokens` >= 0 slots, taking pages as needed; their
 *  contents come from a program's kvc.append. With too few free pages nothing
 *  changes and the status is KVC_STATUS_OUT_OF_MEMORY. On a device it waits for
 *  work that may read pages of freed sequences, if it cannot do without them. */
KVC_RT_API kvc_status_t kvc_sequence_append(kvc_pool_t *pool,
                                            kvc_sequence_t sequence,
                                            int32_t num_tokens);
/** Frees the sequence and gives its pages back. Those of a pool on a device are
 *  handed out again only when all work is done that was launched on the device's
 *  streams before this call. Work that others launch, or a graph that they
 *  replay, they wait for themselves before they free what it reads. */
KVC_RT_API kvc_status_t kvc_sequence_free(kvc_pool_t *pool,
                                          kvc_sequence_t sequence);
/** Tokens in the sequence. */
KVC_RT_API kvc_status_t kvc_sequence_length(kvc_pool_t *pool,
                                            kvc_sequence_t sequence,
                                            int32_t *out_length);
/** Copies up to `capacity` page ids of the sequence to `out_pages` (may be null
 *  with capacity 0) and stores how many it has in `out_count`. */
KVC_RT_API kvc_status_t kvc_sequence_pages(kvc_pool_t *pool,
                                           kvc_sequence_t sequence,
                                           int32_t *out_pages, int32_t capacity,
                                           int32_t *out_count);

/*===--- Batches ----------------------------------------------------------===*/

typedef struct kvc_batch_object kvc_batch_object_t;

/** Makes a batch of `num_sequences` >= 0 sequences, the last query_lens[i]
 *  tokens of each being new: `query_lens` and `sequences` are
 *  [num_sequences]. It is a snapshot: make a new one after append. A sequence
 *  may occur once. That of a pool on a device has its arrays there, copied by
 *  this call, which waits for no other work. */
KVC_RT_API kvc_status_t kvc_batch_create(kvc_pool_t *pool,
                                         const kvc_sequence_t *sequences,
                                         const int32_t *query_lens,
                                         int32_t num_sequences,
                                         kvc_batch_object_t **out_batch);
/** May be called while launched work still reads the batch. */
KVC_RT_API void kvc_batch_release(kvc_batch_object_t *batch);
/** The batch argument; valid until release. Null if `batch` is none. */
KVC_RT_API const kvc_batch_t *kvc_batch_view(const kvc_batch_object_t *batch);
/** The same with arrays that the host can read. */
KVC_RT_API const kvc_batch_t *
kvc_batch_host_view(const kvc_batch_object_t *batch);

/*===--- Calls ------------------------------------------------------------===*/

/** Calls `query` and checks what it returns: versions, sizes, blob. The program
 *  stays its owner's, and must outlive all use. Of a program with device images
 *  the runtime keeps what it loads onto devices, until kvc_program_unload; one
 *  that was not loaded by this call cannot run there. */
KVC_RT_API kvc_status_t kvc_program_load(kvc_program_query_fn query,
                                         const kvc_program_t **out_program);
/** Finds a function by name. */
KVC_RT_API kvc_status_t kvc_program_find(const kvc_program_t *program,
                                         const char *name,
                                         uint32_t *out_function);
/** Descriptor of a function; null for an index out of range. */
KVC_RT_API const kvc_function_desc_t *
kvc_program_function(const kvc_program_t *program, uint32_t function);
/** Computes the shape of each result of a call with these inputs, for the caller
 *  to allocate: of result i, dimension d is out_shapes[i * KVC_MAX_RANK + d],
 *  and what is beyond its rank is undefined. Of tensors rank, elements and shape
 *  are looked at, of batches the number of tokens. */
KVC_RT_API kvc_status_t kvc_program_shapes(const kvc_program_t *program,
                                           uint32_t function,
                                           const void *const *inputs,
                                           uint32_t num_inputs,
                                           int64_t *out_shapes);
/** Gives back what the runtime keeps of a program: its code on every device,
 *  after all work launched there so far. To be called before a program with
 *  device images is freed, when nothing uses it any more; it may be loaded
 *  again. Of others nothing is kept, and nothing happens. `program` itself is
 *  not looked into. */
KVC_RT_API kvc_status_t kvc_program_unload(const kvc_program_t *program);
/** Gets a stream ready for calls of a function: loads the program's images onto
 *  the stream's device and, unless `bounds` is null, makes the workspace large
 *  enough for calls within them (bounds->num_workers is ignored). Calls after
 *  that allocate nothing, and those on a stream of a device can be captured in
 *  a graph. A graph refers to the workspace: prepare for the largest bounds
 *  first, since one that grows leaves the old place. */
KVC_RT_API kvc_status_t kvc_program_prepare(const kvc_program_t *program,
                                            uint32_t function,
                                            kvc_stream_t *stream,
                                            const kvc_bounds_t *bounds);
/** Runs a function with `args` (inputs, then results; see kvc_call_t) in the
 *  stream's own workspace, which grows as needed. Calls on one stream take
 *  turns; one from inside a kernel of the same stream is refused.
 *
 *  A program without images runs on CPU streams and returns when the work is
 *  done. One with images runs on streams of a device of their target, and
 *  returns when the work is launched; all data that the arguments point to,
 *  arrays of batches included, is memory of that device, while the structures
 *  in `args` are on the host and may go once the call returns. The first call
 *  on a device loads the images, through the driver's compiler. Should the
 *  driver refuse a launch after others of the same call, what those write is
 *  undefined. */
KVC_RT_API kvc_status_t kvc_program_run(const kvc_program_t *program,
                                        uint32_t function, kvc_stream_t *stream,
                                        const void *const *args,
                                        uint32_t num_args);

#ifdef __cplusplus
}
#endif
#endif /* KVC_RT_RUNTIME_H */
