#include "tilecast/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tilecast {
namespace {

TEST(Units, BinaryAndDecimalPrefixesDiffer) {
  EXPECT_DOUBLE_EQ(in_bytes(gibibytes(1)), 1073741824.0);
  EXPECT_DOUBLE_EQ(in_bytes(gigabytes(1)), 1e9);
  EXPECT_DOUBLE_EQ(in_bytes(mebibytes(96)), 100663296.0);  // the L2 of an L40S
}

TEST(Units, BytesOverRateIsTime) {
  static_assert(std::is_same_v<decltype(bytes(1) / bytes_per_second(1)), Seconds>);
  EXPECT_DOUBLE_EQ(in_milliseconds(gigabytes(8.64) / gigabytes_per_second(864)), 10.0);
}

TEST(Units, PerClockTimesClockIsARate) {
  static_assert(std::is_same_v<decltype(ops(1) * hertz(1)), OpsPerSecond>);
  EXPECT_DOUBLE_EQ(in_teraops_per_second(ops(4096.0 * 132) * megahertz(1830)), 989.42976);
}

TEST(Units, RatioOfLikeQuantitiesIsPlain) {
  static_assert(std::is_same_v<decltype(seconds(1) / seconds(2)), double>);
  EXPECT_DOUBLE_EQ(milliseconds(3) / microseconds(1), 3000.0);
}

TEST(Units, CeilDiv) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(8, 4), 2);
  EXPECT_EQ(ceil_div(9, 4), 3);
  EXPECT_EQ(round_up(257, 128), 384);
}

}  // namespace
}  // namespace tilecast
