#include "estimate/feature_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "support/text.h"

namespace tilecast {
namespace {

std::optional<Shape> default_shape(std::string_view family) {
  for (Shape& shape : default_shapes())
    if (family_of(shape) == family) return std::move(shape);
  return std::nullopt;
}

std::vector<std::string> only_in(const std::vector<std::string>& these, const std::vector<std::string>& others) {
  std::vector<std::string> names;
  for (const std::string& name : these)
    if (name != kNoFeature && std::find(others.begin(), others.end(), name) == others.end())
      names.push_back("'" + name + "'");
  return names;
}

}  // namespace

std::uint64_t FeatureSchema::hash() const {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
    hash = (hash ^ '\n') * 0x100000001B3ull;
  };
  add(family);
  for (const std::string& name : names) add(name);
  return hash;
}

FeatureSchema feature_schema(std::string_view family) {
  const auto shape = default_shape(family);
  const std::vector<std::string> fields = shape ? shape_feature_names(*shape) : std::vector<std::string>();
  FeatureSchema schema{std::string(family), std::vector<std::string>(kFeatureCount, std::string(kNoFeature))};
  for (std::size_t i = 0; i < schema.names.size(); ++i)
    if (const std::string_view name = name_of(static_cast<Feature>(i)); !name.empty()) schema.names[i] = name;
  std::copy(fields.begin(), fields.end(), schema.names.begin() + static_cast<std::ptrdiff_t>(Feature::first_of_shape));
  return schema;
}

std::array<bool, kShapeFeatures> sizes_of(std::string_view family) {
  using Sizes = std::array<bool, kShapeFeatures>;
  static const auto all = [] {
    std::map<std::string, Sizes, std::less<>> table;
    for (const Shape& shape : default_shapes()) {
      const std::vector<std::string> names = shape_feature_names(shape);
      Sizes& sizes = table[std::string(family_of(shape))];
      for (std::size_t i = 0; i < names.size(); ++i) sizes[i] = names[i].starts_with("log2(");
    }
    return table;
  }();
  const auto found = all.find(family);
  return found == all.end() ? Sizes{} : found->second;
}

std::string difference(const FeatureSchema& file, const FeatureSchema& program) {
  const auto gone = only_in(file.names, program.names), fresh = only_in(program.names, file.names);
  if (!gone.empty() && !fresh.empty())
    return fmt::format("has {} where this program has {}", join(gone, ", "), join(fresh, ", "));
  if (!gone.empty()) return fmt::format("has {}, which this program has not", join(gone, ", "));
  if (!fresh.empty()) return fmt::format("lacks {}, which this program has", join(fresh, ", "));
  const auto [theirs, ours] =
      std::mismatch(file.names.begin(), file.names.end(), program.names.begin(), program.names.end());
  if (theirs == file.names.end() && ours == program.names.end()) return "";
  const std::string_view there = theirs == file.names.end() ? kNoFeature : *theirs;
  const std::string_view here = ours == program.names.end() ? kNoFeature : *ours;
  return fmt::format("has '{}' as feature {}, where this program has '{}'", there, theirs - file.names.begin(), here);
}

}  // namespace tilecast
