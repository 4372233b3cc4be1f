// The names and the order of the features a family's forests are grown on, and a hash of them.
//
// A weight file keeps both (estimate/weights.h). Trees only know positions: without this, moving a field would make
// them ask about another quantity, and only worse forecasts would show it.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/features.h"

namespace tilecast {

struct FeatureSchema {
  std::string family;
  std::vector<std::string> names;  // kFeatureCount of them; kNoFeature if the family has fewer fields

  // FNV-1a over family and names in their order: the same on every machine.
  std::uint64_t hash() const;
};
inline constexpr std::string_view kNoFeature = "-";

// The schema of this program. An unknown family has only the common features.
FeatureSchema feature_schema(std::string_view family);
using SchemaOf = std::function<FeatureSchema(std::string_view family)>;

// Which of the family's fields are sizes, seen by their logarithm; none for an unknown family.
std::array<bool, kShapeFeatures> sizes_of(std::string_view family);

// In words, what `file` has that `program` lacks, and vice versa, or what is in another position. Empty: they are the
// same.
std::string difference(const FeatureSchema& file, const FeatureSchema& program);

}  // namespace tilecast
