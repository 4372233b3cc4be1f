#include "support/number.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Number, IsTheWholeTextOrNothing) {
  EXPECT_EQ(to_count("4096"), 4096);
  EXPECT_EQ(to_count("-3"), -3);
  EXPECT_EQ(to_double("1.5e3"), 1500);
  for (const char* wrong : {"", " 1", "1 ", "+1", "1x", "x"}) {
    EXPECT_FALSE(to_count(wrong)) << wrong;
    EXPECT_FALSE(to_double(wrong)) << wrong;
  }
  EXPECT_FALSE(to_count("1.0"));
  EXPECT_FALSE(to_count("9223372036854775808"));  // one more than fits
}

TEST(Number, BetweenIncludesItsEnds) {
  EXPECT_EQ(number_between("1", 1, 4096), 1);
  EXPECT_EQ(number_between("4096", 1, 4096), 4096);
  EXPECT_FALSE(number_between("0", 1, 4096));
  EXPECT_FALSE(number_between("4097", 1, 4096));
  EXPECT_FALSE(number_between("nan", 0.0, 1.0));
  EXPECT_FALSE(number_between("inf", 0.0, 1.0));
}

TEST(Number, FiniteRefusesInfinity) {
  EXPECT_EQ(finite_number("2"), 2);
  EXPECT_FALSE(finite_number("inf"));
  EXPECT_FALSE(finite_number("nan"));
  EXPECT_TRUE(to_double("inf"));
}

}  // namespace
}  // namespace tilecast
