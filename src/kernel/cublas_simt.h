// The kernel and split-K that cuBLAS chooses for an fp32 product on the FMA pipe.
//
// cuBLAS publishes neither its kernels nor its heuristic. Its choices on five GPUs are in NeuSight's rows (kernel names
// and grids under PyTorch 2.1), those on an H200 in our own (PyTorch 2.11, CUDA 13); a tiny network per kernel, fitted
// on nine tenths of the shapes (tools/plans/fit_cublas_fp32.py, which lists the accuracy on the rest), forecasts the
// choice from how each kernel and split would fill the GPU. Sizes count relative to the SMs, so other GPUs of a family
// share its networks.
#pragma once

#include "gpu/gpu.h"
#include "kernel/gemm_tile.h"

namespace tilecast {

// `batched`: a strided-batched call (torch.bmm, whatever its batch) rather than a linear layer's.
GemmChoice choose_simt(const GemmProblem& problem, bool batched, const Gpu& gpu);

}  // namespace tilecast
