#include "support/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilecast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> counts(std::string_view text) {
  const auto values = range_values(text, RangeOf::counts);
  EXPECT_TRUE(values.ok()) << text << ": " << (values.ok() ? "" : values.error().line());
  return values.ok() ? *values : std::vector<double>{};
}

TEST(Range, SaysSeveralNumbers) {
  EXPECT_THAT(counts("1,8,64"), ElementsAre(1, 8, 64));
  EXPECT_THAT(counts("3..6"), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(counts("1,8..10"), ElementsAre(1, 8, 9, 10));
  EXPECT_THAT(counts("8..32:8"), ElementsAre(8, 16, 24, 32));
  EXPECT_THAT(counts("8..30:8"), ElementsAre(8, 16, 24));  // an end that no step meets is left out
  EXPECT_THAT(counts("8..64*2"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(counts("8..64x2"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(counts("8..63*2"), ElementsAre(8, 16, 32));
  EXPECT_THAT(counts("1..4*1.5"), ElementsAre(1, 2, 3));  // 1, 1.5, 2.25, 3.375, rounded, each once
  EXPECT_THAT(counts("1k..4k:1k"), ElementsAre(1000, 2000, 3000, 4000));
  EXPECT_THAT(counts("1Ki..4Ki*2"), ElementsAre(1024, 2048, 4096));
  EXPECT_THAT(counts("5..5"), ElementsAre(5));
  EXPECT_THAT(counts("2,1..3"), ElementsAre(2, 1, 3));  // as written, each once
}

TEST(Range, OfNumbersAndBytes) {
  EXPECT_THAT(*range_values("0.1..0.5:0.1", RangeOf::numbers), ElementsAre(0.1, 0.2, 0.3, 0.4, 0.5));
  EXPECT_THAT(*range_values("0.25..2*2", RangeOf::numbers), ElementsAre(0.25, 0.5, 1, 2));
  EXPECT_THAT(*range_values("1KiB..4KiB*2", RangeOf::bytes), ElementsAre(1024, 2048, 4096));
  EXPECT_THAT(*range_values("64K,1MB", RangeOf::bytes), ElementsAre(65536, 1e6));
  // Powers of two stay whole far beyond the digits that steps are tidied to.
  EXPECT_DOUBLE_EQ(range_values("1..1T*2", RangeOf::counts)->back(), 549755813888.0);
}

TEST(Range, KnowsItsOwn) {
  for (const char* text : {"1,2", "1..2", "..", "1,,2", ","}) EXPECT_TRUE(is_range(text)) << text;
  for (const char* text : {"", "8", "0.5", "1e3", "8k"}) EXPECT_FALSE(is_range(text)) << text;
}

std::string problem(std::string_view text, RangeOf kind = RangeOf::counts) {
  const auto values = range_values(text, kind);
  if (values.ok()) return "none";
  EXPECT_NE(values.error().remedy, "") << text;
  return values.error().problem;
}

TEST(Range, RefusesNonsense) {
  EXPECT_THAT(problem("8..1"), HasSubstr("ends below its beginning"));
  EXPECT_THAT(problem("1,,2"), HasSubstr("nothing between two commas"));
  EXPECT_THAT(problem("1,"), HasSubstr("nothing between two commas"));
  EXPECT_THAT(problem(".."), HasSubstr("no beginning or no end"));
  EXPECT_THAT(problem("8.."), HasSubstr("no beginning or no end"));
  EXPECT_THAT(problem("..8"), HasSubstr("no beginning or no end"));
  EXPECT_THAT(problem("a..b"), HasSubstr("'a' is not a whole number"));
  EXPECT_THAT(problem("1..2.5"), HasSubstr("'2.5' is not a whole number"));
  EXPECT_THAT(problem("1..8:"), HasSubstr("is not a whole number"));
  EXPECT_THAT(problem("1..8:0"), HasSubstr("step of a range must be above 0"));
  EXPECT_THAT(problem("1..8*1"), HasSubstr("factor of a range must be above 1"));
  EXPECT_THAT(problem("1..8*-2"), HasSubstr("factor of a range must be above 1"));
  EXPECT_THAT(problem("0..8*2"), HasSubstr("must begin above 0"));
  EXPECT_THAT(problem("1..8*nan"), HasSubstr("is not a number"));
  EXPECT_THAT(problem("1..2..3"), HasSubstr("is not a whole number"));
}

TEST(Range, RefusesMoreThanCanBeAsked) {
  EXPECT_EQ(range_values("1..4096", RangeOf::counts)->size(), kMostCombinations);
  EXPECT_THAT(problem("1..4097"), HasSubstr("4097 values, more than 4096"));
  EXPECT_THAT(problem("1..1000000000"), HasSubstr("1000000000 values, more than 4096"));
  EXPECT_THAT(problem("0..1e300:1e-300", RangeOf::numbers), HasSubstr("more than 4096"));
  EXPECT_THAT(problem("1..1G", RangeOf::bytes), HasSubstr("more than 4096"));
  EXPECT_THAT(problem("1..3000,3001..6000"), HasSubstr("more than 4096"));
}

}  // namespace
}  // namespace tilecast
