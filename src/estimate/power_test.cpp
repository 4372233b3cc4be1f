#include "estimate/power.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"

namespace tilecast {
namespace {

// The rule, with operations and bytes known.
double watts_of(const PowerDraw& draw, double joules_per_op, double ops, double moved, Seconds time) {
  const double joules = ops * joules_per_op + moved * draw.joules_per_byte;
  return in_watts(draw.idle) + within_limit(draw, joules, time) / time.base();
}

// Rows of data/measurements/h200_power.csv: what the card's energy counter said.
TEST(Power, MeasuredOnAnH200) {
  const Gpu h200 = *find_gpu("H200-SXM");
  const auto draw = power_draw(h200);
  ASSERT_TRUE(draw);
  EXPECT_NEAR(in_watts(draw->idle), 140, 1e-9);
  const double joules_per_op = default_physics(h200).joules_per_op;
  struct Row {
    const char* name;
    double us, ops, moved, watts;
  };
  for (const Row& r : {Row{"addition", 368.13, 0, 1610612736, 657.9},
                       {"copy", 389.81, 0, 1073741824, 502.0},
                       {"product of a row", 34.46, 134217728, 134250496, 589.3},
                       {"of 8", 33.66, 1073741824, 134479872, 621.8},
                       {"of 32", 34.5, 4294967296, 135266304, 694.4},
                       {"of 512", 106.48, 68719476736, 150994944, 691.9},
                       {"of 8192", 1661.94, 1099511627776, 402653184, 685.3},
                       {"decode attention", 244.34, 4294967296, 1074790400, 702.3},
                       {"Llama 8B decode of 1", 4525.81, 15032385536, 14227079168, 502.6},
                       {"of 8", 5157.16, 120259084288, 16106127360, 520.9},
                       {"of 32", 6661.37, 481036337152, 22548578304, 625.5},
                       {"of 128", 13222.94, 1924145348608, 48318382080, 702.6},
                       {"prefill of 1024", 26805.08, 14568529068032, 14092861440, 683.7}})
    EXPECT_NEAR(watts_of(*draw, joules_per_op, r.ops, r.moved, microseconds(r.us)) / r.watts, 1, 0.1) << r.name;
}

TEST(Power, NeverAboveTheLimit) {
  const auto draw = power_draw(*find_gpu("A100-SXM-80GB"));
  ASSERT_TRUE(draw);
  EXPECT_DOUBLE_EQ(within_limit(*draw, 1e9, seconds(2)), 2 * in_watts(draw->limit - draw->idle));
  EXPECT_DOUBLE_EQ(within_limit(*draw, 5, seconds(2)), 5);
  EXPECT_LT(draw->idle, draw->limit);
}

TEST(Power, UnknownIsNothing) {
  EXPECT_FALSE(power_draw(*find_gpu("MI300X")));
  Gpu gpu = *find_gpu("H100-SXM");
  gpu.power = watts(0);
  EXPECT_FALSE(power_draw(gpu));
}

}  // namespace
}  // namespace tilecast
