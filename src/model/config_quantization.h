// How a checkpoint's weights are quantised, as a format of kernel/format.h.
#pragma once

#include <string>
#include <vector>

#include "model/config_reader.h"
#include "model/spec.h"

namespace tilecast {

// What "quantization_config" describes: format, parts, groups, keys and values. Several tools write it, each in its own
// way. `spec` has its layers already.
void read_quantization(ConfigReader& read, ModelSpec& spec);

// What a list of modules leaves unquantised: whole parts, products of some layers, and notes on what it has beside.
void leave_out(const std::vector<std::string>& modules, ModelSpec& spec);

}  // namespace tilecast
