// Factors planted in rows are found again, at the level they were planted at.
#include "lab/train/fit_terms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/gemm.h"

namespace tilecast {
namespace {

using Cards = std::vector<std::string_view>;
const Cards kTwoOfEach = {"A100-SXM-80GB", "L40S", "H100-SXM", "H200-SXM"};

// GEMM rows measured as tuned_time says under `truth` of their GPU.
template <class Truth>
struct Planted {
  std::vector<Measurement> rows;
  std::vector<PlannedRow> planned;
  std::vector<const PlannedRow*> used;

  explicit Planted(const Truth& truth, const Cards& cards = kTwoOfEach) {
    for (const std::string_view gpu : cards)
      for (Count m = 16; m <= 8192; m *= 2)
        for (Count n = 512; n <= 8192; n *= 2)
          for (Count k = 512; k <= 8192; k *= 4) {
            Measurement row;
            row.gpu = gpu;
            row.engine = "vllm";
            row.kernel_source = "linear";
            row.kernel = {Gemm{m, n, k}, *format_from("bf16")};
            rows.push_back(row);
          }
    std::vector<std::size_t> all(rows.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    planned = plan_rows(rows, all, 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].latency =
          microseconds(tuned_time(planned[i].input.terms, truth(*planned[i].gpu), floor_law(*planned[i].gpu)));
      used.push_back(&planned[i]);
    }
  }
};

double mean_error(const std::map<std::string, SourceFacts, std::less<>>& facts, const std::vector<PlannedRow>& rows) {
  FamilyModel model;
  model.sources = facts;
  double sum = 0;
  for (const PlannedRow& row : rows) {
    const Standing standing = standing_of(model, row.measured->whole_context(), *row.gpu);
    sum += std::abs(std::log(prepare(row.input, standing).base / row.measured->latency));
  }
  return sum / static_cast<double>(rows.size());
}

TEST(Tune, FindsFactorsOfAGenerationAndTheFloorOfASource) {
  const auto truth = [](const Gpu& gpu) {
    Tuning tuning;
    tuning.extra_floor_us = 6;
    tuning.log_factors[Tuning::dram] = 0.3f;
    tuning.log_factors[Tuning::math] = gpu.tensor_generation() == TensorGeneration::mma ? 0.4f : -0.2f;
    return tuning;
  };
  const Planted planted(truth);
  const auto facts = fit_sources(planted.used);
  EXPECT_LT(mean_error(facts, planted.planned), 0.04);
  EXPECT_NEAR(facts.at("nvidia/mma/vllm/linear").tuning.log_factors[Tuning::math], 0.4, 0.12);
  EXPECT_NEAR(facts.at("nvidia/wgmma/vllm/linear").tuning.log_factors[Tuning::math], -0.2, 0.12);
  EXPECT_NEAR(facts.at("nvidia/mma/vllm/linear").tuning.extra_floor_us, 6, 1.5);
  EXPECT_EQ(facts.at("nvidia/mma").rows, static_cast<Count>(planted.rows.size() / 2));
  EXPECT_GE(facts.at("nvidia/wgmma/vllm/linear").index, 0);
  EXPECT_EQ(facts.at("nvidia").index, -1);
}

// What the only card of a generation shows may be its own: its factors stay nearer to those of all cards.
TEST(Tune, ALoneCardIsHeldNearTheVendor) {
  const auto truth = [](const Gpu& gpu) {
    Tuning tuning;
    tuning.log_factors[Tuning::math] = gpu.tensor_generation() == TensorGeneration::mma ? 0.8f : 0.0f;
    return tuning;
  };
  const auto gap = [&](const Cards& cards) {
    const Planted planted(truth, cards);
    const auto facts = fit_sources(planted.used);
    return facts.at("nvidia/mma").tuning.log_factors[Tuning::math] -
           facts.at("nvidia").tuning.log_factors[Tuning::math];
  };
  EXPECT_GT(gap({"A100-SXM-80GB", "L40S", "RTX-4090", "H100-SXM", "H200-SXM", "H20"}),
            gap({"A100-SXM-80GB", "H100-SXM"}) + 0.05f);
}

TEST(Tune, AnUnknownKernelTakesItsGenerationsFactorsAndItsEnginesFloor) {
  const auto truth = [](const Gpu&) {
    Tuning tuning;
    tuning.extra_floor_us = 8;
    return tuning;
  };
  const Planted planted(truth);
  FamilyModel model;
  model.sources = fit_sources(planted.used);
  Context context;
  context.engine = Launcher::vllm;
  context.kernel_source = KernelSource::named("another");
  const Standing standing = standing_of(model, context, *planted.planned.front().gpu);
  EXPECT_EQ(standing.source_index, -1);
  EXPECT_NEAR(standing.tuning.extra_floor_us, model.sources.at("nvidia/mma/vllm").tuning.extra_floor_us, 1e-6);
  EXPECT_GT(standing.tuning.extra_floor_us, 4);
  EXPECT_NE(standing.doubt, Doubt::vendor);
  // Without a name the kernel with most rows stands in.
  EXPECT_EQ(standing_of(model, Context{}, *planted.planned.front().gpu).source_index,
            model.sources.at("nvidia/mma/vllm/linear").index);
}

}  // namespace
}  // namespace tilecast
