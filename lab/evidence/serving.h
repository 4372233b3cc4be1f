// Serving runs that somebody measured, as deployments and requests that can be simulated: what `tilecast-lab
// endtoend` judges besides single steps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/evidence/endtoend_result.h"
#include "lab/evidence/endtoend_table.h"
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
  Count warm_up = 0;  // of the requests, those that came first and count in no figure
  // ttft and tpot (means, seconds), the same and e2e with "median" after them, throughput (output tokens a second),
  // peak (tokens in flight at most).
  std::map<std::string, double> measured;
};
using ServingCases = ReadCases<ServingCase>;  // of one source's table; its rows are counted as runs

// InferenceX's runs begin on servers that have not seen such prompts: the first take that much longer, which a mean
// over ten times as many requests shows. Chosen on DeepSeek-R1 under SGLang on B200, whose first requests of 1024
// tokens wait 0.4 to 0.8 s more than later ones at 4 to 16 in flight (runs that compile for a minute left out).
inline const Seconds kInferencexColdStart = milliseconds(500);

extern const SourceMapping kLlmservingsimSource, kGpustackSource, kSiliconSource, kInferencexSource, kOverviewSource;

// What a row's run stands on, whatever it asks for. The engine is in a column of this name.
struct ServedOn {
  ModelSpec model;
  EngineKind engine;
  const Cluster* cluster;  // that the card is known in
};
Result<ServedOn> served_on(const SourceMapping& source, const TableRow& row, const std::string& engine_column);

// One result per measured figure. Cases whose deployments differ only in their limits share step times. A case
// without a forecast is counted in `without` where that is given; otherwise it is an error.
Result<std::vector<EndToEndResult>> judge_serving(const std::vector<ServingCase>& cases, Method method,
                                                  const ModelSource* weights, LeftOutRows* without = nullptr);

// vLLM, request by request (e2e/llmservingsim_vllm_bench_requests.csv.gz): one run for each card, model and format.
Result<ServingCases> llmservingsim_cases(const std::string& path);

// Lengths as `vllm bench serve --dataset-name sharegpt` draws them: many short answers, few long ones.
std::vector<Request> sharegpt_lengths();

// GPUStack's performance lab (e2e/gpustack_performance_lab.csv.gz): runs of `vllm bench serve` against vLLM, SGLang and
// TensorRT-LLM, without speculation. Lengths are drawn from `lengths` and scaled to a run's means;
// random data has equal ones.
Result<ServingCases> gpustack_cases(const std::string& path, const std::vector<Request>& lengths);

// AIConfigurator's serving points (aiconfigurator/e2e_silicon_sample.csv.gz): the clean subset of its README, beside it
// those with attention dp and pools apart whose layout is said.
Result<ServingCases> silicon_cases(const std::string& path);

// InferenceX's own runs (inferencemax/serving.csv.gz): vLLM with gpt-oss on H200, SGLang with DeepSeek-R1 on B200,
// H200, MI300X and MI325X. Runs of one configuration are one case, whose figures are medians.
Result<ServingCases> inferencex_cases(const std::string& path);

// The limits of a step that `trtllm-bench` finds for prompts and answers of these lengths.
void set_bench_limits(DeploymentOptions& deployment, Count input, Count output);

// TensorRT-LLM's performance overview (e2e/trtllm_perf_overview.csv.gz): what servers of one model reach where requests
// never end. Every Nth of its configurations, by a hash of their names, each with its newest release.
Result<ServingCases> overview_cases(const std::string& path, Count one_in);

}  // namespace tilecast
