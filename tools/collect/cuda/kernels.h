// Kernels of our own: the physics of the card, and the memory-bound kernels of models.
//
// The latter are laid out as the libraries lay theirs out (docs/kernels.md, "Where plans come from"), so that a
// forecast of the family is a forecast of them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

enum class Type { bf16, fp32 };
inline std::size_t bytes_of(Type type) { return type == Type::bf16 ? 2 : 4; }

// Data. Normal numbers for floating types; any byte for the others.
enum class Fill { bf16, fp16, fp32, fp8, bytes };
void fill(void* data, std::size_t bytes, Fill kind, cudaStream_t stream);

// Physics.
void launch_empty(int ctas, cudaStream_t stream);
void read_all(const void* data, std::size_t bytes, int sms, float* result, cudaStream_t stream);
void write_all(void* data, std::size_t bytes, int sms, cudaStream_t stream);
void copy_all(const void* from, void* to, std::size_t bytes, int sms, cudaStream_t stream);
// Reads a small buffer `passes` times, past the first-level cache.
void read_l2(const void* data, std::size_t bytes, int passes, int sms, float* result, cudaStream_t stream);
enum class Pipe { fp32, fp16x2, bf16x2, fp64, xu, shared };
// Runs `steps` rounds of independent operations on every SM; returns operations (bytes for `shared`).
double busy_pipe(Pipe pipe, int steps, int sms, float* result, cudaStream_t stream);

// Models' kernels.
struct Rows {
  int rows, cols;
};
void rmsnorm(Type type, const void* in, const void* weight, void* out, Rows size, cudaStream_t stream);
void softmax(Type type, const void* in, void* out, Rows size, cudaStream_t stream);
void row_sum(Type type, const void* in, void* out, Rows size, cudaStream_t stream);
void gated_silu(const void* in, void* out, Rows size, cudaStream_t stream);  // bf16; in: [rows, 2 cols]
void add(Type type, const void* a, const void* b, void* out, std::size_t elements, cudaStream_t stream);
void silu(Type type, const void* in, void* out, std::size_t elements, cudaStream_t stream);
