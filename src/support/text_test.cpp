#include "support/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Text, KeysForgiveCaseAndPunctuation) { EXPECT_EQ(name_key("RTX PRO-6000_(S)"), "rtxpro6000s"); }

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("h100", "h100"), 0);
}

TEST(Text, NearestNamesPreferContainment) {
  EXPECT_THAT(nearest_names("h100", {"H20", "A100", "H100-SXM", "H100-PCIe"}, 2),
              testing::ElementsAre("H100-SXM", "H100-PCIe"));
  EXPECT_THAT(nearest_names("zzzzzz", {"H20", "A100"}), testing::IsEmpty());
}

TEST(Text, Joins) {
  EXPECT_EQ(join_or({"a"}), "a");
  EXPECT_EQ(join_or({"a", "b", "c"}), "a, b or c");
  EXPECT_THAT(split("a;;b", ';'), testing::ElementsAre("a", "", "b"));
}

}  // namespace
}  // namespace tilecast
