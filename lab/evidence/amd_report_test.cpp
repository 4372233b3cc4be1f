#include "lab/evidence/amd_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/shape_text.h"
#include "measure/outcome.h"

namespace tilecast {
namespace {

Measurement product(Names& names, std::string_view gpu, Count m, Count n, Count k) {
  Measurement row;
  row.source = names.intern("aiter"), row.gpu = names.intern(gpu);
  row.kernel.shape =
      *read_dims("gemm", "m=" + std::to_string(m) + ";n=" + std::to_string(n) + ";k=" + std::to_string(k));
  row.kernel.format = *format_from("bf16");
  row.latency = forecast_row(row, *built_in_gpu(gpu), Method::analytic).forecast * 1.5;
  return row;
}

TEST(AmdReport, MatricesAreThoseOfTheirRowsWhateverTheirNumber) {
  Names names;
  const Measurement one = product(names, "MI300X", 16, 4096, 7168);
  EXPECT_EQ(matrix_of(one), matrix_of(product(names, "MI308X", 8192, 4096, 7168)));
  EXPECT_NE(matrix_of(one), matrix_of(product(names, "MI300X", 16, 7168, 4096)));
}

// A matrix with three rows of 10 % and one with one row of 50 % are worth the same.
TEST(AmdReport, MatricesWeighTheSame) {
  Names names;
  AmdJudged judged;
  const auto add = [&](Count m, Count n, double ratio) {
    judged.rows.push_back(product(names, "MI300X", m, n, 1024));
    Outcome outcome;
    outcome.forecast = judged.rows.back().latency * ratio;
    outcome.low = outcome.forecast * 0.95, outcome.high = outcome.forecast * 1.2;
    judged.outcomes.push_back(outcome);
  };
  add(16, 512, 1.1), add(32, 512, 0.9), add(64, 512, 1.1), add(16, 1024, 1.5);
  judged.rows.push_back(judged.rows.back());
  judged.outcomes.emplace_back().failed = true;
  const auto errors = amd_errors(judged);
  ASSERT_EQ(errors.size(), 1u);
  const AmdErrors& e = errors.at({"gemm", "bf16"});
  EXPECT_EQ(e.rows, 4);
  EXPECT_EQ(e.matrices, 2);
  EXPECT_NEAR(e.by_matrix, 0.3, 1e-12);
  EXPECT_NEAR(e.mean, 0.2, 1e-12);
  EXPECT_NEAR(e.median, 0.1, 1e-12);
  EXPECT_NEAR(e.bias, 0.15, 1e-12);
  EXPECT_NEAR(e.inside, 0.25, 1e-12);  // 0.9 x 1.2 alone reaches what was measured
}

TEST(AmdReport, EveryRowIsJudgedOnceAndTheCardLeftOutIsUnseen) {
  Names names;
  std::vector<Measurement> rows;
  for (Count n = 1; n <= 12; ++n)
    for (const Count m : {64, 256, 1024, 4096}) rows.push_back(product(names, "MI300X", m, n * 512, 4096));
  for (const Count m : {64, 256}) rows.push_back(product(names, "MI308X", m, 512, 4096));
  AmdOptions options;
  options.folds = 3;
  options.train.set_trees(20);
  const auto judged = judge_amd(rows, options);
  ASSERT_TRUE(judged) << judged.error().line();
  ASSERT_EQ(judged->size(), 2u);
  const AmdJudged &held_out = judged->front(), &left_out = judged->back();
  ASSERT_EQ(held_out.rows.size(), 48u);
  EXPECT_EQ(amd_errors(held_out).at({"gemm", "bf16"}).matrices, 12);
  ASSERT_EQ(left_out.rows.size(), 2u);
  for (const Outcome& outcome : left_out.outcomes) EXPECT_FALSE(outcome.seen);
  // Other matrices of the card tell that all take half as long again.
  EXPECT_LT(amd_errors(held_out).at({"gemm", "bf16"}).mean, 0.15);
}

TEST(AmdReport, TablesWithoutTheCardsAreRefused) {
  Names names;
  const auto judged = judge_amd({product(names, "MI300X", 16, 512, 1024)}, {});
  ASSERT_FALSE(judged);
  EXPECT_THAT(judged.error().line(), testing::HasSubstr("MI308X"));
}

}  // namespace
}  // namespace tilecast
