#include "serve/rank_variants.h"

#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/deployment.h"

namespace tilecast {
namespace {

DeploymentOptions spread_over(const char* model, int tp, int dp, int ep) {
  DeploymentOptions d;
  d.model = *find_model(model);
  d.gpu = *find_gpu("H100-SXM");
  d.engine.kind = EngineKind::vllm;
  d.engine.precision = *precision_of(d.model, "", "");
  RankSpread spread{{}, *cluster_of("hgx-h100", tp * dp)};
  spread.layout.tp = tp, spread.layout.dp = dp, spread.layout.ep = ep;
  d.spread = std::move(spread);
  return d;
}

TEST(ServeRankVariants, CopiesTakeMemoryAndTime) {
  DeploymentOptions d = spread_over("Qwen3-30B-A3B", 1, 4, 4);
  const auto plain = deploy(d, Method::analytic, nullptr);
  d.spread->variants.redundant = 32;
  const auto copies = deploy(d, Method::analytic, nullptr);
  ASSERT_TRUE(plain && copies) << (copies ? plain : copies).error().line();
  EXPECT_LT(copies->pool.blocks, plain->pool.blocks);
  EXPECT_GT(copies->budget.weights, plain->budget.weights * 1.2);
  EXPECT_LT(copies->budget.weights, plain->budget.weights * 1.26);
  const StepBatch prompts{{{4096, 0}}, 0, 1, 0, 0};
  EXPECT_LT(copies->steps->of(prompts), plain->steps->of(prompts));
  d.spread->variants.redundant = 30;
  EXPECT_FALSE(deploy(d, Method::analytic, nullptr));
}

TEST(ServeRankVariants, KeysAreSharedOut) {
  DeploymentOptions d = spread_over("Qwen3-30B-A3B", 8, 1, 1);  // four heads of keys over eight ranks
  const auto plain = deploy(d, Method::analytic, nullptr);
  d.spread->variants.decode_cp = 2;
  const auto shared = deploy(d, Method::analytic, nullptr);
  ASSERT_TRUE(plain && shared) << (shared ? plain : shared).error().line();
  EXPECT_NEAR(static_cast<double>(shared->pool.blocks), 2.0 * static_cast<double>(plain->pool.blocks), 2);
  // Long contexts are read in less time, short ones pay for the exchange.
  const StepBatch deep{{}, 64, 1, 64 * 60000, 0}, shallow{{}, 1, 1, 100, 0};
  EXPECT_LT(shared->steps->of(deep), plain->steps->of(deep));
  EXPECT_GT(shared->steps->of(shallow), plain->steps->of(shallow));
  for (const int wrong : {4, 3, 0}) {
    d.spread->variants.decode_cp = wrong;
    const auto refused = deploy(d, Method::analytic, nullptr);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().field, "decode-context-parallel-size");
  }
}

TEST(ServeRankVariants, LatentKeysAreSharedOut) {
  DeploymentOptions d = spread_over("DeepSeek-V3", 8, 1, 1);
  d.engine.precision = *precision_of(d.model, "", "");
  d.gpu = *find_gpu("H200-SXM");
  d.spread->cluster = *cluster_of("hgx-h200", 8);
  const auto plain = deploy(d, Method::analytic, nullptr);
  d.spread->variants.decode_cp = 8;
  const auto shared = deploy(d, Method::analytic, nullptr);
  ASSERT_TRUE(plain && shared) << (shared ? plain : shared).error().line();
  EXPECT_GT(shared->pool.blocks, plain->pool.blocks * 7);
  const StepBatch deep{{}, 64, 1, 64 * 60000, 0};
  EXPECT_LT(shared->steps->of(deep), plain->steps->of(deep));
}

}  // namespace
}  // namespace tilecast
