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

// The parts of a model that a list of modules leaves unquantised: names, substrings, globs or expressions, the last
// recognised by the words in them. A part is left out if the list names at least half of it.
QuantizedParts parts_without(const std::vector<std::string>& modules, const ModelSpec& spec);

}  // namespace tilecast
