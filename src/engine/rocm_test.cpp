#include "engine/rocm.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/format.h"
#include "kernel/gemm.h"

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
}

// Kernels of served steps stand 9 us apart on AMD's cards, whatever the year; requests cost vLLM of 2024 alone.
TEST(Rocm, KernelsOfHipGraphsStandApart) {
  const Gpu hopper = *find_gpu("H100-SXM");
  for (const EngineKind kind : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm, EngineKind::pytorch})
    for (const EngineEra era : {EngineEra::current, EngineEra::year_2024}) {
      Program program;
      program.engine = kind, program.era = era, program.host = host_cost(kind, era);
      const bool served = kind == EngineKind::vllm || kind == EngineKind::sglang;
      EXPECT_EQ(host_on(hopper, program).switching, program.host.switching);
      EXPECT_EQ(host_on(*find_gpu("MI250"), program).switching, program.host.switching);
      for (const char* card : {"MI300X", "MI355X"}) {
        const HostCost there = host_on(*find_gpu(card), program);
        EXPECT_EQ(there.switching, served ? microseconds(9) : program.host.switching) << card;
        const bool dear = kind == EngineKind::vllm && era == EngineEra::year_2024 && std::string(card) == "MI300X";
        EXPECT_EQ(there.per_sequence, dear ? microseconds(115) : program.host.per_sequence) << card;
      }
    }
}

}  // namespace
}  // namespace tilecast
