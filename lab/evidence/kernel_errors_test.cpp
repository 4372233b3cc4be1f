#include "lab/evidence/kernel_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/gemm.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

KernelError error(Unseen unseen, Doubt doubt, bool known) {
  KernelError e;
  e.unseen = unseen, e.footing = {MainLoop::product, doubt, known, doubt == Doubt::protocol};
  e.source = "mine", e.gpu = "H100-SXM", e.family = "gemm", e.dtype = "bf16";
  e.error = 0.05, e.to_bound = 0.5, e.own = {0.04, 0.06};
  return e;
}

std::string kind(Unseen unseen, Doubt doubt, bool known) {
  return coverage_rows(KernelErrors{error(unseen, doubt, known)}).front().calibrates();
}

// What is left over of cards that a training did not see is fitted in the training: fitted here once more, it would be
// counted twice.
TEST(KernelErrors, OnlyWhatNoTrainingShowsIsFitted) {
  EXPECT_EQ(kind(Unseen::shape, Doubt::none, true), "");
  EXPECT_EQ(kind(Unseen::shape, Doubt::protocol, true), "PyTorch timed by others, products");
  EXPECT_EQ(kind(Unseen::source, Doubt::protocol, true), "PyTorch timed by others, products");
  EXPECT_EQ(kind(Unseen::source, Doubt::protocol, false), "another kernel, products");
  EXPECT_EQ(kind(Unseen::source, Doubt::card, false), "another kernel, products");
  EXPECT_EQ(kind(Unseen::source, Doubt::vendor, false), "") << "several causes at once";
  for (const Unseen unseen : {Unseen::gpu, Unseen::architecture})
    for (const Doubt doubt : {Doubt::card, Doubt::architecture})
      for (const bool known : {true, false}) EXPECT_EQ(kind(unseen, doubt, known), "") << name_of(doubt);
}

// Parts and the fitted width together are the interval that the forecast gives: nothing is in both.
TEST(KernelErrors, PartsAndWhatIsFittedMakeTheWhole) {
  const Widths shipped = shipped_widths();
  for (const Doubt doubt : {Doubt::protocol, Doubt::card, Doubt::architecture})
    for (const bool known : {true, false}) {
      KernelErrors one = {error(Unseen::source, doubt, known)};
      one[0].to_bound = 100;
      CoverageRows rows = coverage_rows(one);
      if (rows[0].calibrates().empty()) continue;
      const double said = (rows[0].whole->down + rows[0].whole->up) / 2;
      EXPECT_NEAR(coverage_of(rows, shipped).width, said, 1e-12) << name_of(doubt) << known;
    }
}

// Sums keep what a source's kernels of one family on one card are off by together: here all by 0.2, each by up to 0.1
// besides.
TEST(KernelErrors, SumsKeepTheMediansOfTheirKernels) {
  KernelErrors errors;
  for (int i = -10; i <= 10; ++i) {
    errors.push_back(error(Unseen::gpu, Doubt::card, true));
    errors.back().error = 0.2 + 0.01 * i;
  }
  const Widths widths = shared_widths(errors);
  ASSERT_TRUE(widths.contains("another card, products"));
  EXPECT_NEAR(widths.at("another card, products").up, 0.2, 1e-12);
  EXPECT_EQ(widths.at("another card, products").down, 0);
  errors.resize(5);
  EXPECT_TRUE(shared_widths(errors).empty()) << "five rows are no group";
}

TEST(KernelErrors, FoldsAreWhatWasLeftOut) {
  const auto fold = [](Unseen unseen) {
    return coverage_rows(KernelErrors{error(unseen, Doubt::card, true)}).front().left_out_with();
  };
  EXPECT_EQ(fold(Unseen::source), "mine");
  EXPECT_EQ(fold(Unseen::gpu), "H100-SXM");
  EXPECT_EQ(fold(Unseen::architecture), "hopper");
}

TEST(KernelErrors, OfOutcomes) {
  Measurement row;
  row.gpu = "H100-SXM", row.source = "mine", row.kernel = {Gemm{64, 64, 64}, *format_from("bf16")};
  row.latency = microseconds(20);
  Outcome learned;
  learned.forecast = microseconds(10), learned.bound = microseconds(5), learned.own = {0.1, 0.2};
  const Outcome physics = [&] {
    Outcome o = learned;
    o.own = {};
    return o;
  }();
  const KernelErrors errors = kernel_errors({row, row}, {learned, physics}, Unseen::gpu);
  ASSERT_EQ(errors.size(), 1u) << "no model forecast the second";
  EXPECT_NEAR(errors[0].error, std::log(2.0), 1e-12);
  EXPECT_NEAR(errors[0].to_bound, std::log(2.0), 1e-12);
  EXPECT_FALSE(errors[0].held());
}

TEST(KernelErrors, AFileKeepsThem) {
  TestFolder folder;
  const KernelErrors errors = {error(Unseen::gpu, Doubt::card, true), error(Unseen::source, Doubt::vendor, false)};
  const std::string path = folder.plain("kept.csv", kernel_errors_csv(errors));
  const auto again = read_kernel_errors(path);
  ASSERT_TRUE(again) << again.error().line();
  ASSERT_EQ(again->size(), 2u);
  EXPECT_EQ(kernel_errors_csv(*again), kernel_errors_csv(errors));
  EXPECT_EQ((*again)[1].footing.doubt, Doubt::vendor);
  EXPECT_FALSE(read_kernel_errors(folder.plain("cut.csv", kernel_errors_csv(errors) + "gpu,a\n")));
  EXPECT_FALSE(read_kernel_errors(folder.plain("other.csv", "a,b\n1,2\n")));
}

}  // namespace
}  // namespace tilecast
