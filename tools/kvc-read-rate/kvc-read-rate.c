/*===- kvc-read-rate.c - how fast this machine reads memory ---------------===*
 *
 * Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Threads sum a buffer of a given size linearly, each its own part, again and
 * again, with the widest loads the processor has. Decode attention of the same
 * bytes can hardly be faster: the buffer is in huge pages as a page pool is, and
 * in the same caches if it fits there.
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MAX_THREADS = 1024, MAX_PASSES = 1000, UNROLL = 4, PREFETCH = 32 };

/** Becomes two or four narrower ones where the processor has no such loads. */
typedef uint64_t vector_t __attribute__((vector_size(64)));

/** A pass reads at least this much, so that starting it costs little of it. */
static const uint64_t kPassBytes = 64u << 20;

static const vector_t *buffer;
static uint64_t num_vectors, rounds, num_threads;
static int num_passes;
static double pass_seconds[MAX_PASSES];
static double starts[MAX_THREADS], ends[MAX_THREADS]; /* of the current pass */
static pthread_barrier_t barrier;
/** What was summed; without it, nothing would have to be read. */
static volatile uint64_t sink;

#if defined(__x86_64__) && defined(__GLIBC__)
__attribute__((target_clones("default", "avx2", "avx512f")))
#endif
static uint64_t sum(const vector_t *data, uint64_t count) {
  vector_t sums[UNROLL] = {0};
  uint64_t i = 0;
  for (; i + UNROLL <= count; i += UNROLL)
    for (int j = 0; j < UNROLL; ++j) {
      __builtin_prefetch(data + i + j + PREFETCH);
      sums[j] += data[i + j];
    }
  for (; i < count; ++i)
    sums[0] += data[i];
  vector_t total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  uint64_t result = 0;
  for (int j = 0; j < 8; ++j)
    result += total[j];
  return result;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static double first_start(void) {
  double first = starts[0];
  for (uint64_t i = 1; i < num_threads; ++i)
    first = starts[i] < first ? starts[i] : first;
  return first;
}

static double last_end(void) {
  double last = ends[0];
  for (uint64_t i = 1; i < num_threads; ++i)
    last = ends[i] > last ? ends[i] : last;
  return last;
}

static void *work(void *argument) {
  uint64_t thread = (uint64_t)(uintptr_t)argument;
  uint64_t first = num_vectors * thread / num_threads;
  uint64_t last = num_vectors * (thread + 1) / num_threads;
  for (int pass = 0; pass < num_passes; ++pass) {
    pthread_barrier_wait(&barrier);
    starts[thread] = now();
    uint64_t total = 0;
    for (uint64_t round = 0; round < rounds; ++round) {
      total += sum(buffer + first, last - first);
      __asm__ volatile("" ::: "memory"); /* read again the next time */
    }
    sink = total;
    ends[thread] = now();
    pthread_barrier_wait(&barrier);
    if (thread == 0)
      pass_seconds[pass] = last_end() - first_start();
  }
  return NULL;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/** Reads the number of an option `name=...`; returns whether it was that one. */
static int parse(const char *argument, const char *name, uint64_t low,
                 uint64_t high, uint64_t *value) {
  size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0)
    return 0;
  char *end;
  *value = strtoull(argument + length, &end, 10);
  if (end == argument + length || *end || *value < low || *value > high) {
    fprintf(stderr, "kvc-read-rate: error: expected %s%llu to %llu, got '%s'\n",
            name, (unsigned long long)low, (unsigned long long)high, argument);
    exit(2);
  }
  return 1;
}

int main(int argc, char **argv) {
  uint64_t bytes = 256u << 20, passes = 5;
  num_threads = 1;
  for (int i = 1; i < argc; ++i)
    if (!parse(argv[i], "--bytes=", 4096, UINT64_C(1) << 40, &bytes) &&
        !parse(argv[i], "--threads=", 1, MAX_THREADS, &num_threads) &&
        !parse(argv[i], "--passes=", 1, MAX_PASSES, &passes)) {
      fprintf(stderr, "usage: kvc-read-rate [--bytes=N] [--threads=N] [--passes=N]\n"
                      "Prints the GB/s (1e9 bytes) of the median pass.\n");
      return strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }

  num_passes = (int)passes;
  num_vectors = bytes / sizeof(vector_t);
  bytes = num_vectors * sizeof(vector_t);
  rounds = (kPassBytes + bytes - 1) / bytes;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("kvc-read-rate: error: no memory");
    return 1;
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 1, bytes); /* untouched pages are all the same one */
  buffer = memory;

  pthread_t threads[MAX_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)num_threads);
  for (uint64_t i = 1; i < num_threads; ++i)
    if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i)) {
      fprintf(stderr, "kvc-read-rate: error: cannot start %llu threads\n",
              (unsigned long long)num_threads);
      return 1;
    }
  work(NULL);
  for (uint64_t i = 1; i < num_threads; ++i)
    pthread_join(threads[i], NULL);

  qsort(pass_seconds, passes, sizeof(double), compare);
  printf("%.3f\n", (double)bytes * (double)rounds / pass_seconds[passes / 2] * 1e-9);
  return 0;
}
