// Forecasts against measurements: errors, bias and bound violations, by any grouping.
// The error of a row is |forecast - measured| / measured. Errors are averaged over the rows of each GPU first and
// then over GPUs, so that no card dominates; median and p90, too, are taken per GPU and then averaged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/measurement.h"
#include "measure/outcome.h"
#include "measure/sample.h"

namespace tilecast {

enum class Key : std::uint8_t { gpu, family, dtype, engine, source, regime, trap, kernel_source, architecture };
inline constexpr std::array<std::string_view, 9> kKeyNames = {
    "gpu", "family", "dtype", "engine", "source", "regime", "trap", "kernel_source", "architecture"};
constexpr std::string_view name_of(Key k) { return kKeyNames[static_cast<std::size_t>(k)]; }
Result<std::vector<Key>> keys_from(std::string_view text);  // "gpu,family"

struct Group {
  std::vector<std::string> keys;  // values, in the order of the Keys asked for
  Count rows = 0;
  int gpus = 0;
  double mean = 0, median = 0, p90 = 0, bias = 0;
  double coverage = 0;         // share of rows inside their 80 % interval
  Count failed = 0;            // rows without a plan, not counted in the rest
  Count below_bound = 0;       // forecasts below their own bound: must be zero
  Count bound_violations = 0;  // rows measured faster than their bound
  double worst_violation = 1;  // largest bound / measured among them
  Count seen = 0;              // rows forecast by a model that was trained on rows of their GPU

  double violation_share() const { return share_of_rows(bound_violations); }
  double below_share() const { return share_of_rows(below_bound); }
  bool all_seen() const { return rows > 0 && seen == rows; }
  bool none_seen() const { return seen == 0; }

 private:
  double share_of_rows(Count part) const {
    return rows > 0 ? static_cast<double>(part) / static_cast<double>(rows) : 0;
  }
};

// Groups in the order of their keys. Both vectors have one entry per row.
std::vector<Group> group_errors(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes,
                                const std::vector<Key>& by);

// Rows of files in any known form, sampled.
struct SampledRows {
  std::vector<Measurement> rows;
  ReadReport report;
};
Result<SampledRows> read_sampled(const std::vector<std::string>& paths, const SampleOptions& sample,
                                 const ReadOptions& read, Names& names);

}  // namespace tilecast
