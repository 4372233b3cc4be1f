// The arguments of plans.
#include "api/serving_fleet.h"
#include "api/serving_requests.h"
#include "api/serving_text.h"
#include "api/train_arguments.h"
#include "tilecast/plan.h"

namespace tilecast {
namespace {

// Ten thousand times what the longest training so far took.
constexpr double kMostTrainingTokens = 1e18;
constexpr double kLeastDays = 1e-3, kMostDays = 1e5, kMostHours = 1e12, kMostMinutes = 1e8;
constexpr double kMostTrainingDollars = 1e15;
constexpr double kLeastDollars = 1e-6, kMostDollars = 1e9, kMostPrice = 1e6;  // an hour

void add_prices(Declare& list, std::optional<double>& price, std::string& prices) {
  list.add(price, {.name = "price",
                   .help = "dollars per GPU and hour, instead of the bundled price",
                   .unit = "$/h",
                   .example = "2.5",
                   .least = kLeastDollars,
                   .most = kMostPrice});
  list.add(prices, {.name = "prices",
                    .help = "prices of your own: H200-SXM=3.1,B200=5, or a table with columns gpu and usd_per_hour",
                    .example = "H200-SXM=3.1,B200=5",
                    .touches = Touches::prices});
}

// What may be rented, and how it may be set up.
void add_choices(Declare& list, PlanServeQuery& q) {
  list.add(
      q.gpus,
      {.name = "gpus",
       .help =
           "GPUs to choose from, and how many at most: H100-SXM,16xB200 (default: those with a price and a cluster)",
       .example = "H100-SXM,16xB200",
       .touches = Touches::gpus});
  list.add(q.max_gpus, {.name = "max-gpus",
                        .help = "GPUs of each kind at most, where --gpus does not say",
                        .example = "16",
                        .least = 1,
                        .most = 4096});
  list.add(q.budget, {.name = "budget",
                      .help = "dollars an hour at most",
                      .unit = "$/h",
                      .example = "20",
                      .least = kLeastDollars,
                      .most = kMostDollars});
  add_prices(list, q.price, q.prices);
  list.add(q.engines, {.name = "engine", .help = "vllm, sglang, trtllm (default: all)", .example = "vllm,sglang"});
  list.add(q.dtypes, {.name = "dtype",
                      .help = "number formats (default: the checkpoint's, and fp8 where the GPU has it)",
                      .example = "bf16,fp8"});
  list.add(q.kv_dtype,
           {.name = "kv-dtype", .help = "number format of the KV cache", .example = "fp8", .choices = {"auto", "fp8"}});
  list.add(q.layouts,
           {.name = "layout",
            .help = "layouts of a replica to try: 1, tp4, tp8pp2, tp8ep8, dp8ep8 (default: all that make sense)",
            .example = "tp2,tp4"});
  declare_context_limit(list, q.context_limit);
  list.add(q.aggregated, {.name = "aggregated", .help = "only deployments that serve prompts and answers together"});
  list.add(q.disaggregated,
           {.name = "disaggregated", .help = "only deployments with separate pools for prompts and answers"});
}

// The training from its first step to its last.
void add_whole_run(Declare& list, PlanTrainQuery& q) {
  list.add(q.deadline, {.name = "deadline",
                        .help = "finish within so many days; where no number of GPUs is given, the fewest of 1, 2, 3, "
                                "4, 6, 8, 12 ... nodes that do",
                        .unit = "days",
                        .example = "30",
                        .least = kLeastDays,
                        .most = kMostDays});
  list.add(q.budget, {.name = "budget",
                      .help = "spend at most so much; where no number of GPUs is given, the most of such nodes that do",
                      .unit = "$",
                      .example = "2e6",
                      .least = kLeastDollars,
                      .most = kMostTrainingDollars});
  list.add(q.gpu_mtbf, {.name = "gpu-mtbf",
                        .help = "mean time between failures of one GPU and what is around it; 0: nothing fails "
                                "(default: Llama 3's, 50.7 thousand)",
                        .unit = "hours",
                        .example = "30000",
                        .least = 0,
                        .most = kMostHours});
  list.add(q.restart, {.name = "restart",
                       .help = "from a failure to the next useful step (default 10)",
                       .unit = "minutes",
                       .example = "20",
                       .least = 0,
                       .most = kMostMinutes});
  list.add(q.storage, {.name = "storage",
                       .help = "rate at which all GPUs together write a checkpoint (default 0.08 each)",
                       .unit = "GB/s",
                       .example = "100",
                       .least = 1e-6,
                       .most = 1e9});
  list.add(q.checkpoint_interval, {.name = "checkpoint-interval",
                                   .help = "work between two checkpoints (default: what loses least)",
                                   .unit = "minutes",
                                   .example = "60",
                                   .least = 1e-3,
                                   .most = kMostMinutes});
  list.add(q.scaling, {.name = "scaling", .help = "also how the training goes on fewer and on more GPUs"});
}

}  // namespace

std::vector<BoundArgument> arguments_of(PlanServeQuery& q) {
  Declare list;
  declare_served_model(list, q.model);
  list.add(q.objective,
           {.name = "objective",
            .help = "cost at a rate, load on the GPUs given, throughput of a GPU without an SLO, or energy",
            .example = "load"});
  list.add(q.slo, {.name = "slo",
                   .help = "objectives: ttft=500ms,tpot=30ms,e2el=10s (cost and load need one)",
                   .example = "ttft=500ms,tpot=30ms"});
  list.add(q.slo_at,
           {.name = "slo-at", .help = "statistic of the requests' times that must meet the SLO", .example = "p99"});
  list.add(q.min_chance, {.name = "min-chance",
                          .help = "least chance of meeting the SLO, by the forecast's interval",
                          .example = "0.8",
                          .least = 0,
                          .most = 0.999});
  list.add(q.routing,
           {.name = "routing",
            .help = "of tokens to experts: uniform, power:1.2 (default), or counts:FILE, visits of each expert",
            .example = "uniform",
            .touches = Touches::counts});
  list.add(q.load.rate, {.name = "rate",
                         .help = "requests a second (cost and energy need one)",
                         .unit = "requests/s",
                         .example = "20",
                         .least = kLeastRate,
                         .most = 1e6});
  declare_load(list, q.load);
  list.add(q.burstiness, {.name = "burstiness",
                          .help = "1 is Poisson, less is burstier (as vllm bench serve)",
                          .example = "0.5",
                          .least = 1e-6,
                          .most = 1e6,
                          .scopes = {kNoTrace}});
  list.add(q.trace, {.name = "trace",
                     .help = "requests from a CSV or JSON lines file (docs/serving.md); without a rate, at its own",
                     .example = "requests.csv",
                     .touches = Touches::file});
  declare_requests(list, q.requests);
  declare_drafts(list, q.drafts);
  list.add(q.router,
           {.name = "router", .help = "how requests are spread over the replicas", .example = "least-loaded"});
  declare_prefix_router(list, q.fleet);
  declare_rank_variants(list, q.fleet);
  declare_offload(list, q.fleet);
  add_choices(list, q);
  list.add(q.num_prompts, {.name = "num-prompts",
                           .help = "requests per simulation, all of them counted (default: as many as a load that "
                                   "goes on needs; of a trace the busiest 5000)",
                           .example = "300",
                           .least = 1,
                           .most = 1e6});
  list.add(q.pictures,
           {.name = "pictures",
            .help = "JSON: also what drawings show: the Pareto front, latency against load and the run over "
                    "time, which takes more simulations"});
  declare_method(list, q.method, q.weights);
  return list.take();
}

std::vector<BoundArgument> arguments_of(PlanTrainQuery& q) {
  Declare list;
  declare_served_model(list, q.model);
  list.add(q.gpus, {.name = "gpus",
                    .help = "how many of which GPU: 64xH100-SXM; with a deadline or a budget also H100-SXM",
                    .example = "64xH100-SXM",
                    .required = true,
                    .touches = Touches::gpus});
  list.add(q.global_batch, {.name = "global-batch",
                            .help = "sequences per step",
                            .example = "512",
                            .least = 1,
                            .most = kMostCount,
                            .required = true});
  list.add(q.seq, {.name = "seq",
                   .help = "tokens per sequence",
                   .unit = "tokens",
                   .example = "4096",
                   .least = 0,
                   .most = kMostCount,
                   .required = true});
  list.add(q.dtype, {.name = "dtype", .help = "number format of the products (default bf16)", .example = "fp8"});
  list.add(q.framework, {.name = "framework",
                         .help = "whose way of training gives the defaults (docs/parallel.md)",
                         .example = "megatron"});
  list.add(q.engine, {.name = "engine",
                      .help = "who launches kernels; cudagraph: one fused kernel per operator",
                      .example = "pytorch",
                      .fallback = "cudagraph"});
  list.add(q.attention, {.name = "attention",
                         .help = "attention kernel; fused is PyTorch's choice for the card",
                         .example = "flash2",
                         .fallback = "fused"});
  list.add(q.mixed, {.name = "mixed",
                     .help = "mixed precision; autocast keeps parameters in fp32, master an fp32 copy in the optimizer",
                     .example = "autocast",
                     .fallback = "master"});
  declare_training(list, q.train, {});
  list.add(q.optimizer, {.name = "optimizer", .help = "which optimizer", .example = "sgd"});
  list.add(q.tokens, {.name = "tokens",
                      .help = "tokens of the whole training, for its time and cost",
                      .unit = "tokens",
                      .example = "15T",
                      .least = 1,
                      .most = kMostTrainingTokens});
  add_prices(list, q.price, q.prices);
  add_whole_run(list, q);
  list.add(q.top, {.name = "top", .help = "layouts to show", .example = "5", .least = 1, .most = kMostCount});
  declare_method(list, q.method, q.weights);
  return list.take();
}

}  // namespace tilecast
