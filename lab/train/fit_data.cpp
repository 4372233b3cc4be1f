#include "lab/train/fit_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "measure/dims.h"

namespace tilecast {
namespace {

// The standings of a model's sources and cards, looked up once each.
class Standings {
 public:
  explicit Standings(const FamilyModel& model) : model_(model) {}
  const Standing& of(const PlannedRow& row) {
    const Key key{row.gpu, row.measured->engine, row.measured->kernel_source};
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = standing_of(model_, row.measured->whole_context(), *row.gpu);
  }

 private:
  using Key = std::tuple<const Gpu*, std::string_view, std::string_view>;
  const FamilyModel& model_;
  std::map<Key, Standing> known_;
};

float residual(const PlannedRow& row, Seconds base) { return static_cast<float>(std::log(row.kernel_time() / base)); }

// A sibling's rows count this many times: 3 and 8 did about equally well on bf16 GEMM, both better than 1.
constexpr float kSiblingWeight = 5;
// And those of cards whose tensor pipe is fed alike, where an architecture has none: chosen with A100 and L40S left out
// in turn (prefill 19.5 to 15.4 and 19.4 to 16.5 %, decode 18.0 to 16.5 and 15.9 to 14.7; 2 and 10 did less well for
// one of them), judged on RTX PRO 6000 (prefill 19.7 to 16.7 %, decode 20.7 as before).
constexpr float kKinWeight = 5;

// Of rows of another protocol than most.
constexpr float kOtherProtocolWeight = 0.1f;

std::string_view main_source(std::span<const PlannedRow* const> rows) {
  std::map<std::string_view, Count> counts;
  for (const PlannedRow* row : rows) ++counts[row->measured->source];
  std::string_view most;
  for (const auto& [source, count] : counts)
    if (most.empty() || count > counts[most]) most = source;
  return most;
}

}  // namespace

FitRows by_hash(std::span<const PlannedRow* const> rows, double share, std::uint64_t seed, bool inside) {
  if (share >= 1) return inside ? FitRows(rows.begin(), rows.end()) : FitRows{};
  const auto limit = static_cast<std::uint64_t>(share * 18446744073709549568.0);
  FitRows chosen;
  for (const PlannedRow* row : rows)
    if ((shape_hash(row->measured->kernel.shape, seed) < limit) == inside) chosen.push_back(row);
  return chosen;
}

FitRows at_most(std::span<const PlannedRow* const> rows, std::size_t most, std::uint64_t seed) {
  return by_hash(rows, static_cast<double>(most) / static_cast<double>(std::max<std::size_t>(rows.size(), 1)), seed);
}

std::map<std::string, Count> cards_of(std::span<const PlannedRow* const> rows) {
  std::map<std::string, Count> cards;
  for (const PlannedRow* row : rows) ++cards[row->gpu->name];
  return cards;
}

std::vector<float> protocol_weights(std::span<const PlannedRow* const> rows) {
  const std::string_view most = main_source(rows);
  std::vector<float> weights;
  for (const PlannedRow* row : rows) weights.push_back(row->measured->source == most ? 1.0f : kOtherProtocolWeight);
  return weights;
}

std::map<std::string, Count> sources_of(std::span<const PlannedRow* const> rows) {
  std::map<std::string, Count> sources;
  for (const PlannedRow* row : rows) ++sources[std::string(row->measured->source)];
  return sources;
}

std::map<std::string, const Gpu*> architectures_of(std::span<const PlannedRow* const> rows) {
  std::map<std::string, const Gpu*> all;
  for (const PlannedRow* row : rows) all.emplace(architecture_key(*row->gpu), row->gpu);
  return all;
}

BoostData data_of(const FamilyModel& model, std::span<const PlannedRow* const> rows, Knows knows) {
  BoostData data;
  data.width = kFeatureCount;
  data.features.reserve(rows.size() * kFeatureCount);
  Standings standings(model);
  for (const PlannedRow* row : rows) {
    Standing standing = standings.of(*row);
    const auto card = model.seen.find(row->gpu->name);
    if (knows == Knows::no_card || card == model.seen.end())
      standing.card_index = kNothingSeen, standing.source_index = -1;
    else standing.card_index = static_cast<float>(std::distance(model.seen.begin(), card));
    const Prepared p = prepare(row->input, standing);
    const auto seen = p.features.row();
    data.features.insert(data.features.end(), seen.begin(), seen.end());
    data.targets.push_back(residual(*row, p.base));
    data.weights.push_back(row->weight);
  }
  return data;
}

BoostData leftovers(BoostData data, const Forest& forest) {
  std::vector<float> forecast(data.rows());
  forest.predict(data.features, forecast);
  for (std::size_t i = 0; i < data.rows(); ++i) data.targets[i] -= forecast[i];
  return data;
}

void append(BoostData& all, const BoostData& more) {
  all.width = more.width;
  all.features.insert(all.features.end(), more.features.begin(), more.features.end());
  all.targets.insert(all.targets.end(), more.targets.begin(), more.targets.end());
  all.weights.insert(all.weights.end(), more.weights.begin(), more.weights.end());
}

namespace {

// Grown on the rows of one vendor, those that `near` calls so weighted.
template <class Near>
Forest weighted_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const Gpu& like, Near near,
                       float weight, const BoostOptions& options) {
  FitRows own;
  std::vector<float> weights;
  const std::vector<float> protocols = protocol_weights(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]->gpu->vendor != like.vendor) continue;
    own.push_back(rows[i]);
    weights.push_back((near(*rows[i]->gpu) ? weight : 1.0f) * protocols[i]);
  }
  BoostData data = data_of(model, own, Knows::no_card);
  for (std::size_t i = 0; i < weights.size(); ++i) data.weights[i] *= weights[i];
  return boost(data, options);
}

}  // namespace

Forest sibling_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const Gpu& like,
                      const BoostOptions& options) {
  const auto near = [&](const Gpu& gpu) { return architecture_key(gpu) == architecture_key(like); };
  return weighted_forest(model, rows, like, near, kSiblingWeight, options);
}

Forest kin_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const Gpu& like,
                  const BoostOptions& options) {
  const auto near = [&](const Gpu& gpu) { return kin_key(gpu) == kin_key(like); };
  return weighted_forest(model, rows, like, near, kKinWeight, options);
}

Forest general_forest(const FamilyModel& model, std::span<const PlannedRow* const> rows, const BoostOptions& options) {
  BoostData data = data_of(model, rows, Knows::no_card);
  const std::vector<float> protocols = protocol_weights(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) data.weights[i] *= protocols[i];
  return boost(data, options);
}

}  // namespace tilecast
