// SynPerf's features against numbers worked out by hand from the artifact's formulas, and its weight files.
#include "estimate/synperf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/registry.h"
#include "kernel/attention_prefill.h"
#include "kernel/copy.h"
#include "kernel/gemm.h"
#include "kernel/rmsnorm.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

SynperfDemand demand(const Kernel& kernel, const Gpu& gpu) {
  const auto planned = plan(kernel, gpu, {});
  EXPECT_TRUE(planned);
  return *synperf_demand(kernel, *planned, gpu);
}

// 300 x 4000 x 1000 on H20 (78 SMs, 2048 operations a clock each, 1830 MHz, 4022.8 GB/s, L2 8815 GB/s): padded to
// 384 x 4096 x 1024, 96 tiles, so two on the busiest SM.
TEST(Synperf, ScaledProductByHand) {
  const SynperfDemand d = demand({Gemm{300, 4000, 1000}, *format_from("fp8_static")}, *find_gpu("H20"));
  const double expected[] = {
      3221225472.0,  // 2 * 384 * 4096 * 1024
      20164.923,     // / (78 * 2048)
      67108864.0,    // 2 * 128 * 128 * 1024 * 2
      32768.0,       // / 2048
      4480.0,        // (384 + 4096) * 1024 B in KiB
      1943.5725,     // 4480 / 4022.8 / 2^20 * 1830e6
      886.9658,      // 4480 / 8815 / 2^20 * 1830e6
      512.0,         // 2 * 128 * 1024 * 2 B in KiB
      17325.561,     // 512 / (4022.8 / 78) / 2^20 * 1830e6
      4096.0,        // 512 KiB / 128
      7906.6665,     // 512 / (8815 / 78) / 2^20 * 1830e6
  };
  ASSERT_EQ(d.features.size(), 11u);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_NEAR(d.features[i], std::log1p(expected[i]), 2e-5) << i;
  EXPECT_NEAR(in_microseconds(d.theoretical), 11.019084, 1e-5);  // 20164.923 / 1830
}

TEST(Synperf, ElsewhereItCountsOurPlans) {
  const Gpu h100 = *find_gpu("H100-SXM");
  // Exactly one tile wave or not, the tensor operations of an aligned product are 2 m n k.
  const SynperfDemand gemm = demand({Gemm{4096, 4096, 4096}, *format_from("bf16")}, h100);
  ASSERT_EQ(gemm.features.size(), 11u);
  EXPECT_NEAR(gemm.features[0], std::log1p(2.0 * 4096 * 4096 * 4096), 1e-4);
  EXPECT_NEAR(in_microseconds(gemm.theoretical), 2.0 * 4096 * 4096 * 4096 / (132 * 4096.0) / 1830, 1e-2);
  EXPECT_NEAR(gemm.features[4], std::log1p(2 * 2.0 * 4096 * 4096 / 1024), 1e-4);  // both operands once
  // Attention has the special-function pipe beside the tensor pipe; normalisation FMA and special functions.
  AttentionPrefill attention;
  attention.batch = 1;
  attention.q_len = 1024;
  attention.heads = attention.kv_heads = 16;
  EXPECT_EQ(demand({attention, *format_from("bf16")}, h100).features.size(), 15u);
  EXPECT_EQ(demand({RmsNorm{4096, 4096}, *format_from("bf16")}, h100).features.size(), 15u);
  // A copy has no arithmetic: the DRAM cycles of its loads stand in for the theoretical time.
  const SynperfDemand copy = demand({Copy{.elements = 1 << 24}, *format_from("bf16")}, h100);
  EXPECT_NEAR(copy.theoretical / (mebibytes(32) / (gibibytes(3352.3) / seconds(1))), 1, 0.01);
}

SynperfWeights constant_efficiency() {
  SynperfWeights weights;
  TrainedMlp model;
  model.network = Mlp({{11, 1, std::vector<float>(11, 0.0f), {1.0986123f}, false, {}, {}}});
  model.seen["H20"] = 9;
  weights.models["gemm/fp8_static"] = model;
  return weights;
}

TEST(Synperf, ForecastsWhatItKnows) {
  const SynperfWeights weights = constant_efficiency();
  const Gpu h20 = *find_gpu("H20");
  const Kernel fp8{Gemm{300, 4000, 1000}, *format_from("fp8_static")},
      bf16{Gemm{300, 4000, 1000}, *format_from("bf16")};
  EXPECT_NEAR(in_microseconds(*synperf_forecast(weights, fp8, *plan(fp8, h20, {}), h20)), 11.019084 / 0.75, 1e-4);
  EXPECT_FALSE(synperf_forecast(weights, bf16, *plan(bf16, h20, {}), h20));
}

TEST(Synperf, WeightFiles) {
  const std::string good = to_bytes(constant_efficiency());
  const auto back = synperf_from_bytes(good, "s.weights");
  ASSERT_TRUE(back) << back.error().line();
  EXPECT_EQ(to_bytes(*back), good);
  const auto refusal = [](std::string_view bytes) {
    const auto weights = synperf_from_bytes(bytes, "s.weights");
    return weights ? "accepted" : weights.error().line();
  };
  EXPECT_THAT(refusal(std::string_view(good).substr(0, 40)), HasSubstr("is truncated"));
  EXPECT_THAT(refusal(pack("tilecast", PackWriter())), HasSubstr("holds weights of the method tilecast, not synperf"));
  std::string newer = good;
  newer[8] = 11;
  EXPECT_THAT(refusal(newer), HasSubstr("has format version 11, this program reads 10"));
}

}  // namespace
}  // namespace tilecast
