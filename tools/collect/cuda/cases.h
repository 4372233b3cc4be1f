// Which kernels the sweep times: cuBLAS products at the sizes of public models and at random ones, and the memory-bound
// kernels of models. The order is a fixed shuffle, so that an interrupted run has some of everything. A few of every
// kind follow under sustained load.
#pragma once

#include <string>
#include <utility>
#include <vector>

struct Case {
  std::string family, dtype, source;
  std::vector<std::pair<std::string, long>> dims;
  std::string op;     // of elementwise
  bool warm = false;  // one set of tensors, reused; else sets that together leave the cache take turns
  double load_seconds = 0;  // back to back for so long; 0: a burst

  long dim(const std::string& name) const;
  std::string dims_text() const;  // "m=16;n=4096;k=4096"
};

std::vector<Case> plan(int compute_capability, bool full);
// Cases follow each other without a pause, so that a short one finds the card as warm as a long one would make it.
std::vector<Case> sustained_plan(int compute_capability, bool full);
