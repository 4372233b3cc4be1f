// Seeded samples of tables too large to keep: the same rows whatever the order of files or the number of threads.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measure/measurement.h"

namespace tilecast {

struct SampleOptions {
  Count rows = 2000;  // of every stratum: file, source, GPU, engine, family and dtype; zero keeps everything
  std::uint64_t seed = 0;
};

// Keeps the rows whose shapes have the smallest hashes of their stratum, so that GPUs and engines are sampled at the
// same shapes wherever they have them.
class Sampler {
 public:
  explicit Sampler(SampleOptions options) : options_(options) {}
  void offer(const Measurement& row);
  // What was kept, ordered by file and line.
  std::vector<Measurement> take();
  Count offered() const { return offered_; }

 private:
  struct Kept {
    std::uint64_t hash;
    Measurement row;
  };
  using Stratum = std::vector<Kept>;  // a heap, largest hash first
  Stratum& stratum_of(const Measurement& row);

  SampleOptions options_;
  Count offered_ = 0;
  std::deque<Stratum> strata_;
  std::unordered_map<std::string, Stratum*> by_key_;
  // Rows come in runs of one stratum: the last key is tried first.
  std::string key_, last_key_;
  Stratum* last_ = nullptr;
};

}  // namespace tilecast
