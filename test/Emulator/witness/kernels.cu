//===- kernels.cu - kernels for CUDA's compiler ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for each thing that compilers do in ways of their own. What each
// computes stands in test_cuda.py.
//===----------------------------------------------------------------------===//
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define KERNEL extern "C" __global__ void

static __device__ unsigned globalThread() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

/// Counts the values of `data` modulo 64.
KERNEL histogram(const unsigned *data, unsigned n, unsigned *counts) {
  unsigned i = globalThread();
  if (i < n)
    atomicAdd(&counts[data[i] % 64], 1u);
}

/// Sums whole numbers, which f32 holds exactly in any order.
KERNEL atomic_float(const float *data, unsigned n, float *sum, double *wide) {
  unsigned i = globalThread();
  if (i < n) {
    atomicAdd(sum, data[i]);
    atomicAdd(wide, double(data[i]) * 0.5);
  }
}

/// Every operation on integers: add, min, max, and, or, xor, exch, inc, dec.
KERNEL atomic_integer(const int *data, unsigned n, int *out,
                      unsigned long long *wide) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  int value = data[i];
  atomicAdd(&out[0], value);
  atomicSub(&out[1], value);
  atomicMin(&out[2], value);
  atomicMax(&out[3], value);
  atomicAnd(&out[4], value);
  atomicOr(&out[5], value);
  atomicXor(&out[6], value);
  atomicMin((unsigned *)&out[7], unsigned(value));
  atomicMax((unsigned *)&out[8], unsigned(value));
  atomicInc((unsigned *)&out[9], 99u);
  atomicDec((unsigned *)&out[10], 99u);
  atomicAdd(&wide[0], (unsigned long long)(long long)value);
  atomicMax(&wide[1], (unsigned long long)unsigned(value) << 20);
  atomicMin(&wide[2], (unsigned long long)unsigned(value) << 20);
  atomicXor(&wide[3], (unsigned long long)unsigned(value) << 17);
  atomicOr(&wide[4], 1ull << (unsigned(value) % 64));
}

/// The largest float, and a product modulo 2^32, by compare and swap; a word
/// that the first thread sets.
KERNEL atomic_cas(const float *data, unsigned n, float *largest,
                  unsigned *product, unsigned long long *wide) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  int *bits = reinterpret_cast<int *>(largest);
  int seen = *reinterpret_cast<volatile int *>(bits);
  while (data[i] > __int_as_float(seen)) {
    int before = atomicCAS(bits, seen, __float_as_int(data[i]));
    if (before == seen)
      break;
    seen = before;
  }
  unsigned factor = 2 * i + 1,
           old = *reinterpret_cast<volatile unsigned *>(product);
  while (true) {
    unsigned before = atomicCAS(product, old, old * factor);
    if (before == old)
      break;
    old = before;
  }
  atomicCAS(wide, 0ull, 0x123456789ABCull);
}

/// Sums a column per block; the last block that comes adds the blocks' sums.
KERNEL last_block_sum(const int *data, unsigned n, int *partial,
                      unsigned *ticket, int *sum) {
  __shared__ int values[256];
  __shared__ bool last;
  unsigned t = threadIdx.x;
  int mine = 0;
  for (unsigned i = globalThread(); i < n; i += gridDim.x * blockDim.x)
    mine += data[i];
  values[t] = mine;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step; step /= 2) {
    if (t < step)
      values[t] += values[t + step];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = values[0];
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    __threadfence();
    int total = 0;
    for (unsigned i = 0; i != gridDim.x; ++i)
      total += reinterpret_cast<volatile int *>(partial)[i];
    *sum = total;
  }
}

/// The first block hands a number to the second by a flag.
KERNEL hand_over(int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (threadIdx.x != 0)
    return;
  if (blockIdx.x == 0) {
    out[0] = 42;
    ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    out[1] = out[0] + 1;
  }
}

/// All blocks wait for each other, then read what their neighbour wrote.
KERNEL grid_barrier(const int *in, int *between, unsigned *arrived, int *out) {
  unsigned t = threadIdx.x, n = blockDim.x;
  between[blockIdx.x * n + t] = in[t] + int(blockIdx.x);
  __syncthreads();
  if (t == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*reinterpret_cast<volatile unsigned *>(arrived) < gridDim.x)
      __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
  unsigned neighbour = (blockIdx.x + 1) % gridDim.x;
  out[blockIdx.x * n + t] = between[neighbour * n + n - 1 - t];
}

/// Counts in shared memory, then adds the block's counts.
KERNEL shared_histogram(const unsigned char *data, unsigned n,
                        unsigned *counts) {
  __shared__ unsigned bins[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
    bins[i] = 0;
  __syncthreads();
  for (unsigned i = globalThread(); i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[data[i]], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&counts[i], bins[i]);
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// All modes, and groups of fewer lanes than 32; out[10][threads].
KERNEL shuffles(const int *in, int *out) {
  unsigned t = globalThread(), n = gridDim.x * blockDim.x, lane = t % 32;
  int value = in[t];
  constexpr unsigned kAll = 0xFFFFFFFFu;
  out[0 * n + t] = __shfl_sync(kAll, value, (lane * 7 + 3) % 32);
  out[1 * n + t] = __shfl_up_sync(kAll, value, 5);
  out[2 * n + t] = __shfl_down_sync(kAll, value, 3);
  out[3 * n + t] = __shfl_xor_sync(kAll, value, 17);
  out[4 * n + t] = __shfl_sync(kAll, value, lane + 2, 8);
  out[5 * n + t] = __shfl_up_sync(kAll, value, 2, 16);
  out[6 * n + t] = __shfl_down_sync(kAll, value, 1, 4);
  out[7 * n + t] = __shfl_xor_sync(kAll, value, 5, 8);
  // Lanes 4 to 19 only.
  int part = -1;
  if (lane >= 4 && lane < 20)
    part = __shfl_sync(0x000FFFF0u, value, 4 + (lane + 1) % 16);
  out[8 * n + t] = part;
  // Both sides of a branch shuffle among themselves.
  if (lane % 2)
    part = __shfl_xor_sync(0xAAAAAAAAu, value, 2);
  else
    part = __shfl_down_sync(0x55555555u, value, 2);
  out[9 * n + t] = part;
}

/// Votes, matches and reductions; out[10][threads].
KERNEL votes(const int *in, unsigned *out) {
  unsigned t = globalThread(), n = gridDim.x * blockDim.x, lane = t % 32;
  int value = in[t];
  constexpr unsigned kAll = 0xFFFFFFFFu;
  out[0 * n + t] = __ballot_sync(kAll, value > 0);
  out[1 * n + t] = unsigned(__any_sync(kAll, value == 7));
  out[2 * n + t] = unsigned(__all_sync(kAll, value > -100));
  out[3 * n + t] = __popc(__activemask());
  out[4 * n + t] = __reduce_add_sync(kAll, unsigned(value));
  out[5 * n + t] = unsigned(__reduce_min_sync(kAll, value));
  out[6 * n + t] = unsigned(__reduce_max_sync(kAll, value));
  out[7 * n + t] = __reduce_xor_sync(kAll, unsigned(value));
  out[8 * n + t] = __match_any_sync(kAll, value & 3);
  unsigned part = 0;
  if (lane < 8)
    part = __ballot_sync(0xFFu, value % 2 != 0);
  out[9 * n + t] = part;
}

/// What barriers tell of all threads.
KERNEL barriers(const int *in, int *out) {
  int value = in[threadIdx.x];
  int count = __syncthreads_count(value > 0);
  int any = __syncthreads_or(value > 90);
  int every = __syncthreads_and(value > -101);
  if (threadIdx.x == 0) {
    out[0] = count;
    out[1] = any;
    out[2] = every;
  }
}

/// Lanes that go round a loop different numbers of times (Collatz).
KERNEL divergent_loop(const unsigned *in, unsigned n, unsigned *steps) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  unsigned long long value = in[i];
  unsigned count = 0;
  while (value > 1) {
    if (value % 2 == 0) {
      value /= 2;
    } else {
      value = 3 * value + 1;
      if (count > 100000)
        break;
    }
    ++count;
  }
  steps[i] = count;
}

/// A switch with loops and early ends.
KERNEL divergent_switch(const int *in, unsigned n, int *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  int value = in[i], result = 0;
  switch (value % 7) {
  case 0:
    for (int j = 0; j < value % 13; ++j)
      result += j * value;
    break;
  case 1:
    result = value * value;
    [[fallthrough]];
  case 2:
    result -= 5;
    break;
  case 3:
    if (value % 2)
      return;
    result = 3;
    break;
  case 4:
    for (int j = 0; j < 20; ++j) {
      if (j == value % 20)
        break;
      if (j % 3 == 0)
        continue;
      result ^= j << (value % 5);
    }
    break;
  default:
    result = -value;
  }
  out[i] = result;
}

//===----------------------------------------------------------------------===//
// Shared, local, constant memory, variables
//===----------------------------------------------------------------------===//

/// Transposes 32 x 32 tiles, by dynamic shared memory of 33 * 32 floats.
KERNEL transpose(const float *in, float *out, unsigned rows, unsigned columns) {
  extern __shared__ float tile[];
  unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (unsigned j = 0; j < 32; j += blockDim.y)
    if (x < columns && y + j < rows)
      tile[(threadIdx.y + j) * 33 + threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (unsigned j = 0; j < 32; j += blockDim.y)
    if (x < rows && y + j < columns)
      out[(y + j) * rows + x] = tile[threadIdx.x * 33 + threadIdx.y + j];
}

/// Sums four tiles of 256 floats, of which the next is copied meanwhile.
KERNEL pipelined_sum(const float *in, float *out) {
  __shared__ __align__(16) float tiles[2][256];
  unsigned t = threadIdx.x;
  __pipeline_memcpy_async(&tiles[0][4 * t], in + 4 * t, 16);
  __pipeline_commit();
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (i < 3)
      __pipeline_memcpy_async(&tiles[(i + 1) & 1][4 * t],
                              in + (i + 1) * 256 + 4 * t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += tiles[i & 1][(7 * t) % 256];
    __syncthreads();
  }
  out[t] = sum;
}

/// Sorts 16 numbers in an array that the index keeps out of registers.
KERNEL local_array(const int *in, unsigned n, int *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  int values[16];
  for (int j = 0; j < 16; ++j)
    values[(j * 5 + int(i)) & 15] = in[i * 16 + j];
#pragma unroll 1
  for (int j = 1; j < 16; ++j) {
    int value = values[j], k = j;
    while (k > 0 && values[k - 1] > value) {
      values[k] = values[k - 1];
      --k;
    }
    values[k] = value;
  }
  for (int j = 0; j < 16; ++j)
    out[i * 16 + j] = values[j];
}

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ float coefficients[4];
__device__ int offset = 100;
__device__ unsigned long long visits;
__device__ float scratch[256];

/// Uses variables: two that are set, two that the host sets.
KERNEL variables(const float *in, float *out, unsigned n) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  float x = in[i], sum = 0;
  for (int j = 3; j >= 0; --j)
    sum = sum * x + coefficients[j];
  scratch[i % 256] = sum;
  out[i] = sum + float(table[i % 8] + offset);
  atomicAdd(&visits, 1ull);
}

struct Big {
  int count;
  double scale;
  short values[21];
  const int *more;
};

/// A structure by value, indexed at run time.
KERNEL big_parameter(Big big, unsigned char tag, double *out) {
  unsigned i = threadIdx.x;
  out[i] = big.scale * big.values[i % 21] + big.count + tag + big.more[i % 4];
}

/// Calls that stay calls.
static __device__ __noinline__ int greatestDivisor(int a, int b) {
  while (b) {
    int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

KERNEL calls(const int *a, const int *b, unsigned n, int *out) {
  unsigned i = globalThread();
  if (i < n)
    out[i] = greatestDivisor(a[i], b[i]) + 1000 * greatestDivisor(b[i], 12);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// f16 and bf16, one by one and in pairs; out[12][n] of float.
KERNEL half_arithmetic(const __half *a, const __half *b, const __nv_bfloat16 *c,
                       const __nv_bfloat16 *d, unsigned n, float *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  out[0 * n + i] = __half2float(__hadd_rn(a[i], b[i]));
  out[1 * n + i] = __half2float(__hmul_rn(a[i], b[i]));
  out[2 * n + i] = __half2float(__hfma(a[i], b[i], a[i]));
  out[3 * n + i] = __half2float(__hmax(a[i], b[i]));
  out[4 * n + i] = __half2float(__hneg(__habs(a[i])));
  out[5 * n + i] = __hlt(a[i], b[i]) ? 1.0f : 0.0f;
  __half2 pair = __hfma2(__halves2half2(a[i], b[i]), __halves2half2(b[i], b[i]),
                         __halves2half2(b[i], a[i]));
  out[6 * n + i] = __low2float(pair);
  out[7 * n + i] = __high2float(pair);
  out[8 * n + i] = __bfloat162float(__hfma(c[i], d[i], c[i]));
  out[9 * n + i] = __bfloat162float(__hmin(c[i], d[i]));
  __nv_bfloat162 wide =
      __hfma2(__halves2bfloat162(c[i], d[i]), __halves2bfloat162(d[i], d[i]),
              __halves2bfloat162(d[i], c[i]));
  out[10 * n + i] = __low2float(wide);
  out[11 * n + i] = __high2float(wide);
}

/// Conversions there and back; out[8][n].
KERNEL conversions(const float *in, unsigned n, float *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  float x = in[i];
  out[0 * n + i] = __half2float(__float2half_rn(x));
  out[1 * n + i] = __half2float(__float2half_rz(x));
  out[2 * n + i] = __bfloat162float(__float2bfloat16_rn(x));
  out[3 * n + i] = float(__float2int_rn(x));
  out[4 * n + i] = float(__float2uint_rz(x));
  out[5 * n + i] = float((signed char)int(x));
  out[6 * n + i] = float(__float2ll_rd(x));
  out[7 * n + i] = rintf(x) + floorf(x) + ceilf(x) + truncf(x);
}

/// f64: arithmetic, square root, division, conversions; out[6][n].
KERNEL double_arithmetic(const double *a, const double *b, unsigned n,
                         double *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  out[0 * n + i] = a[i] * b[i] + 1.0;
  out[1 * n + i] = a[i] / b[i];
  out[2 * n + i] = sqrt(fabs(a[i]));
  out[3 * n + i] = fmin(a[i], b[i]) - fmax(a[i], b[i]);
  out[4 * n + i] = double((long long)(a[i] * 1e6)) + double(float(b[i]));
  out[5 * n + i] = a[i] < b[i] ? floor(a[i]) : ceil(b[i]);
}

/// The mathematical functions of C, as the compiler builds them; out[8][n].
KERNEL functions(const float *in, unsigned n, float *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  float x = in[i];
  out[0 * n + i] = expf(x);
  out[1 * n + i] = logf(x);
  out[2 * n + i] = sqrtf(x);
  out[3 * n + i] = 1.0f / x;
  out[4 * n + i] = rsqrtf(x);
  out[5 * n + i] = tanhf(x);
  out[6 * n + i] = powf(x, 1.5f);
  out[7 * n + i] = sinf(x) + cosf(x);
}

/// More of them; out[8][n].
KERNEL more_functions(const float *in, unsigned n, float *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  float x = in[i];
  int exponent = 0;
  out[0 * n + i] = erff(x);
  out[1 * n + i] = cbrtf(x);
  out[2 * n + i] = atan2f(x, 1.5f);
  out[3 * n + i] = fmodf(x, 0.75f);
  out[4 * n + i] = ldexpf(x, 3);
  out[5 * n + i] = frexpf(x, &exponent) + float(exponent);
  out[6 * n + i] = lgammaf(fabsf(x) + 0.5f);
  out[7 * n + i] = remainderf(x, 0.25f);
}

/// 64-bit integers; out[10][n].
KERNEL wide_integers(const long long *a, const long long *b, unsigned n,
                     long long *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  long long x = a[i], y = b[i];
  unsigned long long ux = (unsigned long long)x, uy = (unsigned long long)y;
  out[0 * n + i] = x * y + x;
  out[1 * n + i] = x / y;
  out[2 * n + i] = x % y;
  out[3 * n + i] = (long long)(ux / uy);
  out[4 * n + i] = (long long)(ux % uy);
  out[5 * n + i] = __mul64hi(x, y);
  out[6 * n + i] = (x << (y & 63)) ^ (x >> (y & 31));
  out[7 * n + i] = (long long)(ux >> (uy & 63)) + __popcll(ux) + __clzll(x);
  out[8 * n + i] = (long long)__brevll(ux) + __ffsll(x);
  out[9 * n + i] = x < y ? (x & y) : (x | ~y);
}

/// 32-bit integers and bits; out[12][n].
KERNEL integers(const int *a, const int *b, unsigned n, int *out) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  int x = a[i], y = b[i];
  unsigned ux = unsigned(x), uy = unsigned(y);
  out[0 * n + i] = x / y;
  out[1 * n + i] = x % y;
  out[2 * n + i] = int(ux / uy);
  out[3 * n + i] = __mulhi(x, y);
  out[4 * n + i] = int(__umulhi(ux, uy));
  out[5 * n + i] = int(__byte_perm(ux, uy, 0x3715));
  out[6 * n + i] = int(__funnelshift_l(ux, uy, uy));
  out[7 * n + i] = __clz(x) + 100 * __popc(ux) + 10000 * __ffs(x);
  out[8 * n + i] = int(__brev(ux));
  out[9 * n + i] = min(x, y) - max(x, y) + abs(x % 1000);
  out[10 * n + i] = int((ux & uy) ^ (~ux | 0x55555555u));
  out[11 * n + i] = int(__vadd4(ux, uy));
}

/// Loads and stores of every width, by vectors.
KERNEL widths(const int4 *in, int4 *out, const short *half, short2 *pairs,
              const signed char *bytes, char4 *fours, unsigned n) {
  unsigned i = globalThread();
  if (i >= n)
    return;
  int4 value = in[i];
  out[i] = make_int4(value.w, value.z, value.y, value.x);
  pairs[i] = make_short2(half[2 * i + 1], half[2 * i]);
  fours[i] = make_char4(bytes[4 * i + 3], bytes[4 * i + 2], bytes[4 * i + 1],
                        bytes[4 * i]);
}
