#include <fmt/format.h>

#include <algorithm>

#include "api/chosen_method.h"
#include "api/declare.h"
#include "api/price_lookup.h"
#include "api/serving_deployment.h"
#include "cluster/registry.h"
#include "model/library.h"
#include "parallel/plan.h"
#include "tilecast/plan.h"

namespace tilecast {
namespace {

EngineKind kind_of(TrainingEngine engine) {
  switch (engine) {
    case TrainingEngine::pytorch: return EngineKind::pytorch;
    case TrainingEngine::compile: return EngineKind::compile;
    case TrainingEngine::cudagraph: return EngineKind::cudagraph;
  }
  return EngineKind::cudagraph;
}

OptimizerKind kind_of(TrainingOptimizer optimizer) {
  switch (optimizer) {
    case TrainingOptimizer::adamw: return OptimizerKind::adamw;
    case TrainingOptimizer::adam: return OptimizerKind::adam;
    case TrainingOptimizer::sgd: return OptimizerKind::sgd;
  }
  return OptimizerKind::adamw;
}

// What a training sequence of the model is made of, or is.
std::string item_of(const ModelSpec& spec) {
  if (spec.patches) return "image";
  return spec.audio && !spec.decoder ? "clip" : "token";
}

Result<Workload> workload_of(const PlanTrainQuery& q, const ModelSpec& spec) {
  if (q.seq == 0 && item_of(spec) == "token")
    return field_error("seq", "is missing: tokens of a sequence", "for example 2048");
  Workload w;
  w.mode = Mode::train;
  w.requests = {{q.global_batch, std::max<Count>(q.seq, 1), 0}};
  return w;
}

Result<Run> run_from(const PlanTrainQuery& q) {
  auto spec = find_model(q.model);
  if (!spec) return std::move(spec).error();
  auto workload = workload_of(q, *spec);
  if (!workload) return std::move(workload).error();
  // Mixed precision is a 16-bit format over fp32 parameters, whatever the checkpoint was saved in.
  auto precision = precision_of(*spec, q.dtype.empty() && q.mixed != MixedPrecision::none ? "bf16" : q.dtype);
  if (!precision) return field_error("dtype", precision.error().problem, precision.error().remedy);
  Run run{*std::move(spec), *std::move(workload), {}, {}};
  run.engine.kind = kind_of(q.engine);
  run.engine.precision = *std::move(precision);
  run.engine.precision.mixed = q.mixed;
  run.engine.eager_attention = q.attention == AttentionForm::eager;
  if (!run.engine.eager_attention) run.engine.attention = q.attention;
  run.training.optimizer = kind_of(q.optimizer);
  run.training.wide_gradients = true;
  return run;
}

PlannedTraining described(const PlannedLayout& p) {
  const RankLayout& l = p.run.layout;
  PlannedTraining t;
  t.tp = l.tp, t.cp = l.cp, t.dp = l.dp, t.pp = l.pp, t.ep = l.ep, t.expert_tp = l.expert_width();
  t.sequence_parallel = l.sequence_parallel;
  t.context = name_of(l.context), t.schedule = name_of(l.schedule), t.chunks = l.chunks;
  t.sharding = name_of(l.sharding), t.shard_group = l.shard_group, t.overlap = l.overlap;
  t.layout = text_of(l);
  t.micro_batch = p.run.micro_batch;
  t.recompute = p.run.run.training.options.recompute == Recompute::full;
  t.step = p.step, t.bubble = p.bubble, t.exposed = p.exposed, t.interval = p.interval;
  t.tokens_per_second = p.tokens_per_second, t.utilisation = p.utilisation;
  t.memory = p.memory;
  return t;
}

// What was asked, and what its GPUs cost.
Result<TrainingPlanResult> begun(const PlanTrainQuery& q, const TrainingQuery& query) {
  const auto prices = PriceLookup::from(q.price, q.prices);
  if (!prices) return prices.error();
  const auto& spec = std::get<ModelSpec>(query.run.model);
  const Gpu& gpu = query.cluster.gpu;
  TrainingPlanResult result;
  result.model = spec.name, result.cluster = query.cluster.name;
  result.gpus = query.gpus, result.nodes = static_cast<int>(ceil_div(query.gpus, query.cluster.gpus_per_node));
  result.gpu_memory = gpu.dram.size;
  result.sequences = q.global_batch, result.seq = std::max<Count>(q.seq, 1);
  result.item = item_of(spec), result.left_out = spec.left_out;
  result.tokens = q.tokens;
  if (const auto price = prices->of(gpu.name)) {
    result.usd_per_gpu_hour = price->usd_per_hour;
    result.price_source = price->source.empty() ? "as given" : price->source;
  } else {
    result.price_source = "no price of " + gpu.name + " is known";
  }
  return result;
}

}  // namespace

Result<TrainingPlanResult> plan_train(const PlanTrainQuery& q, const std::function<void(double)>& progress) {
  if (auto fine = check_arguments(q); !fine) return fine.error();
  auto cluster = cluster_of(q.gpus);
  if (!cluster) return in_field(cluster.error(), "gpus");
  auto run = run_from(q);
  if (!run) return std::move(run).error();
  TrainingQuery query{*std::move(run), *std::move(cluster), 0};
  query.gpus = query.cluster.gpus();
  const auto chosen = chosen_method(q.method, q.weights);
  if (!chosen) return chosen.error();
  auto result = begun(q, query);
  if (!result) return result;
  StepPricing with;
  with.method = chosen->method, with.weights = chosen->weights(), with.links = &shipped_comm_constants();
  const auto plan = plan_training(query, with, progress);
  if (!plan) return plan.error();
  result->tried = plan->tried, result->fit = static_cast<Count>(plan->ranked.size());
  for (const PlannedLayout& layout : plan->ranked) {
    if (static_cast<Count>(result->ranked.size()) == q.top) break;
    result->ranked.push_back(described(layout));
  }
  result->smallest = described(plan->smallest);
  if (plan->ranked.empty()) return result;
  const TrainingCost cost = cost_of(plan->ranked.front(), q.tokens, result->usd_per_gpu_hour.value_or(0));
  result->days = cost.days, result->gpu_hours = cost.gpu_hours, result->usd = cost.usd;
  return result;
}

const Question& plan_train_question() {
  static const Question question{"plan train",
                                 "every way to spread a training step, ranked, and what it costs",
                                 {"plan train Llama-3.1-70B --gpus 64xH100-SXM --global-batch 512 --seq 4096"}};
  return question;
}

}  // namespace tilecast
