#include "estimate/host_timing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/elementwise.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

// A floor of 30 us, and a gap of 18 before the kernel starts.
const HostTiming kHost{30, 18};

TEST(HostTiming, AShortKernelTakesTheFloorAndALongOneTheGapMore) {
  EXPECT_NEAR(in_microseconds(timed_by_host(kHost, microseconds(2))), 30, 0.01);
  EXPECT_NEAR(in_microseconds(timed_by_host(kHost, microseconds(982))), 1000, 0.01);
  // Where they meet: 30 x 2^(1/16).
  EXPECT_NEAR(in_microseconds(timed_by_host(kHost, microseconds(12))), 30 * std::pow(2.0, 1.0 / 16), 1e-6);
}

TEST(HostTiming, TheHostComesOffAgain) {
  for (const double us : {18.0, 30.0, 100.0, 5000.0}) {
    const auto own = without_host(kHost, timed_by_host(kHost, microseconds(us)));
    ASSERT_TRUE(own) << us;
    EXPECT_NEAR(in_microseconds(own->kernel), us, us * 1e-6);
    // One percent more of the kernel is so much more of the measured time.
    const double more = timed_by_host(kHost, microseconds(us * 1.001)) / timed_by_host(kHost, microseconds(us)) - 1;
    EXPECT_NEAR(own->told, more / 0.001, 0.01) << us;
  }
  EXPECT_FALSE(without_host(kHost, microseconds(32))) << "within a tenth of the floor";
}

TEST(HostTiming, WithoutAHostNothingComesOff) {
  const auto own = without_host({}, microseconds(7));
  ASSERT_TRUE(own);
  EXPECT_DOUBLE_EQ(in_microseconds(own->kernel), 7);
  EXPECT_FLOAT_EQ(own->told, 1);
}

TEST(HostTiming, TheGapIsAShareOfTheFloor) {
  EXPECT_FLOAT_EQ(host_timing(50, Vendor::nvidia).gap_us, 30);
  EXPECT_FLOAT_EQ(host_timing(20, Vendor::amd).gap_us, 16);
}

TEST(HostTiming, CallsOfPointwiseKernelsDiffer) {
  Elementwise shape;
  shape.op = PointwiseOp::mul, shape.inputs = 1;
  EXPECT_EQ(host_call(Shape(shape)), "mul 1");
  EXPECT_EQ(host_call(Shape(Gemm{16, 16, 16})), "");
}

TEST(HostTiming, TheNearestHostSpeaks) {
  const HostTimings hosts = {
      {"T4", {25, 15}}, {"T4/add 2", {26, 16}}, {"nvidia", {30, 18}}, {"nvidia/mul 1", {31, 19}}};
  const auto floor = [&](const char* card, const char* vendor, const char* call) {
    const HostTiming* host = host_of(hosts, card, vendor, call);
    return host ? host->floor_us : 0.0f;
  };
  EXPECT_EQ(floor("T4", "nvidia", "add 2"), 26);
  EXPECT_EQ(floor("T4", "nvidia", "mul 1"), 25);
  EXPECT_EQ(floor("L4", "nvidia", "mul 1"), 31);
  EXPECT_EQ(floor("L4", "nvidia", ""), 30);
  EXPECT_EQ(floor("MI210", "amd", ""), 0);
}

}  // namespace
}  // namespace tilecast
