#include "cli/terminal/units_text.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(UnitsText, TimesTakeTheUnitThatFits) {
  EXPECT_EQ(text_of(seconds(0)), "0");
  EXPECT_EQ(text_of(seconds(1e-15)), "0");
  EXPECT_EQ(text_of(nanoseconds(2.5)), "2.50 ns");
  EXPECT_EQ(text_of(nanoseconds(999)), "999 ns");
  EXPECT_EQ(text_of(nanoseconds(999.6)), "1.00 µs");
  EXPECT_EQ(text_of(microseconds(212)), "212 µs");
  EXPECT_EQ(text_of(microseconds(999.6)), "1.00 ms");
  EXPECT_EQ(text_of(milliseconds(1.534)), "1.53 ms");
  EXPECT_EQ(text_of(seconds(12.34)), "12.3 s");
}

TEST(UnitsText, SizesAreBinaryRatesDecimal) {
  EXPECT_EQ(text_of(bytes(33554432)), "32.0 MiB");
  EXPECT_EQ(text_of(gibibytes(80)), "80.0 GiB");
  EXPECT_EQ(text_of(bytes(1023.4)), "1023 B");
  EXPECT_EQ(text_of(bytes(1024)), "1.00 KiB");
  EXPECT_EQ(text_of(gigabytes_per_second(3352.3)), "3.35 TB/s");
  EXPECT_EQ(text_of(teraops_per_second(989.4)), "989 T/s");
  EXPECT_EQ(text_of(teraops_per_second(1979)), "1.98 P/s");
  EXPECT_EQ(text_of(ops(137438953472)), "137 G");
  EXPECT_EQ(text_of(bytes(12)), "12.0 B");
  EXPECT_EQ(text_of(bytes(0.0018)), "0 B");
}

TEST(UnitsText, ThreeDigitsDoNotGrowAFourthByRounding) {
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(9.994), "9.99");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.94), "99.9");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(-1.534), "-1.53");
  EXPECT_EQ(three_digits(0.00123), "0.0012");
  EXPECT_EQ(percent(0.654), "65 %");
  EXPECT_EQ(percent(-1e-12), "0 %");
  EXPECT_EQ(percent(-0.02), "-2 %");
}

TEST(UnitsText, LongTimesAreMinutesHoursAndDays) {
  EXPECT_EQ(text_of(seconds(119)), "119 s");
  EXPECT_EQ(text_of(seconds(119.6)), "1.99 minutes");
  EXPECT_EQ(text_of(seconds(130)), "2.17 minutes");
  EXPECT_EQ(text_of(seconds(119.4 * 60)), "119 minutes");
  EXPECT_EQ(text_of(seconds(119.6 * 60)), "1.99 hours");
  EXPECT_EQ(text_of(seconds(47.9 * 3600)), "47.9 hours");
  EXPECT_EQ(text_of(seconds(0.12 * 86400)), "2.88 hours");
  EXPECT_EQ(text_of(seconds(4591165)), "53.1 days");
  EXPECT_EQ(text_of(seconds(1e10)), "115,741 days");
}

TEST(UnitsText, CountsTakeTheSuffixesThatAreTyped) {
  EXPECT_EQ(text_of_count(0), "0");
  EXPECT_EQ(text_of_count(512), "512");
  EXPECT_EQ(text_of_count(800e3), "800 k");
  EXPECT_EQ(text_of_count(999.9e3), "1 M");
  EXPECT_EQ(text_of_count(8.03e9), "8.03 B");
  EXPECT_EQ(text_of_count(1e12), "1 T");
  EXPECT_EQ(text_of_count(1e18), "1,000,000 T");
}

TEST(UnitsText, MoneyHasCents) {
  EXPECT_EQ(text_of_usd(0), "$0.00");
  EXPECT_EQ(text_of_usd(0.1), "$0.10");
  EXPECT_EQ(text_of_usd(0.0432), "$0.043");
  EXPECT_EQ(text_of_usd(7.976), "$7.98");
  EXPECT_EQ(text_of_usd(999.999), "$1,000");
  EXPECT_EQ(text_of_usd(1017748.2), "$1,017,748");
}

TEST(UnitsText, DigitsStandInGroupsOfThree) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(131072), "131,072");
  EXPECT_EQ(grouped(-131072), "-131,072");
  EXPECT_EQ(grouped(-100), "-100");
}

TEST(UnitsText, OfRatesEnergyPowerAndIntervals) {
  EXPECT_EQ(text_of_rate(8.501), "8.50");
  EXPECT_EQ(text_of_rate(247.41), "247");
  EXPECT_EQ(text_of_rate(10881.2), "10,881");
  EXPECT_EQ(text_of_energy(0.2414), "0.241 J");
  EXPECT_EQ(text_of_energy(6177), "6.18 kJ");
  EXPECT_EQ(text_of_energy(4.32e6), "1.20 kWh");
  EXPECT_EQ(text_of_energy(16.83e9 * 3.6), "16.8 MWh");
  EXPECT_EQ(text_of_power(525), "525 W");
  EXPECT_EQ(text_of_power(4200), "4.20 kW");
  EXPECT_EQ(text_of_interval(microseconds(15.8), microseconds(1200)), "15.8 µs – 1.20 ms");
}

}  // namespace
}  // namespace tilecast
