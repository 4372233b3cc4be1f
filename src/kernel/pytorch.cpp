#include "kernel/pytorch.h"

#include <algorithm>

namespace tilecast {
namespace {

constexpr int kPointwiseRegisters = 32;
// Bytes a 32-bit signed offset reaches.
constexpr double kIndexable = 2147483647.0;

}  // namespace

int pointwise_elements_per_thread(const Gpu& gpu, Bytes element, TorchRelease release) {
  if (release != TorchRelease::current) return 4;
  // CUDALoops.cuh, elems_per_thread: CUDA takes 8 for every sum of operand sizes above one byte; ROCm goes by one
  // element.
  if (gpu.vendor != Vendor::amd) return 8;
  return element <= bytes(1) ? 16 : element < bytes(4) ? 8 : 4;
}

std::vector<Count> indexable_pieces(Count elements, Bytes element) {
  Count pieces = 1;
  // The last element's offset decides, so 2^31 bytes still fit.
  while (pieces < kMostPieces &&
         1 + static_cast<double>(ceil_div(elements, pieces) - 1) * in_bytes(element) > kIndexable)
    pieces *= 2;
  std::vector<Count> sizes;
  for (Count i = 0; i < pieces; ++i) sizes.push_back(elements / pieces + (i >= pieces - elements % pieces ? 1 : 0));
  return sizes;
}

std::vector<TaskGroup> tasks_with_tail(Count total, Count each, const Demand& per_item, double steps) {
  std::vector<TaskGroup> groups;
  if (const Count full = total / each; full > 0) groups.push_back({full, per_item * static_cast<double>(each), steps});
  if (const Count rest = total % each; rest > 0) groups.push_back({1, per_item * static_cast<double>(rest), steps});
  return groups;
}

namespace {

// The element on either side of a kernel; a conversion's differ.
struct Widths {
  Bytes read, written;
};
Widths widths_of(const Pointwise& kernel) {
  switch (kernel.walk) {
    case TorchWalk::widen:
    case TorchWalk::strided_widen: return {kernel.element, kernel.element * 2};
    case TorchWalk::narrow: return {kernel.element * 2, kernel.element};
    default: return {kernel.element, kernel.element};
  }
}

// Elements of a thread: gpu_kernel_impl_nocast takes 4 where the walk is not vectorized, 2 of four bytes and more.
int elements_per_thread(const Pointwise& kernel, const Gpu& gpu, TorchRelease release) {
  if (kernel.walk == TorchWalk::vectorized || kernel.walk == TorchWalk::narrow)
    return pointwise_elements_per_thread(gpu, kernel.element, release);
  return kernel.element >= bytes(4) ? 2 : 4;
}

// Each element of a sector belongs to another row: between two of them a row of everything else passes.
Operand operand_across(const Pointwise& kernel, Bytes size, const Demand& one) {
  Operand operand{"input across", size};
  operand.passes = std::max(1.0, constants::kSector / in_bytes(kernel.element));
  operand.reuse_distance = (one.l2_load + one.l2_store) * static_cast<double>(kernel.row);
  return operand;
}

}  // namespace

std::vector<Launch> pointwise_launches(const Pointwise& kernel, const Gpu& gpu, TorchRelease release) {
  const int threads = pointwise_threads(gpu), each = elements_per_thread(kernel, gpu, release);
  const Count per_cta = Count{threads} * each;
  const double reads = static_cast<double>(kernel.reads), writes = static_cast<double>(kernel.writes);
  const Widths width = widths_of(kernel);
  const WalkCost walk = walk_cost(kernel.walk, kernel.operands, each);
  Demand one;
  one.vector = ops(2 * (kernel.cost.slots + walk.slots));
  one.xu = ops(kernel.cost.xu);
  one.l2_load = width.read * reads;
  // Neighbouring threads read a transposed operand from different sectors, and use one element of each.
  const bool across = kernel.walk == TorchWalk::transposed && kernel.reads > 0;
  if (across) one.l2_load = one.l2_load - width.read + std::max(width.read, bytes(constants::kSector));
  one.l2_store = width.written * writes;

  std::vector<Launch> launches;
  for (const Count piece : indexable_pieces(kernel.elements, std::max(width.read, width.written))) {
    const double n = static_cast<double>(piece);
    Launch launch;
    launch.name = kernel.name;
    launch.character = Character::streaming;
    launch.cta = {threads, kPointwiseRegisters, bytes(0)};
    launch.ctas = ceil_div(piece, per_cta);
    launch.tasks = tasks_with_tail(piece, per_cta, one, walk.steps);
    launch.vector_type = kernel.vector_type;
    launch.plan_known = kernel.walk == TorchWalk::vectorized;  // other walks' slots are fitted, not counted
    launch.required.vector = ops(2 * kernel.required_slots * n);
    if (const double straight = reads - (across ? 1 : 0); straight > 0)
      launch.operands.add({"input", width.read * n * straight, Operand::Role::activation, true, false});
    if (across) launch.operands.add(operand_across(kernel, width.read * n, one));
    launch.operands.add({"output", width.written * n * writes, kernel.result, false, true});
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace tilecast
