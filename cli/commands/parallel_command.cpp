#include "cli/commands/parallel_command.h"

#include <fmt/format.h>

#include <cmath>

#include "api/declare.h"
#include "api/model_of.h"
#include "api/step_run.h"
#include "cli/commands/chosen_method.h"
#include "cli/terminal/countdown.h"
#include "cluster/prices.h"
#include "cluster/registry.h"

namespace tilecast {
namespace {

// Ten thousand times what the longest training so far took; and no GPU costs a thousand dollars an hour.
constexpr double kMostTokens = 1e18, kMostPrice = 1e6;

Error flag_error(std::string flag, std::string problem, std::string remedy = {}) {
  return Error{std::move(flag), "", std::move(problem), std::move(remedy)};
}

Result<double> price_of(const PlanOptions& o, const Gpu& gpu, std::string& note) {
  if (o.price > 0) {
    note = "as given";
    return o.price;
  }
  PriceTable own;
  if (!o.prices.empty()) {
    auto loaded = load_prices(o.prices);
    if (!loaded) return std::move(loaded).error();
    own = *std::move(loaded);
  }
  const auto price = (o.prices.empty() ? shipped_prices() : own).of(gpu.name);
  if (!price) {
    note = "no price of " + gpu.name + " is known: give --price or --prices";
    return 0.0;
  }
  note = o.prices.empty() ? price->provider + ", read " + price->read_on : o.prices;
  return price->usd_per_hour;
}

}  // namespace

namespace {

Result<Run> run_from(const PlanOptions& o) {
  if (o.predict.dtypes.size() > 1 || o.predict.engines.size() > 1)
    return field_error("dtype", "takes one format here", "plan twice to compare");
  StepQuery query;
  query.model = o.predict.model, query.mode = Mode::train, query.batch = o.global_batch, query.seq = o.predict.seq;
  std::vector<std::pair<const char*, std::string>> texts = {
      {"mixed", o.predict.mixed},
      {"optimizer", o.predict.optimizer},
      {"engine", o.predict.engines.empty() ? "cudagraph" : o.predict.engines.front()}};
  if (!o.predict.dtypes.empty()) texts.emplace_back("dtype", o.predict.dtypes.front());
  for (const auto& [name, text] : texts)
    if (auto set = set_argument(arguments_of(query), name, text); !set) return std::move(set).error();
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto model = model_of({query.model});
  if (!model) return model.error();
  return run_of(query, *model);
}

}  // namespace

Result<std::string> run_plan_train(const PlanOptions& o) {
  if (o.gpus.empty()) return flag_error("--gpus", "is missing", "for example --gpus 64xH100-SXM");
  if (o.global_batch < 1)
    return flag_error("--global-batch", "is missing: sequences of a step", "for example --global-batch 512");
  if (!(o.tokens >= 1) || !(o.tokens <= kMostTokens))
    return flag_error("--tokens", fmt::format("must lie between 1 and {:g}, not {:g}", kMostTokens, o.tokens));
  if (!(o.price >= 0) || !(o.price <= kMostPrice))
    return flag_error("--price", fmt::format("must lie between 0 and {:g} dollars, not {:g}", kMostPrice, o.price));
  auto cluster = cluster_of(o.gpus);
  if (!cluster) return std::move(cluster).error();
  auto run = run_from(o);
  if (!run) return std::move(run).error();
  const PlannedTraining& predict = o.predict;
  TrainingQuery query{*std::move(run), *std::move(cluster), 0};
  query.gpus = query.cluster.gpus();
  query.run.training.wide_gradients = true;
  const auto chosen = chosen_method(predict.method, predict.weights);
  if (!chosen) return chosen.error();
  std::string note;
  const auto price = price_of(o, query.cluster.gpu, note);
  if (!price) return price.error();
  Countdown countdown("planning");
  auto plan = plan_training(query, pricing_of(*chosen), [&](double share) { countdown(share); });
  if (!plan) return std::move(plan).error();
  if (plan->ranked.empty()) return no_plan(query, *plan);
  const TrainingCost cost = cost_of(plan->ranked.front(), o.tokens, *price);
  return predict.json ? plan_json(query, *plan, o, cost) : plan_table(query, *plan, o, cost, note);
}

}  // namespace tilecast
