// Models through the public API alone.
#include "tilecast/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/arguments_testing.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ModelApi, DescribesAModelByName) {
  const auto model = describe_model({.model = "Llama-3.1-8B"});
  ASSERT_TRUE(model.ok()) << model.error().line();
  EXPECT_EQ(model->parameters, 8'030'261'248);
  EXPECT_EQ(model->layers, 32);
  EXPECT_EQ(model->cache_elements_per_token, 2 * 32 * 8 * 128);
  EXPECT_EQ(in_bytes(model->cache_per_token), 2 * 2 * 32 * 8 * 128);
  EXPECT_EQ(model->context, 131072);
  EXPECT_EQ(model->dtype, "bf16");
  EXPECT_TRUE(model->generates);
}

TEST(ModelApi, SaysWhatLayersAreMadeOf) {
  const auto model = describe_model({.model = "Qwen/Qwen3-30B-A3B"});
  ASSERT_TRUE(model.ok()) << model.error().line();
  EXPECT_EQ(model->name, "Qwen3-30B-A3B");
  EXPECT_FALSE(model->source.empty());
  EXPECT_EQ(model->hidden, 2048);
  ASSERT_EQ(model->kinds.size(), 1u);
  const ModelLayers& layers = model->kinds.front();
  EXPECT_EQ(layers.layers, 48);
  EXPECT_EQ(layers.mixer, "attention");
  EXPECT_EQ(layers.heads, 32);
  EXPECT_EQ(layers.kv_heads, 4);
  EXPECT_EQ(layers.head_dim, 128);
  EXPECT_EQ(layers.experts, 128);
  EXPECT_EQ(layers.experts_per_token, 8);
  EXPECT_EQ(layers.width, 768);
}

TEST(ModelApi, ListsTheLibrary) {
  const auto models = known_models();
  EXPECT_GT(models.size(), 100u);
  const auto found = std::find_if(models.begin(), models.end(), [](auto& m) { return m.name == "Llama-3.1-8B"; });
  ASSERT_NE(found, models.end());
  EXPECT_EQ(found->parameters, 8'030'261'248);
  EXPECT_FALSE(found->source.empty());
  EXPECT_THAT(model_classes(), Contains("Llama"));
}

TEST(ModelApi, ReadsConfigurationsAndFolders) {
  const TestFolder folder;
  const std::string path = folder.plain("config.json", R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
      "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 1000})");
  for (const std::string& name : {path, path.substr(0, path.rfind('/'))}) {
    const auto model = describe_model({.model = name});
    ASSERT_TRUE(model.ok()) << model.error().line();
    EXPECT_EQ(model->layers, 2);
    // 12 x 64^2 + 13 x 64 of a layer; the tables of words and positions; the last norm.
    EXPECT_EQ(model->parameters, 2 * (12 * 64 * 64 + 13 * 64) + 1128 * 64 + 2 * 64);
  }
}

TEST(ModelApi, ReadsGraphs) {
  const TestFolder folder;
  const std::string path = folder.plain("net.json", R"({"name": "net", "sections": [{"name": "all",
      "tensors": [{"name": "x", "elements": 256}, {"name": "y", "elements": 128}], "operators": [
      {"name": "product", "kernel": "gemm", "dims": {"m": 8, "n": 16, "k": 32}, "reads": ["x"], "writes": ["y"]}]}]})");
  const auto model = describe_model({.model = path});
  ASSERT_TRUE(model.ok()) << model.error().line();
  EXPECT_EQ(model->architecture, "graph");
  EXPECT_FALSE(model->generates);
}

// Flux's transformer as black-forest-labs publish it: 11.9 billion parameters.
TEST(ModelApi, FluxIsAGraph) {
  const auto flux = describe_model({.model = TILECAST_SOURCE_DIR "/examples/graphs/flux1-schnell-256.json"});
  ASSERT_TRUE(flux.ok()) << flux.error().line();
  EXPECT_EQ(flux->parameters, 11'891'178'560);
}

TEST(ModelApi, ErrorsNameTheField) {
  EXPECT_THAT(line_of(describe_model({})), StartsWith("model: is missing"));
  EXPECT_THAT(line_of(describe_model({.model = "Lama-3.1-8B"})), HasSubstr("did you mean"));
  EXPECT_THAT(line_of(describe_model({.model = "Llama-3.1-8B", .dims = {"batch=2"}})), StartsWith("dim: "));
  EXPECT_THAT(line_of(describe_model({.model = "no-such.onnx", .dims = {"batch"}})),
              StartsWith("dim: 'batch' is not a name=value"));
}

TEST(ModelApi, ArgumentsRoundTrip) {
  expect_round_trip(ModelQuery{.model = "x.onnx", .dims = {"batch=2", "seq=3"}, .allow_unknown = true});
  expect_examples_taken<ModelQuery>();
}

}  // namespace
}  // namespace tilecast
