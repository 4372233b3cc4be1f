#include "serve/step_width.h"

#include <gtest/gtest.h>

#include <cmath>

#include "constants/intervals.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "support/random.h"

namespace tilecast {
namespace {

DeploymentOptions llama(const char* gpu) {
  DeploymentOptions o;
  o.model = *find_model("Llama-3.1-8B");
  o.gpu = *find_gpu(gpu);
  o.engine.kind = EngineKind::vllm;
  o.engine.precision = *precision_from("bf16");
  return o;
}

// Steps of prompts alone, of answers alone, and both together.
ServingOutcome outcome_of(bool prompts, bool answers) {
  ServingOutcome out;
  RequestRecord r;
  r.input = 1024, r.output = 256;
  out.requests.assign(10, r);
  r.refused = true, r.input = 1 << 30;  // no part of the mean
  out.requests.push_back(r);
  StepRecord s;
  s.prompt_tokens = 2048;
  if (prompts) out.steps.push_back(s);
  s.prompt_tokens = 0, s.decodes = 32;
  if (answers) out.steps.push_back(s);
  return out;
}

TEST(ServeStepWidth, PromptsAndAnswersHaveTheirOwn) {
  const DeploymentOptions o = llama("H100-SXM");
  const auto of = [&](bool prompts, bool answers) {
    return step_widths(o, outcome_of(prompts, answers), Method::tilecast, &shipped_models());
  };
  const StepWidths both = of(true, true);
  for (const StepWidth& w : {both.prompts, both.answers}) {
    EXPECT_GT(w.low, 0.5);
    EXPECT_LT(w.low, 1);
    EXPECT_GT(w.high, 1);
    EXPECT_LT(w.high, 2);
  }
  EXPECT_NE(both.prompts.high, both.answers.high);
  // Each comes from its own steps.
  EXPECT_EQ(of(true, false).prompts.high, both.prompts.high);
  EXPECT_EQ(of(true, false).answers.high, 1);
  EXPECT_EQ(of(false, true).answers.low, both.answers.low);
  EXPECT_EQ(of(false, true).prompts.low, 1);
  EXPECT_EQ(step_widths(o, {}, Method::tilecast, &shipped_models()).prompts.high, 1);
}

TEST(ServeStepWidth, ScalesStepsByTheirKind) {
  class Fixed final : public StepCost {
    Seconds of(const StepBatch&) const override { return seconds(1); }
    Spent spent(const StepBatch&) const override { return {seconds(1), 100}; }
  };
  const Fixed cost;
  const StepWidths widths{{0.9, 1.2}, {0.7, 1.5}};
  StepBatch answers, prompts;
  answers.decodes = prompts.decodes = 4;
  prompts.prefill = {{512, 0}};
  EXPECT_DOUBLE_EQ(ScaledCost(cost, widths, false).of(answers).base(), 0.9);
  EXPECT_DOUBLE_EQ(ScaledCost(cost, widths, true).of(answers).base(), 1.2);
  EXPECT_DOUBLE_EQ(ScaledCost(cost, widths, false).of(prompts).base(), 0.7);
  EXPECT_DOUBLE_EQ(ScaledCost(cost, widths, true).spent(prompts).time.base(), 1.5);
  EXPECT_DOUBLE_EQ(ScaledCost(cost, widths, true).spent(prompts).joules, 150);
}

double beyond_noise(double width) { return std::max(width, double{constants::kNoiseWidth}); }

// Steps that are sure leave a run's own width; a run whose steps are not is less sure than either.
TEST(ServeStepWidth, WholeRunsReachFartherThanTheirSteps) {
  ServingMetrics forecast;
  forecast.ttft = {0.1, 0.1, 0.2, 0.3};
  forecast.tpot = forecast.itl = forecast.e2el = {0.02, 0.02, 0.03, 0.04};
  forecast.output_throughput = 1000;
  ServingEnds parts{forecast, forecast};
  const ServingEnds sure = of_whole_run(parts, forecast);
  EXPECT_NEAR(sure.slow.ttft.mean, 0.1 * std::exp(beyond_noise(constants::kTtftWidth.up)), 1e-12);
  EXPECT_NEAR(sure.fast.ttft.median, 0.1 * std::exp(-beyond_noise(constants::kMedianTtftWidth.down)), 1e-12);
  EXPECT_NEAR(sure.fast.tpot.p90, 0.03 * std::exp(-beyond_noise(constants::kTpotWidth.down)), 1e-12);
  EXPECT_NEAR(sure.slow.tpot.median, 0.02 * std::exp(beyond_noise(constants::kMedianTpotWidth.up)), 1e-12);
  parts.slow.ttft.mean = 0.15, parts.fast.ttft.mean = 0.12;  // queues may turn an end around
  const ServingEnds unsure = of_whole_run(parts, forecast);
  // What the run's own steps lead to is joined by what first tokens are off by beside the pace of steps.
  const double pace = constants::kMedianTpotWidth.up, first = constants::kTtftWidth.up;
  EXPECT_NEAR(unsure.slow.ttft.mean,
              0.1 * std::exp(std::sqrt(std::log(1.5) * std::log(1.5) + first * first - pace * pace)), 1e-12);
  EXPECT_LE(unsure.fast.ttft.mean, 0.1) << "an interval holds its forecast";
  parts.queued_slow = true;
  EXPECT_NEAR(of_whole_run(parts, forecast).slow.tpot.mean,
              0.02 * std::exp(beyond_noise(constants::kQueuedTpotWidth.up)), 1e-12);
}

// What is left of steps' own widths over a run, beside what a token of a run is off by; both ends to their own side.
TEST(ServeStepWidth, PaceByHand) {
  const StepWidths pace = served_pace({{0.8, 1.3}, {1, 1}}, true);
  const auto of = [](const constants::WidthConstants& token, double open, bool slow) {
    const double scale = slow ? constants::kServedScale.up : constants::kServedScale.down;
    return beyond_noise(std::hypot(scale * open, slow ? token.up : token.down));
  };
  EXPECT_NEAR(pace.answers.high, std::exp(of(constants::kQueuedMedianTpotWidth, std::log(1.3), true)), 1e-12);
  EXPECT_NEAR(pace.answers.low, std::exp(-of(constants::kQueuedMedianTpotWidth, -std::log(0.8), false)), 1e-12);
  EXPECT_NEAR(pace.prompts.high, std::exp(of(constants::kQueuedMedianTpotWidth, 0, true)), 1e-12);
  EXPECT_NEAR(served_pace({}, false).answers.low, std::exp(-of(constants::kMedianTpotWidth, 0, false)), 1e-12);
  EXPECT_NEAR(part_of(pace, 0.5).answers.high, std::sqrt(pace.answers.high), 1e-12);
  EXPECT_EQ(part_of(pace, 0).prompts.low, 1);
}

// A request's time is its first token's and the others': its interval is theirs, as far as either takes part in it.
TEST(ServeStepWidth, RequestsReachAsFarAsTheirTokens) {
  ServingMetrics forecast;
  forecast.tpot = {0.02, 0.02, 0.03, 0.04};
  forecast.e2el = {4, 4, 6, 8};
  for (const double first : {0.0, 1.0, 4.0}) {
    forecast.ttft = {first, first, first, first};
    const ServingEnds whole = of_whole_run({forecast, forecast}, forecast);
    const double share = first / 4, reach = std::log(whole.slow.e2el.mean / 4);
    EXPECT_NEAR(reach,
                beyond_noise(std::hypot(share * double{constants::kTtftWidth.up},
                                        (1 - share) * double{constants::kTpotWidth.up})),
                1e-12);
    EXPECT_LE(reach, std::max(double{constants::kTtftWidth.up}, double{constants::kTpotWidth.up}) + 1e-12);
  }
}

// Whatever steps leave open: an interval holds its forecast, of one run's ends none has tails that are faster than its
// median, and a request is as sure as the less sure of its first token and the others.
TEST(ServeStepWidth, EndsOfARunAgree) {
  Random random(12);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const auto rising = [&](double least, double most) {
      Summary s;
      s.median = least + (most - least) * random.uniform();
      s.p90 = s.median * (1 + random.uniform() * (round % 3)), s.p99 = s.p90 * (1 + random.uniform());
      s.mean = s.median * (0.8 + random.uniform());
      return s;
    };
    const double tokens = 1 + static_cast<double>(random.below(500));
    const auto whole = [&](ServingMetrics& m) {
      for (double Summary::*part : {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99})
        m.e2el.*part = m.ttft.*part + tokens * (m.tpot.*part);
      m.request_throughput = 1 / m.e2el.mean;
    };
    ServingMetrics forecast;
    forecast.ttft = rising(0.01, 5), forecast.tpot = forecast.itl = rising(0.002, 0.1);
    whole(forecast);
    ServingEnds parts{forecast, forecast};
    parts.queued = round % 2 == 0, parts.queued_slow = parts.queued || round % 3 == 0;
    for (ServingMetrics* end : {&parts.fast, &parts.slow}) {
      const double first = 1 + random.uniform() * 4, further = 1 + random.uniform();
      for (double Summary::*part : {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99}) {
        (end->ttft).*part *= end == &parts.slow ? first : 1 / first;
        (end->tpot).*part *= end == &parts.slow ? further : 1 / further;
      }
      whole(*end);
    }
    const ServingEnds ends = of_whole_run(parts, forecast);
    for (const auto& [end, slow] : {std::pair{ends.fast, false}, std::pair{ends.slow, true}}) {
      for (Summary ServingMetrics::*of : {&ServingMetrics::ttft, &ServingMetrics::tpot, &ServingMetrics::e2el}) {
        EXPECT_LE((end.*of).median, (end.*of).p90);
        EXPECT_LE((end.*of).p90, (end.*of).p99);
        for (double Summary::*part : {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99}) {
          const double towards = slow ? (end.*of).*part : (forecast.*of).*part;
          EXPECT_GE(towards, slow ? (forecast.*of).*part : (end.*of).*part);
        }
      }
      const auto reach = [&end = end, &forecast](Summary ServingMetrics::*of, double Summary::*part) {
        return std::abs(std::log((end.*of).*part / ((forecast.*of).*part)));
      };
      for (double Summary::*part : {&Summary::mean, &Summary::median})
        EXPECT_LE(reach(&ServingMetrics::e2el, part),
                  std::max(reach(&ServingMetrics::ttft, part), reach(&ServingMetrics::tpot, part)) + 1e-9);
    }
    EXPECT_LE(ends.slow.request_throughput, forecast.request_throughput);
    EXPECT_GE(ends.fast.request_throughput, forecast.request_throughput);
  }
}

// The rate of clients who wait for answers is one over requests' time; that of clients who send as they like is theirs.
TEST(ServeStepWidth, RatesFollowRequestsWhereClientsWait) {
  ServingMetrics forecast;
  forecast.ttft = {1, 1, 1, 1}, forecast.e2el = {4, 4, 4, 4};
  forecast.request_throughput = 10;
  ServingEnds parts{forecast, forecast};
  parts.fast.e2el.mean = 3.6, parts.slow.e2el.mean = 4.4;
  EXPECT_EQ(shares_of_rate(parts, forecast).first, 0) << "as many as come";
  EXPECT_NEAR(std::log(of_whole_run(parts, forecast).fast.request_throughput / 10), constants::kNoiseWidth, 1e-12);
  parts.fast.request_throughput = 10 / 0.9, parts.slow.request_throughput = 10 / 1.1;
  EXPECT_NEAR(shares_of_rate(parts, forecast).first, 0.25, 1e-9);
  EXPECT_NEAR(shares_of_rate(parts, forecast).further, 0.75, 1e-9);
  parts.slow.request_throughput = 10 / 0.9 * std::pow(0.9 / 1.1, 0.5);
  EXPECT_NEAR(shares_of_rate(parts, forecast).further, 0.375, 1e-9) << "half as far";
}

TEST(ServeStepWidth, NobodyWaitsLongerThanHisPatience) {
  ServingEnds ends;
  ends.slow.ttft = {4, 3, 9, 12}, ends.slow.e2el = {20, 18, 50, 70}, ends.fast.ttft = {1, 1, 2, 3};
  SimulationOptions simulation;
  keep_to_patience(ends, simulation);
  EXPECT_EQ(ends.slow.e2el.p99, 70);
  simulation.first_token_timeout = seconds(5), simulation.total_timeout = seconds(30);
  keep_to_patience(ends, simulation);
  EXPECT_EQ(ends.slow.ttft.mean, 4);
  EXPECT_EQ(ends.slow.ttft.p90, 5);
  EXPECT_EQ(ends.slow.ttft.p99, 5);
  EXPECT_EQ(ends.slow.e2el.mean, 20);
  EXPECT_EQ(ends.slow.e2el.p99, 30);
  EXPECT_EQ(ends.fast.ttft.p99, 3);
}

TEST(ServeStepWidth, QueuedLoadsAreToldByTheirWaiting) {
  RequestRecord waits, runs;
  waits.scheduled = seconds(0.8), waits.first = seconds(1);
  runs.scheduled = seconds(0.1), runs.first = seconds(1);
  EXPECT_TRUE(mostly_queued({waits}));
  EXPECT_FALSE(mostly_queued({runs}));
  waits.refused = true;
  EXPECT_FALSE(mostly_queued({waits, runs}));
  EXPECT_FALSE(mostly_queued({}));
}

}  // namespace
}  // namespace tilecast
