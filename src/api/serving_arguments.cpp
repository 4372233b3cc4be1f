// The arguments of a simulation.
#include "api/serving_requests.h"
#include "api/serving_fleet.h"
#include "api/serving_text.h"
#include "tilecast/serving.h"

namespace tilecast {
namespace {

constexpr double kMostServingRanks = 1024;

void add_deployment(Declare& list, SimulateQuery& q) {
  list.add(q.model, {.name = "model",
                     .help = "a model's name (`tilecast models`), a Hugging Face config.json or its folder",
                     .example = "Llama-3.1-8B",
                     .required = true,
                     .positional = true});
  list.add(q.gpu, {.name = "gpu",
                   .help = "GPU name or description file (default: the cluster's, else H100-SXM)",
                   .example = "H100-SXM"});
  list.add(q.engine, {.name = "engine", .help = "who serves", .example = "sglang"});
  list.add(q.dtype, {.name = "dtype",
                     .help = "number format (default: the checkpoint's), by part where parts differ",
                     .example = "experts=mxfp4,attention=bf16"});
  list.add(q.kv_dtype, {.name = "kv-dtype", .help = "the cache", .example = "fp8"});
  list.add(q.routing, {.name = "routing",
                       .help = "of tokens to experts: uniform, power:1.2 (default), or counts:FILE, visits of each expert",
                       .example = "uniform"});
  list.add(q.tp, {.name = "tp", .help = "tensor parallel ranks", .example = "2", .least = 1, .most = kMostServingRanks});
  list.add(q.pp, {.name = "pp", .help = "pipeline stages", .example = "2", .least = 1, .most = kMostServingRanks});
  list.add(q.ep,
           {.name = "ep", .help = "ranks that share the experts out", .example = "8", .least = 1, .most = kMostServingRanks});
  list.add(q.attention_dp,
           {.name = "attention-dp",
            .help = "data parallel ranks of one replica, each with requests of its own, that share experts over the "
                    "ranks of ep",
            .example = "8",
            .least = 1,
            .most = kMostServingRanks});
  list.add(q.cluster, {.name = "cluster",
                       .help = "cluster of the ranks, by name or file (default: the one of this GPU)",
                       .example = "hgx-h100"});
  list.add(q.dp, {.name = "dp", .help = "replicas behind a router", .example = "4", .least = 1, .most = kMostCount});
  list.add(q.router, {.name = "router", .help = "which of them a request goes to", .example = "least-loaded"});
}

void add_load(Declare& list, SimulateQuery& q) {
  list.add(q.num_prompts,
           {.name = "num-prompts", .help = "requests, how many", .example = "1000", .least = 1, .most = 1e7});
  list.add(q.load.rate, {.name = "rate",
                         .help = "requests a second (default: all at once)",
                         .example = "10",
                         .least = kLeastRate,
                         .most = kMostRate});
  list.add(q.burstiness, {.name = "burstiness",
                          .help = "1 is Poisson, less is burstier (as vllm bench serve)",
                          .example = "0.5",
                          .least = 1e-6,
                          .most = 1e6});
  list.add(q.concurrency, {.name = "concurrency",
                           .help = "requests in flight at most (closed loop)",
                           .example = "64",
                           .least = 1,
                           .most = kMostCount});
  declare_load(list, q.load);
  list.add(
      q.trace,
      {.name = "trace", .help = "requests from a CSV or JSON lines file (docs/serving.md)", .example = "requests.csv"});
}

void add_limits(Declare& list, SimulateQuery& q) {
  list.add(q.memory_fraction, {.name = "gpu-memory-utilization",
                               .help = "the engine's share of memory (default: the engine's)",
                               .example = "0.9",
                               .least = 1e-6,
                               .most = 1,
                               .aliases = {"mem-fraction-static", "free-gpu-memory-fraction"}});
  list.add(q.max_sequences, {.name = "max-num-seqs",
                             .help = "sequences that run at once (default: the engine's)",
                             .example = "256",
                             .least = 1,
                             .most = kMostCount});
  list.add(q.max_tokens, {.name = "max-num-batched-tokens",
                          .help = "tokens of a step (default: the engine's)",
                          .unit = "tokens",
                          .example = "8192",
                          .least = 1,
                          .most = kMostCount});
  list.add(q.chunk, {.name = "chunked-prefill-size",
                     .help = "sglang: prompt tokens of a step (default: by the card)",
                     .unit = "tokens",
                     .example = "8192",
                     .least = 1,
                     .most = kMostCount});
  list.add(q.block_tokens, {.name = "block-size",
                            .help = "tokens of a block of the cache (default: the engine's)",
                            .unit = "tokens",
                            .example = "16",
                            .least = 1,
                            .most = 65536});
  list.add(q.context_limit, {.name = "max-model-len",
                             .help = "longest prompt and answer (default: the model's)",
                             .unit = "tokens",
                             .example = "8192",
                             .least = 1,
                             .most = kMostCount});
}

void add_scheduling(Declare& list, SimulateQuery& q) {
  list.add(q.no_prefix_caching, {.name = "no-prefix-caching", .help = "prefixes are computed each time"});
  list.add(q.no_chunked_prefill, {.name = "no-chunked-prefill", .help = "prompts are not cut"});
  list.add(q.chunked_prefill, {.name = "chunked-prefill", .help = "trtllm: prompts are cut"});
  list.add(q.mixed_chunk, {.name = "enable-mixed-chunk", .help = "sglang: answers run in the prompts' steps"});
  list.add(q.receive_steps, {.name = "scheduler-recv-interval",
                             .help = "sglang: steps of answers between two looks for new requests (default 1)",
                             .example = "10",
                             .least = 1,
                             .most = kMostCount});
  list.add(q.most_captured, {.name = "max-cudagraph-capture-size",
                             .help = "vllm, sglang: largest batch with a captured graph (default: the engine's)",
                             .unit = "tokens",
                             .example = "2048",
                             .least = 1,
                             .most = 65536,
                             .aliases = {"cuda-graph-max-bs"}});
  list.add(q.no_overlap, {.name = "no-overlap", .help = "steps are planned one after the other (no async scheduling)"});
  list.add(q.policy, {.name = "policy",
                      .help = "the engine's own, static (batches), or max-utilization (trtllm)",
                      .example = "static"});
  list.add(q.draft, {.name = "draft",
                     .help = "speculative decoding or MTP: draft tokens a step",
                     .unit = "tokens",
                     .example = "4",
                     .least = 0,
                     .most = 64});
  declare_acceptance(list, q);
  list.add(q.draft_cost, {.name = "draft-cost",
                          .help = "... time of a draft token, as a share of a step",
                          .example = "0.05",
                          .least = 0,
                          .most = 10});
  declare_requests(list, q);
}

void add_pools(Declare& list, SimulateQuery& q) {
  list.add(q.prefill_replicas, {.name = "prefill-replicas",
                                .help = "disaggregated: replicas for prompts; those of dp decode",
                                .example = "1",
                                .least = 0,
                                .most = kMostCount});
  list.add(q.prefill_tp, {.name = "prefill-tp",
                          .help = "... tensor parallel ranks of each (default: as tp)",
                          .example = "2",
                          .least = 1,
                          .most = kMostServingRanks});
  list.add(
      q.link_gb_per_s,
      {.name = "link", .help = "... rate between them", .unit = "GB/s", .example = "50", .least = 1e-6, .most = 1e6});
  list.add(q.link_us, {.name = "link-latency",
                       .help = "... time of an empty transfer",
                       .unit = "µs",
                       .example = "20",
                       .least = 0,
                       .most = 1e9});
  declare_pool_layouts(list, q.fleet);
}

}  // namespace

const Question& simulate_question() {
  static const Question question = {
      "simulate",
      "serve requests: TTFT, TPOT, throughput of an engine under load",
      {"simulate Llama-3.1-8B --gpu H100-SXM --rate 10 --input 1024 --output 256",
       "simulate Llama-3.1-8B --gpu H100-SXM --sweep rate=1..32 --slo ttft=500ms,tpot=30ms",
       "simulate Qwen3-8B --engine sglang --gpu A100-SXM-80GB --concurrency 64 --prefixes 4 --prefix-tokens 512",
       "simulate Llama-3.1-8B --turns 6 --think-time 15s --rate 1 --prefixes 1 --prefix-tokens 800",
       "simulate Llama-3.1-8B --gpu L40S --trace requests.csv --requests out.csv --timeline out.json"}};
  return question;
}

std::vector<BoundArgument> arguments_of(SimulateQuery& q) {
  Declare list;
  add_deployment(list, q);
  add_load(list, q);
  add_limits(list, q);
  add_scheduling(list, q);
  add_pools(list, q);
  declare_fleet(list, q.fleet);
  list.add(q.slo, {.name = "slo",
                   .help = "objectives for goodput: ttft=500ms,tpot=30ms,e2el=10s",
                   .example = "ttft=500ms,tpot=30ms"});
  list.add(q.sweep, {.name = "sweep",
                     .help = "several loads: rate=1..32 (doubling), rate=1,2,5 or concurrency=1..256",
                     .example = "rate=1..32"});
  list.add(q.no_interval, {.name = "no-interval", .help = "leave out the intervals, which take two more runs"});
  list.add(q.method, {.name = "method",
                      .help = "how steps are forecast; analytic: nothing learned",
                      .example = "analytic",
                      .choices = {"tilecast", "analytic", "roofline"}});
  list.add(q.weights, {.name = "weights", .help = "weights of `tilecast-lab train` in place of the shipped ones",
                       .example = "my.weights"});
  return list.take();
}

}  // namespace tilecast
