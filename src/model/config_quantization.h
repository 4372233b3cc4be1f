// How a checkpoint's weights are quantised, as a format of kernel/format.h.
#pragma once

#include <string>

#include "model/config_reader.h"

namespace tilecast {

// The format "quantization_config" describes; empty where there is none. Several tools write it, each in its own way.
std::string read_quantization(ConfigReader& read);

}  // namespace tilecast
