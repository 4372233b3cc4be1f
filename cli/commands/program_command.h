// `tilecast predict` of a recorded PyTorch program.
#pragma once

#include <string>

#include "cli/commands/predict_command.h"

namespace tilecast {

Result<std::string> run_predict_program(const PredictOptions& options);

}  // namespace tilecast
