// The arguments of requests: conversations, clients, adapters, images.
#include <fmt/format.h>

#include "api/serving_requests.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

const Scope kTurns{"turns"}, kAdapters{"adapters"}, kImages{"images"}, kDraftTokens{"draft"};

void declare_conversations(Declare& list, RequestQuery& q) {
  list.add(q.turns,
           {.name = "turns",
            .help = "conversations: turns of each, its history in every prompt (4, uniform:4:0.5); num-prompts "
                    "and concurrency then count conversations",
            .example = "4"});
  list.add(q.turn_input, {.name = "turn-input",
                          .help = "with turns: tokens that a later turn adds, as input",
                          .unit = "tokens",
                          .example = "128",
                          .scopes = {kTurns}});
  list.add(q.think_time, {.name = "think-time",
                          .help = "with turns: mean time from an answer to the next turn",
                          .example = "10s",
                          .scopes = {kTurns}});
  list.add(q.tool_share, {.name = "tool-share",
                          .help = "with turns: share of later turns that are results of tools",
                          .example = "0.5",
                          .least = 0,
                          .most = 1,
                          .scopes = {kTurns}});
  list.add(q.tool_time,
           {.name = "tool-time", .help = "with turns: mean time of a tool", .example = "2s", .scopes = {kTurns}});
}

void declare_clients(Declare& list, RequestQuery& q) {
  list.add(
      q.first_token_timeout,
      {.name = "ttft-timeout", .help = "clients cancel a request whose first token takes longer", .example = "10s"});
  list.add(q.timeout,
           {.name = "timeout", .help = "clients cancel a request that takes longer as a whole", .example = "60s"});
  list.add(
      q.most_output,
      {.name = "max-tokens",
       .help =
           "longest answer that requests ask for: cuts output, and engines that keep room for answers reckon with it",
       .unit = "tokens",
       .example = "512",
       .least = 1,
       .most = kMostCount});
  list.add(q.classes,
           {.name = "classes",
            .help = "kinds of requests with shares, priorities (less goes first), lengths, grammars and objectives: "
                    "name:share=..,priority=..,output=..,guided=yes,ttft=..;name:...",
            .example = "chat:share=0.8,priority=0,ttft=500ms;batch:share=0.2,priority=1"});
  list.add(q.scheduling, {.name = "scheduling-policy",
                          .help = "vllm: waiting requests by arrival or by priority",
                          .example = "priority",
                          .scopes = {{"engine", {"vllm"}}}});
}

void declare_adapters(Declare& list, RequestQuery& q) {
  list.add(q.adapters, {.name = "adapters",
                        .help = "LoRA adapters, one drawn for each request or conversation",
                        .example = "8",
                        .least = 0,
                        .most = 1e6});
  list.add(q.adapter_rank, {.name = "lora-rank",
                            .help = "with adapters: their rank; 0: as without",
                            .example = "16",
                            .least = 0,
                            .most = 4096,
                            .scopes = {kAdapters}});
  list.add(q.max_loras, {.name = "max-loras",
                         .help = "with adapters: different ones in a step and on a GPU (default: vllm 1, sglang 8)",
                         .example = "4",
                         .least = 1,
                         .most = 4096,
                         .aliases = {"max-loras-per-batch"},
                         .scopes = {kAdapters}});
  list.add(q.max_lora_rank,
           {.name = "max-lora-rank",
            .help = "with adapters: rank that a GPU keeps room for (default: vllm 16, sglang the adapters')",
            .example = "64",
            .least = 1,
            .most = 4096,
            .scopes = {kAdapters}});
}

void declare_media(Declare& list, RequestQuery& q) {
  list.add(q.images,
           {.name = "images", .help = "images in every first prompt", .example = "1", .least = 0, .most = 1000});
  list.add(q.image_size, {.name = "image-size",
                          .help = "with images: their width and height",
                          .unit = "pixels",
                          .example = "1024x768",
                          .scopes = {kImages}});
  list.add(q.audio_s, {.name = "audio",
                       .help = "sound in every first prompt",
                       .unit = "s",
                       .example = "30",
                       .least = 0,
                       .most = 86400});
}

}  // namespace

void declare_requests(Declare& list, RequestQuery& q) {
  declare_conversations(list, q);
  declare_clients(list, q);
  declare_adapters(list, q);
  declare_media(list, q);
}

namespace {

// One probability, or one a position.
void declare_acceptance(Declare& list, DraftQuery& q) {
  Argument about{.name = "acceptance",
                 .help =
                     "with draft: probability that a draft token is accepted where those before it were, for all or by "
                     "position: 0.8,0.7,0.6",
                 .example = "0.7",
                 .least = 0,
                 .most = 1,
                 .scopes = {kDraftTokens}};
  about.kind = ArgumentKind::list;
  BoundArgument bound;
  bound.get = [&q] {
    if (q.acceptance_at.empty()) return number_text(q.acceptance);
    std::vector<std::string> parts;
    for (const double a : q.acceptance_at) parts.push_back(number_text(a));
    return joined(parts);
  };
  bound.set = [&q, about](std::string_view text) -> Status {
    Argument one = about;
    one.kind = ArgumentKind::number;
    std::vector<double> values;
    for (const std::string& part : parts_of(text)) {
      const auto value = number_value(one, part);
      if (!value) return value.error();
      values.push_back(*value);
    }
    if (values.empty()) return field_error("acceptance", "is empty", "0.7");
    q.acceptance = values.front();
    q.acceptance_at = values.size() > 1 ? std::move(values) : std::vector<double>{};
    return Ok{};
  };
  about.fallback = bound.get();
  bound.about = std::move(about);
  list.add(std::move(bound));
}

}  // namespace

void declare_drafts(Declare& list, DraftQuery& q) {
  list.add(q.draft, {.name = "draft",
                     .help = "speculative decoding or MTP: draft tokens per step",
                     .unit = "tokens",
                     .example = "4",
                     .least = 0,
                     .most = 64});
  declare_acceptance(list, q);
  list.add(q.draft_cost, {.name = "draft-cost",
                          .help = "with draft: time of a draft token, as a share of a step",
                          .example = "0.05",
                          .least = 0,
                          .most = 10,
                          .scopes = {kDraftTokens}});
  list.add(
      q.method,
      {.name = "draft-method",
       .help = "with draft: where drafts come from: share (each at draft-cost), ngram, draft (a model), eagle, mtp",
       .example = "eagle",
       .scopes = {kDraftTokens}});
  list.add(q.model, {.name = "draft-model",
                     .help = "with draft-method draft: the model that drafts, by name or config.json",
                     .example = "Llama-3.2-1B",
                     .touches = Touches::model});
}

}  // namespace tilecast
