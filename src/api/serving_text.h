// What the texts of serving queries say: objectives, sweeps, loads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/declare.h"
#include "engine/kinds.h"
#include "serve/scheduler.h"
#include "serve/workload.h"
#include "tilecast/serving.h"

namespace tilecast {

// "500ms", "10s", "80us": a time with its unit, a nanosecond to thirty years; nothing where it is none.
std::optional<Seconds> duration_from(std::string_view text);

// "ttft=500ms,tpot=30ms,e2el=10s"; empty: none.
Result<Slo> slo_from(const std::string& text);

// "rate=1..32*2" (doubling), "rate=1,2,5", "concurrency=16..256:16": the ranges of docs/cli.md, with their steps.
struct Sweep {
  bool of_rate = true;
  std::vector<double> values;
};
Result<Sweep> sweep_from(const std::string& text);

Result<WorkloadOptions> workload_from(const LoadQuery& load, Count requests, double burstiness = 1);

// Requests are drawn, not read from a file.
inline const Scope kNoTrace{
    "trace", {""}, "has no effect beside a trace, which has requests of its own", "leave one of them out"};

// The arguments of a load besides its rate, which means something else to each question.
void declare_load(Declare& list, LoadQuery& load);
// A model by name or configuration; no graph serves.
void declare_served_model(Declare& list, std::string& model);
void declare_context_limit(Declare& list, std::optional<Count>& limit);
void declare_method(Declare& list, Method& method, std::string& weights);

EngineKind kind_of(ServingEngine engine);
ServingEngine serving_engine_of(EngineKind kind);  // of one that serves

// Prompt tokens that a step takes at most: SGLang's chunk, where it cuts prompts.
Count step_tokens(const SchedulerLimits& limits);

}  // namespace tilecast
