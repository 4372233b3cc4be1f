#include "tilecast/step.h"

#include <fmt/format.h>

#include "api/answer_each.h"
#include "api/common_arguments.h"
#include "api/declare.h"
#include "api/format_notes.h"
#include "api/step_run.h"
#include "api/step_values.h"
#include "api/train_arguments.h"
#include "gpu/registry.h"
#include "parallel/fitting.h"
#include "parallel/layout.h"

namespace tilecast {
namespace {

Result<StepForecast> answer(const StepQuery& query, StepLookups& known) {
  const auto asked = known.asked(query);
  if (!asked) return asked.error();
  const Result<ChosenMethod>& chosen = known.method(query.method, query.weights);
  if (!chosen) return chosen.error();
  if (asked->cluster) {
    auto spread = forecast_parallel(asked->over_ranks(), *asked->cluster, pricing_of(*chosen));
    if (!spread) return std::move(spread).error();
    const bool fits = spread->fits();
    const Seconds time = spread->step;
    StepForecast step = step_of(*asked, *std::move(spread));
    step.method = query.method;
    for (std::string& note : rank_notes(asked->over_ranks(), *asked->cluster, time, pricing_of(*chosen)))
      step.notes.push_back(std::move(note));
    if (query.list_tasks) {
      auto timeline = timeline_of(step);
      if (!timeline) return std::move(timeline).error();
      step.many->timeline = *std::move(timeline);
    }
    if (fits) return step;
    if (const auto change = change_that_fits(asked->over_ranks(), *asked->cluster, pricing_of(*chosen)))
      step.notes.push_back(fmt::format("does not fit; {} would: {:.1f} GiB, {:.3g} s a step", change->what,
                                       in_gibibytes(change->memory), in_seconds(change->step)));
    return step;
  }
  const Result<PreparedRun>& prepared = known.prepared(query, asked->run);
  if (!prepared) return prepared.error();
  const auto priced = forecast_run(asked->run, *prepared, *asked->gpu, chosen->method, chosen->weights());
  if (!priced) return priced.error();
  StepForecast step = step_of(*asked, *prepared, *priced);
  step.method = query.method;
  for (std::string& note : format_notes(asked->run, *asked->gpu, priced->step.total, *chosen))
    step.notes.push_back(std::move(note));
  return step;
}

// Where arguments mean something; scopes_hold() (step_run.cpp) has the facts beside the arguments themselves.
const Scope kTraining{"mode", {"train"}};
const Scope kInference{"mode", {"prefill", "decode", "mixed"}};
const Scope kNoRequests{
    "requests", {""}, "has no effect beside requests, which say it for each", "leave one of them out"};
const Scope kFreeShapes{"shapes", {"free"}, "has no effect: the file fixes its own shapes", "leave it out"};
const Scope kEagerCode{"engine", {"pytorch", "compile", "pytorch-graph"}};
const Scope kMany{"gpus", {"many"}, "has no effect on one GPU", "give a cluster, or tp, pp, dp, ep or cp"};
const Scope kPipeline{"pp"};

// An argument that remembers that it was given.
BoundArgument noted(BoundArgument bound, bool& given) {
  bound.set = [set = std::move(bound.set), &given](std::string_view text) -> Status {
    auto fine = set(text);
    if (fine) given = true;
    return fine;
  };
  return bound;
}
template <class T>
BoundArgument noted(T& field, Argument about, bool& given) {
  Declare one;
  one.add(field, std::move(about));
  return noted(std::move(one.take().front()), given);
}

// "none (DDP), zero1, zero2, zero3 or fsdp": names of frameworks are taken as well.
BoundArgument sharding_argument(Sharding& field) {
  BoundArgument bound;
  bound.about = {.name = "sharding",
                 .kind = ArgumentKind::choice,
                 .help = "train: what data parallel ranks shard; none is DDP",
                 .example = "zero1",
                 .fallback = std::string(name_of(field)),
                 .choices = {"none", "zero1", "zero2", "zero3", "fsdp"},
                 .group = "Many GPUs",
                 .scopes = {kMany, kTraining}};
  bound.get = [&field] { return std::string(name_of(field)); };
  bound.set = [&field](std::string_view text) -> Status {
    const auto value = sharding_from(text);
    if (!value) return value.error();
    return field = *value, Ok{};
  };
  return bound;
}

BoundArgument stage_layers_argument(std::vector<int>& field) {
  BoundArgument bound;
  bound.about = {.name = "stage-layers",
                 .kind = ArgumentKind::text,
                 .help = "layers of each stage: 13,14,13 (default: even)",
                 .example = "13,14,13",
                 .group = "Many GPUs",
                 .scopes = {kPipeline}};
  bound.get = [&field] {
    std::vector<std::string> parts;
    parts.reserve(field.size());
    for (const int layers : field) parts.push_back(std::to_string(layers));
    return joined(parts);
  };
  bound.set = [&field](std::string_view text) -> Status {
    std::vector<int> layers;
    const Argument about{.name = "stage-layers",
                         .kind = ArgumentKind::count,
                         .help = {},
                         .example = "13,14,13",
                         .least = 0,
                         .most = 1e6};
    if (!text.empty())
      for (const std::string& part : parts_of(text)) {
        const auto n = count_value(about, part);
        if (!n) return n.error();
        layers.push_back(static_cast<int>(*n));
      }
    return field = std::move(layers), Ok{};
  };
  return bound;
}

constexpr double kMost = 1 << 30;  // no real batch, length or number of micro-batches exceeds this

void declare_work(Declare& list, StepQuery& q) {
  list.add(q.model, {.name = "model",
                     .help = "a model's name (`tilecast models`), a Hugging Face config.json or its folder, an .onnx "
                             "file, a graph of your own (docs/graphs.md), or a recorded PyTorch program "
                             "(docs/program.md)",
                     .example = "Llama-3.1-8B",
                     .required = true,
                     .positional = true,
                     .touches = Touches::model});
  list.add(q.gpu,
           {.name = "gpu", .help = "GPU name or description file", .example = "H100-SXM", .touches = Touches::gpu});
  list.add(
      q.mode,
      {.name = "mode", .help = "what the step does; an encoder's single pass counts as prefill", .example = "decode"});
  list.add(q.batch, {.name = "batch",
                     .help = "requests, images or training sequences per step",
                     .example = "32",
                     .least = 1,
                     .most = kMost,
                     .scopes = {kNoRequests,
                                kFreeShapes,
                                {"global-batch", {""}, "has no effect beside global-batch", "leave one of them out"}}});
  list.add(q.seq,
           {.name = "seq",
            .help = "prefill, train: tokens per sequence",
            .unit = "tokens",
            .example = "2048",
            .least = 0,
            .most = kMost,
            .scopes = {{"mode", {"prefill", "train"}, {}, "decode takes context and new-tokens, mixed takes requests"},
                       kNoRequests,
                       kFreeShapes}});
  list.add(q.context, {.name = "context",
                       .help = "decode: tokens already in the cache; prefill: length of a cached prefix",
                       .unit = "tokens",
                       .example = "2048",
                       .least = 0,
                       .most = kMost,
                       .scopes = {{"mode", {"decode", "prefill"}}, kNoRequests, kFreeShapes}});
  list.add(q.new_tokens, {.name = "new-tokens",
                          .help = "decode: tokens per request in one step",
                          .example = "1",
                          .least = 1,
                          .most = kMost,
                          .scopes = {{"mode", {"decode"}}, kNoRequests, kFreeShapes}});
  list.add(q.source,
           {.name = "source",
            .help = "encoder-decoder models: tokens of the source text",
            .example = "512",
            .least = 0,
            .most = kMost,
            .scopes = {{"sources", {"yes"}, "has no effect: the model reads no source text", "leave it out"}}});
  list.add(q.requests, {.name = "requests",
                        .help = "requests of different lengths, COUNTxNEW+CACHED each: 8x1+2048,2x512",
                        .example = "8x1+2048,2x512",
                        .scopes = {kInference, kFreeShapes}});
  list.add(q.dtype, {.name = "dtype",
                     .help = "number format (default: the checkpoint's), by part where parts differ (docs/serving.md)",
                     .example = "experts=mxfp4,attention=bf16"});
  list.add(q.kv_dtype, {.name = "kv-dtype",
                        .help = "number format of the KV cache",
                        .example = "fp8",
                        .choices = {"auto", "fp8"},
                        .scopes = {kInference}});
  list.add(q.routing, {.name = "routing",
                       .help = "how tokens spread over experts: uniform (default in training), power:A (elsewhere, "
                               "with 1.2; their loads drawn from a density x^-A, AIConfigurator's: a larger A is not "
                               "always more skew), or counts:FILE with the visits of each expert",
                       .example = "uniform",
                       .scopes = {{"experts", {"yes"}, "has no effect: the model has no experts", "leave it out"}},
                       .touches = Touches::counts});
}

void declare_engine(Declare& list, StepQuery& q) {
  list.add(
      q.engine,
      {.name = "engine",
       .help = "who runs it (default: vllm where the model generates, else pytorch, which is eager; pytorch-graph: the "
               "same kernels in a CUDA graph)",
       .example = "sglang"});
  list.add(q.era,
           {.name = "era",
            .help = "engine releases; 2024 is vLLM before 0.6 and TensorRT-LLM before 0.12, with host-bound schedulers",
            .example = "2024",
            .choices = {"current", "2024"},
            .scopes = {{"engine", {"vllm", "trtllm", "pytorch", "compile", "cudagraph", "pytorch-graph"}}}});
  list.add(
      q.torch,
      {.name = "torch",
       .help = "pytorch: its release (default 2.11), which decides how its own kernels are launched and what kernel "
               "fused attention is: cuDNN first in 2.5.0, 2.9 and from 2.11 on, FlashAttention 2 in the others",
       .example = "2.6",
       .scopes = {{"engine", {"pytorch", "compile", "cudagraph", "pytorch-graph"}}, {"era", {"current"}}}});
  list.add(
      q.attention,
      {.name = "attention",
       .help =
           "attention kernel; fused is the engine's choice for the card, eager separate products and a softmax, math "
           "PyTorch's fp32 fallback under a mask; vllm and sglang have some of the others (docs/kernels.md)",
       .example = "eager",
       .fallback = "fused"});
  list.add(q.all_logits, {.name = "all-logits", .help = "compute logits for every token, not only the last"});
  list.add_opposite(q.keep_cache, {.name = "no-cache", .help = "do not write a KV cache", .scopes = {kInference}});
  list.add(q.framework, {.name = "framework",
                         .help = "train: whose way of training gives the defaults (docs/parallel.md)",
                         .example = "torchtitan",
                         .scopes = {kTraining}});
  list.add(q.recompute,
           {.name = "recompute",
            .help = "train: what is computed again in the backward pass: full, whole layers; alternate, every second "
                    "one; selective, attention alone or modules; operators, all but attention and every second product",
            .example = "full",
            .fallback = "none",
            .scopes = {kTraining}});
  list.add(q.recompute_modules,
           {.name = "recompute-modules",
            .help = "train: parts of layers that are computed again, as Megatron-Core names them (docs/training.md)",
            .example = "layernorm,mlp",
            .choices = {kRecomputeModuleNames.begin(), kRecomputeModuleNames.end()},
            .scopes = {kTraining, {"recompute", {"", "selective"}}}});
  list.add(q.recompute_every, {.name = "recompute-every",
                               .help = "train: of so many layers one is computed again whole",
                               .example = "4",
                               .fallback = "2",
                               .least = 1,
                               .most = kMost,
                               .scopes = {kTraining, {"recompute", {"", "alternate"}}, {"recompute-modules", {""}}}});
  list.add(q.optimizer,
           {.name = "optimizer", .help = "train: which optimizer", .example = "sgd", .scopes = {kTraining}});
  list.add(q.mixed,
           {.name = "mixed",
            .help = "train: mixed precision; autocast keeps parameters in fp32, master an fp32 copy in the optimizer",
            .example = "master",
            .fallback = "none",
            .scopes = {kTraining}});
  declare_training(list, q.train, {kTraining});
  list.add(q.offload, {.name = "offload",
                       .help = "train: what waits in the host's memory",
                       .example = "optimizer",
                       .scopes = {kTraining, kMany}});
  list.add(q.documents, {.name = "documents",
                         .help = "train: documents of equal length that a sequence is packed from; tokens attend to "
                                 "their own alone",
                         .example = "4",
                         .least = 1,
                         .most = kMost,
                         .scopes = {kTraining, kFreeShapes}});
  list.add(q.accumulate, {.name = "accumulate",
                          .help = "train: micro-batches accumulated per step",
                          .example = "4",
                          .least = 1,
                          .most = kMost,
                          .scopes = {kTraining}});
  list.add_opposite(
      q.update, {.name = "no-update", .help = "train: forward and backward only, no optimizer", .scopes = {kTraining}});
  list.add(q.dropout, {.name = "dropout", .help = "train: apply the model's dropout layers", .scopes = {kTraining}});
  list.add(q.fused_optimizer, {.name = "fused-optimizer",
                               .help = "train, pytorch: one fused kernel instead of the default (foreach)",
                               .scopes = {kTraining}});
  list.add(q.fused_norms, {.name = "fused-norms",
                           .help = "pytorch: RMSNorm and GELU as one kernel each, unlike Hugging Face's code",
                           .scopes = {kEagerCode}});
  list.add(q.static_cache, {.name = "static-cache",
                            .help = "pytorch: write the cache in place instead of concatenating",
                            .scopes = {kEagerCode}});
  list.add(q.merged_projections,
           {.name = "merged-projections",
            .help = "pytorch: one product for Q, K and V and one for gate and up, whose parts are views",
            .scopes = {kEagerCode}});
  list.add(q.wide_rotation,
           {.name = "fp32-rotation",
            .help = "pytorch: rotary embedding in fp32, half by half (Meta's code), unlike Hugging Face's",
            .scopes = {kEagerCode}});
  list.add(q.dims, {.name = "dim",
                    .help = "ONNX: name=value of a dynamic dimension; may be repeated",
                    .example = "batch=8",
                    .repeated = true});
  list.add(q.allow_unknown, {.name = "allow-unknown", .help = "ONNX: price unknown operators as memory traffic"});
}

void declare_layout(Declare& list, StepQuery& q) {
  RankLayout& l = q.layout;
  const std::string group = "Many GPUs";
  const auto ranks = [&](int& field, const char* name, const char* help, double least = 1,
                         std::vector<Scope> scopes = {}) {
    list.add(field, {.name = name,
                     .help = help,
                     .example = "2",
                     .least = least,
                     .most = kMostRanks,
                     .group = group,
                     .scopes = std::move(scopes)});
  };
  list.add(q.cluster, {.name = "cluster",
                       .help = "a cluster by name (`tilecast clusters`) or file (docs/clusters.md)",
                       .example = "hgx-h100",
                       .group = group,
                       .touches = Touches::cluster});
  ranks(l.tp, "tp", "tensor parallel ranks");
  ranks(l.pp, "pp", "pipeline stages");
  ranks(l.dp, "dp", "data parallel ranks");
  ranks(l.ep, "ep", "ranks that share the experts");
  ranks(l.cp, "cp", "context parallel ranks: each holds part of every sequence");
  ranks(l.expert_tp, "expert-tp", "ranks that share an expert's width (default: tp, where ep is 1)", 0, {kMany});
  list.add(noted(l.sequence_parallel,
                 {.name = "sequence-parallel",
                  .help = "with tp: norms and residual sums are split by token among the ranks",
                  .group = group,
                  .scopes = {{"tp"}}},
                 q.given.sequence_parallel));
  list.add(
      noted(l.tensor_overlap,
            {.name = "tp-overlap",
             .help = "with tp: which exchanges run beside products: inputs gathered again, all of the backward pass, "
                     "or pipelined with the products themselves (user buffers, async TP)",
             .example = "pipelined",
             .group = group,
             .scopes = {{"tp"}, kTraining}},
            q.given.tensor_overlap));
  list.add(l.context, {.name = "context-scheme",
                       .help = "with cp: how ranks exchange keys and values",
                       .example = "all-gather",
                       .group = group,
                       .scopes = {{"cp"}}});
  list.add(noted(sharding_argument(l.sharding), q.given.sharding));
  ranks(l.shard_group, "shard-group", "ranks that hold one copy together (hybrid sharding; default: all)", 0,
        {{"sharding", {"zero3"}, {}, "give sharding zero3 too, or leave it out"}});
  list.add(l.schedule, {.name = "schedule",
                        .help = "with pp: pipeline schedule",
                        .example = "zero-bubble",
                        .group = group,
                        .scopes = {kPipeline}});
  ranks(l.chunks, "chunks", "model chunks per rank: more than one are interleaved; zero-bubble-v has two", 1,
        {kPipeline});
  list.add(stage_layers_argument(l.stage_layers));
  Declare overlap;
  overlap.add_opposite(l.overlap, {.name = "no-overlap",
                                   .help = "exchange gradients and weights after computing, not meanwhile",
                                   .group = group,
                                   .scopes = {kMany, kTraining}});
  list.add(noted(std::move(overlap.take().front()), q.given.overlap));
  list.add(q.wide_gradients, {.name = "fp32-gradients",
                              .help = "train: gradients are summed and kept in fp32 (Megatron)",
                              .group = group,
                              .scopes = {kMany, kTraining}});
  list.add(q.micro_batch,
           {.name = "micro-batch",
            .help = "train: sequences a rank works on at a time",
            .example = "1",
            .least = 1,
            .most = kMost,
            .group = group,
            .scopes = {
                {"gpus", {"many"}, "has no effect on one GPU", "batch and accumulate say it there; or give a cluster"},
                kTraining,
                kFreeShapes}});
  list.add(q.global_batch, {.name = "global-batch",
                            .help = "train: sequences per step, over all ranks",
                            .example = "128",
                            .least = 1,
                            .most = kMost,
                            .group = group,
                            .scopes = {kTraining, kFreeShapes}});
  list.add(q.list_tasks, {.name = "list-tasks",
                          .help = "JSON: also the pipeline's tasks with their begin and end, rank by rank",
                          .group = group,
                          .scopes = {kMany}});
}

}  // namespace

Result<StepForecast> forecast(const StepQuery& query) {
  StepLookups known;
  return answer(query, known);
}

std::vector<Result<StepForecast>> forecast(std::span<const StepQuery> queries) {
  return answer_each<StepLookups>(queries,
                                  [](const StepQuery& query, StepLookups& known) { return answer(query, known); });
}

Result<StepSetting> setting_of(const StepQuery& query) {
  StepLookups known;
  auto asked = known.described(query);
  if (!asked) return std::move(asked).error();
  if (const auto& chosen = known.method(query.method, query.weights); !chosen) return chosen.error();
  return std::move(asked->setting);
}

const Question& step_question() {
  static const Question question{
      "predict",
      "forecast a model's prefill, decode or training step",
      {"predict Llama-3.1-8B --gpu H100-SXM,B200 --mode decode --batch 32 --context 2048",
       "predict Llama-3.1-8B --gpu H100-SXM --mode prefill --seq 8192 --dtype bf16,fp8 --compare",
       "predict Qwen3-30B-A3B --gpu H100-SXM --mode mixed --requests 64x1+4096,1x2048 --engine vllm,sglang",
       "predict gpt2-large --gpu A100-SXM-80GB --mode train --batch 8 --seq 1024 --mixed autocast",
       std::string("predict Llama-3.1-70B --cluster hgx-h100 --tp 8 --pp 2 --dp 4 --mode train --seq 4096 ") +
           "--micro-batch 1 --global-batch 128 --trace step.json --export-chakra traces"}};
  return question;
}

std::vector<BoundArgument> arguments_of(StepQuery& q) {
  Declare list;
  declare_work(list, q);
  declare_engine(list, q);
  list.add(q.method, method_argument());
  list.add(q.weights, weights_argument());
  declare_layout(list, q);
  return list.take();
}

}  // namespace tilecast
