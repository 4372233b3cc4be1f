// Training on rows the tests make: it learns a planted law, forgets what it is told to leave out, and repeats exactly.
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/registry.h"
#include "learn/train_all.h"

namespace tilecast {
namespace {

// GEMM rows on three GPUs whose measured time is the analytic forecast times 1.5, plus 4 us for one engine.
std::vector<Measurement> planted_rows() {
  std::vector<Measurement> rows;
  for (const std::string_view gpu : {"A100-SXM-80GB", "H100-SXM", "H200-SXM"})
    for (const std::string_view engine : {"vllm", "sglang"})
      for (Count m = 16; m <= 4096; m *= 2)
        for (Count n = 1024; n <= 8192; n *= 2)
          for (Count k = 1024; k <= 8192; k *= 2) {
            Measurement row;
            row.gpu = gpu;
            row.source = "planted";
            row.engine = engine;
            row.kernel_source = "linear";
            row.kernel = {Gemm{m, n, k}, *format_from("bf16")};
            const Gpu card = *find_gpu(gpu);
            const auto planned = plan(row.kernel, card, row.context);
            row.latency = estimate(*planned, card, row.context, Method::tilecast).latency * 1.5;
            if (engine == "vllm") row.latency += microseconds(4);
            rows.push_back(row);
          }
  return rows;
}

TrainAllOptions quick() {
  TrainAllOptions options;
  options.train.set_trees(60);
  return options;
}

double mean_error(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += std::abs(outcomes[i].forecast / rows[i].latency - 1);
  return sum / static_cast<double>(rows.size());
}

TEST(Train, LearnsAPlantedLaw) {
  const auto rows = planted_rows();
  const Weights weights = train_all(rows, quick(), {});
  ASSERT_EQ(weights.models.size(), 1u);
  EXPECT_LT(mean_error(rows, forecast_with(weights, rows, 2)), 0.04);
}

TEST(Train, TransfersToALeftOutGpu) {
  const auto rows = planted_rows();
  EXPECT_LT(mean_error(rows, forecast_leaving_out(rows, LeaveOut::gpu, quick(), {})), 0.08);
}

TEST(Train, LeavesOutWhatItIsTold) {
  const auto rows = planted_rows();
  TrainAllOptions options = quick();
  options.leave_out = {"h100 sxm"};
  const Weights weights = train_all(rows, options, {});
  EXPECT_FALSE(weights.models[0].seen.contains("H100-SXM"));
  EXPECT_TRUE(weights.models[0].seen.contains("A100-SXM-80GB"));
}

TEST(Train, SameBytesForASeedWhateverTheThreads) {
  const auto rows = planted_rows();
  TrainAllOptions one = quick(), two = quick();
  one.train.set_trees(10);
  two.train.set_trees(10);
  one.train.set_threads(1);
  EXPECT_EQ(to_bytes(train_all(rows, one, {})), to_bytes(train_all(rows, two, {})));
}

}  // namespace
}  // namespace tilecast
