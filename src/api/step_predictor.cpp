#include "tilecast/step_predictor.h"

#include <mutex>
#include <utility>
#include <vector>

#include "api/step_run.h"
#include "serve/exact_steps.h"

namespace tilecast {

struct StepPredictor::Kept {
  ChosenMethod chosen;  // whose weights the steps refer to
  std::unique_ptr<ExactSteps> steps;
  std::mutex turn;
  std::vector<PrefillChunk> prompts;  // kept for its memory
};

namespace {

constexpr Count kMost = Count{1} << 30;  // no real length exceeds it

// A query of some step, so that everything but its requests is checked as any query is.
Result<StepQuery> any_step(StepQuery query) {
  const StepQuery untouched;
  if (!query.requests.empty()) return field_error("requests", "are what every step says anew", "leave them out");
  if (query.seq != untouched.seq || query.context != untouched.context || query.batch != untouched.batch)
    return field_error("batch", "is what every step says anew", "leave batch, seq and context out");
  if (query.mode != untouched.mode) return field_error("mode", "follows from a step's requests", "leave it out");
  if (query.layout.dp > 1) return field_error("dp", "a predictor is of one replica", "leave it out");
  query.mode = Mode::mixed, query.requests = "1x16,1x1+16";
  return query;
}

Status check(std::span<const StepPredictor::Prompt> prompts, std::span<const Count> decodes) {
  if (prompts.empty() && decodes.empty())
    return field_error("decode", "and prefill are empty: a step has requests", "give one or more");
  for (const StepPredictor::Prompt& prompt : prompts)
    if (prompt.fresh < 1 || prompt.fresh > kMost || prompt.cached < 0 || prompt.cached > kMost)
      return field_error("prefill", "takes new tokens from 1 and cached ones from 0, to 2^30", "for example (512, 0)");
  for (const Count cached : decodes)
    if (cached < 0 || cached > kMost)
      return field_error("decode", "takes numbers of cached tokens from 0 to 2^30", "for example 2048");
  return Ok{};
}

}  // namespace

StepPredictor::StepPredictor(std::unique_ptr<Kept> kept) : kept_(std::move(kept)) {}
StepPredictor::StepPredictor(StepPredictor&& other) noexcept = default;
StepPredictor& StepPredictor::operator=(StepPredictor&& other) noexcept = default;
StepPredictor::~StepPredictor() = default;

Result<StepPredictor> StepPredictor::make(const StepQuery& given) {
  const auto query = any_step(given);
  if (!query) return query.error();
  StepLookups lookups;
  const auto asked = lookups.asked(*query);
  if (!asked) return asked.error();
  if (!std::holds_alternative<ModelSpec>(asked->run.model) || asked->setting.item != "token")
    return field_error("model", "its steps are not made of requests", "a model that generates text");
  auto chosen = chosen_method(given.method, given.weights);
  if (!chosen) return std::move(chosen).error();
  auto kept = std::make_unique<Kept>();
  kept->chosen = *std::move(chosen);
  const ChosenMethod& with = kept->chosen;
  kept->steps = std::make_unique<ExactSteps>(
      asked->cluster ? whole_steps_over(asked->over_ranks(), *asked->cluster, pricing_of(with))
                     : whole_steps_on(asked->run, *asked->gpu, with.method, with.weights()));
  // A layout that cannot run, a format that the card does not have: said now, not at the first step.
  if (auto fine = kept->steps->time(std::vector<PrefillChunk>{{16, 0}}, std::vector<Count>{16}); !fine)
    return std::move(fine).error();
  return StepPredictor(std::move(kept));
}

Result<Seconds> StepPredictor::time(std::span<const Prompt> prompts, std::span<const Count> decodes) const {
  if (auto fine = check(prompts, decodes); !fine) return std::move(fine).error();
  const std::lock_guard guard(kept_->turn);
  kept_->prompts.clear();
  for (const Prompt& prompt : prompts) kept_->prompts.push_back({prompt.fresh, prompt.cached});
  return kept_->steps->time(kept_->prompts, decodes);
}

}  // namespace tilecast
