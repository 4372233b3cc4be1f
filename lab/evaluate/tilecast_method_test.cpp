// The contender on rows of its own making: it learns what it is given, and nothing from a profiler's names.
#include "lab/evaluate/tilecast_method.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/softmax.h"
#include "lab/evaluate/method_testing.h"

namespace tilecast {
namespace {

// Softmax rows at `factor` times the analytic forecast.
std::vector<Measurement> made_rows(double factor, std::string_view kernel) {
  std::vector<Measurement> rows;
  const auto analytic = analytic_method(Method::tilecast);
  for (Count i = 0; i < 300; ++i) {
    Measurement row;
    row.gpu = i % 2 ? "T4" : "V100-PCIe";
    row.source = "neusight-train";
    row.engine = "pytorch";
    row.kernel_source = kernel;
    Softmax shape;
    shape.rows = 64 + 37 * i;
    shape.cols = 128 + 11 * (i % 97);
    row.kernel.shape = shape;
    row.kernel.format = *format_from("fp32");
    row.context.runtime = Runtime::eager;
    row.latency = analytic->forecast(row, *built_in_gpu(row.gpu)).forecast * factor;
    rows.push_back(row);
  }
  return rows;
}

TrainOptions quick_training() {
  TrainOptions options;
  options.set_trees(20);
  options.set_threads(1);
  options.intervals = false;
  return options;
}

TEST(TilecastMethod, LearnsItsRowsAndNamesWhatItHasSeen) {
  const auto rows = made_rows(1.7, "k");
  const auto method = train_tilecast(rows, all_of(rows), quick_training(), {});
  EXPECT_EQ(method->method(), Method::tilecast);
  EXPECT_GT(mean_error(*analytic_method(Method::tilecast), rows), 0.4);
  EXPECT_LT(mean_error(*method, rows), 0.05);
  EXPECT_EQ(method->rows_seen(rows[0]), 150);
  Measurement elsewhere = rows[0];
  elsewhere.gpu = "P4";
  EXPECT_EQ(method->rows_seen(elsewhere), 0);
}

TEST(TilecastMethod, TakesOnlyTheRowsItIsGiven) {
  auto rows = made_rows(1.2, "k");
  const auto others = made_rows(3, "k");
  const auto train = all_of(rows);
  rows.insert(rows.end(), others.begin(), others.end());
  const auto method = train_tilecast(rows, train, quick_training(), {});
  rows.resize(train.size());
  EXPECT_LT(mean_error(*method, rows), 0.05);
}

TEST(TilecastMethod, DoesNotReadTheProfilersKernelName) {
  auto rows = made_rows(1.5, "fast");
  const auto method = train_tilecast(rows, all_of(rows), quick_training(), {});
  auto renamed = rows;
  for (Measurement& row : renamed) row.kernel_source = "slow";
  EXPECT_DOUBLE_EQ(mean_error(*method, rows), mean_error(*method, renamed));
}

TEST(TilecastMethod, LeavesTrapsOutOfTraining) {
  std::vector<Measurement> rows = made_rows(1.5, "k");
  for (Measurement& row : rows) {
    Gemm shape;
    shape.m = row.kernel.shape.as<Softmax>().rows;
    shape.n = shape.k = 1024;
    row.kernel.shape = shape;
    row.gpu = "P4";  // its linear layers in the training tables are a trap
  }
  const auto method = train_tilecast(rows, all_of(rows), quick_training(), {});
  EXPECT_EQ(method->rows_seen(rows[0]), 0);
  EXPECT_DOUBLE_EQ(mean_error(*method, rows), mean_error(*analytic_method(Method::tilecast), rows));
}

}  // namespace
}  // namespace tilecast
