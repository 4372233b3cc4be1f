#include <array>

#include "lab/evidence/endtoend.h"
#include "lab/evidence/serving.h"
#include "memory_file.h"
#include "targets.h"

namespace tilecast {
namespace {

// Cases and rows left out account for every line; reasons are fit to print.
template <class Case>
std::string wrong_with(const Result<ReadCases<Case>>& read) {
  if (!read) return read.error().line().empty() ? "an error without a text" : "";
  if (read->rows < static_cast<Count>(read->cases.size())) return "more cases than rows";
  for (const auto& [why, rows] : read->left_out)
    if (why.empty() || rows < 1) return "rows left out without a reason";
  for (const Case& one : read->cases)
    if (!built_in_gpu(one.label.gpu)) return "a case on a GPU that nobody knows";
  return "";
}

Result<EndToEndCases> bridge_cases(const std::string& path) { return nemo_cases(path, kBridgeSource); }
Result<ServingCases> gpustack_alone(const std::string& path) { return gpustack_cases(path, {{seconds(0), 10, 20}}); }

}  // namespace

std::string fuzz_whole_model_table(std::string_view input) {
  const MemoryFile file(input);
  if (!file.complete()) return "";
  for (const auto reader : {h200_cases, argonne_cases, trtllm_cases, mosaic_cases, megatron_cases, bridge_cases})
    if (std::string wrong = wrong_with(reader(file.path())); !wrong.empty()) return wrong;
  for (const auto reader : {llmservingsim_cases, gpustack_alone, silicon_cases})
    if (std::string wrong = wrong_with(reader(file.path())); !wrong.empty()) return wrong;
  return "";
}

}  // namespace tilecast
