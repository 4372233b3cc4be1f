// Random numbers that are the same on every machine and library: a seed always gives the same sequence.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace tilecast {

inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

// SplitMix64's step as a function: every bit of the input reaches every bit of the result (Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, OOPSLA 2014). Also the hash that picks rows, the same in every run.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += kGoldenGamma;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = mixed(hash ^ static_cast<unsigned char>(c));
  return hash;
}

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    const std::uint64_t number = mixed(state_);
    state_ += kGoldenGamma;
    return number;
  }
  // In (0, 1), excluding both ends, so logarithms are finite.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  // 0 ... n - 1; the bias of n / 2^64 does not matter here.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  double exponential() { return -std::log(uniform()); }
  // Box and Muller; the second of the pair is discarded, so every call consumes two numbers.
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // Mean `shape`, scale one (Marsaglia and Tsang, A simple method for generating gamma variables, 2000).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal(), v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace tilecast
