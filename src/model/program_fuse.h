// What torch.compile makes of a recorded program: Inductor's fused kernels (PyTorch 2.11,
// torch/_inductor/scheduler.py).
//
// Pointwise operators and reductions over the same elements become one kernel if nothing in between has to run
// separately: products, convolutions, attention, sorts and scatters are separate kernels, and no epilogue is fused into
// them by default. What is read only inside a group is never written. Records of the graphs that Inductor receives say
// more than eager ones: pointwise results are computed where they are read (program_inline.h), and sums down columns
// join the sums along rows of the same data.
#pragma once

#include <vector>

#include "model/program_rules.h"

namespace tilecast {

struct FusedGroup {
  std::vector<int> calls;
  bool reduces = false, scatters = false;
  Count columns = 0;  // sums down columns that it leaves
  std::vector<ProgramKernel> kernels;
};

struct FusedProgram {
  std::vector<FusedGroup> groups;
  std::vector<int> group_of_call;  // -1: it runs by itself, or launches nothing
  std::vector<bool> inlined;       // by call: it is computed wherever it is read
  std::vector<bool>
      inside;  // storages that no group leaves behind, or that lie in another's place: they are never made
  std::vector<bool> bias_first;   // by call: a convolution whose bias no kernel of the graph that reads it can add
  std::vector<int> step_of_call;  // the first call of each kernel of a graph: in whose place it runs; empty: in its own
  std::vector<int> born;          // by storage, as ProgramStorage::born; empty: as recorded
  std::vector<int> dies;  // by storage, as ProgramStorage::dies: the last kernel that reads it, or what took its place
};
FusedProgram fuse(const ProgramFile& program, const ProgramCard& card = {});

// Into how many parts Inductor splits each of this many sums over this many elements, to have work for the whole card
// (torch/_inductor/choices.py, reduction_split_factor, for sums along memory).
Count parts_of_sum(Count length, Count results, const ProgramCard& card);

}  // namespace tilecast
