// The papers' methods trained on planted rows, through the harness and the command line.
#include "lab/evaluate/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cli/cli_testing.h"
#include "gpu/registry.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/softmax.h"
#include "lab/evaluate/method_testing.h"
#include "lab/evaluate/protocols.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

// fp32 linear layers in tiles of 128 x 64 whose utilisation is 0.6 everywhere.
std::vector<Measurement> planted_linear() {
  std::vector<Measurement> rows;
  for (const std::string_view gpu : {"V100-PCIe", "T4"})
    for (Count m = 100; m <= 1600; m += 300)
      for (Count n = 128; n <= 1024; n += 128)
        for (Count k = 64; k <= 512; k += 64) {
          Measurement row;
          row.gpu = gpu;
          row.source = "planted";
          row.kernel = {Gemm{m, n, k}, *format_from("fp32")};
          row.observed.tile_m = 128;
          row.observed.tile_n = 64;
          const auto call = neusight_call(row.kernel);
          const auto device = neusight_device(*find_gpu(gpu), row.kernel.format, true);
          row.latency = neusight_terms(*call, {128, 64, 0}, *device).at_full / 0.6;
          rows.push_back(row);
        }
  return rows;
}

MethodOptions quick() {
  MethodOptions options;
  options.neusight.epochs = 12;
  options.neusight.width = 32;
  options.synperf.epochs = 40;
  options.synperf.threads = 1;
  return options;
}

TEST(Method, NeusightLearnsAPlantedUtilisation) {
  const auto rows = planted_linear();
  const auto trained = train_method(Method::neusight, rows, all_of(rows), quick(), {});
  ASSERT_TRUE(trained) << trained.error().line();
  EXPECT_LT(mean_error(**trained, rows), 0.05);
  EXPECT_EQ((*trained)->rows_seen(rows.front()), 384);
  Measurement unseen = rows.front();
  unseen.gpu = "P100-PCIe";
  EXPECT_EQ((*trained)->rows_seen(unseen), 0);
  EXPECT_FALSE((*trained)->forecast(unseen, *find_gpu("P100-PCIe")).failed);
  unseen.kernel.shape = Bmm{4, 64, 64, 64};
  EXPECT_TRUE((*trained)->forecast(unseen, *find_gpu("P100-PCIe")).failed);
}

TEST(Method, SynperfLearnsAPlantedEfficiency) {
  std::vector<Measurement> rows;
  for (const std::string_view gpu : {"H20", "H800-SXM"})
    for (Count m = 64; m <= 4096; m *= 2)
      for (Count n = 512; n <= 8192; n += 512)
        for (Count k = 512; k <= 8192; k += 2048) {
          Measurement row;
          row.gpu = gpu;
          row.source = "planted";
          row.kernel = {Gemm{m, n, k}, *format_from("fp8_static")};
          const Gpu card = *find_gpu(gpu);
          const auto d = synperf_demand(row.kernel, *plan(row.kernel, card, {}), card);
          row.latency = d->theoretical / 0.5 + microseconds(3);
          rows.push_back(row);
        }
  const auto trained = train_method(Method::synperf, rows, all_of(rows), quick(), {});
  ASSERT_TRUE(trained) << trained.error().line();
  EXPECT_LT(mean_error(**trained, rows), 0.15);
  EXPECT_EQ((*trained)->rows_seen(rows.front()), static_cast<Count>(rows.size() / 2));
}

TEST(Method, SameBytesForASeedWhateverTheThreads) {
  const auto rows = planted_linear();
  MethodOptions options = quick();
  options.neusight.epochs = 1;
  options.neusight.width = 256;  // large enough to be shared out
  options.neusight.threads = 1;
  const auto one = train_method(Method::neusight, rows, all_of(rows), options, {});
  options.neusight.threads = 3;
  const auto three = train_method(Method::neusight, rows, all_of(rows), options, {});
  EXPECT_EQ((*one)->learned().bytes(), (*three)->learned().bytes());
}

TEST(Method, NeusightsFilterAndTiles) {
  const Format fp32 = *format_from("fp32");
  EXPECT_TRUE(neusight_trains_on(*neusight_call({Gemm{1, 1, 1}, fp32})));
  EXPECT_TRUE(neusight_trains_on(*neusight_call({Softmax{4097, 513}, fp32})));
  EXPECT_FALSE(neusight_trains_on(*neusight_call({Softmax{4096, 513}, fp32})));
  const Elementwise add{.elements = 8193 * 512, .inputs = 2};
  EXPECT_FALSE(neusight_trains_on(*neusight_call({add, fp32}, 8193, 512)));
  // A row of NeuSight's whose kernel's name tells no tile is dropped; elsewhere our plan's tile stands in.
  Measurement row;
  row.gpu = "V100-PCIe";
  row.kernel = {Gemm{512, 512, 512}, fp32};
  const auto call = neusight_call(row.kernel);
  row.source = "neusight-train";
  EXPECT_FALSE(neusight_tile(row, *call, *find_gpu("V100-PCIe")));
  row.source = "other";
  EXPECT_GT(neusight_tile(row, *call, *find_gpu("V100-PCIe"))->m, 0);
}

TEST(Method, ProtocolsCompareOnTheSameRows) {
  Protocol protocol;
  protocol.name = "planted";
  protocol.rows = planted_linear();
  for (std::size_t i = 0; i < protocol.rows.size(); ++i)
    (protocol.rows[i].gpu == "V100-PCIe" ? protocol.train : protocol.judged).push_back(i);
  const auto report = run_protocol(protocol, {paper_contender(Method::neusight, quick()), roofline_contender()}, 2, {});
  ASSERT_TRUE(report) << report.error().line();
  ASSERT_EQ(report->lines.size(), 2u);  // T4, and all
  EXPECT_EQ(report->lines[0].gpu, "T4");
  EXPECT_FALSE(report->lines[0].seen);
  EXPECT_LT(report->lines[0].errors[0].mean, 0.15);
  EXPECT_GT(report->lines[0].errors[1].mean, 0.3);
  EXPECT_THAT(protocol_table(*report, false), HasSubstr("| gemm | T4 | 384 | no |"));
}

TEST(Method, ProtocolsThatLeaveGpusOutHaveSeenNone) {
  Protocol protocol;
  protocol.rows = planted_linear();
  for (std::size_t i = 0; i < protocol.rows.size(); ++i) {
    protocol.train.push_back(i);
    protocol.judged.push_back(i);
  }
  protocol.leave_one_out = true;
  Contender spy = roofline_contender();
  spy.train = [](const std::vector<Measurement>& rows, std::span<const std::size_t> train,
                 const Progress&) -> Result<std::unique_ptr<Forecaster>> {
    EXPECT_EQ(train.size(), rows.size() / 2);
    for (const std::size_t i : train) EXPECT_EQ(rows[i].gpu, rows[train.front()].gpu);
    return analytic_method(Method::roofline);
  };
  const auto report = run_protocol(protocol, {spy}, 1, {});
  ASSERT_TRUE(report) << report.error().line();
  ASSERT_EQ(report->lines.size(), 3u);  // T4, V100 and all
  EXPECT_FALSE(report->lines[0].seen);
  EXPECT_FALSE(report->lines[1].seen);
  EXPECT_TRUE(report->trained.empty());
}

TEST(Method, FoldsAreForecastWithoutThemselves) {
  auto rows = planted_linear();
  rows.resize(rows.size() / 2 + 40);  // V100, and some of T4
  std::vector<std::string> folds;
  for (const Measurement& row : rows) folds.emplace_back(row.gpu);
  int trainings = 0;
  const Trainer spy = [&](const std::vector<Measurement>& all, std::span<const std::size_t> chosen,
                          const Progress&) -> Result<std::unique_ptr<Forecaster>> {
    ++trainings;
    for (const std::size_t i : chosen) EXPECT_EQ(all[i].gpu, all[chosen.front()].gpu);
    EXPECT_EQ(chosen.size(), all[chosen.front()].gpu == "T4" ? 40u : all.size() - 40);
    return analytic_method(Method::roofline);
  };
  const auto outcomes = forecast_across_folds(rows, folds, spy, 1, {});
  ASSERT_TRUE(outcomes);
  EXPECT_EQ(trainings, 2);
  const Outcome last = forecast_row(rows.back(), *find_gpu("T4"), Method::roofline);
  EXPECT_EQ(outcomes->back().forecast, last.forecast);
}

constexpr std::string_view kTable =
    "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n";

TEST(Method, CommandLine) {
  TestFolder folder;
  std::string table(kTable);
  for (Count m = 64; m <= 4096; m *= 2)
    for (Count n = 512; n <= 4096; n += 512)
      table += "H20,test,vllm,1,k,gemm,fp8_static,m=" + std::to_string(m) + ";n=" + std::to_string(n) +
               ";k=1024,graph,warm," + std::to_string(10 + m * n / 100000) + "\n";
  const std::string data = folder.plain("rows.csv", table), weights = folder.file("s.weights");
  const std::string kernel = "kernel gemm --m 512 --n 1024 --k 1024 --dtype fp8_static --gpu H20 --method ";
  Ran ran = run_tilecast("train --method synperf --epochs 5 --data " + data + " -o " + weights);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("gemm/fp8_static"));
  ran = run_tilecast(kernel + "synperf --weights " + weights);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("yes"));
  ran = run_tilecast("evaluate --method synperf --data " + data + " --weights " + weights + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"seen\": true"));
  EXPECT_THAT(run_tilecast(kernel + "neusight --weights " + weights).err,
              HasSubstr("holds weights of the method synperf, not neusight"));
  EXPECT_THAT(run_tilecast(kernel + "tilecast --weights " + weights).err,
              HasSubstr("holds weights of the method synperf, not tilecast"));
  EXPECT_THAT(run_tilecast(kernel + "neusight").err,
              HasSubstr("`tilecast-lab train --method neusight --data TABLES -o neusight.weights`"));
  EXPECT_THAT(run_tilecast("train --method roofline --data " + data + " -o x").err, HasSubstr("nothing to learn"));
}

}  // namespace
}  // namespace tilecast
