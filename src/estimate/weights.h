// What training produces and forecasting reads: the learned models of all families, and what they were trained on.
//
// The file is a packed one (estimate/packed.h): the names of every family's features, then every model by its key, with
// a hash of those names and the rows it was trained on, packed separately, so a forecast reads only the models it needs
// (LazyWeights). A file made for other features is rejected; estimate/repack.h carries one over.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/feature_schema.h"
#include "estimate/learned.h"
#include "tilecast/result.h"

namespace tilecast {

std::vector<Forest*> all_forests(FamilyModel& model);

// Where a forecast finds the model of a kernel.
class ModelSource {
 public:
  virtual ~ModelSource() = default;
  virtual const FamilyModel* find(std::string_view key) const = 0;
  // The model that forecasts a kernel: its own format's, or that of a format that runs the same way.
  const FamilyModel* find(const Kernel& kernel) const;
  // ... on a card: a product that widens its operands there is fp32's kernel.
  const FamilyModel* find(const Kernel& kernel, const Gpu& gpu) const;
};

struct Weights : ModelSource {
  std::vector<FamilyModel> models;  // by key, sorted

  // Source of rows -> how many, of all models.
  std::map<std::string, Count> sources() const;
  using ModelSource::find;
  const FamilyModel* find(std::string_view key) const override;
};

// The same, but each model is read when first needed; thread-safe.
class LazyWeights : public ModelSource {
 public:
  // `bytes` must outlive it: the embedded file does.
  static Result<std::unique_ptr<LazyWeights>> from_bytes(std::string_view bytes, const std::string& place);
  using ModelSource::find;
  const FamilyModel* find(std::string_view key) const override;

 private:
  struct Lazy;
  std::vector<std::unique_ptr<Lazy>> models_;  // by key, sorted
  std::string plain_;                          // what they point into

 public:
  LazyWeights();
  ~LazyWeights() override;
};

std::string to_bytes(const Weights& weights, const SchemaOf& schema_of = feature_schema);
// `place` names the file in errors.
Result<Weights> weights_from_bytes(std::string_view bytes, const std::string& place);

// A model and the features it was trained on, as stored in a file, whatever the program's features are.
struct FiledModel {
  FamilyModel model;
  FeatureSchema schema;
};
// Files of the version before names are assumed to have the program's features, and do not say what their models were
// trained on.
Result<std::vector<FiledModel>> filed_models(std::string_view bytes, const std::string& place);

Status save_weights(const Weights& weights, const std::string& path);
Result<Weights> load_weights(const std::string& path);

}  // namespace tilecast
