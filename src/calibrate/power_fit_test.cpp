// A card made up to draw more than its kind: do rows of both regimes tell?
#include "calibrate/power_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/calibrate.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

// Products of many sizes in one regime; times are whatever a card with this power would take.
std::vector<Measurement> products(const Gpu& gpu, RunLength run, const CardPower& truth) {
  std::vector<Measurement> rows;
  for (const Count m : {64, 512, 2048, 4096, 8192})
    for (const Count n : {1024, 4096, 8192}) {
      Measurement row;
      row.gpu = gpu.name, row.source = "test", row.engine = "pytorch", row.kernel_source = "cublas";
      Gemm shape;
      shape.m = m, shape.n = n, shape.k = 8192;
      row.kernel = {shape, *format_from("bf16")};
      row.context.runtime = Runtime::graph, row.context.warmth = Warmth::warm, row.context.run = run;
      row.latency = microseconds(1);
      rows.push_back(row);
    }
  const auto forecasts = calibration_rows(rows, gpu, truth, shipped_models());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].latency = microseconds(forecasts[i].forecast_us);
  return rows;
}

TEST(PowerFit, FindsTheEnergyByRunsThatLast) {
  const Gpu gpu = *find_gpu("H200-SXM");
  const CardPower truth{0.12, 0};
  const CardPower found = *fit_power(products(gpu, RunLength::sustained, truth), gpu, shipped_models());
  EXPECT_NEAR(found.energy, truth.energy, 0.03);
  EXPECT_EQ(found.burst, 0) << "no burst was measured";
}

TEST(PowerFit, LeavesACardOfItsKindAlone) {
  const Gpu gpu = *find_gpu("H200-SXM");
  std::vector<Measurement> rows = products(gpu, RunLength::sustained, {});
  for (const Measurement& row : products(gpu, RunLength::burst, {})) rows.push_back(row);
  const CardPower found = *fit_power(rows, gpu, shipped_models());
  EXPECT_EQ(found.energy, 0);
  EXPECT_EQ(found.burst, 0);
}

TEST(PowerFit, TheCardsDescriptionKeepsIt) {
  const Gpu gpu = *find_gpu("H200-SXM");
  const auto rows = products(gpu, RunLength::sustained, {});
  const auto plain = calibration_rows(rows, gpu, {}, shipped_models());
  const auto hungry = calibration_rows(rows, gpu, {0.2, 0}, shipped_models());
  EXPECT_GT(hungry.back().forecast_us, 1.02 * plain.back().forecast_us) << "a large product is held back further";
  EXPECT_NEAR(hungry.front().forecast_us, plain.front().forecast_us, 0.02 * plain.front().forecast_us)
      << "64 rows wait for memory";
}

}  // namespace
}  // namespace tilecast
