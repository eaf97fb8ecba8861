/*===- HeaderTest.c - the headers in plain C ------------------------------===*
 *
 * Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles as C11 and goes once through the life of the objects.
 *===----------------------------------------------------------------------===*/
#include "kvc-rt/runtime.h"

#include <stddef.h>
#include <string.h>

/** Returns null, or the message of what failed. */
const char *kvc_test_use_from_c(void);
const char *kvc_test_use_from_c(void) {
  kvc_cache_type_t type;
  kvc_pool_options_t options;
  kvc_pool_t *pool = NULL;
  kvc_stream_t *stream = NULL;
  kvc_batch_object_t *batch = NULL;
  kvc_sequence_t sequence = 0;
  int32_t query_len = 2;
  kvc_cache_view_t view;
  int64_t slot = 17;
  uint16_t row[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8];

  memset(&type, 0, sizeof(type));
  type.page_size = 16;
  type.num_components = 1;
  strcpy(type.components[0].name, "k");
  type.components[0].heads = 1;
  type.components[0].width = 8;
  type.components[0].dtype = KVC_DTYPE_F16;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.num_pages = 4;
  options.num_layers = 1;

  if (kvc_pool_create(&type, &options, &pool) ||
      kvc_sequence_create(pool, &sequence) ||
      kvc_sequence_append(pool, sequence, 20) ||
      kvc_batch_create(pool, &sequence, &query_len, 1, &batch) ||
      kvc_stream_create_cpu(1, &stream))
    return kvc_last_message();
  if (kvc_batch_view(batch)->num_tokens != 2)
    return "expected 2 tokens";
  if (kvc_pool_view(pool, 0, &view) || kvc_cache_write(&type, &view, NULL, 0, &slot, 1, row) ||
      kvc_cache_read(&type, &view, NULL, 0, &slot, 1, back))
    return kvc_last_message();
  if (memcmp(row, back, sizeof(row)) != 0)
    return "expected the row that was written";
  kvc_stream_release(stream);
  kvc_batch_release(batch);
  kvc_pool_release(pool);
  return NULL;
}
