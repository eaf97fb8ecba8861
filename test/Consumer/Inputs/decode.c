/* Decodes 11 tokens, one at a time, with an object of kvc-translate and the runtime,
 * and compares each output with attention computed here in double precision. */
#include "kvc-rt/runtime.h"

#include <math.h>
#include <stdio.h>

enum { TOKENS = 11, HEADS = 2, WIDTH = 8 };

extern const kvc_program_t *demo_program_query(uint32_t abi_version);

static float keys[TOKENS][WIDTH], values[TOKENS][WIDTH];

static kvc_tensor_t rows(void *data, int64_t heads) {
  kvc_tensor_t tensor = {data, {1, heads, WIDTH}, {heads * WIDTH, WIDTH, 1}, 3, KVC_DTYPE_F32};
  return tensor;
}

/* The largest error of one head's output over `count` keys. */
static double error(const float *query, int count, const float *out) {
  double score[TOKENS], sum = 0, worst = 0;
  for (int j = 0; j < count; ++j) {
    score[j] = 0;
    for (int w = 0; w < WIDTH; ++w)
      score[j] += 0.5 * query[w] * keys[j][w];
    sum += exp(score[j]);
  }
  for (int w = 0; w < WIDTH; ++w) {
    double want = 0;
    for (int j = 0; j < count; ++j)
      want += exp(score[j]) / sum * values[j][w];
    worst = fmax(worst, fabs(want - out[w]));
  }
  return worst;
}

int main(void) {
  const kvc_program_t *program;
  kvc_stream_t *stream;
  kvc_pool_t *pool;
  kvc_sequence_t sequence;
  kvc_cache_view_t cache;
  uint32_t function;
  kvc_pool_options_t options = {sizeof options, KVC_POOL_DEBUG_FILL, 8, 1, 0, 7, NULL};
  if (kvc_program_load(demo_program_query, &program) ||
      kvc_program_find(program, "decode", &function) || kvc_stream_create_cpu(2, &stream))
    return fprintf(stderr, "%s\n", kvc_last_message()), 1;
  const kvc_cache_type_t *type =
      (const kvc_cache_type_t *)((const char *)program->blob + program->blob->cache_types);
  if (kvc_pool_create(type, &options, &pool) || kvc_pool_view(pool, 0, &cache) ||
      kvc_sequence_create(pool, &sequence))
    return fprintf(stderr, "%s\n", kvc_last_message()), 1;
  double worst = 0;
  for (int t = 0; t < TOKENS; ++t) {
    float query[HEADS][WIDTH], out[HEADS][WIDTH];
    for (int w = 0; w < WIDTH; ++w) {
      keys[t][w] = sinf(t * 1.7f + w), values[t][w] = cosf(t * 0.9f + 3 * w);
      query[0][w] = sinf(t + 0.3f * w), query[1][w] = cosf(2 * t - w);
    }
    kvc_tensor_t q = rows(query, HEADS), k = rows(keys[t], 1), v = rows(values[t], 1),
                 o = rows(out, HEADS);
    kvc_batch_object_t *batch;
    int32_t one = 1;
    if (kvc_sequence_append(pool, sequence, 1) ||
        kvc_batch_create(pool, &sequence, &one, 1, &batch) ||
        kvc_program_run(program, function, stream,
                        (const void *[]){&q, &k, &v, &cache, kvc_batch_view(batch), &o}, 6))
      return fprintf(stderr, "%s\n", kvc_last_message()), 1;
    kvc_batch_release(batch);
    for (int h = 0; h < HEADS; ++h)
      worst = fmax(worst, error(query[h], t + 1, out[h]));
  }
  printf("worst error %s\n", worst < 1e-6 ? "below 1e-6" : "too large");
  kvc_pool_release(pool);
  kvc_stream_release(stream);
  return !(worst < 1e-6);
}
