#include "support/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace tilecast {

std::string name_key(std::string_view name) {
  std::string key;
  for (char c : name) {
    auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u)) key.push_back(static_cast<char>(std::tolower(u)));
  }
  return key;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates, int most) {
  const std::string key = name_key(name);
  struct Scored {
    int distance;
    const std::string* text;
  };
  std::vector<Scored> scored;
  for (const std::string& candidate : candidates) {
    const std::string other = name_key(candidate);
    if (key.size() > 2 * other.size() + 2) continue;  // too far, however many letters agree
    // A candidate that contains the whole name ("h100" in "h100sxm") is nearer than any misspelling.
    const bool contains = !key.empty() && other.find(key) != std::string::npos;
    const int distance = contains ? 0 : edit_distance(key, other);
    if (contains || distance * 2 <= static_cast<int>(key.size())) scored.push_back({distance, &candidate});
  }
  std::stable_sort(scored.begin(), scored.end(), [](auto& x, auto& y) { return x.distance < y.distance; });
  std::vector<std::string> names;
  for (const Scored& s : scored) {
    if (static_cast<int>(names.size()) == most) break;
    names.push_back(*s.text);
  }
  return names;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i ? std::string(separator) : "") + words[i];
  return text;
}

std::string join_or(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise) {
  const auto near = nearest_names(name, candidates);
  return near.empty() ? otherwise : "did you mean " + join_or(near) + "?";
}

}  // namespace tilecast
