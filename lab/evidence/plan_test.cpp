#include "parallel/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"

namespace tilecast {
namespace {

TrainingQuery query(const char* model, int gpus, Count batch, Count length) {
  Workload w;
  w.mode = Mode::train;
  w.requests = {{batch, length, 0}};
  TrainingQuery q{*run_of(model, EngineKind::cudagraph, "bf16", w), *find_cluster("HGX-H100-8"), gpus};
  q.run.engine.precision.mixed = MixedPrecision::master;
  q.cluster.nodes = std::max(1, gpus / 8);
  return q;
}

StepPricing quick() { return {Method::roofline, nullptr, &shipped_comm_constants()}; }

TEST(TrainingPlan, EveryCandidateUsesAllGpusAndTheWholeBatch) {
  const TrainingQuery q = query("Qwen3-30B-A3B", 32, 64, 8192);
  std::set<std::string> seen;
  bool experts = false, contexts = false, interleaved = false;
  for (const ParallelRun& run : candidate_layouts(q)) {
    EXPECT_EQ(run.layout.ranks(), 32);
    const auto batches = batches_of(run);
    ASSERT_TRUE(batches);
    EXPECT_EQ(batches->micro_batches * run.micro_batch * run.layout.dp, 64);
    EXPECT_TRUE(check(run.layout, std::get<ModelSpec>(q.run.model), 8192));
    experts |= run.layout.ep > 1, contexts |= run.layout.cp > 1, interleaved |= run.layout.chunks > 1;
    const bool again = run.run.training.options.recompute == Recompute::full;
    EXPECT_TRUE(seen.insert(text_of(run.layout) + std::to_string(run.micro_batch) + (again ? "r" : "") +
                            std::string(name_of(run.layout.schedule)))
                    .second)
        << "twice: " << text_of(run.layout);
  }
  EXPECT_TRUE(experts && contexts && interleaved);
}

TEST(TrainingPlan, RanksWhatFitsFastestFirst) {
  const auto plan = plan_training(query("Llama-3.1-70B", 64, 128, 4096), quick());
  ASSERT_TRUE(plan);
  ASSERT_GT(plan->ranked.size(), 2u);
  EXPECT_EQ(static_cast<Count>(plan->ranked.size()) + plan->too_large, plan->tried);
  for (std::size_t i = 1; i < plan->ranked.size(); ++i) EXPECT_LE(plan->ranked[i - 1].step, plan->ranked[i].step);
  for (const PlannedLayout& p : plan->ranked) EXPECT_LE(p.memory, gigabytes(86));
}

TEST(TrainingPlan, SaysWhatWouldBeSmallestWhereNothingFits) {
  const auto plan = plan_training(query("Llama-3.1-405B", 8, 8, 4096), quick());
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->ranked.empty());
  EXPECT_GT(plan->smallest.memory, gigabytes(80));
}

}  // namespace
}  // namespace tilecast
