#include "tune/engine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tilecast {
namespace {

// _get_config_dtype_str of both engines. bf16 and fp16 have no name: they share a file.
struct DtypeName {
  FormatId format;
  std::string_view name;
  bool blocks = false;
};
constexpr std::array<DtypeName, 8> kDtypeNames = {{{FormatId::bf16, ""},
                                                   {FormatId::fp16, ""},
                                                   {FormatId::fp8, "fp8_w8a8"},
                                                   {FormatId::fp8_static, "fp8_w8a8"},
                                                   {FormatId::fp8_token, "fp8_w8a8"},
                                                   {FormatId::fp8_block, "fp8_w8a8", true},
                                                   {FormatId::int8_wo, "int8_w8a16"},
                                                   {FormatId::int4_wo, "int4_w4a16"}}};

std::string with_underscores(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) || c == '/'; }, '_');
  return text;
}

}  // namespace

Result<EngineFileName> engine_file_name(Count experts, Count inter, const std::string& device, const Format& format) {
  const auto* found = std::find_if(kDtypeNames.begin(), kDtypeNames.end(),
                                   [&](const DtypeName& one) { return one.format == format.id; });
  if (found == kDtypeNames.end())
    return Error{"", "dtype", "the engines have no tuned files for " + std::string(format.name),
                 "bf16, fp16, fp8, fp8_block, int8_wo or int4_wo"};
  const std::string card = with_underscores(device);
  const bool h200 = fmt::format("_{}_", card).find("_H200_") != std::string::npos;
  const std::string dtype = found->name.empty() ? "" : fmt::format(",dtype={}", found->name);
  const auto name = [&](const std::string& of_card, std::string_view block) {
    return fmt::format("E={},N={},device_name={}{}{}.json", experts, inter, of_card, dtype, found->blocks ? block : "");
  };
  // vLLM takes one name for all cards of the H200 family, and no space in the block's shape; SGLang prints Python's
  // list.
  return EngineFileName{name(h200 ? "NVIDIA_H200" : card, ",block_shape=[128,128]"),
                        name(card, ",block_shape=[128, 128]")};
}

Result<std::string> device_name_of(const Gpu& gpu) {
  for (const std::string& alias : gpu.aliases)
    if (alias.starts_with("NVIDIA ") || alias.starts_with("Tesla ")) return alias;
  if (gpu.name.starts_with("NVIDIA ")) return gpu.name;
  return Error{"", "device-name", "what the driver calls " + gpu.name + " is not in its description",
               "give what torch.cuda.get_device_name() says"};
}

std::string engine_file_text(const std::map<Count, TritonConfig>& by_tokens) {
  std::string text = "{\n";
  std::size_t left = by_tokens.size();
  for (const auto& [tokens, config] : by_tokens) {
    text += fmt::format("    \"{}\": {{\n", tokens);
    const auto values = config.values();
    for (std::size_t i = 0; i < values.size(); ++i)
      text += fmt::format("        \"{}\": {}{}\n", kTritonConfigKeys[i], values[i], i + 1 < values.size() ? "," : "");
    text += --left ? "    },\n" : "    }\n";
  }
  return text + "}\n";
}

Result<std::string> triton_folder(const std::string& version) {
  const bool fine =
      !version.empty() && version.size() < 20 && version.find('.') != std::string::npos &&
      std::all_of(version.begin(), version.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
  if (!fine) return Error{"", "triton", "'" + version + "' is not a version", "like 3.6.0"};
  std::string folder = "triton_" + version;
  std::replace(folder.begin(), folder.end(), '.', '_');
  return folder;
}

}  // namespace tilecast
