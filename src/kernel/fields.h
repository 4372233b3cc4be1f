// Kernel shapes describe their own fields, once: the command line's flags, the `key=value;...` dims of measurement
// tables, the help text and the JSON output all come from the same list.
//
//   struct Softmax {
//     Count rows = 0, cols = 0;
//     bool backward = false;
//     template <class Self, class Visit> static void fields(Self& s, Visit&& visit) {
//       visit("rows", s.rows, "independent rows", Need::required);
//       visit("cols", s.cols, "elements of a row", Need::required);
//       visit("backward", s.backward, "the gradient kernel instead");
//     }
//   };
//
// A field is a Count, a double, a bool, a list of Counts, or an enum with an `enum_names(E)` overload.
#pragma once

#include <string_view>

#include "tilecast/units.h"

namespace tilecast {

enum class Need : std::uint8_t { optional, required };

// What a family says about itself in `tilecast kernel --help`.
struct FamilyInfo {
  std::string_view name;     // "attention_prefill"
  std::string_view summary;  // one line
  std::string_view example;  // flags of a sensible example
};

// No real dimension exceeds this; the cap keeps every product of a few of them exact enough in a double.
inline constexpr Count kMostDimension = Count{1} << 40;

}  // namespace tilecast
