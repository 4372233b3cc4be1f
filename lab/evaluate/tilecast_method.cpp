#include "lab/evaluate/tilecast_method.h"

#include <map>

#include "measure/planned_rows.h"
#include "measure/traps.h"

namespace tilecast {
namespace {

class Tilecast final : public Forecaster {
 public:
  explicit Tilecast(Weights weights) : weights_(std::move(weights)) {}
  Method method() const override { return Method::tilecast; }

  Outcome forecast(const Measurement& row, const Gpu&) const override {
    const std::vector<Measurement> alone = {row};
    constexpr std::array<std::size_t, 1> kFirst = {0};
    const std::vector<PlannedRow> planned = plan_rows(alone, kFirst, 1);
    const FamilyModel* model = weights_.find(row.kernel);
    return model ? learned_outcome(*model, planned.front()) : planned.front().analytic;
  }
  Count rows_seen(const Measurement& row) const override { return tilecast::rows_seen(weights_, row); }

 private:
  Weights weights_;
};

}  // namespace

Weights train_tilecast_weights(const std::vector<Measurement>& rows, std::span<const std::size_t> train,
                               const TrainOptions& options, const Progress& progress) {
  std::map<std::string, std::vector<Measurement>> groups;
  for (const std::size_t i : train)
    if (trap_of(rows[i]).empty()) groups[model_key(rows[i].kernel)].push_back(rows[i]);
  Weights weights;
  double done = 0;
  for (const auto& [key, group] : groups) {
    if (progress) progress(done++ / static_cast<double>(groups.size()), key);
    std::vector<std::size_t> all(group.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const std::vector<PlannedRow> planned = plan_rows(group, all, options.general.threads);
    std::vector<const PlannedRow*> usable;
    for (const PlannedRow& row : planned)
      if (!row.analytic.failed) usable.push_back(&row);
    FamilyModel model = train_family(usable, options);
    if (!model.key.empty()) weights.models.push_back(std::move(model));
  }
  if (progress) progress(1, "");
  return weights;
}

std::unique_ptr<Forecaster> train_tilecast(const std::vector<Measurement>& rows, std::span<const std::size_t> train,
                                           const TrainOptions& options, const Progress& progress) {
  return std::make_unique<Tilecast>(train_tilecast_weights(rows, train, options, progress));
}

Contender tilecast_contender(const TrainOptions& options) {
  return {"tilecast",
          [options](const std::vector<Measurement>& rows, std::span<const std::size_t> train, const Progress& progress)
              -> Result<std::unique_ptr<Forecaster>> { return train_tilecast(rows, train, options, progress); }};
}

}  // namespace tilecast
