// The pieces that the report on measured models is made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/evidence/endtoend_result.h"

namespace tilecast {

using Results = std::vector<EndToEndResult>;
Results of_source(const Results& results, std::string_view source);

// A line for every distinct set of words, in their order, with the usual figures; one of all rows where `all` names it.
using Words = std::vector<std::string>;
using Grouping = std::function<Words(const EndToEndResult&)>;
std::string table_by(const Words& titles, const Results& results, const Grouping& words_of, const char* all);

// Training on many GPUs: MosaicML's, Megatron's and NVIDIA's tables.
std::string training_report(const Results& results);
// nanotron's scaling runs.
std::string ultrascale_report(const Results& results);
// Serving: LLMServingSim's, GPUStack's and AIConfigurator's tables, and how many of their rows were left out.
std::string serving_report(const Results& results);

}  // namespace tilecast
