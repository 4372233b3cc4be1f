#include "api/plan_serve_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/serving_fleet.h"
#include "api/serving_requests.h"
#include "api/serving_text.h"

namespace tilecast {
namespace {

// Requests of a trace that every simulation of a plan takes, unless another number is asked for.
constexpr Count kOfTrace = 5000;
// ... of those drawn: half a minute's worth within these, and of conversations so many that they last twice as long as
// one of them.
constexpr Count kLeastDrawn = 300, kMostDrawn = 3000, kMostOfConversations = 12000;

// The parts that both questions share, as a simulation's.
SimulateQuery simulation_of(const PlanServeQuery& q) {
  SimulateQuery s;
  s.model = q.model, s.load = q.load, s.burstiness = q.burstiness, s.trace = q.trace;
  s.drafts = q.drafts, s.requests = q.requests, s.router = q.router, s.fleet = q.fleet;
  return s;
}

bool drafts(const PlanServeQuery& q) { return q.drafts.draft > 0; }
bool media(const PlanServeQuery& q) { return q.requests.images > 0 || q.requests.audio_s > 0; }
bool offloads(const PlanServeQuery& q) { return q.fleet.offload_host + q.fleet.offload_disk > 0; }

// More than lengths and a rate say.
bool has_requests_of_its_own(const PlanServeQuery& q) {
  const RequestQuery& r = q.requests;
  return !q.trace.empty() || !r.turns.empty() || !r.classes.empty() || r.adapters > 0 || media(q) || r.most_output;
}

// Why an engine's release, as the plan would start it, does not serve this; empty where it does.
std::string why_not(EngineKind engine, const PlanServeQuery& q) {
  const bool vllm = engine == EngineKind::vllm, trtllm = engine == EngineKind::trtllm;
  if (q.requests.scheduling == SchedulingPolicy::priority && !vllm)
    return "priorities are planned as vLLM serves them (scheduling-policy)";
  if (q.requests.adapters > 0 && trtllm) return "adapters are planned as vLLM and SGLang serve them";
  if (q.fleet.decode_cp > 1 && !vllm) return "shared keys are planned as vLLM has them (decode-context-parallel-size)";
  if (q.fleet.redundant_experts > 0 && trtllm) return "copies of experts are planned as vLLM and SGLang place them";
  if (q.fleet.offload_disk > 0 && engine != EngineKind::sglang)
    return "a disk below the host's memory is planned as SGLang has it";
  if (drafts(q) && q.drafts.method == DraftMethod::model && vllm)
    return "a model that drafts is planned as SGLang and TensorRT-LLM run it (draft-method)";
  return "";
}

// Seconds that people and tools take in a conversation.
double pauses_of(const PlanServeQuery& q, double turns) {
  const auto think = duration_from(q.requests.think_time), tool = duration_from(q.requests.tool_time);
  if (!think || !tool) return 0;  // refused where requests are drawn
  const double share = q.requests.tool_share;
  return (turns - 1) * in_seconds(*think * (1 - share) + *tool * share);
}

Count requests_to_draw(const PlanServeQuery& q, double turns) {
  if (q.num_prompts) return *q.num_prompts;
  const double rate = q.load.rate.value_or(0);
  const Count for_long = std::llround(std::min<double>(2 * pauses_of(q, turns) * rate * turns, kMostOfConversations));
  const Count all =
      rate > 0 ? std::max(for_long, std::clamp<Count>(std::llround(30 * rate * turns), kLeastDrawn, kMostDrawn)) : 1000;
  return std::max<Count>(std::llround(static_cast<double>(all) / turns), 50);
}

Status add_recorded(ServeQuery& query, const PlanServeQuery& q, Count media_tokens, std::vector<std::string>& notes) {
  if (!has_requests_of_its_own(q)) return Ok{};
  SimulateQuery s = simulation_of(q);
  const bool traced = !q.trace.empty();
  double turns = 1;
  if (!q.requests.turns.empty()) {
    const auto lengths = lengths_from(q.requests.turns, "turns");
    if (!lengths) return lengths.error();
    turns = static_cast<double>(lengths->mean);
  }
  s.num_prompts = requests_to_draw(q, turns);
  if (!s.load.rate) s.load.rate = 1;
  auto asked = requests_from(s, query.classes, media_tokens, notes);
  if (!asked) return asked.error();
  const Count most = traced ? q.num_prompts.value_or(kOfTrace) : static_cast<Count>(asked->requests.size());
  auto recorded = plan_requests(asked->requests, std::move(asked->paths), most, query.statistic);
  if (!recorded) return recorded.error();
  query.recorded = *std::move(recorded);
  query.recorded.drawn = !traced;
  const double span = static_cast<double>(query.recorded.requests.size()) / query.recorded.each / query.recorded.rate;
  if (!traced && span < in_seconds(query.recorded.pauses))
    notes.push_back(
        fmt::format("a conversation takes {:.3g} s and more, its simulations {:.3g} s: they end before as many run as "
                    "would in the long run (num-prompts takes more)",
                    in_seconds(query.recorded.pauses), span));
  if (query.recorded.left_out > 0)
    notes.push_back(
        fmt::format("of the trace's {} requests the plan is made for the {} that come fastest, {:.4g} a "
                    "second (num-prompts takes more)",
                    asked->requests.size(), query.recorded.requests.size(), query.requests_at(query.recorded.rate)));
  // Without a rate of its own a plan for a trace is at the trace's.
  if (traced && query.workload.rate == 0 &&
      (query.objective == ServingObjective::cost || query.objective == ServingObjective::energy))
    query.workload.rate = query.recorded.rate;
  query.workload.input = query.recorded.at_one.input, query.workload.output = query.recorded.at_one.output;
  return Ok{};
}

Status add_deployment_features(ServeQuery& query, const PlanServeQuery& q, Count& media_tokens) {
  const SimulateQuery s = simulation_of(q);
  ServeFeatures& f = query.features;
  f.speculation = {q.drafts.draft, q.drafts.acceptance, q.drafts.acceptance_at};
  f.draft_cost = q.drafts.draft_cost;
  f.offload = offload_from(q.fleet);
  f.variants = {q.fleet.redundant_experts, static_cast<int>(q.fleet.decode_cp)};
  f.by_priority = q.requests.scheduling == SchedulingPolicy::priority;
  f.router = q.router;
  f.prefixes.share = q.fleet.cache_threshold;
  f.prefixes.apart = q.fleet.balance_abs, f.prefixes.ratio = q.fleet.balance_rel;
  SimulationOptions patience;
  if (auto fine = set_patience(patience, q.requests); !fine) return fine;
  f.first_token_timeout = patience.first_token_timeout, f.total_timeout = patience.total_timeout;
  if (media(q)) {
    const auto tower = tower_from(s);
    if (!tower) return tower.error();
    media_tokens = tower->tokens;
  }
  if (!drafts(q) && !media(q) && q.requests.adapters == 0) return Ok{};
  for (const EngineKind engine : query.engines) {
    DeploymentOptions of_engine;
    of_engine.engine.kind = engine, of_engine.model = query.model;
    auto features = features_from(s, of_engine);
    if (!features) return features.error();
    f.of_engine[engine] = *std::move(features);
  }
  return Ok{};
}

}  // namespace

bool plans_apart(const PlanServeQuery& q) {
  return !drafts(q) && !media(q) && !offloads(q) && q.requests.adapters == 0 && q.fleet.decode_cp == 1 &&
         q.fleet.redundant_experts == 0 && q.router == Router::round_robin;
}

Status check_plan_features(const PlanServeQuery& q) {
  const SimulateQuery s = simulation_of(q);
  if (auto fine = check_requests(s); !fine) return fine;
  if (auto fine = check_fleet(s); !fine) return fine;
  if (drafts(q) && q.drafts.method == DraftMethod::share)
    return field_error("draft-method", "is missing: a plan has to start what drafts", "ngram, draft, eagle or mtp");
  if (q.disaggregated && !plans_apart(q))
    return field_error("disaggregated",
                       "separate pools are planned without adapters, drafts, images, tiers below the cache, copies of "
                       "experts, shared keys and routers but round-robin",
                       "aggregated, or leave those out");
  if (q.objective == ServingObjective::throughput && has_requests_of_its_own(q))
    return field_error(!q.trace.empty() ? "trace" : "objective",
                       "throughput is of requests alike that always wait: no trace, turns, classes, adapters, images "
                       "or max-tokens",
                       "objective load");
  return Ok{};
}

Result<std::vector<EngineKind>> engines_for(const PlanServeQuery& q) {
  std::vector<EngineKind> engines;
  for (const std::string& name : q.engines) {
    const auto kind = engine_from(name);
    if (!kind) return field_error("engine", kind.error().problem, "vllm, sglang or trtllm");
    if (!serves(*kind)) return field_error("engine", name + " does not serve", "vllm, sglang or trtllm");
    if (const std::string why = why_not(*kind, q); !why.empty())
      return field_error("engine", fmt::format("{}: {}", name, why));
    engines.push_back(*kind);
  }
  if (!engines.empty()) return engines;
  std::string last;
  for (const EngineKind kind : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    const std::string why = why_not(kind, q);
    if (why.empty()) engines.push_back(kind);
    else last = why;
  }
  if (engines.empty())
    return field_error("engine", "none serves all that is asked for: " + last, "leave some of it out");
  return engines;
}

Status add_plan_features(ServeQuery& query, const PlanServeQuery& q, std::vector<std::string>& notes) {
  auto classes = classes_from(q.requests.classes);
  if (!classes) return classes.error();
  query.classes = *std::move(classes);
  Count media_tokens = 0;
  if (auto fine = add_deployment_features(query, q, media_tokens); !fine) return fine;
  return add_recorded(query, q, media_tokens, notes);
}

}  // namespace tilecast
