// Which products of a model a checkpoint's list of modules leaves in their own type.
//
// An entry is a module's name or that of one it is part of, with or without what stands before it; a glob; or an
// expression behind "re:", matched from the beginning as Python's re.match does (compressed-tensors' ignore,
// Transformers' modules_to_not_convert, ModelOpt's exclude_modules). Engines multiply some modules as one product
// (queries, keys and values; gate and up): vLLM leaves that unquantised where the list has all of them, and refuses a
// checkpoint where it has some.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

#include "model/config_quantization.h"
#include "support/text.h"

namespace tilecast {
namespace {

bool holds(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// '*' stands for anything.
bool globbed(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, back = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, back = t;
    else if (p < pattern.size() && pattern[p] == text[t]) ++p, ++t;
    else if (star != std::string_view::npos) p = star + 1, t = ++back;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

class Entry {
 public:
  explicit Entry(const std::string& text) : text_(text) {
    constexpr std::size_t kLongest = 1000;
    if (!text.starts_with("re:")) return;
    kind_ = Kind::broken;
    if (text.size() > kLongest) return;
    try {
      // Without backtracking: no expression takes long.
      expression_.assign(text.substr(3), std::regex::ECMAScript | std::regex_constants::__polynomial);
      kind_ = Kind::expression;
    } catch (const std::regex_error&) {
    }
  }
  const std::string& text() const { return text_; }
  bool is_expression() const { return kind_ == Kind::expression; }
  // Whether it may speak of some layers and not of others.
  bool by_layer() const {
    const std::size_t layers = std::min({text_.find("layers"), text_.find(".h."), text_.size()});
    return text_.find_first_of("0123456789[(", layers) != std::string::npos;
  }

  bool names(const std::string& module) const {
    if (kind_ == Kind::broken) return false;
    if (kind_ == Kind::expression)
      return std::regex_search(module, expression_, std::regex_constants::match_continuous);
    if (holds(text_, "*")) {
      for (std::size_t end = module.find('.'); end != std::string::npos; end = module.find('.', end + 1))
        if (globbed(text_, std::string_view(module).substr(0, end))) return true;
      return globbed(text_, module);
    }
    // A stretch of whole words between dots.
    const std::size_t at = ("." + module + ".").find("." + text_ + ".");
    return at != std::string::npos;
  }

 private:
  enum class Kind { name, expression, broken } kind_ = Kind::name;
  std::string text_;
  std::regex expression_;
};

// Modules that are one product, each by the names that classes of Hugging Face have for it; `whole`: the product as one
// module.
struct NamedProduct {
  bool WideProducts::*product;
  bool QuantizedParts::*part;
  std::vector<std::vector<std::string>> shards;
  std::vector<std::string> whole;
};

std::vector<std::string> in_blocks(const std::vector<std::string>& blocks, const std::vector<std::string>& leaves) {
  std::vector<std::string> names;
  for (const std::string& block : blocks)
    for (const std::string& leaf : leaves) names.push_back(block + "." + leaf);
  return names;
}

void add_mixer(const Mixer& mixer, std::vector<NamedProduct>& products) {
  const std::vector<std::string> attention = {"self_attn", "attention", "attn", "mixer"};
  const std::vector<std::string> scan = {"linear_attn", "mixer", "mamba", "self_attn"};
  const auto of = [](const std::vector<std::string>& blocks, const char* leaf) { return in_blocks(blocks, {leaf}); };
  const auto add = [&](bool WideProducts::*product, std::vector<std::vector<std::string>> shards,
                       std::vector<std::string> whole = {}) {
    products.push_back({product, &QuantizedParts::attention, std::move(shards), std::move(whole)});
  };
  if (std::holds_alternative<AttentionSpec>(mixer)) {
    add(&WideProducts::mixer_in, {of(attention, "q_proj"), of(attention, "k_proj"), of(attention, "v_proj")},
        in_blocks(attention, {"qkv_proj", "query_key_value", "wqkv", "Wqkv", "c_attn"}));
    add(&WideProducts::mixer_out, {in_blocks(attention, {"o_proj", "out_proj", "dense", "wo"})});
  } else if (const auto* latent = std::get_if<MlaSpec>(&mixer)) {
    const auto down = of(attention, "kv_a_proj_with_mqa");
    add(&WideProducts::mixer_in, {of(attention, latent->q_rank > 0 ? "q_a_proj" : "q_proj"), down});
    std::vector<std::vector<std::string>> up = {of(attention, "kv_b_proj")};
    if (latent->q_rank > 0) up.push_back(of(attention, "q_b_proj"));
    add(&WideProducts::mixer_up, std::move(up));
    add(&WideProducts::mixer_out, {of(attention, "o_proj")});
  } else if (std::holds_alternative<ScanSpec>(mixer)) {
    add(&WideProducts::mixer_in, {in_blocks(scan, {"in_proj_qkvz", "in_proj_qkv", "in_proj", "q_proj"})});
    add(&WideProducts::mixer_out, {in_blocks(scan, {"out_proj", "o_proj"})});
  }
}

void add_feed_forward(const FeedForward& block, std::vector<NamedProduct>& products) {
  const std::vector<std::string> blocks = {"mlp", "feed_forward", "ffn", "mixer"};
  if (std::holds_alternative<MlpSpec>(block)) {
    std::vector<std::vector<std::string>> up;
    if (std::get<MlpSpec>(block).gated) up.push_back(in_blocks(blocks, {"gate_proj", "w1"}));
    up.push_back(in_blocks(blocks, {"up_proj", "w3", "fc1", "c_fc", "dense_h_to_4h"}));
    products.push_back(
        {&WideProducts::gate_up, &QuantizedParts::mlp, std::move(up), in_blocks(blocks, {"gate_up_proj"})});
    products.push_back({&WideProducts::down,
                        &QuantizedParts::mlp,
                        {in_blocks(blocks, {"down_proj", "w2", "fc2", "c_proj", "dense_4h_to_h"})},
                        {}});
  } else if (const auto* moe = std::get_if<MoeSpec>(&block)) {
    const std::vector<std::string> experts = {"mlp.experts.0", "block_sparse_moe.experts.0", "feed_forward.experts",
                                              "ffn.experts.0"};
    products.push_back({&WideProducts::experts,
                        &QuantizedParts::experts,
                        {in_blocks(experts, {"gate_proj", "gate_up_proj", "w1", "up_proj"})},
                        {}});
    if (moe->shared_inter > 0)
      products.push_back(
          {&WideProducts::shared,
           &QuantizedParts::shared,
           {in_blocks({"mlp.shared_experts", "mlp.shared_expert", "feed_forward.shared_expert"}, {"up_proj"})},
           {}});
  }
}

std::vector<NamedProduct> products_of(const LayerSpec& layer) {
  std::vector<NamedProduct> products;
  add_mixer(layer.mixer, products);
  add_feed_forward(layer.feed_forward, products);
  return products;
}

// Lists speak of parts that are never quantised here too: heads, embeddings, routers, towers.
bool of_no_product(std::string_view module) {
  for (const std::string_view word : {"vision", "visual", "audio", "multi_modal", "mm_projector", "embed", "lm_head",
                                      "norm", "router", "shared_expert_gate", "rotary", "conv1d", "in_proj_ba",
                                      "in_proj_a", "in_proj_b", "score", "classifier", "mtp", "indexer"})
    if (holds(module, word)) return true;
  return module.ends_with("gate") || module.ends_with("gate$") || module.ends_with("gate*");
}

class List {
 public:
  explicit List(const std::vector<std::string>& modules) {
    for (const std::string& module : modules) entries_.emplace_back(module);
    used_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) (entries_[i].by_layer() ? some_ : all_).push_back(i);
  }
  bool by_layer() const { return !some_.empty(); }
  // Entries that speak of every layer alike are asked of one.
  bool has(Count layer, const std::vector<std::string>& names) {
    const bool in_some = asked(some_, layer, names);
    if (names.empty()) return false;
    const auto [at, fresh] = in_all_.try_emplace(names.front() + std::to_string(names.size()));
    if (fresh) at->second = asked(all_, 0, names);
    return at->second || in_some;
  }
  // Entries that speak of nothing known.
  std::vector<std::string> unknown() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (!used_[i] && !of_no_product(entries_[i].text())) all.push_back(entries_[i].text());
    return all;
  }

 private:
  bool asked(const std::vector<std::size_t>& which, Count layer, const std::vector<std::string>& names) {
    if (which.empty() || names.empty()) return false;
    bool found = false;
    const std::string block = names.front().substr(0, names.front().rfind('.') + 1);
    int stems = 0;
    for (const char* stem : {"model.layers.", "language_model.model.layers.", "backbone.layers.", "transformer.h."}) {
      ++stems;
      for (const std::string& name : names) {
        const std::string module = stem + std::to_string(layer) + "." + name;
        // Expressions cost time, and are written for names of today's classes.
        const bool usual = stems <= 2 && name.starts_with(block);
        for (const std::size_t i : which) {
          if ((found && used_[i] != 0) || (entries_[i].is_expression() && !usual)) continue;
          if (entries_[i].names(module)) used_[i] = 1, found = true;
        }
      }
    }
    return found;
  }

  std::vector<Entry> entries_;
  std::vector<char> used_;
  std::vector<std::size_t> all_, some_;
  std::map<std::string, bool> in_all_;
};

constexpr std::array<bool QuantizedParts::*, 4> kParts = {&QuantizedParts::attention, &QuantizedParts::mlp,
                                                          &QuantizedParts::shared, &QuantizedParts::experts};

// Layers with the products that the list leaves out: one by one where it tells them apart.
struct Read {
  std::vector<LayerRun> runs;
  Count layers = 0;
  std::set<std::string> halves;  // products of which the list has some modules and not others
  std::array<Count, 4> products = {}, wide = {};
};

Read read_layers(const StackSpec& stack, List& list) {
  constexpr Count kMostLayers = 1024;
  Read read;
  for (const LayerRun& run : stack.layers) read.layers += run.repeats;
  const bool one_by_one = list.by_layer() && read.layers <= kMostLayers;
  Count number = 0;
  for (const LayerRun& run : stack.layers) {
    const Count each = one_by_one ? 1 : run.repeats;
    for (Count i = 0; i < run.repeats; i += each, number += each) {
      LayerSpec layer = run.layer;
      for (const NamedProduct& p : products_of(layer)) {
        const auto part = static_cast<std::size_t>(std::find(kParts.begin(), kParts.end(), p.part) - kParts.begin());
        Count named = 0;
        for (const auto& shard : p.shards) named += list.has(number, shard);
        const bool whole = named == static_cast<Count>(p.shards.size()) || list.has(number, p.whole);
        if (!whole && named > 0) read.halves.insert(p.shards.front().front());
        layer.unquantised.*p.product = whole;
        ++read.products[part], read.wide[part] += whole;
      }
      read.runs.push_back({std::move(layer), each});
    }
  }
  return read;
}

}  // namespace

void leave_out(const std::vector<std::string>& modules, ModelSpec& spec) {
  std::optional<StackSpec>& stack = spec.decoder ? spec.decoder : spec.encoder;
  if (modules.empty() || !stack) return;
  List list(modules);
  Read read = read_layers(*stack, list);
  for (std::size_t i = 0; i < kParts.size(); ++i)
    if (read.products[i] > 0 && read.wide[i] == read.products[i]) spec.quantized.*kParts[i] = false;
  std::vector<LayerRun> runs;
  for (LayerRun& run : read.runs) {
    // Parts that are left out whole are said by the part.
    for (const NamedProduct& p : products_of(run.layer))
      if (!(spec.quantized.*p.part)) run.layer.unquantised.*p.product = false;
    if (!runs.empty() && runs.back().layer == run.layer) runs.back().repeats += run.repeats;
    else runs.push_back(std::move(run));
  }
  Count some = 0;
  for (const LayerRun& run : runs) some += run.layer.unquantised.any() ? run.repeats : 0;
  stack->layers = std::move(runs);
  if (some > 0)
    spec.quantization_notes.push_back(
        fmt::format("the checkpoint leaves products of {} of {} layers unquantised", some, read.layers));
  for (const std::string& half : read.halves)
    spec.quantization_notes.push_back(
        fmt::format("the checkpoint leaves {} unquantised and not what engines multiply with it, which vLLM refuses: "
                    "taken as quantised",
                    half));
  if (const auto unknown = list.unknown(); !unknown.empty())
    spec.quantization_notes.push_back(fmt::format("of what the checkpoint leaves unquantised, {} {} not known: {}",
                                                  unknown.size(), unknown.size() == 1 ? "entry is" : "entries are",
                                                  unknown.front().substr(0, 60)));
}

}  // namespace tilecast
