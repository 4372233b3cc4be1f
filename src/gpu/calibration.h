// What measurements of the user's own card say beyond its data sheet (`tilecast calibrate`). Part of a GPU's
// description, so every command that takes the description takes them too. How they change a forecast:
// estimate/calibrated.h.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

// The few physical quantities of a card that a forecast rests on.
enum class CardTerm : std::uint8_t {
  math,     // time of arithmetic: tensor, vector and special-function pipes
  l2,       // of bytes through L2
  dram,     // of bytes from and to DRAM
  latency,  // of dependent steps, and of what a task does before and after its main loop
  floor     // of being launched
};
inline constexpr int kCardTerms = 5;
inline constexpr std::array<std::string_view, kCardTerms> kCardTermNames = {"math", "l2", "dram", "latency", "floor"};
using CardFactors = std::array<float, kCardTerms>;  // logarithms of factors on those times

inline constexpr int kPlaceDimensions = 24;
// A kernel's position among others of its family; see estimate/calibrated.h.
using CalibrationPlace = std::array<float, kPlaceDimensions>;

// What the factors leave, as a sum over a few measured rows: a low-rank correction.
struct CalibrationPoint {
  CalibrationPlace place{};
  std::string variant;
  float weight = 0;
};

// For one family and number format.
struct FamilyCalibration {
  Count rows = 0;
  CardFactors factors{};  // beyond the card's
  float offset = 0;       // logarithm, all kernels of the family
  // Beyond `offset`, by kernel source and by variant (estimate/calibrated.h).
  std::map<std::string, float, std::less<>> sources;
  float reach = 1;  // length over which places are alike
  std::vector<CalibrationPoint> points;
  float spread = 1;  // factor on the interval's width
};

struct Calibration {
  Count rows = 0;
  std::string data;  // where they came from
  CardFactors factors{};
  std::map<std::string, FamilyCalibration, std::less<>> families;  // by model key, "gemm/bf16"
};

}  // namespace tilecast
