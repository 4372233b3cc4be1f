#include "lab/evaluate/evaluate.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "lab/evaluate/agreement.h"
#include "measure/traps.h"

namespace tilecast {
namespace {

Measurement gemm_row(std::string_view gpu, Count m, double microseconds_taken) {
  Measurement row;
  row.gpu = gpu;
  row.source = "aiconfigurator";
  row.engine = "vllm";
  Gemm gemm;
  gemm.m = m;
  gemm.n = gemm.k = 4096;
  row.kernel = {gemm, *format_from("bf16")};
  row.context = {
      Runtime::graph, Warmth::warm, 6, 1, Launcher::named(row.engine), KernelSource::named(row.kernel_source)};
  row.latency = microseconds(microseconds_taken);
  return row;
}

// Outcomes by hand: forecasts in microseconds with a bound of half of each.
std::vector<Outcome> outcomes_of(const std::vector<double>& forecasts) {
  std::vector<Outcome> outcomes;
  for (double f : forecasts) {
    Outcome o;
    o.forecast = microseconds(f);
    o.bound = microseconds(f / 2);
    outcomes.push_back(o);
  }
  return outcomes;
}

TEST(Evaluate, AveragesRowsThenGpus) {
  const std::vector<Measurement> rows = {gemm_row("A", 1, 100), gemm_row("A", 2, 100), gemm_row("A", 3, 100),
                                         gemm_row("B", 1, 100)};
  const auto groups = group_errors(rows, outcomes_of({110, 90, 130, 50}), {Key::family});
  ASSERT_EQ(groups.size(), 1u);
  const Group& g = groups[0];
  EXPECT_EQ(g.rows, 4);
  EXPECT_EQ(g.gpus, 2);
  EXPECT_NEAR(g.mean, ((0.1 + 0.1 + 0.3) / 3 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(g.median, (0.1 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(g.bias, ((0.1 - 0.1 + 0.3) / 3 - 0.5) / 2, 1e-12);
  EXPECT_NEAR(g.p90, (0.1 + 0.2 * 0.8 + 0.5) / 2, 1e-12);
  EXPECT_EQ(g.bound_violations, 0);
}

TEST(Evaluate, CountsRowsFasterThanTheirBoundAndForecastsBelowIt) {
  const std::vector<Measurement> rows = {gemm_row("A", 1, 40), gemm_row("A", 2, 100), gemm_row("A", 3, 100)};
  auto outcomes = outcomes_of({100, 100, 100});
  outcomes[1].bound = microseconds(101);
  outcomes[2].failed = true;
  const auto groups = group_errors(rows, outcomes, {Key::gpu, Key::dtype});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].keys, (std::vector<std::string>{"A", "bf16"}));
  EXPECT_EQ(groups[0].rows, 2);
  EXPECT_EQ(groups[0].failed, 1);
  EXPECT_EQ(groups[0].bound_violations, 2);
  EXPECT_EQ(groups[0].below_bound, 1);
  EXPECT_DOUBLE_EQ(groups[0].worst_violation, 1.25);
  EXPECT_DOUBLE_EQ(groups[0].below_share(), 0.5);
  EXPECT_DOUBLE_EQ(groups[0].violation_share(), 1);
}

TEST(Evaluate, ForecastsAreTheSameWithAnyNumberOfThreadsAndNeverBelowTheBound) {
  std::vector<Measurement> rows;
  for (const char* gpu : {"H100-SXM", "L40S", "A100-SXM-80GB"})
    for (Count m = 1; m <= 100; ++m) rows.push_back(gemm_row(gpu, m * 7, 20));
  const auto one = forecast_rows(rows, Method::tilecast, 1), three = forecast_rows(rows, Method::tilecast, 3);
  ASSERT_TRUE(one);
  ASSERT_TRUE(three);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ((*one)[i].forecast, (*three)[i].forecast);
    EXPECT_GE((*one)[i].forecast, (*one)[i].bound);
    EXPECT_GT((*one)[i].bound, seconds(0));
  }
  const auto roofline = forecast_rows(rows, Method::roofline, 1);
  ASSERT_TRUE(roofline);
  for (const Outcome& outcome : *roofline) EXPECT_GE(outcome.forecast, outcome.bound * (1 - 1e-12));
  rows[0].gpu = "no such card";
  EXPECT_FALSE(forecast_rows(rows, Method::tilecast, 1));
}

TEST(Evaluate, RegimeFollowsTheBound) {
  const auto regime = [](Count m, Count n, Count k) {
    Measurement row = gemm_row("H100-SXM", m, 1);
    row.kernel.shape.as<Gemm>().n = n;
    row.kernel.shape.as<Gemm>().k = k;
    return forecast_row(row, *find_gpu("H100-SXM"), Method::tilecast).regime;
  };
  EXPECT_EQ(regime(1, 64, 64), Regime::launch);
  EXPECT_EQ(regime(1, 16384, 16384), Regime::memory);
  EXPECT_EQ(regime(8192, 8192, 8192), Regime::compute);
}

TEST(Evaluate, AFormatTheCardLacksFailsTheRow) {
  Measurement row = gemm_row("V100-PCIe", 8, 10);
  row.kernel.format = *format_from("fp8_static");
  EXPECT_TRUE(forecast_row(row, *find_gpu("V100-PCIe"), Method::tilecast).failed);
}

TEST(Evaluate, OneRowOfVllmsFp8ProductIsATrapOnBlackwell) {
  Measurement row = gemm_row("B200", 1, 10);
  row.engine = "vllm";
  EXPECT_EQ(trap_of(row), "");  // in bf16 it is as fast as two
  row.kernel.format = *format_from("fp8");
  EXPECT_NE(trap_of(row), "");
  row.engine = "sglang";
  EXPECT_EQ(trap_of(row), "");
  row = gemm_row("B200", 2, 10);
  row.engine = "vllm";
  row.kernel.format = *format_from("fp8");
  EXPECT_EQ(trap_of(row), "");
}

TEST(Evaluate, KnowsTheTraps) {
  Measurement row = gemm_row("A100-SXM-80GB", 8, 10);
  EXPECT_EQ(trap_of(row), "");
  row.engine = "trtllm";
  EXPECT_EQ(trap_of(row), "");
  AttentionDecode decode;
  row.kernel.shape = decode;
  EXPECT_NE(trap_of(row), "");
  row.engine = "vllm";
  EXPECT_EQ(trap_of(row), "");
  Moe moe;
  moe.hidden = 7168;
  moe.inter = 2048;
  moe.experts = 256;
  moe.topk = 8;
  row.kernel.shape = moe;
  EXPECT_NE(trap_of(row), "");
  moe.distribution = ExpertDistribution::power_law;
  row.kernel.shape = moe;
  EXPECT_EQ(trap_of(row), "");
  moe.ep = 2;
  row.kernel.shape = moe;
  row.engine = "sglang";
  row.engine_version = "0.5.14";
  EXPECT_EQ(trap_of(row), "");
  row.engine_version = "0.5.10";
  EXPECT_NE(trap_of(row), "");
  moe.ep = 1;
  row.kernel.shape = moe;
  EXPECT_EQ(trap_of(row), "");
  moe.ep = 4;
  moe.tokens = 32;  // as many rows as experts
  row.kernel.shape = moe;
  row.engine = "vllm";
  row.engine_version = "0.24.0";
  EXPECT_EQ(trap_of(row), "");
  row.engine_version = "0.14.0";
  EXPECT_NE(trap_of(row), "");
  moe.tokens = 33;
  row.kernel.shape = moe;
  EXPECT_EQ(trap_of(row), "");
  row.source = "aiconfigurator-power";
  EXPECT_NE(trap_of(row), "");
}

TEST(Evaluate, AGroupIsSeenWhenAllItsRowsAre) {
  const std::vector<Measurement> rows = {gemm_row("H100-SXM", 1, 10), gemm_row("L40S", 1, 10)};
  auto outcomes = outcomes_of({10, 10});
  outcomes[0].seen = true;
  const auto by_gpu = group_errors(rows, outcomes, {Key::gpu});
  EXPECT_TRUE(by_gpu[0].all_seen());
  EXPECT_TRUE(by_gpu[1].none_seen());
  const auto together = group_errors(rows, outcomes, {Key::family});
  EXPECT_FALSE(together[0].all_seen() || together[0].none_seen());
  const auto generations = group_errors(rows, outcomes, {Key::architecture, Key::kernel_source});
  EXPECT_EQ(generations[0].keys, (std::vector<std::string>{"ada", ""}));
}

TEST(Evaluate, ReadsGroupKeys) {
  EXPECT_EQ(*keys_from("gpu,regime"), (std::vector<Key>{Key::gpu, Key::regime}));
  EXPECT_EQ(*keys_from("kernel_source,architecture"), (std::vector<Key>{Key::kernel_source, Key::architecture}));
  EXPECT_FALSE(keys_from("gpu,colour"));
}

TEST(Agreement, ComparesGridTileAndSplit) {
  std::vector<Measurement> rows(3, gemm_row("V100-PCIe", 256, 10));
  for (Measurement& row : rows) row.observed = {.ctas = 4096 / 64 * 2 * 3, .threads = 256, .tile_m = 128, .tile_n = 64};
  EXPECT_EQ(observed_split(rows[0]), 3);
  rows[2].observed.ctas = 7;  // not a multiple of the tiles
  EXPECT_EQ(observed_split(rows[2]), 0);
  std::vector<Outcome> outcomes(3);
  for (Outcome& planned : outcomes) {
    planned.ctas = 128;
    planned.tile_m = 128;
    planned.tile_n = 64;
  }
  outcomes[0].ctas = 384;
  outcomes[0].split = 3;
  const auto groups = compare_launches(rows, outcomes);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].grids, 3);
  EXPECT_EQ(groups[0].grids_equal, 1);
  EXPECT_EQ(groups[0].tiles, 2);
  EXPECT_EQ(groups[0].tiles_equal, 2);
  EXPECT_EQ(groups[0].splits_equal, 1);
}

// crc32 of the keys by Python's zlib.
TEST(Agreement, KeepsRowsThatPlansWereFittedOnApart) {
  Measurement row = gemm_row("V100-PCIe", 58, 10);
  row.kernel.shape.as<Gemm>() = {.m = 58, .n = 141, .k = 13, .layout = Layout::tn};  // "linear_1_58_13_141"
  EXPECT_FALSE(plan_was_fitted(row));
  row.source = "neusight-train";
  EXPECT_EQ(plan_was_fitted(row), true);
  row.kernel.shape.as<Gemm>().m = 28;
  EXPECT_FALSE(plan_was_fitted(row));
}

}  // namespace
}  // namespace tilecast
