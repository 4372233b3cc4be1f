// Flags of models on one GPU and many, of plans and serving.
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

namespace {

// What `simulate` and `plan serve` are asked to serve.
void add_load_options(CLI::App& sub, LoadOptions& o) {
  sub.add_option("--input", o.input, "tokens of a prompt: 1024, uniform:1024:0.5 or lognormal:1024:0.8")
      ->capture_default_str();
  sub.add_option("--output", o.output, "tokens of an answer, likewise")->capture_default_str();
  sub.add_option("--prefixes", o.prefixes, "different beginnings that prompts share");
  sub.add_option("--prefix-tokens", o.prefix_tokens, "... and their length");
  sub.add_option("--seed", o.seed, "the same seed gives the same result")->capture_default_str();
}

void add_plan_serve(CLI::App& plan, PlanServeOptions& o, Command& chosen) {
  CLI::App* serve =
      plan.add_subcommand("serve", "the cheapest deployment that meets its objectives, and how to start it");
  serve->add_option("MODEL", o.model, "a model's name (`tilecast models`), a Hugging Face config.json or its folder")
      ->required();
  serve->add_option("--slo", o.slo, "objectives: ttft=500ms,tpot=30ms,e2el=10s")->required();
  serve->add_option("--slo-at", o.slo_at, "of the requests' times: mean, median, p90 or p99")->capture_default_str();
  serve->add_option("--rate", o.rate, "requests a second")->check(above_zero)->required();
  add_load_options(*serve, o);
  serve->add_option("--gpus", o.gpus, "which, and how many at most: H100-SXM,16xB200 (default: those with a price)");
  serve->add_option("--max-gpus", o.max_gpus, "of each kind, where --gpus does not say")->capture_default_str();
  serve->add_option("--budget", o.budget, "dollars an hour at most")->check(above_zero);
  serve->add_option("--price", o.price, "dollars for a GPU and hour, in place of the table's")->check(above_zero);
  serve->add_option("--prices", o.prices, "a price table of your own (columns gpu, usd_per_hour)");
  serve->add_option("--engine", o.engines, "vllm, sglang, trtllm (default: all)");
  serve->add_option("--dtype", o.dtype, "number formats (default: the checkpoint's, and fp8 where the GPU has it)");
  serve->add_option("--kv-dtype", o.kv_dtype, "auto or fp8: the cache");
  serve->add_option("--max-model-len", o.context_limit, "longest prompt and answer (default: the model's)")
      ->check(above_zero);
  serve->add_flag("--aggregated", o.only_aggregated, "prompts and answers together only");
  serve->add_flag("--disaggregated", o.only_disaggregated, "pools of their own only");
  serve->add_option("--num-prompts", o.requests, "of each simulation (default: 30 seconds' worth, 300 to 3000)")
      ->check(above_zero);
  serve->add_option("--method", o.method, "tilecast, analytic or roofline")->capture_default_str();
  serve->add_option("--weights", o.weights, "weights of `tilecast train` in place of the shipped ones");
  serve->add_flag("--json", o.json, "machine-readable output (docs/json.md)");
  serve->footer("Example:\n  tilecast plan serve Llama-3.1-8B --slo ttft=500ms,tpot=30ms --rate 20");
  serve->callback([&] { chosen = [&o] { return run_plan_serve(o); }; });
}

}  // namespace

void add_plan_commands(CLI::App& app, PlanOptions& o, PlanServeOptions& serve, Command& chosen) {
  CLI::App* plan = app.add_subcommand("plan", "search for the best way to run a model on many GPUs");
  plan->require_subcommand(1);
  add_plan_serve(*plan, serve, chosen);
  CLI::App* train = plan->add_subcommand("train", "every way to spread a training step, ranked, and what it costs");
  train->add_option("MODEL", o.predict.model, "a model's name, or a Hugging Face config.json")->required();
  train->add_option("--gpus", o.gpus, "how many of which: 64xH100-SXM")->required();
  train->add_option("--global-batch", o.global_batch, "sequences of a step")->check(above_zero)->required();
  train->add_option("--seq", o.predict.seq, "tokens of a sequence")->required();
  train->add_option("--dtype", o.predict.dtypes, "number format of the products (default bf16)");
  train->add_option("--engine", o.predict.engines, "pytorch, compile or cudagraph (default: one fused kernel each)");
  o.predict.mixed = "master";
  train->add_option("--mixed", o.predict.mixed, "none, autocast or master (fp32 copy in the optimizer)")
      ->capture_default_str();
  train->add_option("--optimizer", o.predict.optimizer, "adamw, adam or sgd")->capture_default_str();
  train->add_option("--tokens", o.tokens, "of the whole training, for its cost")->capture_default_str();
  train->add_option("--price", o.price, "dollars for a GPU and hour, in place of the table's")->check(above_zero);
  train->add_option("--prices", o.prices, "a price table of your own (columns gpu, usd_per_hour)");
  train->add_option("--top", o.top, "layouts to show")->capture_default_str();
  train->add_option("--method", o.predict.method, "tilecast, analytic or roofline")->capture_default_str();
  train->add_option("--weights", o.predict.weights, "weights of `tilecast train` in place of the shipped ones");
  train->add_flag("--json", o.predict.json, "machine-readable output (docs/json.md)");
  train->footer("Example:\n  tilecast plan train Llama-3.1-70B --gpus 64xH100-SXM --global-batch 512 --seq 4096");
  train->callback([&] { chosen = [&o] { return run_plan_train(o); }; });
}

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

void add_simulate_command(CLI::App& app, SimulateOptions& o, Command& chosen) {
  CLI::App* sub = app.add_subcommand("simulate", "serve requests: TTFT, TPOT, throughput of an engine under load");
  sub->add_option("MODEL", o.model, "a model's name (`tilecast models`), a Hugging Face config.json or its folder")
      ->required();
  sub->add_option("--gpu", o.gpu, "GPU name or description file (default: the cluster's, else H100-SXM)");
  sub->add_option("--engine", o.engine, "vllm, sglang or trtllm")->capture_default_str();
  sub->add_option("--dtype", o.dtype, "number format (default: the checkpoint's)");
  sub->add_option("--kv-dtype", o.kv_dtype, "auto or fp8: the cache");
  sub->add_option("--tp", o.tp, "tensor parallel ranks")->capture_default_str();
  sub->add_option("--pp", o.pp, "pipeline stages")->capture_default_str();
  sub->add_option("--ep", o.ep, "ranks that share the experts out")->capture_default_str();
  sub->add_option(
         "--attention-dp", o.attention_dp,
         "data parallel ranks of one replica, each with requests of its own, that share experts over --ep ranks")
      ->capture_default_str();
  sub->add_option("--cluster", o.cluster, "cluster of the ranks, by name or file (default: the one of this GPU)");
  sub->add_option("--dp", o.dp, "replicas behind a router")->capture_default_str();
  sub->add_option("--router", o.router, "round-robin or least-loaded")->capture_default_str();
  sub->add_option("--num-prompts", o.requests, "requests, how many")->check(above_zero)->capture_default_str();
  sub->add_option("--rate", o.rate, "requests a second (default: all at once)")->check(above_zero);
  sub->add_option("--burstiness", o.burstiness, "1 is Poisson, less is burstier (as vllm bench serve)")
      ->capture_default_str();
  sub->add_option("--concurrency", o.concurrency, "requests in flight at most (closed loop)")->check(above_zero);
  add_load_options(*sub, o);
  sub->add_option("--trace", o.trace, "requests from a CSV or JSON lines file (docs/serving.md)");
  sub->add_option("--gpu-memory-utilization,--mem-fraction-static,--free-gpu-memory-fraction", o.memory_fraction,
                  "the engine's share of memory (default: the engine's)");
  sub->add_option("--max-num-seqs", o.max_sequences, "sequences that run at once (default: the engine's)")
      ->check(above_zero);
  sub->add_option("--max-num-batched-tokens", o.max_tokens, "tokens of a step (default: the engine's)")
      ->check(above_zero);
  sub->add_option("--chunked-prefill-size", o.chunk, "sglang: prompt tokens of a step (default: by the card)")
      ->check(above_zero);
  sub->add_option("--block-size", o.block_tokens, "tokens of a block of the cache (default: the engine's)")
      ->check(above_zero);
  sub->add_option("--max-model-len", o.context_limit, "longest prompt and answer (default: the model's)")
      ->check(above_zero);
  sub->add_flag("--no-prefix-caching", o.no_prefix_cache, "prefixes are computed each time");
  sub->add_flag("--no-chunked-prefill", o.no_chunked_prefill, "prompts are not cut");
  sub->add_flag("--chunked-prefill", o.chunked_prefill, "trtllm: prompts are cut");
  sub->add_flag("--no-overlap", o.no_overlap, "steps are planned one after the other (no async scheduling)");
  sub->add_option("--policy", o.policy, "static (batches), or max-utilization (trtllm)");
  sub->add_option("--draft", o.draft, "speculative decoding or MTP: draft tokens a step");
  sub->add_option("--acceptance", o.acceptance, "... probability that a draft token is accepted")
      ->capture_default_str();
  sub->add_option("--draft-cost", o.draft_cost, "... time of a draft token, as a share of a step")
      ->capture_default_str();
  sub->add_option("--prefill-replicas", o.prefill_replicas, "disaggregated: replicas for prompts, --dp for decoding");
  sub->add_option("--prefill-tp", o.prefill_tp, "... tensor parallel ranks of each (default: as --tp)")
      ->check(above_zero);
  sub->add_option("--link", o.link_gb_per_s, "... GB/s between them")->capture_default_str();
  sub->add_option("--link-latency", o.link_us, "... microseconds of a transfer")->capture_default_str();
  sub->add_option("--slo", o.slo, "objectives for goodput: ttft=500ms,tpot=30ms,e2el=10s");
  sub->add_option("--sweep", o.sweep, "several loads: rate=1..32 (doubling), rate=1,2,5 or concurrency=1..256");
  sub->add_option("--requests", o.requests_file, "also write every request to this CSV file");
  sub->add_option("--timeline", o.timeline, "also write a Chrome trace of the steps (opens in Perfetto)");
  sub->add_flag("--no-interval", o.no_interval, "leave out the intervals, which take two more runs");
  sub->add_option("--method", o.method, "tilecast, analytic (nothing learned) or roofline")->capture_default_str();
  sub->add_option("--weights", o.weights, "weights of `tilecast train` in place of the shipped ones");
  sub->add_flag("--json", o.json, "machine-readable output (docs/json.md)");
  sub->footer(
      "Example:\n  tilecast simulate Llama-3.1-8B --gpu H100-SXM --rate 10 --input 1024 --output 256\n\nMore "
      "examples:\n"
      "  tilecast simulate Llama-3.1-8B --gpu H100-SXM --sweep rate=1..32 --slo ttft=500ms,tpot=30ms\n"
      "  tilecast simulate Qwen3-8B --engine sglang --gpu A100-SXM-80GB --concurrency 64 --prefixes 4 --prefix-tokens "
      "512\n"
      "  tilecast simulate Llama-3.1-8B --gpu L40S --trace requests.csv --requests out.csv --timeline out.json");
  sub->callback([&] { chosen = [&o] { return run_simulate(o); }; });
}

}  // namespace tilecast
