#include "tune/triton_cost.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/moe.h"
#include "support/csv.h"
#include "test_paths.h"
#include "tune/rank.h"

namespace tilecast {
namespace {

const Format& bf16() {
  static const Format format = *format_from("bf16");
  return format;
}
const Gpu& h200() {
  static const Gpu gpu = *find_gpu("H200-SXM");
  return gpu;
}
const MathPath& tensor() {
  static const MathPath path = *math_path(bf16(), h200());
  return path;
}

// Norms that take the larger part alone, and round numbers: sums a hand can do.
TritonConstants plain() {
  TritonConstants t;
  t.warpgroup_shared = 1.5, t.load_slots = 10, t.latency = 1000, t.piece = 0, t.prologue = 5000;
  t.step_norm = t.dram_norm = 1000, t.idle_cta = 0;
  return t;
}

TritonCost cost(const std::vector<Count>& rows, Count experts, Count n, Count k, const TritonConfig& config,
                const TritonConstants& constants = plain(), const Gpu& gpu = h200()) {
  return triton_cost({rows, experts, n, k, 1, true}, config, bf16(), tensor(), gpu, constants);
}

TEST(TritonConfig, TextsReadBack) {
  const TritonConfig config{16, 64, 128, 1, 4, 5};
  EXPECT_EQ(text_of(config), "16,64,128,1,4,5");
  EXPECT_EQ(triton_config_from("16,64,128,1,4,5"), config);
  for (const char* bad : {"", "16", "16,64,128,1,4", "16,64,128,1,4,5,6", "16,64,128,1,4,x", "16,64,128,1,4,-5",
                          "16,64,128,1,4,99999999999", "16,64,128,1,4,5 "})
    EXPECT_FALSE(triton_config_from(bad)) << bad;
}

// Shared memory exactly as Triton 3.6 compiled 301 configurations for H200; registers about so.
TEST(TritonConfig, FootprintsAsCompiled) {
  auto csv = CsvReader::open(TILECAST_SOURCE_DIR "/data/measurements/h200_fused_moe_binaries.csv");
  ASSERT_TRUE(csv) << csv.error().line();
  int rows = 0, near = 0;
  while (*csv->next()) {
    const auto whole = [&](std::string_view name) { return static_cast<int>(*to_count((*csv)[*csv->column(name)])); };
    const TritonConfig config{whole("BLOCK_SIZE_M"), whole("BLOCK_SIZE_N"), whole("BLOCK_SIZE_K"), 1,
                              whole("num_warps"),    whole("num_stages")};
    const TritonFootprint found = footprint_of(config, bf16(), h200());
    EXPECT_EQ(in_bytes(found.cta.shared_memory), whole("shared_bytes")) << text_of(config);
    near += std::abs(found.cta.registers - whole("registers")) <= 18;
    ++rows;
  }
  EXPECT_EQ(rows, 301);
  EXPECT_GE(near, 9 * rows / 10);
}

TEST(TritonConfig, SaysWhatCannotRun) {
  EXPECT_EQ(why_illegal({128, 256, 64, 1, 8, 4}, bf16(), h200()), "");
  EXPECT_EQ(why_illegal({128, 256, 64, 1, 8, 5}, bf16(), h200()), "needs 240 KiB of shared memory, H200-SXM has 227");
  EXPECT_EQ(why_illegal({128, 256, 64, 1, 4, 3}, bf16(), h200()), "256 accumulators a thread");
  EXPECT_EQ(why_illegal({24, 64, 64, 1, 4, 3}, bf16(), h200()), "blocks and warps must be powers of two");
  // mma.sync keeps one buffer less: 2 x 48 KiB fit in A40's 99.
  EXPECT_EQ(why_illegal({128, 256, 64, 1, 8, 3}, bf16(), *find_gpu("A40")), "");
  const Format blocks = *format_from("fp8_block");
  EXPECT_NE(why_illegal({16, 64, 128, 1, 4, 3}, blocks, h200()), "");
  EXPECT_NE(why_illegal({16, 128, 256, 1, 4, 3}, blocks, h200()), "");
  EXPECT_EQ(why_illegal({16, 128, 128, 1, 4, 3}, blocks, h200()), "");
  for (const Gpu& gpu : built_in_gpus())
    for (const TritonConfig& config : triton_configs(bf16(), gpu)) {
      const TritonFootprint found = footprint_of(config, bf16(), gpu);
      ASSERT_GE(found.ctas_per_sm, 1) << gpu.name << " " << text_of(config);
      ASSERT_LE(found.cta.shared_memory * found.ctas_per_sm, gpu.shared_memory.per_sm);
    }
}

TEST(TritonConfig, DefaultsOfTheEngines) {
  Moe shape;
  shape.experts = 128, shape.topk = 8, shape.hidden = 2048, shape.inter = 768;
  shape.tokens = 64;
  EXPECT_EQ(text_of(vllm_default(shape, bf16(), DType::bf16)), "32,64,128,1,4,3");
  EXPECT_EQ(text_of(sglang_default(shape, bf16(), DType::bf16)), "16,32,64,1,4,3");
  shape.tokens = 4096;
  EXPECT_EQ(text_of(vllm_default(shape, bf16(), DType::bf16)), "128,128,64,1,8,3");
  EXPECT_EQ(text_of(sglang_default(shape, bf16(), DType::bf16)), "64,64,32,8,4,3");
  shape.experts = 8;
  EXPECT_EQ(vllm_default(shape, bf16(), DType::bf16).group, 16);
}

// 132 CTAs of 128 x 256, one step of 64: one on every SM.
TEST(TritonCost, OneRoundByHand) {
  const TritonCost found = cost({128}, 1, 256 * 132, 64, {128, 256, 64, 1, 8, 3});
  EXPECT_EQ(found.ctas, 132);
  EXPECT_EQ(found.ctas_per_sm, 1);
  EXPECT_EQ(found.rounds, 1);
  // Loads (128 + 256) x 64 x 2 = 49152 B. Shared memory: 128 rows and twice 256 columns read, 81920 B, and the loads
  // written: 131072 / 128 x 1.5 = 1536 cycles; tensor 1024, slots 240, L2 1056, wait (1000 + 1056) / 2.
  // Stores 128 x 256 x 2 / 64 = 1024 cycles.
  EXPECT_NEAR(in_microseconds(found.sm), (5000 + 1536 + 1024) / 1980.0, 1e-9);
  const double bytes = 256 * 132 * 64 * 2 + 128 * 64 * 2 + 128.0 * 256 * 132 * 2;
  EXPECT_NEAR(in_microseconds(found.dram), bytes / (4916.7e3 * 0.923), 1e-6);
  EXPECT_NEAR(in_microseconds(found.total), 0.57 + in_microseconds(found.sm), 1e-9);
  EXPECT_EQ(found.limit, "shared memory");
}

TEST(TritonCost, RoundsAndTails) {
  const TritonConfig config{128, 256, 64, 1, 8, 3};
  const double one = in_seconds(cost({128}, 1, 256 * 132, 640, config).sm);
  EXPECT_NEAR(in_seconds(cost({128}, 1, 256 * 133, 640, config).sm), 2 * one, 1e-12);
  EXPECT_NEAR(in_seconds(cost({384}, 1, 256 * 132, 640, config).sm), 3 * one, 1e-12);
}

// Two experts of 20 rows in blocks of 16: four blocks; the grid has ceil((40 + 8 x 15) / 16) = 10.
TEST(TritonCost, PaddingAndIdleCtas) {
  const TritonConfig config{16, 64, 128, 1, 4, 2};
  TritonConstants idle = plain();
  idle.idle_cta = 1980;
  const TritonCost free = cost({20, 20}, 8, 640, 512, config), paid = cost({20, 20}, 8, 640, 512, config, idle);
  EXPECT_EQ(free.ctas, 4 * 10);
  EXPECT_NEAR(in_microseconds(paid.sm - free.sm), 6 * 10 / (132.0 * free.ctas_per_sm), 1e-9);
}

// An expert of Mixtral (117 MB) does not stay in L2: blocks of rows that do not run together read it again.
TEST(TritonCost, GroupsShareWeightsThatOutlastL2) {
  const std::vector<Count> rows(8, 1024);
  const TritonCost alone = cost(rows, 8, 14336, 4096, {128, 256, 64, 1, 8, 4});
  const TritonCost grouped = cost(rows, 8, 14336, 4096, {128, 256, 64, 16, 8, 4});
  // 132 CTAs over 56 columns are 2.4 blocks of rows: four passes for eight blocks, one in groups of 16.
  const double weights = 8 * 14336.0 * 4096 * 2;
  EXPECT_NEAR(in_seconds(alone.dram - grouped.dram), 3 * weights / (4916.7e9 * 0.923), 0.15 * in_seconds(grouped.dram));
}

TEST(TritonCost, RepeatedLaunchesKeepSmallWeightsInL2) {
  const std::vector<Count> rows = {4, 4};
  TritonProblem problem{rows, 8, 1024, 1024, 1, false};
  EXPECT_EQ(in_seconds(triton_cost(problem, {16, 64, 128, 1, 4, 3}, bf16(), tensor(), h200()).dram), 0);
  problem.n = 1 << 16;
  EXPECT_GT(in_seconds(triton_cost(problem, {16, 64, 128, 1, 4, 3}, bf16(), tensor(), h200()).dram), 0);
}

TEST(TritonCost, MoreOfAnythingIsNeverSlower) {
  Gpu wider = h200();
  wider.dram.bandwidth = wider.dram.bandwidth * 2;
  Gpu faster = h200();
  faster.clock.max = faster.clock.max * 1.5;
  const TritonConstants shipped;
  for (const Count tokens : {1, 30, 700})
    for (const TritonConfig& config : triton_configs(bf16(), h200())) {
      const std::vector<Count> rows(16, tokens);
      const Seconds base = cost(rows, 16, 1536, 2048, config, shipped).total;
      ASSERT_LE(cost(rows, 16, 1536, 2048, config, shipped, wider).total, base) << text_of(config);
      ASSERT_LE(cost(rows, 16, 1536, 2048, config, shipped, faster).total, base) << text_of(config);
      ASSERT_GE(cost(rows, 16, 1536, 4096, config, shipped).total, base) << text_of(config);
      ASSERT_GE(cost(rows, 16, 3072, 2048, config, shipped).total * (1 + 1e-9), base) << text_of(config);
    }
}

TEST(TuneRank, BestFirstAndTiesOnce) {
  Moe shape;
  shape.tokens = 16, shape.experts = 8, shape.topk = 2, shape.hidden = 4096, shape.inter = 1792;
  const std::vector<TritonConfig> configs = triton_configs(bf16(), h200());
  const auto ranked = rank_fused_moe(shape, bf16(), h200(), configs);
  ASSERT_TRUE(ranked);
  EXPECT_EQ(ranked->size(), configs.size());
  for (std::size_t i = 1; i < ranked->size(); ++i) ASSERT_LE((*ranked)[i - 1].forecast, (*ranked)[i].forecast);
  // One block of rows an expert: its group cannot matter, so five different tiles.
  const auto five = distinct_best(*ranked, 5);
  ASSERT_EQ(five.size(), 5u);
  for (const RankedConfig& one : five) {
    EXPECT_EQ(one.config.group, 1);
    ASSERT_EQ(one.passes.size(), 2u);
    EXPECT_DOUBLE_EQ(in_seconds(one.forecast), in_seconds(one.passes[0].total + one.passes[1].total));
  }
  shape.pass = MoePass::up;
  const auto up = rank_fused_moe(shape, bf16(), h200(), {&five[0].config, 1});
  EXPECT_EQ(up->front().forecast, five[0].passes[0].total);
  EXPECT_FALSE(rank_fused_moe(shape, bf16(), *find_gpu("MI300X"), configs).ok());
  EXPECT_FALSE(rank_fused_moe(shape, bf16(), *find_gpu("P100-SXM"), configs).ok());
}

}  // namespace
}  // namespace tilecast
