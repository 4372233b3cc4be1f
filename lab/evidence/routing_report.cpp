#include "lab/evidence/routing_report.h"

#include <iterator>
#include <utility>

#include "engine/routing.h"
#include "lab/evidence/endtoend_report_parts.h"
#include "lab/evidence/serving_halves.h"
#include "serve/plan.h"

namespace tilecast {
namespace {

bool wanted(const ServingCase& one, const RoutingChoice& choice) {
  return !one.prefill && has_experts(one.deployment.model) && one.concurrency >= choice.least &&
         one.concurrency <= choice.most;
}

// One law's results; their detail is the law's name.
Result<Results> judged_under(std::vector<ServingCase> cases, const std::string& law, Method method,
                             const ModelSource* weights) {
  const auto routing = routing_from(law);
  if (!routing) return routing.error();
  for (ServingCase& one : cases) one.deployment.engine.routing = *routing;
  LeftOutRows without;  // kernels for which the law has no forecast
  auto results = judge_serving(cases, method, weights, &without);
  if (!results) return std::move(results).error();
  for (EndToEndResult& r : *results) r.label.detail = law;
  return results;
}

Results of_a_token(const Results& all) {
  Results own;
  for (const EndToEndResult& r : all)
    if (r.quantity.starts_with("tpot")) own.push_back(r);
  return own;
}

}  // namespace

std::vector<ServingCase> routing_cases(const std::vector<ServingCase>& all, const RoutingChoice& choice) {
  std::vector<ServingCase> some;
  Count at = 0;
  for (const ServingCase& one : all)
    if (wanted(one, choice) && at++ % choice.every == 0) some.push_back(one);
  return some;
}

Result<std::string> routing_report(const std::vector<ServingCase>& cases, const RoutingChoice& choice, Method method,
                                   const ModelSource* weights) {
  Results all;
  for (const std::string& law : choice.laws) {
    auto judged = judged_under(cases, law, method, weights);
    if (!judged) return std::move(judged).error();
    std::move(judged->begin(), judged->end(), std::back_inserter(all));
  }
  const Results tokens = of_a_token(all);
  return table_by(
             {"half", "law"}, tokens,
             [](const EndToEndResult& r) {
               return Words{name_of(half_of(r)), r.label.detail};
             },
             nullptr) +
         "\n" +
         table_by(
             {"half", "model", "GPU", "engine", "law"}, tokens,
             [](const EndToEndResult& r) {
               return Words{name_of(half_of(r)), r.label.model, r.label.gpu, r.label.engine, r.label.detail};
             },
             nullptr);
}

}  // namespace tilecast
