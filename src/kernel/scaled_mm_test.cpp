#include "kernel/scaled_mm.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

GemmChoice choice_of(std::string_view gpu, Count m) {
  const Gpu g = *find_gpu(gpu);
  return choose_scaled_mm({1, m, 4096, 4096}, *math_path(*format_from("fp8"), g), g);
}

TEST(ScaledMm, TilesByRows) {
  EXPECT_EQ(choice_of("H200-SXM", 16).tile.m, 16);
  EXPECT_EQ(choice_of("H200-SXM", 17).tile.m, 64);
  EXPECT_EQ(choice_of("H200-SXM", 128).tile.n, 128);
  EXPECT_EQ(choice_of("H200-SXM", 129).tile.m, 128);
  EXPECT_EQ(choice_of("B200", 65).tile.m, 128);
  EXPECT_EQ(choice_of("L40S", 257).tile.m, 128);
  EXPECT_EQ(choice_of("L40S", 256).tile.m, 64);
  for (const Count m : {1, 64, 4096}) EXPECT_EQ(choice_of("H200-SXM", m).split, 1);
}

// TensorRT-LLM before Hopper: 32 x 128 for every shape, so 100 rows of 4096 columns are 4 x 32 CTAs.
TEST(ScaledMm, BlockScaledProductBeforeHopper) {
  Context context;
  context.engine = Launcher::trtllm;
  const auto launch = [&](std::string_view gpu) {
    return plan(Gemm{100, 4096, 4096}, *format_from("fp8_block"), *find_gpu(gpu), context)->launches.back();
  };
  const Launch ada = launch("L40S");
  EXPECT_EQ(ada.tile.m, 32);
  EXPECT_EQ(ada.tile.n, 128);
  EXPECT_EQ(ada.ctas, 4 * 32);
  EXPECT_EQ(ada.stages, 3);
  EXPECT_EQ(launch("H200-SXM").tile.m, 64);
}

TEST(ScaledMm, OnlyEnginesTakeIt) {
  Context context;
  EXPECT_FALSE(takes_scaled_mm(*format_from("fp8"), context));
  context.engine = Launcher::vllm;
  EXPECT_TRUE(takes_scaled_mm(*format_from("fp8"), context));
  EXPECT_FALSE(takes_scaled_mm(*format_from("bf16"), context));
  context.engine = Launcher::trtllm;  // cuBLAS
  EXPECT_FALSE(takes_scaled_mm(*format_from("fp8"), context));
  EXPECT_TRUE(takes_scaled_mm(*format_from("fp8_block"), context));
}

TEST(ScaledMm, EnginesQuantiseDifferently) {
  const auto launches = [](std::string_view engine) {
    Gemm shape;
    shape.m = shape.n = shape.k = 1024;
    Context context;
    context.engine = Launcher::named(engine);
    return plan(shape, *format_from("fp8"), *find_gpu("H200-SXM"), context)->launches;
  };
  ASSERT_EQ(launches("vllm").size(), 3u);    // maximum, conversion, product
  ASSERT_EQ(launches("sglang").size(), 2u);  // one scale a token: one kernel
  // 1024 atomics in line, 7 ns each, in steps of 270 ns, beside the one step over the columns.
  EXPECT_DOUBLE_EQ(launches("vllm").front().tasks.front().steps, 1 + 1024 * 7.0 / 270);
  EXPECT_DOUBLE_EQ(launches("trtllm").front().tasks.front().steps, 1);
}

}  // namespace
}  // namespace tilecast
