#include "api/plan_serve_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/declare.h"
#include "api/plan_serve_requests.h"
#include "api/price_lookup.h"
#include "api/serving_deployment.h"
#include "api/serving_requests.h"
#include "api/serving_text.h"
#include "cluster/registry.h"
#include "engine/path.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "support/number.h"
#include "support/settings.h"
#include "support/text.h"

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
  if (!gpu) return in_field(std::move(gpu).error(), "gpus");
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

}  // namespace

Status check_objective(const PlanServeQuery& q) {
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

Result<ServeQuery> planner_query(const PlanServeQuery& q, ServingPlan& plan) {
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

}  // namespace tilecast
