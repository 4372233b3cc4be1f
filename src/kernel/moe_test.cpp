#include "kernel/moe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "constants/product.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"
#include "kernel/moe_loads.h"
#include "kernel/pipeline.h"

namespace tilecast {
namespace {

Plan plan_of(const Moe& shape, std::string_view dtype, std::string_view gpu) {
  const auto planned = plan(shape, *format_from(dtype), *find_gpu(gpu), {});
  EXPECT_TRUE(planned) << (planned ? "" : planned.error().line());
  return planned ? *planned : Plan{};
}

const Launch& launch_named(const Plan& plan, std::string_view name) {
  for (const Launch& launch : plan.launches)
    if (launch.name == name) return launch;
  ADD_FAILURE() << "no launch " << name;
  return plan.launches.front();
}

Operand operand_named(const Launch& launch, std::string_view name) {
  for (const Operand& operand : launch.operands)
    if (operand.name == name) return operand;
  ADD_FAILURE() << "no operand " << name;
  return {};
}

Moe moe(Count tokens, Count experts, Count topk) {
  Moe shape;
  shape.tokens = tokens;
  shape.hidden = 64;
  shape.inter = 32;
  shape.experts = experts;
  shape.topk = topk;
  return shape;
}

TEST(MoeLoads, BalancedRowsAreAsEvenAsPossible) {
  Moe shape = moe(5, 4, 2);
  EXPECT_EQ(moe_loads(shape).rows, (std::vector<Count>{3, 3, 2, 2}));
  shape.ep = 2;
  const MoeLoads half = moe_loads(shape);
  EXPECT_EQ(half.rows, (std::vector<Count>{3, 2}));
  EXPECT_EQ(half.certain_rows, 5);
  EXPECT_EQ(half.certain_experts, 1);  // all five tokens may choose the same one here
  EXPECT_EQ(half.assumed_experts, 2);
  EXPECT_EQ(half.certain_tokens, 3);  // five rows of at most two per token
}

TEST(MoeLoads, FewTokensTouchFewExperts) {
  const MoeLoads loads = moe_loads(moe(1, 128, 8));
  EXPECT_EQ(loads.rows, std::vector<Count>(8, 1));
  EXPECT_EQ(loads.certain_experts, 8);
}

TEST(MoeLoads, PowerLawByHand) {
  // alpha 1 is log-uniform: quantiles 80^0.25 = 2.99 and 80^0.75 = 26.75 of [1, 80], scaled to 100 rows.
  Moe shape = moe(100, 2, 1);
  shape.distribution = ExpertDistribution::power_law;
  shape.alpha = 1;
  EXPECT_EQ(moe_loads(shape).rows, (std::vector<Count>{90, 10}));
  // No more rows than experts: [0.01, 2] instead; the two heaviest of eight shares round to one row, the others to
  // none.
  Moe few = moe(1, 8, 2);
  few.distribution = ExpertDistribution::power_law;
  few.alpha = 1;
  EXPECT_EQ(moe_loads(few).rows, (std::vector<Count>{1, 1}));
}

TEST(MoeLoads, PowerLawKeepsItsSumAndItsCap) {
  for (const Count tokens : {1, 2, 7, 64, 1000, 16384})
    for (const Count experts : {8, 128, 384})
      for (const double alpha : {1.01, 1.2, 3.0}) {
        Moe shape = moe(tokens, experts, 8);
        shape.distribution = ExpertDistribution::power_law;
        shape.alpha = alpha;
        const MoeLoads loads = moe_loads(shape);
        EXPECT_EQ(loads.total, tokens * 8);
        EXPECT_LE(loads.rows.front(), tokens);
        EXPECT_GE(loads.rows.size(), 8u);
        EXPECT_TRUE(std::is_sorted(loads.rows.rbegin(), loads.rows.rend()));
        EXPECT_EQ(loads.certain_experts, 8);
        shape.ep = 8;
        const MoeLoads rank = moe_loads(shape);
        EXPECT_GE(rank.total, tokens);  // the busiest of eight ranks has at least the mean
        EXPECT_LE(rank.rows.front(), tokens);
        EXPECT_TRUE(std::is_sorted(rank.rows.rbegin(), rank.rows.rend()));
        EXPECT_EQ(rank.certain_experts, 1);
      }
}

TEST(MoeLoads, LeftOverRowsGoToTheLightestExperts) {
  // alpha 1 on [0.01, 2], no more rows than experts: quantiles 0.01 x 200^(7/8, 5/8, 3/8, 1/8) = 1.03, 0.27, 0.07, 0.02
  // of 1.40. Two rows are 1.48, 0.39, 0.10 and 0.03, which round to one: the other touches a second expert.
  Moe shape = moe(2, 4, 1);
  shape.distribution = ExpertDistribution::power_law;
  shape.alpha = 1;
  EXPECT_EQ(moe_loads(shape).rows, (std::vector<Count>{1, 1}));
  // Many shares round to none, and what they leave over touches further experts: the public collector's own
  // construction touches 28.9 experts here in the mean of 25 draws.
  Moe many = moe(4, 128, 8);
  many.distribution = ExpertDistribution::power_law;
  EXPECT_NEAR(static_cast<double>(moe_loads(many).rows.size()), 28.9, 2);
}

TEST(MoeLoads, TheBusiestRankOfAPowerLaw) {
  Moe two = moe(100, 2, 1);
  two.distribution = ExpertDistribution::power_law;
  two.alpha = 1;
  two.ep = 2;  // one expert each: the heavier of 90 and 10
  EXPECT_EQ(moe_loads(two).rows, (std::vector<Count>{90}));
  // The same construction by random draws (25 of them): 3813 rows on the busiest rank, 36292 for eight times the
  // tokens.
  Moe shape = moe(2048, 128, 8);
  shape.distribution = ExpertDistribution::power_law;
  shape.ep = 8;
  EXPECT_NEAR(static_cast<double>(moe_loads(shape).total), 3813, 400);
  shape.tokens = 16384;
  EXPECT_NEAR(static_cast<double>(moe_loads(shape).total), 36292, 5000);
}

Launch first_product(const Moe& shape, std::string_view gpu, std::string_view engine, std::string_view source = {}) {
  Context context;
  context.engine = Launcher::named(engine);
  context.kernel_source = KernelSource::named(source);
  const auto planned = plan(shape, *format_from("bf16"), *find_gpu(gpu), context);
  return launch_named(*planned, "moe_gate_up");
}

TEST(Moe, EnginesHaveTheirOwnTritonConfigurations) {
  Moe shape = moe(4, 4, 2);  // no more tokens than experts
  shape.style = MoeStyle::triton;
  const Launch few = first_product(shape, "A100-SXM-80GB", "sglang");
  EXPECT_EQ((std::array{few.tile.m, few.tile.n, few.tile.k}), (std::array{16, 32, 64}));
  shape.tokens = 5;
  for (const Launch& more : {first_product(shape, "A100-SXM-80GB", "sglang"),
                             first_product(shape, "A100-SXM-80GB", "vllm", "vllm_fused_moe")})
    EXPECT_EQ((std::array{more.tile.m, more.tile.n, more.tile.k}), (std::array{64, 64, 32}));
  EXPECT_EQ(first_product(shape, "A100-SXM-80GB", "vllm").tile.n, 64);
  EXPECT_EQ(first_product(shape, "A100-SXM-80GB", "vllm").tile.k, 128);
}

TEST(Moe, UntunedAndTunedConfigurations) {
  Moe shape = moe(4096, 8, 2);
  shape.hidden = 4096;
  shape.inter = 14336;
  shape.style = MoeStyle::triton;
  EXPECT_GE(first_product(shape, "A100-SXM-80GB", "sglang").tile.n, 128);  // a tuned file
  EXPECT_EQ(first_product(shape, "L40S", "sglang").tile.n, 64);            // none
  shape.style = MoeStyle::grouped;
  EXPECT_EQ(first_product(shape, "H200-SXM", "sglang", "sglang_flashinfer_cutlass_moe").tile.n, 16);
  EXPECT_GE(first_product(shape, "H200-SXM", "trtllm", "moe_torch_flow_cutlass").tile.n, 128);
}

TEST(Moe, HalfLinesCostMoreOfL2AndDram) {
  Moe shape = moe(5, 4, 2);
  shape.style = MoeStyle::triton;
  const Launch half = first_product(shape, "A100-SXM-80GB", "sglang");
  // Ten rows and the weights of four experts, each read once by the one column and row of tiles.
  EXPECT_DOUBLE_EQ(in_bytes(half.total().l2_load), 1.7 * (10 * 64 * 2 + 4 * 64 * 64 * 2));
  EXPECT_DOUBLE_EQ(operand_named(half, "w13").passes, 1.5);
  EXPECT_DOUBLE_EQ(operand_named(first_product(shape, "A100-SXM-80GB", "vllm"), "w13").passes, 1);
}

// 2,048 elements are 64 steps of 32, or 32 of 64: the former wait twice as long. Of grouped products the depth of a
// step says nothing.
TEST(Moe, TritonWaitsForEveryStepHoweverShallow) {
  Moe shape = moe(4, 4, 2);
  shape.hidden = 2048;
  shape.style = MoeStyle::triton;
  const auto waits = [&](const char* gpu, Count tokens) {
    shape.tokens = tokens;
    const Gpu& card = *built_in_gpu(gpu);
    const bool finds_expert = card.tensor_generation() != TensorGeneration::mma;
    const double steps = first_product(shape, gpu, "sglang").tasks[0].steps * pipeline_latency(card).step_clocks;
    return steps - (finds_expert ? 5000 : 0);
  };
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM", "B200"}) {
    EXPECT_NEAR(waits(gpu, 5), 64 * 750, 1e-6) << gpu;
    EXPECT_NEAR(waits(gpu, 4), 32 * 750, 1e-6) << gpu;
  }
}

TEST(Moe, TritonWritesZerosForOtherRanks) {
  Moe shape = moe(64, 8, 2);  // 128 pairs, 32 of them here
  shape.ep = 4;
  shape.style = MoeStyle::triton;
  const Plan plan = plan_of(shape, "bf16", "A100-SXM-80GB");
  const Launch& second = launch_named(plan, "moe_down");
  EXPECT_DOUBLE_EQ(in_bytes(second.total().l2_store), 128 * 64 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(launch_named(plan, "moe_combine").total().l2_load), 128 * 64 * 2);
  EXPECT_EQ(launch_named(plan, "moe_activation").ctas, 128);
  shape.style = MoeStyle::grouped;
  const Plan grouped = plan_of(shape, "bf16", "A100-SXM-80GB");
  EXPECT_EQ(launch_named(grouped, "moe_activation").ctas, 32);
  EXPECT_DOUBLE_EQ(in_bytes(launch_named(grouped, "moe_combine").total().l2_store), 64 * 64 * 2);
}

TEST(Moe, GroupedTilesWeighL2) {
  // 704 rows fill eleven tiles of 64 without waste, but those would read the weights eleven times.
  Moe shape = moe(16384, 512, 22);
  shape.hidden = 8192;
  shape.inter = 5120;
  shape.style = MoeStyle::grouped;
  EXPECT_GE(launch_named(plan_of(shape, "bf16", "H200-SXM"), "moe_gate_up").tile.m, 128);
}

TEST(Moe, TritonPlanByHand) {
  const Plan plan = plan_of(moe(4, 4, 2), "bf16", "H100-SXM");  // two rows for each of four experts
  ASSERT_EQ(plan.launches.size(), 5u);
  const Launch& first = launch_named(plan, "moe_gate_up");
  EXPECT_EQ(first.tile.m, 16);
  EXPECT_EQ(first.tile.n, 64);
  EXPECT_EQ(first.tile.k, 128);
  ASSERT_EQ(first.tasks.size(), 1u);
  EXPECT_EQ(first.tasks[0].count, 4);  // one tile for each expert: 16 rows, 64 = 2 x 32 columns
  EXPECT_DOUBLE_EQ(in_ops(first.tasks[0].each.tensor), 1.8 * 2 * 16 * 64 * 128);  // mma.sync on Hopper
  EXPECT_DOUBLE_EQ(in_bytes(first.tasks[0].each.l2_load), 2 * 64 * 2 + 64 * 64 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(first.tasks[0].each.l2_store), 2 * 64 * 2);
  EXPECT_EQ(first.ctas, 5);  // 8 pairs + 4 x 15 rows of room, in blocks of 16
  EXPECT_DOUBLE_EQ(in_ops(first.required.tensor), 2.0 * 8 * 64 * 64);
  EXPECT_DOUBLE_EQ(in_bytes(operand_named(first, "w13").size), 4 * 64 * 64 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(operand_named(first, "tokens").size), 4 * 64 * 2);
  const Launch& second = launch_named(plan, "moe_down");
  EXPECT_DOUBLE_EQ(in_ops(second.required.tensor), 2.0 * 8 * 64 * 32);
  EXPECT_DOUBLE_EQ(in_bytes(operand_named(second, "w2").size), 4 * 64 * 32 * 2);
  const Launch& combine = launch_named(plan, "moe_combine");
  EXPECT_EQ(combine.ctas, 4);
  EXPECT_DOUBLE_EQ(in_bytes(combine.total().l2_load), 8 * 64 * 2);
  EXPECT_DOUBLE_EQ(in_bytes(combine.total().l2_store), 4 * 64 * 2);
}

Plan plan_by(const Moe& shape, std::string_view dtype, std::string_view gpu, std::string_view source) {
  Context context;
  context.kernel_source = KernelSource::named(source);
  return *plan(shape, *format_from(dtype), *find_gpu(gpu), context);
}

// SGLang's Triton experts hold mxfp4 weights as bf16; Marlin reads them packed.
TEST(Moe, SglangsTritonExpertsWidenMxfp4) {
  Moe shape = moe(64, 8, 2);
  const auto weights = [&](std::string_view source) {
    const Launch launch = launch_named(plan_by(shape, "w4a16_mxfp4", "L40S", source), "moe_gate_up");
    return in_bytes(operand_named(launch, "w13").size);
  };
  EXPECT_DOUBLE_EQ(weights("sglang_fused_moe_triton"), 8.0 * 64 * 64 * 2);
  EXPECT_LT(weights("sglang_marlin_moe"), 8.0 * 64 * 64);
}

// mma.sync has its full rate up to Ada, and less of Hopper's and Blackwell's.
TEST(Moe, MarlinRunsOnOlderInstructions) {
  const auto share = [](std::string_view gpu, std::string_view source) {
    return launch_named(plan_by(moe(64, 8, 2), "int4_wo", gpu, source), "moe_gate_up").math_share;
  };
  EXPECT_EQ(share("L40S", "sglang_marlin_moe"), 1);
  EXPECT_LT(share("H100-SXM", "sglang_marlin_moe"), 1);
  EXPECT_LT(share("B200", "sglang_marlin_moe"), share("H100-SXM", "sglang_marlin_moe"));
  EXPECT_EQ(share("B200", "sglang_flashinfer_trtllm_moe"), 1);
}

TEST(Moe, NarrowFormatsBringSmallKernels) {
  const auto launches = [](std::string_view dtype, std::string_view source) {
    return plan_by(moe(64, 8, 2), dtype, "B200", source).launches.size();
  };
  const std::size_t plain = launches("nvfp4", "");
  EXPECT_EQ(launches("nvfp4", "moe_torch_flow_cutlass"),
            plain + static_cast<std::size_t>(constants::kCutlassFp4Helpers));
  EXPECT_EQ(launches("nvfp4", "sglang_flashinfer_trtllm_moe"),
            plain + static_cast<std::size_t>(constants::kGeneratedHelpers));
  EXPECT_EQ(launches("bf16", "moe_torch_flow_cutlass"), launches("bf16", ""));
}

TEST(Moe, OnePassIsThatProductAlone) {
  Moe shape = moe(100, 8, 2);
  shape.style = MoeStyle::triton;
  const Plan both = plan_of(shape, "bf16", "H20");
  for (const auto& [pass, name] : {std::pair(MoePass::up, "moe_gate_up"), std::pair(MoePass::down, "moe_down")}) {
    shape.pass = pass;
    const Plan alone = plan_of(shape, "bf16", "H20");
    ASSERT_EQ(alone.launches.size(), 1u);
    EXPECT_EQ(alone.launches[0].name, name);
    EXPECT_EQ(alone.launches[0].total().tensor, launch_named(both, name).total().tensor);
    EXPECT_EQ(alone.launches[0].ctas, launch_named(both, name).ctas);
  }
}

TEST(Moe, RowsOfABlockInSynperfsSweep) {
  Moe shape = moe(0, 8, 2);
  shape.style = MoeStyle::triton;
  shape.pass = MoePass::up;
  const auto rows_of_block = [&](Count tokens, const char* gpu) {
    shape.tokens = tokens;
    Context context;
    context.engine = Launcher::sglang;
    context.kernel_source = KernelSource::fused_moe_kernel_default;
    return plan(shape, *format_from("bf16"), *find_gpu(gpu), context)->launches[0].tile.m;
  };
  EXPECT_EQ(rows_of_block(128, "H20"), 16);
  EXPECT_EQ(rows_of_block(129, "L20"), 32);
  EXPECT_EQ(rows_of_block(512, "A40"), 64);
  EXPECT_EQ(rows_of_block(513, "H800-SXM"), 128);
  EXPECT_EQ(rows_of_block(513, "A100-SXM-80GB"), 64);
}

TEST(Moe, EqualTileCountsAreOneGroup) {
  Moe shape = moe(40, 4, 2);
  shape.distribution = ExpertDistribution::given;
  shape.counts = {40, 33, 6, 1};  // blocks of 32: two, two, one, one
  shape.style = MoeStyle::triton;
  const Launch first = launch_named(plan_of(shape, "bf16", "A100-SXM-80GB"), "moe_gate_up");
  EXPECT_EQ(first.tile.m, 32);
  ASSERT_EQ(first.tasks.size(), 2u);
  EXPECT_EQ(first.tasks[0].count, 4);
  EXPECT_EQ(first.tasks[1].count, 2);
  EXPECT_DOUBLE_EQ(in_bytes(first.total().l2_load), 80 * 64 * 2 + 6 * 64 * 64 * 2);
}

TEST(Moe, OnlyCertainExpertsAreCharged) {
  Moe shape = moe(64, 128, 8);
  shape.distribution = ExpertDistribution::power_law;
  const Operand weights = operand_named(launch_named(plan_of(shape, "bf16", "H100-SXM"), "moe_gate_up"), "w13");
  EXPECT_DOUBLE_EQ(in_bytes(weights.least()), 8 * 64 * 64 * 2);
  EXPECT_GT(weights.size, weights.least() * 4);
}

TEST(Moe, ParallelismDividesWidthAndExperts) {
  Moe shape = moe(128, 16, 4);
  shape.tp = 2;
  shape.ep = 4;
  const Launch second = launch_named(plan_of(shape, "bf16", "H100-SXM"), "moe_down");
  EXPECT_DOUBLE_EQ(in_ops(second.required.tensor), 2.0 * (128 * 4 / 4) * 64 * 16);
  EXPECT_DOUBLE_EQ(in_bytes(operand_named(second, "w2").size), 4 * 64 * 16 * 2);
}

TEST(Moe, TwoMatricesWithoutGate) {
  Moe shape = moe(16, 4, 2);
  shape.gated = false;
  const Launch first = launch_named(plan_of(shape, "bf16", "H100-SXM"), "moe_gate_up");
  EXPECT_DOUBLE_EQ(in_ops(first.required.tensor), 2.0 * 32 * 32 * 64);
}

TEST(Moe, StylesByFormatAndGpu) {
  EXPECT_EQ(plan_of(moe(16, 4, 2), "nvfp4", "B200").launches[1].name, "moe_permute");
  EXPECT_EQ(plan_of(moe(16, 4, 2), "fp8", "L40S").launches[1].name, "moe_quantise");
  EXPECT_EQ(plan_of(moe(16, 4, 2), "bf16", "H200-SXM").launches[1].name, "moe_gate_up");
}

TEST(Moe, GroupedTilesShrinkWithTheLoads) {
  Moe shape = moe(16, 16, 1);
  shape.hidden = 4096;
  shape.inter = 2048;
  shape.style = MoeStyle::grouped;
  EXPECT_LE(launch_named(plan_of(shape, "bf16", "H100-SXM"), "moe_gate_up").tile.m, 64);
  shape.tokens = 65536;
  EXPECT_GE(launch_named(plan_of(shape, "bf16", "H100-SXM"), "moe_gate_up").tile.m, 128);
}

TEST(Moe, ContradictionsAreRefused) {
  EXPECT_FALSE(moe(4, 4, 5).check());
  EXPECT_FALSE(moe(0, 4, 2).check());
  Moe shape = moe(4, 4, 2);
  shape.distribution = ExpertDistribution::given;
  EXPECT_EQ(shape.check().error().field, "counts");
  shape.counts = {4, 4, 0, 1};
  EXPECT_EQ(shape.check().error().field, "counts");  // sums to nine, not eight
  shape.counts = {4, 4, 0, 0};
  EXPECT_TRUE(shape.check());
  shape.ep = 8;
  EXPECT_EQ(shape.check().error().field, "ep");
}

TEST(Moe, FieldsRoundTrip) {
  const auto shape = shape_from(
      "moe",
      *dims_from_text("tokens=8;hidden=64;inter=32;experts=4;topk=2;distribution=power_law;alpha=1.01;style=auto"));
  ASSERT_TRUE(shape);
  EXPECT_EQ(dims_text(*shape), "tokens=8;hidden=64;inter=32;experts=4;topk=2;distribution=power_law;alpha=1.01");
}

TEST(MoeLoads, OnlyAGivenRoutingIsCertain) {
  Moe shape = moe(16, 128, 8);
  EXPECT_EQ(moe_loads(shape).certain_experts, 8);
  EXPECT_EQ(moe_loads(shape).assumed_experts, 128);
  shape.distribution = ExpertDistribution::given;
  shape.counts.assign(128, 0);
  for (std::size_t i = 0; i < 32; ++i) shape.counts[i] = 4;
  EXPECT_EQ(moe_loads(shape).certain_experts, 32);
}

// AITER's rows are grouped products: a shape that names no style must be planned like them.
TEST(Moe, ExpertsOnCdna3AreGroupedUnlessVllmRunsThem) {
  Moe shape = moe(1024, 128, 8);
  shape.hidden = 4096, shape.inter = 3072;
  const auto tile_m = [&](const char* engine) {
    Context context;
    context.engine = Launcher::named(engine);
    return launch_named(*plan(shape, *format_from("bf16"), *find_gpu("MI300X"), context), "moe_gate_up").tile.m;
  };
  EXPECT_LE(tile_m(""), 64);  // rows of an expert
  EXPECT_EQ(tile_m("aiter"), tile_m(""));
  EXPECT_EQ(tile_m("vllm"), 128);  // its default block for so many tokens
}

}  // namespace
}  // namespace tilecast
