// Reading and checking GPU description files (docs/gpu-files.md). A file either gives every field or says
// `"like": "H100-SXM"` and overrides some: a hypothetical GPU is five lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "gpu/gpu.h"
#include "tilecast/result.h"

namespace tilecast {

// Finds the JSON text of the GPU a file says it is like.
using GpuTextLookup = std::function<Result<std::string>(std::string_view name)>;

// Parses and validates one description. `place` names the input in errors.
Result<Gpu> parse_gpu(std::string_view json_text, const std::string& place, const GpuTextLookup& like);

}  // namespace tilecast
