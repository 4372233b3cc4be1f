// What bad configurations are answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/config.h"
#include "model/config_testing.h"
#include "model/embedded_models.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

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

}  // namespace
}  // namespace tilecast
