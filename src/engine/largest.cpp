#include "engine/largest.h"

#include <algorithm>

namespace tilecast {
namespace {

constexpr Count kMostContext = Count{1} << 24;  // where nothing else ends it

// The largest n in [1, most] for which `fits` holds, given that it holds for all below; 0 if for none.
Result<Count> bisect(Count most, const std::function<Result<bool>(Count)>& fits) {
  Count good = 0, bad = 1;
  while (bad <= most) {
    const auto ok = fits(bad);
    if (!ok) return ok.error();
    if (!*ok) break;
    good = bad;
    bad *= 2;
  }
  bad = std::min(bad, most + 1);
  while (bad - good > 1) {
    const Count middle = good + (bad - good) / 2;
    const auto ok = fits(middle);
    if (!ok) return ok.error();
    (*ok ? good : bad) = middle;
  }
  return good;
}

// Where the model's positions end a context before memory does.
Count longest_context(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (!spec || !spec->decoder) return kMostContext;
  if (spec->max_context > 0) return spec->max_context;
  return spec->decoder->positions == Positions::learned && spec->decoder->max_positions > 0
             ? spec->decoder->max_positions
             : kMostContext;
}

// A run of so many requests of that length each.
Run with(const Run& run, Count batch, Count length) {
  Run changed = run;
  Requests r = run.workload.requests.front();
  r.count = batch;
  if (run.workload.mode == Mode::decode) r.cached = std::max<Count>(0, length - r.new_tokens);
  else r.new_tokens = length, r.cached = 0;
  changed.workload.requests = {r};
  return changed;
}

}  // namespace

Result<Largest> largest_where(const Run& run, const std::function<Result<bool>(const Run&)>& fits,
                              const LargestUnits& units) {
  if (std::holds_alternative<Graph>(run.model)) return Largest{};
  constexpr Count kMostRequests = Count{1} << 20;
  const Requests first = run.workload.requests.front();
  const Count length = first.cached + first.new_tokens, most = longest_context(run.model);
  const auto batch =
      bisect(kMostRequests / units.batch, [&](Count n) { return fits(with(run, n * units.batch, length)); });
  if (!batch) return batch.error();
  const auto longest =
      bisect(most / units.length, [&](Count n) { return fits(with(run, first.count, n * units.length)); });
  if (!longest) return longest.error();
  const bool by_model = *longest == most / units.length && most < kMostContext;
  return Largest{*batch * units.batch, *longest * units.length, by_model};
}

}  // namespace tilecast
