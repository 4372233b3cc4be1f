// The names and the order of the features a family's forests are grown on, and a hash of them.
//
// A weight file keeps both (estimate/weights.h). Trees only know positions: without this, a field that is moved would
// make them ask their questions of another quantity, and nothing would show it but worse forecasts.
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
  std::vector<std::string> names;  // kFeatureCount of them; kNoFeature where the family has fewer fields

  // FNV-1a over family and names in their order: the same on every machine.
  std::uint64_t hash() const;
};
inline constexpr std::string_view kNoFeature = "-";

// Of this program. A family it does not know has common features only.
FeatureSchema feature_schema(std::string_view family);
using SchemaOf = std::function<FeatureSchema(std::string_view family)>;

// Which of the family's fields are sizes, seen by their logarithm; none of a family that is not known.
std::array<bool, kShapeFeatures> sizes_of(std::string_view family);

// In words, what `file` has that `program` has not, and the other way round; or what stands in another place. Empty:
// they are the same.
std::string difference(const FeatureSchema& file, const FeatureSchema& program);

}  // namespace tilecast
