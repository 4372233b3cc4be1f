// The arguments of plans.
#include "api/serving_text.h"
#include "tilecast/plan.h"

namespace tilecast {
namespace {

// Ten thousand times what the longest training so far took.
constexpr double kMostTrainingTokens = 1e18;
constexpr double kLeastDollars = 1e-6, kMostDollars = 1e9, kMostPrice = 1e6;  // an hour

void add_model(Declare& list, std::string& model) {
  list.add(model, {.name = "model",
                   .help = "a model's name (`tilecast models`), a Hugging Face config.json or its folder",
                   .example = "Llama-3.1-8B",
                   .required = true,
                   .positional = true});
}

void add_prices(Declare& list, std::optional<double>& price, std::string& prices) {
  list.add(price, {.name = "price",
                   .help = "dollars for a GPU and hour, in place of the table's",
                   .unit = "$/h",
                   .example = "2.5",
                   .least = kLeastDollars,
                   .most = kMostPrice});
  list.add(prices, {.name = "prices",
                    .help = "your own, H200-SXM=3.1,B200=5, or a table (columns gpu, usd_per_hour)",
                    .example = "H200-SXM=3.1,B200=5"});
}

void add_method(Declare& list, Method& method, std::string& weights) {
  list.add(method, {.name = "method",
                    .help = "how steps are forecast; analytic: nothing learned",
                    .example = "analytic",
                    .choices = {"tilecast", "analytic", "roofline"}});
  list.add(weights, {.name = "weights",
                     .help = "weights of `tilecast-lab train` in place of the shipped ones",
                     .example = "my.weights"});
}

// What may be rented, and how it may be set up.
void add_choices(Declare& list, PlanServeQuery& q) {
  list.add(q.gpus, {.name = "gpus",
                    .help = "which, and how many at most: H100-SXM,16xB200 (default: those with a price and a cluster)",
                    .example = "H100-SXM,16xB200"});
  list.add(q.max_gpus, {.name = "max-gpus",
                        .help = "of each kind, where the list of GPUs does not say",
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
  list.add(q.kv_dtype, {.name = "kv-dtype", .help = "the cache", .example = "fp8", .choices = {"auto", "fp8"}});
  list.add(q.layouts, {.name = "layout",
                       .help = "of a replica: 1, tp4, tp8pp2, tp8ep8, dp8ep8 (default: all that make sense)",
                       .example = "tp2,tp4"});
  list.add(q.context_limit, {.name = "max-model-len",
                             .help = "longest prompt and answer (default: the model's)",
                             .unit = "tokens",
                             .example = "8192",
                             .least = 1,
                             .most = kMostCount});
  list.add(q.aggregated, {.name = "aggregated", .help = "prompts and answers together only"});
  list.add(q.disaggregated, {.name = "disaggregated", .help = "pools of their own only"});
}

}  // namespace

std::vector<BoundArgument> arguments_of(PlanServeQuery& q) {
  Declare list;
  add_model(list, q.model);
  list.add(q.objective,
           {.name = "objective",
            .help = "cost at a rate, load on the GPUs given, throughput of a GPU without an SLO, or energy",
            .example = "load"});
  list.add(q.slo, {.name = "slo",
                   .help = "objectives: ttft=500ms,tpot=30ms,e2el=10s (cost and load need one)",
                   .example = "ttft=500ms,tpot=30ms"});
  list.add(q.slo_at, {.name = "slo-at", .help = "of the requests' times", .example = "p99"});
  list.add(q.min_chance, {.name = "min-chance",
                          .help = "least chance of meeting the SLO, by the forecast's interval",
                          .example = "0.8",
                          .least = 0,
                          .most = 0.999});
  list.add(q.routing, {.name = "routing",
                       .help = "of tokens to experts: uniform, power:1.2 (default), or counts:FILE, visits of each expert",
                       .example = "uniform"});
  list.add(q.load.rate, {.name = "rate",
                         .help = "requests a second (cost and energy need one)",
                         .example = "20",
                         .least = kLeastRate,
                         .most = 1e6});
  declare_load(list, q.load);
  add_choices(list, q);
  list.add(q.num_prompts, {.name = "num-prompts",
                           .help = "of each simulation (default: 30 seconds' worth, 300 to 3000)",
                           .example = "300",
                           .least = 1,
                           .most = 1e6});
  add_method(list, q.method, q.weights);
  return list.take();
}

std::vector<BoundArgument> arguments_of(PlanTrainQuery& q) {
  Declare list;
  add_model(list, q.model);
  list.add(q.gpus,
           {.name = "gpus", .help = "how many of which: 64xH100-SXM", .example = "64xH100-SXM", .required = true});
  list.add(q.global_batch, {.name = "global-batch",
                            .help = "sequences of a step",
                            .example = "512",
                            .least = 1,
                            .most = kMostCount,
                            .required = true});
  list.add(q.seq, {.name = "seq",
                   .help = "tokens of a sequence",
                   .unit = "tokens",
                   .example = "4096",
                   .least = 0,
                   .most = kMostCount,
                   .required = true});
  list.add(q.dtype, {.name = "dtype", .help = "number format of the products (default bf16)", .example = "fp8"});
  list.add(q.engine,
           {.name = "engine", .help = "who launches kernels; cudagraph: one fused kernel each", .example = "pytorch"});
  list.add(q.attention, {.name = "attention",
                         .help = "whose kernel (fused: PyTorch's choice on the card), or eager",
                         .example = "flash2"});
  list.add(q.mixed, {.name = "mixed",
                     .help = "none (one format), autocast (fp32 parameters) or master (fp32 copy in the optimizer)",
                     .example = "autocast"});
  list.add(q.optimizer, {.name = "optimizer", .help = "which updates the parameters", .example = "sgd"});
  list.add(q.tokens, {.name = "tokens",
                      .help = "of the whole training, for its cost: 1e12, 15T",
                      .unit = "tokens",
                      .example = "15T",
                      .least = 1,
                      .most = kMostTrainingTokens});
  add_prices(list, q.price, q.prices);
  list.add(q.top, {.name = "top", .help = "layouts to show", .example = "5", .least = 1, .most = kMostCount});
  add_method(list, q.method, q.weights);
  return list.take();
}

}  // namespace tilecast
