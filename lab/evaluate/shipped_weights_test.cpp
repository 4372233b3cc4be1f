// The weights that ship: small, telling what they were trained on, and accurate on held-out rows of our own sweep.
#include "estimate/shipped_weights.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "estimate/price.h"
#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "lab/evaluate/evaluate.h"
#include "lab/train/train_all.h"
#include "measure/dims.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kRoot = TILECAST_SOURCE_DIR;

TEST(ShippedWeights, AreSmallAndNameTheirSources) {
  EXPECT_LE(std::filesystem::file_size(kRoot + "/data/weights/tilecast.weights"), kMostWeightBytes);
  const Weights& weights = shipped_weights();
  EXPECT_GT(weights.sources().at("aiconfigurator"), 100000);
  EXPECT_GT(weights.sources().at("tilecast-h200-2026-11"), 5000);
  for (const FamilyModel& model : weights.models) EXPECT_FALSE(model.trained_on.empty()) << model.key;
  const FamilyModel* gemm = weights.find("gemm/bf16");
  ASSERT_NE(gemm, nullptr);
  for (const char* gpu : {"A100-SXM-80GB", "H100-SXM", "H200-SXM", "L40S", "B200", "GB200"})
    EXPECT_GT(gemm->seen.at(gpu), 1000) << gpu;
}

// The committed file is what `tilecast-lab train` would write of these models, byte by byte.
TEST(ShippedWeights, AreWrittenAsTrainingWritesThem) {
  std::ifstream file(kRoot + "/data/weights/tilecast.weights", std::ios::binary);
  const std::string committed{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(to_bytes(shipped_weights()) == committed);
}

// Floors a little above what was measured when the weights were trained (docs/accuracy.md): a worse model, a broken
// feature or a wrong plan shows here, without any other data.
TEST(ShippedWeights, ForecastHeldOutRowsOfOurOwnSweep) {
  Names names;
  auto sampled = read_sampled({kRoot + "/data/measurements/h200_sweep.csv.gz"}, {0, 0}, ReadOptions{}, names);
  ASSERT_TRUE(sampled) << sampled.error().line();
  std::erase_if(sampled->rows, [](const Measurement& row) { return !held_out(row.kernel.shape); });
  ASSERT_GT(sampled->rows.size(), 800u);
  const auto learned = forecast_with(shipped_weights(), sampled->rows, 2);
  const auto analytic = forecast_rows(sampled->rows, Method::analytic, 2);
  ASSERT_TRUE(analytic);
  const Group ours = group_errors(sampled->rows, learned, {}).front();
  const Group physics = group_errors(sampled->rows, *analytic, {}).front();
  EXPECT_LT(ours.mean, 0.10);
  EXPECT_LT(ours.median, 0.05);
  EXPECT_LT(ours.mean, physics.mean / 2);
  EXPECT_EQ(ours.below_bound, 0);
  EXPECT_GT(ours.coverage, 0.7);
  EXPECT_LT(ours.coverage, 0.92);
}

TEST(ShippedWeights, AKernelWithoutASourceIsPlannedAsTheOneThatStandsIn) {
  AttentionDecode shape;
  shape.batch = 32, shape.kv_len = 8192, shape.heads = 64, shape.kv_heads = 8;
  const Kernel kernel{shape, *format_from("bf16")};
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  const FamilyModel* model = shipped_weights().find(kernel);
  ASSERT_TRUE(model);
  const Context named = stand_in(*model, {}, *gpu);
  EXPECT_FALSE(named.engine.empty());
  EXPECT_FALSE(named.kernel_source.empty());
  const auto without = price(kernel, *gpu, {}, Method::tilecast, &shipped_weights());
  const auto with = price(kernel, *gpu, named, Method::tilecast, &shipped_models());
  ASSERT_TRUE(without && with);
  EXPECT_EQ(without->estimate.latency, with->estimate.latency);
}

}  // namespace
}  // namespace tilecast
