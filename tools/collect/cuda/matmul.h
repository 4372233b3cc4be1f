// Matrix products through cuBLAS, as PyTorch calls it: y[m,n] = x[m,k] · w[n,k]ᵀ, 32 MiB of workspace.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstddef>
#include <memory>
#include <optional>

enum class Number { bf16, fp16, tf32, fp32, fp8, int8 };
inline std::size_t bytes_in(Number type) {
  return type == Number::fp8 || type == Number::int8 ? 1 : type == Number::bf16 || type == Number::fp16 ? 2 : 4;
}
inline std::size_t bytes_out(Number type) {
  return type == Number::tf32 || type == Number::fp32 || type == Number::int8 ? 4 : 2;
}

struct Size {
  long m, n, k;
  long batch = 1;  // more: [batch,m,k] · [batch,k,n]
};

class Matmul {
 public:
  explicit Matmul(cudaStream_t stream);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  // Empty if it was launched, otherwise why not (a shape the library refuses).
  std::optional<const char*> run(Number type, const Size& size, const void* x, const void* w, void* y);

 private:
  std::optional<const char*> run_fp8(const Size& size, const void* x, const void* w, void* y);

  struct Fp8Plan;
  cudaStream_t stream_;
  cublasHandle_t blas_ = nullptr;
  cublasLtHandle_t light_ = nullptr;
  void* workspace_ = nullptr;
  float* scales_ = nullptr;
  std::unique_ptr<Fp8Plan> fp8_;  // of the last size: the heuristic costs more than a launch
};
