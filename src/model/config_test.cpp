// What configurations mean, family by family, and what bad ones are answered.
#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "model/config_quantization.h"
#include "model/config_testing.h"
#include "model/embedded_models.h"
#include "model/library.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Json llama(const Json& changes = Json::object()) { return small_config("LlamaForCausalLM", changes); }

ModelSpec spec(const Json& config) {
  auto read = spec_from_json(config.dump(), "config.json");
  EXPECT_TRUE(read) << read.error().line();
  return read ? *read : ModelSpec{};
}
std::string complaint(const Json& config) {
  const auto read = spec_from_json(config.dump(), "config.json");
  return read ? "accepted" : read.error().line();
}

const AttentionSpec& attention(const ModelSpec& model, std::size_t run = 0) {
  return std::get<AttentionSpec>(model.decoder->layers.at(run).layer.mixer);
}

TEST(Config, LlamaIsRead) {
  const ModelSpec model = spec(llama());
  EXPECT_EQ(model.architecture, "LlamaForCausalLM");
  EXPECT_EQ(model.dtype, "bf16");
  ASSERT_TRUE(model.decoder);
  EXPECT_FALSE(model.encoder);
  ASSERT_EQ(model.decoder->layers.size(), 1u);
  EXPECT_EQ(model.decoder->layer_count(), 4);
  EXPECT_EQ(attention(model).head_dim, 16);
  EXPECT_EQ(attention(model).rotary_dim, 16);
  EXPECT_FALSE(attention(model).q_bias);
  EXPECT_TRUE(model.lm_head);
  EXPECT_FALSE(model.tied_head);
  EXPECT_FALSE(spec(llama({{"architectures", {"LlamaModel"}}})).lm_head);
  EXPECT_EQ(spec(llama({{"architectures", {"LlamaForSequenceClassification"}}, {"num_labels", 3}})).classes, 3);
}

TEST(Config, FieldsHaveManyNames) {
  const Json old = {{"model_type", "gpt2"}, {"n_embd", 64},      {"n_layer", 2},     {"n_head", 4},
                    {"n_positions", 32},    {"n_inner", Json()}, {"vocab_size", 100}};
  const ModelSpec model = spec(old);
  EXPECT_EQ(std::get<MlpSpec>(model.decoder->layers[0].layer.feed_forward).inter, 256);
  EXPECT_EQ(std::get<MlpSpec>(model.decoder->layers[0].layer.feed_forward).activation, ActivationKind::gelu_tanh);
  EXPECT_EQ(model.decoder->max_positions, 32);
  EXPECT_TRUE(model.tied_head);
  EXPECT_EQ(model.dtype, "fp32") << "what Hugging Face takes where the file is silent";
}

TEST(Config, BiasesFollowFamilyAndFile) {
  EXPECT_TRUE(attention(spec(llama({{"attention_bias", true}}))).out_bias);
  const ModelSpec qwen = spec(llama({{"architectures", {"Qwen2ForCausalLM"}}}));
  EXPECT_TRUE(attention(qwen).q_bias && attention(qwen).kv_bias);
  EXPECT_FALSE(attention(qwen).out_bias);
  const ModelSpec glm = spec(llama({{"architectures", {"Glm4MoeForCausalLM"}}, {"attention_bias", true}}));
  EXPECT_TRUE(attention(glm).q_bias);
  EXPECT_FALSE(attention(glm).out_bias);
  EXPECT_EQ(attention(glm).rotary_dim, 8);
}

TEST(Config, WindowsFollowPatternsListsAndSwitches) {
  const Json window = {{"sliding_window", 8}};
  EXPECT_EQ(attention(spec(llama(window))).window, 8);
  EXPECT_EQ(attention(spec(llama({{"sliding_window", 8}, {"use_sliding_window", false}}))).window, 0);
  const ModelSpec gemma = spec(llama({{"architectures", {"Gemma2ForCausalLM"}}, {"sliding_window", 8}}));
  ASSERT_EQ(gemma.decoder->layers.size(), 4u);
  EXPECT_EQ(attention(gemma, 0).window, 8);
  EXPECT_EQ(attention(gemma, 1).window, 0);
  const ModelSpec listed =
      spec(llama({{"sliding_window", 8},
                  {"layer_types", {"full_attention", "sliding_attention", "sliding_attention", "full_attention"}}}));
  ASSERT_EQ(listed.decoder->layers.size(), 3u);
  EXPECT_EQ(listed.decoder->layers[1].repeats, 2);
  EXPECT_EQ(attention(listed, 1).window, 8);
  const ModelSpec late = spec(llama({{"architectures", {"Qwen2ForCausalLM"}},
                                     {"sliding_window", 8},
                                     {"use_sliding_window", true},
                                     {"max_window_layers", 3}}));
  EXPECT_EQ(late.decoder->layers[0].repeats, 3);
  EXPECT_EQ(attention(late, 1).window, 8);
}

TEST(Config, ExpertsStandInTheLayersTheFileSays) {
  const Json experts = {{"architectures", {"DeepseekV3ForCausalLM"}},
                        {"n_routed_experts", 8},
                        {"num_experts_per_tok", 2},
                        {"moe_intermediate_size", 32},
                        {"n_shared_experts", 2},
                        {"first_k_dense_replace", 1}};
  const ModelSpec deep = spec(llama(experts));
  ASSERT_EQ(deep.decoder->layers.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<MlpSpec>(deep.decoder->layers[0].layer.feed_forward));
  const auto& moe = std::get<MoeSpec>(deep.decoder->layers[1].layer.feed_forward);
  EXPECT_EQ(moe.inter, 32);
  EXPECT_EQ(moe.shared_inter, 64);
  EXPECT_TRUE(moe.router_bias);
  const ModelSpec mixtral =
      spec(llama({{"architectures", {"MixtralForCausalLM"}}, {"num_local_experts", 8}, {"num_experts_per_tok", 2}}));
  EXPECT_EQ(std::get<MoeSpec>(mixtral.decoder->layers[0].layer.feed_forward).inter, 128);
  const ModelSpec sparse = spec(llama({{"architectures", {"Qwen2MoeForCausalLM"}},
                                       {"num_experts", 8},
                                       {"num_experts_per_tok", 2},
                                       {"moe_intermediate_size", 32},
                                       {"shared_expert_intermediate_size", 48},
                                       {"decoder_sparse_step", 2},
                                       {"mlp_only_layers", {3}}}));
  ASSERT_EQ(sparse.decoder->layers.size(), 3u) << "layers 0, 2 and 3 are dense";
  EXPECT_TRUE(std::get<MoeSpec>(sparse.decoder->layers[1].layer.feed_forward).shared_gate);
}

TEST(Config, ListsOfLaterFilesSayTheSame) {
  const Json experts = {{"architectures", {"GlmMoeDsaForCausalLM"}},
                        {"n_routed_experts", 8},
                        {"num_experts_per_tok", 2},
                        {"moe_intermediate_size", 32},
                        {"mlp_layer_types", {"dense", "sparse", "sparse", "dense"}}};
  const ModelSpec model = spec(llama(experts));
  ASSERT_EQ(model.decoder->layers.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<MoeSpec>(model.decoder->layers[1].layer.feed_forward));
  EXPECT_EQ(model.decoder->layers[1].repeats, 2);
}

TEST(Config, Llama4RotatesThreeLayersOfFour) {
  const ModelSpec model = spec({{"architectures", {"Llama4ForConditionalGeneration"}},
                                {"text_config", llama({{"architectures", nullptr},
                                                       {"intermediate_size_mlp", 256},
                                                       {"num_local_experts", 4},
                                                       {"num_experts_per_tok", 1},
                                                       {"interleave_moe_layer_step", 2},
                                                       {"attention_chunk_size", 16},
                                                       {"use_qk_norm", true}})}});
  ASSERT_EQ(model.decoder->layers.size(), 4u);
  EXPECT_EQ(std::get<MlpSpec>(model.decoder->layers[0].layer.feed_forward).inter, 256);
  const auto& experts = std::get<MoeSpec>(model.decoder->layers[1].layer.feed_forward);
  EXPECT_EQ(experts.inter, 128);
  EXPECT_EQ(experts.shared_inter, 128);
  EXPECT_EQ(attention(model, 2).window, 16);
  EXPECT_TRUE(attention(model, 2).qk_norm);
  EXPECT_FALSE(attention(model, 2).qk_norm_scale);
  EXPECT_EQ(attention(model, 3).window, 0);
  EXPECT_EQ(attention(model, 3).rotary_dim, 0);
}

TEST(Config, LatentAttentionAndItsIndexer) {
  const Json latent = {{"architectures", {"DeepseekV32ForCausalLM"}},
                       {"kv_lora_rank", 32},
                       {"qk_nope_head_dim", 16},
                       {"qk_rope_head_dim", 8},
                       {"v_head_dim", 12},
                       {"index_topk", 64},
                       {"index_n_heads", 2},
                       {"index_head_dim", 16}};
  const ModelSpec model = spec(llama(latent));
  const auto& m = std::get<MlaSpec>(model.decoder->layers[0].layer.mixer);
  EXPECT_EQ(m.q_rank, 0);
  EXPECT_EQ(m.kv_rank, 32);
  EXPECT_EQ(m.v_dim, 12);
  EXPECT_EQ(m.index_topk, 64);
  Json odd = llama(latent);
  odd["num_attention_heads"] = odd["num_key_value_heads"] = 5;  // 5 does not divide 64, and need not
  EXPECT_EQ(std::get<MlaSpec>(spec(odd).decoder->layers[0].layer.mixer).heads, 5);
  EXPECT_THAT(complaint(llama({{"architectures", {"DeepseekV3ForCausalLM"}}, {"kv_lora_rank", 32}})),
              HasSubstr("qk_nope_head_dim: is missing"));
}

TEST(Config, LinearAttentionTakesThreeLayersOfFour) {
  const ModelSpec model = spec(llama({{"architectures", {"Qwen3NextForCausalLM"}},
                                      {"linear_num_value_heads", 4},
                                      {"linear_value_head_dim", 8},
                                      {"linear_num_key_heads", 2},
                                      {"linear_key_head_dim", 16},
                                      {"linear_conv_kernel_dim", 4}}));
  ASSERT_EQ(model.decoder->layers.size(), 2u);
  EXPECT_EQ(model.decoder->layers[0].repeats, 3);
  EXPECT_EQ(std::get<ScanSpec>(model.decoder->layers[0].layer.mixer).rule, ScanRule::gated_delta);
  EXPECT_TRUE(attention(model, 1).gate);
  EXPECT_EQ(attention(model, 1).rotary_dim, 4);
}

Json nemotron_h(const std::string& pattern) {
  return llama({{"architectures", {"NemotronHForCausalLM"}},
                {"hybrid_override_pattern", pattern},
                {"mamba_num_heads", 4},
                {"mamba_head_dim", 16},
                {"n_groups", 2},
                {"ssm_state_size", 8},
                {"conv_kernel", 4},
                {"mlp_hidden_act", "relu2"}});
}

TEST(Config, NemotronHReadsItsLetters) {
  const ModelSpec model = spec(nemotron_h("M-*-"));
  ASSERT_EQ(model.decoder->layers.size(), 4u);
  EXPECT_EQ(std::get<ScanSpec>(model.decoder->layers[0].layer.mixer).rule, ScanRule::mamba2);
  EXPECT_EQ(model.decoder->layers[0].layer.feed_forward.index(), 0u);
  EXPECT_EQ(std::get<MlpSpec>(model.decoder->layers[1].layer.feed_forward).activation, ActivationKind::relu_squared);
  EXPECT_EQ(attention(model, 2).rotary_dim, 0);
  Json listed = nemotron_h("");
  listed["layers_block_type"] = {"mamba", "mlp", "attention", "mlp"};
  EXPECT_EQ(parameters(spec(listed)), parameters(model));
  Json latent = nemotron_h("M-*E");
  latent.update({{"n_routed_experts", 8}, {"num_experts_per_tok", 2}, {"moe_latent_size", 16}});
  EXPECT_THAT(complaint(latent), HasSubstr("moe_latent_size: is not supported"));
  EXPECT_THAT(complaint(nemotron_h("M-*")), HasSubstr("has 3 letters for 4 layers"));
  EXPECT_THAT(complaint(nemotron_h("M-*x")), HasSubstr("unknown letter 'x'"));
}

TEST(Config, PythonsNumbersDoNoHarm) {
  std::string text = nemotron_h("M-*-").dump();
  text.insert(1, R"("time_step_limit": [0.0, Infinity], "note": "NaN \" Infinity", )");
  EXPECT_TRUE(spec_from_json(text, "config.json"));
  text.replace(text.find("1000"), 4, "NaN");
  const auto read = spec_from_json(text, "config.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().line(), HasSubstr("vocab_size: must be a whole number, not \"NaN\""));
}

TEST(Config, DeciLayersAreFullNarrowedOrLeftOut) {
  const Json full = {{"attention", {{"n_heads_in_group", 2}}}, {"ffn", {{"ffn_mult", 6.0}}}};
  Json none = full, narrow = full;
  none["attention"] = {{"no_op", true}, {"n_heads_in_group", nullptr}};
  narrow["ffn"] = {{"ffn_mult", 1.0}};
  Json config = llama(
      {{"architectures", {"DeciLMForCausalLM"}}, {"intermediate_size", nullptr}, {"num_key_value_heads", nullptr}});
  config["block_configs"] = {full, full, none, narrow};
  const ModelSpec model = spec(config);
  ASSERT_EQ(model.decoder->layers.size(), 3u);
  EXPECT_EQ(attention(model, 0).kv_heads, 2);
  EXPECT_EQ(std::get<MlpSpec>(model.decoder->layers[0].layer.feed_forward).inter, 256) << "2/3 x 6 x 64";
  EXPECT_EQ(model.decoder->layers[1].layer.mixer.index(), 0u);
  EXPECT_EQ(std::get<MlpSpec>(model.decoder->layers[2].layer.feed_forward).inter, 256) << "42, up to a multiple of 256";
  config["block_configs"] = {full};
  EXPECT_THAT(complaint(config), HasSubstr("block_configs: must be a list of 4 objects"));
  config["block_configs"] = {full, full, full, 7};
  EXPECT_THAT(complaint(config), HasSubstr("block_configs[3]: must be an object"));
}

TEST(Config, BertsHeadsFollowTheirClass) {
  const auto bert = [](const char* name) {
    return spec(llama({{"architectures", {name}},
                       {"num_key_value_heads", nullptr},
                       {"max_position_embeddings", 32},
                       {"type_vocab_size", 2}}));
  };
  EXPECT_TRUE(bert("BertModel").pooler);
  EXPECT_FALSE(bert("BertModel").lm_head);
  EXPECT_TRUE(bert("BertForMaskedLM").head_transform);
  EXPECT_FALSE(bert("BertForMaskedLM").pooler);
  EXPECT_EQ(bert("BertForSequenceClassification").classes, 2);
  EXPECT_TRUE(bert("BertForPreTraining").pooler && bert("BertForPreTraining").lm_head);
  EXPECT_FALSE(std::get<AttentionSpec>(bert("BertModel").encoder->layers[0].layer.mixer).causal);
}

TEST(Config, EncoderDecodersHaveCrossAttention) {
  const ModelSpec t5 = spec({{"architectures", {"T5ForConditionalGeneration"}},
                             {"d_model", 64},
                             {"d_ff", 128},
                             {"d_kv", 32},
                             {"num_heads", 4},
                             {"num_layers", 3},
                             {"num_decoder_layers", 2},
                             {"feed_forward_proj", "gated-gelu"},
                             {"tie_word_embeddings", false},
                             {"vocab_size", 100}});
  EXPECT_EQ(t5.encoder->layer_count(), 3);
  EXPECT_EQ(t5.decoder->layer_count(), 2);
  EXPECT_FALSE(t5.encoder->layers[0].layer.cross);
  EXPECT_TRUE(t5.decoder->layers[0].layer.cross);
  const auto& mlp = std::get<MlpSpec>(t5.decoder->layers[0].layer.feed_forward);
  EXPECT_TRUE(mlp.gated);
  EXPECT_EQ(mlp.activation, ActivationKind::gelu_tanh);
  EXPECT_FALSE(t5.tied_head);
  // Tables of 32 buckets x 4 heads, one a stack.
  const Count layer = 4 * 64 * 128 + 3 * 64 * 128;
  EXPECT_EQ(parameters(t5), 2 * 6400 + 3 * (layer + 128) + 2 * (layer + 4 * 64 * 128 + 192) + 128 + 2 * 128);
}

TEST(Config, TextPartOfUnknownWrappersIsUsed) {
  const ModelSpec model =
      spec({{"architectures", {"LlavaForConditionalGeneration"}},
            {"model_type", "llava"},
            {"torch_dtype", "float16"},
            {"text_config", llama({{"architectures", nullptr}, {"torch_dtype", nullptr}, {"model_type", "llama"}})}});
  EXPECT_EQ(model.decoder->hidden, 64);
  EXPECT_EQ(model.dtype, "fp16");
}

TEST(Config, ListsOfModulesBecomeParts) {
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

TEST(Config, WholePartsAreLeftOutByAnyTool) {
  const auto kept = [](const std::vector<std::string>& modules) { return llama_without(modules).quantized; };
  EXPECT_EQ(kept({}), QuantizedParts{});
  EXPECT_EQ(kept({"lm_head", "model.embed_tokens", "re:.*vision_model.*self_attn.*"}), QuantizedParts{});
  for (const char* all : {"self_attn", "re:.*self_attn.*", "model.layers.*.self_attn", "model.layers.*.self_attn*"})
    EXPECT_EQ(kept({all}), (QuantizedParts{false, true, true, true})) << all;
  EXPECT_EQ(kept({"re:.*mlp.*"}), (QuantizedParts{true, false, true, true}));
  EXPECT_EQ(kept({"mlp"}), (QuantizedParts{true, false, true, true}));
  EXPECT_EQ(kept({"re:.*mlp.gate$", "router"}), QuantizedParts{});
}

TEST(Config, ProductsAreLeftOutOneByOne) {
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

TEST(Config, ProductsOfSomeLayersAreLeftOut) {
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

TEST(Config, WhatAListSaysBesideIsSaid) {
  EXPECT_THAT(llama_without({"model.layers.3.strange_block"}).quantization_notes,
              ElementsAre(HasSubstr("1 entry is not known: model.layers.3.strange_block")));
  EXPECT_THAT(llama_without({"re:(unbalanced"}).quantization_notes, ElementsAre(HasSubstr("not known")));
  EXPECT_TRUE(llama_without({"lm_head", "model.embed_tokens", "router"}).quantization_notes.empty());
  // An expression that would take a backtracking matcher for ever.
  EXPECT_TRUE(llama_without({"re:(.*a)*(.*b)*(.*c)*$x"}).quantized == QuantizedParts{});
}

TEST(Config, GroupsAndCachesOfCheckpoints) {
  EXPECT_EQ(find_model("Kimi-K2-Thinking")->quantization_group, 32);
  EXPECT_EQ(find_model("Qwen3-8B-AWQ")->quantization_group, 128);
  const auto with = [](const Json& quantisation) { return spec(llama({{"quantization_config", quantisation}})); };
  EXPECT_EQ(with({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", -1}}).quantization_group, 0);
  EXPECT_FALSE(with({{"quant_method", "fp8"}}).fp8_cache);
  EXPECT_TRUE(with({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}}).fp8_cache);
  EXPECT_THAT(complaint(llama({{"quantization_config", {{"quant_method", "fp8"}, {"ignore", 3}}}})),
              HasSubstr("ignore"));
}

TEST(Config, QuantisationBecomesAFormat) {
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

TEST(ConfigErrors, NameFileFieldAndRemedy) {
  EXPECT_EQ(complaint(llama({{"hidden_size", nullptr}})),
            "config.json: hidden_size: is missing (or under n_embd, d_model or n_embed)");
  EXPECT_EQ(complaint(llama({{"num_hidden_layers", 0}})),
            "config.json: num_hidden_layers: must lie between 1 and 2048, not 0");
  EXPECT_EQ(complaint(llama({{"num_attention_heads", 5}, {"num_key_value_heads", 5}})),
            "config.json: num_attention_heads: 5 heads do not divide the hidden size 64, and there is no head_dim "
            "(correct one of them or give head_dim)");
  EXPECT_THAT(complaint(llama({{"num_key_value_heads", 3}})), HasSubstr("3 does not divide the 4 attention heads"));
  EXPECT_THAT(complaint(llama({{"num_key_value_heads", 0}})), HasSubstr("num_key_value_heads: 0 does not divide"));
  EXPECT_THAT(complaint(llama({{"hidden_size", -64}})), HasSubstr("must lie between 1 and 262144, not -64"));
  EXPECT_THAT(complaint(llama({{"hidden_size", "64"}})), HasSubstr("must be a whole number, not \"64\""));
  EXPECT_THAT(complaint(llama({{"hidden_size", 64.5}})), HasSubstr("must be a whole number, not 64.5"));
  EXPECT_THAT(complaint(llama({{"hidden_size", 1e30}})), HasSubstr("must lie between 1 and 262144"));
  EXPECT_THAT(complaint(llama({{"vocab_size", Json::array()}})), HasSubstr("not a list"));
  EXPECT_THAT(complaint(llama({{"tie_word_embeddings", "yes"}})), HasSubstr("must be true or false, not \"yes\""));
  EXPECT_THAT(complaint(llama({{"hidden_act", "sine"}})), HasSubstr("unknown activation 'sine' (known: silu"));
  EXPECT_THAT(complaint(llama({{"torch_dtype", "int3"}})), HasSubstr("torch_dtype: unknown type 'int3'"));
  EXPECT_THAT(complaint(llama({{"partial_rotary_factor", 2}})), HasSubstr("must lie between 0 and 1, not 2"));
  EXPECT_THAT(complaint(llama({{"rotary_dim", 17}})), HasSubstr("is above head_dim (17 > 16)"));
  EXPECT_THAT(complaint(llama({{"num_experts", 4}, {"num_experts_per_tok", 5}})),
              HasSubstr("a token cannot visit 5 of 4 experts"));
  EXPECT_THAT(complaint(llama({{"num_experts", 4}})), HasSubstr("num_experts_per_tok: is missing"));
  EXPECT_THAT(complaint(llama({{"sliding_window", 8}, {"layer_types", {"full_attention"}}})),
              HasSubstr("layer_types: has 1 entries for 4 layers"));
}

TEST(ConfigErrors, UnknownArchitecturesAreNamedWithTheNearest) {
  EXPECT_THAT(complaint(llama({{"architectures", {"LlamaaForCausalLM"}}})),
              HasSubstr("architectures: unknown architecture 'LlamaaForCausalLM' (nearest: Llama"));
  const std::string far = complaint(llama({{"architectures", {"RwkvForCausalLM"}}}));
  EXPECT_THAT(far, HasSubstr("its recurrence has no kernel here"));
  const std::string strange = complaint(llama({{"architectures", {"ZzzzzzzzForCausalLM"}}}));
  EXPECT_THAT(strange, HasSubstr("`tilecast models --classes` lists those that are known"));
  EXPECT_THAT(strange, HasSubstr("export it to ONNX, or write it as a graph file (docs/graphs.md)"));
  EXPECT_THAT(complaint(llama({{"architectures", nullptr}})), HasSubstr("is missing, and so is model_type"));
  EXPECT_THAT(complaint(llama({{"architectures", 3}})), HasSubstr("must be a list of texts, not 3"));
}

TEST(ConfigErrors, SizesThatWouldOverflowAreRefused) {
  EXPECT_THAT(complaint(llama({{"architectures", {"MixtralForCausalLM"}},
                               {"hidden_size", 1 << 18},
                               {"num_hidden_layers", 2048},
                               {"num_attention_heads", 1 << 14},
                               {"num_key_value_heads", 1 << 14},
                               {"head_dim", 1 << 14},
                               {"intermediate_size", 1 << 20},
                               {"num_local_experts", 1 << 14},
                               {"num_experts_per_tok", 1 << 14}})),
              HasSubstr("more than 10^15 parameters"));
}

// One config of each architecture the library has, with one field at a time made absurd: a model or one line, and
// counts that do not overflow.
void check_survives(const Json& config, const std::string& what) {
  const auto read = spec_from_json(config.dump(), "config.json");
  if (!read) {
    EXPECT_EQ(read.error().line().find('\n'), std::string::npos) << what;
    EXPECT_FALSE(read.error().field.empty() && read.error().remedy.empty()) << what;
    return;
  }
  EXPECT_GE(parameters(*read), 0) << what;
  EXPECT_LE(active_parameters(*read), parameters(*read)) << what;
  for (const CachePart& part : cache_need(*read).parts) EXPECT_GE(part.per_token, 0) << what;
}
void spoil_each_field(const Json& whole, const Json::json_pointer& object, const std::string& name) {
  const std::vector<Json> absurd = {nullptr, 0, -1, 1 << 20, "x\ny"};
  for (const auto& [key, value] : whole[object].items()) {
    if (value.is_object()) spoil_each_field(whole, object / key, name);
    for (const Json& wrong : absurd) {
      Json spoilt = whole;
      spoilt[object][key] = wrong;
      check_survives(spoilt, name + ": " + key + " = " + wrong.dump());
    }
  }
}
TEST(ConfigErrors, NoFieldOfNoArchitectureCanHurt) {
  std::set<std::string> seen;
  for (const EmbeddedFile& file : embedded_model_files()) {
    const Json config = Json::parse(file.text);
    if (config.contains("_like") || !seen.insert(config["architectures"].dump()).second) continue;
    spoil_each_field(config, Json::json_pointer(), std::string(file.name));
  }
  EXPECT_GE(seen.size(), 30u);
}

TEST(ConfigErrors, NotAConfiguration) {
  EXPECT_THAT(spec_from_json("", "x").error().line(), HasSubstr("x: is not valid JSON"));
  EXPECT_THAT(spec_from_json("{\"a\": ", "x").error().line(), HasSubstr("is not valid JSON"));
  EXPECT_THAT(spec_from_json("[1]", "x").error().line(), HasSubstr("must be a JSON object"));
  EXPECT_FALSE(spec_from_json(std::string(100000, '['), "x"));
}

TEST(Config, EverySupportedNameIsUnique) {
  const auto names = supported_architectures();
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_GE(names.size(), 100u);
}

}  // namespace
}  // namespace tilecast
