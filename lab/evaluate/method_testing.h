// What tests of methods share.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "lab/evaluate/method.h"

namespace tilecast {

inline std::vector<std::size_t> all_of(const std::vector<Measurement>& rows) {
  std::vector<std::size_t> chosen(rows.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  return chosen;
}

inline double mean_error(const Forecaster& forecaster, const std::vector<Measurement>& rows) {
  const auto outcomes = forecast_all(forecaster, rows, 2);
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += std::abs(outcomes[i].forecast / rows[i].latency - 1);
  return sum / static_cast<double>(rows.size());
}

}  // namespace tilecast
