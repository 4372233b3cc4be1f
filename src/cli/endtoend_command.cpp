#include "cli/endtoend_command.h"

#include <array>
#include <functional>
#include <iterator>

#include "estimate/shipped_weights.h"
#include "learn/endtoend.h"
#include "learn/endtoend_report.h"
#include "support/file.h"

namespace tilecast {
namespace {

struct Source {
  std::string_view name;
  bool ours;  // reads the folder of our own measurements
  Result<std::vector<EndToEndCase>> (*read)(const std::string& folder);
};
constexpr std::array<Source, 3> kSources = {
    {{"h200", true, [](const std::string& f) { return h200_cases(f + "/h200_models.csv"); }},
     {"argonne", false,
      [](const std::string& f) { return argonne_cases(f + "/e2e/argonne_llm_inference_bench.csv.gz"); }},
     {"synperf", false, [](const std::string& f) { return synperf_cases(f + "/synperf"); }}}};

}  // namespace

Result<std::string> run_end_to_end(const EndToEndCommand& command) {
  std::optional<Weights> given;
  if (!command.weights.empty()) {
    auto loaded = load_weights(command.weights);
    if (!loaded) return std::move(loaded).error();
    given = *std::move(loaded);
  }
  const ModelSource& weights = given ? static_cast<const ModelSource&>(*given) : shipped_models();
  std::vector<EndToEndResult> results;
  bool known = false;
  for (const Source& source : kSources) {
    if (!command.only.empty() && command.only != source.name) continue;
    known = true;
    if (!source.ours && command.data.empty()) {
      if (command.only.empty()) continue;
      return Error{"--data", "", "is missing: the folder with e2e/, synperf/ and neusight/", ""};
    }
    auto cases = source.read(source.ours ? command.measurements : command.data);
    if (!cases) return std::move(cases).error();
    auto judged = judge_cases(*cases, Method::tilecast, &weights);
    if (!judged) return std::move(judged).error();
    std::move(judged->begin(), judged->end(), std::back_inserter(results));
  }
  if (!known) return Error{"--only", "", "must be h200, argonne, synperf or neusight, not '" + command.only + "'", ""};
  if (!command.predictions.empty())
    if (auto written = write_text_file(command.predictions, end_to_end_csv(results)); !written)
      return std::move(written).error();
  return command.json ? end_to_end_json(results) : end_to_end_report(results);
}

}  // namespace tilecast
