#include "model/library.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/embedded_models.h"
#include "support/input.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

// Suffixes that say how a model was tuned, not what it is.
constexpr std::array<std::string_view, 9> kTunings = {"instruct", "chat", "base", "hf",  "it",
                                                      "thinking", "2507", "0528", "0324"};

std::string name_of(const EmbeddedFile& file) { return std::string(file.name.substr(0, file.name.rfind(".json"))); }
std::string place_of(const EmbeddedFile& file) { return "data/models/" + std::string(file.name); }

// Like name_key(), but a point between digits stays, since OPT-1.3B is not OPT-13B; some ids write it as "_".
std::string model_key(std::string_view name) {
  const auto digit = [&](std::size_t i) { return i < name.size() && name[i] >= '0' && name[i] <= '9'; };
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool point = (name[i] == '.' || name[i] == '_') && i > 0 && digit(i - 1) && digit(i + 1);
    key += point ? "." : name_key(name.substr(i, 1));
  }
  return key;
}

std::string_view without_organisation(std::string_view id) { return id.substr(id.rfind('/') + 1); }

// Keys that a user's name may mean, the exact one first: with its organisation, without, and without tunings.
std::vector<std::string> keys_of(std::string_view name) {
  std::vector<std::string> keys = {model_key(name), model_key(without_organisation(name))};
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view tuning : kTunings) {
      const std::string last = keys.back();
      if (!last.ends_with(tuning) || last.size() == tuning.size()) continue;
      keys.push_back(last.substr(0, last.size() - tuning.size()));
      cut = true;
    }
  }
  return keys;
}

std::vector<std::string> aliases_of(const Json& config) {
  std::vector<std::string> aliases;
  if (const auto list = config.find("_aliases"); list != config.end() && list->is_array())
    for (const Json& alias : *list)
      if (alias.is_string()) aliases.push_back(alias.get<std::string>());
  return aliases;
}

std::map<std::string, std::string> checkpoints_of(const Json& config) {
  std::map<std::string, std::string> names;
  if (const auto list = config.find("_checkpoints"); list != config.end() && list->is_object())
    for (const auto& [format, name] : list->items())
      if (name.is_string()) names[format] = name.get<std::string>();
  return names;
}

// Files by the keys of their names and aliases; names win. Made once.
using Index = std::map<std::string, const EmbeddedFile*>;
const Index& file_index() {
  static const Index kIndex = [] {
    Index index;
    for (const EmbeddedFile& file : embedded_model_files()) index.emplace(model_key(name_of(file)), &file);
    for (const EmbeddedFile& file : embedded_model_files())
      for (const std::string& alias : aliases_of(Json::parse(file.text, nullptr, false)))
        for (const std::string& key : {model_key(alias), model_key(without_organisation(alias))})
          index.emplace(key, &file);
    return index;
  }();
  return kIndex;
}
const EmbeddedFile* file_named(const std::string& key) {
  const auto found = file_index().find(key);
  return found == file_index().end() ? nullptr : found->second;
}

// The file merged over the one it is like.
Json whole_config(const EmbeddedFile& file) {
  Json own = Json::parse(file.text, nullptr, false);
  assert(own.is_object() && "a bundled model is broken; library_test names it");
  const auto like = own.find("_like");
  if (like == own.end() || !like->is_string()) return own;
  const EmbeddedFile* base = file_named(model_key(like->get<std::string>()));
  assert(base && base != &file && "a bundled model is like none that exists; library_test names it");
  if (!base || base == &file) return own;
  Json merged = whole_config(*base);
  merged.erase("_aliases");
  merged.erase("_checkpoints");
  merged.merge_patch(own);
  return merged;
}

Result<ModelSpec> spec_of(const EmbeddedFile& file) {
  auto spec = spec_from_json(whole_config(file).dump(), place_of(file));
  if (spec) spec->name = name_of(file);
  return spec;
}

// A configuration given as text is named as Hugging Face's loader noted in it, or else after its class.
Result<ModelSpec> spec_of_text(const std::string& text) {
  auto spec = spec_from_json(text, "model config");
  if (!spec) return spec;
  const Json own = Json::parse(text, nullptr, false);
  const auto noted = own.find("_name_or_path");
  const bool named = noted != own.end() && noted->is_string() && !noted->get<std::string>().empty();
  spec->name = named ? noted->get<std::string>() : spec->architecture;
  return spec;
}

const EmbeddedFile* file_meant_by(const std::string& name) {
  for (const std::string& key : keys_of(name))
    if (const EmbeddedFile* file = file_named(key)) return file;
  return nullptr;
}

std::optional<ModelEntry> entry_of(const EmbeddedFile& file) {
  const Json own = Json::parse(file.text, nullptr, false);
  auto spec = spec_of(file);
  assert(spec && "a bundled model is broken; library_test names it");
  if (!spec) return std::nullopt;
  return ModelEntry{name_of(file), aliases_of(own), own.value("_source", ""), *std::move(spec), checkpoints_of(own)};
}

// A file or directory that looks like a model; otherwise a name, even if a file of that name happens to exist.
bool is_path(const std::string& text) {
  if (text == "-" || text.ends_with(".json") || text.starts_with('/') || text.starts_with('.')) return true;
  return something_at((std::filesystem::path(text) / "config.json").string());
}

}  // namespace

std::optional<std::string> bundled_config(const std::string& name) {
  const EmbeddedFile* file = file_meant_by(name);
  if (!file) return std::nullopt;
  return whole_config(*file).dump();
}

std::vector<ModelEntry> list_models() {
  std::vector<ModelEntry> entries;
  for (const EmbeddedFile& file : embedded_model_files())
    if (auto entry = entry_of(file)) entries.push_back(*std::move(entry));
  std::sort(entries.begin(), entries.end(), [](const ModelEntry& a, const ModelEntry& b) { return a.name < b.name; });
  return entries;
}

std::optional<ModelEntry> find_entry(const std::string& name) {
  const EmbeddedFile* file = is_path(name) ? nullptr : file_meant_by(name);
  return file ? entry_of(*file) : std::nullopt;
}

bool is_bundled_model(const std::string& name) {
  if (name.empty() || name == "-" || name.starts_with('/') || name.starts_with('.') || name.ends_with('/'))
    return false;
  if (contains(name, "..") || std::count(name.begin(), name.end(), '/') > 1) return false;
  for (const std::string_view ending : {".json", ".onnx", ".gz"})
    if (name.ends_with(ending)) return false;
  return file_meant_by(name) != nullptr;
}

Error no_such_model(std::string_view name, const std::string& otherwise) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_model_files()) names.push_back(name_of(file));
  return Error{"", "", "unknown model '" + std::string(name.substr(0, 120)) + "'",
               suggestion(without_organisation(name.substr(0, 120)), names, otherwise)};
}

Result<ModelSpec> find_model(const std::string& name_or_path) {
  if (is_object_text(name_or_path)) return spec_of_text(name_or_path);
  if (is_path(name_or_path)) return load_model_config(name_or_path);
  if (const EmbeddedFile* file = file_meant_by(name_or_path)) return spec_of(*file);
  return no_such_model(name_or_path, "`tilecast models` lists the known ones; the path of a config.json works too");
}

}  // namespace tilecast
