// Which measured rows of a fused MoE could be faster: each against a ceiling, and the flags against the best times that
// a search found (SynPerf's sweep of the engine's default, fused_moe_triton.csv.gz, and moe_configs/).
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

// Ceilings: the learned one of every estimate (a quantile of what comparable kernels reach), and the forecast of the
// tuner's best configuration.
enum class Ceiling : std::uint8_t { learned, tuner };
inline constexpr std::array<std::string_view, 2> kCeilingNames = {"learned", "tuner's"};

struct FlaggedRow {
  double us = 0, theory_us = 0;      // measured; arithmetic at peak
  std::array<double, 2> ceiling_us;  // by Ceiling
  double best_us = 0;                // of a search; zero where there was none

  double gain() const { return us / best_us; }
  double over(Ceiling c) const { return us / ceiling_us[static_cast<std::size_t>(c)]; }
  // SynPerf's gap: efficiency at the ceiling less the measured one.
  double gap(Ceiling c) const { return theory_us / ceiling_us[static_cast<std::size_t>(c)] - theory_us / us; }
};
Result<std::map<std::string, std::vector<FlaggedRow>>> flagged_rows(const std::string& sweep,
                                                                    const std::string& configs);

// Spearman's; equal values share their mean rank. Zero where either list is constant.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

// Markdown for docs/tune.md. `folder`: SynPerf's, with fused_moe_triton.csv.gz and moe_configs/.
Result<std::string> flag_tables(const std::string& folder);

}  // namespace tilecast
