// `tilecast-lab endtoend`: measured whole models beside their forecasts.
#pragma once

#include <string>
#include <vector>

#include "lab/evidence/endtoend_result.h"
#include "tilecast/result.h"

namespace tilecast {

struct EndToEndCommand {
  std::string data;                                // the folder that holds e2e/, synperf/ and neusight/
  std::string measurements = "data/measurements";  // our own
  std::string only;                                // one of end_to_end_sources(); empty: all
  std::string weights;                             // a weight file to use instead of the shipped one
  std::string keep;         // a folder that keeps weights trained on the way; what is there is read
  std::string predictions;  // a CSV to write
  std::string half;         // served runs: "chosen" or "judged"; empty: both
  Count every = 1;          // served runs: judge only every Nth, to save time
  bool json = false;
};
std::string end_to_end_sources();  // the names that `only` takes: "h200, argonne, ..."
Result<std::vector<EndToEndResult>> judge_end_to_end(const EndToEndCommand& command);
Result<std::string> run_end_to_end(const EndToEndCommand& command);

}  // namespace tilecast
