// How far from its own rows a card's forest is believed.
#include <gtest/gtest.h>

#include <cmath>

#include "estimate/feature_schema.h"
#include "estimate/learned.h"

namespace tilecast {
namespace {

std::size_t place(std::string_view name) {
  const auto names = feature_schema("moe").names;
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()) -
         index_of(Feature::first_of_shape);
}

// Rows of experts 192 and 384 wide with 1 to 32768 tokens, evenly and unevenly spread; one hidden size.
Domain narrow_experts() {
  std::vector<std::vector<float>> borders(kFeatureCount);
  borders[index_of(Feature::first_of_shape) + place("log2(inter)")] = {8.1f};
  borders[index_of(Feature::first_of_shape) + place("log2(tokens)")] = {0.5f, 1.5f, 13.5f, 14.5f};
  borders[index_of(Feature::first_of_shape) + place("alpha")] = {0.5f};
  return domain_of(Forest(std::move(borders), 0, {}), "moe");
}
Features experts(float inter, float tokens) {
  Features f;
  f.shape()[place("log2(inter)")] = inter;
  f.shape()[place("log2(tokens)")] = tokens;
  f.shape()[place("log2(hidden)")] = 20;  // the same in all rows: not known to be far
  f.shape()[place("alpha")] = 9;          // no size
  return f;
}

TEST(Domain, IsBelievedWithinAFactorOfFour) {
  const Domain domain = narrow_experts();
  EXPECT_EQ(domain.trust(experts(7.6f, 10)), 1);
  EXPECT_EQ(domain.trust(experts(10.1f, 10)), 1);
  EXPECT_EQ(domain.trust(experts(8.6f, 17.5f)), 1);
}
TEST(Domain, IsBelievedLessAndLessBeyond) {
  const Domain domain = narrow_experts();
  EXPECT_NEAR(domain.trust(experts(11.1f, 10)), std::exp(-1.0f), 1e-5);
  EXPECT_NEAR(domain.trust(experts(14.1f, 10)), std::exp(-4.0f), 1e-5);
  EXPECT_NEAR(domain.trust(experts(8, 19.5f)), std::exp(-2.0f), 1e-5);
  EXPECT_NEAR(domain.trust(experts(14.1f, 19.5f)), std::exp(-4.0f), 1e-5);  // the farther of the two
}
TEST(Domain, LeavesDefaultsAlone) { EXPECT_EQ(narrow_experts().trust(experts(-1, 10)), 1); }

TEST(Domain, KnowsWhichFieldsAreSizes) {
  EXPECT_TRUE(sizes_of("moe")[place("log2(tokens)")]);
  EXPECT_FALSE(sizes_of("moe")[place("alpha")]);
  for (const bool size : sizes_of("no such family")) EXPECT_FALSE(size);
}

}  // namespace
}  // namespace tilecast
