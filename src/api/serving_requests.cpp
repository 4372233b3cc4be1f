#include "api/serving_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/serving_text.h"
#include "model/library.h"
#include "serve/trace.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostClasses = 64;
constexpr double kLeastShare = 1e-9, kMostShare = 1e9, kMostPriority = 1e9;

// vLLM 0.14's LoRAConfig: max_loras 1, max_lora_rank 16 (docs.vllm.ai/en/v0.14.0/api/vllm/config/lora); SGLang 0.5.6's
// max_loras_per_batch 8, its rank that of the adapters (docs.sglang.io/advanced_features/lora.html).
constexpr Count kVllmLoras = 1, kVllmLoraRank = 16, kSglangLoras = 8;

Result<Seconds> time_of(const std::string& text, const char* field) {
  if (text == "0" || text == "0s") return seconds(0);
  const auto time = duration_from(text);
  if (!time) return field_error(field, "'" + text + "' is not a time", "500ms or 10s");
  return *time;
}

Status set_of_class(RequestClass& c, const std::string& name, const std::string& value) {
  const auto number = finite_number(value);
  if (name == "share" && number && *number >= kLeastShare && *number <= kMostShare) return c.share = *number, Ok{};
  if (name == "priority" && number && std::abs(*number) <= kMostPriority && *number == std::floor(*number))
    return c.priority = static_cast<int>(*number), Ok{};
  if (name == "guided" && (value == "yes" || value == "no")) return c.guided = value == "yes", Ok{};
  if (name == "input" || name == "output") {
    if (auto lengths = lengths_from(value, "classes"); !lengths) return lengths.error();
    return (name == "input" ? c.input : c.output) = value, Ok{};
  }
  const auto time = duration_from(value);
  if (time && name == "ttft") return c.slo.ttft = *time, Ok{};
  if (time && name == "tpot") return c.slo.tpot = *time, Ok{};
  if (time && name == "e2el") return c.slo.e2el = *time, Ok{};
  return field_error("classes", "'" + name + "=" + value + "' says nothing of a class",
                     "chat:share=0.8,priority=0,ttft=500ms,tpot=30ms");
}

Result<ConversationOptions> conversations_from(const SimulateQuery& q) {
  const RequestQuery& r = q.requests;
  ConversationOptions o;
  const auto turns = lengths_from(r.turns, "turns"), added = lengths_from(r.turn_input, "turn-input");
  if (!turns) return turns.error();
  if (!added) return added.error();
  const auto think = time_of(r.think_time, "think-time"), tool = time_of(r.tool_time, "tool-time");
  if (!think) return think.error();
  if (!tool) return tool.error();
  o.turns = *turns, o.added = *added, o.think = *think, o.tool = *tool, o.tools = r.tool_share;
  o.seed = static_cast<std::uint64_t>(q.load.seed);
  return o;
}

Result<AskedRequests> drawn_requests(const SimulateQuery& q) {
  AskedRequests asked;
  const auto workload = workload_from(q.load, q.num_prompts, q.burstiness);
  if (!workload) return workload.error();
  auto requests = generate(*workload);
  if (!requests) return std::move(requests).error();
  asked.requests = *std::move(requests);
  bound_answers(asked.requests, q.requests.most_output.value_or(0));
  if (q.requests.turns.empty()) return asked;
  const auto options = conversations_from(q);
  if (!options) return options.error();
  auto turns = conversations_of(asked.requests, *options);
  if (!turns) return std::move(turns).error();
  asked.requests = *std::move(turns);
  return asked;
}

Result<AskedRequests> recorded_requests(const SimulateQuery& q, std::vector<std::string>& notes) {
  AskedRequests asked;
  TraceOptions options;
  const auto output = lengths_from(q.load.output, "output");
  if (!output) return output.error();
  options.output = output->mean, options.most_output = q.requests.most_output.value_or(0);
  auto trace = read_trace(q.trace, options);
  if (!trace) return std::move(trace).error();
  for (const std::string& note : trace->notes) notes.push_back(q.trace + ": " + note);
  if (trace->requests.empty()) return Error{q.trace, "", "holds no requests", "docs/serving.md has the columns"};
  asked.requests = std::move(trace->requests), asked.paths = std::move(trace->paths);
  return asked;
}

}  // namespace

Status check_requests(const SimulateQuery& q) {
  const RequestQuery& r = q.requests;
  if (!q.trace.empty() && !r.turns.empty())
    return field_error("turns", "a trace has conversations of its own", "no trace, or no turns");
  if (r.scheduling == SchedulingPolicy::priority && q.engine != ServingEngine::vllm)
    return field_error("scheduling-policy", "priority is simulated as vLLM does it", "engine vllm");
  if (r.scheduling == SchedulingPolicy::priority && q.policy == ServingPolicy::fixed_batches)
    return field_error("scheduling-policy", "static batches know no priorities", "policy own");
  if (r.images > 0 && r.audio_s > 0)
    return field_error("audio", "and images in one prompt are not simulated together", "one of the two");
  if (!q.drafts.model.empty() && q.drafts.method != DraftMethod::model)
    return field_error("draft-model", "is only asked where a model drafts", "draft-method draft");
  if (q.drafts.method != DraftMethod::share && q.drafts.draft == 0)
    return field_error("draft", "is missing: how many tokens are drafted a step", "for example 3");
  if (static_cast<Count>(q.drafts.acceptance_at.size()) > std::max<Count>(q.drafts.draft, 1))
    return field_error("acceptance", fmt::format("has {} positions for {} draft tokens", q.drafts.acceptance_at.size(),
                                                 q.drafts.draft));
  return Ok{};
}

Result<std::vector<RequestClass>> classes_from(const std::string& text) {
  std::vector<RequestClass> classes;
  if (text.empty()) return classes;
  for (const std::string& part : split(text, ';')) {
    const auto colon = part.find(':');
    RequestClass c;
    c.name = part.substr(0, colon);
    if (c.name.empty()) return field_error("classes", "a class needs a name", "chat:share=0.8,priority=0,ttft=500ms");
    if (c.name.find_first_of("=,/") != std::string::npos)
      return field_error("classes", "'" + c.name + "' is not a name of a class", "chat:share=0.8;batch:share=0.2");
    if (std::any_of(classes.begin(), classes.end(), [&](const RequestClass& other) { return other.name == c.name; }))
      return field_error("classes", "'" + c.name + "' is there twice", "one name for each class");
    if (colon != std::string::npos)
      for (const std::string& value : split(part.substr(colon + 1), ',')) {
        const auto equals = value.find('=');
        const std::string of = equals == std::string::npos ? "" : value.substr(equals + 1);
        if (auto fine = set_of_class(c, value.substr(0, equals), of); !fine) return fine.error();
      }
    classes.push_back(std::move(c));
  }
  if (classes.size() > kMostClasses)
    return field_error("classes", fmt::format("there are {}, at most {} are told apart", classes.size(), kMostClasses));
  return classes;
}

namespace {

// What a trace recorded, and what a conversation has come to, is as long as it is.
Status check_lengths_of(const std::vector<RequestClass>& classes, const SimulateQuery& q) {
  const bool own =
      std::any_of(classes.begin(), classes.end(), [](const RequestClass& c) { return !(c.input + c.output).empty(); });
  if (!own || (q.trace.empty() && q.requests.turns.empty())) return Ok{};
  return field_error("classes", "have lengths of their own where requests are drawn one by one",
                     q.trace.empty() ? "no turns" : "no trace");
}

}  // namespace

Result<AskedRequests> requests_from(const SimulateQuery& q, const std::vector<RequestClass>& classes,
                                    Count media_tokens, std::vector<std::string>& notes) {
  auto asked = q.trace.empty() ? drawn_requests(q) : recorded_requests(q, notes);
  if (!asked) return asked;
  std::vector<Request>& requests = asked->requests;
  const auto seed = static_cast<std::uint64_t>(q.load.seed);
  const bool own_priorities =
      std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.priority != 0; });
  if (own_priorities && !classes.empty())
    notes.emplace_back("requests have the priorities that the trace says, not those of their classes");
  if (auto fine = check_lengths_of(classes, q); !fine) return fine.error();
  if (auto fine = give_classes(requests, classes, q.trace.empty(), own_priorities, seed); !fine) return fine.error();
  bound_answers(requests, q.requests.most_output.value_or(0));
  const bool own_adapters =
      std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.adapter >= 0; });
  if (own_adapters && q.requests.adapters == 0)
    return field_error("adapters", "the trace asks for some", "how many there are, for example 8");
  if (!own_adapters && q.requests.adapter_rank > 0) give_adapters(requests, q.requests.adapters, seed);
  const bool media = q.requests.images > 0 || q.requests.audio_s > 0;
  const bool own_media = std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.media > 0; });
  if (own_media && !media)
    return field_error("images", "the trace's prompts hold some", "images 1 and their image-size");
  if (media)
    add_media(requests, own_media ? 0 : std::max<Count>(q.requests.images, q.requests.audio_s > 0), media_tokens);
  return asked;
}

Status set_patience(SimulationOptions& simulation, const RequestQuery& q) {
  if (!q.first_token_timeout.empty()) {
    const auto time = time_of(q.first_token_timeout, "ttft-timeout");
    if (!time) return time.error();
    simulation.first_token_timeout = *time;
  }
  if (!q.timeout.empty()) {
    const auto time = time_of(q.timeout, "timeout");
    if (!time) return time.error();
    simulation.total_timeout = *time;
  }
  return Ok{};
}

Result<MediaTower> tower_from(const SimulateQuery& q) {
  const auto config = config_text(q.model);
  if (!config) return config.error();
  if (q.requests.audio_s > 0) return audio_tower(*config, q.model, q.requests.audio_s);
  const std::vector<std::string> sides = split(q.requests.image_size, 'x');
  const auto width = sides.size() == 2 ? number_from<Count>(sides[0]) : std::nullopt;
  const auto height = sides.size() == 2 ? number_from<Count>(sides[1]) : std::nullopt;
  if (!width || !height)
    return field_error("image-size", "'" + q.requests.image_size + "' is not a size",
                       "width x height in pixels: 1024x768");
  return image_tower(*config, q.model, *width, *height);
}

Result<FeatureOptions> features_from(const SimulateQuery& q, const DeploymentOptions& d) {
  FeatureOptions f;
  f.drafting = static_cast<Drafting>(q.drafts.method);
  if (!q.drafts.model.empty()) {
    auto model = find_model(q.drafts.model);
    if (!model) return std::move(model).error();
    f.draft_model = *std::move(model);
  }
  if (q.requests.images > 0 || q.requests.audio_s > 0) {
    auto tower = tower_from(q);
    if (!tower) return std::move(tower).error();
    f.encoder = std::move(tower->encoder), f.encoder_passes = tower->passes;
    f.encoder_is_tower = d.model.tower && q.requests.images > 0;
  }
  if (q.requests.adapters == 0) return f;
  const bool vllm = d.engine.kind == EngineKind::vllm;
  f.adapter_rank = q.requests.adapter_rank;
  f.adapter_slots = q.requests.max_loras.value_or(vllm ? kVllmLoras : std::min(kSglangLoras, q.requests.adapters));
  f.slot_rank = q.requests.max_lora_rank.value_or(vllm ? kVllmLoraRank : f.adapter_rank);
  if (f.adapter_rank > f.slot_rank)
    return field_error("max-lora-rank",
                       fmt::format("{} has no room for adapters of rank {}", f.slot_rank, f.adapter_rank),
                       fmt::format("max-lora-rank {}", f.adapter_rank));
  return f;
}

}  // namespace tilecast
