#include <fmt/format.h>

#include <algorithm>

#include "api/chosen_method.h"
#include "api/declare.h"
#include "api/price_lookup.h"
#include "api/serving_deployment.h"
#include "api/train_arguments.h"
#include "api/training_advice.h"
#include "api/training_runs.h"
#include "cluster/registry.h"
#include "engine/attention_kernel.h"
#include "gpu/registry.h"
#include "kernel/optimizer.h"
#include "model/library.h"
#include "parallel/framework.h"
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

// The framework's recipe; without one, fused kernels in a CUDA graph and gradients summed in fp32.
FrameworkRecipe recipe_for(const PlanTrainQuery& q) {
  if (q.framework) return recipe_of(*q.framework);
  FrameworkRecipe tuned;
  tuned.engine = EngineKind::cudagraph, tuned.wide_gradients = true, tuned.sharding = Sharding::optimizer;
  tuned.sequence_parallel = true;
  return tuned;
}

Result<Run> run_from(const PlanTrainQuery& q, RankLayout& choices) {
  auto spec = find_model(q.model);
  if (!spec) return std::move(spec).error();
  auto workload = workload_of(q, *spec);
  if (!workload) return std::move(workload).error();
  // Mixed precision is a 16-bit format over fp32 parameters, whatever the checkpoint was saved in.
  const FrameworkRecipe recipe = recipe_for(q);
  const MixedPrecision mixed = q.mixed.value_or(recipe.mixed);
  auto precision = precision_of(*spec, q.dtype.empty() && mixed != MixedPrecision::none ? "bf16" : q.dtype);
  if (!precision) return field_error("dtype", precision.error().problem, precision.error().remedy);
  Run run{*std::move(spec), *std::move(workload), {}, {}};
  run.engine.precision = *std::move(precision);
  apply(recipe, run, choices);
  run.engine.precision.mixed = mixed;
  if (q.engine) run.engine.kind = kind_of(*q.engine);
  const AttentionForm attention = q.attention.value_or(recipe.attention);
  run.engine.eager_attention = attention == AttentionForm::eager;
  if (!run.engine.eager_attention) run.engine.attention = attention;
  run.training.optimizer = kind_of(q.optimizer);
  if (auto fine = apply(q.train, run); !fine) return std::move(fine).error();
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
  t.recompute = p.run.run.training.options.recompute;
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
  result.tokens = q.tokens, result.deadline = q.deadline, result.budget = q.budget;
  if (const auto price = prices->of(gpu.name)) {
    result.usd_per_gpu_hour = price->usd_per_hour;
    result.price_source = price->source.empty() ? "as given" : price->source;
  } else {
    result.price_source = "no price of " + gpu.name + " is known";
  }
  return result;
}

// The most GPUs that are looked at where no number is given: twice the largest cluster that was written about.
constexpr int kMostTrainingGpus = 65'536;

// "H100-SXM" without a number, of which GPUs are to be counted.
bool is_uncounted(const PlanTrainQuery& q) { return (q.deadline || q.budget) && find_gpu(q.gpus); }

// One node of them, or as many as were asked for.
Result<Cluster> cluster_from(const PlanTrainQuery& q) {
  if (!is_uncounted(q)) return cluster_of(q.gpus);
  const Cluster* node = built_in_cluster_of(find_gpu(q.gpus)->measured().name);
  constexpr int kUsualNode = 8;  // of a card without a cluster of its own, on a sibling's board
  return cluster_of(fmt::format("{}x{}", node ? node->gpus_per_node : kUsualNode, q.gpus));
}

struct Chosen {
  TrainingQuery query;
  TrainingPlan plan;
  TrainingRun whole;
};
bool is_within(const PlanTrainQuery& q, const TrainingRun& run) {
  return (!q.deadline || run.days <= *q.deadline) && (!q.budget || (run.usd && *run.usd <= *q.budget));
}

// With a deadline the first number of GPUs that meets it (and the budget); with a budget alone the fastest within it.
// Where none does, the one that comes nearest.
class GpuSearch {
 public:
  GpuSearch(const PlanTrainQuery& q, const TrainingQuery& one_node, const StepPricing& with,
            std::optional<double> price)
      : q_(q), one_node_(one_node), with_(with), price_(price) {}

  Result<Chosen> run(const Watch& progress) {
    const std::vector<int> numbers = gpu_numbers(one_node_.cluster.gpus_per_node, kMostTrainingGpus);
    std::optional<Chosen> best;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto share = [&](double of_number) {
        return progress.go_on((static_cast<double>(i) + of_number) / static_cast<double>(numbers.size()));
      };
      const auto query = on_gpus(one_node_, numbers[i]);
      if (!query) return best ? *std::move(best) : Result<Chosen>(query.error());
      if (candidate_layouts(*query).empty()) continue;
      auto plan = plan_training(*query, with_, share);
      if (!plan) return std::move(plan).error();
      tried_.push_back(numbers[i]);
      if (plan->ranked.empty()) continue;
      TrainingRun whole = whole_run(q_, *query, plan->ranked.front(), price_);
      const bool within = is_within(q_, whole), last = q_.budget && whole.usd && *whole.usd > 2 * *q_.budget;
      if (!best || better(whole, best->whole)) best = Chosen{*query, *std::move(plan), whole};
      if ((within && q_.deadline) || last) break;
    }
    if (!best)
      return field_error("gpus", "no number of " + q_.gpus + " holds the model",
                         "use larger GPUs, shorter sequences or another global batch");
    return *std::move(best);
  }
  std::vector<int> tried() && { return std::move(tried_); }

 private:
  bool better(const TrainingRun& a, const TrainingRun& b) const {
    const bool in_a = is_within(q_, a), in_b = is_within(q_, b);
    if (in_a != in_b) return in_a;
    // Within, the faster; else what misses a deadline by least, or a budget.
    return in_a || q_.deadline ? a.days < b.days : a.usd.value_or(0) < b.usd.value_or(0);
  }

  const PlanTrainQuery& q_;
  const TrainingQuery& one_node_;
  const StepPricing& with_;
  std::optional<double> price_;
  std::vector<int> tried_;
};

void add_layouts(TrainingPlanResult& result, const PlanTrainQuery& q, const Chosen& chosen) {
  result.tried = chosen.plan.tried, result.fit = static_cast<Count>(chosen.plan.ranked.size());
  for (const PlannedLayout& layout : chosen.plan.ranked) {
    if (static_cast<Count>(result.ranked.size()) == q.top) break;
    result.ranked.push_back(described(layout));
    result.ranked.back().days = whole_run(q, chosen.query, layout, {}).days;
  }
  result.smallest = described(chosen.plan.smallest);
  result.whole = chosen.whole;
}

Result<Chosen> planned_as_asked(const PlanTrainQuery& q, const TrainingQuery& query, const StepPricing& with,
                                std::optional<double> price, const Watch& progress) {
  auto plan = plan_training(query, with, progress);
  if (!plan) return std::move(plan).error();
  Chosen chosen{query, *std::move(plan), {}};
  if (!chosen.plan.ranked.empty()) chosen.whole = whole_run(q, query, chosen.plan.ranked.front(), price);
  return chosen;
}

Result<std::optional<double>> price_of(const PlanTrainQuery& q, const Gpu& gpu) {
  const auto prices = PriceLookup::from(q.price, q.prices);
  if (!prices) return prices.error();
  const auto price = prices->of(gpu.name);
  if (!price && q.budget)
    return field_error("budget", "needs a price, and none of " + gpu.name + " is known", "give price or prices");
  return price ? std::optional(price->usd_per_hour) : std::nullopt;
}

}  // namespace

Result<TrainingPlanResult> plan_train(const PlanTrainQuery& q, const Watch& progress) {
  if (auto fine = check_arguments(q); !fine) return fine.error();
  auto cluster = cluster_from(q);
  if (!cluster) return in_field(cluster.error(), "gpus");
  RankLayout choices;
  auto run = run_from(q, choices);
  if (!run) return std::move(run).error();
  if (auto fine = check_card(q.train, cluster->gpu); !fine) return std::move(fine).error();
  if (q.attention)
    if (auto fine = check_attention(*q.attention, run->engine.kind, cluster->gpu, run->engine.precision.attention);
        !fine)
      return std::move(fine).error();
  TrainingQuery query{*std::move(run), *std::move(cluster), 0, choices};
  query.gpus = query.cluster.gpus();
  if (const Count tokens = query.run.workload.tokens(); q.tokens > 0 && q.tokens < static_cast<double>(tokens))
    return field_error("tokens", fmt::format("are fewer than the {} of a single step", tokens),
                       "more of them, or a smaller global batch");
  const auto chosen_by = chosen_method(q.method, q.weights);
  if (!chosen_by) return chosen_by.error();
  const auto price = price_of(q, query.cluster.gpu);
  if (!price) return price.error();
  StepPricing with;
  with.method = chosen_by->method, with.weights = chosen_by->weights(), with.links = &shipped_comm_constants();
  GpuSearch search(q, query, with, *price);
  auto chosen = is_uncounted(q) ? search.run(progress) : planned_as_asked(q, query, with, *price, progress);
  if (!chosen) return std::move(chosen).error();
  auto result = begun(q, chosen->query);
  if (!result) return result;
  result->tried_gpus = std::move(search).tried();
  if (std::string note = plain_node_note(chosen->query.cluster); !note.empty())
    result->notes.push_back(std::move(note));
  add_layouts(*result, q, *chosen);
  result->advice = advice_for(q, chosen->query, chosen->plan, chosen->whole, with);
  if (!q.scaling || result->ranked.empty()) return result;
  auto scaling = scaling_of(q, chosen->query, with, progress);
  if (!scaling) return std::move(scaling).error();
  result->strong = std::move(scaling->strong), result->weak = std::move(scaling->weak);
  return result;
}

const Question& plan_train_question() {
  static const Question question{
      "plan train",
      "every way to spread a training step, ranked, and what it costs",
      {"plan train Llama-3.1-70B --gpus 64xH100-SXM --global-batch 512 --seq 4096",
       "plan train Llama-3.1-70B --gpus H100-SXM --tokens 2T --deadline 30 --global-batch 1024 --seq 8192"}};
  return question;
}

}  // namespace tilecast
