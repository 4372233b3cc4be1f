#include "estimate/repack.h"

#include <algorithm>

namespace tilecast {
namespace {

// The position in `to` of each feature of `from`.
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
std::vector<std::size_t> positions(const FeatureSchema& from, const FeatureSchema& to) {
  std::vector<std::size_t> at;
  for (const std::string& name : from.names) {
    const auto found = std::find(to.names.begin(), to.names.end(), name);
    at.push_back(name == kNoFeature || found == to.names.end() ? kNowhere
                                                               : static_cast<std::size_t>(found - to.names.begin()));
  }
  return at;
}

// The forest with its features moved; or the position of a feature that it needs and that is missing.
struct Moved {
  Forest forest;
  std::size_t missing = kNowhere;
};
Moved moved(const Forest& forest, const std::vector<std::size_t>& to, std::size_t count) {
  std::vector<std::vector<float>> borders(count);
  for (std::size_t f = 0; f < to.size(); ++f)
    if (to[f] != kNowhere) borders[to[f]] = forest.borders()[f];
  std::vector<Forest::Tree> trees = forest.trees();
  for (Forest::Tree& tree : trees)
    for (int level = 0; level < tree.depth; ++level) {
      if (to[tree.feature[level]] == kNowhere) return {{}, tree.feature[level]};
      tree.feature[level] = static_cast<std::uint8_t>(to[tree.feature[level]]);
    }
  return {Forest(std::move(borders), forest.base(), std::move(trees)), kNowhere};
}

}  // namespace

Result<FamilyModel> carried_over(FamilyModel model, const FeatureSchema& from, const FeatureSchema& to) {
  const std::vector<std::size_t> at = positions(from, to);
  for (Forest* forest : all_forests(model)) {
    Moved result = moved(*forest, at, to.names.size());
    if (result.missing != kNowhere)
      return Error{"", model.key, "asks about the feature '" + from.names[result.missing] + "', which is gone",
                   "train it again with `tilecast-lab train`"};
    *forest = std::move(result.forest);
  }
  return model;
}

Result<Weights> repacked(std::string_view bytes, const std::string& place) {
  auto filed = filed_models(bytes, place);
  if (!filed) return std::move(filed).error();
  Weights weights;
  for (FiledModel& one : *filed) {
    auto model = carried_over(std::move(one.model), one.schema, feature_schema(one.schema.family));
    if (!model) return std::move(model).error().at(place);
    weights.models.push_back(*std::move(model));
  }
  return weights;
}

}  // namespace tilecast
