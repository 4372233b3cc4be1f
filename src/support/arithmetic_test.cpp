#include "support/arithmetic.h"

#include <gtest/gtest.h>

#include <limits>

namespace tilecast {
namespace {

TEST(PNorm, OneAddsTwoIsPythagorasLargeTakesTheLonger) {
  EXPECT_DOUBLE_EQ(p_norm(3, 4, 1), 7);
  EXPECT_DOUBLE_EQ(p_norm(3, 4, 2), 5);
  EXPECT_DOUBLE_EQ(p_norm(4, 3, 2), 5);
  EXPECT_DOUBLE_EQ(p_norm(2, 2, 4), 2 * std::sqrt(std::sqrt(2.0)));
  EXPECT_NEAR(p_norm(3, 4, 100), 4, 1e-9);
}

TEST(PNorm, WhatIsNotAboveZeroAddsNothing) {
  EXPECT_EQ(p_norm(0, 4, 1.55), 4);
  EXPECT_EQ(p_norm(4, 0, 1.55), 4);
  EXPECT_EQ(p_norm(0, 0, 2), 0);
}

TEST(PNorm, HoldsWherePowersWouldVanishOrOverflow) {
  EXPECT_DOUBLE_EQ(p_norm(3e-200, 4e-200, 2), 5e-200);
  EXPECT_DOUBLE_EQ(p_norm(3e200, 4e200, 2), 5e200);
}

TEST(Power, ByHand) {
  EXPECT_EQ(power(3, 4), 81);
  EXPECT_EQ(power(4, 1.5), 8);
  EXPECT_EQ(power(4, -0.5), 0.5);
  EXPECT_EQ(power(2, -12), 1.0 / 4096);
  EXPECT_EQ(power(7, 0), 1);
  EXPECT_EQ(power(7, 1), 7);
}

TEST(Power, AsTheLibraryHasIt) {
  for (const double exponent : {-12.0, -6.0, -4.0, -1.5, -0.5, 0.5, 1.5, 2.0, 3.5, 12.0, 32.0, 1.55, -0.37, 40.0})
    for (double base = 1e-6; base < 1e6; base *= 1.37)
      EXPECT_NEAR(power(base, exponent) / std::pow(base, exponent), 1, 1e-14) << base << " to the " << exponent;
}

TEST(Power, OfNothingAndOfNoNumber) {
  EXPECT_EQ(power(0, 4), 0);
  EXPECT_EQ(power(0, -4), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(power(2, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(power(2, std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tilecast
