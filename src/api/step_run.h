// From a query about a step to what the rooms run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/chosen_method.h"
#include "cluster/cluster.h"
#include "engine/run.h"
#include "parallel/forecast.h"
#include "tilecast/step.h"

namespace tilecast {

// A query as its rooms want it.
struct AskedStep {
  StepSetting setting;
  Run run;
  const Gpu* gpu = nullptr;          // of one GPU
  const Cluster* cluster = nullptr;  // of many
  Count micro_batch = 0;             // of many; 0: all a rank has
  ParallelRun over_ranks() const { return {run, setting.layout, micro_batch}; }
};

// What a list of queries shares, looked up once. Errors are kept like values.
class StepLookups {
 public:
  // A step with all that is given about it, which its card may be unable to run.
  Result<AskedStep> described(const StepQuery& query);
  // The same, where its engine and its way of training run on the card.
  Result<AskedStep> asked(const StepQuery& query);
  // The run as kernels. A query's GPU, method and weights do not matter.
  const Result<PreparedRun>& prepared(const StepQuery& query, const Run& run);
  const Result<ChosenMethod>& method(Method method, const std::string& weights);

 private:
  const Result<Model>& model(const StepQuery& query);
  const Result<Gpu>& gpu(const std::string& name);
  const Result<Cluster>& cluster(const std::string& name, int ranks);
  Status place(const StepQuery& query, AskedStep& asked);

  std::map<std::string, Result<Model>> models_;
  std::map<std::string, Result<Gpu>> gpus_;
  std::map<std::pair<std::string, int>, Result<Cluster>> clusters_;
  std::map<std::pair<Method, std::string>, Result<ChosenMethod>> methods_;
  std::map<std::string, Result<PreparedRun>> prepared_;
};

// What a model runs in a query, wherever that is: of one GPU, or the whole step of many.
Result<Run> run_of(const StepQuery& query, const Model& model);
// The query's layout, with the framework's choices where it makes none.
RankLayout layout_of(const StepQuery& query);
// The parts of a setting that a run fixes.
StepSetting setting_of(const Run& run);
// A line for each thing worth saying about a run and where it runs.
std::vector<std::string> notes_on(const AskedStep& asked);

// "8x1+2048,2x512": eight requests of one new token after 2048 cached ones, and two prompts of 512.
Result<std::vector<Requests>> requests_from(std::string_view text);

StepPricing pricing_of(const ChosenMethod& chosen);

}  // namespace tilecast
