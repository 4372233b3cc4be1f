// Which kernels the sweep times: cuBLAS products at the sizes of public models and at random ones, and the memory-bound
// kernels of models. The order is a fixed shuffle, so that a run cut short has some of everything.
#pragma once

#include <string>
#include <utility>
#include <vector>

struct Case {
  std::string family, dtype, source;
  std::vector<std::pair<std::string, long>> dims;
  std::string op;     // of elementwise
  bool warm = false;  // one set of tensors, reused; else sets that together leave the cache take turns

  long dim(const std::string& name) const;
  std::string dims_text() const;  // "m=16;n=4096;k=4096"
};

std::vector<Case> plan(int compute_capability, bool full);
