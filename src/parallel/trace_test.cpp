#include "parallel/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace tilecast {
namespace {

TEST(Lanes, OneForEveryRank) {
  Pipeline p{PipelineSchedule::one_f_one_b, 3, 1, 4, {}, microseconds(1)};
  p.stages.assign(3, {microseconds(10), microseconds(12), microseconds(8)});
  const PipelineTimeline timeline = simulate(p);
  const Seconds end = timeline.total;
  std::vector<LaneSpan> spans = {{1, "reduce \"gradients\"\n", "communication", end * 0.5, end, true},
                                 {2, "optimizer", "optimizer", end, end + microseconds(5), false}};
  const StepLanes step{"a \\ title", timeline, spans};
  const auto json = nlohmann::json::parse(lanes_json({&step, 1}));
  std::map<int, std::string> lanes;
  std::map<int, double> busy, free;
  for (const auto& e : json["traceEvents"]) {
    EXPECT_EQ(e["pid"], 1);
    if (e["name"] == "process_name") EXPECT_EQ(e["args"]["name"], "a \\ title");
    else if (e["name"] == "thread_name") lanes[e["tid"]] = e["args"]["name"];
    else if (e["name"] == "thread_sort_index") EXPECT_EQ(e["args"]["sort_index"], e["tid"]);
    else {
      ASSERT_EQ(e["ph"], "X");
      const int lane = e["tid"];
      EXPECT_GE(e["ts"].get<double>(), free[lane] - 1e-9);
      free[lane] = e["ts"].get<double>() + e["dur"].get<double>();
      busy[lane] += e["dur"].get<double>();
    }
  }
  EXPECT_EQ(lanes,
            (std::map<int, std::string>{{1, "rank 0"}, {3, "rank 1"}, {4, "rank 1 communication"}, {5, "rank 2"}}));
  EXPECT_NEAR(busy[1], 120, 1e-6);
  EXPECT_NEAR(busy[3], 120, 1e-6);
  EXPECT_NEAR(busy[5], 125, 1e-6);
  EXPECT_NEAR(busy[4], in_microseconds(end) / 2, 1e-6);
  EXPECT_NEAR(free[4], in_microseconds(end), 1e-6);
  const auto& last = json["traceEvents"].back();
  EXPECT_EQ(last["name"], "optimizer");
  const auto& reduce = json["traceEvents"][json["traceEvents"].size() - 2];
  EXPECT_EQ(reduce["name"], "reduce \"gradients\"\n");
  EXPECT_FALSE(reduce.contains("args"));
  EXPECT_EQ(json["traceEvents"].size(), 1u + 2 * 4 + 24 + 2);
}

TEST(Lanes, NameTheGpusTheyStandFor) {
  Pipeline p{PipelineSchedule::one_f_one_b, 2, 1, 1, {}, microseconds(1)};
  p.stages.assign(2, {microseconds(10), microseconds(12), microseconds(8)});
  const std::vector<StepLanes> steps = {{"one", simulate(p), {}, 1}, {"eight", simulate(p), {}, 4}};
  const auto json = nlohmann::json::parse(lanes_json(steps));
  std::set<std::pair<int, std::string>> lanes;
  for (const auto& e : json["traceEvents"])
    if (e["name"] == "thread_name") lanes.insert({e["pid"].get<int>(), e["args"]["name"].get<std::string>()});
  EXPECT_EQ(lanes,
            (std::set<std::pair<int, std::string>>{{1, "rank 0"}, {1, "rank 1"}, {2, "ranks 0–3"}, {2, "ranks 4–7"}}));
}

}  // namespace
}  // namespace tilecast
