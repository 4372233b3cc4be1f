#include "tilecast/memory.h"

#include <algorithm>

#include "api/answer_each.h"
#include "api/declare.h"
#include "api/fit_notes.h"
#include "api/step_run.h"
#include "api/step_values.h"
#include "engine/largest.h"

namespace tilecast {
namespace {

// The cheapest method: it refuses what cannot run, and how long a step takes is not asked.
constexpr Method kQuick = Method::roofline;

Result<MemoryForecast> over_ranks(const AskedStep& asked, const ChosenMethod& quick) {
  const auto spread = forecast_parallel(asked.over_ranks(), *asked.cluster, pricing_of(quick));
  if (!spread) return spread.error();
  MemoryForecast out;
  out.setting = asked.setting, out.stages = memory_of(*spread), out.notes = notes_on(asked);
  add_fit_note(asked, out.stages, out.notes);
  // A training's batch is worked through in micro-batches: memory does not end it.
  if (asked.run.workload.mode == Mode::train) return out;
  const RankLayout& layout = asked.setting.layout;
  const LargestUnits units{layout.dp, layout.cp > 1 ? 2 * layout.cp : 1};
  const auto fits = [&](const Run& changed) -> Result<bool> {
    ParallelRun run = asked.over_ranks();
    run.run = changed;
    const auto forecast = forecast_parallel(run, *asked.cluster, pricing_of(quick));
    if (!forecast) return forecast.error();
    return forecast->fits();
  };
  const auto largest = largest_where(asked.run, fits, units);
  if (!largest) return largest.error();
  out.largest_batch = largest->batch, out.longest_sequence = largest->length, out.ended_by_model = largest->by_model;
  return out;
}

Result<MemoryForecast> answer(const MemoryQuery& query, StepLookups& known) {
  const auto asked = known.asked(query.step);
  if (!asked) return asked.error();
  const Result<ChosenMethod>& quick = known.method(kQuick, "");
  if (!quick) return quick.error();
  if (asked->cluster) return over_ranks(*asked, *quick);
  const Result<PreparedRun>& prepared = known.prepared(query.step, asked->run);
  if (!prepared) return prepared.error();
  const auto run = forecast_run(asked->run, *prepared, *asked->gpu, quick->method, quick->weights());
  if (!run) return run.error();
  const auto largest = largest_that_fits(asked->run, *asked->gpu);
  if (!largest) return largest.error();
  MemoryForecast out;
  out.setting = asked->setting, out.stages = {{run->memory, run->usable, run->cache_tokens}};
  out.largest_batch = largest->batch, out.longest_sequence = largest->length, out.ended_by_model = largest->by_model;
  out.notes = notes_on(*asked);
  add_fit_note(*asked, out.stages, out.notes);
  return out;
}

}  // namespace

Result<MemoryForecast> forecast(const MemoryQuery& query) {
  StepLookups known;
  return answer(query, known);
}

std::vector<Result<MemoryForecast>> forecast(std::span<const MemoryQuery> queries) {
  return answer_each<StepLookups>(queries,
                                  [](const MemoryQuery& query, StepLookups& known) { return answer(query, known); });
}

const Question& memory_question() {
  static const Question question{
      "memory",
      "what a model needs of a GPU's memory, and the largest that fits",
      {"memory Llama-3.1-70B --gpu H200-SXM,B200 --mode decode --batch 16 --context 8192",
       "memory Llama-3.1-70B --gpu H100-SXM --tp 4 --mode decode --batch 16 --context 8192"}};
  return question;
}

std::vector<BoundArgument> arguments_of(MemoryQuery& q) {
  std::vector<BoundArgument> all = arguments_of(q.step);
  std::erase_if(all, [](const BoundArgument& a) {
    return a.about.name == "method" || a.about.name == "weights" || a.about.name == "list-tasks";
  });
  return all;
}

}  // namespace tilecast
