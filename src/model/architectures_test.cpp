// Every class that is understood: a configuration of it (the fields that have to do with sizes) and how many parameters
// the published model has. `library_test` does the same for the bundled ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "kernel/attention_prefill.h"
#include "model/build.h"
#include "model/config.h"
#include "model/config_testing.h"
#include "model/embedded_models.h"
#include "model/published_testing.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Json config_of(const PublishedModel& row) {
  Json config = Json::parse("{" + std::string(row.fields) + "}");
  config["architectures"] = {row.architecture};
  return config;
}

ModelSpec read(const Json& config) {
  auto spec = spec_from_json(config.dump(), "config.json");
  EXPECT_TRUE(spec) << spec.error().line();
  if (spec) spec->name = "the model";
  return spec ? *spec : ModelSpec{};
}

std::vector<PublishedModel> all_rows() {
  std::vector<PublishedModel> rows(std::begin(kPublishedDecoders), std::end(kPublishedDecoders));
  rows.insert(rows.end(), std::begin(kPublishedEncoders), std::end(kPublishedEncoders));
  rows.insert(rows.end(), std::begin(kPublishedEncoderDecoders), std::end(kPublishedEncoderDecoders));
  return rows;
}

// The configuration of one of them.
Json published(const std::string& architecture, const std::string& model) {
  for (const PublishedModel& row : all_rows())
    if (row.architecture == architecture && row.model == model) return config_of(row);
  ADD_FAILURE() << "no row " << architecture << " of " << model;
  return {};
}

TEST(Architectures, CountsEqualThePublishedOnes) {
  for (const PublishedModel& row : all_rows()) EXPECT_EQ(parameters(read(config_of(row))), row.parameters) << row.model;
}

// Operators own every parameter, and no other, whatever is asked of the model.
TEST(Architectures, GraphsOwnEveryParameter) {
  for (const PublishedModel& row : all_rows()) {
    const ModelSpec spec = read(config_of(row));
    Workload w;
    w.requests = {{2, 16, 0}};
    w.source_len = 16;
    const auto prompt = build(spec, w);
    ASSERT_TRUE(prompt) << row.model << ": " << prompt.error().line();
    EXPECT_EQ(parameters(*prompt), row.parameters) << row.model;
    if (!spec.decoder || spec.encoder || !spec.lm_head) continue;
    w.mode = Mode::decode;
    w.requests = {{4, 1, 100}};
    const auto step = build(spec, w);
    ASSERT_TRUE(step) << row.model << ": " << step.error().line();
    EXPECT_EQ(parameters(*step), row.parameters) << row.model;
  }
}

// Parameters of small_config(), and what a class adds to them.
constexpr Count kSmallAttention = 64 * (64 + 32 + 32) + 64 * 64, kSmallMlp = 3 * 64 * 128;
constexpr Count kSmall = 2 * 64000 + 4 * (kSmallAttention + kSmallMlp + 2 * 64) + 64;
constexpr Count kSmallQkvBias = 4 * (64 + 32 + 32), kSmallHeadNorms = 4 * 2 * 16;

// Classes that are another's under a second name, and what they have over Llama.
std::vector<std::pair<std::string, Count>> second_names() {
  return {
      {"LlamaForCausalLM", kSmall},
      {"YiForCausalLM", kSmall},
      {"XverseForCausalLM", kSmall},
      {"AquilaForCausalLM", kSmall},
      {"MinistralForCausalLM", kSmall},
      {"Mistral3ForConditionalGeneration", kSmall},
      {"Phi3VForCausalLM", kSmall},
      {"Phi4MMForCausalLM", kSmall},
      {"DeciForCausalLM", kSmall},
      {"KimiK2ForCausalLM", kSmall},  // without fields of latent attention or experts, as the next two
      {"Glm4MoeLiteForCausalLM", kSmall},
      {"Glm4vMoeForConditionalGeneration", kSmall},
      {"MiMoForCausalLM", kSmall + kSmallQkvBias},
      {"Qwen2VLForConditionalGeneration", kSmall + kSmallQkvBias},
      {"Qwen2_5_VLForConditionalGeneration", kSmall + kSmallQkvBias},
      {"Qwen3VLForConditionalGeneration", kSmall + kSmallHeadNorms},
      {"Qwen3VLMoeForConditionalGeneration", kSmall + kSmallHeadNorms},
      {"HunYuanDenseV1ForCausalLM", kSmall + kSmallHeadNorms},
      {"GraniteMoeSharedForCausalLM", kSmall},
      {"OrionForCausalLM", kSmall + (2 * 4 + 1) * 64},          // LayerNorms with a shift
      {"StableLMEpochForCausalLM", kSmall + (2 * 4 + 1) * 64},  // the same
      {"ArceeForCausalLM", kSmall - 4 * 64 * 128},              // no gate
      {"Glm4vForConditionalGeneration", kSmall + 4 * 2 * 64},   // two norms more a layer
      {"Olmo3ForCausalLM", kSmall + 4 * (64 + 32)},             // norms over all heads
      {"Gemma2ForCausalLM", kSmall + 4 * 2 * 64 - 64000},       // two norms more a layer, a tied head
  };
}

TEST(Architectures, NamesOfTheSameShape) {
  for (const auto& [name, expected] : second_names()) EXPECT_EQ(parameters(read(small_config(name))), expected) << name;
}

// The stem of a class: the longest known one it begins with.
std::string stem_of(const std::string& architecture) {
  std::string longest;
  for (const std::string& stem : supported_architectures())
    if (architecture.starts_with(stem) && stem.size() > longest.size()) longest = stem;
  return longest;
}

// Every class the reader knows is held against a count: here, or by the library's own tests.
TEST(Architectures, EveryKnownClassIsCountedSomewhere) {
  std::set<std::string> counted;
  for (const PublishedModel& row : all_rows()) counted.insert(stem_of(row.architecture));
  for (const auto& [name, expected] : second_names()) counted.insert(stem_of(name));
  for (const EmbeddedFile& file : embedded_model_files()) {
    const Json config = Json::parse(file.text);
    if (config.contains("architectures")) counted.insert(stem_of(config["architectures"][0].get<std::string>()));
  }
  counted.insert("GraniteMoeHybrid");  // by a test of its own, below
  for (const std::string& stem : supported_architectures())
    EXPECT_TRUE(counted.contains(stem))
        << stem << ": add a published model of it to published_testing.h, or a line to second_names() above";
}

const AttentionSpec& attention(const StackSpec& stack, std::size_t run) {
  return std::get<AttentionSpec>(stack.layers.at(run).layer.mixer);
}

TEST(Architectures, Granite4MixesMambaAttentionAndExperts) {
  Json tiny = {{"architectures", {"GraniteMoeHybridForCausalLM"}},
               {"hidden_size", 1536},
               {"num_hidden_layers", 40},
               {"num_attention_heads", 12},
               {"num_key_value_heads", 4},
               {"intermediate_size", 512},
               {"num_local_experts", 64},
               {"num_experts_per_tok", 6},
               {"shared_intermediate_size", 1024},
               {"position_embedding_type", "nope"},
               {"mamba_n_heads", 48},
               {"mamba_d_head", 64},
               {"mamba_n_groups", 1},
               {"mamba_d_state", 128},
               {"mamba_d_conv", 4},
               {"tie_word_embeddings", true},
               {"vocab_size", 100352}};
  for (int i = 0; i < 40; ++i) tiny["layer_types"].push_back(i % 10 == 5 ? "attention" : "mamba");
  const ModelSpec model = read(tiny);
  EXPECT_EQ(parameters(model), 6939037248) << "ibm-granite/granite-4.0-h-tiny";
  EXPECT_EQ(attention(*model.decoder, 1).rotary_dim, 0);

  Json micro = tiny;  // no experts and no Mamba: a Llama of the shared width
  micro.merge_patch({{"hidden_size", 2560},
                     {"num_attention_heads", 40},
                     {"num_key_value_heads", 8},
                     {"num_local_experts", 0},
                     {"shared_intermediate_size", 8192},
                     {"position_embedding_type", "rope"}});
  micro["layer_types"] = std::vector<std::string>(40, "attention");
  EXPECT_EQ(parameters(read(micro)), 3402836480) << "ibm-granite/granite-4.0-micro";
  micro["layer_types"][3] = "magic";
  EXPECT_THAT(spec_from_json(micro.dump(), "x").error().line(), HasSubstr("layer_types: unknown kind 'magic'"));
}

TEST(Architectures, ModernBertLooksAroundInTwoLayersOfThree) {
  const ModelSpec model = read(published("ModernBertModel", "answerdotai/ModernBERT-base"));
  const StackSpec& stack = *model.encoder;
  EXPECT_FALSE(stack.layers[0].layer.mixer_norm);
  EXPECT_EQ(attention(stack, 0).window, 0);
  EXPECT_EQ(attention(stack, 1).window, 129) << "64 to either side and itself";
  EXPECT_EQ(stack.layers[1].repeats, 2);
  EXPECT_EQ(attention(stack, 2).window, 0);
  Workload w;
  w.requests = {{1, 4096, 0}};
  const auto graph = build(model, w);
  ASSERT_TRUE(graph) << graph.error().line();
  bool first_layer_normed = false;
  Count windowed = 0;
  for (const Section& section : graph->sections)
    for (const Operator& op : section.operators) {
      if (section.name == "layer 1" && op.name == "mixer_norm") first_layer_normed = true;
      if (const auto* a = op.shape.get_if<AttentionPrefill>(); a && a->window == 129) windowed += section.repeats;
    }
  EXPECT_FALSE(first_layer_normed);
  EXPECT_EQ(windowed, 14);
}

TEST(Architectures, LayersThatDoNotRotate) {
  const Json windows = {{"sliding_window", 8}};
  for (const char* name : {"Cohere2ForCausalLM", "Exaone4ForCausalLM"}) {
    const ModelSpec model = read(small_config(name, windows));
    ASSERT_EQ(model.decoder->layers.size(), 2u) << name;
    EXPECT_EQ(attention(*model.decoder, 0).window, 8) << name;
    EXPECT_EQ(attention(*model.decoder, 0).rotary_dim, 16) << name;
    EXPECT_EQ(attention(*model.decoder, 1).window, 0) << name;
    EXPECT_EQ(attention(*model.decoder, 1).rotary_dim, 0) << name;
    EXPECT_EQ(attention(*read(small_config(name)).decoder, 0).rotary_dim, 16) << name << " without windows";
  }
  const ModelSpec smol = read(small_config("SmolLM3ForCausalLM", {{"no_rope_layers", {1, 0, 1, 1}}}));
  ASSERT_EQ(smol.decoder->layers.size(), 3u);
  EXPECT_EQ(attention(*smol.decoder, 1).rotary_dim, 0);
  EXPECT_EQ(smol.decoder->layers[2].repeats, 2);
  EXPECT_EQ(attention(*read(small_config("SmolLM3ForCausalLM")).decoder, 1).rotary_dim, 0) << "the fourth";
}

TEST(Architectures, GptNeoTakesTurns) {
  const ModelSpec model = read(published("GPTNeoForCausalLM", "EleutherAI/gpt-neo-125m"));
  EXPECT_EQ(attention(*model.decoder, 0).window, 0);
  EXPECT_EQ(attention(*model.decoder, 1).window, 256);
  Json odd = published("GPTNeoForCausalLM", "EleutherAI/gpt-neo-125m");
  odd["attention_types"] = {{{"global", "local"}, 5}};
  EXPECT_THAT(spec_from_json(odd.dump(), "x").error().line(),
              HasSubstr("attention_types: has 10 entries for 12 layers"));
  odd["attention_types"] = "global";
  EXPECT_THAT(spec_from_json(odd.dump(), "x").error().line(), HasSubstr("must be a list of [kinds, repeats]"));
}

TEST(Architectures, BaichuanRotatesAtOneWidthOnly) {
  const Json fields = {{"num_key_value_heads", nullptr}};
  EXPECT_EQ(read(small_config("BaichuanForCausalLM", fields)).decoder->positions, Positions::alibi);
  EXPECT_EQ(read(published("BaichuanForCausalLM", "baichuan-inc/Baichuan2-7B-Base")).decoder->positions,
            Positions::rope);
}

TEST(Architectures, AlbertsLayersShareTheirWeights) {
  const ModelSpec model = read(published("AlbertModel", "albert/albert-base-v2"));
  ASSERT_EQ(model.encoder->layers.size(), 2u);
  EXPECT_FALSE(model.encoder->layers[0].layer.borrowed);
  EXPECT_EQ(model.encoder->layers[1].repeats, 11);
  Workload w;
  w.requests = {{1, 128, 0}};
  auto graph = build(model, w), like_bert = build(read(published("RobertaForMaskedLM", "FacebookAI/roberta-base")), w);
  ASSERT_TRUE(graph && like_bert);
  const auto layers_flops = [](const Graph& g) {
    double sum = 0;
    for (const Section& s : g.sections)
      if (s.name.starts_with("layer"))
        for (const Operator& op : s.operators) sum += static_cast<double>(s.repeats) * model_flops(op);
    return sum;
  };
  EXPECT_EQ(layers_flops(*graph), layers_flops(*like_bert)) << "borrowed weights are multiplied by all the same";
}

// The text part of models with several senses. Files of such parts leave out what their class defaults to.
TEST(Wrappers, TheTextPartIsTheModel) {
  const auto wrapped = [](const char* architecture, const char* key, const Json& text) {
    return Json{{"architectures", {architecture}}, {"vision_config", {{"hidden_size", 7}}}, {key, text}};
  };
  const ModelSpec llava =
      read(wrapped("LlavaForConditionalGeneration", "text_config",
                   {{"model_type", "llama"}, {"max_position_embeddings", 4096}, {"vocab_size", 32064}}));
  EXPECT_EQ(parameters(llava), 6738939904) << "llava-hf/llava-1.5-7b-hf: Llama 2 7B with 64 more tokens";
  EXPECT_THAT(llava.left_out, ElementsAre("vision_config"));
  const ModelSpec next = read(wrapped(
      "LlavaNextForConditionalGeneration", "text_config",
      {{"model_type", "mistral"}, {"intermediate_size", 14336}, {"sliding_window", nullptr}, {"vocab_size", 32064}}));
  EXPECT_EQ(parameters(next), 7242256384) << "llava-hf/llava-v1.6-mistral-7b-hf";
  const ModelSpec pixtral = read(wrapped("LlavaForConditionalGeneration", "text_config",
                                         {{"model_type", "mistral"},
                                          {"head_dim", 128},
                                          {"hidden_size", 5120},
                                          {"intermediate_size", 14336},
                                          {"num_hidden_layers", 40},
                                          {"num_key_value_heads", 8},
                                          {"vocab_size", 131072}}));
  EXPECT_EQ(parameters(pixtral), 12247782400) << "mistral-community/pixtral-12b: Mistral Nemo";
  const ModelSpec pali = read(wrapped("PaliGemmaForConditionalGeneration", "text_config",
                                      {{"model_type", "gemma"},
                                       {"hidden_size", 2048},
                                       {"intermediate_size", 16384},
                                       {"num_attention_heads", 8},
                                       {"num_hidden_layers", 18},
                                       {"num_key_value_heads", 1},
                                       {"vocab_size", 257216}}));
  // The checkpoint, its image tower and the product between them.
  EXPECT_EQ(parameters(pali), 2923466480 - 412442352 - 2361344) << "google/paligemma-3b-pt-224";
  for (const auto& [outer, key, inner] : std::vector<std::tuple<const char*, const char*, const char*>>{
           {"Idefics3ForConditionalGeneration", "text_config", "llama"},
           {"SmolVLMForConditionalGeneration", "text_config", "llama"},
           {"InternVLForConditionalGeneration", "text_config", "llama"},
           {"InternVLChatModel", "llm_config", "llama"},
           {"DeepseekVLV2ForCausalLM", "language_config", "llama"},
           {"VoxtralForConditionalGeneration", "text_config", "llama"}}) {
    Json text = small_config("", {{"architectures", nullptr}, {"model_type", inner}});
    const ModelSpec model = read(wrapped(outer, key, text));
    EXPECT_EQ(parameters(model), kSmall) << outer;
    EXPECT_TRUE(model.lm_head) << outer;
  }
  Json omni = {{"architectures", {"Qwen2_5OmniModel"}}, {"model_type", "qwen2_5_omni"}};
  omni["thinker_config"] = {
      {"text_config", small_config("", {{"architectures", nullptr}, {"model_type", "qwen2_5_omni_text"}})},
      {"audio_config", {{"d_model", 7}}}};
  EXPECT_EQ(parameters(read(omni)), kSmall + kSmallQkvBias);
  EXPECT_THAT(read(omni).left_out, ElementsAre("audio_config"));
}

TEST(Wrappers, ErrorsNameThePart) {
  const Json config = {
      {"architectures", {"InternVLChatModel"}},
      {"llm_config", small_config("", {{"architectures", nullptr}, {"model_type", "qwen2"}, {"vocab_size", -1}})}};
  EXPECT_THAT(spec_from_json(config.dump(), "x").error().line(), HasSubstr("llm_config.vocab_size: must lie between"));
}

TEST(Refused, WithTheReasonAndAWayOut) {
  for (const auto& [name, reason] : std::vector<std::pair<const char*, const char*>>{
           {"MambaForCausalLM", "Mamba-1's scan has no kernel here"},
           {"JambaForCausalLM", "Mamba-1's scan has no kernel here"},
           {"DebertaV2ForMaskedLM", "attention to content and to position apart"},
           {"SwinForImageClassification", "windows over an image"},
           {"MllamaForConditionalGeneration", "layers that look at images"},
           {"Wav2Vec2ForCTC", "convolutions over raw sound"},
           {"ResNetForImageClassification", "ONNX files only"}}) {
    const auto result = spec_from_json(small_config(name).dump(), "config.json");
    ASSERT_FALSE(result) << name;
    const std::string line = result.error().line();
    EXPECT_THAT(line, HasSubstr(fmt::format("config.json: architectures: '{}' is not supported: ", name)));
    EXPECT_THAT(line, HasSubstr(reason)) << name;
    EXPECT_THAT(line, HasSubstr("export it to ONNX, or write it as a graph file")) << name;
  }
}

// Each of the new classes with one field at a time made absurd: a model or one line.
TEST(Refused, NoFieldOfTheseCanHurt) {
  for (const PublishedModel& row : all_rows()) {
    const Json whole = config_of(row);
    for (const auto& [key, value] : whole.items())
      for (const Json& wrong :
           {Json(), Json(0), Json(-1), Json(1 << 20), Json("x\ny"), Json::array(), Json::object()}) {
        Json spoilt = whole;
        spoilt[key] = wrong;
        const auto spec = spec_from_json(spoilt.dump(), "config.json");
        const std::string what = std::string(row.architecture) + ": " + key + " = " + wrong.dump();
        if (spec) {
          EXPECT_GE(parameters(*spec), 0) << what;
          EXPECT_LE(active_parameters(*spec), parameters(*spec)) << what;
        } else {
          EXPECT_EQ(spec.error().line().find('\n'), std::string::npos) << what;
        }
      }
  }
}

}  // namespace
}  // namespace tilecast
