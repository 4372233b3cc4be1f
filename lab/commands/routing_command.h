// `tilecast-lab routing`: which law the tokens of served models follow in spreading over experts.
#pragma once

#include <string>

#include "lab/evidence/routing_report.h"

namespace tilecast {

struct RoutingCommand {
  std::string data = "../shared/data";  // with aiconfigurator/ and inferencemax/
  RoutingChoice choice;
};
Result<std::string> run_routing(const RoutingCommand& command);

}  // namespace tilecast
