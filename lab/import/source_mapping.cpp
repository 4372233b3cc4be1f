#include "lab/import/source_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "model/library.h"
#include "support/printable.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostQuoted = 80;     // bytes of a name that a reason repeats
constexpr std::size_t kMostReasons = 1000;  // kept apart

const NameRule* rule_for(std::span<const NameRule> rules, std::string_view name) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const NameRule& rule) { return rule.theirs == name; });
  return found == rules.end() ? nullptr : &*found;
}

// The name by the source's own rules: another, or an error where it is refused.
Result<std::string> ruled(std::span<const NameRule> rules, std::string_view name) {
  const NameRule* rule = rule_for(rules, name);
  if (rule && rule->ours.empty()) return left_out_row(fmt::format("{}: {}", in_quotes(name), rule->why_not));
  return std::string(rule ? rule->ours : name);
}

std::string without(std::string text, std::span<const std::string_view> parts) {
  for (const std::string_view part : parts)
    if (const auto at = text.find(part); at != std::string::npos) text.erase(at, part.size());
  return text;
}

}  // namespace

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", printable(cut(text, kMostQuoted))); }

Error left_out_row(std::string why) { return Error{"", "", std::move(why), ""}; }
Error unknown_name(std::string_view what, std::string_view name) {
  return left_out_row(fmt::format("unknown {} {}", what, in_quotes(name)));
}

Result<Gpu> gpu_of(const SourceMapping& source, std::string_view name) {
  auto own = ruled(source.gpus, name);
  if (!own) return std::move(own).error();
  const std::string bare = without(*own, source.around_gpu);
  for (const std::string& card : {*own, bare, "NVIDIA " + bare})  // data sheets put the vendor's name before it
    if (auto gpu = find_gpu(card)) return gpu;
  return unknown_name("GPU", name);
}

Result<std::string> model_name_of(const SourceMapping& source, std::string_view name) {
  auto own = ruled(source.models, name);
  if (!own) return own;
  // A table's text is a name, never a path of this machine.
  const bool path = own->ends_with(".json") || own->starts_with('/') || own->starts_with('.');
  if (own->empty() || path || !find_model(*own)) return unknown_name("model", name);
  return own;
}

Result<Format> format_of(const SourceMapping& source, std::string_view name) {
  auto own = ruled(source.formats, name);
  if (!own) return std::move(own).error();
  if (auto format = format_from(*own)) return format;
  return unknown_name("format", name);
}

Result<std::string> engine_name_of(const SourceMapping& source, std::string_view name) {
  if (!rule_for(source.engines, name)) return unknown_name("engine", name);
  return ruled(source.engines, name);
}

void leave_out(LeftOutRows& rows, std::string_view why, Count count) {
  const auto found = rows.find(std::string(why));
  if (found != rows.end()) found->second += count;
  else rows[rows.size() < kMostReasons ? std::string(why) : "for other reasons"] += count;
}

bool fits_pattern(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at)
    if (fits_pattern(text.substr(at), rest)) return true;
  return false;
}

Result<std::vector<std::string>> files_of(const SourceMapping& source, const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (const std::string_view pattern : source.files) {
    const std::size_t slash = pattern.rfind('/') + 1;  // 0 where there is none
    const fs::path below = fs::path(folder) / pattern.substr(0, slash == 0 ? 0 : slash - 1);
    std::error_code failure;
    for (auto entry = fs::directory_iterator(below, failure); !failure && entry != fs::directory_iterator();
         entry.increment(failure)) {
      const std::string file = entry->path().filename().string();
      const bool other = std::any_of(source.not_read.begin(), source.not_read.end(),
                                     [&](std::string_view name) { return fits_pattern(file, name); });
      if (fits_pattern(file, pattern.substr(slash)) && !other) paths.push_back(entry->path().string());
    }
    if (failure)
      return Error{below.string(), "", "cannot be listed", "--data names the folder with the measured tables"};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace tilecast
