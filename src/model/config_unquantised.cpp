// Which parts of a model a checkpoint's list of modules leaves in their own type.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "model/config_quantization.h"

namespace tilecast {
namespace {

bool holds(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

enum class NamedPart : std::uint8_t { none, attention, mlp, shared, experts };

// A module's part by the words Hugging Face's classes use. A list may say "model.layers.*.self_attn", "lm_head",
// "re:.*shared_experts.*" or "re:.*mlp\.(gate|up|gate_up|down)_proj.*"; "mlp.gate" and "router" choose experts, and
// towers for images and sound are no part of the text model. Heads stay as they are, named or not.
NamedPart part_named(std::string_view module) {
  for (const std::string_view tower : {"vision", "visual", "audio", "multi_modal", "mm_projector", "embed", "lm_head"})
    if (holds(module, tower)) return NamedPart::none;
  if (holds(module, "shared_expert_gate") || holds(module, "norm")) return NamedPart::none;
  if (holds(module, "shared_expert")) return NamedPart::shared;
  if (holds(module, "experts")) return NamedPart::experts;
  for (const std::string_view mixer : {"attn", "attention", "mixer", "mamba", "q_proj", "k_proj", "v_proj", "o_proj",
                                       "qkv_proj", "q_a_proj", "q_b_proj", "kv_a_proj", "kv_b_proj"})
    if (holds(module, mixer)) return NamedPart::attention;
  const bool product = holds(module, "_proj") || holds(module, "fc1") || holds(module, "fc2");
  const bool whole = module.ends_with("mlp") || module.ends_with("mlp*") || module.ends_with("mlp.*") ||
                     module.ends_with("feed_forward") || module.ends_with("feed_forward*");
  return product || whole ? NamedPart::mlp : NamedPart::none;
}

// How much of a layer's part a name covers: one projection of those that queries, keys, values and the result have, or
// all of them.
double share_named(std::string_view module, NamedPart part, bool latent) {
  if (part != NamedPart::attention) return 1;
  if (holds(module, "qkv_proj")) return 3.0 / 4;
  static constexpr std::array<std::string_view, 8> kOne = {"q_proj",   "k_proj",   "v_proj",    "o_proj",
                                                           "q_a_proj", "q_b_proj", "kv_a_proj", "kv_b_proj"};
  const bool one = std::any_of(kOne.begin(), kOne.end(), [&](std::string_view name) { return holds(module, name); });
  return one ? latent ? 1.0 / 5 : 1.0 / 4 : 1.0;
}

// The layers a name speaks of: "layers.3.", "layers\.(0|1|2)"; none: all.
std::set<Count> layers_named(std::string_view module) {
  std::set<Count> layers;
  const std::size_t at = module.find("layers.") != std::string_view::npos     ? module.find("layers.") + 7
                         : module.find("layers\\.") != std::string_view::npos ? module.find("layers\\.") + 8
                                                                              : module.size();
  std::string_view rest = module.substr(at);
  const bool list = rest.starts_with("(") || rest.starts_with("(?:");
  if (list) rest = rest.substr(0, rest.find(')'));
  while (!rest.empty()) {
    const std::size_t digit = rest.find_first_of("0123456789");
    if (digit == std::string_view::npos || (!list && digit > 0)) break;
    Count layer = 0;
    const auto [end, failed] = std::from_chars(rest.data() + digit, rest.data() + rest.size(), layer);
    if (failed != std::errc{}) break;
    layers.insert(layer);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (!list) break;
  }
  return layers;
}

// Layers of a model by what they hold.
struct LayersWith {
  Count mixers = 0, mlp = 0, shared = 0, experts = 0;
  bool latent = false;
};
LayersWith layers_of(const ModelSpec& spec) {
  LayersWith n;
  for (const auto* stack : {&spec.decoder, &spec.encoder})
    if (*stack)
      for (const LayerRun& run : (*stack)->layers) {
        if (!std::holds_alternative<std::monostate>(run.layer.mixer)) n.mixers += run.repeats;
        if (std::holds_alternative<MlaSpec>(run.layer.mixer)) n.latent = true;
        if (std::holds_alternative<MlpSpec>(run.layer.feed_forward)) n.mlp += run.repeats;
        const auto* moe = std::get_if<MoeSpec>(&run.layer.feed_forward);
        if (moe) n.experts += run.repeats;
        if (moe && moe->shared_inter > 0) n.shared += run.repeats;
      }
  return n;
}

}  // namespace

QuantizedParts parts_without(const std::vector<std::string>& modules, const ModelSpec& spec) {
  const LayersWith n = layers_of(spec);
  const std::array<Count, 5> layers = {0, n.mixers, n.mlp, n.shared, n.experts};
  std::array<double, 5> named = {};
  for (const std::string& module : modules) {
    const NamedPart part = part_named(module);
    const auto i = static_cast<std::size_t>(part);
    const std::set<Count> some = layers_named(module);
    named[i] += share_named(module, part, n.latent) *
                static_cast<double>(some.empty() ? layers[i] : static_cast<Count>(some.size()));
  }
  const auto kept = [&](NamedPart part) {
    const auto i = static_cast<std::size_t>(part);
    return layers[i] == 0 || named[i] < 0.5 * static_cast<double>(layers[i]);
  };
  return {kept(NamedPart::attention), kept(NamedPart::mlp), kept(NamedPart::shared), kept(NamedPart::experts)};
}

}  // namespace tilecast
