#include "cli/commands/plan_serve_command.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/commands/chosen_method.h"
#include "cli/terminal/countdown.h"
#include "cluster/prices.h"
#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/launch_command.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr double kMostDollars = 1e9;  // an hour

Error flag_error(std::string flag, std::string problem, std::string remedy = {}) {
  return Error{std::move(flag), "", std::move(problem), std::move(remedy)};
}

Status check(const PlanServeOptions& o) {
  if (!(o.rate > 0) || !(o.rate <= 1e6))
    return flag_error("--rate", "must be a positive number of requests a second, at most a million");
  if (o.slo.empty()) return flag_error("--slo", "is missing", "for example --slo ttft=500ms,tpot=30ms");
  for (const auto& [dollars, flag] : {std::pair(o.budget, "--budget"), {o.price, "--price"}})
    if (!(dollars >= 0) || !(dollars <= kMostDollars))
      return flag_error(flag, fmt::format("must lie between 0 and {:g} dollars, not {:g}", kMostDollars, dollars));
  if (o.max_gpus < 1 || o.max_gpus > 4096) return flag_error("--max-gpus", "must lie between 1 and 4096");
  if (o.requests < 0 || o.requests > 1000000) return flag_error("--num-prompts", "must lie between 0 and a million");
  if (o.seed < 0) return flag_error("--seed", "must not be negative");
  if (o.context_limit < 0) return flag_error("--max-model-len", "must not be negative");
  if (o.only_aggregated && o.only_disaggregated)
    return flag_error("--aggregated", "and --disaggregated exclude each other", "give one, or neither to try both");
  return Ok{};
}

// Requests that the model cannot take would fail under any deployment.
Status check_lengths(const WorkloadOptions& w, const ModelSpec& model, Count limit) {
  const Count most = limit > 0 ? limit : model.max_context;
  if (model.decoder && most > 0 && w.input.mean + w.output.mean > most)
    return flag_error("--input", fmt::format("{} + {} tokens are more than the context of {}, {}", w.input.mean,
                                             w.output.mean, limit > 0 ? "--max-model-len" : model.name, most));
  return Ok{};
}

Result<PriceTable> prices_from(const PlanServeOptions& o) {
  return o.prices.empty() ? Result<PriceTable>(shipped_prices()) : load_prices(o.prices);
}

// "16xB200": at most so many of it.
Result<GpuOffer> offer_from(const std::string& text, const PlanServeOptions& o) {
  GpuOffer offer;
  offer.most = static_cast<int>(o.max_gpus);
  std::string name = text;
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && digits < 6 && text[digits] == 'x') {
    offer.most = std::stoi(text.substr(0, digits));
    name = text.substr(digits + 1);
    if (offer.most < 1 || offer.most > 4096) return flag_error("--gpus", "'" + text + "': 1 to 4096 GPUs");
  }
  auto gpu = load_gpu(name);
  if (!gpu) return std::move(gpu).error();
  offer.gpu = *std::move(gpu);
  if (const Cluster* cluster = built_in_cluster_of(offer.gpu.name)) offer.cluster = *cluster;
  return offer;
}

Result<std::vector<GpuOffer>> offers_from(const PlanServeOptions& o, std::vector<std::string>& notes) {
  const auto prices = prices_from(o);
  if (!prices) return prices.error();
  std::vector<std::string> names;
  if (!o.gpus.empty()) names = split(o.gpus, ',');
  else
    for (const Gpu& gpu : built_in_gpus())
      if (built_in_cluster_of(gpu.name) && (prices->of(gpu.name) || o.price > 0)) names.push_back(gpu.name);
  std::vector<GpuOffer> offers;
  for (const std::string& name : names) {
    auto offer = offer_from(name, o);
    if (!offer) return std::move(offer).error();
    if (o.price > 0) {
      offer->usd_per_hour = o.price;
    } else {
      const auto price = prices->of(offer->gpu.name);
      if (!price)
        return flag_error("--gpus", "no price of " + offer->gpu.name + " is known", "give --price or --prices");
      offer->usd_per_hour = price->usd_per_hour;
      notes.push_back(fmt::format(
          "{} ${:.2f} an hour{}", offer->gpu.name, price->usd_per_hour,
          o.prices.empty() ? " (" + price->provider + ", read " + price->read_on + ")" : " (" + o.prices + ")"));
    }
    offers.push_back(*std::move(offer));
  }
  if (offers.empty()) return flag_error("--gpus", "none has a price", "name some, with --price or --prices");
  return offers;
}

Result<ServeQuery> query_from(const PlanServeOptions& o, std::vector<std::string>& notes) {
  if (auto fine = check(o); !fine) return fine.error();
  ServeQuery q;
  auto slo = slo_from(o.slo);
  if (!slo) return std::move(slo).error();
  q.slo = *slo;
  const auto* at = std::find(kStatisticNames.begin(), kStatisticNames.end(), o.slo_at);
  if (at == kStatisticNames.end())
    return flag_error("--slo-at", "must be mean, median, p90 or p99, not '" + o.slo_at + "'");
  q.statistic = static_cast<Statistic>(at - kStatisticNames.begin());
  auto model = find_model(o.model);
  if (!model) return std::move(model).error();
  q.model = *std::move(model);
  auto workload =
      workload_from(o, o.requests > 0 ? o.requests : std::clamp<Count>(std::llround(30 * o.rate), 300, 3000));
  if (!workload) return std::move(workload).error();
  q.workload = *workload;
  if (auto fine = check_lengths(q.workload, q.model, o.context_limit); !fine) return fine.error();
  for (const std::string& name : split(o.engines.empty() ? "vllm,sglang,trtllm" : o.engines, ',')) {
    const auto engine = engine_from(name);
    if (!engine) return engine.error();
    if (!serves(*engine)) return flag_error("--engine", name + " does not serve", "vllm, sglang or trtllm");
    q.engines.push_back(*engine);
  }
  if (!o.dtype.empty() || !o.kv_dtype.empty()) {
    const std::string own = q.model.quantization.empty() ? q.model.dtype : q.model.quantization;
    for (const std::string& dtype : split(o.dtype.empty() ? own : o.dtype, ',')) {
      if (auto fine = precision_from(dtype, o.kv_dtype); !fine) return std::move(fine).error();
      q.formats.push_back({dtype, o.kv_dtype == "auto" ? "" : o.kv_dtype});
    }
  }
  auto offers = offers_from(o, notes);
  if (!offers) return std::move(offers).error();
  q.gpus = *std::move(offers);
  q.budget = o.budget;
  q.together = !o.only_disaggregated, q.apart = !o.only_aggregated;
  q.context_limit = o.context_limit;
  return q;
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

LaunchOptions launch_of(const PlanServeResult& r, const PlannedPool& pool, ServerRole role) {
  const ServeSetup& s = *pool.setup;
  const GpuOffer& offer = r.query.gpus[s.offer];
  const ModelSpec& model = r.query.model;
  LaunchOptions l;
  l.model = checkpoint_of(r.options.model, model);
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
  l.context_limit = r.query.context_limit;
  if (l.context_limit == 0 && model.max_context > held) l.context_limit = held;
  l.role = role;
  return l;
}

std::vector<std::string> launch_lines_of(const PlanServeResult& r, const PlannedDeployment& d) {
  if (!d.prefill) return launch_lines(launch_of(r, d.pool, ServerRole::whole));
  std::vector<std::string> lines = {"# prompts:"};
  for (std::string& line : launch_lines(launch_of(r, *d.prefill, ServerRole::prefill)))
    lines.push_back(std::move(line));
  lines.push_back("# answers:");
  for (std::string& line : launch_lines(launch_of(r, d.pool, ServerRole::decode))) lines.push_back(std::move(line));
  for (std::string& line : router_lines(d.pool.setup->engine, d.prefill->copies, d.pool.copies))
    lines.push_back(std::move(line));
  return lines;
}

}  // namespace

Result<PlanServeResult> plan_serve(const PlanServeOptions& o) {
  PlanServeResult result;
  result.options = o;
  auto query = query_from(o, result.notes);
  if (!query) return std::move(query).error();
  result.query = *std::move(query);
  const auto chosen = chosen_method(o.method, o.weights);
  if (!chosen) return chosen.error();
  Countdown countdown("planning");
  auto plan = plan_serving(result.query, chosen->method, chosen->weights(), [&](double done) { countdown(done); });
  if (!plan) return std::move(plan).error();
  result.plan = *std::move(plan);
  if (result.plan.best) result.launch = launch_lines_of(result, result.plan.finalists[*result.plan.best]);
  return result;
}

Result<std::string> run_plan_serve(const PlanServeOptions& o) {
  const auto result = plan_serve(o);
  if (!result) return result.error();
  if (!result->plan.best) return no_deployment(*result);
  return o.json ? plan_serve_json(*result) : plan_serve_text(*result);
}

}  // namespace tilecast
