// Flags of models on one GPU and many.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/flags/flags.h"
#include "support/number.h"

namespace tilecast {

namespace {

// For a figure whose absence means something of its own (no limit, the engine's choice): zero must not pass for that.
std::string above_zero(const std::string& value) {
  const auto number = finite_number(value);
  return number && !(*number > 0) ? "must be above 0, not " + value : std::string();
}

// What `predict` and `memory` share.
void add_run_options(CLI::App& sub, PredictOptions& o) {
  sub.add_option("MODEL", o.model,
                 "a model's name (`tilecast models`), a Hugging Face config.json or its folder, an .onnx file, or a "
                 "graph of your own (docs/graphs.md)")
      ->required();
  sub.add_option("--gpu", o.gpus, "GPU names or description files, comma separated")->delimiter(',');
  sub.add_option("--mode", o.mode, "prefill (an encoder's one pass too), decode, mixed or train")
      ->capture_default_str();
  sub.add_option("--batch", o.batch, "requests, images or training sequences")->capture_default_str();
  sub.add_option("--seq", o.seq, "prefill, train: tokens of a sequence");
  sub.add_option("--context", o.context, "decode: tokens cached before the step; prefill: a cached prefix");
  sub.add_option("--new-tokens", o.new_tokens, "decode: tokens of a request in one step")->capture_default_str();
  sub.add_option("--source", o.source, "encoder-decoder models: tokens of the source");
  sub.add_option("--requests", o.requests, "requests that differ, count x new + cached: 8x1+2048,2x512");
  sub.add_option("--dtype", o.dtypes, "number formats, comma separated (default: the checkpoint's)")->delimiter(',');
  sub.add_option("--kv-dtype", o.kv_dtype, "auto or fp8: the cache");
  sub.add_option("--engine", o.engines,
                 "pytorch (eager), compile, cudagraph, vllm, sglang, trtllm, comma separated (default: vllm where the "
                 "model generates, else pytorch)")
      ->delimiter(',');
  sub.add_option("--era", o.era,
                 "current, or 2024: vLLM before 0.6 and TensorRT-LLM before 0.12, host-bound schedulers")
      ->capture_default_str();
  sub.add_option("--attention", o.attention, "pytorch: fused, or eager (products and a softmax)")
      ->capture_default_str();
  sub.add_flag("--all-logits", o.all_logits, "the head runs on every token");
  sub.add_flag("--no-cache", o.no_cache, "keys and values are not kept");
  sub.add_option("--recompute", o.recompute, "train: none, or full (activations of layers computed again)")
      ->capture_default_str();
  sub.add_option("--optimizer", o.optimizer, "train: adamw, adam or sgd")->capture_default_str();
  sub.add_option("--mixed", o.mixed,
                 "train: none (one format), autocast (fp32 parameters), master (fp32 copy in the optimizer)")
      ->capture_default_str();
  sub.add_option("--accumulate", o.accumulation, "train: micro-batches a step")->capture_default_str();
  sub.add_flag("--no-update", o.no_update, "train: forward and backward only");
  sub.add_flag("--dropout", o.dropout, "train: the model's dropouts are live");
  sub.add_flag("--fused-optimizer", o.fused_optimizer, "train, pytorch: one kernel, not PyTorch's default (foreach)");
  sub.add_flag("--fused-norms", o.fused_norms,
               "pytorch: RMSNorm and GELU as one kernel each, not as Hugging Face does");
  sub.add_flag("--static-cache", o.static_cache, "pytorch: the cache is written in place, not concatenated");
  sub.add_option("--dim", o.dims, "ONNX: name=value of a dynamic dimension; may be repeated");
  sub.add_flag("--allow-unknown", o.allow_unknown, "ONNX: price unknown operators as memory traffic");
  sub.add_flag("--json", o.json, "machine-readable output (docs/json.md)");
}

}  // namespace

namespace {

void add_layout_options(CLI::App& sub, LayoutOptions& o) {
  const char* group = "Many GPUs";
  sub.add_option("--cluster", o.clusters, "clusters by name (`tilecast clusters`) or file (docs/clusters.md)")
      ->delimiter(',')
      ->group(group);
  sub.add_option("--tp", o.tp, "tensor parallel ranks")->group(group);
  sub.add_option("--pp", o.pp, "pipeline stages")->group(group);
  sub.add_option("--dp", o.dp, "data parallel ranks")->group(group);
  sub.add_option("--ep", o.ep, "ranks that share the experts")->group(group);
  sub.add_option("--cp", o.cp, "context parallel ranks: each has a part of every sequence")->group(group);
  sub.add_option("--expert-tp", o.expert_tp, "ranks that share an expert's width (default: tp, with --ep 1)")
      ->group(group);
  sub.add_flag("--sequence-parallel", o.sequence_parallel, "norms and sums shared by token among tp ranks")
      ->group(group);
  sub.add_option("--context-scheme", o.context, "with --cp: ring or all-gather")->capture_default_str()->group(group);
  sub.add_option("--sharding", o.sharding, "train: none (DDP), zero1, zero2, zero3 or fsdp")
      ->capture_default_str()
      ->group(group);
  sub.add_option("--shard-group", o.shard_group, "ranks that hold one copy together (hybrid sharding; default all)")
      ->group(group);
  sub.add_option("--schedule", o.schedule, "pipeline: 1f1b, interleaved, zero-bubble or gpipe")
      ->capture_default_str()
      ->group(group);
  sub.add_option("--chunks", o.chunks, "interleaved: runs of layers a rank holds")->group(group);
  sub.add_option("--stage-layers", o.stage_layers, "layers of each stage: 13,14,13 (default: even)")->group(group);
  sub.add_flag("--no-overlap", o.no_overlap, "gradients and weights are exchanged after the computation, not beside it")
      ->group(group);
  sub.add_flag("--fp32-gradients", o.wide_gradients, "train: gradients are summed and kept in fp32 (Megatron)")
      ->group(group);
  sub.add_option("--micro-batch", o.micro_batch, "train: sequences a rank works on at a time")
      ->check(above_zero)->group(group);
  sub.add_option("--global-batch", o.global_batch, "train: sequences of a step, over all ranks")
      ->check(above_zero)->group(group);
}

}  // namespace

void add_model_commands(CLI::App& app, PredictOptions& o, LayoutOptions& layout, Command& chosen) {
  CLI::App* predict = app.add_subcommand("predict", "forecast a model's prefill, decode or training step");
  add_run_options(*predict, o);
  add_layout_options(*predict, layout);
  predict->add_option("--export-chakra", layout.chakra, "also write execution traces for ASTRA-sim there (docs/chakra.md)")
      ->group("Many GPUs");
  predict->add_option("--method", o.method, "tilecast, analytic (nothing learned) or roofline")->capture_default_str();
  predict->add_option("--weights", o.weights, "weights of `tilecast train` in place of the shipped ones");
  predict->add_flag("--compare", o.compare, "classes of operators side by side");
  predict->add_flag("--kernels", o.kernels, "every kernel of the step");
  predict->add_option("--trace", o.trace,
                      "also write a Chrome trace (opens in Perfetto); with --cluster, one lane a pipeline rank");
  predict->footer(
      "Example:\n  tilecast predict Llama-3.1-8B --gpu H100-SXM,B200 --mode decode --batch 32 --context 2048\n\n"
      "More examples:\n"
      "  tilecast predict Llama-3.1-8B --gpu H100-SXM --mode prefill --seq 8192 --dtype bf16,fp8 --compare\n"
      "  tilecast predict Qwen3-30B-A3B --gpu H100-SXM --mode mixed --requests 64x1+4096,1x2048 --engine vllm,sglang\n"
      "  tilecast predict gpt2-large --gpu A100-SXM-80GB --mode train --batch 8 --seq 1024 --mixed autocast\n"
      "  tilecast predict Llama-3.1-70B --cluster hgx-h100 --tp 8 --pp 2 --dp 4 --mode train --seq 4096 --micro-batch "
      "1 "
      "--global-batch 128 --trace step.json --export-chakra traces");
  predict->callback(
      [&] { chosen = [&] { return layout.asked() ? run_predict_parallel(o, layout) : run_predict(o); }; });

  CLI::App* memory = app.add_subcommand("memory", "what a model needs of a GPU's memory, and the largest that fits");
  add_run_options(*memory, o);
  add_layout_options(*memory, layout);
  memory->footer(
      "Example:\n  tilecast memory Llama-3.1-70B --gpu H200-SXM,B200 --mode decode --batch 16 --context 8192\n\n"
      "More examples:\n"
      "  tilecast memory Llama-3.1-70B --gpu H100-SXM --tp 4 --mode decode --batch 16 --context 8192");
  memory->callback(
      [&] { chosen = [&] { return layout.asked() ? run_memory_parallel(o, layout) : run_memory(o); }; });

  CLI::App* models = app.add_subcommand("models", "list the models Tilecast knows by name");
  models->add_flag("--json", o.json, "machine-readable output");
  const auto classes = std::make_shared<bool>(false);
  models->add_flag("--classes", *classes, "the classes whose config.json is understood, instead");
  models->footer("Example:\n  tilecast models\n  tilecast models --classes");
  models->callback([&, classes] {
    chosen = [&o, classes] { return *classes ? run_model_classes(o.json) : run_models(o.json); };
  });
}

}  // namespace tilecast
