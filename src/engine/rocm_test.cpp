#include "engine/rocm.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/format.h"

namespace tilecast {
namespace {

Kernel product(Count m, Count n, Count k, const char* format = "bf16") {
  Gemm shape;
  shape.m = m, shape.n = n, shape.k = k;
  return {shape, *format_from(format)};
}

// 4096 x 4096 weights of 2 bytes, read twice for 64 rows, at 0.414 of 5324.8 GB/s; rows 16 KiB apart are read four
// times.
TEST(Rocm2024, UntunedProductsReadTheirWeightsAgain) {
  const Gpu gpu = *find_gpu("MI300X");
  const double rate = 0.414 * 5324.8e9, weights = 2.0 * 4096 * 4096;
  EXPECT_NEAR(untuned_product(product(64, 4096, 4096), gpu).base(), 2 * weights / rate, 1e-12);
  EXPECT_NEAR(untuned_product(product(33, 4096, 4096), gpu).base(), 2 * weights / rate, 1e-12);
  EXPECT_NEAR(untuned_product(product(64, 4096, 8192), gpu).base(), 4 * 2 * weights / rate, 1e-12);
  EXPECT_EQ(untuned_product(product(1, 4096, 4096), gpu), seconds(0));    // a kernel of its own
  EXPECT_EQ(untuned_product(product(257, 4096, 4096), gpu), seconds(0));  // prompts
  EXPECT_EQ(untuned_product(product(64, 4096, 4096, "fp8"), gpu), seconds(0));
}

TEST(Rocm2024, AttentionGoesByRequestsTimesHeads) {
  AttentionDecode a;
  a.batch = 16, a.heads = 32, a.kv_heads = 8, a.kv_len = 1000;
  EXPECT_EQ(rocm_2024_attention(a), KernelSource::rocm_paged_attention_2024);
  a.batch = 17;
  EXPECT_EQ(rocm_2024_attention(a), KernelSource::vllm_paged_attention_v1);
  a.batch = 1, a.lens = std::vector<Count>(17, 100);
  EXPECT_EQ(rocm_2024_attention(a), KernelSource::vllm_paged_attention_v1);
  EXPECT_EQ(rocm_2024_attention(AttentionPrefill{}), KernelSource::rocm_triton_attention);
  EXPECT_EQ(rocm_2024_attention(Gemm{}), KernelSource());
}

TEST(Rocm2024, IsThatEraOnThatArchitectureAlone) {
  Program program;
  program.engine = EngineKind::vllm, program.era = EngineEra::year_2024;
  EXPECT_TRUE(is_rocm_2024(program, *find_gpu("MI300X")));
  EXPECT_FALSE(is_rocm_2024(program, *find_gpu("MI250")));
  EXPECT_FALSE(is_rocm_2024(program, *find_gpu("H100-SXM")));
  program.era = EngineEra::current;
  EXPECT_FALSE(is_rocm_2024(program, *find_gpu("MI300X")));
  const HostCost there = rocm_2024_host(host_cost(EngineKind::vllm, EngineEra::year_2024));
  EXPECT_GT(there.switching, host_cost(EngineKind::vllm, EngineEra::year_2024).switching);
}

}  // namespace
}  // namespace tilecast
