// What documents hold for drawings: steps, tasks of a pipeline, fronts, curves with their intervals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "answers/ask.h"

namespace tilecast {
namespace {

using Document = nlohmann::json;

Document answered(const char* question, const Document& query) {
  const auto answer = ask(question, query.dump());
  EXPECT_TRUE(answer) << answer.error().line();
  return answer ? Document::parse(*answer) : Document();
}

const Document kServed = {{"model", "gpt2"}, {"gpu", "A100-SXM-80GB"}, {"rate", 200},         {"input", "300"},
                          {"output", "20"},  {"num_prompts", 40},      {"method", "analytic"}};

Document with(Document query, const Document& more) {
  query.update(more);
  return query;
}

TEST(Drawings, AllStepsOfARunAreListedOnceAndInOrder) {
  const Document load = answered("simulate", with(kServed, {{"list_steps", 5000}}))["loads"][0];
  const Document& steps = load["steps"];
  EXPECT_EQ(steps.size(), load["metrics"]["steps"].get<std::size_t>());
  double before = 0, prompts = 0;
  for (const Document& step : steps) {
    EXPECT_GE(step["start_s"].get<double>(), before);
    EXPECT_GT(step["step_ms"].get<double>(), 0);
    EXPECT_LE(step["cache"].get<double>(), 1);
    before = step["start_s"], prompts += step["prompt_tokens"].get<double>();
  }
  EXPECT_EQ(prompts, 40 * 300);
}

TEST(Drawings, EveryStepHasAnIntervalAndTheRunABand) {
  const Document load = answered("simulate", with(kServed, {{"list_steps", 5000}}))["loads"][0];
  for (const Document& step : load["steps"]) {
    const double time = step["step_ms"], low = step["interval_ms"][0], high = step["interval_ms"][1];
    EXPECT_LT(low, time);
    EXPECT_GT(high, time);
    EXPECT_LT(high, 4 * time);
  }
  // The same seconds, slice by slice; slower steps leave more requests unanswered.
  double fast = 0, slow = 0, forecast = 0;
  ASSERT_EQ(load["over_time_fast"].size(), load["over_time"].size());
  for (std::size_t i = 0; i < load["over_time"].size(); ++i) {
    EXPECT_EQ(load["over_time_fast"][i]["time_s"], load["over_time"][i]["time_s"]);
    EXPECT_EQ(load["over_time_slow"][i]["time_s"], load["over_time"][i]["time_s"]);
    const auto in_flight = [&](const char* run) {
      return load[run][i]["running"].get<double>() + load[run][i]["waiting"].get<double>();
    };
    fast += in_flight("over_time_fast"), forecast += in_flight("over_time"), slow += in_flight("over_time_slow");
  }
  EXPECT_LT(fast, forecast);
  EXPECT_GT(slow, forecast);
  EXPECT_FALSE(answered("simulate", with(kServed, {{"no_interval", true}}))["loads"][0].contains("over_time_fast"));
}

TEST(Drawings, StepsAreAsManyAsAskedForFromTheSecondGiven) {
  const Document all = answered("simulate", with(kServed, {{"list_steps", 5000}}))["loads"][0]["steps"];
  const double from = all[10]["start_s"].get<double>() + 1e-9;
  const Document some =
      answered("simulate", with(kServed, {{"list_steps", 5}, {"list_from", from}}))["loads"][0]["steps"];
  ASSERT_EQ(some.size(), 5u);
  EXPECT_EQ(some[0], all[10]);  // under way at that second
  EXPECT_EQ(some[4], all[14]);
  EXPECT_FALSE(answered("simulate", kServed)["loads"][0].contains("steps"));
  EXPECT_FALSE(ask("simulate", with(kServed, {{"list_steps", 5001}}).dump()));
}

TEST(Drawings, TasksOfAPipelineFillTheStepWithoutOverlap) {
  const Document query = {{"model", "Llama-3.2-1B"},
                          {"cluster", "hgx-h100"},
                          {"pp", 4},
                          {"dp", 2},
                          {"mode", "train"},
                          {"seq", 512},
                          {"micro_batch", 1},
                          {"global_batch", 16},
                          {"list_tasks", true},
                          {"method", "analytic"}};
  const Document step = answered("predict", query)[0];
  const Document& timeline = step["timeline"];
  EXPECT_EQ(timeline["ranks"], 4);
  EXPECT_EQ(timeline["gpus_a_rank"], 2);
  EXPECT_EQ(timeline["left_out"], 0);
  std::map<int, double> free;
  std::map<std::string, int> count;
  double last = 0;
  for (const Document& task : timeline["tasks"]) {
    const double begin = task[4], end = task[5];
    EXPECT_LE(begin, end);
    last = std::max(last, end);
    if (task[6].get<bool>()) continue;
    const int rank = task[0];
    EXPECT_GE(begin, free[rank] - 1e-9) << task;
    free[rank] = end;
    ++count[task[1]];
  }
  // Eight micro-batches a data parallel rank, over four stages, there and back.
  EXPECT_EQ(count["forward"], 32);
  EXPECT_EQ(count["backward"], 32);
  EXPECT_LE(last, step["step_ms"].get<double>() * (1 + 1e-9));
  EXPECT_GT(last, 0.9 * step["step_ms"].get<double>());
}

TEST(Drawings, LongPipelinesKeepBothEnds) {
  const Document query = {{"model", "gpt2"},
                          {"cluster", "hgx-h100"},
                          {"pp", 4},
                          {"mode", "train"},
                          {"seq", 64},
                          {"micro_batch", 1},
                          {"global_batch", 4000},
                          {"list_tasks", true},
                          {"method", "analytic"}};
  const Document timeline = answered("predict", query)[0]["timeline"];
  EXPECT_EQ(timeline["tasks"].size(), 4000u);
  EXPECT_GE(timeline["left_out"].get<int>(), 4000 * 4 * 2 - 4000);
}

TEST(Drawings, TasksOfOneGpuAreRefused) {
  const auto answer = ask("predict", R"({"model": "gpt2", "gpu": "H100-SXM", "seq": 64, "list_tasks": true})");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().field, "list-tasks");
}

void expect_within(const Document& value, const Document& interval) {
  EXPECT_LE(interval[0].get<double>(), value.get<double>() * (1 + 1e-9));
  EXPECT_GE(interval[1].get<double>(), value.get<double>() * (1 - 1e-9));
  EXPECT_LT(interval[0].get<double>(), interval[1].get<double>());
}

TEST(Drawings, PlansHaveAFrontAndACurveWithIntervals) {
  const Document query = {
      {"model", "gpt2"},   {"slo", "ttft=500ms,tpot=30ms"}, {"rate", 20},       {"input", "256"},
      {"output", "64"},    {"gpus", {"L40S", "H100-SXM"}},  {"engine", "vllm"}, {"layout", {"1", "tp2"}},
      {"num_prompts", 60}, {"method", "analytic"}};
  EXPECT_FALSE(answered("plan serve", query).contains("pictures"));
  const Document pictures = answered("plan serve", with(query, {{"pictures", true}}))["pictures"];
  int fronts = 0;
  for (const Document& p : pictures["pareto"]) {
    expect_within(p["output_tokens_per_second_per_user"], p["interval_per_user"]);
    fronts += p["front"].get<bool>();
    for (const Document& o : pictures["pareto"]) {
      const bool above = o["output_tokens_per_second_per_user"] > p["output_tokens_per_second_per_user"] &&
                         o["output_tokens_per_second_per_gpu"] > p["output_tokens_per_second_per_gpu"];
      const bool compared = p["front"].get<bool>() || (o["gpu"] == p["gpu"] && o["layout"] == p["layout"]);
      EXPECT_FALSE(compared && above) << p << o;
    }
  }
  EXPECT_GT(fronts, 2);
  ASSERT_GE(pictures["loads"].size(), 5u);
  double rate = 0;
  for (const Document& p : pictures["loads"]) {
    EXPECT_GT(p["rate"].get<double>(), rate);
    rate = p["rate"];
    for (const std::string name : {"ttft", "tpot", "e2el"}) expect_within(p[name + "_ms"], p[name + "_interval_ms"]);
  }
  EXPECT_FALSE(pictures["over_time"].empty());
}

TEST(Drawings, ScalingHasTheIntervalOfItsSteps) {
  const Document plan = answered("plan train", {{"model", "gpt2"},
                                                {"gpus", "8xH100-SXM"},
                                                {"global_batch", 64},
                                                {"seq", 512},
                                                {"tokens", 1e9},
                                                {"scaling", true},
                                                {"method", "analytic"}});
  ASSERT_FALSE(plan["strong_scaling"].empty());
  for (const char* of : {"strong_scaling", "weak_scaling"})
    for (const Document& point : plan[of])
      if (!point["layout"].is_null()) expect_within(point["days"], point["interval_days"]);
  // The middle of the curve is the plan itself.
  bool found = false;
  for (const Document& point : plan["strong_scaling"])
    if (point["gpus"] == 8) {
      found = true;
      EXPECT_EQ(point["interval_days"], plan["interval_days"]);
    }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tilecast
