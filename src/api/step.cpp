#include "tilecast/step.h"

#include "api/declare.h"
#include "api/format_notes.h"
#include "api/step_run.h"
#include "api/step_values.h"
#include "gpu/registry.h"
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
    StepForecast step = step_of(*asked, *std::move(spread));
    step.method = query.method;
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

// "none (DDP), zero1, zero2, zero3 or fsdp": names of frameworks are taken as well.
BoundArgument sharding_argument(Sharding& field) {
  BoundArgument bound;
  bound.about = {.name = "sharding",
                 .kind = ArgumentKind::choice,
                 .help = "train: none (DDP), zero1, zero2, zero3 or fsdp",
                 .example = "zero1",
                 .fallback = std::string(name_of(field)),
                 .choices = {"none", "zero1", "zero2", "zero3", "fsdp"},
                 .group = "Many GPUs"};
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
                 .group = "Many GPUs"};
  bound.get = [&field] {
    std::vector<std::string> parts;
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

// No real batch, length or number of micro-batches exceeds this; nor does a layout have more ranks.
constexpr double kMost = 1 << 30, kMostRanks = 1 << 20;

void declare_work(Declare& list, StepQuery& q) {
  list.add(q.model, {.name = "model",
                     .help = "a model's name (`tilecast models`), a Hugging Face config.json or its folder, an .onnx "
                             "file, or a graph of your own (docs/graphs.md)",
                     .example = "Llama-3.1-8B",
                     .required = true,
                     .positional = true});
  list.add(q.gpu, {.name = "gpu", .help = "GPU name or description file", .example = "H100-SXM"});
  list.add(q.mode, {.name = "mode", .help = "an encoder's one pass is prefill too", .example = "decode"});
  list.add(
      q.batch,
      {.name = "batch", .help = "requests, images or training sequences", .example = "32", .least = 1, .most = kMost});
  list.add(
      q.seq,
      {.name = "seq", .help = "prefill, train: tokens of a sequence", .example = "2048", .least = 0, .most = kMost});
  list.add(q.context, {.name = "context",
                       .help = "decode: tokens cached before the step; prefill: a cached prefix",
                       .example = "2048",
                       .least = 0,
                       .most = kMost});
  list.add(q.new_tokens, {.name = "new-tokens",
                          .help = "decode: tokens of a request in one step",
                          .example = "1",
                          .least = 1,
                          .most = kMost});
  list.add(q.source, {.name = "source",
                      .help = "encoder-decoder models: tokens of the source",
                      .example = "512",
                      .least = 0,
                      .most = kMost});
  list.add(q.requests, {.name = "requests",
                        .help = "requests that differ, count x new + cached: 8x1+2048,2x512",
                        .example = "8x1+2048,2x512"});
  list.add(q.dtype, {.name = "dtype",
                     .help = "number format (default: the checkpoint's), by part where parts differ (docs/serving.md)",
                     .example = "experts=mxfp4,attention=bf16"});
  list.add(q.kv_dtype,
           {.name = "kv-dtype", .help = "of keys and values", .example = "fp8", .choices = {"auto", "fp8"}});
  list.add(q.routing, {.name = "routing",
                       .help = "of tokens to experts: uniform (default), power:1.2, or counts:FILE, visits of each expert",
                       .example = "power:1.2"});
}

void declare_engine(Declare& list, StepQuery& q) {
  list.add(
      q.engine,
      {.name = "engine",
       .help = "who runs it (default: vllm where the model generates, else pytorch, which is eager; pytorch-graph: the "
               "same kernels in a CUDA graph)",
       .example = "sglang"});
  list.add(q.era, {.name = "era",
                   .help = "2024: vLLM before 0.6 and TensorRT-LLM before 0.12, host-bound schedulers",
                   .example = "2024",
                   .choices = {"current", "2024"}});
  list.add(q.attention,
           {.name = "attention",
             .help = "pytorch: whose kernel (fused: PyTorch's choice on the card), eager (products and a softmax), or math "
                     "(PyTorch's fallback in fp32 under a mask)",
            .example = "eager"});
  list.add(q.all_logits, {.name = "all-logits", .help = "the head runs on every token"});
  list.add_opposite(q.keep_cache, {.name = "no-cache", .help = "keys and values are not kept"});
  list.add(q.recompute,
           {.name = "recompute", .help = "train: full is activations of layers computed again", .example = "full"});
  list.add(q.optimizer, {.name = "optimizer", .help = "train", .example = "sgd"});
  list.add(q.mixed,
           {.name = "mixed",
            .help = "train: none (one format), autocast (fp32 parameters), master (fp32 copy in the optimizer)",
            .example = "master"});
  list.add(q.accumulate,
           {.name = "accumulate", .help = "train: micro-batches a step", .example = "4", .least = 1, .most = kMost});
  list.add_opposite(q.update, {.name = "no-update", .help = "train: forward and backward only"});
  list.add(q.dropout, {.name = "dropout", .help = "train: the model's dropouts are live"});
  list.add(q.fused_optimizer,
           {.name = "fused-optimizer", .help = "train, pytorch: one kernel, not PyTorch's default (foreach)"});
  list.add(q.fused_norms,
           {.name = "fused-norms", .help = "pytorch: RMSNorm and GELU as one kernel each, not as Hugging Face does"});
  list.add(q.static_cache,
           {.name = "static-cache", .help = "pytorch: the cache is written in place, not concatenated"});
  list.add(
      q.merged_projections,
      {.name = "merged-projections",
       .help = "pytorch: one product for queries, keys and values and one for gate and values, their parts views"});
  list.add(q.wide_rotation,
           {.name = "fp32-rotation",
            .help = "pytorch: rotations in fp32, half by half (Meta's code), not as Hugging Face does"});
  list.add(q.dims, {.name = "dim",
                    .help = "ONNX: name=value of a dynamic dimension; may be repeated",
                    .example = "batch=8",
                    .repeated = true});
  list.add(q.allow_unknown, {.name = "allow-unknown", .help = "ONNX: price unknown operators as memory traffic"});
}

void declare_layout(Declare& list, StepQuery& q) {
  RankLayout& l = q.layout;
  const std::string group = "Many GPUs";
  const auto ranks = [&](int& field, const char* name, const char* help, double least = 1) {
    list.add(field, {.name = name, .help = help, .example = "2", .least = least, .most = kMostRanks, .group = group});
  };
  list.add(q.cluster, {.name = "cluster",
                       .help = "a cluster by name (`tilecast clusters`) or file (docs/clusters.md)",
                       .example = "hgx-h100",
                       .group = group});
  ranks(l.tp, "tp", "tensor parallel ranks");
  ranks(l.pp, "pp", "pipeline stages");
  ranks(l.dp, "dp", "data parallel ranks");
  ranks(l.ep, "ep", "ranks that share the experts");
  ranks(l.cp, "cp", "context parallel ranks: each has a part of every sequence");
  ranks(l.expert_tp, "expert-tp", "ranks that share an expert's width (default: tp, where ep is 1)", 0);
  list.add(l.sequence_parallel,
           {.name = "sequence-parallel", .help = "norms and sums shared by token among tp ranks", .group = group});
  list.add(l.context,
           {.name = "context-scheme", .help = "of context parallel ranks", .example = "all-gather", .group = group});
  list.add(sharding_argument(l.sharding));
  ranks(l.shard_group, "shard-group", "ranks that hold one copy together (hybrid sharding; default all)", 0);
  list.add(l.schedule, {.name = "schedule", .help = "of the pipeline", .example = "zero-bubble", .group = group});
  ranks(l.chunks, "chunks", "interleaved: runs of layers a rank holds");
  list.add(stage_layers_argument(l.stage_layers));
  list.add_opposite(l.overlap, {.name = "no-overlap",
                                .help = "gradients and weights are exchanged after the computation, not beside it",
                                .group = group});
  list.add(
      q.wide_gradients,
      {.name = "fp32-gradients", .help = "train: gradients are summed and kept in fp32 (Megatron)", .group = group});
  list.add(q.micro_batch, {.name = "micro-batch",
                           .help = "train: sequences a rank works on at a time",
                           .example = "1",
                           .least = 1,
                           .most = kMost,
                           .group = group});
  list.add(q.global_batch, {.name = "global-batch",
                            .help = "train: sequences of a step, over all ranks",
                            .example = "128",
                            .least = 1,
                            .most = kMost,
                            .group = group});
}

}  // namespace

Result<StepForecast> forecast(const StepQuery& query) {
  StepLookups known;
  return answer(query, known);
}

std::vector<Result<StepForecast>> forecast(std::span<const StepQuery> queries) {
  StepLookups known;
  std::vector<Result<StepForecast>> answers;
  answers.reserve(queries.size());
  for (const StepQuery& query : queries) answers.push_back(answer(query, known));
  return answers;
}

Result<StepSetting> setting_of(const StepQuery& query) {
  StepLookups known;
  auto asked = known.asked(query);
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
       "predict Llama-3.1-70B --cluster hgx-h100 --tp 8 --pp 2 --dp 4 --mode train --seq 4096 --micro-batch 1 "
       "--global-batch 128 --trace step.json --export-chakra traces"}};
  return question;
}

std::vector<BoundArgument> arguments_of(StepQuery& q) {
  Declare list;
  declare_work(list, q);
  declare_engine(list, q);
  list.add(q.method, {.name = "method",
                      .help = "analytic is without anything learned",
                      .example = "analytic",
                      .choices = {"tilecast", "analytic", "roofline"}});
  list.add(q.weights, {.name = "weights",
                       .help = "weights of `tilecast-lab train` in place of the shipped ones",
                       .example = "my.weights"});
  declare_layout(list, q);
  return list.take();
}

}  // namespace tilecast
