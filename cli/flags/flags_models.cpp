// Flags of models on one GPU and many, of plans and serving.
#include <CLI/CLI.hpp>

#include "cli/flags/arguments.h"
#include "cli/flags/flags.h"
#include "support/number.h"
#include "tilecast/model.h"

namespace tilecast {

namespace {

// For a figure whose absence means something of its own (no limit, the engine's choice): zero must not pass for that.
std::string above_zero(const std::string& value) {
  const auto number = finite_number(value);
  return number && !(*number > 0) ? "must be above 0, not " + value : std::string();
}

// What `predict` and `memory` ask one by one.
void add_lists(CLI::App& sub, StepLists& lists) {
  sub.add_option("--gpu", lists.gpus, "GPU names or description files, comma separated")->delimiter(',');
  sub.add_option("--dtype", lists.dtypes, "number formats, comma separated (default: the checkpoint's)")->delimiter(',');
  sub.add_option("--engine", lists.engines,
                 "pytorch (eager), compile, cudagraph, vllm, sglang, trtllm, comma separated (default: vllm where the "
                 "model generates, else pytorch)")
      ->delimiter(',');
  sub.add_option("--cluster", lists.clusters, "clusters by name (`tilecast clusters`) or file (docs/clusters.md)")
      ->delimiter(',')
      ->group("Many GPUs");
}
const std::vector<std::string> kLists = {"gpu", "dtype", "engine", "cluster"};

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

void add_model_commands(CLI::App& app, ModelCommandOptions& options, Command& chosen) {
  PredictOptions& p = options.predict;
  CLI::App* predict = app.add_subcommand("predict", step_question().summary);
  add_arguments(*predict, arguments_of(p.query), p.refusal, kLists);
  add_lists(*predict, p.lists);
  predict->add_option("--export-chakra", p.chakra, "also write execution traces for ASTRA-sim there (docs/chakra.md)")
      ->group("Many GPUs");
  predict->add_flag("--compare", p.compare, "classes of operators side by side");
  predict->add_flag("--kernels", p.kernels, "every kernel of the step");
  predict->add_option("--trace", p.trace,
                      "also write a Chrome trace (opens in Perfetto); with --cluster, one lane a pipeline rank");
  predict->add_flag("--json", p.json, "machine-readable output (docs/json.md)");
  predict->footer(examples_text(step_question()));
  predict->callback([&] { chosen = answered(p.refusal, [&p] { return run_predict(p); }); });

  MemoryOptions& m = options.memory;
  CLI::App* memory = app.add_subcommand("memory", memory_question().summary);
  add_arguments(*memory, arguments_of(m.query), m.refusal, kLists);
  add_lists(*memory, m.lists);
  memory->add_flag("--json", m.json, "machine-readable output (docs/json.md)");
  memory->footer(examples_text(memory_question()));
  memory->callback([&] { chosen = answered(m.refusal, [&m] { return run_memory(m); }); });

  ModelsOptions& list = options.models;
  CLI::App* models = app.add_subcommand("models", models_question().summary);
  models->add_flag("--json", list.json, "machine-readable output");
  models->add_flag("--classes", list.classes, "the classes whose config.json is understood, instead");
  models->footer(examples_text(models_question()));
  models->callback([&] { chosen = [&list] { return run_models(list); }; });
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
