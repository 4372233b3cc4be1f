// What a calibration does to a forecast, by hand; its file, there and back.
#include "estimate/calibrated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/calibration_file.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/layernorm.h"
#include "kernel/sampling.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

constexpr std::string_view kVariant = "vllm/k|graph|warm";

// 3-4-5: the main loop's 3 us and DRAM's 4 us join to 5, and a floor of 1.
Terms some_terms() {
  Terms terms;
  terms.math = 3, terms.dram = 4, terms.floor = 1, terms.overlap = 2;
  return terms;
}

Calibration some_calibration() {
  Calibration c;
  c.rows = 40;
  c.data = "rows.csv";
  c.factors[static_cast<std::size_t>(CardTerm::dram)] = std::log(2.0f);
  FamilyCalibration& family = c.families["gemm/bf16"];
  family.rows = 40;
  family.offset = 0.1f;
  family.sources = {{"vllm/k", 0.05f}, {std::string(kVariant), -0.02f}};
  family.reach = 2;
  family.spread = 0.5f;
  family.points = {{CalibrationPlace{}, std::string(kVariant), 0.3f}};
  return c;
}

TEST(Calibrated, NoCalibrationChangesNothing) {
  const LogCorrection log = log_correction(calibration_standing(nullptr, "gemm/bf16", kVariant), some_terms(),
                                           tuned_rates(Tuning{}, 1), CalibrationPlace{});
  EXPECT_EQ(log.whole(), 0);
}

TEST(Calibrated, FactorsActOnTheTimesOfTheirParts) {
  const Calibration c = some_calibration();
  const TunedRates rates = tuned_rates(Tuning{}, 1);
  const auto log = [&](std::string_view key, std::string_view variant, const CalibrationPlace& place) {
    return log_correction(calibration_standing(&c, key, variant), some_terms(), rates, place);
  };
  // DRAM's 4 us become 8: sqrt(9 + 64) + 1 in place of 6.
  const double card = std::log((std::sqrt(73.0) + 1) / 6);
  EXPECT_NEAR(log("softmax/bf16", kVariant, {}).whole(), card, 1e-6) << "a family without rows has the card's factors";
  EXPECT_NEAR(log("gemm/bf16", kVariant, {}).card, card, 1e-6);
  EXPECT_NEAR(log("gemm/bf16", kVariant, {}).rest, 0.1 + 0.05 - 0.02 + 0.3, 1e-6);
  EXPECT_NEAR(log("gemm/bf16", "vllm/k|eager|warm", {}).rest, 0.1 + 0.05 + 0.7 * 0.3, 1e-6);
  EXPECT_NEAR(log("gemm/bf16", "sglang/k|graph|warm", {}).rest, 0.1 + 0.5 * 0.3, 1e-6);
  CalibrationPlace away{};
  away[3] = 4;  // two reaches
  EXPECT_NEAR(log("gemm/bf16", kVariant, away).rest, 0.1 + 0.05 - 0.02 + 0.3 * std::exp(-2.0), 1e-6);
}

TEST(Calibrated, TheVariantIsWhatHasNoScale) {
  Context context;
  context.engine = Launcher::pytorch, context.kernel_source = KernelSource::torch, context.runtime = Runtime::eager;
  context.warmth = Warmth::cold;
  const Kernel kernel{LayerNorm{.rows = 8, .cols = 64, .backward = true}, *format_from("bf16")};
  EXPECT_EQ(calibration_variant(kernel, context), "pytorch/torch|eager|cold|backward");
  EXPECT_EQ(variant_source(calibration_variant(kernel, context)), "pytorch/torch");
}

TEST(Calibrated, EstimatesKeepTheirBoundsAndSayThatTheyAreCalibrated) {
  Gpu gpu = *find_gpu("H100-SXM");
  const Kernel kernel{Gemm{.m = 4096, .n = 4096, .k = 4096}, *format_from("bf16")};
  const Priced before = *price(kernel, gpu, {}, Method::tilecast, &shipped_models());
  for (const float offset : {-2.0f, -0.1f, 0.0f, 0.1f, 0.7f}) {
    Calibration c;
    c.families["gemm/bf16"].offset = offset;
    gpu.calibration = std::make_shared<const Calibration>(c);
    const Priced after = *price(kernel, gpu, {}, Method::tilecast, &shipped_models());
    const Estimate& e = after.estimate;
    EXPECT_EQ(e.seen, Seen::calibrated);
    const double expected =
        std::max(in_microseconds(before.estimate.latency) * std::exp(offset), in_microseconds(e.bound));
    EXPECT_NEAR(in_microseconds(e.latency), expected, 1e-6 * expected);
    EXPECT_GE(e.latency, e.bound);
    EXPECT_LE(e.interval.low, e.latency);
    EXPECT_GE(e.interval.high, e.latency);
    EXPECT_GE(e.ceiling, e.bound);
    EXPECT_LE(e.ceiling, e.latency);
  }
  // A family that nothing was learned about is corrected too.
  Calibration c;
  c.families["custom/bf16"].offset = 0.5f;
  c.families["sampling/fp32"].offset = 0.5f;
  gpu.calibration = std::make_shared<const Calibration>(c);
  const Kernel unlearned{Sampling{.rows = 64, .cols = 128256}, *format_from("fp32")};
  const Weights nothing;
  const Gpu plain = *find_gpu("H100-SXM");
  const Seconds analytic = price(unlearned, plain, {}, Method::tilecast, &nothing)->estimate.latency;
  const Seconds corrected = price(unlearned, gpu, {}, Method::tilecast, &nothing)->estimate.latency;
  EXPECT_NEAR(corrected / analytic, std::exp(0.5), 1e-4);
}

TEST(CalibrationFile, IsReadAsItWasWritten) {
  const Calibration c = some_calibration();
  const auto read = parse_calibration(calibration_json(c), "mine.json");
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(read->rows, c.rows);
  EXPECT_EQ(read->data, c.data);
  const FamilyCalibration &a = read->families.at("gemm/bf16"), &b = c.families.at("gemm/bf16");
  for (std::size_t i = 0; i < c.factors.size(); ++i) EXPECT_NEAR(read->factors[i], c.factors[i], 1e-5);
  EXPECT_NEAR(a.offset, b.offset, 1e-5);
  EXPECT_EQ(a.reach, b.reach);
  EXPECT_EQ(a.spread, b.spread);
  EXPECT_EQ(a.sources.size(), b.sources.size());
  ASSERT_EQ(a.points.size(), 1u);
  EXPECT_EQ(a.points[0].variant, kVariant);
  EXPECT_NEAR(a.points[0].weight, 0.3, 1e-5);
}

TEST(CalibrationFile, NamesTheFieldThatIsWrong) {
  const auto failure = [](const auto& change) {
    nlohmann::json json = calibration_json(some_calibration());
    change(json);
    const auto read = parse_calibration(json, "mine.json");
    return read ? std::string("accepted") : read.error().line();
  };
  using Json = nlohmann::json;
  EXPECT_THAT(failure([](Json& j) { j = 3; }), HasSubstr("calibration: must be an object"));
  EXPECT_THAT(failure([](Json& j) { j["rows"] = -1; }), HasSubstr("calibration.rows"));
  EXPECT_THAT(failure([](Json& j) { j["factors"].erase("dram"); }), HasSubstr("calibration.factors.dram: is missing"));
  EXPECT_THAT(failure([](Json& j) { j["factors"]["dram"] = 40; }), HasSubstr("between -3.0 and 3.0"));
  Json::json_pointer point("/families/gemm~1bf16/points/0");
  EXPECT_THAT(failure([&](Json& j) { j[point]["place"].erase(0); }), HasSubstr("list of 24 numbers"));
  EXPECT_THAT(failure([&](Json& j) { j[point]["weight"] = "much"; }), HasSubstr("points.weight"));
  EXPECT_THAT(failure([](Json& j) { j["families"]["gemm/bf16"]["reach"] = 0; }), HasSubstr("reach"));
  EXPECT_EQ(failure([](Json&) {}), "accepted");
}

}  // namespace
}  // namespace tilecast
