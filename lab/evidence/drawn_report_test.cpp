#include "lab/evidence/drawn_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kDraws = TILECAST_SOURCE_DIR "/data/measurements/";

// What single kernels are held to on a draw that nothing was trained on; a table of the training is refused.
TEST(Drawn, KernelsThatNoTrainingReadAreNear) {
  const auto groups = judge_drawn(kDraws + "h200_draw_judge.csv.gz", shipped_weights(), 2);
  ASSERT_TRUE(groups) << groups.error().line();
  Count rows = 0;
  double errors = 0;
  for (const Group& group : *groups) {
    rows += group.rows, errors += static_cast<double>(group.rows) * group.mean;
    EXPECT_EQ(group.below_bound, 0) << group.keys[0];
    EXPECT_LE(group.median, 0.2) << group.keys[0] << " " << group.keys[1] << " " << group.keys[2];
  }
  EXPECT_GT(rows, 1100);
  EXPECT_LE(errors / static_cast<double>(rows), 0.1);
  EXPECT_THAT(drawn_report(*groups), testing::HasSubstr("| gemm | bf16 | cublas |"));
  EXPECT_EQ(drawn_figures(*groups).size(), groups->size());
}

// The draw of what the first was forecast worst at.
TEST(Drawn, ProductsAndLookUps) {
  const auto groups = judge_drawn(kDraws + "h200_products_judge.csv.gz", shipped_weights(), 2);
  ASSERT_TRUE(groups) << groups.error().line();
  for (const Group& group : *groups) {
    EXPECT_EQ(group.below_bound, 0) << group.keys[0];
    EXPECT_LE(group.median, 0.1) << group.keys[0] << " " << group.keys[1];
  }
  EXPECT_THAT(drawn_products_report(*groups), testing::HasSubstr("| embedding | bf16 | torch |"));
}

TEST(Drawn, ATableOfTheTrainingIsNoJudge) {
  const auto groups = judge_drawn(kDraws + "h200_draw_rows.csv.gz", shipped_weights(), 2);
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().line(), testing::HasSubstr("trained on"));
}

}  // namespace
}  // namespace tilecast
