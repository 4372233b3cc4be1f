// What configurations mean, family by family.
#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/config_testing.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

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

TEST(Config, EverySupportedNameIsUnique) {
  const auto names = supported_architectures();
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_GE(names.size(), 100u);
}

}  // namespace
}  // namespace tilecast
