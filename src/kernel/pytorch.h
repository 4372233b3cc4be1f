// What PyTorch's own CUDA kernels share: its pointwise launches.
//
// Sources are the files of aten/src/ATen/native/cuda in the public repository.
#pragma once

#include <string_view>
#include <vector>

#include "constants/streaming.h"
#include "gpu/gpu.h"
#include "kernel/format.h"
#include "kernel/plan.h"
#include "kernel/torch_release.h"
#include "kernel/torch_walk.h"

namespace tilecast {

// Threads that run in lockstep: C10_WARP_SIZE.
constexpr int warp_size(const Gpu& gpu) { return gpu.vendor == Vendor::amd ? 64 : 32; }
// num_threads() of thread_constants.h.
constexpr int pointwise_threads(const Gpu& gpu) { return gpu.vendor == Vendor::amd ? 256 : 128; }
// Elements one thread of vectorized_elementwise_kernel computes (thread_work_size(), later elems_per_thread()).
int pointwise_elements_per_thread(const Gpu& gpu, Bytes element, TorchRelease release);

// TensorIterator addresses 32-bit byte offsets and halves a larger tensor until each piece fits
// (can_use_32bit_indexing, with_32bit_indexing): every piece is a launch. Sizes of the pieces, in launch order.
std::vector<Count> indexable_pieces(Count elements, Bytes element);
// No memory holds a tensor with more pieces; beyond that, pieces grow instead of multiplying.
inline constexpr Count kMostPieces = 256;

// FMA-pipe slots and special-function results of one element.
struct ElementCost {
  double slots = 0, xu = 0;
};

// fp32 forms of the CUDA math library without fast-math, counted from their instruction sequences.
inline constexpr ElementCost kDivision{constants::kDivisionSlots, 1};
inline constexpr ElementCost kReciprocal{constants::kReciprocalSlots, 1};
inline constexpr ElementCost kExp{constants::kExpSlots, 1};
inline constexpr ElementCost kSigmoid{kExp.slots + 1 + kReciprocal.slots, kExp.xu + kReciprocal.xu};
inline constexpr ElementCost kErf{constants::kErfSlots, 1};

// A pointwise kernel, over contiguous tensors unless `walk` says otherwise.
struct Pointwise {
  std::string_view name;
  Count elements = 0;
  Bytes element;     // size of one
  Count reads = 1;   // tensors of `elements` read ...
  Count writes = 1;  // ... and written
  Operand::Role result = Operand::Role::activation;
  ElementCost cost;
  double required_slots = 0;  // per element, in any implementation
  DType vector_type = DType::fp32;
  TorchWalk walk = TorchWalk::vectorized;
  int operands = 2;  // of an element, including broadcast ones and the result: what a strided walk computes offsets for
  Count row = 0;     // transposed: elements walked before the sectors of the operand across are read again; 0: few
};
std::vector<Launch> pointwise_launches(const Pointwise& kernel, const Gpu& gpu, TorchRelease release);

// Groups for `total` items at `each` per CTA: full CTAs, and the last one with the remainder.
std::vector<TaskGroup> tasks_with_tail(Count total, Count each, const Demand& per_item, double steps);

// Type the vector pipe computes a format's non-matrix kernels in.
constexpr DType vector_type_of(const Format& format) {
  return format.output == DType::fp64 ? DType::fp64 : DType::fp32;
}

// Slots that `n` additions or products on elements of this size certainly take: 16-bit types can be computed in pairs.
constexpr double least_slots(double n, Bytes element) { return element < bytes(4) ? n / 2 : n; }

}  // namespace tilecast
