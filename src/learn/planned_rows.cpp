#include "learn/planned_rows.h"

#include <atomic>
#include <thread>

#include "gpu/registry.h"

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
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t start = next.fetch_add(kBatch); start < chosen.size(); start = next.fetch_add(kBatch))
      for (std::size_t i = start; i < std::min(start + kBatch, chosen.size()); ++i)
        planned[i] = planned_row(rows[chosen[i]], simplified);
  };
  std::vector<std::jthread> pool;
  for (int t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  pool.clear();
  return planned;
}

}  // namespace tilecast
