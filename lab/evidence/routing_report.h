// Laws by which tokens spread over experts, judged by the times of served models with experts.
#pragma once

#include <string>
#include <vector>

#include "lab/evidence/serving.h"

namespace tilecast {

struct RoutingChoice {
  // Laws as `--routing` takes them. The second visits about as many experts as random choices would.
  std::vector<std::string> laws = {"uniform", "power:0.6", "power:1.2"};
  // Requests in flight. With fewer, every law visits about as many experts; with more, all of them are visited.
  Count least = 16, most = 64;
  Count every = 1;  // judge only every Nth of the remaining cases, to save time
};

// Models with experts on one engine, prompts and answers together, within the loads asked for.
std::vector<ServingCase> routing_cases(const std::vector<ServingCase>& all, const RoutingChoice& choice);

// Time per token under each law, the half that the default is chosen on and the half that judges it apart.
Result<std::string> routing_report(const std::vector<ServingCase>& cases, const RoutingChoice& choice, Method method,
                                   const ModelSource* weights);

}  // namespace tilecast
