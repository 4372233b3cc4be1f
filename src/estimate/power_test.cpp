#include "estimate/power.h"

#include <gtest/gtest.h>

#include "constants/power.h"
#include "estimate/estimate.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/kernel.h"
#include "kernel/plan.h"

namespace tilecast {
namespace {

Gpu named(const char* name) { return *find_gpu(name); }

// A law of round numbers: 100 W, of which 20 idle; a volt that falls by half of the clock's fall, down to 0.7.
PowerLaw round_law() {
  PowerLaw law;
  law.limit = watts(100), law.burst = watts(130), law.idle = watts(20);
  law.slope = 0.5, law.floor = 0.7;
  return law;
}

double clock_in(const PowerLaw& law, const PowerWork& work, RunLength run) {
  const WorkTime time_at{work};
  return clock_of(law, work, run, time_at, time_at(1));
}

TEST(Power, VoltageFallsWithTheClockToItsFloor) {
  PowerLaw law = round_law();
  EXPECT_DOUBLE_EQ(voltage(law, 1), 1);
  EXPECT_DOUBLE_EQ(voltage(law, 0.8), 0.9);
  EXPECT_DOUBLE_EQ(voltage(law, 0.4), 0.7);
  EXPECT_DOUBLE_EQ(voltage(law, 0.2), 0.7);
  law.reach = 0.8;  // a card clocked below what its silicon could
  EXPECT_DOUBLE_EQ(voltage(law, 1), 0.9);
}

// A second of arithmetic with 200 J at the highest voltage: at 0.8 of the clock 200 x 0.81 J in 1.25 s are 129.6 W, and
// with the idle card's 149.6. Memory's joules do not follow the voltage, and fixed seconds not the clock.
TEST(Power, WattsByHand) {
  const PowerLaw law = round_law();
  const PowerWork work{200, 0, seconds(1), seconds(0)};
  EXPECT_NEAR(in_watts(watts_at(law, work, 1)), 220, 1e-9);
  EXPECT_NEAR(in_watts(watts_at(law, work, 0.8)), 149.6, 1e-9);
  const PowerWork mixed{200, 100, seconds(1), seconds(1)};
  EXPECT_NEAR(in_watts(watts_at(law, mixed, 0.8)), 20 + 262.0 / 2.25, 1e-9);
  EXPECT_NEAR(joules_at(law, mixed, 0.8), 262, 1e-9);
}

// Below 0.4 of the clock the voltage stands at 0.7: 200 x 0.49 J x c / 1 s are 80 W at c = 80 / 98, were the voltage
// not higher there; the equation 200 (0.5 + 0.5 c)^2 c = 80 has its root at 0.6195.
TEST(Power, ClockUnderALimitByHand) {
  const PowerLaw law = round_law();
  const PowerWork work{200, 0, seconds(1), seconds(0)};
  const double clock = clock_under(law, work, law.limit);
  EXPECT_NEAR(200 * std::pow(0.5 + 0.5 * clock, 2) * clock, 80, 1e-3);
  const PowerWork floored{800, 0, seconds(1), seconds(0)};
  EXPECT_NEAR(clock_under(law, floored, law.limit), 80 / (800 * 0.49), 1e-5);
  EXPECT_EQ(clock_under(law, PowerWork{80, 0, seconds(1), seconds(0)}, law.limit), 1);
}

// By halving, which needs nothing but that excess grows with the clock.
double clock_by_halving(const PowerLaw& law, const PowerWork& work, Watts limit) {
  double low = constants::kLeastClock, high = 1;
  if (watts_at(law, work, high) <= limit) return 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (watts_at(law, work, middle) <= limit ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Above the voltage's floor, below it and at its edge, and whether a search starts at the highest clock or elsewhere.
TEST(Power, ClocksAreThoseThatHalvingFinds) {
  const PowerLaw law = round_law();
  for (double core = 60; core < 2000; core *= 1.07)
    for (const double fixed : {0.0, 0.01, 0.3, 2.0}) {
      const PowerWork work{core, 10, seconds(1), seconds(fixed)};
      const double expected = clock_by_halving(law, work, law.limit);
      EXPECT_NEAR(clock_under(law, work, law.limit), expected, 0.6e-7) << core << " " << fixed;
      const WorkTime time_at{work};
      ClockSearch search(law, work, time_at);
      search.under(law.burst);
      EXPECT_EQ(search.under(law.limit), clock_under(law, work, law.limit)) << core << " " << fixed;
    }
}

// The second derivative that steps go by: of a sum and of a p-norm, against differences.
TEST(Power, TimesKnowHowTheirShareBends) {
  const auto time = [](double clock) {
    return p_norm(ClockedTime{2 / clock, 1} + ClockedTime{0.3, 0}, ClockedTime{1.5, 0}, 1.55);
  };
  const double h = 1e-4;
  for (const double clock : {0.3, 0.6, 0.9, 1.0}) {
    const double up = clock * std::exp(h), down = clock * std::exp(-h);
    EXPECT_NEAR(time(clock).share, (std::log(time(down).time) - std::log(time(up).time)) / (2 * h), 1e-6);
    EXPECT_NEAR(time(clock).bend, (time(up).share - time(down).share) / (2 * h), 1e-6);
  }
}

TEST(Power, AnUnlimitedCardRunsAtItsHighestClock) {
  PowerLaw law = round_law();
  const PowerWork work{1e6, 0, seconds(1), seconds(0)};
  EXPECT_LT(clock_in(law, work, RunLength::sustained), 1);
  law.limit = watts(0);  // not known
  EXPECT_EQ(clock_in(law, work, RunLength::sustained), 1);
  law.limit = law.burst = watts(1e9);
  EXPECT_EQ(clock_in(law, work, RunLength::sustained), 1);
  EXPECT_EQ(clock_in(law, work, RunLength::burst), 1);
}

TEST(Power, MoreWattsAndALowerFloorNeverSlowDown) {
  const PowerWork work{300, 20, seconds(1), seconds(0.1)};
  double before = 0;
  for (double limit = 30; limit < 400; limit += 10) {
    PowerLaw law = round_law();
    law.limit = watts(limit), law.burst = watts(1.3 * limit);
    const double clock = clock_in(law, work, RunLength::sustained);
    EXPECT_GE(clock, before);
    EXPECT_GE(clock_in(law, work, RunLength::burst), clock);
    law.floor = 0.6;
    EXPECT_GE(clock_in(law, work, RunLength::sustained), clock);
    before = clock;
  }
}

Seconds latency_of(const Gpu& gpu, Kernel kernel, RunLength run) {
  Context context;
  context.run = run;
  const auto planned = plan(kernel, gpu, context);
  EXPECT_TRUE(planned);
  return estimate(*planned, gpu, context, Method::analytic).latency;
}

TEST(Power, EveryCardIsNoFasterInALongRun) {
  for (const Gpu& gpu : built_in_gpus()) {
    for (const char* format : {"fp32", "fp16"}) {
      const Kernel kernel{Gemm{4096, 4096, 4096}, *format_from(format)};
      if (!plan(kernel, gpu, {})) continue;
      const Seconds burst = latency_of(gpu, kernel, RunLength::burst);
      const Seconds sustained = latency_of(gpu, kernel, RunLength::sustained);
      EXPECT_LE(burst, sustained) << gpu.name << " " << format;
      Gpu more = gpu;
      more.power = gpu.power * 1.5;
      EXPECT_LE(latency_of(more, kernel, RunLength::sustained), sustained) << gpu.name << " " << format;
      EXPECT_LE(latency_of(more, kernel, RunLength::burst), burst) << gpu.name << " " << format;
    }
  }
}

// What bits change draws power, so of two kinds of data the one that draws more is nowhere faster; a limit counts
// tensor operations for more than they draw, and nothing for less.
TEST(Power, DataThatDrawLessAreNowhereSlower) {
  constexpr OperandData kFromLeast[] = {OperandData::zeros, OperandData::constant, OperandData::normal,
                                        OperandData::bits};
  for (const Gpu& gpu : built_in_gpus())
    for (const char* format : {"fp32", "fp16", "bf16"})
      for (const RunLength run : {RunLength::burst, RunLength::sustained}) {
        const Kernel kernel{Gemm{8192, 8192, 8192}, *format_from(format)};
        const auto planned = plan(kernel, gpu, {});
        if (!planned) continue;
        Estimate before;
        for (const OperandData data : kFromLeast) {
          Context context;
          context.run = run, context.data = data;
          const Estimate now = estimate(*planned, gpu, context, Method::analytic);
          EXPECT_GE(energy_counted(data).tensor, energy_drawn(data).tensor);
          EXPECT_EQ(now.bound, estimate(*planned, gpu, {}, Method::analytic).bound);
          if (data != OperandData::zeros) {
            EXPECT_GE(now.latency, before.latency) << gpu.name << " " << format << " " << name_of(data);
            EXPECT_GT(now.launches[0].work.core, before.launches[0].work.core) << gpu.name << " " << name_of(data);
          }
          before = now;
        }
      }
}

// data/measurements/h200_regimes.csv.gz, bf16 products of 8192 cubed: by the card's cycle counter zeros ran at 1783 MHz
// in a burst (normally distributed numbers at 1624) and at 1588 after two seconds (1363), where the card drew 408 W.
TEST(Power, ProductsOfZerosOnAnH200) {
  const Gpu h200 = named("H200-SXM");
  const PowerLaw law = power_law(h200);
  const Kernel kernel{Gemm{8192, 8192, 8192}, *format_from("bf16")};
  for (const auto& [run, mhz] : {std::pair{RunLength::burst, 1783.0}, {RunLength::sustained, 1588.0}}) {
    Context context;
    context.run = run, context.data = OperandData::zeros;
    const Estimate e = estimate(*plan(kernel, h200, context), h200, context, Method::analytic);
    const LaunchEstimate& launch = e.launches.front();
    EXPECT_NEAR(launch.clock * 1980 / mhz, 1, 0.06) << name_of(run);
    if (run == RunLength::sustained) {
      EXPECT_NEAR(in_watts(watts_at(law, launch.work, launch.clock)) / 408, 1, 0.1);
    }
  }
}

// TFLOP/s of a large product in a long run, beside what others measured: T4, P4, V100 and A100 in NeuSight's tables,
// the L4 as its 72 W were found to sustain, H200 our own (data/measurements/h200_sustained.csv), B200 and L40S in
// AIConfigurator's.
TEST(Power, LongRunsOfMeasuredCards) {
  struct Row {
    const char *gpu, *format;
    double tflops, within;
  };
  const Kernel square{Gemm{8192, 8192, 4096}, *format_from("fp32")};
  for (const Row& r : {Row{"T4", "fp32", 3.9, 0.2},
                       {"P4", "fp32", 4.7, 0.2},
                       {"L4", "fp32", 8.7, 0.15},
                       {"V100-PCIe", "fp32", 13.5, 0.15},
                       {"A100-PCIe-40GB", "fp32", 16.4, 0.1},
                       {"A100-PCIe-80GB", "fp32", 18, 0.1},
                       {"H200-SXM", "bf16", 660, 0.08},
                       {"B200", "bf16", 1380, 0.1},
                       {"A100-SXM-80GB", "bf16", 253, 0.1},
                       {"L40S", "bf16", 200, 0.12}}) {
    Kernel kernel = square;
    kernel.format = *format_from(r.format);
    const double ops = 2.0 * 8192 * 8192 * 4096;
    const double reached = ops / latency_of(named(r.gpu), kernel, RunLength::sustained).base() / 1e12;
    EXPECT_NEAR(reached / r.tflops, 1, r.within) << r.gpu << " " << r.format;
  }
}

// Rows of data/measurements/h200_power.csv: what the card's energy counter said, at the clock it said.
TEST(Power, MeasuredOnAnH200) {
  const Gpu h200 = named("H200-SXM");
  const PowerLaw law = power_law(h200);
  EXPECT_NEAR(in_watts(law.idle), 140, 10);
  struct Row {
    const char* name;
    double us, mhz, ops, moved, watts;
  };
  for (const Row& r : {Row{"addition", 368.13, 1980, 0, 1610612736, 657.9},
                       {"product of a row", 34.46, 1980, 134217728, 134250496, 589.3},
                       {"of 8", 33.66, 1980, 1073741824, 134479872, 621.8},
                       {"of 512", 106.48, 1440, 68719476736, 150994944, 691.9},
                       {"of 8192", 1661.94, 1455, 1099511627776, 402653184, 685.3},
                       {"Llama 8B decode of 1", 4525.81, 1980, 15032385536, 14227079168, 502.6},
                       {"of 8", 5157.16, 1980, 120259084288, 16106127360, 520.9},
                       {"of 32", 6661.37, 1980, 481036337152, 22548578304, 625.5},
                       {"prefill of 1024", 26805.08, 1545, 14568529068032, 14092861440, 683.7}}) {
    const double clock = r.mhz / 1980;
    const PowerWork work{r.ops * law.tensor + r.moved * (law.chip_byte + law.fabric_byte), r.moved * law.memory_byte,
                         seconds(0), microseconds(r.us)};
    EXPECT_NEAR(in_watts(watts_at(law, work, clock)) / r.watts, 1, 0.15) << r.name;
  }
}

TEST(Power, MemoryKindsAreKnown) {
  for (const Gpu& gpu : built_in_gpus()) {
    bool known = false;
    for (const constants::MemoryEnergy& energy : constants::kMemoryEnergies) known |= gpu.dram.type == energy.type;
    EXPECT_TRUE(known) << gpu.name << " " << gpu.dram.type;
    EXPECT_LT(power_law(gpu).idle, gpu.power * 0.6) << gpu.name;
  }
}

TEST(Power, JoulesOfBillsNeedAMeteredVendor) {
  EXPECT_FALSE(metered_law(named("MI300X")));
  Gpu gpu = named("H100-SXM");
  EXPECT_TRUE(metered_law(gpu));
  gpu.power = watts(0);
  EXPECT_FALSE(metered_law(gpu));
}

// An H200 draws 1.31 of its limit for milliseconds; cards with GDDR keep to theirs.
TEST(Power, BurstsOfGddrCardsKeepToTheLimit) {
  EXPECT_NEAR(power_law(named("H200-SXM")).burst / named("H200-SXM").power, 1.31, 1e-9);
  for (const char* card : {"L40S", "T4", "RTX-4090"})
    EXPECT_NEAR(power_law(named(card)).burst / named(card).power, 1, 1e-9) << card;
}

}  // namespace
}  // namespace tilecast
