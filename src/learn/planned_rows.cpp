#include "learn/planned_rows.h"

#include <algorithm>

#include "gpu/registry.h"
#include "support/workers.h"

namespace tilecast {
namespace {

PlannedRow planned_row(const Measurement& row, const Simplified& simplified) {
  PlannedRow planned;
  planned.measured = &row;
  planned.gpu = built_in_gpu(row.gpu);
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

}  // namespace

std::vector<PlannedRow> plan_rows(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                                  int threads, const Simplified& simplified) {
  std::vector<PlannedRow> planned(chosen.size());
  constexpr std::size_t kBatch = 256;  // rows differ in cost a hundredfold
  Workers(threads).each((chosen.size() + kBatch - 1) / kBatch, [&](std::size_t batch) {
    for (std::size_t i = batch * kBatch; i < std::min((batch + 1) * kBatch, chosen.size()); ++i)
      planned[i] = planned_row(rows[chosen[i]], simplified);
  });
  return planned;
}

}  // namespace tilecast
