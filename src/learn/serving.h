// Serving runs that somebody measured, as deployments and requests that can be simulated: what `tilecast endtoend`
// judges beside single steps.
//
// A case is a deployment, the requests it was asked and how many at a time, and figures that a client measured. Readers
// of tables make cases; judge_serving() simulates them. Cases with the same deployment share its step times.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "learn/endtoend_result.h"
#include "serve/deployment.h"
#include "serve/workload.h"

namespace tilecast {

// How long the requests were.
struct CaseLengths {
  double input = 0, output = 0;  // means, or the longest where `spread` is not 0
  double least = 1;              // lengths lie evenly between this share of the longest and the longest
  bool of_people = false;        // drawn from recorded requests and scaled to the means
};

struct ServingCase {
  EndToEndLabel label;
  DeploymentOptions deployment;
  std::optional<DeploymentOptions> prefill = {};  // disaggregated
  CaseLengths lengths;
  Count requests = 0;
  bool staggered = false;  // measured after a while, when requests no longer begin and end together
  Count concurrency = 0;  // 0: all at once
  // Figures by name: ttft, tpot (seconds, means), throughput (output tokens a second).
  std::vector<std::pair<std::string, double>> measured;
};

struct ServingInputs {
  Method method = Method::tilecast;
  const ModelSource* weights = nullptr;
  std::vector<Request> people;  // recorded requests, for cases that draw from them
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};
// A case that cannot be deployed (a model that does not fit) is left out and named in `refused`.
Result<std::vector<EndToEndResult>> judge_serving(const std::vector<ServingCase>& cases, const ServingInputs& inputs,
                                                  std::vector<std::string>& refused);

// AIConfigurator's serving points (aiconfigurator/e2e_silicon_sample.csv.gz), duplicates removed: aggregated rows of the
// clean subset, or disaggregated ones. Rows of models with sparse attention and of formats unknown here are left out.
struct SiliconRows {
  std::vector<ServingCase> cases;
  Count rows = 0, unclean = 0, repeated = 0, declined = 0;
};
Result<SiliconRows> silicon_cases(const std::string& path);

}  // namespace tilecast
