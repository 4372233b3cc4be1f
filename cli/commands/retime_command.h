// `tilecast retime TRACE --gpu GPU`: a recorded run at another card's times.
#pragma once

#include <optional>
#include <string>

#include "tilecast/retime.h"

namespace tilecast {

struct RetimeOptions {
  RetimeQuery query;
  Count top = 15;  // kernels listed
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

Result<std::string> run_retime(const RetimeOptions& options);

}  // namespace tilecast
