// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, release 2.11, default settings) applied to a
// program's record: what it allocates, after rounding, and what it takes from the driver.
#pragma once

#include <vector>

#include "model/program_file.h"

namespace tilecast {

struct AllocatorState {
  Count handed_out = 0;  // blocks in use: what torch.cuda.memory_allocated counts
  Count reserved = 0;    // segments: torch.cuda.memory_reserved
};

struct AllocatorTrace {
  std::vector<Count> over_calls;  // handed out while each call runs
  Count peak = 0, reserved = 0, resting = 0;
  std::size_t peak_call = 0;
};
// What libraries hold besides a program's tensors.
struct LibraryMemory {
  std::vector<Count> throughout;  // workspaces, each a block of its own
  std::vector<Count> of_call;     // while a call runs; empty: nothing
  std::vector<Count> of_storage;  // beyond a storage's recorded bytes, or less than nothing; empty: nothing
  std::vector<int> born;          // when storages are made; empty: as recorded
  std::vector<int> dies;          // when storages are let go; empty: as recorded
};
AllocatorTrace allocate(const ProgramFile& program, const LibraryMemory& libraries = {});

}  // namespace tilecast
