#include "cli/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilecast {
namespace {

constexpr double kSlack = 1e-9;

// The next 1, 2 or 5 times a power of ten that cuts a range into `pieces` or fewer.
double round_step(double range, double pieces) {
  const double power = std::pow(10, std::floor(std::log10(range / pieces)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power * pieces >= range * (1 - kSlack)) return step * power;
  return 10 * power;
}

// Round numbers of a logarithmic axis: powers of ten over several decades, 1, 2 and 5 times those over fewer.
std::vector<double> round_numbers(double low, double high) {
  constexpr double kFewDecades = 2.6, kManyDecades = 7;
  const double decades = std::log10(high / low);
  std::vector<double> mantissas = {1};
  if (decades < 1) mantissas = {1, 1.5, 2, 3, 4, 5, 6, 8};
  else if (decades < kFewDecades) mantissas = {1, 2, 5};
  const double every = decades > kManyDecades ? std::ceil(decades / kManyDecades) : 1;
  std::vector<double> numbers;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high) + 1; power += every)
    for (const double mantissa : mantissas) {
      const double value = mantissa * std::pow(10, power);
      if (value >= low * (1 - kSlack) && value <= high * (1 + kSlack)) numbers.push_back(value);
    }
  return numbers;
}

}  // namespace

ChartAxis::ChartAxis(double low, double high, bool logarithmic, double begin, double length)
    : low_(low), high_(high), logarithmic_(logarithmic), begin_(begin), length_(length) {
  if (logarithmic_) {
    const double room = std::pow(high_ / low_, 0.03);
    low_ /= room, high_ *= room;
  } else if (!(high_ > low_)) {
    low_ = 0, high_ = high_ > 0 ? high_ * 2 : 1;
  }
}

double ChartAxis::place(double value) const {
  const double share = logarithmic_ ? std::log(std::max(value, low_) / low_) / std::log(high_ / low_)
                                    : (value - low_) / (high_ - low_);
  return begin_ + length_ * std::clamp(share, 0.0, 1.0);
}

std::vector<ChartAxis::Tick> ChartAxis::ticks() const {
  constexpr double kPieces = 6;
  std::vector<Tick> ticks;
  if (logarithmic_) {
    for (const double value : round_numbers(low_, high_)) ticks.push_back({place(value), tick_text(value)});
    return ticks;
  }
  const double step = round_step(high_ - low_, kPieces);
  for (double i = std::ceil(low_ / step - kSlack) + 0.0; i * step <= high_ + step * kSlack; ++i)  // no -0
    ticks.push_back({place(i * step), tick_text(i * step)});
  return ticks;
}

bool asks_for_logarithm(std::vector<double> values) {
  constexpr double kFar = 15, kBeginning = 0.3;
  if (values.size() < 3) return false;
  std::sort(values.begin(), values.end());
  return values.front() > 0 && values.back() / values.front() > kFar &&
         values[values.size() / 2] < kBeginning * values.back();
}

std::string tick_text(double value) {
  constexpr std::array<const char*, 5> kSuffixes = {"", " k", " M", " G", " T"};
  std::size_t i = 0;
  while (std::abs(value) >= 9999.5 && i + 1 < kSuffixes.size()) value /= 1000, ++i;
  return fmt::format("{:.4g}{}", value, kSuffixes[i]);
}

}  // namespace tilecast
