#include "estimate/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "estimate/packed.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Leaves are kept as 8-bit shares of their tree's largest one. Training rounds them to fewer steps (learn/boost.cpp),
// so that they pack well; the error here is half a percent of a small step.
constexpr float kLeafSteps = 127;

void write_forest(PackWriter& out, const Forest& forest) {
  out.count(forest.borders().size());
  for (const auto& borders : forest.borders()) out.list(std::span<const float>(borders));
  out.number(forest.base());
  out.count(forest.trees().size());
  for (const Forest::Tree& tree : forest.trees()) {
    out.number(tree.depth);
    for (int level = 0; level < tree.depth; ++level) out.number(tree.feature[level]), out.number(tree.threshold[level]);
    float largest = 1e-20f;
    for (const float leaf : tree.leaf) largest = std::max(largest, std::abs(leaf));
    out.number(largest);
    for (const float leaf : tree.leaf) out.number(static_cast<std::int8_t>(std::lround(leaf / largest * kLeafSteps)));
  }
}

Forest read_forest(PackReader& in) {
  std::vector<std::vector<float>> borders(in.count(64));
  for (auto& own : borders) own = in.list<float>(Forest::kMostBins);
  const float base = in.number<float>();
  if (!std::isfinite(base)) in.spoil();
  std::vector<Forest::Tree> trees(in.bad() ? 0 : in.count(100000));
  for (Forest::Tree& tree : trees) {
    tree.depth = in.number<std::uint8_t>();
    if (tree.depth > Forest::kMostDepth) in.spoil();
    for (int level = 0; level < tree.depth && !in.bad(); ++level) {
      tree.feature[level] = in.number<std::uint8_t>();
      tree.threshold[level] = in.number<std::uint8_t>();
      if (tree.feature[level] >= borders.size()) in.spoil();
    }
    const float largest = in.number<float>();
    if (!std::isfinite(largest)) in.spoil();
    if (in.bad()) return {};
    tree.leaf.resize(std::size_t{1} << tree.depth);
    for (float& leaf : tree.leaf) leaf = static_cast<float>(in.number<std::int8_t>()) / kLeafSteps * largest;
  }
  return in.bad() ? Forest() : Forest(std::move(borders), base, std::move(trees));
}

template <class Model>
auto forests_of(Model& model) {
  return std::array{&model.general,         &model.unseen_spread.low, &model.unseen_spread.high,
                    &model.seen_spread.low, &model.seen_spread.high,  &model.ceiling};
}

std::vector<const Forest*> all_forests(const FamilyModel& model) {
  const auto fixed = forests_of(model);
  std::vector<const Forest*> all(fixed.begin(), fixed.end());
  for (const auto* group : {&model.siblings, &model.cards})
    for (const auto& [name, forest] : *group) all.push_back(&forest);
  return all;
}

void write_model(PackWriter& out, const FamilyModel& model) {
  out.text(model.key);
  out.count(model.sources.size());
  for (const auto& [name, facts] : model.sources) {
    out.text(name);
    for (const float factor : facts.tuning.log_factors) out.number(factor);
    out.number(facts.tuning.extra_floor_us);
    out.number(facts.code);
    out.number(facts.index);
    out.number(facts.rows);
  }
  out.counts(model.seen);
  for (const Forest* forest : forests_of(model)) write_forest(out, *forest);
  for (const auto* group : {&model.siblings, &model.cards}) {
    out.count(group->size());
    for (const auto& [name, forest] : *group) out.text(name), write_forest(out, forest);
  }
}

FamilyModel read_model(PackReader& in) {
  FamilyModel model;
  model.key = in.text();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    SourceFacts& facts = model.sources[in.text()];
    for (float& factor : facts.tuning.log_factors) factor = in.number<float>();
    facts.tuning.extra_floor_us = in.number<float>();
    facts.code = in.number<float>();
    facts.index = in.number<float>();
    facts.rows = in.number<Count>();
    for (const float factor : facts.tuning.log_factors)
      if (!(std::abs(factor) < 20)) in.spoil();
    if (!std::isfinite(facts.tuning.extra_floor_us) || !std::isfinite(facts.code)) in.spoil();
  }
  model.seen = in.counts();
  for (Forest* forest : forests_of(model)) *forest = read_forest(in);
  for (auto* group : {&model.siblings, &model.cards})
    for (std::size_t i = 0, n = in.count(1000); i < n && !in.bad(); ++i) {
      Forest& forest = (*group)[in.text()];
      forest = read_forest(in);
    }
  return model;
}

}  // namespace

const FamilyModel* Weights::find(std::string_view key) const {
  const auto at = std::lower_bound(models.begin(), models.end(), key,
                                   [](const FamilyModel& m, std::string_view k) { return m.key < k; });
  return at != models.end() && at->key == key ? &*at : nullptr;
}

const FamilyModel* ModelSource::find(const Kernel& kernel) const {
  if (const FamilyModel* model = find(model_key(kernel))) return model;
  // Both run at the same rate through the same kernels; nearly all measurements are of bf16.
  if (kernel.format.name == "fp16") return find(std::string(family_of(kernel.shape)) + "/bf16");
  return nullptr;
}

namespace {

constexpr std::string_view kModelPack = "model";  // of one model inside the file

// Keys and packed models of a file, in its order.
struct Contents {
  std::map<std::string, Count> sources;
  std::vector<std::pair<std::string, std::string_view>> models;
};
Result<Contents> contents_of(std::string_view plain, const std::string& place) {
  PackReader in(plain);
  Contents contents;
  contents.sources = in.counts();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    std::string key = in.text();
    contents.models.emplace_back(std::move(key), in.view());
  }
  if (in.bad() || !in.at_end()) return damaged(place, "its contents do not parse");
  if (!std::is_sorted(contents.models.begin(), contents.models.end()))
    return damaged(place, "its models are out of order");
  return contents;
}

Result<FamilyModel> model_from(std::string_view packed, const std::string& key, const std::string& place) {
  const auto plain = unpack(packed, kModelPack, place);
  if (!plain) return plain.error();
  PackReader in(*plain);
  FamilyModel model = read_model(in);
  if (in.bad() || !in.at_end() || model.key != key) return damaged(place, "the model " + key + " does not parse");
  for (const Forest* forest : all_forests(model))
    if (forest->features() != kFeatureCount)
      return Error{place, "",
                   fmt::format("was trained on {} features, this program has {}", forest->features(), kFeatureCount),
                   "train it again with `tilecast train`"};
  return model;
}

}  // namespace

std::string to_bytes(const Weights& weights) {
  PackWriter payload;
  payload.counts(weights.sources);
  payload.count(weights.models.size());
  for (const FamilyModel& model : weights.models) {
    PackWriter own;
    write_model(own, model);
    payload.text(model.key);
    payload.view(pack(kModelPack, own));
  }
  return pack(name_of(Method::tilecast), payload, 0);  // what is in it is packed already
}

Result<Weights> weights_from_bytes(std::string_view bytes, const std::string& place) {
  const auto plain = unpack(bytes, name_of(Method::tilecast), place);
  if (!plain) return plain.error();
  auto contents = contents_of(*plain, place);
  if (!contents) return std::move(contents).error();
  Weights weights;
  weights.sources = std::move(contents->sources);
  for (const auto& [key, packed] : contents->models) {
    auto model = model_from(packed, key, place);
    if (!model) return std::move(model).error();
    weights.models.push_back(*std::move(model));
  }
  return weights;
}

struct LazyWeights::Entry {
  std::string key;
  std::string_view packed;
  std::once_flag once;
  std::optional<FamilyModel> model;
};
LazyWeights::LazyWeights() = default;
LazyWeights::~LazyWeights() = default;

Result<std::unique_ptr<LazyWeights>> LazyWeights::from_bytes(std::string_view bytes, const std::string& place) {
  auto plain = unpack(bytes, name_of(Method::tilecast), place);
  if (!plain) return std::move(plain).error();
  auto lazy = std::make_unique<LazyWeights>();
  lazy->plain_ = *std::move(plain);
  auto contents = contents_of(lazy->plain_, place);
  if (!contents) return std::move(contents).error();
  for (auto& [key, packed] : contents->models) {
    lazy->entries_.push_back(std::make_unique<Entry>());
    lazy->entries_.back()->key = key;
    lazy->entries_.back()->packed = packed;
  }
  return lazy;
}

const FamilyModel* LazyWeights::find(std::string_view key) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), key,
                                   [](const auto& e, std::string_view k) { return e->key < k; });
  if (at == entries_.end() || (*at)->key != key) return nullptr;
  Entry& entry = **at;
  std::call_once(entry.once, [&] {
    if (auto model = model_from(entry.packed, entry.key, "the weights")) entry.model = *std::move(model);
  });
  return entry.model ? &*entry.model : nullptr;
}

Status save_weights(const Weights& weights, const std::string& path) {
  return write_text_file(path, to_bytes(weights));
}

Result<Weights> load_weights(const std::string& path) {
  auto bytes = read_text_file(path, kMostPackedBytes);
  if (!bytes) return std::move(bytes).error();
  return weights_from_bytes(*bytes, path);
}

}  // namespace tilecast
