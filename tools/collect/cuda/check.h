// What the driver answers is checked everywhere: a failed call ends the program with one line.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] inline void give_up(const std::string& problem) {
  std::fprintf(stderr, "\ncollect: %s\n", problem.c_str());
  std::exit(1);
}

inline void must(cudaError_t answer, const char* what) {
  if (answer != cudaSuccess) give_up(std::string(what) + ": " + cudaGetErrorString(answer));
}

inline void must(cublasStatus_t answer, const char* what) {
  if (answer != CUBLAS_STATUS_SUCCESS) give_up(std::string(what) + ": cuBLAS says " + cublasGetStatusString(answer));
}
