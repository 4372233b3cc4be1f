// A number of the physics: its value, unit, kind and where it comes from.
//
// Formulas read constants by name, as they would a double; listings, docs/constants.md and the laboratory's fit walk
// the registry (constants/registry.h). Two types differ in how they are read:
//
//   inline constexpr Number kL1Kept{"rowwise.l1_kept", 0.8, ...};        // kL1Kept * x
//   inline constexpr Tunable kFeed{"pipeline.feed", 143, ...};           // gpu.tuned(kFeed) * x
//
// A Tunable has no value without a card: what `tilecast-lab fit` finds travels with the Gpu it is judged on
// (constants/tuned.h), so no formula can miss it and nothing is global.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilecast {

enum class ConstantKind : std::uint8_t {
  published,  // by a vendor, a paper or the source code of a library
  measured,   // read off measurements, one quantity at a time
  fitted,     // chosen together with others so that forecasts agree with measurements
  assumed     // a judgement; nothing was measured
};
inline constexpr std::array<std::string_view, 4> kConstantKindNames = {"published", "measured", "fitted", "assumed"};
constexpr std::string_view name_of(ConstantKind kind) { return kConstantKindNames[static_cast<std::size_t>(kind)]; }

struct Constant {
  std::string_view name;  // "pipeline.step_clocks"; several may share it where `of` differs
  double value = 0;
  std::string_view unit;  // "1" for shares, exponents and counts
  ConstantKind kind = ConstantKind::assumed;
  std::string_view about;   // what it is
  std::string_view source;  // where it comes from
  // Cards it holds for: architectures, compute capabilities, tensor pipes ("mma", "wgmma", "tcgen05"), vendors, "hbm"
  // ("hbm-first" of Pascal, "hbm-later"), "gddr" or "gddr-ecc", separated by spaces; empty: all.
  std::string_view cards = "";
  std::string_view of = "";  // what it holds for besides: a kernel, an engine
  bool tunable = false;      // the laboratory can refit it
};

struct Number : Constant {
  constexpr operator double() const { return value; }  // NOLINT(google-explicit-constructor): formulas read it as one
};
struct Whole : Constant {
  constexpr operator int() const { return static_cast<int>(value); }  // NOLINT(google-explicit-constructor)
};
struct Tunable : Constant {
  constexpr Tunable(const Constant& constant) : Constant(constant) { tunable = true; }  // NOLINT
};

namespace constants {
using enum ConstantKind;  // the tables below this room say `fitted`
}

}  // namespace tilecast
