// For the tests of configurations only.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "model/config.h"

namespace tilecast {

// The config.json of a small model of Llama's shape, under any class; fields are laid over it, and a null takes one
// away.
inline nlohmann::json small_config(const std::string& architecture,
                                   const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json config = {{"architectures", {architecture}},
                           {"hidden_size", 64},
                           {"num_hidden_layers", 4},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"intermediate_size", 128},
                           {"vocab_size", 1000},
                           {"torch_dtype", "bfloat16"}};
  config.merge_patch(changes);
  return config;
}
inline nlohmann::json llama(const nlohmann::json& changes = nlohmann::json::object()) {
  return small_config("LlamaForCausalLM", changes);
}

// The model of a configuration that is accepted.
inline ModelSpec spec(const nlohmann::json& config) {
  auto read = spec_from_json(config.dump(), "config.json");
  EXPECT_TRUE(read) << read.error().line();
  return read ? *read : ModelSpec{};
}
// The line that one is refused with.
inline std::string complaint(const nlohmann::json& config) {
  const auto read = spec_from_json(config.dump(), "config.json");
  return read ? "accepted" : read.error().line();
}

}  // namespace tilecast
