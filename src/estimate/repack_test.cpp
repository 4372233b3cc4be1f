// Weight files carried over by the names of their features.
#include "estimate/repack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilecast {
namespace {

using testing::HasSubstr;

constexpr std::size_t kM = index_of(Feature::first_of_shape), kN = kM + 1;

// One question: is log2(m) above 5?
Forest asks_about(std::size_t feature) {
  std::vector<std::vector<float>> borders(kFeatureCount);
  borders[feature] = {5};
  Forest::Tree tree;
  tree.depth = 1;
  tree.feature[0] = static_cast<std::uint8_t>(feature);
  tree.leaf = {-1, 1};
  return Forest(std::move(borders), 0.25f, {tree});
}

Weights asking_about(std::size_t feature) {
  FamilyModel model;
  model.key = "gemm/bf16";
  model.trained_on["table"] = 7;
  for (Forest* forest : all_forests(model)) *forest = Forest::constant(kFeatureCount, 0);
  model.general = model.cards["H100-SXM"] = asks_about(feature);
  Weights weights;
  weights.models.push_back(std::move(model));
  return weights;
}

// The features of another program, in which a few of gemm's differ.
SchemaOf with(const std::function<void(std::vector<std::string>&)>& change) {
  return [change](std::string_view family) {
    FeatureSchema schema = feature_schema(family);
    change(schema.names);
    return schema;
  };
}

TEST(Repack, FollowsFeaturesToTheirNewPlaces) {
  const SchemaOf swapped = with([](auto& names) { std::swap(names[kM], names[kN]); });
  const std::string bytes = to_bytes(asking_about(kN), swapped);  // where the other program had log2(m)
  EXPECT_FALSE(weights_from_bytes(bytes, "old.weights"));
  const auto weights = repacked(bytes, "old.weights");
  ASSERT_TRUE(weights) << weights.error().line();
  std::vector<float> row(kFeatureCount, 0);
  row[kM] = 6;
  for (const Forest* forest : {&weights->models[0].general, &weights->models[0].cards.at("H100-SXM")}) {
    EXPECT_EQ(forest->predict(row), 1.25f);
    EXPECT_EQ(forest->features(), static_cast<std::size_t>(kFeatureCount));
  }
  EXPECT_EQ(weights->sources(), (std::map<std::string, Count>{{"table", 7}}));
  EXPECT_TRUE(weights_from_bytes(to_bytes(*weights), "new.weights"));
}

TEST(Repack, RefusesWhatTreesStillAskAbout) {
  const SchemaOf renamed = with([](auto& names) { names[kM] = "log2(height)"; });
  const auto asked = repacked(to_bytes(asking_about(kM), renamed), "old.weights");
  ASSERT_FALSE(asked);
  EXPECT_THAT(asked.error().line(),
              HasSubstr("old.weights: gemm/bf16: asks about the feature 'log2(height)', which is gone"));
  EXPECT_TRUE(repacked(to_bytes(asking_about(kN), renamed), "old.weights")) << "no tree asks about it";
}

TEST(Repack, LeavesTheProgramsOwnFilesAsTheyAre) {
  const std::string bytes = to_bytes(asking_about(kM));
  const auto weights = repacked(bytes, "w");
  ASSERT_TRUE(weights);
  EXPECT_EQ(to_bytes(*weights), bytes);
  EXPECT_FALSE(repacked("nothing of ours", "w"));
}

}  // namespace
}  // namespace tilecast
