// What does not fit says what would.
#include "parallel/fitting.h"

#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

StepPricing analytic() { return {Method::analytic, nullptr, &shipped_comm_constants()}; }

ParallelRun train(const char* model, int dp, Count micro) {
  ParallelRun run{{*find_model(model), {.mode = Mode::train, .requests = {{dp * micro, 4096, 0}}}, {}, {}}, {}, micro};
  run.run.engine.kind = EngineKind::cudagraph, run.run.engine.precision = *precision_from("bf16");
  run.run.engine.precision.mixed = MixedPrecision::master;
  run.layout.dp = dp;
  return run;
}

TEST(ChangeThatFits, MakesItFit) {
  const Cluster cluster = *find_cluster("HGX-H100-8");
  const ParallelRun run = train("Llama-3.1-8B", 8, 8);
  const auto before = forecast_parallel(run, cluster, analytic());
  ASSERT_TRUE(before);
  ASSERT_FALSE(before->fits());
  const auto change = change_that_fits(run, cluster, analytic());
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->what.empty());
  const auto after = forecast_parallel(change->run, cluster, analytic());
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->fits());
  EXPECT_EQ(after->step, change->step);
  EXPECT_LE(change->memory, after->usable);
}

TEST(ChangeThatFits, IsNoneWhereNothingHelps) {
  EXPECT_FALSE(change_that_fits(train("Llama-3.1-405B", 1, 1), *find_cluster("HGX-H100-8"), analytic()));
}

}  // namespace
}  // namespace tilecast
