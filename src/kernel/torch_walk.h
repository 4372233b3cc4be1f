// How PyTorch's pointwise and copying kernels walk their tensors: TensorIterator uses another kernel if operands are
// not contiguous or differ in type (aten/src/ATen/native/cuda/CUDALoops.cuh, Shape.cu, IndexKernel.cu). Tables and
// engines name the walk as a kernel source.
#pragma once

#include <cstdint>

#include "kernel/context.h"

namespace tilecast {

enum class TorchWalk : std::uint8_t {
  vectorized,     // vectorized_elementwise_kernel: contiguous operands of one type
  strided,        // elementwise_kernel: slices, transposed views, broadcast rows; an offset computed for each element
  widen,          // unrolled_elementwise_kernel: to twice the width, converted one by one
  strided_widen,  // both
  narrow,         // to half the width: a separate vectorized kernel
  cat,            // CatArrayBatchedCopy: concatenates non-contiguous pieces
  index,          // index_elementwise_kernel: rows to positions given by a tensor
  transposed,     // elementwise_kernel where one operand lies across the order of the others: a sector for each element
};
KernelSource source_of(TorchWalk walk);

// As named by the context's kernel source; vectorized if it names none.
TorchWalk torch_walk(const Context& context);

// What a walk adds to its operation: issue slots per element and dependent waits per CTA.
struct WalkCost {
  double slots = 0;
  double steps = 1;
};
// `operands` are read or written for each element, broadcast ones included; `elements_per_thread` share what a thread
// computes once.
WalkCost walk_cost(TorchWalk walk, int operands, int elements_per_thread);

}  // namespace tilecast
