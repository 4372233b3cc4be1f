// `tilecast plan serve MODEL --slo ... --rate ...`: the cheapest deployment that meets its objectives.
#pragma once

#include <string>

#include "cli/commands/simulate_command.h"
#include "serve/plan.h"

namespace tilecast {

struct PlanServeOptions : LoadOptions {
  std::string model;
  std::string slo = "";
  std::string slo_at = "p90";
  Count requests = 0;   // simulated; 0: half a minute's, 300 to 3000
  std::string gpus;     // "H100-SXM,16xB200"; empty: those with a price and a cluster
  std::string engines;  // empty: all three
  std::string dtype, kv_dtype;
  double budget = 0;
  Count max_gpus = 64;
  Count context_limit = 0;
  bool only_aggregated = false, only_disaggregated = false;
  std::string prices;
  double price = 0;
  std::string method = "tilecast", weights;
  bool json = false;
};

struct PlanServeResult {
  PlanServeOptions options;
  ServeQuery query;
  ServePlan plan;
  std::vector<std::string> notes;   // whose prices
  std::vector<std::string> launch;  // of the best
};

Result<PlanServeResult> plan_serve(const PlanServeOptions& options);
Result<std::string> run_plan_serve(const PlanServeOptions& options);

// Views.
std::string plan_serve_text(const PlanServeResult& result);
Error no_deployment(const PlanServeResult& result);  // why nothing was planned, and what comes nearest
std::string plan_serve_json(const PlanServeResult& result);

}  // namespace tilecast
