#include "lab/evidence/blind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::Not;

VisibleFigure figure(const char* gpu, Count rows, double mean, double median, double held) {
  return {"kernel", "gpu", "aiconfigurator", "gemm", "bf16", gpu, rows, mean, median, 0, held};
}

TEST(Visible, GroupsOfRunsAndKernels) {
  KernelError e;
  e.unseen = Unseen::gpu, e.footing.doubt = Doubt::card, e.footing.kernel_known = true;
  e.source = "aiconfigurator", e.gpu = "B200", e.family = "gemm", e.dtype = "bf16";
  e.error = std::log(0.8), e.to_bound = 1, e.own = {0.01, 0.01};
  EndToEndResult r;
  r.label.source = "argonne", r.label.mode = "generate", r.label.gpu = "H100-SXM", r.quantity = "total";
  r.measured = 2, r.forecast = 1, r.low = 0.5, r.high = 3;
  const VisibleFigures all = visible_figures({e, e}, {r});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].rows, 2);
  EXPECT_NEAR(all[0].mean, 0.25, 1e-9) << "the forecast is 1.25 of the measured time";
  EXPECT_EQ(all[0].held, 0);
  EXPECT_NEAR(all[1].mean, 0.5, 1e-9);
  EXPECT_EQ(all[1].held, 1);
}

TEST(Visible, AQuestionJoinsCards) {
  const VisibleFigures all = {figure("B200", 300, 0.1, 0.08, 0.9), figure("GB200", 100, 0.2, 0.1, 0.5),
                              figure("L40S", 100, 0.5, 0.5, 0.1)};
  const auto both = asked_figure(all, "kernel/gpu/aiconfigurator/gemm/bf16/B200+GB200");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->rows, 400);
  EXPECT_NEAR(both->mean, 0.125, 1e-12);
  EXPECT_NEAR(both->median, 0.09, 1e-12);
  EXPECT_NEAR(both->held, 0.8, 1e-12);
  EXPECT_EQ(asked_figure(all, "kernel/gpu/aiconfigurator/gemm//")->rows, 500) << "any format, any card";
  EXPECT_FALSE(asked_figure(all, "kernel/gpu/aiconfigurator/moe//"));
  EXPECT_FALSE(asked_figure(all, "kernel/gpu")) << "no question";
}

TEST(Visible, AFileKeepsFigures) {
  TestFolder folder;
  const VisibleFigures all = {figure("B200", 300, 0.1, 0.08, 0.9), figure("a, b", 1, 0.25, 0.25, -1)};
  const auto again = read_visible(folder.plain("visible.csv", visible_csv(all)));
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(visible_csv(*again), visible_csv(all));
  EXPECT_FALSE(read_visible(folder.plain("bad.csv", visible_csv(all) + "kernel,gpu,a,b,c,d,many,0,0,0,0\n")));
}

TEST(Blind, FiguresStandAsGivenBesideVisibleOnes) {
  const std::vector<BlindLine> lines = {
      {"Kernels", "GEMM bf16", "1,000", "7.8 / 6.5", "roofline 50",
       "kernel/gpu/aiconfigurator/gemm/bf16/B200 kernel/gpu/aiconfigurator/gemm/bf16/T4", "B200; T4", "its clock"},
      {"Kernels", "norms", "", "6 to 8", "", "", "", ""}};
  const std::string text = blind_report(lines, {figure("B200", 300, 0.1, 0.08, 0.9)});
  EXPECT_THAT(text,
              HasSubstr("| GEMM bf16 | 1,000 | 7.8 / 6.5 | roofline 50 | B200; T4 | 10.0 / 8.0; – | 300; – | 90; – |"));
  EXPECT_THAT(text, HasSubstr("| norms |  | 6 to 8 |  |  |  |  |  |"));
  EXPECT_THAT(text, HasSubstr("- GEMM bf16: its clock\n"));
  EXPECT_EQ(blind_report({}, {}), "");
}

// The table that the page is made of: every question can be asked, and the page names nobody's folders.
TEST(Blind, TheTableIsWellFormed) {
  const auto lines = read_blind(TILECAST_SOURCE_DIR "/data/evidence/blind_test.csv");
  ASSERT_TRUE(lines) << lines.error().line();
  EXPECT_GE(lines->size(), 40u);
  const auto visible = read_visible(TILECAST_SOURCE_DIR "/data/evidence/visible.csv");
  ASSERT_TRUE(visible) << visible.error().line();
  EXPECT_THAT(blind_report(*lines, *visible), Not(HasSubstr("shared/")));
}

}  // namespace
}  // namespace tilecast
