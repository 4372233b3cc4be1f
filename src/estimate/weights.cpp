#include "estimate/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "estimate/packed.h"
#include "kernel/gemm.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Leaves are kept as 8-bit shares of their tree's largest one. Training rounds them to fewer steps
// (lab/train/boost.cpp), so they pack well; the error here is half a percent of a small step.
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
  std::vector<std::vector<float>> borders(in.count(Forest::kMostFeatures));
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
  return std::array{
      &model.general,          &model.unseen_spread.low, &model.unseen_spread.high, &model.seen_spread.low,
      &model.seen_spread.high, &model.ceiling,           &model.sibling_spread.low, &model.sibling_spread.high};
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
    out.number(static_cast<std::uint8_t>(facts.hosted));
  }
  out.count(model.hosts.size());
  for (const auto& [name, host] : model.hosts) out.text(name), out.number(host.floor_us), out.number(host.gap_us);
  out.count(model.carry.size());
  for (const auto& [vendor, carry] : model.carry) out.text(vendor), out.number(carry.near), out.number(carry.far);
  out.counts(model.seen);
  for (const Forest* forest : forests_of(model)) write_forest(out, *forest);
  for (const auto* group : {&model.siblings, &model.cards}) {
    out.count(group->size());
    for (const auto& [name, forest] : *group) out.text(name), write_forest(out, forest);
  }
}

FamilyModel read_model(PackReader& in, std::uint32_t version) {
  FamilyModel model;
  model.key = in.text();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    SourceFacts& facts = model.sources[in.text()];
    for (float& factor : facts.tuning.log_factors) factor = in.number<float>();
    facts.tuning.extra_floor_us = in.number<float>();
    facts.code = in.number<float>();
    facts.index = in.number<float>();
    facts.rows = in.number<Count>();
    facts.hosted = version > kPackVersionWithoutHosts && in.number<std::uint8_t>() != 0;
    for (const float factor : facts.tuning.log_factors)
      if (!(std::abs(factor) < 20)) in.spoil();
    if (!std::isfinite(facts.tuning.extra_floor_us) || !std::isfinite(facts.code)) in.spoil();
    // The floor stored there by older files is the host's, the same for all kernels.
    if (facts.hosted && version <= kPackVersionOfOneFloor) facts.tuning.extra_floor_us = 0;
  }
  for (std::size_t i = 0, n = version > kPackVersionOfOneFloor ? in.count(1000) : 0; i < n && !in.bad(); ++i) {
    HostTiming& host = model.hosts[in.text()];
    host.floor_us = in.number<float>(), host.gap_us = in.number<float>();
    if (!(host.floor_us >= 0 && host.gap_us >= 0 && std::isfinite(host.floor_us + host.gap_us))) in.spoil();
  }
  for (std::size_t i = 0, n = version > kPackVersionWithoutCarry ? in.count(1000) : 0; i < n && !in.bad(); ++i) {
    Carry& carry = model.carry[in.text()];
    carry.near = in.number<float>(), carry.far = in.number<float>();
    for (const float share : {carry.near, carry.far})
      if (!(share >= 0 && share <= 1)) in.spoil();
  }
  model.seen = in.counts();
  const bool siblings_apart = version > kPackVersionOfOneUnseenSpread;
  for (Forest* forest : forests_of(model))
    if (siblings_apart || (forest != &model.sibling_spread.low && forest != &model.sibling_spread.high))
      *forest = read_forest(in);
  if (!siblings_apart) model.sibling_spread = model.unseen_spread;
  for (auto* group : {&model.siblings, &model.cards})
    for (std::size_t i = 0, n = in.count(1000); i < n && !in.bad(); ++i) {
      Forest& forest = (*group)[in.text()];
      forest = read_forest(in);
    }
  return model;
}

}  // namespace

std::vector<Forest*> all_forests(FamilyModel& model) {
  const auto fixed = forests_of(model);
  std::vector<Forest*> all(fixed.begin(), fixed.end());
  for (auto* group : {&model.siblings, &model.cards})
    for (auto& [name, forest] : *group) all.push_back(&forest);
  return all;
}

const FamilyModel* Weights::find(std::string_view key) const {
  const auto at = std::lower_bound(models.begin(), models.end(), key,
                                   [](const FamilyModel& m, std::string_view k) { return m.key < k; });
  return at != models.end() && at->key == key ? &*at : nullptr;
}

const FamilyModel* ModelSource::find(const Kernel& kernel) const {
  if (const FamilyModel* model = find(model_key(kernel))) return measures(*model, kernel.shape) ? model : nullptr;
  // Both run at the same rate through the same kernels; nearly all measurements are of bf16.
  if (kernel.format.id != FormatId::fp16) return nullptr;
  const FamilyModel* model = find(std::string(family_of(kernel.shape)) + "/bf16");
  return model && measures(*model, kernel.shape) ? model : nullptr;
}

const FamilyModel* ModelSource::find(const Kernel& kernel, const Gpu& gpu) const {
  const bool product = kernel.shape.is<Gemm>() || kernel.shape.is<Bmm>();
  if (product && widens_to_fp32(kernel.format, gpu))
    if (const FamilyModel* fp32 = find(std::string(family_of(kernel.shape)) + "/fp32")) return fp32;
  return find(kernel);
}

// A model as it lies in a file.
struct FiledEntry {
  std::string key;
  std::uint64_t schema_hash = 0;
  std::map<std::string, Count> trained_on;
  std::string_view packed;
};

namespace {

constexpr std::string_view kModelPack = "model";  // of one model inside the file

std::string_view family_in(std::string_view key) { return key.substr(0, key.find('/')); }

// A file's entries in its order, and the features by family.
struct Contents {
  std::map<std::string, FeatureSchema, std::less<>> schemas;
  std::vector<FiledEntry> entries;
};

Contents read_contents(PackReader& in) {
  Contents contents;
  for (std::size_t i = 0, n = in.count(1000); i < n && !in.bad(); ++i) {
    FeatureSchema schema{in.text(), std::vector<std::string>(in.count(Forest::kMostFeatures))};
    for (std::string& name : schema.names) name = in.text();
    contents.schemas[schema.family] = std::move(schema);
  }
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    FiledEntry& entry = contents.entries.emplace_back();
    entry.key = in.text();
    entry.schema_hash = in.number<std::uint64_t>();
    entry.trained_on = in.counts();
    entry.packed = in.view();
  }
  return contents;
}

// For a file that names no features: they are assumed to be the program's.
Contents read_unnamed_contents(PackReader& in) {
  Contents contents;
  in.counts();  // rows of all models together
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    FiledEntry& entry = contents.entries.emplace_back();
    entry.key = in.text();
    const FeatureSchema schema = feature_schema(family_in(entry.key));
    entry.schema_hash = schema.hash();
    entry.packed = in.view();
    contents.schemas[schema.family] = schema;
  }
  return contents;
}

Result<Contents> contents_of(std::string_view plain, const std::string& place, bool named = true) {
  PackReader in(plain);
  Contents contents = named ? read_contents(in) : read_unnamed_contents(in);
  if (in.bad() || !in.at_end()) return damaged(place, "its contents do not parse");
  if (!std::is_sorted(contents.entries.begin(), contents.entries.end(),
                      [](const FiledEntry& a, const FiledEntry& b) { return a.key < b.key; }))
    return damaged(place, "its models are out of order");
  for (const FiledEntry& entry : contents.entries) {
    const auto schema = contents.schemas.find(family_in(entry.key));
    if (schema == contents.schemas.end() || schema->second.hash() != entry.schema_hash)
      return damaged(place, "the features of the model " + entry.key + " are not those it names");
  }
  return contents;
}

// Trees know features by position: those of a file must be this program's, by name and in its order.
Status check_features(const Contents& contents, const std::string& place) {
  for (const auto& [family, schema] : contents.schemas) {
    const FeatureSchema own = feature_schema(family);
    if (own.hash() == schema.hash()) continue;
    return Error{place, family, "was trained on other features: it " + difference(schema, own),
                 "train it again with `tilecast-lab train`"};
  }
  return Ok{};
}

Result<FamilyModel> model_from(const FiledEntry& entry, std::size_t features, const std::string& place) {
  const auto plain = unpack(entry.packed, kModelPack, place, kPackVersionOfUnnamed);
  if (!plain) return plain.error();
  PackReader in(*plain);
  FamilyModel model = read_model(in, pack_version(entry.packed));
  if (in.bad() || !in.at_end() || model.key != entry.key)
    return damaged(place, "the model " + entry.key + " does not parse");
  for (Forest* forest : all_forests(model))
    if (forest->features() != features)
      return damaged(place,
                     fmt::format("a forest of {} has {} features of {}", entry.key, forest->features(), features));
  model.trained_on = entry.trained_on;
  return model;
}

}  // namespace

std::map<std::string, Count> Weights::sources() const {
  std::map<std::string, Count> all;
  for (const FamilyModel& model : models)
    for (const auto& [source, rows] : model.trained_on) all[source] += rows;
  return all;
}

std::string to_bytes(const Weights& weights, const SchemaOf& schema_of) {
  std::map<std::string, FeatureSchema, std::less<>> schemas;
  for (const FamilyModel& model : weights.models)
    if (const std::string family(family_in(model.key)); !schemas.contains(family)) schemas[family] = schema_of(family);
  PackWriter payload;
  payload.count(schemas.size());
  for (const auto& [family, schema] : schemas) {
    payload.text(family);
    payload.count(schema.names.size());
    for (const std::string& name : schema.names) payload.text(name);
  }
  payload.count(weights.models.size());
  for (const FamilyModel& model : weights.models) {
    PackWriter own;
    write_model(own, model);
    payload.text(model.key);
    payload.number(schemas.find(family_in(model.key))->second.hash());
    payload.counts(model.trained_on);
    payload.view(pack(kModelPack, own));
  }
  return pack(name_of(Method::tilecast), payload, 0);  // what is in it is packed already
}

Result<Weights> weights_from_bytes(std::string_view bytes, const std::string& place) {
  const auto plain = unpack(bytes, name_of(Method::tilecast), place, kPackVersionWithoutHosts);
  if (!plain) return plain.error();
  const auto contents = contents_of(*plain, place);
  if (!contents) return contents.error();
  if (auto same = check_features(*contents, place); !same) return std::move(same).error();
  Weights weights;
  for (const FiledEntry& entry : contents->entries) {
    auto model = model_from(entry, kFeatureCount, place);
    if (!model) return std::move(model).error();
    weights.models.push_back(*std::move(model));
  }
  return weights;
}

Result<std::vector<FiledModel>> filed_models(std::string_view bytes, const std::string& place) {
  const auto plain = unpack(bytes, name_of(Method::tilecast), place, kPackVersionOfUnnamed);
  if (!plain) return plain.error();
  const auto contents = contents_of(*plain, place, pack_version(bytes) != kPackVersionOfUnnamed);
  if (!contents) return contents.error();
  std::vector<FiledModel> models;
  for (const FiledEntry& entry : contents->entries) {
    const FeatureSchema& schema = contents->schemas.find(family_in(entry.key))->second;
    auto model = model_from(entry, schema.names.size(), place);
    if (!model) return std::move(model).error();
    models.push_back({*std::move(model), schema});
  }
  return models;
}

struct LazyWeights::Lazy {
  FiledEntry entry;
  std::once_flag once;
  std::optional<FamilyModel> model;
};
LazyWeights::LazyWeights() = default;
LazyWeights::~LazyWeights() = default;

Result<std::unique_ptr<LazyWeights>> LazyWeights::from_bytes(std::string_view bytes, const std::string& place) {
  auto plain = unpack(bytes, name_of(Method::tilecast), place, kPackVersionWithoutHosts);
  if (!plain) return std::move(plain).error();
  auto lazy = std::make_unique<LazyWeights>();
  lazy->plain_ = *std::move(plain);
  auto contents = contents_of(lazy->plain_, place);
  if (!contents) return std::move(contents).error();
  if (auto same = check_features(*contents, place); !same) return std::move(same).error();
  for (FiledEntry& entry : contents->entries) {
    lazy->models_.push_back(std::make_unique<Lazy>());
    lazy->models_.back()->entry = std::move(entry);
  }
  return lazy;
}

const FamilyModel* LazyWeights::find(std::string_view key) const {
  const auto at = std::lower_bound(models_.begin(), models_.end(), key,
                                   [](const auto& lazy, std::string_view k) { return lazy->entry.key < k; });
  if (at == models_.end() || (*at)->entry.key != key) return nullptr;
  Lazy& lazy = **at;
  std::call_once(lazy.once, [&] {
    if (auto model = model_from(lazy.entry, kFeatureCount, "the weights")) lazy.model = *std::move(model);
  });
  return lazy.model ? &*lazy.model : nullptr;
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
