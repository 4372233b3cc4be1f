// Weight files: round trips, and refusals in one clear line.
#include "estimate/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "lab/train/boost.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

Forest small_forest() {
  BoostData data;
  data.width = kFeatureCount;
  for (int r = 0; r < 200; ++r) {
    for (int f = 0; f < kFeatureCount; ++f) data.features.push_back(static_cast<float>((r * (f + 3)) % 17));
    data.targets.push_back(static_cast<float>(r % 5) * 0.1f);
  }
  BoostOptions options;
  options.trees = 10;
  return boost(data, options);
}

Weights small_weights() {
  FamilyModel model;
  model.key = "gemm/bf16";
  model.sources["nvidia"].tuning.extra_floor_us = 1.5f;
  model.sources["nvidia"].tuning.log_factors[Tuning::dram] = 0.25f;
  model.sources["nvidia/wgmma/vllm/linear"].index = 0;
  model.sources["nvidia/mma/pytorch/torch"].hosted = true;
  model.hosts["T4"] = {25.5f, 15.25f};
  model.carry["nvidia"] = {0.75f, 0.5f};
  model.seen["H100-SXM"] = 200;
  model.general = model.ceiling = model.cards["H100-SXM"] = small_forest();
  model.seen_spread = {Forest::constant(kFeatureCount, -0.1f), Forest::constant(kFeatureCount, 0.1f)};
  model.unseen_spread = {Forest::constant(kFeatureCount, -0.3f), Forest::constant(kFeatureCount, 0.3f)};
  model.sibling_spread = {Forest::constant(kFeatureCount, -0.2f), Forest::constant(kFeatureCount, 0.2f)};
  model.trained_on["test"] = 200;
  Weights weights;
  weights.models.push_back(model);
  return weights;
}

std::string refusal(std::string_view bytes) {
  const auto weights = weights_from_bytes(bytes, "w.bin");
  return weights ? "accepted" : weights.error().line();
}

TEST(Weights, RoundTrip) {
  const Weights before = small_weights();
  const auto after = weights_from_bytes(to_bytes(before), "w.bin");
  ASSERT_TRUE(after) << after.error().line();
  const FamilyModel* model = after->find("gemm/bf16");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(after->find("gemm/fp8"), nullptr);
  EXPECT_EQ(model->seen.at("H100-SXM"), 200);
  EXPECT_EQ(model->trained_on, before.models[0].trained_on);
  EXPECT_EQ(to_bytes(*after), to_bytes(before));
  EXPECT_FLOAT_EQ(model->sources.at("nvidia").tuning.extra_floor_us, 1.5f);
  EXPECT_FLOAT_EQ(model->sources.at("nvidia").tuning.log_factors[Tuning::dram], 0.25f);
  EXPECT_TRUE(model->sources.at("nvidia/mma/pytorch/torch").hosted);
  EXPECT_FALSE(model->sources.at("nvidia").hosted);
  EXPECT_FLOAT_EQ(model->hosts.at("T4").floor_us, 25.5f);
  EXPECT_FLOAT_EQ(model->hosts.at("T4").gap_us, 15.25f);
  EXPECT_FLOAT_EQ(model->carry.at("nvidia").near, 0.75f);
  EXPECT_FLOAT_EQ(model->carry.at("nvidia").far, 0.5f);
  EXPECT_FLOAT_EQ(model->seen_spread.low.base(), -0.1f);
  EXPECT_FLOAT_EQ(model->sibling_spread.high.base(), 0.2f);
  EXPECT_FLOAT_EQ(model->unseen_spread.low.base(), -0.3f);
  const std::vector<float> row(kFeatureCount, 3.0f);
  EXPECT_NEAR(model->general.predict(row), before.models[0].general.predict(row), 1e-3);
  EXPECT_NEAR(model->cards.at("H100-SXM").predict(row), before.models[0].cards.at("H100-SXM").predict(row), 1e-3);
}

TEST(LazyWeights, FindsTheSameModelsOneByOne) {
  const Weights all = small_weights();
  const std::string bytes = to_bytes(all);
  auto lazy = LazyWeights::from_bytes(bytes, "file");
  ASSERT_TRUE(lazy) << lazy.error().line();
  for (const FamilyModel& model : all.models) {
    const FamilyModel* found = (*lazy)->find(model.key);
    ASSERT_TRUE(found) << model.key;
    EXPECT_EQ(found->seen, model.seen);
    EXPECT_EQ(found, (*lazy)->find(model.key)) << "read once";
  }
  EXPECT_EQ((*lazy)->find("nothing/bf16"), nullptr);
  EXPECT_FALSE(LazyWeights::from_bytes(std::string_view(bytes).substr(0, bytes.size() - 1), "file"));
}

TEST(Weights, RefusesForeignNewerTruncatedAndDamagedFiles) {
  const std::string good = to_bytes(small_weights());
  EXPECT_THAT(refusal(""), HasSubstr("w.bin: is not a Tilecast weight file"));
  EXPECT_THAT(refusal("PK\x03\x04 something else entirely, of some length"),
              HasSubstr("is not a Tilecast weight file"));
  EXPECT_THAT(refusal(std::string_view(good).substr(0, good.size() - 5)), HasSubstr("is truncated"));
  std::string newer = good;
  newer[8] = 11;
  EXPECT_THAT(refusal(newer), HasSubstr("has format version 11, this program reads 10"));
  for (const std::size_t at : {good.size() / 2, good.size() - 1}) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    EXPECT_THAT(refusal(damaged), HasSubstr("is damaged"));
  }
}

// As version 9 wrote a model: the forests of siblings' spread are not there.
std::string without_sibling_spread(const std::string& bytes) {
  const auto plain = unpack(bytes, "tilecast", "w.bin");
  const std::size_t at = plain->find("TILECAST");
  std::string model = *unpack(std::string_view(*plain).substr(at), "model", "w.bin");
  PackWriter forests;
  for (const float base : {-0.2f, 0.2f}) {
    forests.count(kFeatureCount);
    for (int f = 0; f < kFeatureCount; ++f) forests.count(0);
    forests.number(base);
    forests.count(0);
  }
  model.erase(model.find(forests.bytes()), forests.bytes().size());
  const auto packed = [](std::string_view method, std::string_view payload) {
    PackWriter writer;
    for (const char c : payload) writer.number(c);
    std::string file = pack(method, writer);
    file[8] = 9;
    return file;
  };
  PackWriter entry;
  entry.view(packed("model", model));
  return packed("tilecast", plain->substr(0, at - sizeof(std::uint64_t)) + entry.bytes());
}

TEST(Weights, FilesOfVersion9HaveOneSpreadForUnseenCards) {
  const auto weights = weights_from_bytes(without_sibling_spread(to_bytes(small_weights())), "w.bin");
  ASSERT_TRUE(weights) << weights.error().line();
  const FamilyModel& model = weights->models.at(0);
  EXPECT_FLOAT_EQ(model.unseen_spread.high.base(), 0.3f);
  EXPECT_FLOAT_EQ(model.sibling_spread.high.base(), 0.3f);
  EXPECT_FLOAT_EQ(model.sibling_spread.low.base(), -0.3f);
  EXPECT_FLOAT_EQ(model.cards.at("H100-SXM").base(), small_weights().models[0].cards.at("H100-SXM").base());
}

TEST(Weights, RefusesAFileOfOtherFeatures) {
  const std::size_t first = index_of(Feature::first_of_shape);
  const auto trained_with = [&](const std::function<void(std::vector<std::string>&)>& change) {
    return to_bytes(small_weights(), [&](std::string_view family) {
      FeatureSchema schema = feature_schema(family);
      change(schema.names);
      return schema;
    });
  };
  EXPECT_EQ(refusal(trained_with([](auto&) {})), "accepted");
  const std::string swapped = trained_with([&](auto& names) { std::swap(names[first], names[first + 1]); });
  const std::string line =
      "w.bin: gemm: was trained on other features: it has 'log2(n)' as feature 34, where this program has 'log2(m)' "
      "(train it again with `tilecast-lab train`)";
  EXPECT_EQ(refusal(swapped), line);
  const auto lazy = LazyWeights::from_bytes(swapped, "w.bin");
  EXPECT_EQ(lazy ? "accepted" : lazy.error().line(), line);
  EXPECT_THAT(refusal(trained_with([&](auto& names) { names[first + 4] = "added"; })), HasSubstr("gemm: was trained"));
  EXPECT_THAT(refusal(trained_with([](auto& names) { names[index_of(Feature::tile_m)] = "tile_height"; })),
              HasSubstr("it has 'tile_height' where this program has 'tile_m'"));
  EXPECT_THAT(refusal(trained_with([](auto& names) { names.pop_back(); })), HasSubstr("lacks 'source_index'"));
}

TEST(Weights, CorrectedEstimateKeepsItsPromises) {
  const Weights weights = small_weights();
  const Gpu h100 = *find_gpu("H100-SXM"), b200 = *find_gpu("B200"), h200 = *find_gpu("H200-SXM");
  const Kernel kernel{Gemm{512, 4096, 4096}, *format_from("bf16")};
  const Context context;
  for (const Gpu* gpu : {&h100, &h200, &b200}) {
    const auto planned = plan(kernel, *gpu, context);
    const Estimate analytic = estimate(*planned, *gpu, context, Method::tilecast);
    const Estimate e = corrected(analytic, weights.models[0], kernel, *planned, *gpu, context);
    EXPECT_GE(e.latency, e.bound);
    EXPECT_LE(e.interval.low, e.latency);
    EXPECT_GE(e.interval.high, e.latency);
    Seconds sum;
    for (const LaunchEstimate& launch : e.launches) sum += launch.latency;
    EXPECT_NEAR(sum / e.latency, 1, 1e-9);
    EXPECT_EQ(e.seen, gpu == &h100 ? Seen::yes : gpu == &h200 ? Seen::sibling : Seen::no);
  }
}

}  // namespace
}  // namespace tilecast
