#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <tuple>

#include "api/chosen_method.h"
#include "api/declare.h"
#include "api/format_notes.h"
#include "api/plan_serve_query.h"
#include "api/plan_serve_requests.h"
#include "api/plan_serve_row.h"
#include "api/serving_text.h"
#include "constants/serve.h"
#include "engine/path.h"
#include "engine/precision.h"
#include "support/text.h"
#include "tilecast/plan.h"

namespace tilecast {
namespace {

// A best plan on a card that nobody measured is worth a second look at the best on one that somebody did. Finalists
// stand in their order.
void note_measured(const std::vector<PlannedServing>& finalists, std::size_t best, std::vector<std::string>& notes) {
  const PlannedServing& first = finalists[best];
  if (first.seen != Seen::no) return;
  const auto measured = std::find_if(finalists.begin(), finalists.end(), [](const PlannedServing& p) {
    return p.seen != Seen::no && p.meets && p.chance.value_or(1) >= constants::kPlanSure;
  });
  if (measured == finalists.end()) return;
  std::string text = fmt::format(
      "no measurement says how {} runs these kernels; first among cards that were measured: "
      "{} x {}, {} {}",
      first.gpu, measured->gpus, measured->gpu, name_of(measured->engine), measured->dtype);
  if (measured->usd_per_hour) text += fmt::format(", ${:.2f} an hour", *measured->usd_per_hour);
  if (measured->chance) text += fmt::format(", with a chance of {:.0f} %", 100 * *measured->chance);
  notes.push_back(std::move(text));
}

// Where a finalist's format is forecast slower than a wider one in the steps that its own load makes: once for each
// card, engine and format, in the first of the layouts.
void note_slower_formats(const ServeQuery& query, const std::vector<PlannedDeployment>& finalists,
                         const ChosenMethod& method, std::vector<std::string>& notes) {
  std::set<std::tuple<std::size_t, EngineKind, std::string>> told;
  for (const PlannedDeployment& d : finalists) {
    const ServeSetup& s = *d.pool.setup;
    if (!told.emplace(s.offer, s.engine, s.formats.dtype).second) continue;
    ServedSteps answers;
    answers.answers = std::max<Count>(1, std::llround(d.steady.decoding));
    answers.context = query.mean_input() + query.mean_output() / 2;
    answers.prompt = d.prefill ? 0 : query.mean_input();
    ServedSteps prompts{0, 0, query.mean_input()};
    const auto add = [&](const ServeSetup& pool, const ServedSteps& steps) {
      const std::string place =
          fmt::format("{} {} over {} on {}", name_of(serving_engine_of(pool.engine)), pool.formats.dtype,
                      pool.layout.ranks() > 1 ? text_of(pool.layout) : "1 GPU", query.gpus[pool.offer].gpu.name);
      for (const std::string& note : slower_format_notes(options_of(query, pool), steps, method))
        notes.push_back(fmt::format("{}, {}", place, note));
    };
    add(s, answers);
    if (d.prefill) add(*d.prefill->setup, prompts);
  }
}

}  // namespace

Result<ServingPlan> plan_serve(const PlanServeQuery& q, const Watch& progress) {
  if (auto fine = check_arguments(q); !fine) return fine.error();
  if (auto fine = check_objective(q); !fine) return fine.error();
  if (auto fine = check_plan_features(q); !fine) return fine.error();
  // An engine that is not named is as good as vLLM to what is about vLLM: engines_for() chooses.
  const bool vllm = q.engines.empty() || q.engines == std::vector<std::string>{"vllm"};
  if (auto fine = check_scopes(q, {{"engine", vllm ? "vllm" : joined(q.engines)}}); !fine) return fine.error();
  ServingPlan result;
  const auto query = planner_query(q, result);
  if (!query) return query.error();
  const auto chosen = chosen_method(q.method, q.weights);
  if (!chosen) return chosen.error();
  const PlanLaunches launches(q, *query);
  ServeQuery asked = *query;
  asked.complete = [&](const std::shared_ptr<const ServeSetup>& setup) { return launches.complete(setup); };
  auto plan = plan_serving(asked, chosen->method, chosen->weights(), progress);
  if (!plan) return std::move(plan).error();
  const auto row = [&](const PlannedDeployment& d) { return plan_row(*query, launches, d); };
  result.model = query->model.name, result.objective = query->objective;
  result.slo = query->slo, result.statistic = query->statistic, result.rate = query->workload.rate;
  result.tried = plan->tried, result.does_not_fit = plan->does_not_fit;
  result.unsuited = plan->unsuited, result.does_not_suit = plan->does_not_suit, result.classes = query->classes;
  result.too_large = plan->too_large, result.too_slow = plan->too_slow, result.too_dear = plan->too_dear;
  for (const PlannedDeployment& d : plan->finalists) result.finalists.push_back(row(d));
  for (const GpuOffer& offer : query->gpus) {
    const auto precision = precision_of(query->model, q.dtypes.empty() ? "" : q.dtypes.front());
    const std::string note = precision ? emulated_note(*precision, offer.gpu) : "";
    if (plan->best && !note.empty()) result.notes.push_back(note);
    if (!plan->best && result.format_cause.empty()) result.format_cause = note;
  }
  if (plan->best) note_measured(result.finalists, *plan->best, result.notes);
  if (plan->best)
    if (std::string limit = launches.shorter_than_the_model(plan->finalists[*plan->best]); !limit.empty()) {
      limit.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(limit.front())));
      result.notes.push_back(std::move(limit));
    }
  note_slower_formats(*query, plan->finalists, *chosen, result.notes);
  result.front = plan->front, result.best = plan->best, result.breaks = plan->breaks;
  if (plan->nearest && !plan->best) result.nearest = row(*plan->nearest);
  if (plan->attainable) result.attainable = row(*plan->attainable);
  result.pictures = std::move(plan->pictures);
  return result;
}

bool ServingPlan::any_objective() const {
  return slo.any() || std::any_of(classes.begin(), classes.end(), [](const RequestClass& c) { return c.slo.any(); });
}

const Question& plan_serve_question() {
  static const Question question{
      "plan serve",
      "the best deployment within an SLO, and how to start it",
      {"plan serve Llama-3.1-8B --slo ttft=500ms,tpot=30ms --rate 20",
       "plan serve Llama-3.1-8B --objective load --slo ttft=1s,tpot=50ms --gpus 8xH100-SXM",
       "plan serve Llama-3.1-8B --objective throughput --gpus H100-SXM,B200",
       "plan serve Llama-3.1-8B --trace requests.csv --slo ttft=1s,tpot=50ms --gpus H100-SXM",
       "plan serve Llama-3.1-8B --turns 6 --rate 2 --slo ttft=1s,tpot=50ms --gpus 8xH100-SXM --router prefix-aware"}};
  return question;
}

}  // namespace tilecast
