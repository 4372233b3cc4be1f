#include "parallel/plan.h"

#include <algorithm>
#include <array>

#include "estimate/power.h"
#include "model/recomputation.h"
#include "parallel/split.h"

namespace tilecast {
namespace {

// Shorter pieces of a sequence than this gain nothing from another context parallel rank.
constexpr Count kLeastContextPiece = 4096;
constexpr std::array<Count, 5> kMicroBatches = {1, 2, 4, 8, 16};
constexpr std::array<int, 3> kChunks = {1, 2, 4};

bool has_experts(const ModelSpec& spec) {
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  return std::any_of(stack.layers.begin(), stack.layers.end(),
                     [](const LayerRun& run) { return std::holds_alternative<MoeSpec>(run.layer.feed_forward); });
}

// 1, 2, 4 ... and the number itself, as far as they divide it.
std::vector<int> parts_of(int n, int most) {
  std::vector<int> parts;
  for (int p = 1; p <= std::min(n, most); ++p) {
    const bool power = (p & (p - 1)) == 0;
    if (n % p == 0 && (power || p % 3 == 0)) parts.push_back(p);
  }
  return parts;
}

// Writes all variants of one split of the GPUs.
class Candidates {
 public:
  explicit Candidates(const TrainingQuery& query) : query_(query), spec_(std::get<ModelSpec>(query.run.model)) {}

  std::vector<ParallelRun> all() && {
    const Count length = query_.run.workload.requests.front().new_tokens;
    const bool experts = has_experts(spec_);
    for (const int tp : parts_of(query_.gpus, query_.cluster.gpus_per_node))
      for (const int pp : parts_of(query_.gpus / tp, 64))
        for (const int cp :
             parts_of(query_.gpus / tp / pp, static_cast<int>(std::max<Count>(1, length / kLeastContextPiece)))) {
          RankLayout layout = query_.choices;
          layout.tp = tp, layout.pp = pp, layout.cp = cp, layout.dp = query_.gpus / (tp * pp * cp);
          layout.sequence_parallel = tp > 1;
          if (!experts) add_schedules(layout);
          else
            for (const int ep : parts_of(tp * cp * layout.dp, 256)) {
              layout.ep = ep;
              add_schedules(layout);
            }
        }
    return std::move(runs_);
  }

 private:
  void add_schedules(RankLayout layout) {
    const Count length = query_.run.workload.requests.front().new_tokens;
    if (!check(layout, spec_, length)) return;
    for (const int chunks : kChunks) {
      if (chunks > 1 && layout.pp == 1) break;
      layout.chunks = chunks;
      layout.schedule = chunks > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
      if (!check(layout, spec_, length)) break;
      add_shardings(layout);
      if (layout.pp == 1 || chunks > 1) continue;
      layout.schedule = PipelineSchedule::zero_bubble;
      add_shardings(layout);
      layout.schedule = PipelineSchedule::zero_bubble_v, layout.chunks = 2;
      if (!check(layout, spec_, length)) continue;
      add_shardings(layout);
      if (layout.ep == 1) continue;  // it hides tokens on their way to experts
      layout.schedule = PipelineSchedule::dual_pipe_v;
      add_shardings(layout);
    }
  }
  void add_shardings(RankLayout layout) {
    layout.sharding = layout.replicas() > 1 ? Sharding::optimizer : Sharding::none;
    add_batches(layout);
    if (layout.replicas() > 1 && layout.pp == 1) {
      layout.sharding = Sharding::parameters;
      add_batches(layout);
    }
  }
  void add_batches(const RankLayout& layout) {
    const Count global = query_.run.workload.sequences();
    if (global % layout.dp != 0) return;
    for (const Count micro : kMicroBatches) {
      if (global / layout.dp % micro != 0) continue;
      const Count batches = global / layout.dp / micro;
      if (layout.schedule == PipelineSchedule::interleaved && batches % layout.pp != 0) continue;
      if (is_v(layout.schedule) && batches * layout.pp > kMostInAV) continue;
      ParallelRun run{query_.run, layout, micro};
      run.run.training.options.recompute = Recompute::none;
      runs_.push_back(std::move(run));
    }
  }

  const TrainingQuery& query_;
  const ModelSpec& spec_;
  std::vector<ParallelRun> runs_;
};

PlannedLayout planned(ParallelRun run, const ParallelForecast& f, const Cluster& cluster) {
  PlannedLayout p{{}, f.step, f.bubble, f.exposed(), f.interval, f.tokens_per_second, f.utilisation, {}, {}};
  p.joules = step_joules(run, f, cluster);
  p.run = std::move(run);
  for (const StageForecast& stage : f.stages) p.memory = std::max(p.memory, stage.memory.total());
  return p;
}

}  // namespace

std::vector<ParallelRun> candidate_layouts(const TrainingQuery& query) {
  if (!std::holds_alternative<ModelSpec>(query.run.model) || query.run.workload.requests.empty()) return {};
  return Candidates(query).all();
}

Result<TrainingPlan> plan_training(const TrainingQuery& query, const StepPricing& with, const Watch& progress) {
  std::vector<ParallelRun> runs = candidate_layouts(query);
  if (runs.empty())
    return error("no layout divides the model, the GPUs and the global batch",
                 "give a global batch with more divisors, or another number of GPUs");
  // What costs less is tried first: a layout that fits gains nothing by recomputing more.
  const std::array<Recomputation, 3> ladder = {
      Recompute::none, light_recomputation(std::get<ModelSpec>(query.run.model)), Recompute::full};
  TrainingPlan plan;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!progress.go_on(static_cast<double>(i) / static_cast<double>(runs.size()))) return stopped();
    for (const Recomputation& recompute : ladder) {
      ParallelRun run = runs[i];
      run.run.training.options.recompute = recompute;
      auto forecast = forecast_parallel(run, query.cluster, with);
      if (!forecast) return std::move(forecast).error();
      ++plan.tried;
      const bool fits = forecast->fits();
      PlannedLayout one = planned(std::move(run), *forecast, query.cluster);
      if (plan.tried == 1 || one.memory < plan.smallest.memory) plan.smallest = one;
      if (!fits) ++plan.too_large;
      (fits ? plan.ranked : plan.beyond).push_back(std::move(one));
      if (fits) break;
    }
  }
  for (auto* list : {&plan.ranked, &plan.beyond})
    std::stable_sort(list->begin(), list->end(),
                     [](const PlannedLayout& a, const PlannedLayout& b) { return a.step < b.step; });
  if (!plan.ranked.empty())
    std::erase_if(plan.beyond, [&](const PlannedLayout& p) { return p.step >= plan.ranked.front().step; });
  return plan;
}

std::optional<double> step_joules(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster) {
  const auto law = metered_law(cluster.gpu);
  if (!law) return {};
  // The program is that of a rank with all layers and micro-batches: what the ranks of a pipeline do together.
  PowerWork work;
  for (std::size_t i = 0; i < forecast.program.calls.size(); ++i)
    work = work + forecast.rank.calls[i].work * static_cast<double>(forecast.program.calls[i].times);
  const double pipelines = static_cast<double>(run.layout.tp) * run.layout.cp * run.layout.dp;
  const double clock = clock_under(*law, work, law->limit);
  return pipelines * (joules_at(*law, work, clock) + run.layout.pp * law->idle.base() * forecast.step.base());
}

}  // namespace tilecast
