// Power and clocks, one law for every card: what work draws at a clock, and the clock that a limit allows.
//
//   watts(c) = idle + (core joules x V(c)^2 + memory joules) / (clocked seconds / c + fixed seconds)
//
// c is the clock over the highest, V(c) the voltage over the highest of the silicon, which falls with the clock down to
// a floor. Energies come from process and architecture (constants/power.h). A burst of a few milliseconds may briefly
// exceed the limit; a long run may not. docs/method.md has the figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "constants/power.h"
#include "estimate/clocked_time.h"
#include "gpu/gpu.h"
#include "kernel/plan.h"
#include "tilecast/forecast.h"

namespace tilecast {

struct PowerLaw {
  Watts limit;  // of the board; unknown: no limit
  Watts burst;  // what it may draw for milliseconds
  Watts idle;   // clocked, without work
  // Joules at the highest voltage.
  double tensor = 0;            // a 16-bit operation of the tensor pipe
  double vector = 0;            // an fp32 operation of the vector pipe
  double special = 0;           // a special-function result
  double chip_byte = 0;         // a byte between L2 and an SM
  double fabric_byte = 0;       // a byte between DRAM's controllers and L2
  double memory_byte = 0;       // a byte of DRAM; its voltage does not follow the clock
  double tensor_clock = 1;      // share of the highest clock that tensor pipes reach
  double reach = 1;             // the card's highest clock over that of the highest voltage
  double slope = 0, floor = 1;  // of the voltage
};
PowerLaw power_law(const Gpu& gpu);
// The same for use in bills: empty if no card of the vendor was metered.
std::optional<PowerLaw> metered_law(const Gpu& gpu);

// What takes time and energy: a launch, a kernel, a step.
struct PowerWork {
  double core = 0;    // joules at the highest voltage
  double memory = 0;  // joules
  Seconds clocked;    // at the highest clock; a lower one makes them longer
  Seconds fixed;      // whatever the clock
  Seconds at(double clock) const { return clocked / clock + fixed; }
  ClockedTime followed(double clock) const {
    return ClockedTime{clocked.base() / clock, 1} + ClockedTime{fixed.base(), 0};
  }
  friend PowerWork operator+(const PowerWork& a, const PowerWork& b) {
    return {a.core + b.core, a.memory + b.memory, a.clocked + b.clocked, a.fixed + b.fixed};
  }
  friend PowerWork operator*(const PowerWork& w, double n) {
    return {w.core * n, w.memory * n, w.clocked * n, w.fixed * n};
  }
};
// Its time by clock, for ClockSearch.
struct WorkTime {
  static constexpr bool kSmooth = true;
  const PowerWork& work;
  ClockedTime operator()(double clock) const { return work.followed(clock); }
  double clock_for(double time) const { return work.clocked.base() / (time - work.fixed.base()); }
};
// What operands of a kind draw, over what normally distributed numbers do.
struct DataEnergy {
  double tensor = 1, other = 1;  // operations of the tensor pipe; all else on the chip
};
DataEnergy energy_drawn(OperandData data);
DataEnergy energy_counted(OperandData data);  // the same as a power limit counts it
// Energy of a launch that moves `dram` bytes; its times are the caller's.
PowerWork energy_of(const PowerLaw& law, const Launch& launch, Bytes dram, DataEnergy data = {});

// Voltage over the highest, at a share of the card's highest clock; and whether it falls no further there.
double voltage(const PowerLaw& law, double clock);
inline bool at_floor(const PowerLaw& law, double clock) { return 1 - law.slope * (1 - clock * law.reach) <= law.floor; }
// Joules beyond the idle card's, and the total power it draws.
double joules_at(const PowerLaw& law, const PowerWork& work, double clock);
Watts watts_at(const PowerLaw& law, const PowerWork& work, double clock);
// The highest share of the clock at which work draws no more than this; an unknown limit does not restrict it.
double clock_under(const PowerLaw& law, const PowerWork& work, Watts limit);
// ... by the length of the run, for a time that follows the clock in its own way (time_at(share) is a ClockedTime,
// `at_highest` that of the highest clock): a burst starts at the clock its short limit allows, and a long kernel by
// itself falls to the clock the long limit allows.
template <class TimeAt>
double clock_of(const PowerLaw& law, const PowerWork& work, RunLength run, const TimeAt& time_at,
                const ClockedTime& at_highest);

// How far a kernel of this length heats the card up by itself.
double heated_by(Seconds length);
// Joules beyond the idle card's over those that a limit allows in a time, with the first and second derivative in the
// clock.
struct PowerExcess {
  double joules = 0, slope = 0, bend = 0;
  // Halley's step to the clock without excess: what is left of a distance goes by its third power.
  double step() const { return joules * slope / (slope * slope - joules * bend / 2); }
};
PowerExcess excess_at(const PowerLaw& law, const PowerWork& work, Watts limit, double clock, const ClockedTime& time);

// Searches for clocks under limits. Evaluating a time is what costs, so a second limit starts where the first ended.
// `time_at` has no kinks where it says `kSmooth`; it then also knows the clock of a time (`clock_for`).
template <class TimeAt>
class ClockSearch {
 public:
  ClockSearch(const PowerLaw& law, const PowerWork& work, const TimeAt& time_at)
      : ClockSearch(law, work, time_at, time_at(1.0)) {}
  ClockSearch(const PowerLaw& law, const PowerWork& work, const TimeAt& time_at, const ClockedTime& at_highest)
      : law_(law), work_(work), time_at_(time_at), at_highest_(at_highest), time_(at_highest) {}
  double under(Watts limit);
  Seconds at_highest() const { return seconds(at_highest_.time); }

 private:
  // Where the voltage stands at its floor a clock changes the time alone, and the time that joules and limit leave is
  // known; empty where that takes a clock above the floor's.
  std::optional<double> floored(Watts limit) const {
    if constexpr (TimeAt::kSmooth) {
      const double joules = work_.core * law_.floor * law_.floor + work_.memory;
      const double clock = time_at_.clock_for(joules / in_watts(limit - law_.idle));
      if (clock > 0 && at_floor(law_, clock)) return clock;
    }
    return std::nullopt;
  }
  // Clocks a fixed distance apart, so that equal questions get equal answers whatever path the search took.
  static double rounded(double clock) {
    constexpr double kStep = 1e-7;
    return std::clamp<double>(std::round(clock / kStep) * kStep, constants::kLeastClock, 1);
  }

  const PowerLaw& law_;
  const PowerWork& work_;
  const TimeAt& time_at_;
  ClockedTime at_highest_;
  double clock_ = 1;  // looked at last
  ClockedTime time_;
};

template <class TimeAt>
double ClockSearch<TimeAt>::under(Watts limit) {
  constexpr int kMostSteps = 50;
  // A step as short as this is the last: what it misses by is far below the distance of clocks.
  constexpr double kShort = TimeAt::kSmooth ? 2e-5 : 1e-9, kNone = 1e-12;
  if (!(law_.limit > watts(0)) || !(excess_at(law_, work_, limit, 1, at_highest_).joules > 0)) return 1;
  // Steps are kept between clocks known to draw too much and clocks that are not: the voltage's floor is a kink.
  double low = constants::kLeastClock, high = 1, found = clock_;
  bool low_known = false, tried_floor = false;
  for (int i = 0; i < kMostSteps; ++i) {
    const PowerExcess here = excess_at(law_, work_, limit, clock_, time_);
    if (here.joules > 0) {
      if (clock_ <= constants::kLeastClock) return clock_;
      high = clock_;
    } else {
      low = clock_, low_known = true;
    }
    found = clock_ - here.step();
    const double length = std::abs(found - clock_);
    if (length <= kShort && (length <= kNone || at_floor(law_, found) == at_floor(law_, clock_))) break;
    if (!(found > low && found < high)) found = low_known ? (low + high) / 2 : low;
    if (at_floor(law_, found) && !std::exchange(tried_floor, true))
      if (const auto clock = floored(limit)) return rounded(*clock);
    clock_ = found, time_ = time_at_(found);
  }
  return rounded(found);
}

template <class TimeAt>
double clock_of(const PowerLaw& law, const PowerWork& work, RunLength run, const TimeAt& time_at,
                const ClockedTime& at_highest) {
  ClockSearch search(law, work, time_at, at_highest);
  const double sustained = search.under(law.limit);
  if (run == RunLength::sustained || sustained == 1) return sustained;
  const double burst = search.under(law.burst);
  return burst - heated_by(search.at_highest()) * (burst - sustained);
}

}  // namespace tilecast
