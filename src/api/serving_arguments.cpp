// The arguments of a simulation.
#include "api/serving_fleet.h"
#include "api/serving_requests.h"
#include "api/serving_text.h"
#include "tilecast/serving.h"

namespace tilecast {
namespace {

constexpr double kMostServingRanks = 1024;
constexpr double kMostListedSteps = 5000;  // half a megabyte of JSON

const Scope kSglang{"engine", {"sglang"}}, kPrompts{"prefill-replicas"};

void add_deployment(Declare& list, SimulateQuery& q) {
  declare_served_model(list, q.model);
  list.add(q.gpu, {.name = "gpu",
                   .help = "GPU name or description file (default: the cluster's)",
                   .example = "H100-SXM",
                   .touches = Touches::gpu});
  list.add(q.engine, {.name = "engine", .help = "serving engine", .example = "sglang"});
  list.add(q.dtype, {.name = "dtype",
                     .help = "number format (default: the checkpoint's), by part where parts differ",
                     .example = "experts=mxfp4,attention=bf16"});
  list.add(q.kv_dtype, {.name = "kv-dtype", .help = "number format of the KV cache", .example = "fp8"});
  list.add(q.routing,
           {.name = "routing",
            .help = "how tokens spread over experts: uniform, power:A (default 1.2; their loads drawn from a "
                    "density x^-A, AIConfigurator's: a larger A is not always more skew), or counts:FILE "
                    "with the visits of each expert",
            .example = "uniform",
            .scopes = {{"experts", {"yes"}, "has no effect: the model has no experts", "leave it out"}},
            .touches = Touches::counts});
  list.add(q.tp,
           {.name = "tp", .help = "tensor parallel ranks", .example = "2", .least = 1, .most = kMostServingRanks});
  list.add(q.pp, {.name = "pp", .help = "pipeline stages", .example = "2", .least = 1, .most = kMostServingRanks});
  list.add(
      q.ep,
      {.name = "ep", .help = "ranks that share the experts", .example = "8", .least = 1, .most = kMostServingRanks});
  list.add(q.attention_dp,
           {.name = "attention-dp",
            .help = "data parallel ranks of one replica, each with requests of its own, that share experts over the "
                    "ranks of ep",
            .example = "8",
            .least = 1,
            .most = kMostServingRanks});
  list.add(q.cluster, {.name = "cluster",
                       .help = "cluster of the ranks, by name or file (default: the one of this GPU)",
                       .example = "hgx-h100",
                       .touches = Touches::cluster});
  list.add(q.dp, {.name = "dp", .help = "replicas behind a router", .example = "4", .least = 1, .most = kMostCount});
  list.add(q.router, {.name = "router",
                      .help = "how requests are spread over the replicas",
                      .example = "least-loaded",
                      .scopes = {{"copies", {"many"}, "has no effect with one replica", "give dp, or leave it out"}}});
}

void add_load(Declare& list, SimulateQuery& q) {
  list.add(q.num_prompts, {.name = "num-prompts",
                           .help = "number of requests",
                           .example = "1000",
                           .least = 1,
                           .most = 1e7,
                           .scopes = {kNoTrace}});
  list.add(q.load.rate, {.name = "rate",
                         .help = "requests a second (default: all at once)",
                         .unit = "requests/s",
                         .example = "10",
                         .least = kLeastRate,
                         .most = kMostRate});
  list.add(q.burstiness,
           {.name = "burstiness",
            .help = "1 is Poisson, less is burstier (as vllm bench serve)",
            .example = "0.5",
            .least = 1e-6,
            .most = 1e6,
            .scopes = {kNoTrace,
                       {"rate", {}, "has no effect where all requests come at once", "give a rate, or leave it out"}}});
  list.add(q.concurrency, {.name = "concurrency",
                           .help = "requests in flight at most (closed loop)",
                           .example = "64",
                           .least = 1,
                           .most = kMostCount});
  declare_load(list, q.load);
  list.add(q.trace, {.name = "trace",
                     .help = "requests from a CSV or JSON lines file (docs/serving.md)",
                     .example = "requests.csv",
                     .touches = Touches::file});
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
                     .most = kMostCount,
                     .scopes = {kSglang}});
  list.add(q.block_tokens, {.name = "block-size",
                            .help = "tokens of a block of the cache (default: the engine's)",
                            .unit = "tokens",
                            .example = "16",
                            .least = 1,
                            .most = 65536});
  declare_context_limit(list, q.context_limit);
}

void add_scheduling(Declare& list, SimulateQuery& q) {
  list.add(q.no_prefix_caching, {.name = "no-prefix-caching", .help = "compute shared prefixes every time"});
  list.add(q.no_chunked_prefill, {.name = "no-chunked-prefill", .help = "do not split prompts over steps"});
  list.add(q.chunked_prefill,
           {.name = "chunked-prefill",
            .help = "trtllm: split prompts over steps",
            .scopes = {{"engine", {"trtllm"}, {}, "vllm and sglang cut prompts by default; leave it out"}}});
  list.add(q.mixed_chunk,
           {.name = "enable-mixed-chunk", .help = "sglang: decode in the steps of prompts", .scopes = {kSglang}});
  list.add(q.receive_steps, {.name = "scheduler-recv-interval",
                             .help = "sglang: decode steps between two checks for new requests (default 1)",
                             .example = "10",
                             .least = 1,
                             .most = kMostCount,
                             .scopes = {kSglang}});
  list.add(q.most_captured, {.name = "max-cudagraph-capture-size",
                             .help = "vllm, sglang: largest batch with a captured graph (default: the engine's)",
                             .unit = "tokens",
                             .example = "2048",
                             .least = 1,
                             .most = 65536,
                             .aliases = {"cuda-graph-max-bs"},
                             .scopes = {{"engine", {"vllm", "sglang"}}}});
  list.add(q.no_overlap, {.name = "no-overlap", .help = "plan a step only after the one before (no async scheduling)"});
  list.add(q.policy, {.name = "policy",
                      .help = "scheduler: the engine's own, static batches, or trtllm's max-utilization",
                      .example = "static"});
  declare_drafts(list, q.drafts);
  declare_requests(list, q.requests);
}

void add_pools(Declare& list, SimulateQuery& q) {
  list.add(q.prefill_replicas, {.name = "prefill-replicas",
                                .help = "disaggregated serving: replicas for prompts, beside the dp that decode",
                                .example = "1",
                                .least = 0,
                                .most = kMostCount});
  list.add(q.prefill_tp, {.name = "prefill-tp",
                          .help = "with prefill-replicas: tensor parallel ranks of each (default: as tp)",
                          .example = "2",
                          .least = 1,
                          .most = kMostServingRanks,
                          .scopes = {kPrompts}});
  list.add(q.link_gb_per_s, {.name = "link",
                             .help = "with prefill-replicas: bandwidth to the decoding ones",
                             .unit = "GB/s",
                             .example = "50",
                             .least = 1e-6,
                             .most = 1e6,
                             .scopes = {kPrompts}});
  list.add(q.link_us, {.name = "link-latency",
                       .help = "with prefill-replicas: latency of a transfer",
                       .unit = "µs",
                       .example = "20",
                       .least = 0,
                       .most = 1e9,
                       .scopes = {kPrompts}});
  declare_pool_layouts(list, q.fleet);
}

}  // namespace

const Question& simulate_question() {
  static const Question question = {
      "simulate",
      "serve requests: TTFT, TPOT, throughput of an engine under load",
      {"simulate Llama-3.1-8B --gpu H100-SXM --rate 10 --input 1024 --output 256",
       "simulate Llama-3.1-8B --gpu H100-SXM --sweep rate=1..32*2 --slo ttft=500ms,tpot=30ms",
       "simulate Qwen3-8B --engine sglang --gpu A100-SXM-80GB --concurrency 64 --prefixes 4 --prefix-tokens 512",
       "simulate Llama-3.1-8B --gpu H100-SXM --turns 6 --think-time 15s --rate 1 --prefixes 1 --prefix-tokens 800",
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
  declare_prefix_router(list, q.fleet);
  declare_autoscale(list, q.fleet);
  declare_rank_variants(list, q.fleet);
  declare_offload(list, q.fleet);
  list.add(q.slo, {.name = "slo",
                   .help = "objectives for goodput: ttft=500ms,tpot=30ms,e2el=10s",
                   .example = "ttft=500ms,tpot=30ms"});
  list.add(q.sweep, {.name = "sweep",
                     .help = "several loads: rate=1..32*2 (doubling), rate=1,2,5 or concurrency=16..256:16",
                     .example = "rate=1..32*2"});
  list.add(q.no_interval, {.name = "no-interval", .help = "leave out the intervals, which take two more runs"});
  const Scope one_load{"sweep", {""}, "has no effect in a sweep, which keeps no steps", "run one load at a time"};
  list.add(q.list_steps, {.name = "list-steps",
                          .help = "JSON: also so many steps one by one, with their batch, the queue and the cache",
                          .example = "500",
                          .least = 0,
                          .most = kMostListedSteps,
                          .scopes = {one_load}});
  list.add(q.list_from, {.name = "list-from",
                         .help = "with list-steps: from this second of the run on",
                         .unit = "s",
                         .example = "10",
                         .least = 0,
                         .most = 1e9,
                         .scopes = {{"list-steps"}, one_load}});
  declare_method(list, q.method, q.weights);
  return list.take();
}

}  // namespace tilecast
