#include "support/arithmetic.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tilecast
