#include "parallel/smaller_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "constants/serve.h"
#include "parallel/rank_memory.h"
#include "parallel/split.h"

namespace tilecast {
namespace {

// Of the rank with the least left.
Result<CacheBudget> least_budget(const FitQuestion& q, const ServingLimits& limits) {
  const Workload profile = profile_workload(rank_spec(q.model, q.layout), profile_tokens(q.engine.kind, limits));
  const auto needs = profile_needs(q.model, q.layout, q.engine, profile, q.gpu);
  if (!needs) return needs.error();
  CacheBudget least;
  for (const MemoryNeed& need : *needs) {
    const CacheBudget b = cache_budget(q.engine.kind, q.gpu, limits, need, q.model.vocab, q.fraction);
    if (least.visible == bytes(0) || b.cache < least.cache) least = b;
  }
  return least;
}

}  // namespace

bool room_is_sure(const CacheBudget& b) { return b.cache >= b.visible * constants::kPlanLeastCache; }

Result<std::string> steps_that_fit(const FitQuestion& q) {
  const auto own = least_budget(q, q.limits);
  if (!own) return own.error();
  const bool chunks = q.engine.kind == EngineKind::sglang;
  if (room_is_sure(*own) || (chunks ? q.limits.chunk : q.limits.tokens) <= kSmallStep) return std::string();
  ServingLimits smaller = q.limits;
  (chunks ? smaller.chunk : smaller.tokens) = kSmallStep;
  const auto less = least_budget(q, smaller);
  if (!less) return less.error();
  if (!room_is_sure(*less)) return std::string();
  return fmt::format("steps of {0} tokens ({1} {0})", kSmallStep,
                     chunks ? "chunked-prefill-size" : "max-num-batched-tokens");
}

Result<std::string> fit_note(const FitQuestion& q) {
  const auto own = least_budget(q, q.limits);
  if (!own) return own.error();
  if (room_is_sure(*own)) return std::string();
  auto smaller = steps_that_fit(q);
  if (!smaller) return std::move(smaller).error();
  const bool fits = own->cache > bytes(0);
  const std::string lacks =
      fits ? fmt::format(
                 "{:.1f} GiB of {} are left for keys and values, no more than the forecast of memory is unsure of",
                 in_gibibytes(own->cache), q.gpu.name)
           : fmt::format("it does not fit {} by {}'s own steps", q.gpu.name, name_of(q.engine.kind));
  if (!smaller->empty()) return fmt::format("{}: it fits with {}, as plan serve starts it", lacks, *smaller);
  return fits ? lacks + ": plan serve passes over it" : std::string();
}

}  // namespace tilecast
