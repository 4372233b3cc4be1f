#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/chosen_method.h"
#include "api/declare.h"
#include "api/price_lookup.h"
#include "api/serving_deployment.h"
#include "api/serving_text.h"
#include "cluster/registry.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/launch_command.h"
#include "serve/plan.h"
#include "support/number.h"
#include "support/settings.h"
#include "support/text.h"
#include "tilecast/plan.h"

namespace tilecast {
namespace {

constexpr int kMostGpus = 4096;  // of a kind

// Requests that the model cannot take would fail under any deployment.
Status check_lengths(const WorkloadOptions& w, const ModelSpec& model, std::optional<Count> limit) {
  const Count most = limit.value_or(model.max_context);
  if (!model.decoder || most == 0 || w.input.mean + w.output.mean <= most) return Ok{};
  return field_error("input", fmt::format("{} + {} tokens are more than {}, {}", w.input.mean, w.output.mean,
                                          limit ? "max-model-len" : "the context of " + model.name, most));
}

// "16xB200": at most so many of it.
Result<GpuOffer> offer_from(const std::string& text, const PlanServeQuery& q) {
  GpuOffer offer;
  offer.most = static_cast<int>(q.max_gpus);
  std::string name = text;
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && digits < 6 && text[digits] == 'x') {
    const auto most = number_between<int>(text.substr(0, digits), 1, kMostGpus);
    if (!most) return field_error("gpus", fmt::format("'{}': 1 to {} GPUs", text, kMostGpus));
    offer.most = *most;
    name = text.substr(digits + 1);
  }
  auto gpu = load_gpu(name);
  if (!gpu) return std::move(gpu).error();
  offer.gpu = *std::move(gpu);
  if (const Cluster* cluster = built_in_cluster_of(offer.gpu.name)) offer.cluster = *cluster;
  return offer;
}

// Those that the query names; else all whose links and prices are known.
std::vector<std::string> wanted_gpus(const PlanServeQuery& q, const PriceLookup& prices) {
  if (!q.gpus.empty()) return q.gpus;
  std::vector<std::string> names;
  for (const Gpu& gpu : built_in_gpus())
    if (built_in_cluster_of(gpu.name) && prices.of(gpu.name)) names.push_back(gpu.name);
  return names;
}

Result<std::vector<GpuOffer>> offers_from(const PlanServeQuery& q, std::vector<std::string>& notes) {
  const auto prices = PriceLookup::from(q.price, q.prices);
  if (!prices) return prices.error();
  std::vector<GpuOffer> offers;
  for (const std::string& name : wanted_gpus(q, *prices)) {
    auto offer = offer_from(name, q);
    if (!offer) return std::move(offer).error();
    const auto price = prices->of(offer->gpu.name);
    if (!price)
      return field_error("gpus", "no price of " + offer->gpu.name + " is known", "give a price or a price table");
    offer->usd_per_hour = price->usd_per_hour;
    if (!price->source.empty())
      notes.push_back(fmt::format("{} ${:.2f} an hour ({})", offer->gpu.name, price->usd_per_hour, price->source));
    offers.push_back(*std::move(offer));
  }
  if (offers.empty()) return field_error("gpus", "none has a price", "name some, with a price or a price table");
  return offers;
}

Result<std::vector<EngineKind>> engines_from(const std::vector<std::string>& names) {
  std::vector<EngineKind> engines;
  for (const std::string& name : names) {
    const auto kind = engine_from(name);
    if (!kind) return field_error("engine", kind.error().problem, "vllm, sglang or trtllm");
    if (!serves(*kind)) return field_error("engine", name + " does not serve", "vllm, sglang or trtllm");
    engines.push_back(*kind);
  }
  if (engines.empty()) engines = {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm};
  return engines;
}

// Those asked for; none: the plan's own choice.
Result<std::vector<Formats>> formats_from(const PlanServeQuery& q, const ModelSpec& model) {
  std::vector<Formats> formats;
  if (q.dtypes.empty() && q.kv_dtype.empty()) return formats;
  const KvDtype cache = name_key(q.kv_dtype) == name_of(KvDtype::fp8) ? KvDtype::fp8 : KvDtype::automatic;
  for (const std::string& dtype : q.dtypes.empty() ? std::vector{own_format(model)} : with_settings(q.dtypes)) {
    if (auto fine = serving_precision(model, dtype, cache); !fine) return std::move(fine).error();
    formats.push_back({dtype, cache == KvDtype::fp8 ? "fp8" : ""});
  }
  return formats;
}

Status check_together(const PlanServeQuery& q) {
  if (!q.aggregated || !q.disaggregated) return Ok{};
  return field_error("aggregated", "and disaggregated exclude each other", "give one, or neither to try both");
}

Result<ServeQuery> query_from(const PlanServeQuery& q, std::vector<std::string>& notes) {
  constexpr Count kLeastRequests = 300, kMostRequests = 3000;
  ServeQuery query;
  auto slo = slo_from(q.slo);
  if (!slo) return std::move(slo).error();
  query.slo = *slo;
  query.statistic = q.slo_at;
  auto model = find_model(q.model);
  if (!model) return std::move(model).error();
  query.model = *std::move(model);
  const Count half_a_minute = std::clamp<Count>(std::llround(30 * *q.load.rate), kLeastRequests, kMostRequests);
  auto workload = workload_from(q.load, q.num_prompts.value_or(half_a_minute));
  if (!workload) return std::move(workload).error();
  query.workload = *workload;
  if (auto fine = check_lengths(query.workload, query.model, q.context_limit); !fine) return fine.error();
  auto engines = engines_from(q.engines);
  if (!engines) return std::move(engines).error();
  query.engines = *std::move(engines);
  auto formats = formats_from(q, query.model);
  if (!formats) return std::move(formats).error();
  query.formats = *std::move(formats);
  auto offers = offers_from(q, notes);
  if (!offers) return std::move(offers).error();
  query.gpus = *std::move(offers);
  query.budget = q.budget.value_or(0);
  query.together = !q.disaggregated, query.apart = !q.aggregated;
  query.context_limit = q.context_limit.value_or(0);
  return query;
}

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

// The room's plan as the public one.
class Described {
 public:
  Described(const PlanServeQuery& asked, const ServeQuery& query)
      : query_(query), checkpoint_(checkpoint_of(asked.model, query.model)) {}

  PlannedServing deployment(const PlannedDeployment& d) const {
    const ServeSetup& s = *d.pool.setup;
    PlannedServing planned;
    planned.gpu = query_.gpus[s.offer].gpu.name, planned.gpus = d.gpus();
    planned.usd_per_hour = d.usd_per_hour;
    planned.usd_per_million_tokens = usd_per_million(query_, d.usd_per_hour);
    planned.engine = serving_engine_of(s.engine), planned.dtype = s.formats.dtype;
    planned.kv_dtype = s.formats.kv_dtype == "fp8" ? KvDtype::fp8 : KvDtype::automatic;
    planned.pool = pool(d.pool);
    if (d.prefill) planned.prefill = pool(*d.prefill);
    planned.limit = d.steady.limit;
    planned.steady_ttft = d.steady.ttft_at(query_.statistic), planned.steady_tpot = d.steady.tpot_at(query_.statistic);
    planned.steady_cache = d.steady.cache;
    planned.simulated = d.simulated, planned.meets = d.meets;
    if (d.simulated) planned.margin = margin(query_.slo, *d.simulated, query_.statistic);
    planned.release = release_of(s.engine);
    planned.launch = lines(d);
    return planned;
  }

 private:
  static ServingPool pool(const PlannedPool& p) {
    const ServeSetup& s = *p.setup;
    const SchedulerLimits& limits = s.pool.limits;
    ServingPool pool;
    pool.tp = s.layout.tp, pool.pp = s.layout.pp, pool.ep = s.layout.ep, pool.attention_dp = s.layout.dp;
    if (s.layout.ranks() > 1) pool.layout = text_of(s.layout);
    pool.copies = p.copies, pool.gpus = p.gpus();
    pool.max_sequences = limits.max_sequences, pool.max_tokens = limits.max_tokens, pool.chunk = limits.chunk;
    pool.chunked_prefill = limits.chunked_prefill, pool.step_tokens = step_tokens(limits);
    pool.memory_fraction = memory_fraction(s.engine, s.budget);
    pool.block_tokens = s.pool.geometry.block_tokens, pool.blocks = s.pool.blocks;
    return pool;
  }

  LaunchOptions launch(const PlannedPool& pool, ServerRole role) const {
    const ServeSetup& s = *pool.setup;
    const GpuOffer& offer = query_.gpus[s.offer];
    const ModelSpec& model = query_.model;
    LaunchOptions l;
    l.model = checkpoint_;
    l.engine = s.engine;
    l.dtype = s.formats.dtype, l.kv_dtype = s.formats.kv_dtype;
    l.quantised = !model.quantization.empty();
    l.experts = has_experts(model);
    l.layout = s.layout, l.copies = pool.copies;
    l.gpus_per_node = offer.cluster ? offer.cluster->gpus_per_node : 1;
    l.limits = s.pool.limits;
    l.memory_fraction = memory_fraction(s.engine, s.budget);
    l.block_tokens = s.pool.geometry.block_tokens;
    // Engines refuse to start where one request of the model's longest context would not fit the cache.
    const Count held = s.pool.blocks * s.pool.geometry.block_tokens;
    l.context_limit = query_.context_limit;
    if (l.context_limit == 0 && model.max_context > held) l.context_limit = held;
    l.role = role;
    return l;
  }

  std::vector<std::string> lines(const PlannedDeployment& d) const {
    if (!d.prefill) return launch_lines(launch(d.pool, ServerRole::whole));
    std::vector<std::string> all = {"# prompts:"};
    const auto add = [&](std::vector<std::string> more) {
      for (std::string& line : more) all.push_back(std::move(line));
    };
    add(launch_lines(launch(*d.prefill, ServerRole::prefill)));
    all.emplace_back("# answers:");
    add(launch_lines(launch(d.pool, ServerRole::decode)));
    add(router_lines(d.pool.setup->engine, d.prefill->copies, d.pool.copies));
    return all;
  }

  const ServeQuery& query_;
  std::string checkpoint_;
};

}  // namespace

Result<ServingPlan> plan_serve(const PlanServeQuery& q, const std::function<void(double)>& progress) {
  if (auto fine = check_arguments(q); !fine) return fine.error();
  if (auto fine = check_together(q); !fine) return fine.error();
  ServingPlan result;
  const auto query = query_from(q, result.prices);
  if (!query) return query.error();
  const auto chosen = chosen_method(q.method, q.weights);
  if (!chosen) return chosen.error();
  auto plan = plan_serving(*query, chosen->method, chosen->weights(), progress);
  if (!plan) return std::move(plan).error();
  const Described described(q, *query);
  result.model = query->model.name;
  result.slo = query->slo, result.statistic = query->statistic, result.rate = query->workload.rate;
  result.tried = plan->tried;
  result.too_large = plan->too_large, result.too_slow = plan->too_slow, result.too_dear = plan->too_dear;
  for (const PlannedDeployment& d : plan->finalists) result.finalists.push_back(described.deployment(d));
  result.front = plan->front, result.best = plan->best, result.breaks = plan->breaks;
  if (plan->nearest) result.nearest = described.deployment(*plan->nearest);
  return result;
}

const Question& plan_serve_question() {
  static const Question question{"plan serve",
                                 "the cheapest deployment that meets its objectives, and how to start it",
                                 {"plan serve Llama-3.1-8B --slo ttft=500ms,tpot=30ms --rate 20"}};
  return question;
}

}  // namespace tilecast
