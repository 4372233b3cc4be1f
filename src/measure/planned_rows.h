// Measured rows with their plans' forecasts: what training and judging need of a row, planned once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimate/learned.h"
#include "measure/measurement.h"
#include "measure/outcome.h"

namespace tilecast {

struct PlannedRow {
  const Measurement* measured = nullptr;
  const Gpu* gpu = nullptr;
  LearnedInput input;
  Outcome analytic;  // failed: the row has no plan and the rest is empty
  // Of a row that a host launched by itself, what its kernel took alone, where training has taken the host off.
  std::optional<Seconds> own = {};
  float weight = 1;  // of the row in training

  Seconds kernel_time() const { return own ? *own : measured->latency; }
};

// The rows named by `chosen`, in that order; the result does not depend on the number of threads.
std::vector<PlannedRow> plan_rows(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                                  int threads, const Simplified& simplified = {});
// All rows as if they were of this GPU, whatever name they bear: a card that no built-in description fits.
std::vector<PlannedRow> plan_rows_on(const Gpu& gpu, const std::vector<Measurement>& rows, int threads);

}  // namespace tilecast
