// Small text helpers shared by the name look-ups: forgiving comparison and suggestions on a miss.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecast {

// Lower-cased letters and digits only: "RTX PRO 6000 (Server)" and "rtx-pro-6000-server" are the same key.
std::string name_key(std::string_view name);

// Levenshtein distance.
int edit_distance(std::string_view a, std::string_view b);

// The candidates nearest to `name` (by key), best first, at most `most`, none farther away than half the name.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates, int most = 3);

// "a, b or c".
std::string join_or(const std::vector<std::string>& words);
std::string join(const std::vector<std::string>& words, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

// "did you mean H100-SXM or H100-PCIe?", or `otherwise` when nothing is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise);

// Whether a text contains a part (std::string_view::contains of C++23).
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace tilecast
