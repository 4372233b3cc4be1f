#include "estimate/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/packed.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Leaves are kept as 16-bit shares of the forest's largest one: a thousandth of a percent of its effect.
void write_forest(PackWriter& out, const Forest& forest) {
  out.count(forest.borders().size());
  for (const auto& borders : forest.borders()) out.list(std::span<const float>(borders));
  out.number(forest.base());
  float largest = 1e-20f;
  for (const Forest::Tree& tree : forest.trees())
    for (const float leaf : tree.leaf) largest = std::max(largest, std::abs(leaf));
  out.number(largest);
  out.count(forest.trees().size());
  for (const Forest::Tree& tree : forest.trees()) {
    out.number(tree.depth);
    for (int level = 0; level < tree.depth; ++level) out.number(tree.feature[level]), out.number(tree.threshold[level]);
    for (const float leaf : tree.leaf) out.number(static_cast<std::int16_t>(std::lround(leaf / largest * 32767)));
  }
}

Forest read_forest(PackReader& in) {
  std::vector<std::vector<float>> borders(in.count(64));
  for (auto& own : borders) own = in.list<float>(Forest::kMostBins);
  const float base = in.number<float>(), largest = in.number<float>();
  if (!std::isfinite(base) || !std::isfinite(largest)) in.spoil();
  std::vector<Forest::Tree> trees(in.bad() ? 0 : in.count(100000));
  for (Forest::Tree& tree : trees) {
    tree.depth = in.number<std::uint8_t>();
    if (tree.depth > Forest::kMostDepth) in.spoil();
    for (int level = 0; level < tree.depth && !in.bad(); ++level) {
      tree.feature[level] = in.number<std::uint8_t>();
      tree.threshold[level] = in.number<std::uint8_t>();
      if (tree.feature[level] >= borders.size()) in.spoil();
    }
    if (in.bad()) return {};
    tree.leaf.resize(std::size_t{1} << tree.depth);
    for (float& leaf : tree.leaf) leaf = static_cast<float>(in.number<std::int16_t>()) / 32767 * largest;
  }
  return in.bad() ? Forest() : Forest(std::move(borders), base, std::move(trees));
}

void write_model(PackWriter& out, const FamilyModel& model) {
  out.text(model.key);
  out.count(model.sources.size());
  for (const auto& [name, facts] : model.sources) {
    out.text(name);
    out.number(facts.floor_us);
    out.number(facts.code);
  }
  out.counts(model.seen);
  for (const Forest* forest : {&model.median, &model.low, &model.high, &model.ceiling}) write_forest(out, *forest);
}

FamilyModel read_model(PackReader& in) {
  FamilyModel model;
  model.key = in.text();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    std::string name = in.text();
    const float floor = in.number<float>(), code = in.number<float>();
    model.sources[std::move(name)] = {floor, code};
  }
  model.seen = in.counts();
  for (Forest* forest : {&model.median, &model.low, &model.high, &model.ceiling}) *forest = read_forest(in);
  return model;
}

}  // namespace

const FamilyModel* Weights::find(std::string_view key) const {
  const auto at = std::lower_bound(models.begin(), models.end(), key,
                                   [](const FamilyModel& m, std::string_view k) { return m.key < k; });
  return at != models.end() && at->key == key ? &*at : nullptr;
}

std::string to_bytes(const Weights& weights) {
  PackWriter payload;
  payload.counts(weights.sources);
  payload.count(weights.models.size());
  for (const FamilyModel& model : weights.models) write_model(payload, model);
  return pack(name_of(Method::tilecast), payload);
}

Result<Weights> weights_from_bytes(std::string_view bytes, const std::string& place) {
  const auto plain = unpack(bytes, name_of(Method::tilecast), place);
  if (!plain) return plain.error();
  PackReader in(*plain);
  Weights weights;
  weights.sources = in.counts();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) weights.models.push_back(read_model(in));
  if (in.bad() || !in.at_end()) return damaged(place, "its contents do not parse");
  if (!std::is_sorted(weights.models.begin(), weights.models.end(), [](auto& a, auto& b) { return a.key < b.key; }))
    return damaged(place, "its models are out of order");
  for (const FamilyModel& model : weights.models)
    for (const Forest* forest : {&model.median, &model.low, &model.high, &model.ceiling})
      if (forest->features() != kFeatureCount)
        return Error{place, "",
                     fmt::format("was trained on {} features, this program has {}", forest->features(), kFeatureCount),
                     "train it again with `tilecast train`"};
  return weights;
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
