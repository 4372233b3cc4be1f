#include "measure/planned_rows.h"

#include <algorithm>
#include <functional>

#include "gpu/registry.h"
#include "support/workers.h"

namespace tilecast {
namespace {

PlannedRow planned_row(const Measurement& row, const Gpu* gpu, const Simplified& simplified) {
  PlannedRow planned;
  planned.measured = &row;
  planned.gpu = gpu;
  planned.analytic.failed = true;
  if (!planned.gpu) return planned;
  const Context context = row.whole_context();
  const auto made = plan(row.kernel, *planned.gpu, context);
  if (!made || made->launches.empty()) return planned;
  const Estimate e = estimate(*made, *planned.gpu, context, Method::analytic, simplified);
  planned.analytic = outcome_of(*made, e, *planned.gpu, context.runtime);
  planned.input = learned_input(row.kernel, *made, e, *planned.gpu, context);
  return planned;
}

// fill(i) for each of `count` rows.
std::vector<PlannedRow> planned_by(std::size_t count, int threads, const std::function<PlannedRow(std::size_t)>& fill) {
  std::vector<PlannedRow> planned(count);
  constexpr std::size_t kBatch = 256;  // rows differ in cost a hundredfold
  Workers workers(threads);
  parallel_for(workers, {count, kBatch}, [&](std::size_t i) { planned[i] = fill(i); });
  return planned;
}

}  // namespace

std::vector<PlannedRow> plan_rows(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                                  int threads, const Simplified& simplified) {
  return planned_by(chosen.size(), threads, [&](std::size_t i) {
    const Measurement& row = rows[chosen[i]];
    return planned_row(row, built_in_gpu(row.gpu), simplified);
  });
}

std::vector<PlannedRow> plan_rows_on(const Gpu& gpu, const std::vector<Measurement>& rows, int threads) {
  return planned_by(rows.size(), threads, [&](std::size_t i) { return planned_row(rows[i], &gpu, {}); });
}

}  // namespace tilecast
