#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "api/chosen_method.h"
#include "api/declare.h"
#include "api/format_notes.h"
#include "api/plan_serve_requests.h"
#include "api/price_lookup.h"
#include "api/serving_deployment.h"
#include "api/serving_requests.h"
#include "api/serving_text.h"
#include "cluster/registry.h"
#include "constants/serve.h"
#include "engine/path.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/launch_blanks.h"
#include "serve/launch_files.h"
#include "serve/plan.h"
#include "serve/plan_context.h"
#include "serve/plan_run.h"
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
  return field_error("input",
                     fmt::format("{} + {} tokens are more than {}, {}", w.input.mean, w.output.mean,
                                 limit ? "max-model-len" : "the context of " + model.name, most),
                     "shorter requests, or a larger max-model-len");
}

// "16xB200": at most so many of it.
Result<GpuOffer> offer_from(const std::string& text, const PlanServeQuery& q) {
  GpuOffer offer;
  offer.most = static_cast<int>(q.max_gpus);
  std::string name = text;
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && digits < 6 && text[digits] == 'x') {
    const auto most = number_between<int>(text.substr(0, digits), 1, kMostGpus);
    if (!most) return field_error("gpus", fmt::format("'{}': 1 to {} GPUs", text, kMostGpus), "for example 16xB200");
    offer.most = *most;
    name = text.substr(digits + 1);
  }
  auto gpu = load_gpu(name);
  if (!gpu) return std::move(gpu).error();
  offer.gpu = *std::move(gpu);
  offer.cluster = node_of(offer.gpu);
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

// `prices` hears whose they are, `notes` what is missing.
Result<std::vector<GpuOffer>> offers_from(const PlanServeQuery& q, ServingPlan& plan) {
  const auto prices = PriceLookup::from(q.price, q.prices);
  if (!prices) return prices.error();
  std::vector<GpuOffer> offers;
  for (const std::string& name : wanted_gpus(q, *prices)) {
    auto offer = offer_from(name, q);
    if (!offer) return std::move(offer).error();
    if (const auto price = prices->of(offer->gpu.name)) {
      offer->usd_per_hour = price->usd_per_hour;
      if (!price->source.empty())
        plan.prices.push_back(
            fmt::format("{} ${:.2f} an hour ({})", offer->gpu.name, price->usd_per_hour, price->source));
    } else {
      plan.notes.push_back(
          fmt::format("no price of {0} is known: it stands after those with one, by its number of GPUs "
                      "(prices {0}=2.50 gives one)",
                      offer->gpu.name));
    }
    if (std::string note = plain_node_note(*offer->cluster); !note.empty() && offer->most > 1)
      plan.notes.push_back(std::move(note));
    offers.push_back(*std::move(offer));
  }
  if (offers.empty()) return field_error("gpus", "none has a price", "name some, with a price or a price table");
  return offers;
}

// "tp8pp2": a number behind each of tp, pp, ep, dp; "1": one GPU.
Result<RankLayout> layout_from(const std::string& text) {
  const Error bad = field_error("layout", "'" + text + "' is no layout of a replica", "1, tp4, tp8pp2, tp8ep8, dp8ep8");
  RankLayout layout;
  if (text == "1") return layout;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_of("0123456789"), rest.size());
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", digits), rest.size());
    const std::string_view name = rest.substr(0, digits);
    const auto value = number_between<int>(rest.substr(digits, end - digits), 1, kMostGpus);
    int* field = name == "tp"   ? &layout.tp
                 : name == "pp" ? &layout.pp
                 : name == "ep" ? &layout.ep
                 : name == "dp" ? &layout.dp
                                : nullptr;
    if (!value || !field) return bad;
    *field = *value;
    rest.remove_prefix(end);
  }
  if (text.empty() || (layout.dp > 1 && layout.ep == 1)) return bad;
  return layout;
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
  if (q.aggregated && q.disaggregated)
    return field_error("aggregated", "and disaggregated exclude each other", "give one, or neither to try both");
  const bool cost = q.objective == ServingObjective::cost, load = q.objective == ServingObjective::load;
  const std::string name(name_of(q.objective));
  const auto classes = classes_from(q.requests.classes);
  if (!classes) return classes.error();
  const bool of_classes =
      std::any_of(classes->begin(), classes->end(), [](const RequestClass& c) { return c.slo.any(); });
  if ((cost || load) && q.slo.empty() && !of_classes)
    return field_error("slo", "is missing: the objective " + name + " is within one", "ttft=500ms,tpot=30ms");
  const bool needs_rate = cost || q.objective == ServingObjective::energy;
  if (needs_rate && !q.load.rate && q.trace.empty())
    return field_error("rate", "is missing: the objective " + name + " is at a rate of requests", "for example 20");
  if (!needs_rate && q.load.rate)
    return field_error("rate", "is what the objective " + name + " looks for", "leave it out, or objective cost");
  if (q.objective == ServingObjective::throughput && !q.slo.empty())
    return field_error("slo", "throughput is without one", "objective load serves the most within an SLO");
  if (q.min_chance && q.slo.empty() && !of_classes)
    return field_error("min-chance", "is the chance of meeting an SLO, and there is none", "ttft=500ms,tpot=30ms");
  return Ok{};
}

// What is asked of the deployment.
Status add_load(ServeQuery& query, const PlanServeQuery& q, std::vector<std::string>& notes) {
  auto slo = slo_from(q.slo);
  if (!slo) return std::move(slo).error();
  query.slo = *slo, query.statistic = q.slo_at, query.objective = q.objective;
  query.least_chance = q.min_chance.value_or(0);
  auto model = find_model(q.model);
  if (!model) return std::move(model).error();
  query.model = *std::move(model);
  if (!q.routing.empty()) {
    auto routing = routing_from(q.routing);
    if (!routing) return std::move(routing).error();
    query.routing = *std::move(routing);
  }
  auto workload = workload_from(q.load, q.num_prompts.value_or(1), q.burstiness);
  if (!workload) return std::move(workload).error();
  query.workload = *workload;
  query.workload.requests = q.num_prompts.value_or(0);
  query.context_limit = q.context_limit.value_or(0);
  auto engines = engines_for(q);
  if (!engines) return engines.error();
  query.engines = *std::move(engines);
  if (auto fine = add_plan_features(query, q, notes); !fine) return fine;
  return check_lengths(query.workload, query.model, q.context_limit);
}

Result<ServeQuery> query_from(const PlanServeQuery& q, ServingPlan& plan) {
  ServeQuery query;
  if (auto fine = add_load(query, q, plan.notes); !fine) return fine.error();
  auto formats = formats_from(q, query.model);
  if (!formats) return std::move(formats).error();
  query.formats = *std::move(formats);
  for (const std::string& text : q.layouts) {
    auto layout = layout_from(text);
    if (!layout) return std::move(layout).error();
    query.layouts.push_back(*std::move(layout));
  }
  auto offers = offers_from(q, plan);
  if (!offers) return std::move(offers).error();
  query.gpus = *std::move(offers);
  query.budget = q.budget.value_or(0);
  query.together = !q.disaggregated, query.apart = !q.aggregated && plans_apart(q);
  query.pictures = q.pictures;
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
      : query_(query), checkpoint_(checkpoint_of(asked.model, query.model)) {
    if (const auto entry = find_entry(query.model.name); entry && entry->name == query.model.name)
      published_ = entry->checkpoints;
    if (asked.drafts.model.empty()) return;
    const auto draft = find_model(asked.drafts.model);
    draft_checkpoint_ = draft ? checkpoint_of(asked.drafts.model, *draft) : asked.drafts.model;
  }

  PlannedServing deployment(const PlannedDeployment& d) const {
    const ServeSetup& s = *d.pool.setup;
    PlannedServing planned;
    planned.gpu = query_.gpus[s.offer].gpu.name, planned.gpus = d.gpus();
    planned.usd_per_hour = d.usd_per_hour;
    planned.engine = serving_engine_of(s.engine), planned.dtype = s.formats.dtype;
    planned.kv_dtype = s.formats.kv_dtype == "fp8" ? KvDtype::fp8 : KvDtype::automatic;
    planned.pool = pool(d.pool);
    if (d.prefill) planned.prefill = pool(*d.prefill);
    planned.limit = d.steady.limit;
    planned.steady_ttft = d.steady.ttft_at(query_.statistic), planned.steady_tpot = d.steady.tpot_at(query_.statistic);
    planned.steady_cache = d.steady.cache;
    planned.rate = d.rate, planned.in_flight = d.in_flight;
    planned.simulated = d.simulated, planned.fast = d.fast, planned.slow = d.slow;
    planned.meets = d.meets, planned.chance = query_.any_objective() ? d.chance : std::nullopt, planned.seen = d.seen;
    if (d.simulated) add_figures(planned, *d.simulated);
    planned.in_the_way = in_the_way(d);
    planned.release = release_of(s.engine);
    const DeploymentLaunch launch = launch_of(d, planned);
    for (const LaunchBlank& blank : launch_blanks(launch.pools)) planned.to_fill_in.push_back(blank.what);
    planned.launch = launch_lines(launch), planned.files = launch_files(launch);
    return planned;
  }

  // What servers refuse though the model takes it: their cache might not hold it. Empty where there is nothing.
  std::string shorter_than_the_model(const PlannedDeployment& d) const {
    const Count most = launch_options(d).front().context_limit;
    if (query_.context_limit > 0 || most == 0) return {};
    return fmt::format(
        "Servers take requests of up to {} tokens, somewhat more than the load's longest of {}: whether a worker's "
        "cache holds one of {} takes the model, {}, is not sure",
        most, longest_request(query_), query_.model.max_context, query_.model.name);
  }

  // Whether its files need no name that nobody knows.
  bool complete(const std::shared_ptr<const ServeSetup>& setup) const {
    return launch_blanks({launch({setup, 1}, ServerRole::whole)}).empty();
  }

 private:
  void add_figures(PlannedServing& planned, const ServingMetrics& m) const {
    planned.margin = query_.margin_of(m);
    // Of a rate that goes on, not of a run that ends: the last requests have the GPUs to themselves.
    const double requests = query_.requests_at(planned.rate);
    const double tokens =
        planned.in_flight > 0 ? m.output_throughput : requests * static_cast<double>(query_.mean_output());
    planned.tokens_per_gpu = tokens / planned.gpus;
    if (m.tpot.mean > 0) planned.tokens_per_user = 1 / m.tpot.mean;
    planned.concurrency = planned.in_flight > 0 ? static_cast<double>(planned.in_flight) : requests * m.e2el.mean;
    if (planned.usd_per_hour && tokens > 0)
      planned.usd_per_million_tokens = usd_per_million(*planned.usd_per_hour, tokens);
  }

  // "21 % over"; "40 times" where per cents would be a long number.
  static std::string beyond(double ratio) {
    constexpr double kTimes = 10;
    return ratio < kTimes ? fmt::format("{:.0f} % over", 100 * (ratio - 1)) : fmt::format("{:.3g} times", ratio);
  }

  // "TPOT 36.2 ms of 30 ms (21 % over)", by the worst first.
  std::string in_the_way(const PlannedDeployment& d) const {
    if (d.meets) return "";
    if (d.simulated && d.simulated->completed > 0) return missed(*d.simulated);
    std::string text(name_of(d.steady.limit));
    if (!d.alone) return text;
    text += fmt::format(": {:.3g} requests/s are the most it takes", query_.requests_at(d.takes));
    const std::string even = missed(*d.alone);
    return text + (even.empty() ? "" : "; of requests that come alone " + even);
  }

  // What these figures miss.
  std::string missed(const ServingMetrics& m) const {
    std::vector<std::pair<double, std::string>> missed;
    const auto add = [&](const char* name, const std::optional<Seconds>& slo, const Summary& of) {
      if (!slo) return;
      const Seconds value = statistic_of(of, query_.statistic);
      if (value > *slo)
        missed.emplace_back(-(value / *slo), fmt::format("{} {:.4g} ms of {:g} ms ({})", name, in_milliseconds(value),
                                                         in_milliseconds(*slo), beyond(value / *slo)));
    };
    add("TTFT", query_.slo.ttft, m.ttft);
    add("TPOT", query_.slo.tpot, m.tpot);
    add("E2EL", query_.slo.e2el, m.e2el);
    for (std::size_t i = 0; i < std::min(query_.classes.size(), m.classes.size()); ++i) {
      const Slo& slo = query_.classes[i].slo;
      const ClassMetrics& c = m.classes[i];
      add(("TTFT of " + c.name).c_str(), slo.ttft, c.ttft);
      add(("TPOT of " + c.name).c_str(), slo.tpot, c.tpot);
      add(("E2EL of " + c.name).c_str(), slo.e2el, c.e2el);
    }
    std::sort(missed.begin(), missed.end());
    std::string text;
    for (const auto& [ratio, words] : missed) text += (text.empty() ? "" : ", ") + words;
    if (m.cancelled > 0)
      text += (text.empty() ? "" : ", ") +
              fmt::format("{} of {} requests given up by their clients", m.cancelled, m.cancelled + m.completed);
    if (m.refused > 0) text += (text.empty() ? "" : ", ") + std::string("requests that do not fit the cache");
    return text;
  }

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
    pool.memory = {s.budget.visible,     s.budget.usable, s.budget.weights,
                   s.budget.activations, s.budget.other,  s.budget.cache};
    return pool;
  }

  // Weights that are quantised to eight bits as they load have sixteen before.
  static constexpr double kWidened = 2;

  LaunchOptions launch(const PlannedPool& pool, ServerRole role) const {
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

  LaunchFeatures features(const ServeSetup& s) const {
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

  // Of one model and one longest request for all pools.
  std::vector<LaunchOptions> launch_options(const PlannedDeployment& d) const {
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

  DeploymentLaunch launch_of(const PlannedDeployment& d, const PlannedServing& planned) const {
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
  std::vector<std::string> headline(const PlannedDeployment& d, const PlannedServing& planned) const {
    const auto pool_text = [](const ServingPool& p) {
      return fmt::format("{} x {}", p.copies, p.layout.empty() ? "1 GPU" : p.layout);
    };
    std::vector<std::string> lines = {
        fmt::format("{} on {} x {}, {} {}{}, {}", query_.model.name, planned.gpus, planned.gpu, name_of(planned.engine),
                    planned.dtype, planned.kv_dtype == KvDtype::fp8 ? ", cache fp8" : "",
                    planned.prefill ? "prompts " + pool_text(*planned.prefill) + ", answers " + pool_text(planned.pool)
                                    : pool_text(planned.pool))};
    lines.push_back(d.in_flight > 0
                        ? fmt::format("Load: {} requests in flight, input {}, output {}.", d.in_flight,
                                      query_.mean_input(), query_.mean_output())
                        : fmt::format("Load: {:.4g} requests/s, input {}, output {}.", query_.requests_at(d.rate),
                                      query_.mean_input(), query_.mean_output()));
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

  const ServeQuery& query_;
  std::string checkpoint_, draft_checkpoint_;
  std::map<std::string, std::string> published_;
};

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
  if (auto fine = check_together(q); !fine) return fine.error();
  if (auto fine = check_plan_features(q); !fine) return fine.error();
  // An engine that is not named is as good as vLLM to what is about vLLM: engines_for() chooses.
  const bool vllm = q.engines.empty() || q.engines == std::vector<std::string>{"vllm"};
  if (auto fine = check_scopes(q, {{"engine", vllm ? "vllm" : joined(q.engines)}}); !fine) return fine.error();
  ServingPlan result;
  const auto query = query_from(q, result);
  if (!query) return query.error();
  const auto chosen = chosen_method(q.method, q.weights);
  if (!chosen) return chosen.error();
  const Described described(q, *query);
  ServeQuery asked = *query;
  asked.complete = [&](const std::shared_ptr<const ServeSetup>& setup) { return described.complete(setup); };
  auto plan = plan_serving(asked, chosen->method, chosen->weights(), progress);
  if (!plan) return std::move(plan).error();
  result.model = query->model.name, result.objective = query->objective;
  result.slo = query->slo, result.statistic = query->statistic, result.rate = query->workload.rate;
  result.tried = plan->tried, result.does_not_fit = plan->does_not_fit;
  result.unsuited = plan->unsuited, result.does_not_suit = plan->does_not_suit, result.classes = query->classes;
  result.too_large = plan->too_large, result.too_slow = plan->too_slow, result.too_dear = plan->too_dear;
  for (const PlannedDeployment& d : plan->finalists) result.finalists.push_back(described.deployment(d));
  if (plan->best) note_measured(result.finalists, *plan->best, result.notes);
  if (plan->best)
    if (std::string limit = described.shorter_than_the_model(plan->finalists[*plan->best]); !limit.empty()) {
      limit.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(limit.front())));
      result.notes.push_back(std::move(limit));
    }
  note_slower_formats(*query, plan->finalists, *chosen, result.notes);
  result.front = plan->front, result.best = plan->best, result.breaks = plan->breaks;
  if (plan->nearest && !plan->best) result.nearest = described.deployment(*plan->nearest);
  if (plan->attainable) result.attainable = described.deployment(*plan->attainable);
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
