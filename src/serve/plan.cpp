#include "serve/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

// One GPU, engine, format and step limit: what candidates with different numbers of replicas share.
struct Setting {
  PlanCandidate base;
  Deployment deployment;
};

DeploymentOptions deployment_of(const ServingPlanOptions& o, const PlanCandidate& c, const Precision& precision) {
  DeploymentOptions d;
  d.model = o.model;
  d.gpu = o.gpus[c.gpu];
  d.engine.kind = c.engine;
  d.engine.precision = precision;
  d.max_tokens = c.max_tokens;
  if (c.engine == EngineKind::sglang) d.chunk = c.max_tokens;
  if (c.engine == EngineKind::trtllm) d.chunked_prefill = true;
  return d;
}

double price_of(const ServingPlanOptions& o, std::size_t gpu) {
  const auto found = o.prices.find(o.gpus[gpu].name);
  return found == o.prices.end() ? 1 : found->second;
}

bool within(const Slo& slo, Seconds ttft, Seconds tpot, Count output) {
  if (slo.ttft && ttft > *slo.ttft) return false;
  if (slo.tpot && tpot > *slo.tpot) return false;
  return !slo.e2el || ttft + tpot * static_cast<double>(output - 1) <= *slo.e2el;
}

ReplicaLoad load_of(const ServingPlanOptions& o, Count replicas) {
  return {o.workload.rate / static_cast<double>(replicas), o.workload.input.mean, o.workload.output.mean};
}

// The fewest replicas, at most `most`, for which `fine` holds; it does for all above.
template <class Fine>
std::optional<Count> fewest(Count most, Fine fine) {
  Count high = 1;
  while (high < most && !fine(high)) high *= 2;
  high = std::min(high, most);
  if (!fine(high)) return std::nullopt;
  Count low = high / 2;  // not fine, or zero
  while (high - low > 1) {
    const Count middle = low + (high - low) / 2;
    (fine(middle) ? high : low) = middle;
  }
  return high;
}

// Prompts and answers together, with a few more replicas than needed: latency for money.
void add_aggregated(std::vector<PlanCandidate>& out, const ServingPlanOptions& o, const Setting& s) {
  const Count output = o.workload.output.mean;
  const auto at = [&](Count replicas) { return steady_state(s.deployment.pool, load_of(o, replicas)); };
  const auto least = fewest(o.most_gpus, [&](Count n) {
    const SteadyState state = at(n);
    return state.stable() && within(o.slo, state.ttft, state.tpot, output);
  });
  if (!least) return;
  for (const double more : {1.0, 1.25, 1.5, 2.0, 3.0}) {
    PlanCandidate c = s.base;
    c.replicas = static_cast<Count>(std::ceil(static_cast<double>(*least) * more));
    if (c.replicas > o.most_gpus || (!out.empty() && out.back().replicas == c.replicas && more > 1)) continue;
    c.steady = at(c.replicas);
    c.ttft = c.steady.ttft, c.tpot = c.steady.tpot;
    c.cost = price_of(o, c.gpu) * static_cast<double>(c.gpus());
    out.push_back(std::move(c));
  }
}

Seconds transfer_time(const ServingPlanOptions& o, const KvGeometry& g) {
  const Bytes size = g.block_bytes() * static_cast<double>(g.blocks_for(o.workload.input.mean));
  return o.link.latency + size / o.link.bandwidth;
}

void add_disaggregated(std::vector<PlanCandidate>& out, const ServingPlanOptions& o, const Setting& s) {
  const PoolOptions& pool = s.deployment.pool;
  const auto prompts = fewest(o.most_gpus, [&](Count n) {
    const SteadyState state = steady_prefill(pool, load_of(o, n));
    return state.stable() && (!o.slo.ttft || state.ttft <= *o.slo.ttft);
  });
  const auto answers = fewest(o.most_gpus, [&](Count n) {
    const SteadyState state = steady_decode(pool, load_of(o, n));
    return state.stable() && (!o.slo.tpot || state.tpot <= *o.slo.tpot);
  });
  if (!prompts || !answers || *prompts + *answers > o.most_gpus) return;
  PlanCandidate c = s.base;
  c.prefill_replicas = *prompts, c.replicas = *answers;
  const SteadyState first = steady_prefill(pool, load_of(o, *prompts)),
                    rest = steady_decode(pool, load_of(o, *answers));
  c.steady = first.time_share > rest.time_share ? first : rest;
  c.ttft = first.ttft;
  c.tpot =
      rest.tpot + transfer_time(o, pool.geometry) / static_cast<double>(std::max<Count>(1, o.workload.output.mean));
  c.cost = price_of(o, c.gpu) * static_cast<double>(c.gpus());
  if (within(o.slo, c.ttft, c.tpot, o.workload.output.mean)) out.push_back(std::move(c));
}

// Cheapest first; of equal cost the quicker.
bool cheaper(const PlanCandidate& a, const PlanCandidate& b) {
  return a.cost != b.cost ? a.cost < b.cost : a.tpot < b.tpot;
}

std::vector<PlanCandidate> front_of(const std::vector<PlanCandidate>& sorted) {
  std::vector<PlanCandidate> front;
  for (const PlanCandidate& c : sorted)
    if (front.empty() || c.tpot < front.back().tpot * 0.98) front.push_back(c);
  return front;
}

double share_met(const ServingOutcome& outcome, const Slo& slo) {
  Count met = 0;
  for (const RequestRecord& r : outcome.requests) met += !r.refused && meets(r, slo);
  return outcome.requests.empty() ? 0 : static_cast<double>(met) / static_cast<double>(outcome.requests.size());
}

Status run_one(PlanCandidate& c, const ServingPlanOptions& o, const Setting& s, const std::vector<Request>& requests) {
  SimulationOptions simulation;
  simulation.pool = s.deployment.pool;
  simulation.pool.replicas = c.replicas;
  simulation.router = Router::least_loaded;
  if (c.prefill_replicas > 0) {
    simulation.prefill = s.deployment.pool;
    simulation.prefill->replicas = c.prefill_replicas;
    simulation.link = o.link;
  }
  const auto outcome = simulate(requests, simulation);
  if (!outcome) return outcome.error();
  if (auto fine = s.deployment.steps->status(); !fine) return fine;
  c.simulated = metrics_of(*outcome, o.slo);
  c.met = share_met(*outcome, o.slo);
  c.holds = c.met >= o.quantile;
  return Ok{};
}

Status check(const ServingPlanOptions& o) {
  if (!(o.workload.rate > 0)) return field_error("--rate", "is missing: requests a second", "for example --rate 20");
  if (!o.slo.any()) return field_error("--slo", "is missing: objectives", "for example --slo ttft=500ms,tpot=30ms");
  if (o.gpus.empty() || o.engines.empty() || o.dtypes.empty()) return error("there is nothing to choose from");
  if (!(o.quantile > 0) || o.quantile > 1) return field_error("--quantile", "must lie between 0 and 1");
  return Ok{};
}

// Every GPU, engine, format and step limit that fits.
Result<std::vector<Setting>> settings_of(const ServingPlanOptions& o, const Profiler& profiler, ServingPlan& plan) {
  std::vector<Setting> settings;
  for (std::size_t gpu = 0; gpu < o.gpus.size(); ++gpu)
    for (const std::string& dtype : o.dtypes) {
      const auto precision = precision_from(dtype, o.kv_dtype);
      if (!precision) return precision.error();
      for (const EngineKind engine : o.engines) {
        std::shared_ptr<StepTable> steps;  // limits of a step do not change how long one takes
        for (const Count tokens : {2048, 8192, 16384}) {
          PlanCandidate base;
          base.gpu = gpu, base.engine = engine, base.dtype = dtype, base.max_tokens = tokens;
          const DeploymentOptions options = deployment_of(o, base, *precision);
          auto rank = profiler(options);
          if (!rank) return std::move(rank).error();
          auto deployment = deploy(options, *std::move(rank), steps);
          if (!deployment) {
            const std::string why = deployment.error().line();
            if (std::find(plan.notes.begin(), plan.notes.end(), why) == plan.notes.end()) plan.notes.push_back(why);
            continue;
          }
          steps = deployment->steps;
          settings.push_back({std::move(base), *std::move(deployment)});
        }
      }
    }
  return settings;
}

}  // namespace

Result<ServingPlan> plan_serving(const ServingPlanOptions& o, const Profiler& profiler) {
  if (auto fine = check(o); !fine) return fine.error();
  ServingPlan plan;
  const auto settings = settings_of(o, profiler, plan);
  if (!settings) return settings.error();
  std::vector<PlanCandidate> all;
  for (std::size_t i = 0; i < settings->size(); ++i) {
    std::vector<PlanCandidate> own;
    add_aggregated(own, o, (*settings)[i]);
    if (o.disaggregated) add_disaggregated(own, o, (*settings)[i]);
    plan.candidates += static_cast<Count>(own.size());
    for (PlanCandidate& c : own) {
      if (o.budget > 0 && c.cost > o.budget) continue;
      c.setting = i;
      all.push_back(std::move(c));
    }
  }
  std::sort(all.begin(), all.end(), cheaper);
  plan.front = front_of(all);
  const auto requests = generate(o.workload);
  if (!requests) return requests.error();
  Count held = 0;
  for (PlanCandidate& c : all) {
    if (static_cast<Count>(plan.tried.size()) >= o.finalists || held >= 3) break;
    if (auto fine = run_one(c, o, (*settings)[c.setting], *requests); !fine) return fine.error();
    if (c.holds && !plan.best) plan.best = plan.tried.size();
    held += c.holds;
    plan.tried.push_back(c);
  }
  return plan;
}

std::string launch_command(const PlanCandidate& c, const std::string& model, const std::string& kv_dtype) {
  // Engines quantise to fp8 as they load; other formats need a checkpoint that is quantised.
  const bool plain = c.dtype == "bf16" || c.dtype == "fp16", online = c.dtype == "fp8";
  const std::string quantised = online ? " --quantization fp8" : "";
  const std::string remark = plain || online ? "" : "  # a checkpoint in " + c.dtype;
  const bool fp8_cache = kv_dtype == "fp8";
  switch (c.engine) {
    case EngineKind::sglang:
      return fmt::format("python3 -m sglang.launch_server --model-path {} --chunked-prefill-size {}{}{}{}", model,
                         c.max_tokens, quantised, fp8_cache ? " --kv-cache-dtype fp8_e4m3" : "", remark);
    case EngineKind::trtllm:
      return fmt::format(
          "trtllm-serve {} --max_batch_size 2048 --max_num_tokens {} --enable_chunked_prefill "
          "--kv_cache_free_gpu_memory_fraction 0.9{}",
          model, c.max_tokens, plain ? "" : "  # a checkpoint in " + c.dtype);
    default:
      return fmt::format(
          "vllm serve {} --max-num-batched-tokens {} --gpu-memory-utilization 0.9 --async-scheduling{}{}{}", model,
          c.max_tokens, quantised, fp8_cache ? " --kv-cache-dtype fp8" : "", remark);
  }
}

}  // namespace tilecast
