#include "lab/evidence/static_batch.h"

#include <utility>

namespace tilecast {

Status add_static_batch(EndToEndCase& one, Figure& figure, const StaticBatch& batch, const RunOfWorkload& run_of) {
  const auto add = [&](Workload workload, double weight) -> Status {
    auto run = run_of(std::move(workload));
    if (!run) return std::move(run).error();
    figure.terms.push_back({one.runs.size(), weight, Part::step});
    one.runs.push_back(*std::move(run));
    return Ok{};
  };
  if (auto added = add({.mode = Mode::prefill, .requests = {{batch.requests, batch.prompt, 0}}}, 1); !added)
    return added;
  if (batch.answer <= 1) return Ok{};
  for (const ContextPoint& point : context_points(batch.prompt, batch.answer - 1))
    if (auto added = add({.mode = Mode::decode, .requests = {{batch.requests, 1, point.context}}}, point.steps); !added)
      return added;
  return Ok{};
}

}  // namespace tilecast
