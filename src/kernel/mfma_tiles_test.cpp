#include "kernel/mfma_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "constants/product.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/moe_loads.h"

namespace tilecast {
namespace {

Plan plan_of(const Gemm& shape, std::string_view dtype, std::string_view kernel_source, std::string_view gpu) {
  Context context;
  context.engine = Launcher::aiter;
  context.kernel_source = KernelSource::named(kernel_source);
  auto made = plan(shape, *format_from(dtype), *find_gpu(gpu), context);
  EXPECT_TRUE(made) << made.error().line();
  return made ? *made : Plan{};
}

Gemm product(Count m, Count n, Count k) {
  Gemm shape;
  shape.m = m, shape.n = n, shape.k = k;
  return shape;
}

TEST(MfmaTiles, AreForMatrixCoresOfCdna3AndLater) {
  const auto takes = [](const char* gpu, const char* dtype) {
    return takes_mfma(*math_path(*format_from(dtype), *find_gpu(gpu)), *find_gpu(gpu));
  };
  EXPECT_TRUE(takes("MI300X", "bf16"));
  EXPECT_TRUE(takes("MI308X", "fp8_static"));
  EXPECT_TRUE(takes("MI355X", "fp8_block"));
  EXPECT_TRUE(takes("MI300X", "fp32"));
  EXPECT_FALSE(takes("MI210", "bf16"));
  EXPECT_FALSE(takes("H100-SXM", "fp8"));
}

TEST(MfmaTiles, FitTheShape) {
  const auto tile = [](Count m, const char* dtype, const char* source) {
    return plan_of(product(m, 8192, 8192), dtype, source, "MI300X").launches.back().tile;
  };
  EXPECT_EQ(tile(1, "fp8_static", "a8w8").m, 16);
  EXPECT_GE(tile(16384, "int8_static", "a8w8").m * tile(16384, "int8_static", "a8w8").n, 128 * 128);
  // Block-scaled instances end at 128 x 128.
  EXPECT_LE(tile(16384, "fp8_block_static", "a8w8_blockscale").m, 128);
  EXPECT_LE(tile(16384, "fp8_block_static", "a8w8_blockscale").n, 128);
}

// All large tiles keep the pipes of so much work busy; the small ones among them ask L2 for more than twice as much.
TEST(MfmaTiles, SpareL2WhereAllElseIsEqual) {
  const Launch launch = plan_of(product(4096, 57344, 8192), "bf16", "", "MI300X").launches.back();
  EXPECT_EQ(launch.tile.m, 256);
  EXPECT_EQ(launch.tile.n, 256);
  EXPECT_EQ(launch.split, 1);
}

// A 128 x 128 tile of four waves, each of 64 x 64 results: per byte of k it stores 128 + 128 in the LDS and reads 2 x
// 128 of either; results pass through it too. Weights that go straight into registers halve it.
TEST(MfmaTiles, CountTheLds) {
  const Gpu gpu = *find_gpu("MI300X");
  const Format format = *format_from("fp8_block_static");
  const MathPath math = *math_path(format, gpu);
  const GemmProblem problem{1, 19 * 128, 16 * 128, 4096};  // a tile for each of the 304 compute units
  GemmChoice choice = choose_mfma(problem, format, math, gpu, {});
  ASSERT_EQ(choice.tile.m, 128);
  ASSERT_EQ(choice.tile.n, 128);
  ASSERT_EQ(choice.split, 1);
  const Demand plain = gemm_launch(problem, format, math, true, choice).tasks[0].each;
  choice.direct_weights = true;
  const Demand direct = gemm_launch(problem, format, math, true, choice).tasks[0].each;
  const double operand = (128 + 256) * 4096 * (8 + 32.0 / 128) / 8;  // scales included
  const double results = constants::kMfmaEpilogue * 128 * 128;
  EXPECT_NEAR(in_bytes(plain.shared), 2 * operand + results, 1);
  EXPECT_NEAR(in_bytes(direct.shared), operand + results, 1);
  // The scales: a quarter of a slot for each result and block of 128.
  EXPECT_NEAR(in_ops(plain.vector), 2 * constants::kScaleSlots * 128 * 128 * 32, 1);
}

TEST(MfmaTiles, SplitLongSumsOfFewTiles) {
  const Plan narrow = plan_of(product(16, 256, 65536), "fp8_static", "a8w8", "MI300X");
  EXPECT_GT(narrow.launches[0].split, 1);
  EXPECT_GT(narrow.launches[0].joining_clocks, 0);
  const Plan wide = plan_of(product(16, 65536, 4096), "fp8_static", "a8w8", "MI300X");
  EXPECT_EQ(wide.launches[0].split, 1);
  EXPECT_EQ(wide.launches[0].joining_clocks, 0);
}

TEST(MfmaTiles, StaticFormatsQuantiseNothing) {
  EXPECT_EQ(plan_of(product(64, 4096, 4096), "fp8_block_static", "a8w8_blockscale", "MI308X").launches.size(), 1u);
  EXPECT_EQ(plan_of(product(64, 4096, 4096), "int8_static", "a8w8", "MI308X").launches.size(), 1u);
  EXPECT_EQ(plan_of(product(64, 4096, 4096), "fp8_block", "a8w8_blockscale", "MI308X").launches.size(), 2u);
}

Moe experts(Count tokens) {
  Moe shape;
  shape.tokens = tokens, shape.hidden = 4096, shape.inter = 1536, shape.experts = 128, shape.topk = 8;
  shape.style = MoeStyle::grouped;
  return shape;
}

TEST(AiterExperts, AreTwoProductsWithTheActivationInside) {
  Context context;
  context.engine = Launcher::aiter;
  const auto made = plan(experts(64), *format_from("fp8_static"), *find_gpu("MI308X"), context);
  ASSERT_TRUE(made) << made.error().line();
  ASSERT_EQ(made->launches.size(), 2u);
  // The first writes 1536 columns a row, not 3072.
  EXPECT_NEAR(in_bytes(made->launches[0].total().l2_store), 64.0 * 8 * 1536 * 2, 1);
}

TEST(RandomLoads, AreDrawsOfABinomialDistribution) {
  for (const Count tokens : {1, 3, 16, 100, 5000, 200000}) {
    const MoeLoads loads = random_moe_loads(experts(tokens));
    Count sum = 0;
    for (const Count rows : loads.rows) sum += rows;
    EXPECT_EQ(sum, tokens * 8) << tokens;
    EXPECT_TRUE(std::is_sorted(loads.rows.rbegin(), loads.rows.rend())) << tokens;
    EXPECT_LE(loads.rows.front(), tokens);
  }
  EXPECT_EQ(random_moe_loads(experts(1)).rows.size(), 8u);
  // 16 tokens have a row for every expert; at random they leave (1 - 8/128)^16 = 36 % of the experts without one.
  EXPECT_NEAR(static_cast<double>(random_moe_loads(experts(16)).rows.size()), 0.64 * 128, 2);
  EXPECT_EQ(random_moe_loads(experts(5000)).rows.size(), 128u);
}

}  // namespace
}  // namespace tilecast
