#include "cli/plan_command.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/simulate_command.h"
#include "cli/table.h"
#include "cli/units_text.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

Result<std::pair<std::string, double>> price_from(const std::string& text) {
  const auto equals = text.find('=');
  double price = 0;
  const char* end = text.data() + text.size();
  if (equals == std::string::npos || std::from_chars(text.data() + equals + 1, end, price).ptr != end || !(price > 0))
    return Error{"--price", "", "'" + text + "' is no price", "for example --price H100-SXM=2.5,L40S=0.9"};
  const auto gpu = load_gpu(text.substr(0, equals));
  if (!gpu) return gpu.error();
  return std::pair(gpu->name, price);
}

Result<ServingPlanOptions> options_from(const PlanCommand& c) {
  ServingPlanOptions o;
  auto model = find_model(c.model);
  if (!model) return std::move(model).error();
  o.model = *std::move(model);
  for (const std::string& name : c.gpus) {
    auto gpu = load_gpu(name);
    if (!gpu) return std::move(gpu).error();
    o.gpus.push_back(*std::move(gpu));
  }
  for (const std::string& name : c.engines) {
    const auto engine = engine_from(name);
    if (!engine) return engine.error();
    o.engines.push_back(*engine);
  }
  o.dtypes = c.dtypes;
  if (o.dtypes.empty()) o.dtypes = {o.model.quantization.empty() ? o.model.dtype : o.model.quantization};
  o.kv_dtype = c.kv_dtype;
  for (const std::string& text : c.prices) {
    auto price = price_from(text);
    if (!price) return std::move(price).error();
    o.prices.insert(*price);
  }
  auto slo = slo_from(c.slo);
  if (!slo) return std::move(slo).error();
  o.slo = *slo;
  auto input = lengths_from(c.input, "--input"), output = lengths_from(c.output, "--output");
  if (!input) return std::move(input).error();
  if (!output) return std::move(output).error();
  o.workload.input = *input, o.workload.output = *output;
  o.workload.rate = c.rate, o.workload.requests = c.requests;
  o.workload.seed = static_cast<std::uint64_t>(c.seed);
  if (c.most_gpus < 1 || c.most_gpus > 4096 || c.finalists < 1 || c.finalists > 1000)
    return Error{"--most-gpus", "", "must lie between 1 and 4096, --finalists between 1 and 1000", ""};
  if (!(c.link_gb_per_s > 0)) return Error{"--link", "", "needs a positive bandwidth", ""};
  o.quantile = c.quantile, o.budget = c.budget;
  o.most_gpus = c.most_gpus, o.finalists = c.finalists;
  o.disaggregated = !c.aggregated_only;
  o.link.bandwidth = gigabytes_per_second(c.link_gb_per_s);
  return o;
}

std::string replicas_text(const PlanCandidate& c) {
  return c.prefill_replicas > 0 ? fmt::format("{} + {} prefill", c.replicas, c.prefill_replicas)
                                : fmt::format("{}", c.replicas);
}

std::string cost_text(const ServingPlanOptions& o, double cost) {
  return o.prices.empty() ? fmt::format("{:g} GPUs", cost) : fmt::format("{:.2f}/h", cost);
}

Table table_of() {
  return Table({{"GPU", Align::left},
                {"engine", Align::left},
                {"dtype", Align::left},
                {"replicas"},
                {"tokens a step"},
                {"cost"},
                {"TTFT"},
                {"TPOT"},
                {"met"},
                {"scarcest", Align::left}});
}

void add_row(Table& table, const ServingPlanOptions& o, const PlanCandidate& c) {
  const Seconds ttft = c.simulated ? seconds(c.simulated->ttft.p90) : c.ttft;
  const Seconds tpot = c.simulated ? seconds(c.simulated->tpot.p90) : c.tpot;
  table.add({o.gpus[c.gpu].name, std::string(name_of(c.engine)), c.dtype, replicas_text(c),
             fmt::format("{}", c.max_tokens), cost_text(o, c.cost), text_of(ttft), text_of(tpot),
             c.simulated ? percent(c.met) : "–", std::string(name_of(c.steady.scarcest()))});
}

// How far the best choice is from its objectives, and what would go first as the rate grows.
std::string margin_text(const ServingPlanOptions& o, const PlanCandidate& c) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<Seconds>& goal, double p90) {
    if (goal) parts.push_back(fmt::format("{} p90 {} of {}", name, text_of(seconds(p90)), text_of(*goal)));
  };
  add("TTFT", o.slo.ttft, c.simulated->ttft.p90);
  add("TPOT", o.slo.tpot, c.simulated->tpot.p90);
  add("E2EL", o.slo.e2el, c.simulated->e2el.p90);
  return fmt::format("margin: {}; cache {} at most, GPU busy {}\nas the rate grows, {} gives way first\n",
                     join(parts, ", "), percent(c.simulated->cache_peak), percent(c.simulated->gpu_busy),
                     name_of(c.steady.scarcest()));
}

std::string plan_text(const PlanCommand& command, const ServingPlanOptions& o, const ServingPlan& plan) {
  std::string text = fmt::format("{}, {:g} requests a second of {} and {} tokens; {} candidates\n", o.model.name,
                                 o.workload.rate, command.input, command.output, plan.candidates);
  for (const std::string& note : plan.notes) text += "left out: " + note + "\n";
  if (plan.front.empty())
    return text + "\nnothing within reach meets the objectives (a looser --slo, other --gpus, more --most-gpus)\n";
  Table front = table_of(), tried = table_of();
  for (const PlanCandidate& c : plan.front) add_row(front, o, c);
  for (const PlanCandidate& c : plan.tried) add_row(tried, o, c);
  text += "\ncost against latency, by steady state (means)\n\n" + front.text();
  text += "\nsimulated, cheapest first (p90)\n\n" + tried.text() + "\n";
  if (!plan.best)
    return text +
           fmt::format("none of the {} simulated keeps {} of requests within the objectives (--finalists for more)\n",
                       plan.tried.size(), percent(o.quantile));
  const PlanCandidate& best = plan.tried[*plan.best];
  text += fmt::format("cheapest: {} × {}, {}\n{}", replicas_text(best), o.gpus[best.gpu].name, cost_text(o, best.cost),
                      margin_text(o, best));
  return text + "start each replica with\n  " + launch_command(best, command.model, o.kv_dtype) + "\n";
}

Json candidate_json(const ServingPlanOptions& o, const PlanCandidate& c) {
  Json json = {{"gpu", o.gpus[c.gpu].name},
               {"engine", name_of(c.engine)},
               {"dtype", c.dtype},
               {"replicas", c.replicas},
               {"prefill_replicas", c.prefill_replicas},
               {"max_num_batched_tokens", c.max_tokens},
               {"cost", c.cost},
               {"steady_ttft_ms", in_milliseconds(c.ttft)},
               {"steady_tpot_ms", in_milliseconds(c.tpot)},
               {"scarcest", name_of(c.steady.scarcest())}};
  if (c.simulated) {
    json["met"] = c.met;
    json["ttft_p90_ms"] = c.simulated->ttft.p90 * 1e3;
    json["tpot_p90_ms"] = c.simulated->tpot.p90 * 1e3;
    json["output_throughput"] = c.simulated->output_throughput;
  }
  return json;
}

std::string plan_json(const PlanCommand& command, const ServingPlanOptions& o, const ServingPlan& plan) {
  Json json = {{"model", o.model.name}, {"candidates", plan.candidates}, {"left_out", plan.notes}};
  json["front"] = Json::array(), json["simulated"] = Json::array();
  for (const PlanCandidate& c : plan.front) json["front"].push_back(candidate_json(o, c));
  for (const PlanCandidate& c : plan.tried) json["simulated"].push_back(candidate_json(o, c));
  if (plan.best) {
    json["best"] = candidate_json(o, plan.tried[*plan.best]);
    json["best"]["launch"] = launch_command(plan.tried[*plan.best], command.model, o.kv_dtype);
  }
  return json.dump(2) + "\n";
}

}  // namespace

Result<std::string> run_plan_serve(const PlanCommand& command) {
  const auto method = method_from(command.method);
  if (!method) return method.error();
  if (needs_weights(*method))
    return Error{"--method", "", "forecasts kernels only: '" + command.method + "'", "tilecast, analytic or roofline"};
  const ModelSource* weights = *method == Method::tilecast ? &shipped_models() : nullptr;
  auto options = options_from(command);
  if (!options) return std::move(options).error();
  const auto plan =
      plan_serving(*options, [&](const DeploymentOptions& d) { return whole_model(d, *method, weights); });
  if (!plan) return plan.error();
  return command.json ? plan_json(command, *options, *plan) : plan_text(command, *options, *plan);
}

}  // namespace tilecast
