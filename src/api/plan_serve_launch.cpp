#include "api/plan_serve_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/serving_deployment.h"
#include "engine/path.h"
#include "model/library.h"
#include "serve/launch_blanks.h"
#include "serve/plan_context.h"
#include "serve/plan_run.h"
#include "support/text.h"

namespace tilecast {
namespace {

// Where engines find the model: the name on Hugging Face that its description names, or what the user gave.
std::string checkpoint_of(const std::string& given, const ModelSpec& spec) {
  if (given.find('/') != std::string::npos) return given;
  for (const ModelEntry& entry : list_models()) {
    if (entry.name != spec.name) continue;
    for (const std::string& word : split(entry.source, ' '))
      if (word.find('/') != std::string::npos && !word.starts_with("http")) return word;
  }
  return given;
}

// Weights that are quantised to eight bits as they load have sixteen before.
constexpr double kWidened = 2;

}  // namespace

PlanLaunches::PlanLaunches(const PlanServeQuery& asked, const ServeQuery& query)
    : query_(query), checkpoint_(checkpoint_of(asked.model, query.model)) {
  if (const auto entry = find_entry(query.model.name); entry && entry->name == query.model.name)
    published_ = entry->checkpoints;
  if (asked.drafts.model.empty()) return;
  const auto draft = find_model(asked.drafts.model);
  draft_checkpoint_ = draft ? checkpoint_of(asked.drafts.model, *draft) : asked.drafts.model;
}

std::string PlanLaunches::shorter_than_the_model(const PlannedDeployment& d) const {
  const Count most = launch_options(d).front().context_limit;
  if (query_.context_limit > 0 || most == 0) return {};
  return fmt::format(
      "Servers take requests of up to {} tokens, somewhat more than the load's longest of {}: whether a worker's "
      "cache holds one of {} takes the model, {}, is not sure",
      most, longest_request(query_), query_.model.max_context, query_.model.name);
}

bool PlanLaunches::complete(const std::shared_ptr<const ServeSetup>& setup) const {
  return launch_blanks({launch({setup, 1}, ServerRole::whole)}).empty();
}

std::vector<LaunchOptions> PlanLaunches::launch_options(const PlannedDeployment& d) const {
  std::vector<LaunchOptions> pools;
  if (d.prefill) pools = {launch(*d.prefill, ServerRole::prefill), launch(d.pool, ServerRole::decode)};
  else pools = {launch(d.pool, ServerRole::whole)};
  const bool wide = std::any_of(pools.begin(), pools.end(), [](const LaunchOptions& o) { return o.too_wide; });
  Count longest = 0;
  for (const LaunchOptions& o : pools)
    if (o.context_limit > 0) longest = longest > 0 ? std::min(longest, o.context_limit) : o.context_limit;
  for (LaunchOptions& o : pools) o.too_wide = wide, o.context_limit = longest;
  return pools;
}

LaunchOptions PlanLaunches::launch(const PlannedPool& pool, ServerRole role) const {
  const ServeSetup& s = *pool.setup;
  const GpuOffer& offer = query_.gpus[s.offer];
  const ModelSpec& model = query_.model;
  LaunchOptions l;
  l.model = checkpoint_;
  l.engine = s.engine;
  l.dtype = s.formats.dtype, l.kv_dtype = s.formats.kv_dtype;
  l.quantisation = model.quantization;
  l.too_wide = s.budget.weights * kWidened > s.budget.visible;
  l.gpu = offer.gpu.name, l.amd = offer.gpu.vendor == Vendor::amd;
  l.chip = offer.gpu.compute_capability;
  // NVIDIA's own; whether they load on AMD's cards nobody says.
  if (const auto found = published_.find(l.dtype); found != published_.end() && !l.amd) l.checkpoint = found->second;
  l.layout = s.layout, l.copies = pool.copies;
  l.gpus_per_node = offer.cluster ? offer.cluster->gpus_per_node : 1;
  l.limits = s.pool.limits;
  l.memory_fraction = memory_fraction(s.engine, s.budget);
  l.block_tokens = s.pool.geometry.block_tokens;
  l.context_limit = context_limit_of(query_, s.pool.blocks * s.pool.geometry.block_tokens);
  const DeploymentOptions options = options_of(query_, s);
  l.features = features(s);
  // python/sglang/srt/server_args.py of late 2025 refuses Llama 4 without one of these.
  if (s.engine == EngineKind::sglang && model.architecture.starts_with("Llama4"))
    l.attention = l.amd                                                        ? "aiter"
                  : offer.gpu.tensor_generation() == TensorGeneration::tcgen05 ? "trtllm_mha"
                  : offer.gpu.tensor_generation() == TensorGeneration::wgmma   ? "fa3"
                                                                               : "triton";
  l.path_flags = path_flags(options.engine.precision, has_experts(model), offer.gpu, s.engine);
  l.role = role;
  return l;
}

LaunchFeatures PlanLaunches::features(const ServeSetup& s) const {
  const ServeFeatures& f = query_.features;
  LaunchFeatures l;
  l.draft = f.speculation.draft;
  if (const auto of = f.of_engine.find(s.engine); of != f.of_engine.end()) {
    l.drafting = of->second.drafting, l.draft_model = draft_checkpoint_;
    l.adapter_slots = of->second.adapter_slots, l.slot_rank = of->second.slot_rank;
  }
  if (s.pool.offload.any()) l.offload_host = f.offload.host, l.offload_disk = f.offload.disk;
  l.variants = f.variants, l.by_priority = f.by_priority;
  l.router = f.router, l.prefixes = f.prefixes;
  return l;
}

DeploymentLaunch PlanLaunches::of(const PlannedDeployment& d, const PlannedServing& planned) const {
  DeploymentLaunch l;
  l.pools = launch_options(d);
  const WorkloadOptions w = plan_workload(query_, d, d.rate);
  l.bench = {w.input,    w.output,        d.rate, d.in_flight, w.requests,
             w.prefixes, w.prefix_tokens, w.seed, query_.slo,  w.burstiness};
  if (query_.recorded.any()) {
    l.bench.rate = query_.requests_at(d.rate), l.bench.requests = static_cast<Count>(query_.recorded.requests.size());
    l.bench.alike = false;
  }
  l.headline = headline(d, planned);
  return l;
}

// What the plan is and what was forecast, for the first lines of every file.
std::vector<std::string> PlanLaunches::headline(const PlannedDeployment& d, const PlannedServing& planned) const {
  const auto pool_text = [](const ServingPool& p) {
    return fmt::format("{} x {}", p.copies, p.layout.empty() ? "1 GPU" : p.layout);
  };
  std::vector<std::string> lines = {
      fmt::format("{} on {} x {}, {} {}{}, {}", query_.model.name, planned.gpus, planned.gpu, name_of(planned.engine),
                  planned.dtype, planned.kv_dtype == KvDtype::fp8 ? ", cache fp8" : "",
                  planned.prefill ? "prompts " + pool_text(*planned.prefill) + ", answers " + pool_text(planned.pool)
                                  : pool_text(planned.pool))};
  lines.push_back(d.in_flight > 0 ? fmt::format("Load: {} requests in flight, input {}, output {}.", d.in_flight,
                                                query_.mean_input(), query_.mean_output())
                                  : fmt::format("Load: {:.4g} requests/s, input {}, output {}.",
                                                query_.requests_at(d.rate), query_.mean_input(), query_.mean_output()));
  if (const std::string limit = shorter_than_the_model(d); !limit.empty()) lines.push_back(limit + ".");
  if (!d.simulated) return lines;
  const auto figure = [&](const char* name, Summary ServingMetrics::*of) {
    const auto ms = [&](const ServingMetrics& m) { return in_milliseconds(statistic_of(m.*of, query_.statistic)); };
    std::string text = fmt::format("{} {} {:.4g} ms", name, name_of(query_.statistic), ms(*d.simulated));
    if (d.fast && d.slow) text += fmt::format(" ({:.4g} to {:.4g})", ms(*d.fast), ms(*d.slow));
    return text;
  };
  lines.push_back(fmt::format("Forecast, with its 80 % interval: {}, {}; {:.0f} output tokens/s a GPU.",
                              figure("TTFT", &ServingMetrics::ttft), figure("TPOT", &ServingMetrics::tpot),
                              planned.tokens_per_gpu));
  if (planned.chance) lines.push_back(fmt::format("Chance of meeting the SLO: {:.0f} %.", 100 * *planned.chance));
  return lines;
}

}  // namespace tilecast
