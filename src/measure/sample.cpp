#include "measure/sample.h"

#include <algorithm>
#include <tuple>

#include "measure/dims.h"

namespace tilecast {
namespace {

// Equal hashes (another kernel source at the same shape) are told apart by their line, so that the choice is the same
// in whatever order rows arrive.
bool before(std::uint64_t hash_a, const Measurement& a, std::uint64_t hash_b, const Measurement& b) {
  return std::tie(hash_a, a.line) < std::tie(hash_b, b.line);
}

}  // namespace

Sampler::Stratum& Sampler::stratum_of(const Measurement& row) {
  key_.clear();
  for (std::string_view part :
       {row.file, row.source, row.gpu, row.engine, family_of(row.kernel.shape), row.kernel.format.name}) {
    key_ += part;
    key_ += '\n';
  }
  if (last_ && key_ == last_key_) return *last_;
  auto [found, fresh] = by_key_.try_emplace(key_, nullptr);
  if (fresh) found->second = &strata_.emplace_back();
  last_key_ = key_;
  last_ = found->second;
  return *last_;
}

void Sampler::offer(const Measurement& row) {
  ++offered_;
  Stratum& kept = stratum_of(row);
  const std::uint64_t hash = shape_hash(row.kernel.shape, options_.seed);
  const auto smaller = [](const Kept& a, const Kept& b) { return before(a.hash, a.row, b.hash, b.row); };
  if (options_.rows > 0 && static_cast<Count>(kept.size()) >= options_.rows) {
    if (!before(hash, row, kept.front().hash, kept.front().row)) return;
    std::pop_heap(kept.begin(), kept.end(), smaller);
    kept.back() = {hash, row};
  } else {
    kept.push_back({hash, row});
  }
  if (options_.rows > 0) std::push_heap(kept.begin(), kept.end(), smaller);
}

std::vector<Measurement> Sampler::take() {
  std::vector<Measurement> rows;
  for (Stratum& kept : strata_)
    for (Kept& one : kept) rows.push_back(std::move(one.row));
  strata_.clear();
  by_key_.clear();
  last_ = nullptr;
  std::sort(rows.begin(), rows.end(), [](const Measurement& a, const Measurement& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  return rows;
}

}  // namespace tilecast
