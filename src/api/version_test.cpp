#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tilecast/tilecast.h"

namespace tilecast {
namespace {

TEST(Version, OfTheHeadersAndOfTheLibrary) {
  EXPECT_EQ(version(), fmt::format("{}.{}.{}", TILECAST_VERSION_MAJOR, TILECAST_VERSION_MINOR, TILECAST_VERSION_PATCH));
}

}  // namespace
}  // namespace tilecast
