// Serving runs that somebody measured, as deployments and requests that can be simulated: what `tilecast endtoend`
// judges beside single steps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/evidence/endtoend_result.h"
#include "serve/deployment.h"
#include "serve/metrics.h"

namespace tilecast {

struct ServingCase {
  EndToEndLabel label;
  DeploymentOptions deployment;
  std::optional<DeploymentOptions> prefill = {};  // disaggregated: of prompts, and the way of keys and values
  KvLink link;
  std::vector<Request> requests;
  Count concurrency = 0;
  Count context_limit = 0;
  // ttft and tpot (means, seconds), throughput (output tokens a second), peak (tokens in flight at most).
  std::map<std::string, double> measured;
};
struct ServingCases {
  std::vector<ServingCase> cases;
  std::map<std::string, Count> left_out;  // runs of the table, by why
};

// One result for each figure measured. Cases whose deployments differ in their limits alone share step times. A
// deployment that does not fit its card is an error: it was measured there.
Result<std::vector<EndToEndResult>> judge_serving(const std::vector<ServingCase>& cases, Method method,
                                                  const ModelSource* weights);
// ... and for the report, how many runs of a table were left out, and why: results of source "SOURCE left out" whose
// detail is the reason and whose figure, "runs", is their number.
std::vector<EndToEndResult> left_out_of(const ServingCases& cases, const std::string& source);

// vLLM on an RTX 4090, request by request (e2e/llmservingsim_vllm_bench_requests.csv.gz): one run.
Result<ServingCases> llmservingsim_cases(const std::string& path);

// GPUStack's performance lab (e2e/gpustack_performance_lab.csv.gz): runs of `vllm bench serve` against vLLM, SGLang and
// TensorRT-LLM on A100s or H100s, without speculation. Lengths are drawn from `lengths` and scaled to a run's means;
// random data has equal ones.
Result<ServingCases> gpustack_cases(const std::string& path, const std::vector<Request>& lengths);

// AIConfigurator's serving points (aiconfigurator/e2e_silicon_sample.csv.gz): the clean subset of its README, beside it
// those with attention dp and pools apart whose layout is said. Models with sparse attention are left out.
Result<ServingCases> silicon_cases(const std::string& path);

}  // namespace tilecast
