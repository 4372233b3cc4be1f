// Steps that a predictor prices beside what `predict` says of them.
#include "tilecast/step_predictor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilecast {
namespace {

using Prompts = std::vector<StepPredictor::Prompt>;

Seconds predicted(StepQuery query, const Prompts& prompts, const std::vector<Count>& decodes) {
  query.mode = decodes.empty() ? Mode::prefill : prompts.empty() ? Mode::decode : Mode::mixed;
  for (const StepPredictor::Prompt& p : prompts)
    query.requests += fmt::format("{}1x{}+{}", query.requests.empty() ? "" : ",", p.fresh, p.cached);
  for (const Count cached : decodes)
    query.requests += fmt::format("{}1x1+{}", query.requests.empty() ? "" : ",", cached);
  const auto step = forecast(query);
  EXPECT_TRUE(step) << step.error().line();
  return step ? step->time : seconds(1);
}

// Requests of a server under load: lengths spread as `spread` says, prompts now and then.
struct Load {
  std::mt19937 random{7};
  std::vector<Count> decodes(std::size_t count, double mean, double spread) {
    std::lognormal_distribution<double> length(std::log(mean), spread);
    std::vector<Count> all(count);
    for (Count& one : all) one = std::clamp<Count>(static_cast<Count>(length(random)), 1, 30000);
    return all;
  }
  Prompts prompts(int most) {
    Prompts all(static_cast<std::size_t>(std::uniform_int_distribution(1, most)(random)));
    for (auto& one : all)
      one = {std::uniform_int_distribution(2, 1500)(random), std::uniform_int_distribution(0, 3)(random) * 700};
    return all;
  }
};

struct Worst {
  double error = 0, sum = 0;
  int steps = 0;
  void add(Seconds asked, Seconds exact) {
    const double e = std::abs(asked / exact - 1);
    error = std::max(error, e), sum += e, ++steps;
  }
};

// Asks for steps after others nearly alike, so that what was kept answers.
Worst worst_of(const StepQuery& query, double spread) {
  auto steps = StepPredictor::make(query);
  EXPECT_TRUE(steps) << steps.error().line();
  Worst worst;
  if (!steps) return worst;
  Load load;
  for (const std::size_t count : {1u, 8u, 64u, 256u}) {
    for (const double mean : {200.0, 1500.0}) {
      std::vector<Count> decodes = load.decodes(count, mean, spread);
      const Prompts prompts = load.prompts(2);
      for (int step = 0; step < 6; ++step) {
        for (Count& one : decodes) ++one;
        std::shuffle(decodes.begin(), decodes.end(), load.random);
        decodes.front() += 20;
        const Prompts none;
        const auto alone = steps->time(none, decodes), mixed = steps->time(prompts, decodes);
        if (step % 5 != 0 || !alone || !mixed) continue;
        worst.add(*alone, predicted(query, none, decodes));
        worst.add(*mixed, predicted(query, prompts, decodes));
      }
    }
  }
  return worst;
}

TEST(StepPredictor, IsWithinHalfAPercentOfPredict) {
  const StepQuery cases[] = {{.model = "Llama-3.1-8B", .gpu = "H100-SXM"},
                             {.model = "Qwen3-30B-A3B", .gpu = "H200-SXM", .engine = EngineKind::sglang},
                             {.model = "Llama-3.2-1B", .gpu = "L40S", .engine = EngineKind::trtllm}};
  for (const StepQuery& query : cases) {
    const Worst worst = worst_of(query, 0.6);
    EXPECT_LT(worst.error, 0.005) << query.model;
    RecordProperty(query.model, fmt::format("{:.5f} mean {:.5f}", worst.error, worst.sum / worst.steps));
  }
}

TEST(StepPredictor, SpeaksOfRanks) {
  StepQuery query{.model = "Llama-3.1-70B", .cluster = "hgx-h100"};
  query.layout.tp = 8;
  EXPECT_LT(worst_of(query, 0.4).error, 0.005);
}

TEST(StepPredictor, IsExactForTheFirstOfItsKind) {
  const StepQuery query{.model = "DeepSeek-V2-Lite", .gpu = "H100-SXM"};
  auto steps = StepPredictor::make(query);
  ASSERT_TRUE(steps) << steps.error().line();
  const Prompts prompts = {{300, 0}, {20, 900}};
  const std::vector<Count> decodes = {5, 700, 4000};
  EXPECT_NEAR(*steps->time({}, decodes) / predicted(query, {}, decodes), 1, 1e-9);
  EXPECT_NEAR(*steps->time(prompts, {}) / predicted(query, prompts, {}), 1, 1e-9);
  EXPECT_NEAR(*steps->time(prompts, decodes) / predicted(query, prompts, decodes), 1, 2e-3);
}

TEST(StepPredictor, RefusesWhatIsNoStep) {
  const auto field_of = [](const StepQuery& query) {
    const auto made = StepPredictor::make(query);
    return made ? std::string() : made.error().field;
  };
  StepQuery replicas{.model = "Llama-3.1-8B", .gpu = "H100-SXM"};
  replicas.layout.dp = 2;
  EXPECT_EQ(field_of(replicas), "dp");
  EXPECT_EQ(field_of({.model = "Llama-3.1-8B", .gpu = "H100-SXM", .mode = Mode::train}), "mode");
  EXPECT_EQ(field_of({.model = "Llama-3.1-8B", .gpu = "H100-SXM", .requests = "1x5"}), "requests");
  EXPECT_EQ(field_of({.model = "Llama-3.1-8B", .gpu = "V100-SXM", .dtype = "fp8"}), "dtype");
  EXPECT_EQ(field_of({.model = "Llama-3.1-8B"}), "gpu");
}

}  // namespace
}  // namespace tilecast
