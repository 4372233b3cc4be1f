#include "serve/deployment.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

DeploymentOptions options_of(const char* model, const char* gpu, EngineKind kind = EngineKind::vllm) {
  DeploymentOptions o;
  o.model = *find_model(model);
  o.gpu = *find_gpu(gpu);
  o.engine.kind = kind;
  o.engine.precision = *precision_from("bf16");
  return o;
}

Deployment deployed(const DeploymentOptions& o) {
  auto d = deploy(o, Method::roofline, nullptr);
  EXPECT_TRUE(d) << d.error().line();
  return *std::move(d);
}

// Tokens that engines said they had room for when they started, Llama 3.1 8B in bf16 (start-up logs in public
// repositories: 40,528 tokens on RTX 4090, 216,624 on RTX A6000, 442,160 on H100 under vLLM's V1).
TEST(ServeDeployment, VllmsCacheAsItsLogsSay) {
  struct Log {
    const char* gpu;
    double tokens;
  };
  for (const Log& log : {Log{"RTX-4090", 40528}, {"RTX-A6000", 216624}, {"H100-SXM", 442160}}) {
    const Deployment d = deployed(options_of("Llama-3.1-8B", log.gpu));
    EXPECT_NEAR(static_cast<double>(d.pool.blocks * 16) / log.tokens, 1, 0.03) << log.gpu;
  }
}

TEST(ServeDeployment, BudgetAddsUp) {
  const Deployment d = deployed(options_of("Llama-3.1-8B", "H100-SXM"));
  const CacheBudget& b = d.budget;
  EXPECT_DOUBLE_EQ(b.usable.base(), 0.9 * b.visible.base());
  EXPECT_NEAR((b.weights + b.activations + b.other + b.cache).base(), b.usable.base(), 1);
  // 32 layers, keys and values of 8 heads of 128, two bytes.
  EXPECT_DOUBLE_EQ(d.pool.geometry.block_bytes().base(), 16.0 * 32 * 2 * 8 * 128 * 2);
  EXPECT_EQ(d.pool.blocks, static_cast<Count>(b.cache / d.pool.geometry.block_bytes()));
}

TEST(ServeDeployment, EnginesHaveTheirOwnDefaults) {
  const SchedulerLimits h100 = limits_of(options_of("Llama-3.1-8B", "H100-SXM"));
  EXPECT_EQ(h100.max_sequences, 1024);
  EXPECT_EQ(h100.max_tokens, 8192);
  const SchedulerLimits a100 = limits_of(options_of("Llama-3.1-8B", "A100-SXM-80GB"));
  EXPECT_EQ(a100.max_sequences, 256);
  EXPECT_EQ(a100.max_tokens, 2048);
  const SchedulerLimits sglang = limits_of(options_of("Llama-3.1-8B", "L40S", EngineKind::sglang));
  EXPECT_EQ(sglang.chunk, 4096);
  EXPECT_EQ(sglang.policy, Policy::sglang);
  const SchedulerLimits trtllm = limits_of(options_of("Llama-3.1-8B", "H100-SXM", EngineKind::trtllm));
  EXPECT_FALSE(trtllm.chunked_prefill);
  EXPECT_EQ(trtllm.policy, Policy::trtllm_no_evict);
}

// mem_fraction_static on H100: a reserve of 512 + 1.5 x 8192 + 2 x 256 + 128 = 13440 MiB of what is visible.
TEST(ServeDeployment, SglangsShareByHand) {
  const Deployment d = deployed(options_of("Llama-3.1-8B", "H100-SXM", EngineKind::sglang));
  const double visible = 80 * 1024 * 0.987;
  const double share = std::round((visible - 13440) / visible * 1000) / 1000;
  EXPECT_NEAR(d.budget.usable.base(), (visible - 0.1 * 1024) * share * 1024 * 1024, 1e3);
  EXPECT_NEAR(d.budget.cache.base(), d.budget.usable.base() - d.budget.weights.base(), 1);
}

TEST(ServeDeployment, MoreOfEverythingLeavesLessCache) {
  DeploymentOptions o = options_of("Llama-3.1-8B", "H100-SXM");
  const Count plain = deployed(o).pool.blocks;
  o.max_sequences = 4096;
  EXPECT_LT(deployed(o).pool.blocks, plain);
  o = options_of("Llama-3.1-8B", "H100-SXM");
  o.memory_fraction = 0.5;
  EXPECT_LT(deployed(o).pool.blocks, plain);
  o = options_of("Llama-3.1-8B", "H100-SXM");
  o.engine.precision.cache = CacheType::fp8;
  EXPECT_NEAR(static_cast<double>(deployed(o).pool.blocks), 2.0 * static_cast<double>(plain), 2);
}

TEST(ServeDeployment, RefusesWhatDoesNotServe) {
  EXPECT_FALSE(deploy(options_of("Llama-3.1-70B", "H100-SXM"), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(options_of("BERT-Base", "H100-SXM"), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(options_of("T5-Base", "H100-SXM"), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(options_of("Llama-3.1-8B", "H100-SXM", EngineKind::pytorch), Method::roofline, nullptr));
}

TEST(ServeHost, GraphsAsTheEnginesCaptureThem) {
  const HostTimes vllm = host_times(EngineKind::vllm, 256, 2048);
  EXPECT_EQ(vllm.graphs.size(), 51u);  // as its log says: largest 512
  EXPECT_EQ(vllm.graphs.back(), 512);
  EXPECT_EQ(captured_size(vllm.graphs, 1), 1);
  EXPECT_EQ(captured_size(vllm.graphs, 3), 4);
  EXPECT_EQ(captured_size(vllm.graphs, 249), 256);
  EXPECT_EQ(captured_size(vllm.graphs, 257), 272);
  EXPECT_EQ(captured_size(vllm.graphs, 513), 0);
  EXPECT_EQ(host_times(EngineKind::vllm, 16, 2048).graphs.back(), 32);
  EXPECT_EQ(captured_size(host_times(EngineKind::sglang, 256, 0).graphs, 9), 12);
  EXPECT_EQ(captured_size(host_times(EngineKind::trtllm, 2048, 0).graphs, 129), 256);
}

}  // namespace
}  // namespace tilecast
