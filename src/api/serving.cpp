#include "tilecast/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/chosen_method.h"
#include "api/format_notes.h"
#include "api/serving_deployment.h"
#include "api/serving_fleet.h"
#include "api/serving_requests.h"
#include "api/serving_text.h"
#include "constants/serve.h"
#include "serve/deployment_features.h"
#include "serve/metrics.h"
#include "serve/plan.h"
#include "serve/step_width.h"

namespace tilecast {
namespace {

// What concerns more than one field.
Status check_together(const SimulateQuery& q) {
  constexpr Count kMostGpus = 65536, kMostReplicas = 4096;
  if (auto fine = check_fleet(q); !fine) return fine;
  if (q.tp * q.pp * q.attention_dp > kMostGpus)
    return field_error("tp", fmt::format("a replica has at most {} GPUs", kMostGpus),
                       "a smaller tp, pp or attention-dp");
  if ((q.dp + q.prefill_replicas) * q.attention_dp > kMostReplicas)
    return field_error("dp", fmt::format("simulates at most {} replicas", kMostReplicas), "a smaller dp");
  if (q.policy == ServingPolicy::max_utilization && q.engine != ServingEngine::trtllm)
    return field_error("policy", "max-utilization is TensorRT-LLM's", "give engine trtllm");
  if (auto fine = check_requests(q); !fine) return fine;
  if (!q.trace.empty() && (q.load.rate || q.sweep.starts_with("rate")))
    return field_error(q.load.rate ? "rate" : "sweep", "a trace has arrivals of its own", "a concurrency, or no trace");
  if (q.load.rate && q.sweep.starts_with("rate"))
    return field_error("rate", "has no effect beside a sweep of rates", "leave one of them out");
  if (q.concurrency && q.sweep.starts_with("concurrency"))
    return field_error("concurrency", "has no effect beside a sweep of it", "leave one of them out");
  if (q.chunked_prefill && q.no_chunked_prefill)
    return field_error("chunked-prefill", "and no-chunked-prefill exclude each other", "give one of them");
  return Ok{};
}

Count mean_tokens(const std::vector<Request>& requests) {
  Count tokens = 0;
  for (const Request& r : requests) tokens += r.input + r.output;
  return requests.empty() ? 1 : ceil_div(tokens, static_cast<Count>(requests.size()));
}

// TensorRT-LLM starts a prompt that it does not cut only in a step that has room for all of it beside the answers that
// run: where prompts nearly fill a step, few requests run at a time, whatever the cache holds.
std::optional<std::string> prompts_keep_answers_waiting(const SchedulerLimits& limits,
                                                        const std::vector<Request>& requests, Count most_at_once) {
  const bool trtllm = limits.policy == Policy::trtllm_no_evict || limits.policy == Policy::trtllm_max_utilization;
  if (!trtllm || limits.chunked_prefill) return std::nullopt;
  Count longest = 0;  // of those that a step can hold; others are refused
  for (const Request& r : requests)
    if (r.input <= limits.max_tokens) longest = std::max(longest, r.input);
  const Count room = limits.max_tokens - longest;
  constexpr Count kFew = 4;  // of those that would fit: a quarter
  if (longest == 0 || kFew * room >= most_at_once) return std::nullopt;
  return fmt::format(
      "a prompt of {} tokens starts only in steps with {} answers at most: a step computes {} and prompts are "
      "not cut (chunked-prefill cuts them, max-num-batched-tokens makes room)",
      longest, room, limits.max_tokens);
}

std::string name_of_load(const SimulateQuery& q) {
  if (q.concurrency && !q.load.rate) return fmt::format("concurrency {}", *q.concurrency);
  if (q.load.rate) return fmt::format("rate {:g}", *q.load.rate);
  return q.trace.empty() ? "all at once" : "trace";
}

// What all loads share. It stays where it is: times of steps refer to the method's weights.
struct Setup {
  Setup() = default;
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  ChosenMethod chosen;
  DeploymentOptions options;
  FeatureOptions features;
  Deployment deployment, prefill;  // the second where prompts have replicas of their own
  SimulationOptions simulation;
  Slo slo;
  std::vector<RequestClass> classes;
  Count media_tokens = 0;  // of one image or clip
};

// The same load on as many replicas all the time as an autoscaler begins with.
Status run_fixed(SimulatedLoad& load, const std::vector<Request>& requests, SimulationOptions simulation,
                 const Setup& setup) {
  load.fixed_replicas = simulation.pool.replicas / simulation.pool.in_step;
  simulation.autoscale.reset();
  auto outcome = simulate(requests, simulation);
  if (!outcome) return std::move(outcome).error();
  load.fixed = metrics_of(*std::move(outcome), setup.slo, setup.classes);
  return Ok{};
}

Result<SimulatedLoad> one_load(const SimulateQuery& q, const Setup& setup, std::vector<std::string>& notes,
                               const Watch& progress) {
  SimulatedLoad load;
  load.name = name_of_load(q);
  const auto asked = requests_from(q, setup.classes, setup.media_tokens, notes);
  if (!asked) return asked.error();
  const std::vector<Request>& requests = asked->requests;
  SimulationOptions simulation = setup.simulation;
  simulation.concurrency = q.concurrency.value_or(0);
  simulation.paths = &asked->paths;
  if (simulation.autoscale)
    if (auto fine = run_fixed(load, requests, simulation, setup); !fine) return fine.error();
  auto outcome = simulate(requests, simulation, progress);
  if (!outcome) return std::move(outcome).error();
  for (const Deployment* d : {&setup.deployment, &setup.prefill})
    if (d->steps)
      if (auto fine = d->steps->status(); !fine) return fine.error();
  load.outcome = *std::move(outcome);
  load.metrics = metrics_of(load.outcome, setup.slo, setup.classes);
  load.most_at_once = most_at_once(setup.deployment.pool, mean_tokens(requests));
  const bool apart = setup.prefill.steps != nullptr;  // prompts have replicas of their own
  if (auto note = prompts_keep_answers_waiting(setup.deployment.pool.limits, requests, load.most_at_once);
      note && !apart && std::find(notes.begin(), notes.end(), *note) == notes.end())
    notes.push_back(*std::move(note));
  if (q.no_interval || load.metrics.completed == 0) return load;
  auto ends = serving_ends(setup.options, requests, simulation, load.outcome, setup.slo, setup.chosen.method,
                           setup.chosen.weights(), q.sweep.empty() ? kLoadSlices : 0);
  if (!ends) return std::move(ends).error();
  const auto reach = [&](const StepWidth& parts) {
    const StepWidth whole = of_whole_step(parts, ends->steps);
    return StepReach{whole.low, whole.high};
  };
  load.answers = reach(ends->widths.answers), load.prompts = reach(ends->widths.prompts);
  load.fast_over_time = std::move(ends->fast_over_time), load.slow_over_time = std::move(ends->slow_over_time);
  ServingEnds whole = of_whole_run(*ends, load.metrics);
  keep_to_patience(whole, simulation);
  load.fast = std::move(whole.fast), load.slow = std::move(whole.slow);
  return load;
}

// The pool for prompts: as the other, but for its ranks.
Status set_up_prefill(Setup& setup, const SimulateQuery& q) {
  if (q.prefill_replicas == 0) return Ok{};
  const auto link = link_from(q, setup.options);
  if (!link) return link.error();
  setup.simulation.link = *link;
  setup.simulation.prefill = setup.deployment.pool;
  const SimulateQuery other = prefill_query(q);
  if (prefill_differs(q)) {
    const auto options = deployment_from(other);
    if (!options) return options.error();
    auto deployment = deploy(*options, setup.chosen.method, setup.chosen.weights());
    if (!deployment) return std::move(deployment).error();
    setup.prefill = *std::move(deployment);
    if (auto fine = equip(setup.prefill, *options, setup.features, setup.chosen.method, setup.chosen.weights()); !fine)
      return fine;
    setup.simulation.prefill = setup.prefill.pool;
  }
  setup.simulation.prefill->replicas = q.prefill_replicas * other.attention_dp;
  return Ok{};
}

Status set_up_fleet(Setup& setup, const SimulateQuery& q) {
  setup.simulation.router = q.router;
  setup.simulation.prefixes.share = q.fleet.cache_threshold;
  setup.simulation.prefixes.apart = q.fleet.balance_abs, setup.simulation.prefixes.ratio = q.fleet.balance_rel;
  const Seconds start_up = start_up_of(setup.deployment.budget.weights, gigabytes_per_second(constants::kWeightsRate));
  auto autoscale = autoscale_from(q.fleet.autoscale, q.dp, start_up);
  if (!autoscale) return std::move(autoscale).error();
  setup.simulation.autoscale = *autoscale;
  return Ok{};
}

Status set_up(Setup& setup, const SimulateQuery& q) {
  auto slo = slo_from(q.slo);
  if (!slo) return std::move(slo).error();
  setup.slo = *slo;
  auto chosen = chosen_method(q.method, q.weights);
  if (!chosen) return std::move(chosen).error();
  setup.chosen = *std::move(chosen);
  auto options = deployment_from(q);
  if (!options) return std::move(options).error();
  setup.options = *std::move(options);
  auto deployment = deploy(setup.options, setup.chosen.method, setup.chosen.weights());
  if (!deployment) return std::move(deployment).error();
  setup.deployment = *std::move(deployment);
  auto features = features_from(q, setup.options);
  if (!features) return std::move(features).error();
  setup.features = *std::move(features);
  if (setup.features.encoder) {
    const auto tower = tower_from(q);
    if (!tower) return tower.error();
    setup.media_tokens = tower->tokens;
  }
  auto fine = equip(setup.deployment, setup.options, setup.features, setup.chosen.method, setup.chosen.weights());
  if (!fine) return fine;
  auto classes = classes_from(q.requests.classes);
  if (!classes) return std::move(classes).error();
  setup.classes = *std::move(classes);
  if (fine = set_patience(setup.simulation, q.requests); !fine) return fine;
  setup.simulation.pool = setup.deployment.pool;
  if (fine = set_up_fleet(setup, q); !fine) return fine;
  setup.simulation.context_limit = q.context_limit.value_or(setup.options.model.max_context);
  return set_up_prefill(setup, q);
}

// The steps that the load makes, as far as its lengths are known before it runs.
ServedSteps steps_of(const Setup& setup, const SimulateQuery& q) {
  ServedSteps steps;
  const auto input = lengths_from(q.load.input, "input");
  if (input && q.trace.empty()) steps.prompt = steps.context = input->mean;
  if (setup.simulation.prefill) steps.prompt = 0;
  return steps;
}

SimulationResult described(const Setup& setup, const SimulateQuery& q) {
  const DeploymentOptions& d = setup.options;
  const PoolOptions& pool = setup.deployment.pool;
  const CacheBudget& budget = setup.deployment.budget;
  SimulationResult result;
  result.model = d.model.name, result.gpu = d.gpu.name;
  result.engine = q.engine, result.policy = name_of(pool.limits.policy);
  result.dtype = text_of(d.engine.precision);
  if (d.spread) {
    const RankLayout& ranks = d.spread->layout;
    result.tp = ranks.tp, result.pp = ranks.pp, result.ep = ranks.ep, result.attention_dp = ranks.dp;
    result.layout = text_of(ranks);
  }
  result.replicas = pool.replicas, result.prefill_replicas = q.prefill_replicas;
  result.max_sequences = pool.limits.max_sequences, result.max_tokens = pool.limits.max_tokens;
  result.step_tokens = step_tokens(pool.limits);
  result.block_tokens = pool.geometry.block_tokens, result.blocks = pool.blocks;
  result.memory = {budget.visible, budget.usable, budget.weights, budget.activations, budget.other, budget.cache};
  result.slo = setup.slo;
  result.media_tokens = setup.media_tokens;
  result.notes = deployment_notes(d, steps_of(setup, q), setup.chosen);
  if (d.model.max_context > 0 && q.context_limit.value_or(0) > d.model.max_context)
    result.notes.push_back(fmt::format("{} was made for {} tokens; max-model-len allows {}", d.model.name,
                                       d.model.max_context, *q.context_limit));
  if (d.offload.host + d.offload.disk > bytes(0) && !pool.offload.any())
    result.notes.push_back(pool.geometry.plain() ? "the offload has no room for a block of keys and values"
                                                 : "offload of models with windows or states is not modelled");
  return result;
}

// Nothing was given that the answer would leave out.
Status simulation_scopes_hold(const SimulateQuery& q, const ModelSpec& model) {
  const bool arrivals = q.load.rate || q.sweep.starts_with("rate");
  const bool several = q.dp * q.attention_dp > 1 || q.prefill_replicas > 1 || !q.fleet.autoscale.empty();
  return check_scopes(q, {{"experts", has_experts(model) ? "yes" : "no"},
                          {"rate", arrivals ? "given" : ""},
                          {"copies", several ? "many" : "one"}});
}

// A run that served nobody has no figures to show.
Status check_served(const SimulationResult& result) {
  for (const SimulatedLoad& load : result.loads)
    if (load.metrics.completed > 0) return Ok{};
  const SimulatedLoad& load = result.loads.front();
  const std::vector<std::string>& why = load.outcome.refused;
  if (load.metrics.cancelled > 0)
    return error(fmt::format("clients gave up all of {} requests", load.metrics.cancelled),
                 "a longer timeout, or a lower load");
  return error(fmt::format("none of {} requests can be served{}", load.metrics.refused,
                           why.empty() ? std::string() : ": " + why.front()),
               "shorter requests, more memory or a larger max-model-len");
}

}  // namespace

Result<SimulationResult> simulate(const SimulateQuery& q, const Watch& progress) {
  if (auto fine = check_arguments(q); !fine) return fine.error();
  if (auto fine = check_together(q); !fine) return fine.error();
  Sweep sweep{true, {q.load.rate.value_or(0)}};
  if (!q.sweep.empty()) {
    auto given = sweep_from(q.sweep);
    if (!given) return std::move(given).error();
    sweep = *std::move(given);
  }
  Setup setup;
  if (auto fine = set_up(setup, q); !fine) return fine.error();
  if (auto fine = simulation_scopes_hold(q, setup.options.model); !fine) return fine.error();
  SimulationResult result = described(setup, q);
  result.list_steps = q.list_steps, result.list_from = q.list_from;
  for (std::size_t i = 0; i < sweep.values.size(); ++i) {
    SimulateQuery at = q;
    if (!q.sweep.empty() && sweep.of_rate) at.load.rate = sweep.values[i];
    if (!q.sweep.empty() && !sweep.of_rate) at.concurrency = std::llround(sweep.values[i]);
    const auto share = [&](double of_load) {
      return progress.go_on((static_cast<double>(i) + of_load) / static_cast<double>(sweep.values.size()));
    };
    auto load = one_load(at, setup, result.notes, share);
    if (!load) return std::move(load).error();
    load->value = sweep.values[i];
    if (!q.sweep.empty()) load->outcome = {};  // only figures of each load are kept
    result.loads.push_back(*std::move(load));
  }
  if (auto served = check_served(result); !served) return served.error();
  return result;
}

}  // namespace tilecast
