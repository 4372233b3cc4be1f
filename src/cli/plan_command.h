// `tilecast plan serve MODEL ...`: the cheapest deployment that meets its objectives.
#pragma once

#include <string>
#include <vector>

#include "serve/plan.h"
#include "support/result.h"

namespace tilecast {

struct PlanCommand {
  std::string model;
  std::vector<std::string> gpus = {"A100-SXM-80GB", "H100-SXM", "H200-SXM", "B200", "L40S"};
  std::vector<std::string> engines = {"vllm", "sglang", "trtllm"};
  std::vector<std::string> dtypes;  // empty: the checkpoint's
  std::string kv_dtype;
  std::string slo;
  double rate = 0, quantile = 0.9, budget = 0;
  std::string input = "1024", output = "256";
  Count requests = 1000, most_gpus = 64, finalists = 6, seed = 0;
  std::vector<std::string> prices;  // GPU=price of an hour
  double link_gb_per_s = 50;
  bool aggregated_only = false;
  std::string method = "tilecast";
  bool json = false;
};
Result<std::string> run_plan_serve(const PlanCommand& command);

}  // namespace tilecast
