#include "support/amount.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Amount, CountsTakePowersOfTen) {
  EXPECT_EQ(amount_from("4096"), 4096);
  EXPECT_EQ(amount_from("8k"), 8000);
  EXPECT_EQ(amount_from("2M"), 2e6);
  EXPECT_EQ(amount_from("2.5B"), 2.5e9);
  EXPECT_EQ(amount_from("2.5G"), 2.5e9);
  EXPECT_EQ(amount_from("15T"), 15e12);
  EXPECT_EQ(amount_from("1e9"), 1e9);
  EXPECT_EQ(amount_from("-3"), -3);
}

TEST(Amount, BinaryPrefixesArePowersOf1024Everywhere) {
  EXPECT_EQ(amount_from("8Ki"), 8192);
  EXPECT_EQ(amount_from("1Mi"), 1048576);
  EXPECT_EQ(whole_amount_from("2Gi"), std::int64_t{1} << 31);
  EXPECT_EQ(bytes_from("8Ki"), 8192);
}

TEST(Amount, WholeOnesAreWhole) {
  EXPECT_EQ(whole_amount_from("9007199254740993"), 9007199254740993);  // more than a double counts
  EXPECT_EQ(whole_amount_from("1.5k"), 1500);
  EXPECT_EQ(whole_amount_from("800k"), 800000);
  EXPECT_FALSE(whole_amount_from("1.5"));
  EXPECT_FALSE(whole_amount_from("0.0001k"));
  EXPECT_FALSE(whole_amount_from("1e30"));
}

TEST(Amount, BytesSayWhichPowersTheyMean) {
  EXPECT_EQ(bytes_from("256"), 256);
  EXPECT_EQ(bytes_from("256B"), 256);
  EXPECT_EQ(bytes_from("64KB"), 64000);
  EXPECT_EQ(bytes_from("64kB"), 64000);
  EXPECT_EQ(bytes_from("64KiB"), 65536);
  EXPECT_EQ(bytes_from("64K"), 65536);  // as nccl-tests
  EXPECT_EQ(bytes_from("1.5m"), 1572864);
  EXPECT_EQ(bytes_from("2GB"), 2e9);
  EXPECT_EQ(bytes_from("2GiB"), 2147483648.0);
  EXPECT_EQ(bytes_from("1T"), 1099511627776.0);
}

TEST(Amount, AllElseIsNone) {
  for (const char* bad : {"", "k", "i", "Ki", "8K", "8kk", "8 k", "8ki", "8Bi", "x", "nan", "inf", "1e308T", "+3"}) {
    EXPECT_FALSE(amount_from(bad)) << bad;
    EXPECT_FALSE(whole_amount_from(bad)) << bad;
  }
  for (const char* bad : {"", "B", "K", "KB", "-1", "-1KB", "1 KB", "nan", "1BB", "1KiK", "1e308G"})
    EXPECT_FALSE(bytes_from(bad)) << bad;
}

TEST(Amount, ACapitalKIsAskedBack) {
  EXPECT_EQ(amount_remedy("8K", "digits"), "8k for thousands, 8Ki for 1024s");
  EXPECT_EQ(amount_remedy("xK", "digits"), "digits");
  EXPECT_EQ(amount_remedy("eight", "digits"), "digits");
}

}  // namespace
}  // namespace tilecast
