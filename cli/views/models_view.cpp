#include "cli/views/models_view.h"

#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

std::string parameters_text(Count n) { return text_of_count(static_cast<double>(n)); }
std::string cache_text(const ModelInfo& m) { return m.cache_elements_per_token > 0 ? text_of(m.cache_per_token) : "–"; }

std::string mixer_text(const ModelLayers& l) {
  if (l.mixer.empty()) return "–";
  std::string text = fmt::format("{}, {} heads of {}", l.mixer, l.heads, l.head_dim);
  if (l.kv_heads > 0 && l.kv_heads != l.heads) text += fmt::format(" ({} of keys and values)", l.kv_heads);
  if (l.window > 0) text += fmt::format(", window {}", grouped(l.window));
  return text;
}

std::string feed_forward_text(const ModelLayers& l) {
  if (l.feed_forward.empty()) return "–";
  if (l.experts == 0) return fmt::format("{}, {} wide", l.feed_forward, grouped(l.width));
  return fmt::format("{} {}, {} a token, {} wide{}", l.experts, l.feed_forward, l.experts_per_token, grouped(l.width),
                     l.shared_width > 0 ? fmt::format(", shared {}", grouped(l.shared_width)) : "");
}

}  // namespace

std::string models_table(const std::vector<ModelInfo>& models) {
  Table table({{"model", Align::left},
               {"architecture", Align::left},
               {"parameters"},
               {"active"},
               {"layers"},
               {"KV cache a token"},
               {"dtype", Align::left}});
  for (const ModelInfo& m : models)
    table.add({m.name, m.architecture, parameters_text(m.parameters), parameters_text(m.active_parameters),
               fmt::format("{}", m.layers), cache_text(m), m.dtype});
  return table.shown();
}

std::string model_text(const ModelInfo& m) {
  std::string out = fmt::format("{}  ({})\n", m.name, m.architecture);
  if (!m.aliases.empty()) out += fmt::format("  also known as {}\n", join(m.aliases, ", "));
  out += fmt::format("  parameters  {}", parameters_text(m.parameters));
  if (m.active_parameters != m.parameters)
    out += fmt::format(", of which a token's pass multiplies {}", parameters_text(m.active_parameters));
  out += fmt::format("\n  format      {}\n", m.formats);
  if (m.hidden > 0) {
    out += fmt::format("  width       {}", grouped(m.hidden));
    out += m.vocabulary > 0 ? fmt::format("; vocabulary {}\n", grouped(m.vocabulary)) : "\n";
  }
  if (m.context > 0) out += fmt::format("  context     {} tokens\n", grouped(m.context));
  if (m.cache_elements_per_token > 0)
    out += fmt::format("  KV cache    {} a token ({} elements)\n", text_of(m.cache_per_token),
                       grouped(m.cache_elements_per_token));
  if (!m.left_out.empty()) out += fmt::format("  not modelled: {}\n", join(m.left_out, ", "));
  if (!m.kinds.empty()) {
    Table table({{"layers"}, {"of the", Align::left}, {"mixer", Align::left}, {"feed-forward", Align::left}});
    for (const ModelLayers& l : m.kinds)
      table.add({fmt::format("{}", l.layers), l.stack, mixer_text(l), feed_forward_text(l)});
    out += "\n" + table.shown(2);
  }
  if (!m.source.empty()) out += fmt::format("\n  source: {}\n", m.source);
  return out;
}

std::string model_classes_text(const std::vector<std::string>& stems) {
  return "Classes whose config.json is understood, by their stems (Llama of LlamaForCausalLM):\n\n" +
         join(stems, "\n") +
         "\n\nModels with images or sound count where the text_config in their file names one of these.\n";
}

}  // namespace tilecast
