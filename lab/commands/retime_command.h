// `tilecast-lab retime`: kernels of our own recordings, forecast from recordings at other batches and lengths.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct RetimeJudgeCommand {
  std::string traces = "data/measurements/traces/h200_programs";
  std::string gpu = "H200-SXM";
  std::string out;  // a page in place of text
};
Result<std::string> run_retime_judge(const RetimeJudgeCommand& command);

}  // namespace tilecast
