// GPU memory that all cases take their tensors from: inputs, filled with random numbers of the type at hand and never
// written to, and as many bytes of outputs.
#pragma once

#include <algorithm>
#include <cstddef>

#include "check.h"
#include "kernels.h"

class Arena {
 public:
  Arena(std::size_t most, cudaStream_t stream) : stream_(stream) {
    std::size_t free = 0, all = 0;
    must(cudaMemGetInfo(&free, &all), "free memory");
    bytes_ = std::min(most, free / 3) / 4096 * 4096;
    must(cudaMalloc(&data_, bytes_), "memory for inputs");
    must(cudaMalloc(&out_, bytes_), "memory for outputs");
    must(cudaMalloc(&result_, sizeof(float)), "memory for a result");
    fill(data_, bytes_, kind_, stream_);
  }
  ~Arena() {
    cudaFree(data_);
    cudaFree(out_);
    cudaFree(result_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void fill_with(Fill kind) {
    if (kind != kind_) fill(data_, bytes_, kind, stream_);
    kind_ = kind;
  }

  char* data() const { return data_; }
  char* out() const { return out_; }
  std::size_t bytes() const { return bytes_; }  // of each
  float* result() const { return result_; }

 private:
  cudaStream_t stream_;
  char *data_ = nullptr, *out_ = nullptr;
  float* result_ = nullptr;
  std::size_t bytes_ = 0;
  Fill kind_ = Fill::bf16;
};
