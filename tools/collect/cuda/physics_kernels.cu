#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels.h"

namespace {

constexpr int kThreads = 256;

__device__ unsigned mixed(unsigned long long value) {  // splitmix64's finaliser
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return static_cast<unsigned>(value ^ (value >> 31));
}

__device__ float normal(unsigned long long index) {  // Box and Muller's method
  const float first = (static_cast<float>(mixed(2 * index)) + 1.0f) * 2.3283e-10f;
  const float second = static_cast<float>(mixed(2 * index + 1)) * 2.3283e-10f;
  return sqrtf(-2.0f * __logf(first)) * __cosf(6.2831853f * second);
}

template <class T>
__global__ void fill_kernel(T* data, std::size_t count, bool any) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    if constexpr (sizeof(T) == 1) {
      data[i] = any ? static_cast<T>(mixed(i)) : static_cast<T>(__nv_fp8_e4m3(normal(i)).__x);
    } else {
      data[i] = static_cast<T>(normal(i));
    }
}

__global__ void empty_kernel() {}

__device__ float sum_of(uint4 value) {
  return __uint_as_float(value.x) + __uint_as_float(value.y) + __uint_as_float(value.z) + __uint_as_float(value.w);
}

// Four independent 16-byte loads in flight per thread. The result is stored only if it is a number that never occurs,
// which keeps the loads alive.
__global__ void read_kernel(const uint4* data, std::size_t count, float* result) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sums[4] = {};
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = __ldcs(data + i), b = __ldcs(data + i + step), c = __ldcs(data + i + 2 * step),
                d = __ldcs(data + i + 3 * step);
    sums[0] += sum_of(a), sums[1] += sum_of(b), sums[2] += sum_of(c), sums[3] += sum_of(d);
  }
  for (; i < count; i += step) sums[0] += sum_of(__ldcs(data + i));
  const float total = sums[0] + sums[1] + sums[2] + sums[3];
  if (total == 1.2345678e-30f) *result = total;
}

__global__ void write_kernel(uint4* data, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const uint4 value{threadIdx.x * 2654435761u, blockIdx.x * 40503u, threadIdx.x ^ 0x5bd1e995u, blockIdx.x};
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = value;
}

__global__ void copy_kernel(const uint4* from, uint4* to, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = __ldcs(from + i), b = __ldcs(from + i + step), c = __ldcs(from + i + 2 * step),
                d = __ldcs(from + i + 3 * step);
    __stcs(to + i, a), __stcs(to + i + step, b), __stcs(to + i + 2 * step, c), __stcs(to + i + 3 * step, d);
  }
  for (; i < count; i += step) __stcs(to + i, __ldcs(from + i));
}

// Every CTA reads the whole buffer, each from a place of its own, and __ldcg passes by the first-level cache.
__global__ void l2_kernel(const uint4* data, unsigned count, int passes, float* result) {
  float sums[4] = {};
  const unsigned start = static_cast<unsigned>(static_cast<unsigned long long>(count) * blockIdx.x / gridDim.x);
  for (int pass = 0; pass < passes; ++pass)
    for (unsigned i = threadIdx.x; i < count; i += 4 * blockDim.x) {
      uint4 got[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned place = start + i + static_cast<unsigned>(j) * blockDim.x;
        if (place >= count) place -= count;
        got[j] = __ldcg(data + (place < count ? place : 0));
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[j] += sum_of(got[j]);
    }
  const float total = sums[0] + sums[1] + sums[2] + sums[3];
  if (total == 1.2345678e-30f) *result = total;
}

constexpr int kChains = 16;  // independent chains a thread: more than the latency of an operation

template <class T>
__device__ T multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>) return fmaf(a, b, c);
  else if constexpr (std::is_same_v<T, double>) return fma(a, b, c);
  else return __hfma2(a, b, c);
}

// Different in every chain, so that the compiler cannot do one for all.
template <class T>
__device__ T start_of(int chain) {
  const float value = 0.01f * static_cast<float>(chain + static_cast<int>(threadIdx.x));
  if constexpr (std::is_same_v<T, __half2>) return __float2half2_rn(value);
  else if constexpr (std::is_same_v<T, __nv_bfloat162>) return __float2bfloat162_rn(value);
  else return static_cast<T>(value);
}

template <class T>
__global__ void multiply_add_kernel(T factor, T addend, int steps, float* result) {
  T values[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) values[chain] = start_of<T>(chain);
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int again = 0; again < 8; ++again)
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) values[chain] = multiply_add(values[chain], factor, addend);
  float total = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    if constexpr (sizeof(T) == 4 && !std::is_same_v<T, float>) total += static_cast<float>(values[chain].x);
    else total += static_cast<float>(values[chain]);
  }
  if (total == 1.2345678e-30f) *result = total;
}

__global__ void xu_kernel(float start, int steps, float* result) {
  float values[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) values[chain] = start + static_cast<float>(chain);
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int again = 0; again < 8; ++again)
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(values[chain]));
  float total = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) total += values[chain];
  if (total == 1.2345678e-30f) *result = total;
}

constexpr int kSharedLoads = 8;  // 16-byte loads a step

// A warp reads 512 consecutive bytes per load: four wavefronts of all 32 banks, no conflicts. volatile: the assembler
// keeps loads of unchanged memory in registers otherwise.
__global__ void shared_kernel(int steps, float* result) {
  __shared__ uint4 words[kSharedLoads * 32];
  for (int i = static_cast<int>(threadIdx.x); i < kSharedLoads * 32; i += kThreads)
    words[i] = uint4{threadIdx.x, 1u, 2u, 3u};
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(words)) + 16u * (threadIdx.x % 32);
  unsigned seen = 0;
  for (int step = 0; step < steps; ++step)
#pragma unroll
    for (int load = 0; load < kSharedLoads; ++load) {
      uint4 got;
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
                   : "r"(base + 512u * static_cast<unsigned>(load)));
      seen ^= got.x ^ got.w;
    }
  if (seen == 0xfedcba98u) *result = 1.0f;
}

int ctas_for(std::size_t words, int sms) {  // eight CTAs an SM, fewer where there is less to do
  const std::size_t wanted = (words + kThreads - 1) / kThreads;
  const std::size_t most = static_cast<std::size_t>(8 * sms);
  return static_cast<int>(wanted < most ? (wanted > 0 ? wanted : 1) : most);
}

}  // namespace

void fill(void* data, std::size_t bytes, Fill kind, cudaStream_t stream) {
  constexpr int kCtas = 4096;
  switch (kind) {
    case Fill::bf16:
      fill_kernel<<<kCtas, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(data), bytes / 2, false);
      break;
    case Fill::fp16: fill_kernel<<<kCtas, kThreads, 0, stream>>>(static_cast<__half*>(data), bytes / 2, false); break;
    case Fill::fp32: fill_kernel<<<kCtas, kThreads, 0, stream>>>(static_cast<float*>(data), bytes / 4, false); break;
    case Fill::fp8:
    case Fill::bytes:
      fill_kernel<<<kCtas, kThreads, 0, stream>>>(static_cast<unsigned char*>(data), bytes, kind == Fill::bytes);
      break;
  }
}

void launch_empty(int ctas, cudaStream_t stream) { empty_kernel<<<ctas, 32, 0, stream>>>(); }

void read_all(const void* data, std::size_t bytes, int sms, float* result, cudaStream_t stream) {
  const std::size_t words = bytes / 16;
  read_kernel<<<ctas_for(words, sms), kThreads, 0, stream>>>(static_cast<const uint4*>(data), words, result);
}

void write_all(void* data, std::size_t bytes, int sms, cudaStream_t stream) {
  const std::size_t words = bytes / 16;
  write_kernel<<<ctas_for(words, sms), kThreads, 0, stream>>>(static_cast<uint4*>(data), words);
}

void copy_all(const void* from, void* to, std::size_t bytes, int sms, cudaStream_t stream) {
  const std::size_t words = bytes / 16;
  copy_kernel<<<ctas_for(words, sms), kThreads, 0, stream>>>(static_cast<const uint4*>(from), static_cast<uint4*>(to),
                                                             words);
}

void read_l2(const void* data, std::size_t bytes, int passes, int sms, float* result, cudaStream_t stream) {
  l2_kernel<<<2 * sms, 1024, 0, stream>>>(static_cast<const uint4*>(data), static_cast<unsigned>(bytes / 16), passes,
                                          result);
}

double busy_pipe(Pipe pipe, int steps, int sms, float* result, cudaStream_t stream) {
  const int ctas = 8 * sms;  // 2048 threads an SM, what most can hold; a second wave where one cannot
  const double threads = static_cast<double>(ctas) * kThreads, each = 8.0 * kChains * steps;
  switch (pipe) {
    case Pipe::fp32: multiply_add_kernel<<<ctas, kThreads, 0, stream>>>(0.999f, 1e-3f, steps, result); break;
    case Pipe::fp64: multiply_add_kernel<<<ctas, kThreads, 0, stream>>>(0.999, 1e-3, steps, result); break;
    case Pipe::fp16x2:
      multiply_add_kernel<<<ctas, kThreads, 0, stream>>>(__float2half2_rn(0.5f), __float2half2_rn(0.1f), steps, result);
      return threads * each * 4;
    case Pipe::bf16x2:
      multiply_add_kernel<<<ctas, kThreads, 0, stream>>>(__float2bfloat162_rn(0.5f), __float2bfloat162_rn(0.1f), steps,
                                                         result);
      return threads * each * 4;
    case Pipe::xu: xu_kernel<<<ctas, kThreads, 0, stream>>>(0.5f, steps, result); return threads * each;
    case Pipe::shared:
      shared_kernel<<<ctas, kThreads, 0, stream>>>(steps, result);
      return threads * kSharedLoads * 16.0 * steps;
  }
  return threads * each * 2;
}
