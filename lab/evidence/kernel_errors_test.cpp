#include "lab/evidence/kernel_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/gemm.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

KernelError error(Unseen unseen, Doubt doubt, bool known) {
  KernelError e;
  e.unseen = unseen, e.doubt = doubt, e.kernel_known = known;
  e.source = "mine", e.gpu = "H100-SXM", e.family = "gemm", e.dtype = "bf16";
  e.error = 0.05, e.to_bound = 0.5, e.own = {0.04, 0.06};
  return e;
}

std::string kind(Unseen unseen, Doubt doubt, bool known) {
  return coverage_rows(KernelErrors{error(unseen, doubt, known)}).front().kind;
}

TEST(KernelErrors, EachTellsOfOneWidth) {
  EXPECT_EQ(kind(Unseen::shape, Doubt::protocol, true), "") << "its own table: nothing is fitted";
  EXPECT_EQ(kind(Unseen::source, Doubt::protocol, true), "another protocol, products");
  EXPECT_EQ(kind(Unseen::source, Doubt::protocol, false), "another kernel, products");
  EXPECT_EQ(kind(Unseen::source, Doubt::card, false), "another kernel, products")
      << "the card's width is among its parts";
  EXPECT_EQ(kind(Unseen::source, Doubt::vendor, false), "");
  EXPECT_EQ(kind(Unseen::gpu, Doubt::card, false), "") << "several causes at once";
  EXPECT_EQ(kind(Unseen::gpu, Doubt::card, true), "another card, products");
  EXPECT_EQ(kind(Unseen::gpu, Doubt::architecture, true), "another architecture, products") << "it had no sibling";
  EXPECT_EQ(kind(Unseen::architecture, Doubt::architecture, true), "another architecture, products");
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
  ASSERT_EQ(errors.size(), 1u) << "no model spoke for the second";
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
  EXPECT_EQ((*again)[1].doubt, Doubt::vendor);
  EXPECT_FALSE(read_kernel_errors(folder.plain("cut.csv", kernel_errors_csv(errors) + "gpu,a\n")));
  EXPECT_FALSE(read_kernel_errors(folder.plain("other.csv", "a,b\n1,2\n")));
}

}  // namespace
}  // namespace tilecast
