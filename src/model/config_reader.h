// Reads fields of a config.json and keeps the first error; later reads return their fallback and change nothing.
//
// Architectures call the same size by different names ("hidden_size", "n_embd", "d_model"): a ConfigField lists them
// all, and a family may say which one it means.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

// A whole number under any of its names, and the most it may be. Limits are far above any network built so far, and low
// enough that no product of one layer's sizes overflows.
struct ConfigField {
  std::array<std::string_view, 5> names;
  Count most = 0;
};

namespace field {
inline constexpr ConfigField kHidden{{"hidden_size", "n_embd", "d_model", "n_embed"}, 1 << 18};
inline constexpr ConfigField kLayers{{"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, 1 << 11};
inline constexpr ConfigField kHeads{{"num_attention_heads", "n_head", "n_heads", "num_heads"}, 1 << 14};
inline constexpr ConfigField kKvHeads{{"num_key_value_heads", "num_kv_heads", "n_head_kv", "attn_config.kv_n_heads"},
                                      1 << 14};
inline constexpr ConfigField kHeadDim{{"head_dim", "d_kv", "attention_head_dim", "kv_channels"}, 1 << 14};
inline constexpr ConfigField kInter{{"intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size"}, 1 << 20};
inline constexpr ConfigField kVocab{{"vocab_size"}, 1 << 26};
inline constexpr ConfigField kPositions{
    {"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length"}, Count{1} << 32};
inline constexpr ConfigField kExperts{{"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"},
                                      1 << 14};
inline constexpr ConfigField kTopk{{"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk"},
                                   1 << 14};
inline constexpr ConfigField kExpertInter{{"moe_intermediate_size", "expert_ffn_hidden_size"}, 1 << 20};
}  // namespace field

class ConfigReader {
 public:
  // `prefix` stands before field names in errors: "text_config.".
  ConfigReader(const nlohmann::json& root, std::string place, std::string prefix = {});

  const std::optional<Error>& failure() const { return failure_; }
  void fail(std::string_view name, std::string problem, std::string remedy = {});
  // Takes over another reader's error, if it has one.
  void adopt(const ConfigReader& other);

  // From now on the field whose first name is `field` is read from `name` alone.
  void call(const ConfigField& field, std::string_view name) { own_names_[field.names[0]] = name; }
  // From now on a missing field is `value`, as in its Hugging Face class.
  void assume(const ConfigField& field, Count value) { defaults_[field.names[0]] = value; }

  // The value under a dotted path, null and absent being the same.
  const nlohmann::json* find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }
  bool has(const ConfigField& field) const;
  // A reader of an object inside this one.
  ConfigReader inside(std::string_view path) const;
  // A reader of one object of a list, which must be there.
  ConfigReader item(std::string_view path, std::size_t index) const;

  // A whole number of at least one that must be there; or `otherwise` if it is absent (then zero is allowed too).
  Count count(const ConfigField& field);
  Count count_or(const ConfigField& field, Count otherwise);
  Count count_or(std::string_view name, Count otherwise, Count most = 1 << 20);
  double number_or(std::string_view name, double otherwise, double least, double most);
  bool flag_or(std::string_view name, bool otherwise);
  std::string text_or(std::string_view name, std::string otherwise);
  std::vector<std::string> texts(std::string_view name);
  // A list of whole numbers of at least zero; a single number counts as a list of one.
  std::vector<Count> counts(std::string_view name, Count most);

 private:
  ConfigReader reader_of(const nlohmann::json* object, const std::string& path) const;
  std::string_view present_name(const ConfigField& field) const;
  Count whole(std::string_view name, const nlohmann::json& value, Count least, Count most);

  const nlohmann::json& root_;
  std::string place_, prefix_;
  std::map<std::string_view, std::string_view> own_names_;
  std::map<std::string_view, Count> defaults_;
  std::optional<Error> failure_;
};

}  // namespace tilecast
