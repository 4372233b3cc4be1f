#include "kernel/gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/cublas_wgmma.h"
#include "kernel/gemm_testing.h"
#include "kernel/gemm_traffic.h"
#include "kernel/pipeline.h"
#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

const Operand& operand(const Launch& launch, std::string_view name) {
  for (const Operand& o : launch.operands)
    if (o.name == name) return o;
  ADD_FAILURE() << "no operand " << name;
  return launch.operands.all().front();
}

TEST(Gemm, LargeProductByHand) {
  const Launch launch = launch_of({1, 4096, 4096, 4096}, large_choice());
  EXPECT_EQ(launch.ctas, 132);          // persistent
  EXPECT_EQ(launch.task_count(), 512);  // 32 rows x 16 columns of tiles
  EXPECT_DOUBLE_EQ(in_ops(launch.total().tensor), 2.0 * 4096 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(in_ops(launch.required.tensor), 2.0 * 4096 * 4096 * 4096);
  // A pair asks once for its 256 columns of w: 128 + 256 / 2 rows of 8 KiB a tile.
  EXPECT_DOUBLE_EQ(in_bytes(launch.tasks.front().each.l2_load), 256 * 8192.0);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_store), 32 * kMiB);
  EXPECT_DOUBLE_EQ(in_bytes(operand_bytes(launch, false)), 64 * kMiB);
  EXPECT_DOUBLE_EQ(in_bytes(operand_bytes(launch, true)), 32 * kMiB);
  EXPECT_EQ(launch.tasks.front().steps, 64);
}

TEST(Gemm, PaddingCountsInTasksOnly) {
  const Launch launch = launch_of({1, 17, 4096, 4096}, plain_choice(24, 64));
  EXPECT_EQ(launch.ctas, 64);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().tensor) / in_ops(launch.required.tensor), 24.0 / 17);
  // Rows beyond the edge are not read: x once per column of tiles, w once.
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 64 * 17 * 8192.0 + 4096 * 8192.0);
}

TEST(Gemm, SwappedTilesAndPersistentPaddingOfAStream) {
  GemmChoice choice = plain_choice(8, 64);
  choice.persistent = true;
  choice.cluster_n = 2;
  choice.concurrent = 132;
  // H200, m=1 n=4096 k=4096: 64 tiles; each asks for 64 rows of w and half of 8 rows of x.
  const Launch launch = launch_of({1, 1, 4096, 4096}, choice);
  EXPECT_EQ(launch.ctas, 64);
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_load), 64 * (64 + 4) * 8192.0);
}

TEST(Gemm, SplitWritesPartialSumsThatASecondKernelAdds) {
  const Launch launch = launch_of({1, 256, 4096, 14336}, plain_choice(128, 128, 2));
  EXPECT_EQ(launch.ctas, 2 * 32 * 2);
  EXPECT_EQ(launch.tasks.front().steps, 112);  // 224 steps of 64 in two parts
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_store), 4.0 * 256 * 4096 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(operand(launch, "partial sums").size), 4.0 * 256 * 4096 * 2);
  EXPECT_EQ(operand(launch, "partial sums").role, Operand::Role::workspace);

  const Plan plan = planned(Gemm{16, 4096, 16384}, "bf16", "H200");
  ASSERT_EQ(plan.launches.size(), 2u);
  const Launch& reduce = plan.launches.back();
  const int split = plan.launches.front().split;
  EXPECT_GT(split, 1);
  EXPECT_EQ(reduce.name, "split_k_reduce");
  EXPECT_EQ(reduce.ctas, 128);  // 32 columns and 16 rows each
  EXPECT_DOUBLE_EQ(in_bytes(reduce.total().l2_load), 4.0 * 16 * 4096 * split);
  EXPECT_DOUBLE_EQ(in_bytes(reduce.total().l2_store), 2.0 * 16 * 4096);
}

TEST(Gemm, PartsOfASplitPadTheSum) {
  // 256 steps in 11 parts: 24 each (tensor operations of case tc008 on H200: 1.031 of the plain product).
  const Launch launch = launch_of({1, 64, 256, 16384}, plain_choice(32, 64, 11));
  EXPECT_EQ(launch.ctas, 88);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().tensor) / in_ops(launch.required.tensor), 11.0 * 24 / 256);
}

TEST(Gemm, WholeClustersAreComputed) {
  GemmChoice choice = plain_choice(48, 64);
  choice.persistent = true;
  choice.cluster_m = 4;
  choice.cluster_n = 2;
  choice.concurrent = 132;
  const Launch launch = launch_of({1, 512, 512, 512}, choice);
  EXPECT_EQ(launch.ctas, 12 * 8);                              // 11 rows of tiles
  EXPECT_DOUBLE_EQ(in_ops(launch.total().tensor), 301989888);  // measured: tc017
}

TEST(Gemm, BytesOfFormats) {
  const GemmProblem p{1, 512, 4096, 4096};
  const double x = 512.0 * 4096, w = 4096.0 * 4096;
  const struct {
    std::string_view dtype, gpu;
    double weight_bits, activation_bits;
  } cases[] = {{"bf16", "H200", 16, 16},
               {"fp8_static", "H200", 8, 8},
               {"int4_wo", "H200", 4.125, 16},
               {"int8_wo", "H200", 8, 16},
               {"nvfp4", "B200", 4.5, 4.5},
               {"mxfp4", "B200", 4.25, 4.25},
               {"fp8_block", "H200", 8 + 1 / 512.0, 8.25}};
  for (const auto& c : cases) {
    const Launch launch = launch_of(p, plain_choice(128, 128), c.dtype, c.gpu);
    EXPECT_DOUBLE_EQ(in_bytes(operand(launch, "w").size), w * c.weight_bits / 8) << c.dtype;
    EXPECT_DOUBLE_EQ(in_bytes(operand(launch, "x").size), x * c.activation_bits / 8) << c.dtype;
    EXPECT_DOUBLE_EQ(in_bytes(operand(launch, "y").size), 2 * 512.0 * 4096) << c.dtype;
  }
}

TEST(Gemm, UnpackedWeightsCostVectorOperations) {
  const Launch packed = launch_of({1, 512, 4096, 4096}, plain_choice(128, 128), "int4_wo");
  EXPECT_DOUBLE_EQ(in_ops(packed.total().vector), 2.0 * 3 * 4096 * 4096 * 4);  // three slots a weight and row of tiles
  EXPECT_EQ(in_ops(launch_of({1, 512, 4096, 4096}, plain_choice(128, 128)).total().vector), 0);
}

TEST(Gemm, DynamicFormatsQuantiseFirst) {
  const Plan per_tensor = planned(Gemm{4096, 4096, 4096}, "fp8", "H200");
  ASSERT_EQ(per_tensor.launches.size(), 3u);
  EXPECT_EQ(per_tensor.launches[0].name, "absmax");
  EXPECT_EQ(per_tensor.launches[1].name, "quantize");
  EXPECT_EQ(per_tensor.launches[2].name, "gemm");
  EXPECT_DOUBLE_EQ(in_bytes(operand_bytes(per_tensor.launches[1], false)), 0);  // x again, out of the cache
  EXPECT_EQ(planned(Gemm{4096, 4096, 4096}, "nvfp4", "B200").launches.size(), 2u);
  EXPECT_EQ(planned(Gemm{4096, 4096, 4096}, "fp8_static", "H200").launches.size(), 1u);
}

TEST(Gemm, BatchesMultiplyEverything) {
  const Launch one = launch_of({1, 256, 256, 128}, plain_choice(64, 64));
  const Launch many = launch_of({12, 256, 256, 128}, plain_choice(64, 64));
  EXPECT_EQ(many.ctas, 12 * one.ctas);
  EXPECT_EQ(many.total().tensor, one.total().tensor * 12);
  EXPECT_EQ(many.total().l2_load, one.total().l2_load * 12);
  EXPECT_EQ(operand_bytes(many, false), operand_bytes(one, false) * 12);
}

TEST(GemmTraffic, LargeProductsStreamOperandsAgain) {
  const Launch launch = launch_of({1, 4096, 4096, 4096}, large_choice());
  // 132 CTAs walk 16 columns of tiles in groups of 8.25 rows: x once, w for each of 32 / 8.25 groups.
  EXPECT_DOUBLE_EQ(operand(launch, "x").passes, 1);
  EXPECT_DOUBLE_EQ(operand(launch, "w").passes, 32 / 8.25);
  EXPECT_NEAR(in_bytes(operand(launch, "w").reuse_distance) / kMiB, 32 + 8.25 + 8.25, 1e-9);
}

TEST(GemmTraffic, SmallProductsReadOnce) {
  const Launch launch = launch_of({1, 2048, 2048, 2048}, large_choice());
  EXPECT_DOUBLE_EQ(operand(launch, "x").passes, 1);
  EXPECT_DOUBLE_EQ(operand(launch, "w").passes, 1);
}

TEST(GemmTraffic, NeighboursShareRequests) {
  GemmChoice alone = large_choice(), shared = large_choice();
  shared.coalesced = 4;
  EXPECT_LT(launch_of({1, 4096, 4096, 4096}, shared).total().l2_load,
            launch_of({1, 4096, 4096, 4096}, alone).total().l2_load);
  // Never less than the operands themselves.
  EXPECT_GE(launch_of({1, 256, 256, 4096}, shared).total().l2_load, bytes(2.0 * 256 * 8192));
}

// Four neighbours stacked along m load w once for all: 128 + 256 / 4 elements a step are the fewest. 0.7 of the loads
// are merged in the first round, an eighth of that (1024^-0.3) after 1024.
TEST(GemmTraffic, LoadsThatReachL2ByHand) {
  const GemmTile tile{128, 256};
  const LoadShares first = asked_of_l2(tile, {.coalesced = 4}, 8, 8, 1);
  EXPECT_DOUBLE_EQ(first.x, 1);
  EXPECT_DOUBLE_EQ(first.w, 1 - 0.75 * 0.7);
  EXPECT_NEAR(asked_of_l2(tile, {.coalesced = 4}, 8, 8, 1024).w, 1 - 0.75 * 0.7 / 8, 1e-12);

  const LoadShares cluster = asked_of_l2(tile, {.cluster_m = 2}, 8, 8, 1024);  // multicast does not drift apart
  EXPECT_DOUBLE_EQ(cluster.x, 1);
  EXPECT_DOUBLE_EQ(cluster.w, 0.5);

  const LoadShares alone = asked_of_l2(tile, {.coalesced = 4}, 1, 1, 1);  // no neighbour to share with
  EXPECT_DOUBLE_EQ(alone.x, 1);
  EXPECT_DOUBLE_EQ(alone.w, 1);
}

TEST(GemmProperties, PlansCoverTheWork) {
  for (const std::string_view gpu : {"V100-SXM", "A100-SXM-80GB", "L40S", "H200", "B200"})
    for (const GemmProblem& p :
         {GemmProblem{1, 1, 4096, 4096}, {1, 37, 1001, 999}, {1, 4096, 4096, 4096}, {7, 300, 64, 40}}) {
      const Plan plan =
          p.batch > 1 ? planned(Bmm{p.batch, p.m, p.n, p.k}, "fp16", gpu) : planned(Gemm{p.m, p.n, p.k}, "fp16", gpu);
      const Launch& launch = plan.launches.front();
      EXPECT_GE(launch.total().tensor, launch.required.tensor) << gpu;
      EXPECT_GE(launch.ctas, 1) << gpu;
      EXPECT_EQ(plan.launches.size(), launch.split > 1 ? 2u : 1u) << gpu;
    }
}

TEST(GemmChoice, HopperTakesCublasTiles) {
  const Gpu gpu = *find_gpu("H200");
  const MathPath math = *math_path(*format_from("bf16"), gpu);
  const auto chosen = [&](Count m, Count n, Count k) {
    return choose_gemm({1, m, n, k}, math, gpu, GemmRoutine::linear);
  };
  const GemmChoice large = chosen(4096, 4096, 4096);
  EXPECT_EQ(large.tile.m, 128);
  EXPECT_EQ(large.tile.n, 256);
  EXPECT_EQ(large.cluster_m, 2);
  EXPECT_EQ(large.cluster_n, 1);
  EXPECT_EQ(large.split, 1);
  const GemmChoice decode = chosen(1, 4096, 4096);
  EXPECT_EQ(decode.tile.m, 8);
  EXPECT_EQ(decode.tile.n, 64);
  EXPECT_EQ(decode.split, 2);
  EXPECT_FALSE(chosen(17, 257, 1000).persistent);  // rows of no whole 16 bytes
}

// 27 x 16 tiles of 152 x 256 fill three rounds of 145 SMs: pairs along n keep to them, pairs along m would need 448
// places of 435.
TEST(GemmChoice, ClustersCostNoRoundMore) {
  Gpu gpu = *find_gpu("H100");
  gpu.sms = 145;
  const GemmProblem problem{1, 4096, 4096, 4096};
  const CtaCluster cluster = cluster_for(problem, 152, 256, 1, gpu);
  EXPECT_EQ(cluster.m, 1);
  EXPECT_EQ(cluster.n, 2);
  EXPECT_EQ(cluster_for(problem, 160, 256, 1, gpu).m, 2) << "26 rows are whole pairs, which ask for less";
}

// 512 tiles on 444 SMs: a second wave of 68 leaves them all of L2, so that splitting sums saves nothing.
TEST(GemmChoice, ALastWaveOfFewTilesIsNotSplit) {
  Gpu gpu = *find_gpu("B200");
  const MathPath math = *math_path(*format_from("bf16"), gpu);
  for (const int sms : {148, 222, 296, 370, 444}) {
    gpu.sms = sms;
    EXPECT_EQ(choose_gemm({1, 4096, 4096, 4096}, math, gpu, GemmRoutine::linear).split, 1) << sms;
  }
}

// No row of so few was fitted to; a tile of 128 rows would multiply 128 for two.
TEST(GemmChoice, TilesOfAFewFp32RowsLieAlongThem) {
  for (const char* name : {"T4", "V100-PCIe", "A100-PCIe-40GB"}) {
    const Gpu gpu = *find_gpu(name);
    const MathPath math = *math_path(*format_from("fp32"), gpu);
    for (const Count rows : {2, 3, 4, 8})
      EXPECT_LE(choose_gemm({1, rows, 28672, 4096}, math, gpu, GemmRoutine::linear).tile.m, 64) << name << " " << rows;
  }
}

TEST(Gemm, RocblasTakesTheTileOfOneProductWhateverTheBatch) {
  const auto tile = [](Count batch) {
    const auto planned = plan(Bmm{batch, 64, 196, 256}, *format_from("fp32"), *find_gpu("MI210"), {});
    return planned->launches[0].tile;
  };
  EXPECT_EQ(tile(1).m * tile(1).n, tile(1000).m * tile(1000).n);
  EXPECT_LE(tile(1000).m * tile(1000).n, 32 * 32);  // enough of them to occupy 104 compute units, nearly
}

Launch fp32_product(const char* gpu, Count m, Count n, Count k) {
  return plan(Gemm{m, n, k}, *format_from("fp32"), *find_gpu(gpu), {})->launches.front();
}

// A tile of 128 x 32: 1/128 + 1/32 elements a result, in 28 slots each on Pascal.
TEST(Gemm, SmallTilesPayForTheirLoads) {
  const Launch pascal = fp32_product("P100-PCIe", 4096, 4096, 4096);
  ASSERT_EQ(pascal.tile.m * pascal.tile.n, 128 * 32);
  EXPECT_NEAR(pascal.math_share, 1 / std::pow(1 + std::pow(28 * (1 / 128.0 + 1 / 32.0), 4), 0.25), 1e-12);
  const Launch volta = fp32_product("V100-PCIe", 4096, 4096, 4096);
  const double elements = 1.0 / volta.tile.m + 1.0 / volta.tile.n;
  EXPECT_NEAR(volta.math_share, 1 / std::pow(1 + std::pow(20 * elements, 4), 0.25), 1e-12);
  EXPECT_EQ(only_launch(Gemm{4096, 4096, 4096}, "bf16", "A100-SXM-80GB").math_share, 1);  // asynchronous copies
}

// 128 rows of 16 KiB fill a page of 2 MiB and 32 a quarter of one: four pages hold a step's. 128 of 64 KiB fill four
// and 32 one, the fifth of five waits: 64 x (1/128 + 1/32) x (1 - 4/5) of the time. Rows that begin anywhere touch one
// more.
TEST(Gemm, PascalIsSlowerWhereRowsLieInManyPages) {
  const auto share = [](const char* gpu, Count m, Count k) { return fp32_product(gpu, m, 4096, k).math_share; };
  const double near = share("P100-PCIe", 4096, 4096);
  EXPECT_DOUBLE_EQ(share("P100-PCIe", 4096, 8192), near);
  EXPECT_NEAR(near / share("P100-PCIe", 4096, 16384), 1 + 2.5 * (1 - 4 / 5.0), 1e-12);
  EXPECT_NEAR(near / share("P100-PCIe", 4096, 10240), 1 + 2.5 * (1 - 4 / (2.5 + 1 + 0.625 + 1)), 1e-12);
  EXPECT_GT(share("P100-PCIe", 512, 16384), share("P100-PCIe", 4096, 16384));  // few waves: CTAs keep together
  const Launch volta = fp32_product("V100-PCIe", 4096, 4096, 16384);
  const double elements = 1.0 / volta.tile.m + 1.0 / volta.tile.n;
  EXPECT_NEAR(volta.math_share, 1 / std::pow(1 + std::pow(20 * elements, 4), 0.25), 1e-12);  // its loads alone
}

// 4096^3 on an H200: 60.6 TFLOP/s; tiles of 16 rows would ask L2 for 29 GiB.
TEST(Gemm, ProductsOfDoublesTakeLargeTiles) {
  const Launch launch = only_launch(Gemm{4096, 4096, 4096}, "fp64", "H200-SXM");
  EXPECT_EQ(launch.math.pipe, Pipe::tensor);
  EXPECT_GE(std::min(launch.tile.m, launch.tile.n), 64);
}

Gemm product(Count m, Count n, Count k) {
  Gemm g;
  g.m = m, g.n = n, g.k = k;
  return g;
}

// 4096 columns start every row at 16 bytes, 4100 at 4, 4097 anywhere: 790, 240 to 277 and 96 to 134 TFLOP/s on an H200.
TEST(Gemm, RowsThatStartAnywhereRunOlderKernels) {
  const auto share = [](Count n, Count k) { return only_launch(product(4096, n, k), "bf16", "H200-SXM").math_share; };
  EXPECT_DOUBLE_EQ(share(4096, 4096), 1);
  EXPECT_NEAR(share(4100, 4096), 0.28, 0.02);
  EXPECT_NEAR(share(4096, 4098), 0.28, 0.02);
  EXPECT_NEAR(share(4097, 4096), 0.145, 0.02);
  EXPECT_NEAR(share(4096, 4095), 0.145, 0.02);
  EXPECT_NEAR(share(4100, 4097), 0.145, 0.02);
  const Launch fp32 = only_launch(product(4096, 4097, 4096), "fp32", "H200-SXM");
  EXPECT_EQ(fp32.tile.m * fp32.tile.n, 128 * 128);
  EXPECT_EQ(fp32.math_share, 1);
  const auto tf32 = [](Count n, Count k) { return only_launch(product(4096, n, k), "tf32", "H200-SXM").math_share; };
  EXPECT_NEAR(tf32(4100, 4096), 0.95, 0.05) << "16 bytes are four of its elements";
  EXPECT_NEAR(tf32(4098, 4096), 0.28, 0.03);
  EXPECT_NEAR(tf32(4096, 4095), 0.28, 0.03);
}

// gemv2T_kernel_val on an H200: 512 CTAs of 128 threads for 4096 columns.
TEST(Gemm, OneRowOfFp32IsAStream) {
  const Launch launch = only_launch(product(1, 4096, 1024), "fp32", "H200-SXM");
  EXPECT_EQ(launch.name, "gemv");
  EXPECT_EQ(launch.character, Character::streaming);
  EXPECT_EQ(launch.ctas, 512);
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 2.0 * 4096 * 1024);
  EXPECT_DOUBLE_EQ(in_bytes(operand_bytes(launch, false)), 4.0 * (4096 * 1024 + 1024));
  EXPECT_EQ(planned(product(1, 4096, 4096), "bf16", "H200-SXM").launches.front().name, "gemm");
  EXPECT_EQ(planned(product(1, 4097, 4096), "bf16", "H200-SXM").launches.front().name, "gemv");
}

// Kernels for fp32 on Hopper. A tile of 64 x 64 brings 1/32 element a result, 128 x 128 half as many: 15 slots for each
// of the others. A result takes 25 slots outside its sum, and a step of eight elements waits 430 clocks, where one of
// wgmma's, at the same clock, waits 150.
TEST(Gemm, LaterFp32KernelsPayForSmallTilesAndShortSums) {
  Bmm values;
  values.batch = 55, values.m = 116, values.n = 109, values.k = 128;
  const Launch launch = planned(values, "fp32", "H200-SXM").launches.front();
  ASSERT_EQ(launch.tile.m, 64);
  ASSERT_EQ(launch.tile.n, 64);
  EXPECT_NEAR(launch.math_share, 1 / (1 + 13 * (1 / 32.0 - 1 / 64.0)), 1e-12);
  EXPECT_DOUBLE_EQ(in_ops(launch.tasks.front().each.vector), 2.0 * 64 * 64 * (128 + 25));
  const double wgmma_step = pipeline_latency(*find_gpu("H200-SXM")).step_clocks;
  EXPECT_NEAR(launch.tasks.front().steps, 128 / 8 * 430 / wgmma_step, 1e-9);
}

TEST(Gemm, BatchedFp32OfFewColumnsTakesNoWiderTile) {
  Bmm values;
  values.batch = 64, values.m = 512, values.n = 64, values.k = 512;
  EXPECT_LE(planned(values, "fp32", "H200-SXM").launches.front().tile.n, 64);
}

// Tiles of 64 x 64 would fill the last wave of an L40S better, and ask its L2 for twice what it delivers.
TEST(Gemm, LargeProductsKeepToTilesThatL2CanFeed) {
  for (const char* card : {"L40S", "A100-SXM-80GB", "RTX-PRO-6000-Blackwell-Server"}) {
    const Gpu gpu = *find_gpu(card);
    const MathPath math = *math_path(*format_from("bf16"), gpu);
    const GemmTile tile = choose_gemm({1, 3585, 7168, 16384}, math, gpu, GemmRoutine::linear).tile;
    const double bytes_a_step = 2.0 * (tile.m + tile.n) * step_depth(math) * gpu.sms;
    const double clocks_a_step = 2.0 * tile.m * tile.n * step_depth(math) / math.ops_per_clock;
    EXPECT_LT(bytes_a_step / in_bytes(gpu.l2.per_clock), 1.3 * clocks_a_step) << card;
  }
}

}  // namespace
}  // namespace tilecast
