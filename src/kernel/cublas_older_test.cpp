// Kernels' names, grids and times: data/measurements/h200_products_kernels.csv.gz.
#include "kernel/cublas_older.h"

#include "kernel/gemm.h"
#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

Launch product(Count m, Count n, Count k, std::string_view dtype, std::string_view gpu = "H200-SXM") {
  return planned(Gemm{.m = m, .n = n, .k = k}, dtype, gpu).launches.front();
}

TEST(CublasOlder, WhoTakesThem) {
  const auto takes = [](std::string_view gpu, std::string_view dtype, Alignment alignment) {
    return takes_older(*math_path(*format_from(dtype), *find_gpu(gpu)), *find_gpu(gpu), alignment);
  };
  EXPECT_FALSE(takes("H200-SXM", "bf16", Alignment::full));
  EXPECT_TRUE(takes("H200-SXM", "bf16", Alignment::half));
  EXPECT_TRUE(takes("B200", "fp16", Alignment::none));
  EXPECT_TRUE(takes("H200-SXM", "tf32", Alignment::full));
  EXPECT_FALSE(takes("B200", "tf32", Alignment::full));
  EXPECT_FALSE(takes("H200-SXM", "fp32", Alignment::none));
  EXPECT_FALSE(takes("A100-SXM-80GB", "bf16", Alignment::none));  // its own instructions are those
  EXPECT_FALSE(takes("MI300X", "bf16", Alignment::none));
}

// cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1 and _256x128 for GPT-2's vocabulary, 64 by 64 for few
// tokens.
TEST(CublasOlder, TilesOfUnalignedRows) {
  const Launch many = product(4096, 50257, 1024, "bf16");
  EXPECT_EQ(many.tile.m, 128);
  EXPECT_GE(many.tile.n, 128);
  EXPECT_LE(product(16, 4097, 4096, "bf16").tile.m, 64);
  EXPECT_GT(product(16, 4097, 4096, "bf16").split, 1);
}

// A misaligned row costs the more the less of it is aligned: 96, 280 and 790 TFLOP/s.
TEST(CublasOlder, RatesFallWithAlignment) {
  const auto rate = [](Count n) { return product(4096, n, 4096, "bf16").math_share; };
  EXPECT_NEAR(rate(4096) / rate(4098), 1 / 0.31, 0.4);
  EXPECT_NEAR(rate(4098) / rate(4097), 2.1, 0.4);
}

// sm90_xmma_gemm_f32f32_tf32f32 runs 4096 x 4096 x 4096, cutlass_80_tensorop_s1688gemm 256 x 256 x 256.
TEST(CublasOlder, SmallProductsOfTf32StayWithAmpere) {
  EXPECT_GT(product(4096, 4096, 4096, "tf32").math_share, 2 * product(256, 256, 256, "tf32").math_share);
}

// Weights' gradients lie across k on both sides.
TEST(CublasOlder, Tf32AcrossKIsSlower) {
  const auto share = [](Layout layout) {
    return planned(Gemm{.m = 4096, .n = 4096, .k = 4096, .layout = layout}, "tf32", "H200-SXM")
        .launches.front()
        .math_share;
  };
  EXPECT_LT(share(Layout::nt), share(Layout::nn));
  EXPECT_DOUBLE_EQ(share(Layout::tn), share(Layout::nn));
}

}  // namespace
}  // namespace tilecast
