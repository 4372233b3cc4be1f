#include "model/config_quantization.h"

#include <nlohmann/json.hpp>

#include "support/text.h"

namespace tilecast {
namespace {

constexpr const char* kMethod = "quantization_config.quant_method";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string unknown(ConfigReader& read, std::string_view field, const std::string& what) {
  read.fail(field, "unknown quantisation '" + what.substr(0, 60) + "'",
            "known: fp8, compressed-tensors, modelopt, mxfp4, gptq, awq, bitsandbytes, fbgemm_fp8; or leave "
            "quantization_config out and choose the type of the forecast");
  return {};
}

// Only weights are integers, of this many bits.
std::string weight_only(ConfigReader& read, std::string_view field, Count bits) {
  if (bits == 4) return "int4_wo";
  if (bits == 8) return "int8_wo";
  return unknown(read, field, std::to_string(bits) + "-bit weights");
}

// DeepSeek and Qwen: blocks of 128 x 128; else one scale, found at run time or before.
std::string read_fp8(ConfigReader& read) {
  if (read.has("quantization_config.weight_block_size")) return "fp8_block";
  return read.text_or("quantization_config.activation_scheme", "dynamic") == "static" ? "fp8_static" : "fp8";
}

// compressed-tensors (and NVIDIA's later files): weights and activations each by bits, type and what shares a scale.
std::string read_groups(ConfigReader& read) {
  const nlohmann::json* groups = read.find("quantization_config.config_groups");
  if (!groups || !groups->is_object() || groups->empty()) {
    read.fail("quantization_config.config_groups", "is missing or empty");
    return {};
  }
  const std::string first = "quantization_config.config_groups." + groups->begin().key();
  const std::string weights = first + ".weights", inputs = first + ".input_activations";
  const Count bits = read.count_or(weights + ".num_bits", 0, 64);
  const bool floats = read.text_or(weights + ".type", "int") == "float", quantised_inputs = read.has(inputs);
  const std::string shares = read.text_or(weights + ".strategy", "");
  if (floats && bits == 4) return read.count_or(weights + ".group_size", 16) == 32 ? "mxfp4" : "nvfp4";
  if (!quantised_inputs) return weight_only(read, weights + ".num_bits", bits);
  if (bits != 8) return unknown(read, weights + ".num_bits", std::to_string(bits) + "-bit weights and activations");
  if (!floats) return "int8";
  if (shares == "block") return "fp8_block";
  if (!read.flag_or(inputs + ".dynamic", false)) return "fp8_static";
  return read.text_or(inputs + ".strategy", "") == "token" ? "fp8_token" : "fp8";
}

std::string read_modelopt(ConfigReader& read) {
  const std::string_view field = read.has("quantization_config.quant_algo")
                                     ? "quantization_config.quant_algo"
                                     : "quantization_config.quantization.quant_algo";
  const std::string algorithm = lower(read.text_or(field, ""));
  if (algorithm == "fp8") return "fp8_static";
  if (algorithm == "nvfp4") return "nvfp4";
  if (algorithm == "fp8_pb_wo" || algorithm == "fp8_block_scales") return "fp8_block";
  if (algorithm == "w4a16_awq" || algorithm == "w4a16") return "int4_wo";
  if (algorithm.starts_with("mxfp4") || algorithm.starts_with("w4a8_mxfp4")) return "mxfp4";
  if (algorithm.empty() && read.has("quantization_config.config_groups")) return read_groups(read);
  return unknown(read, field, algorithm);
}

std::string read_format(ConfigReader& read) {
  const std::string method = lower(read.text_or(kMethod, ""));
  if (method == "fp8") return read_fp8(read);
  if (method == "compressed-tensors") return read_groups(read);
  if (method.starts_with("modelopt")) return read_modelopt(read);
  if (method == "mxfp4") return "mxfp4";
  if (method == "gptq" || method == "awq" || method == "auto-round")
    return weight_only(read, "quantization_config.bits", read.count_or("quantization_config.bits", 4, 64));
  if (method == "bitsandbytes") return read.flag_or("quantization_config.load_in_4bit", false) ? "int4_wo" : "int8_wo";
  if (method == "fbgemm_fp8") return "fp8_token";
  return unknown(read, kMethod, method);
}

// Each tool's name for the modules it left unquantised.
std::vector<std::string> modules_left(ConfigReader& read) {
  std::vector<std::string> all;
  for (const char* name : {"ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers",
                           "quantization.exclude_modules", "llm_int8_skip_modules"})
    for (std::string& module : read.texts("quantization_config." + std::string(name))) all.push_back(std::move(module));
  return all;
}

// Weights that share a scale.
Count read_group(ConfigReader& read) {
  constexpr Count kMost = 1 << 20;
  const nlohmann::json* groups = read.find("quantization_config.config_groups");
  if (groups && groups->is_object() && !groups->empty())
    return read.count_or("quantization_config.config_groups." + groups->begin().key() + ".weights.group_size", 0,
                         kMost);
  const nlohmann::json* size = read.find("quantization_config.group_size");
  if (!size || !size->is_number_integer() || size->get<double>() < 1) return 0;  // -1: a whole row
  return read.count_or("quantization_config.group_size", 0, kMost);
}

// compressed-tensors' kv_cache_scheme, ModelOpt's kv_cache_quant_algo.
bool reads_fp8_cache(ConfigReader& read) {
  const std::string scheme = "quantization_config.kv_cache_scheme";
  if (read.has(scheme)) return read.count_or(scheme + ".num_bits", 8, 64) == 8;
  for (const char* name :
       {"quantization_config.kv_cache_quant_algo", "quantization_config.quantization.kv_cache_quant_algo"})
    if (read.has(name)) return lower(read.text_or(name, "")) == "fp8";
  return false;
}

}  // namespace

void read_quantization(ConfigReader& read, ModelSpec& spec) {
  if (!read.has("quantization_config")) return;
  spec.quantization = read_format(read);
  spec.quantization_group = read_group(read);
  spec.fp8_cache = reads_fp8_cache(read);
  leave_out(modules_left(read), spec);
  // Hugging Face's and the engines' mxfp4 loaders know experts alone.
  if (lower(read.text_or(kMethod, "")) == "mxfp4")
    spec.quantized.attention = spec.quantized.mlp = spec.quantized.shared = false;
}

}  // namespace tilecast
