#include "lab/commands/routing_command.h"

#include <iterator>

#include "estimate/shipped_weights.h"

namespace tilecast {

Result<std::string> run_routing(const RoutingCommand& command) {
  auto silicon = silicon_cases(command.data + "/" + std::string(kSiliconSource.files.front()));
  if (!silicon) return std::move(silicon).error();
  auto inferencex = inferencex_cases(command.data + "/" + std::string(kInferencexSource.files.front()));
  if (!inferencex) return std::move(inferencex).error();
  std::vector<ServingCase> all = std::move(silicon->cases);
  std::move(inferencex->cases.begin(), inferencex->cases.end(), std::back_inserter(all));
  const std::vector<ServingCase> some = routing_cases(all, command.choice);
  if (some.empty()) return field_error("least", "leaves no run of a model with experts", "--least 16 --most 64");
  return routing_report(some, command.choice, Method::tilecast, &shipped_models());
}

}  // namespace tilecast
