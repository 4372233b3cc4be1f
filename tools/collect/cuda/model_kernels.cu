#include <cuda_bf16.h>

#include <algorithm>

#include "kernels.h"

namespace {

// 16 bytes of elements: what one load reads.
template <class T>
struct alignas(16) Pack {
  static constexpr int kCount = 16 / sizeof(T);
  T value[kCount];
};

__device__ float wide(float value) { return value; }
__device__ float wide(__nv_bfloat16 value) { return __bfloat162float(value); }
template <class T>
__device__ T narrow(float value) {
  if constexpr (sizeof(T) == 2) return __float2bfloat16(value);
  else return value;
}

struct Sum {
  __device__ static float join(float a, float b) { return a + b; }
  static constexpr float kNothing = 0;
};
struct Most {
  __device__ static float join(float a, float b) { return fmaxf(a, b); }
  static constexpr float kNothing = -3.4e38f;
};

template <class How>
__device__ float over_warp(float value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) value = How::join(value, __shfl_xor_sync(0xffffffffu, value, apart));
  return value;
}

template <class How>
__device__ float over_cta(float value) {
  __shared__ float parts[32];
  value = over_warp<How>(value);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();  // the parts of an earlier call have been read
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  const int warps = (static_cast<int>(blockDim.x) + 31) / 32;
  return over_warp<How>(lane < warps ? parts[lane] : How::kNothing);
}

template <class T, class Visit>
__device__ void for_row(const T* row, int cols, Visit visit) {
  for (int at = static_cast<int>(threadIdx.x) * Pack<T>::kCount; at < cols;
       at += static_cast<int>(blockDim.x) * Pack<T>::kCount)
    visit(at, *reinterpret_cast<const Pack<T>*>(row + at));
}

// One CTA per row; the row is read twice, the second time from cache.
template <class T>
__global__ void rmsnorm_kernel(const T* in, const T* weight, T* out, int cols) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(cols);
  float squares = 0;
  for_row(in + row, cols, [&](int, const Pack<T>& pack) {
    for (const T& value : pack.value) squares += wide(value) * wide(value);
  });
  const float scale = rsqrtf(over_cta<Sum>(squares) / static_cast<float>(cols) + 1e-6f);
  for_row(in + row, cols, [&](int at, const Pack<T>& pack) {
    const auto factor = *reinterpret_cast<const Pack<T>*>(weight + at);
    Pack<T> result;
    for (int i = 0; i < Pack<T>::kCount; ++i)
      result.value[i] = narrow<T>(wide(pack.value[i]) * scale * wide(factor.value[i]));
    *reinterpret_cast<Pack<T>*>(out + row + at) = result;
  });
}

template <class T>
__global__ void softmax_kernel(const T* in, T* out, int cols) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(cols);
  float most = Most::kNothing, sum = 0;
  for_row(in + row, cols, [&](int, const Pack<T>& pack) {
    for (const T& value : pack.value) most = fmaxf(most, wide(value));
  });
  most = over_cta<Most>(most);
  for_row(in + row, cols, [&](int, const Pack<T>& pack) {
    for (const T& value : pack.value) sum += __expf(wide(value) - most);
  });
  const float scale = 1.0f / over_cta<Sum>(sum);
  for_row(in + row, cols, [&](int at, const Pack<T>& pack) {
    Pack<T> result;
    for (int i = 0; i < Pack<T>::kCount; ++i) result.value[i] = narrow<T>(__expf(wide(pack.value[i]) - most) * scale);
    *reinterpret_cast<Pack<T>*>(out + row + at) = result;
  });
}

template <class T>
__global__ void row_sum_kernel(const T* in, T* out, int cols) {
  float sum = 0;
  for_row(in + static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(cols), cols,
          [&](int, const Pack<T>& pack) {
            for (const T& value : pack.value) sum += wide(value);
          });
  sum = over_cta<Sum>(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = narrow<T>(sum);
}

__device__ float silu_of(float value) { return value / (1.0f + __expf(-value)); }

__global__ void gated_kernel(const __nv_bfloat16* in, __nv_bfloat16* out, int cols) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(cols);
  for_row(in + 2 * row, cols, [&](int at, const Pack<__nv_bfloat16>& gate) {
    const auto up = *reinterpret_cast<const Pack<__nv_bfloat16>*>(in + 2 * row + cols + at);
    Pack<__nv_bfloat16> result;
    for (int i = 0; i < 8; ++i)
      result.value[i] = narrow<__nv_bfloat16>(silu_of(wide(gate.value[i])) * wide(up.value[i]));
    *reinterpret_cast<Pack<__nv_bfloat16>*>(out + row + at) = result;
  });
}

template <class T, bool kTwo>
__global__ void pointwise_kernel(const T* a, const T* b, T* out, std::size_t packs) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= packs) return;
  const auto first = reinterpret_cast<const Pack<T>*>(a)[at];
  Pack<T> second{}, result;
  if constexpr (kTwo) second = reinterpret_cast<const Pack<T>*>(b)[at];
  for (int i = 0; i < Pack<T>::kCount; ++i)
    result.value[i] = narrow<T>(kTwo ? wide(first.value[i]) + wide(second.value[i]) : silu_of(wide(first.value[i])));
  reinterpret_cast<Pack<T>*>(out)[at] = result;
}

// A thread for each 16 bytes of a row, whole warps, at most 1024.
int threads_for(Rows size, std::size_t element_bytes) {
  const int packs = size.cols / static_cast<int>(16 / element_bytes);
  return std::clamp((packs + 31) / 32 * 32, 32, 1024);
}

template <class T, bool kTwo>
void pointwise(const void* a, const void* b, void* out, std::size_t elements, cudaStream_t stream) {
  constexpr int kThreads = 128;
  const std::size_t packs = elements / Pack<T>::kCount;
  pointwise_kernel<T, kTwo><<<static_cast<unsigned>((packs + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), packs);
}

// Calls run(T{}) with the element type.
template <class Run>
void with_type(Type type, Run run) {
  if (type == Type::bf16) run(__nv_bfloat16{});
  else run(float{});
}

}  // namespace

void rmsnorm(Type type, const void* in, const void* weight, void* out, Rows size, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    rmsnorm_kernel<T><<<static_cast<unsigned>(size.rows), threads_for(size, sizeof(T)), 0, stream>>>(
        static_cast<const T*>(in), static_cast<const T*>(weight), static_cast<T*>(out), size.cols);
  });
}

void softmax(Type type, const void* in, void* out, Rows size, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    softmax_kernel<T><<<static_cast<unsigned>(size.rows), threads_for(size, sizeof(T)), 0, stream>>>(
        static_cast<const T*>(in), static_cast<T*>(out), size.cols);
  });
}

void row_sum(Type type, const void* in, void* out, Rows size, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    row_sum_kernel<T><<<static_cast<unsigned>(size.rows), threads_for(size, sizeof(T)), 0, stream>>>(
        static_cast<const T*>(in), static_cast<T*>(out), size.cols);
  });
}

void gated_silu(const void* in, void* out, Rows size, cudaStream_t stream) {
  gated_kernel<<<static_cast<unsigned>(size.rows), threads_for(size, 2), 0, stream>>>(
      static_cast<const __nv_bfloat16*>(in), static_cast<__nv_bfloat16*>(out), size.cols);
}

void add(Type type, const void* a, const void* b, void* out, std::size_t elements, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) { pointwise<T, true>(a, b, out, elements, stream); });
}

void silu(Type type, const void* in, void* out, std::size_t elements, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) { pointwise<T, false>(in, nullptr, out, elements, stream); });
}
