#include "tilecast/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/build_facts.h"
#include "estimate/feature_schema.h"
#include "estimate/shipped_weights.h"
#include "support/text.h"
#include "tilecast/version.h"

namespace tilecast {
namespace {

// Of all families' features: 64-bit FNV-1a over the hash of each (isthe.com/chongo/tech/comp/fnv, its offset and
// prime).
std::string features_hash(const std::vector<FamilyModel>& models) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const FamilyModel& model : models) {
    const std::string family = model.key.substr(0, model.key.find('/'));
    for (const char c : family + "=" + std::to_string(feature_schema(family).hash()) + ";")
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  return fmt::format("{:016x}", hash);
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

BuildInfo build_info() {
  const BuildFacts facts = build_facts();
  const Weights& weights = shipped_weights();
  BuildInfo build;
  build.version = version();
  build.commit = facts.commit, build.date = facts.date, build.weights_date = facts.weights_date;
  build.weights = fmt::format("{:08x}", shipped_weights_checksum());
  build.features = features_hash(weights.models);
  build.models = static_cast<std::int64_t>(weights.models.size());
  for (const auto& [source, rows] : weights.sources()) build.trained_on[source] = rows;
  return build;
}

std::string build_text(const BuildInfo& build) {
  std::vector<std::pair<std::string, std::int64_t>> sources(build.trained_on.begin(), build.trained_on.end());
  std::stable_sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::int64_t rows = 0;
  std::vector<std::string> parts;
  for (const auto& [source, count] : sources) rows += count, parts.push_back(source + " " + with_commas(count));
  return fmt::format(
      "tilecast {}\n"
      "commit   {} of {}\n"
      "weights  {} of {}: {} models, features {}\n"
      "learned  from {} rows: {}",
      build.version, build.commit, build.date, build.weights, build.weights_date, build.models, build.features,
      with_commas(rows), join(parts, ", "));
}

}  // namespace tilecast
