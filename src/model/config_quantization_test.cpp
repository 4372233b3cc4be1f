// What checkpoints say of their quantisation: formats, parts and products left out, groups, caches.
#include "model/config_quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/config_testing.h"
#include "model/library.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConfigQuantization, ListsOfModulesBecomeParts) {
  const auto parts = [](const std::string& model) { return find_model(model)->quantized; };
  EXPECT_EQ(parts("gpt-oss-120b"), (QuantizedParts{false, false, false, true}));
  EXPECT_EQ(parts("Kimi-K2-Thinking"), (QuantizedParts{false, false, false, true}));
  EXPECT_EQ(parts("DeepSeek-R1-NVFP4"), (QuantizedParts{false, true, true, true}));
  EXPECT_EQ(parts("DeepSeek-V3"), QuantizedParts{});
}

ModelSpec llama_without(const std::vector<std::string>& modules) {
  ModelSpec model = *find_model("Llama-3.1-8B");  // 32 layers
  leave_out(modules, model);
  return model;
}
// Of how many layers a product is left out.
Count layers_without(const ModelSpec& model, bool WideProducts::*product) {
  Count layers = 0;
  for (const LayerRun& run : model.decoder->layers)
    if (run.layer.unquantised.*product) layers += run.repeats;
  return layers;
}

TEST(ConfigQuantization, WholePartsAreLeftOutByAnyTool) {
  const auto kept = [](const std::vector<std::string>& modules) { return llama_without(modules).quantized; };
  EXPECT_EQ(kept({}), QuantizedParts{});
  EXPECT_EQ(kept({"lm_head", "model.embed_tokens", "re:.*vision_model.*self_attn.*"}), QuantizedParts{});
  for (const char* all : {"self_attn", "re:.*self_attn.*", "model.layers.*.self_attn", "model.layers.*.self_attn*"})
    EXPECT_EQ(kept({all}), (QuantizedParts{false, true, true, true})) << all;
  EXPECT_EQ(kept({"re:.*mlp.*"}), (QuantizedParts{true, false, true, true}));
  EXPECT_EQ(kept({"mlp"}), (QuantizedParts{true, false, true, true}));
  EXPECT_EQ(kept({"re:.*mlp.gate$", "router"}), QuantizedParts{});
}

TEST(ConfigQuantization, ProductsAreLeftOutOneByOne) {
  const ModelSpec down = llama_without({"re:.*down_proj"});
  EXPECT_EQ(down.quantized, QuantizedParts{});
  EXPECT_EQ(layers_without(down, &WideProducts::down), 32);
  EXPECT_EQ(layers_without(down, &WideProducts::gate_up), 0);
  ASSERT_EQ(down.decoder->layers.size(), 1U);
  const ModelSpec out = llama_without({"re:.*o_proj"});
  EXPECT_EQ(layers_without(out, &WideProducts::mixer_out), 32);
  EXPECT_EQ(layers_without(out, &WideProducts::mixer_in), 0);
  // What engines multiply as one stays quantised unless all of it is named, and vLLM refuses it.
  const ModelSpec half = llama_without({"q_proj", "re:.*k_proj"});
  EXPECT_EQ(layers_without(half, &WideProducts::mixer_in), 0);
  ASSERT_EQ(half.quantization_notes.size(), 1U);
  EXPECT_THAT(half.quantization_notes.front(), HasSubstr("vLLM refuses"));
  EXPECT_EQ(layers_without(llama_without({"q_proj", "k_proj", "v_proj"}), &WideProducts::mixer_in), 32);
  EXPECT_EQ(layers_without(llama_without({"qkv_proj"}), &WideProducts::mixer_in), 32);
  EXPECT_EQ(layers_without(llama_without({"gate_up_proj"}), &WideProducts::gate_up), 32);
}

TEST(ConfigQuantization, ProductsOfSomeLayersAreLeftOut) {
  const ModelSpec ends = llama_without({"model.layers.0.mlp.down_proj", "model.layers.31.mlp.down_proj", "lm_head"});
  EXPECT_EQ(layers_without(ends, &WideProducts::down), 2);
  ASSERT_EQ(ends.decoder->layers.size(), 3U);
  EXPECT_TRUE(ends.decoder->layers.front().layer.unquantised.down);
  EXPECT_EQ(ends.decoder->layers[1].repeats, 30);
  EXPECT_THAT(ends.quantization_notes, ElementsAre("the checkpoint leaves products of 2 of 32 layers unquantised"));
  // All of layer 0, and by an expression those whose number begins with 1 to 9: Python's re.match asks for no end.
  const ModelSpec first = llama_without({"model.layers.0"});
  EXPECT_EQ(layers_without(first, &WideProducts::down), 1);
  EXPECT_EQ(layers_without(first, &WideProducts::mixer_in), 1);
  EXPECT_EQ(layers_without(llama_without({"re:model.layers.[1-9].*"}), &WideProducts::gate_up), 31);
  EXPECT_EQ(layers_without(llama_without({"re:.*layers\\.(0|1|2)\\.self_attn.*"}), &WideProducts::mixer_out), 3);
  std::vector<std::string> some;
  for (int i = 0; i < 15; ++i) some.push_back("model.layers." + std::to_string(i) + ".self_attn*");
  EXPECT_EQ(layers_without(llama_without(some), &WideProducts::mixer_in), 15);
}

TEST(ConfigQuantization, WhatAListSaysBesideIsSaid) {
  EXPECT_THAT(llama_without({"model.layers.3.strange_block"}).quantization_notes,
              ElementsAre(HasSubstr("1 entry is not known: model.layers.3.strange_block")));
  EXPECT_THAT(llama_without({"re:(unbalanced"}).quantization_notes, ElementsAre(HasSubstr("not known")));
  EXPECT_TRUE(llama_without({"lm_head", "model.embed_tokens", "router"}).quantization_notes.empty());
  // An expression that would take a backtracking matcher for ever.
  EXPECT_TRUE(llama_without({"re:(.*a)*(.*b)*(.*c)*$x"}).quantized == QuantizedParts{});
}

TEST(ConfigQuantization, GroupsAndCachesOfCheckpoints) {
  EXPECT_EQ(find_model("Kimi-K2-Thinking")->quantization_group, 32);
  EXPECT_EQ(find_model("Qwen3-8B-AWQ")->quantization_group, 128);
  const auto with = [](const Json& quantisation) { return spec(llama({{"quantization_config", quantisation}})); };
  EXPECT_EQ(with({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", -1}}).quantization_group, 0);
  EXPECT_FALSE(with({{"quant_method", "fp8"}}).fp8_cache);
  EXPECT_TRUE(with({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}}).fp8_cache);
  EXPECT_THAT(complaint(llama({{"quantization_config", {{"quant_method", "fp8"}, {"ignore", 3}}}})),
              HasSubstr("ignore"));
}

TEST(ConfigQuantization, QuantisationBecomesAFormat) {
  const auto format = [](const Json& quantisation) {
    return spec(llama({{"quantization_config", quantisation}})).quantization;
  };
  const auto group = [](const Json& weights, const Json& inputs) {
    return Json{{"quant_method", "compressed-tensors"},
                {"config_groups", {{"group_0", {{"weights", weights}, {"input_activations", inputs}}}}}};
  };
  const Json fp8 = {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}};
  EXPECT_EQ(spec(llama()).quantization, "");
  EXPECT_EQ(format({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}}), "fp8_block");
  EXPECT_EQ(format({{"quant_method", "fp8"}, {"activation_scheme", "static"}}), "fp8_static");
  EXPECT_EQ(format({{"quant_method", "fp8"}}), "fp8");
  EXPECT_EQ(format(group(fp8, {{"dynamic", true}, {"strategy", "token"}})), "fp8_token");
  EXPECT_EQ(format(group(fp8, {{"dynamic", false}, {"strategy", "tensor"}})), "fp8_static");
  EXPECT_EQ(format(group({{"num_bits", 8}, {"type", "float"}, {"strategy", "block"}}, {{"dynamic", true}})),
            "fp8_block");
  EXPECT_EQ(format(group({{"num_bits", 4}, {"type", "int"}}, nullptr)), "int4_wo");
  EXPECT_EQ(format(group({{"num_bits", 8}, {"type", "int"}}, {{"dynamic", true}})), "int8");
  EXPECT_EQ(format(group({{"num_bits", 4}, {"type", "float"}, {"group_size", 16}}, {{"num_bits", 4}})), "nvfp4");
  EXPECT_EQ(format({{"quant_method", "mxfp4"}}), "mxfp4");
  EXPECT_EQ(format(group({{"num_bits", 4}, {"type", "float"}, {"group_size", 32}}, nullptr)), "mxfp4");
  EXPECT_EQ(format({{"quant_method", "gptq"}, {"bits", 4}}), "int4_wo");
  EXPECT_EQ(format({{"quant_method", "awq"}, {"bits", 4}}), "int4_wo");
  EXPECT_EQ(format({{"quant_method", "gptq"}, {"bits", 8}}), "int8_wo");
  EXPECT_EQ(format({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}), "int4_wo");
  EXPECT_EQ(format({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}), "nvfp4");
  EXPECT_EQ(format({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}}), "fp8_static");
  EXPECT_THAT(complaint(llama({{"quantization_config", {{"quant_method", "magic"}}}})),
              HasSubstr("unknown quantisation 'magic'"));
}

}  // namespace
}  // namespace tilecast
