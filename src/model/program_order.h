// The order in which Inductor runs the kernels of a graph: of four orders, the one whose buffers are expected to need
// the least memory at once (PyTorch 2.11, torch/_inductor/memory.py, reorder_for_peak_memory).
#pragma once

#include <cstddef>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

struct PlannedBuffer {
  Count bytes = 0;
  int maker = -1;            // a kernel; -1: it is there before the graph and may be freed inside
  std::vector<int> readers;  // kernels, each once
  bool leaves = false;       // it outlives the graph
};

struct PlannedGraph {
  std::vector<std::vector<int>> before;  // by kernel: those that have to run earlier, each once, in their order
  std::vector<PlannedBuffer> buffers;
};

struct KernelOrder {
  std::vector<int> kernels;
  std::vector<Count>
      memory;  // by step, as Inductor expects it: places that one buffer takes over from another are not counted in
  Count peak = 0;
};

// Planning time is quadratic in the number of kernels: larger graphs run in program order, and nothing in them reuses
// freed buffers.
inline constexpr std::size_t kMostPlannedKernels = 10'000;

// Kernels are numbered in graph order.
KernelOrder order_for_least_memory(const PlannedGraph& graph);

}  // namespace tilecast
