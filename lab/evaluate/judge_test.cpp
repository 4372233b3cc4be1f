// Which rows weights may be judged on, by whom, and what becomes of the forecasts.
#include "lab/evaluate/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/gemm.h"
#include "lab/evaluate/predictions.h"
#include "measure/dims.h"
#include "support/csv.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

std::vector<Measurement> rows_of(std::vector<std::string_view> gpus, Count shapes) {
  std::vector<Measurement> rows;
  for (const std::string_view gpu : gpus)
    for (Count m = 1; m <= shapes; ++m) {
      Measurement row;
      row.gpu = gpu;
      row.source = "hand";
      row.engine = "vllm";
      row.kernel = {Gemm{m * 16, 2048, 2048}, *format_from("bf16")};
      row.latency = microseconds(10 + static_cast<double>(m));
      rows.push_back(row);
    }
  return rows;
}

// Weights that know of GPUs and nothing else: without trees the model corrects nothing.
Weights weights_that_saw(std::vector<std::string> gpus) {
  FamilyModel model;
  model.key = "gemm/bf16";
  for (const std::string& gpu : gpus) model.seen[gpu] = 7;
  Weights weights;
  weights.models.push_back(model);
  return weights;
}

TEST(Judge, SeenGpusOnHeldOutShapesOthersOnAll) {
  const auto rows = rows_of({"H100-SXM", "L40S"}, 200);
  Count held = 0;
  for (const Measurement& row : rows) held += row.gpu == "H100-SXM" && held_out(row.kernel.shape) ? 1 : 0;
  ASSERT_GT(held, 0);
  const Weights weights = weights_that_saw({"H100-SXM"});
  const auto kept = judgeable(rows, {.weights = &weights});
  EXPECT_EQ(static_cast<Count>(kept.size()), held + 200);
  for (const Measurement& row : kept) EXPECT_TRUE(row.gpu == "L40S" || held_out(row.kernel.shape));
}

// Rows of a source that the weights were not trained on are judged whole: none of their shapes is a trained one.
TEST(Judge, TablesThatNoTrainingReadAreJudgedWhole) {
  Weights weights = weights_that_saw({"H100-SXM"});
  weights.models[0].trained_on["another-table"] = 7;
  const auto rows = rows_of({"H100-SXM"}, 200);
  EXPECT_EQ(judgeable(rows, {.weights = &weights}).size(), 200u);
  weights.models[0].trained_on[std::string(rows.front().source)] = 7;
  EXPECT_LT(judgeable(rows, {.weights = &weights}).size(), 200u);
}

// A GPU that another family's model saw is not unseen, though this family's forecasts are of an unseen one.
TEST(Judge, AGpuSeenByAnyModelIsSeen) {
  Weights weights = weights_that_saw({"H100-SXM"});
  weights.models[0].key = "softmax/bf16";
  EXPECT_TRUE(gpu_seen(weights, "H100-SXM"));
  EXPECT_FALSE(gpu_seen(weights, "L40S"));
  const auto rows = rows_of({"H100-SXM"}, 20);
  EXPECT_LT(judgeable(rows, {.weights = &weights}).size(), rows.size());
  const auto judged = judge(rows, "tilecast", {.weights = &weights});
  ASSERT_TRUE(judged);
  for (const Outcome& outcome : judged->methods[0].outcomes) EXPECT_FALSE(outcome.seen);
}

TEST(Judge, RefusesToCallASeenGpuUnseen) {
  const auto rows = rows_of({"H100-SXM", "L40S"}, 3);
  const Weights weights = weights_that_saw({"H100-SXM"});
  const JudgeOptions options{.weights = &weights};
  EXPECT_TRUE(check_unseen(options, {"l40s"}, rows));
  const auto seen = check_unseen(options, {"L40S", "h100 sxm"}, rows);
  ASSERT_FALSE(seen);
  EXPECT_EQ(
      seen.error().line(),
      "unseen: the weights of tilecast have seen 7 rows of H100-SXM (gemm/bf16) (train with --leave-out H100-SXM)");
  EXPECT_THAT(check_unseen(options, {"B200"}, rows).error().line(), HasSubstr("no row of B200"));
  EXPECT_THAT(check_unseen(options, {"B20"}, rows).error().line(), HasSubstr("did you mean"));
}

TEST(Judge, RunsEveryMethodThatCan) {
  const auto rows = rows_of({"H100-SXM"}, 3);
  const auto all = judge(rows, "all", {});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->methods.size(), 2u);
  EXPECT_EQ(all->methods[0].name, "analytic");
  EXPECT_EQ(all->methods[1].name, "roofline");
  EXPECT_THAT(all->missing,
              testing::ElementsAre(HasSubstr("tilecast: no weights"), HasSubstr("train --method neusight"),
                                   HasSubstr("train --method synperf")));
  EXPECT_THAT(judge(rows, "tilecast", {}).error().line(), HasSubstr("no weights"));
  EXPECT_THAT(judge(rows, "oracle", {}).error().line(),
              HasSubstr("one of tilecast, neusight, synperf, analytic, roofline, or all"));
  JudgeOptions alone;
  alone.leave_out = LeaveOut::gpu;
  EXPECT_THAT(judge(rows, "tilecast", alone).error().line(), HasSubstr("all rows are of H100-SXM"));
}

// Two GPUs, two sources: with a source left out the GPU both measured is still seen, the other is not.
TEST(Judge, LeavesOutSources) {
  auto rows = rows_of({"H100-SXM", "L40S", "H100-SXM"}, 40);
  for (std::size_t i = 80; i < rows.size(); ++i) rows[i].source = "other";
  JudgeOptions options;
  options.leave_out = *leave_out_from("source");
  options.train.train.set_trees(2);
  const auto judged = judge(rows, "tilecast", options);
  ASSERT_TRUE(judged) << judged.error().line();
  const auto groups = group_errors(rows, judged->methods[0].outcomes, {Key::gpu});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_TRUE(groups[0].all_seen());
  EXPECT_TRUE(groups[1].none_seen());
  const auto both = group_errors(rows, judged->methods[0].outcomes, {});
  EXPECT_FALSE(both[0].all_seen());
  EXPECT_FALSE(both[0].none_seen());
  EXPECT_FALSE(leave_out_from("engine"));
}

TEST(Judge, KeepsRowsThatAllMethodsForecast) {
  auto rows = rows_of({"A"}, 4);
  std::vector<MethodOutcomes> methods = {{"a", std::vector<Outcome>(4)}, {"b", std::vector<Outcome>(4)}};
  for (std::size_t i = 0; i < 4; ++i) methods[1].outcomes[i].forecast = microseconds(static_cast<double>(i));
  methods[0].outcomes[1].failed = methods[1].outcomes[2].failed = true;
  EXPECT_EQ(keep_common(rows, methods), 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].kernel.shape.as<Gemm>().m, 64);
  EXPECT_EQ(methods[1].outcomes[1].forecast, microseconds(3));
  EXPECT_EQ(keep_common(rows, methods), 0);
  // A method that knows nothing of these rows takes none of them away.
  methods.push_back({"c", std::vector<Outcome>(2)});
  methods[2].outcomes[0].failed = methods[2].outcomes[1].failed = true;
  EXPECT_EQ(keep_common(rows, methods), 0);
  EXPECT_EQ(rows.size(), 2u);
}

TEST(Predictions, WrittenWholeReadBack) {
  TestFolder folder;
  auto rows = rows_of({"H100-SXM"}, 2);
  Outcome outcome;
  outcome.forecast = microseconds(12);
  outcome.low = microseconds(11);
  outcome.high = microseconds(13.5);
  outcome.bound = microseconds(8);
  outcome.regime = Regime::compute;
  outcome.seen = true;
  const std::vector<MethodOutcomes> methods = {{"tilecast", {outcome, outcome}}, {"roofline", {outcome, outcome}}};
  for (const char* name : {"p.csv", "p.csv.gz"}) {
    ASSERT_TRUE(write_predictions(folder.file(name), rows, methods));
    auto csv = CsvReader::open(folder.file(name));
    ASSERT_TRUE(csv);
    Count lines = 0;
    while (*csv->next()) {
      EXPECT_EQ(csv->problem(), "");
      const auto at = [&](std::string_view column) { return (*csv)[*csv->column(column)]; };
      EXPECT_EQ(at("gpu"), "H100-SXM");
      EXPECT_EQ(at("method"), lines % 2 == 0 ? "tilecast" : "roofline");
      EXPECT_EQ(at("dims"), lines < 2 ? "m=16;n=2048;k=2048" : "m=32;n=2048;k=2048");
      EXPECT_EQ(at("measured_us"), lines < 2 ? "11" : "12");
      EXPECT_EQ(at("forecast_us"), "12");
      EXPECT_EQ(at("high_us"), "13.5");
      EXPECT_EQ(at("bound_us"), "8");
      EXPECT_EQ(at("regime"), "compute-bound");
      EXPECT_EQ(at("seen"), "1");
      ++lines;
    }
    EXPECT_EQ(lines, 4);
  }
  EXPECT_EQ(folder.files(), 2u);
  EXPECT_FALSE(write_predictions(folder.file("no/such/p.csv"), rows, methods));
}

}  // namespace
}  // namespace tilecast
