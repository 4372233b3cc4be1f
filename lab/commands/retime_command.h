// `tilecast-lab retime`: kernels in our own recordings, forecast from recordings at other batch sizes and lengths.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct RetimeJudgeCommand {
  std::string traces = "data/measurements/traces/h200_programs";
  std::string gpu = "H200-SXM";
  std::string out;  // a page to write instead of printing text
};
Result<std::string> run_retime_judge(const RetimeJudgeCommand& command);

}  // namespace tilecast
