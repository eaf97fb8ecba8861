/* Runs a prefill of 40 tokens with 8 query heads by an object that multiplies with AMX
 * tiles, which a process must ask the system for: the runtime does. Compares each output with
 * attention computed here in double precision. */
#include "kvc-rt/runtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 40, HEADS = 8, WIDTH = 32 };

extern const kvc_program_t *demo_program_query(uint32_t abi_version);

static uint16_t queries[TOKENS][HEADS][WIDTH], keys[TOKENS][WIDTH], values[TOKENS][WIDTH];
static uint16_t outputs[TOKENS][HEADS][WIDTH];

static double number(uint16_t bf16) {
  uint32_t bits = (uint32_t)bf16 << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* The bf16 towards zero from a number. */
static uint16_t cut(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 16;
}

static kvc_tensor_t rows(void *data, int64_t heads) {
  kvc_tensor_t tensor = {
      data, {TOKENS, heads, WIDTH}, {heads * WIDTH, WIDTH, 1}, 3, KVC_DTYPE_BF16};
  return tensor;
}

/* The largest error of the output of a token and head. */
static double error(int token, int head) {
  double score[TOKENS], sum = 0, worst = 0;
  for (int j = 0; j <= token; ++j) {
    score[j] = 0;
    for (int w = 0; w < WIDTH; ++w)
      score[j] += 0.25 * number(queries[token][head][w]) * number(keys[j][w]);
    sum += exp(score[j]);
  }
  for (int w = 0; w < WIDTH; ++w) {
    double want = 0;
    for (int j = 0; j <= token; ++j)
      want += exp(score[j]) / sum * number(values[j][w]);
    worst = fmax(worst, fabs(want - number(outputs[token][head][w])));
  }
  return worst;
}

int main(void) {
  const kvc_program_t *program;
  kvc_stream_t *stream;
  kvc_pool_t *pool;
  kvc_sequence_t sequence;
  kvc_cache_view_t cache;
  kvc_batch_object_t *batch;
  uint32_t function;
  int32_t tokens = TOKENS;
  for (int t = 0; t < TOKENS; ++t)
    for (int w = 0; w < WIDTH; ++w) {
      keys[t][w] = cut(sinf(t * 1.7f + w)), values[t][w] = cut(cosf(t * 0.9f + 3 * w));
      for (int h = 0; h < HEADS; ++h)
        queries[t][h][w] = cut(cosf(2 * t - 0.4f * w + h));
    }
  kvc_tensor_t q = rows(queries, HEADS), k = rows(keys, 1), v = rows(values, 1),
               o = rows(outputs, HEADS);
  kvc_pool_options_t options = {sizeof options, KVC_POOL_DEBUG_FILL, 8, 1, 0, 7, NULL};
  if (kvc_program_load(demo_program_query, &program) ||
      kvc_program_find(program, "decode", &function) || kvc_stream_create_cpu(2, &stream))
    return fprintf(stderr, "%s\n", kvc_last_message()), 1;
  const kvc_cache_type_t *type =
      (const kvc_cache_type_t *)((const char *)program->blob + program->blob->cache_types);
  if (kvc_pool_create(type, &options, &pool) || kvc_pool_view(pool, 0, &cache) ||
      kvc_sequence_create(pool, &sequence) || kvc_sequence_append(pool, sequence, TOKENS) ||
      kvc_batch_create(pool, &sequence, &tokens, 1, &batch) ||
      kvc_program_run(program, function, stream,
                      (const void *[]){&q, &k, &v, &cache, kvc_batch_view(batch), &o}, 6))
    return fprintf(stderr, "%s\n", kvc_last_message()), 1;
  double worst = 0;
  for (int t = 0; t < TOKENS; ++t)
    for (int h = 0; h < HEADS; ++h)
      worst = fmax(worst, error(t, h));
  /* Half of the last bit of bf16 below 1, and a little for the sums. */
  printf("worst error %s\n", worst < 0x1.02p-9 ? "below 2e-3" : "too large");
  kvc_batch_release(batch);
  kvc_pool_release(pool);
  kvc_stream_release(stream);
  return !(worst < 0x1.02p-9);
}
