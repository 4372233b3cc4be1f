#include "kernel/scaled_mm.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

GemmChoice choice_of(std::string_view gpu, Count m, ScaledKernels kernels = ScaledKernels::vllm, Count n = 4096) {
  const Gpu g = *find_gpu(gpu);
  return choose_scaled_mm({1, m, n, 4096}, *math_path(*format_from("fp8"), g), g, kernels);
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

// Ada's tiles go by columns too: 256 x 128 in the band above 4096, whose 16 steps of 64 take a whole SM.
TEST(ScaledMm, AdaByColumns) {
  EXPECT_EQ(choice_of("L40S", 512, ScaledKernels::vllm, 4096).tile.m, 128);
  EXPECT_EQ(choice_of("L40S", 512, ScaledKernels::vllm, 5120).tile.m, 256);
  EXPECT_EQ(choice_of("L40S", 512, ScaledKernels::vllm, 8193).tile.m, 128);
  EXPECT_EQ(choice_of("L40S", 512, ScaledKernels::sglang, 5120).tile.m, 128);
  EXPECT_EQ(choice_of("L40S", 16, ScaledKernels::vllm, 16384).tile.n, 128);
  EXPECT_EQ(choice_of("L40S", 16, ScaledKernels::vllm, 16385).tile.m, 32);
}

// Workstation Blackwell: vLLM has four tiles, SGLang one, and a row of nvfp4 pays for 128.
TEST(ScaledMm, WorkstationBlackwell) {
  constexpr std::string_view card = "RTX-PRO-6000-Blackwell-Server";
  EXPECT_EQ(choice_of(card, 16).tile.m, 16);
  EXPECT_EQ(choice_of(card, 17).tile.m, 32);
  EXPECT_EQ(choice_of(card, 256).tile.m, 64);
  EXPECT_EQ(choice_of(card, 257).tile.m, 128);
  EXPECT_EQ(choice_of(card, 1, ScaledKernels::sglang).tile.m, 128);
  EXPECT_TRUE(choice_of(card, 1).persistent);
  EXPECT_EQ(choice_of(card, 4096).cluster_m, 1);
  Context context;
  context.engine = Launcher::vllm;
  const Launch fp4 = plan(Gemm{1, 4096, 8192}, *format_from("nvfp4"), *find_gpu(card), context)->launches.back();
  EXPECT_EQ(fp4.ctas, 4096 / 128);
  EXPECT_DOUBLE_EQ(in_ops(fp4.tasks.front().each.tensor), 2.0 * 128 * 128 * 8192);
}

// Nobody's nvfp4 kernels split k on tcgen05, however few tiles there are: 1 x 20 of 128 x 128, 200 steps of 256 each.
TEST(ScaledMm, DatacentreBlackwellKeepsLongSumsOfFp4Whole) {
  for (const std::string_view engine : {"vllm", "sglang", "trtllm"}) {
    Context context;
    context.engine = Launcher::named(engine);
    const Launch fp4 = plan(Gemm{12, 2560, 51200}, *format_from("nvfp4"), *find_gpu("B200"), context)->launches.back();
    EXPECT_EQ(fp4.split, 1) << engine;
    EXPECT_EQ(fp4.task_count(), 2560 / 128) << engine;
    EXPECT_DOUBLE_EQ(fp4.tasks.front().steps, 51200 / 256) << engine;
  }
}

// Rows that SGLang's benchmark hands unconverted scales: n x k/128 of them are written as fp32 and packed to bytes.
TEST(ScaledMm, ScalesAreConvertedForTcgen05) {
  const auto launches = [](std::string_view engine, std::string_view gpu) {
    Context context;
    context.engine = Launcher::named(engine);
    return plan(Gemm{64, 4096, 2048}, *format_from("fp8_block"), *find_gpu(gpu), context)->launches;
  };
  EXPECT_EQ(launches("sglang", "H200-SXM").size(), 2u);
  EXPECT_EQ(launches("trtllm", "B200").size(), 2u);
  const std::vector<Launch> blackwell = launches("sglang", "B200");
  ASSERT_EQ(blackwell.size(), 6u);
  EXPECT_EQ(blackwell[3].name, "spread_scales");
  EXPECT_DOUBLE_EQ(in_bytes(blackwell[3].total().l2_store), 4.0 * 4096 * (2048 / 128));
  EXPECT_EQ(blackwell[4].name, "pack_scales");
  EXPECT_DOUBLE_EQ(in_bytes(blackwell[4].total().l2_store), 4096.0 * (2048 / 128));
  EXPECT_EQ(blackwell[5].name, "gemm");
}

// vLLM: scales of whole tiles are zeroed first, 128 rows by 2048 / 16 blocks for 5 rows.
TEST(ScaledMm, VllmZeroesScalesOfFp4) {
  const auto launches = [](std::string_view engine) {
    Context context;
    context.engine = Launcher::named(engine);
    return plan(Gemm{5, 4096, 2048}, *format_from("nvfp4"), *find_gpu("B200"), context)->launches;
  };
  ASSERT_EQ(launches("vllm").size(), 3u);
  EXPECT_EQ(launches("vllm").front().name, "zero_scales");
  EXPECT_DOUBLE_EQ(in_bytes(launches("vllm").front().total().l2_store), 128.0 * 2048 / 16);
  EXPECT_EQ(launches("sglang").size(), 2u);
}

TEST(ScaledMm, OnlyEnginesTakeIt) {
  Context context;
  const Gpu gpu = *find_gpu("H200-SXM");
  const auto kernels = [&](std::string_view format) { return scaled_kernels(*format_from(format), gpu, context); };
  EXPECT_FALSE(kernels("fp8"));
  context.engine = Launcher::vllm;
  EXPECT_EQ(kernels("fp8"), ScaledKernels::vllm);
  EXPECT_FALSE(kernels("bf16"));
  EXPECT_FALSE(kernels("nvfp4"));
  context.engine = Launcher::trtllm;  // cuBLAS
  EXPECT_FALSE(kernels("fp8"));
  EXPECT_EQ(kernels("fp8_block"), ScaledKernels::trtllm_blocks);
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
  // 1024 atomics in line, beside the one step over the columns.
  EXPECT_DOUBLE_EQ(launches("vllm").front().joining_clocks, 1024 * 11.5);
  EXPECT_DOUBLE_EQ(launches("vllm").front().tasks.front().steps, 1);
  EXPECT_DOUBLE_EQ(launches("trtllm").front().joining_clocks, 0);
}

TEST(ScaledMm, ResultsLeaveAdaSlowly) {
  const auto epilogue = [](const char* gpu, Count n, std::string_view engine, std::string_view format = "fp8") {
    Gemm shape;
    shape.m = 4096, shape.n = n, shape.k = 64;
    Context context;
    context.engine = Launcher::named(engine);
    return plan(shape, *format_from(format), *find_gpu(gpu), context)->launches.back().epilogue_clocks;
  };
  EXPECT_DOUBLE_EQ(epilogue("L40S", 16384, "vllm"), 0.95 * 128 * 128);
  EXPECT_DOUBLE_EQ(epilogue("L40S", 8192, "vllm"), 2.8 * 256 * 128);
  EXPECT_DOUBLE_EQ(epilogue("L40S", 8192, "sglang"), 0.4 * 128 * 128);
  EXPECT_EQ(epilogue("L40S", 8192, "trtllm"), 0);
  EXPECT_EQ(epilogue("RTX-PRO-6000-Blackwell-Server", 8192, "vllm"), 0);
  EXPECT_EQ(epilogue("H100-SXM", 8192, "vllm"), 0);
}

}  // namespace
}  // namespace tilecast
