// Shares of what is learned that cards left out would have kept.
#include "lab/train/carry.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

// A card whose rows lie `own` over the physics, where others taught `learned`.
LeftOut card(float own, float learned, double likeness, const char* vendor = "nvidia") {
  LeftOut left;
  left.data.width = 1;
  left.data.features.assign(10, 0.0f);
  left.data.targets.assign(10, own);
  left.data.weights.assign(10, 1.0f);
  left.learned.assign(10, learned);
  left.likeness = likeness, left.vendor = vendor;
  return left;
}

TEST(FitCarry, WhatAllCardsShareIsCarriedWhole) {
  const Carries carries = fit_carry(std::vector{card(0.3f, 0.3f, 0), card(0.4f, 0.4f, 0), card(0.3f, 0.3f, 1)});
  EXPECT_FLOAT_EQ(carries.at("nvidia").near, 1);
  EXPECT_FLOAT_EQ(carries.at("nvidia").far, 1);
}

TEST(FitCarry, WhatIsACardsOwnStaysWithItsKind) {
  const Carries carries = fit_carry(std::vector{card(-0.2f, 0.3f, 0), card(0.1f, -0.4f, 0), card(0.3f, 0.3f, 1)});
  EXPECT_FLOAT_EQ(carries.at("nvidia").near, 1);
  EXPECT_FLOAT_EQ(carries.at("nvidia").far, 0);
}

TEST(FitCarry, HalfOfIt) {
  const Carries carries = fit_carry(std::vector{card(0.2f, 0.4f, 0), card(-0.1f, -0.2f, 0)});
  EXPECT_FLOAT_EQ(carries.at("nvidia").far, 0.5f);
  EXPECT_FLOAT_EQ(carries.at("nvidia").near, 1) << "nothing tells of like cards";
}

TEST(FitCarry, VendorsTellNothingOfEachOther) {
  const Carries carries = fit_carry(std::vector{card(0.3f, 0.3f, 0), card(0, 0.5f, 0, "amd")});
  EXPECT_FLOAT_EQ(carries.at("nvidia").far, 1);
  EXPECT_FLOAT_EQ(carries.at("amd").far, 0);
  EXPECT_TRUE(fit_carry({}).empty());
  EXPECT_FLOAT_EQ(fit_carry(std::vector{card(0, 0.5f, 1)}).at("nvidia").far, 1) << "only like cards were judged";
}

TEST(FitCarry, ArchitecturesCountTheSameHoweverManyCardsTheyHave) {
  std::vector<LeftOut> judged = {card(0.24f, 0.24f, 0)};
  for (int i = 0; i < 3; ++i) judged.push_back(card(0, 0.2f, 0)), judged.back().weight = 1.0 / 3;
  EXPECT_FLOAT_EQ(fit_carry(judged).at("nvidia").far, 1);
}

TEST(Leftovers, AreWhatTheCarriedForecastMisses) {
  const Carries quarter = {{"nvidia", Carry{1, 0.25f}}};
  EXPECT_FLOAT_EQ(leftovers(card(0.5f, 0.2f, 0), quarter).targets.front(), 0.45f);
  EXPECT_FLOAT_EQ(leftovers(card(0.5f, 2.0f, 0), quarter).targets.front(), 0.5f - 1.75f)
      << "a correction that large is of another kernel: little of it is doubted";
  EXPECT_FLOAT_EQ(leftovers(card(0.5f, 0.4f, 0), {}).targets.front(), 0.1f) << "all is carried";
}

}  // namespace
}  // namespace tilecast
