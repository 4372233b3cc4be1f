#include "lab/commands/endtoend_command.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <iterator>

#include "lab/commands/shared.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_report.h"
#include "lab/evidence/serving.h"
#include "support/file.h"
#include "support/input.h"
#include "support/printable.h"

namespace tilecast {
namespace {

using Results = Result<std::vector<EndToEndResult>>;

Results judge_with(const Result<std::vector<EndToEndCase>>& cases, const ModelSource& weights) {
  if (!cases) return cases.error();
  return judge_cases(*cases, Method::tilecast, &weights);
}

// Weights that NeuSight's experiment allows: read where kept, else trained and kept.
Result<Weights> neusight_weights(const EndToEndCommand& command, Vendor vendor) {
  const std::string kept =
      command.keep.empty() ? "" : command.keep + (vendor == Vendor::amd ? "/amd.weights" : "/nvidia.weights");
  if (!kept.empty() && something_at(kept)) return load_weights(kept);
  auto weights = train_for_neusight(command.data, vendor, kThreads, terminal_progress());
  if (!weights || kept.empty()) return weights;
  if (auto saved = save_weights(*weights, kept); !saved) return std::move(saved).error();
  return weights;
}

// NVIDIA's rows by weights of NVIDIA's rows alone, AMD's by AMD's.
Results judge_neusight(const EndToEndCommand& command) {
  const auto cases = neusight_cases(command.data + "/neusight");
  if (!cases) return cases.error();
  const auto timings = eager_timings(command.data);
  if (!timings) return timings.error();
  std::vector<EndToEndResult> all;
  for (const Vendor vendor : {Vendor::nvidia, Vendor::amd}) {
    std::vector<EndToEndCase> own;
    for (const EndToEndCase& one : *cases)
      if (one.label.detail == (vendor == Vendor::amd ? "AMD" : "NVIDIA")) {
        own.push_back(one);
        own.back().eager = timing_of(*timings, *built_in_gpu(one.label.gpu));
      }
    const auto weights = neusight_weights(command, vendor);
    if (!weights) return weights.error();
    auto judged = judge_cases(own, Method::tilecast, &*weights);
    if (!judged) return judged;
    std::move(judged->begin(), judged->end(), std::back_inserter(all));
    auto operators = judge_neusight_operators(command.data + "/neusight", vendor, *timings, *weights);
    if (!operators) return operators;
    std::move(operators->begin(), operators->end(), std::back_inserter(all));
  }
  return all;
}

// What a table holds beside the cases goes to the terminal: it is no result.
Results judge_runs(const Result<ServingCases>& cases, const char* source, const ModelSource& weights) {
  if (!cases) return cases.error();
  for (const auto& [why, runs] : cases->left_out)
    fmt::print(stderr, "{}: {} runs left out: {}\n", source, runs, printable(why));
  auto judged = judge_serving(cases->cases, Method::tilecast, &weights);
  if (!judged) return judged;
  for (EndToEndResult& one : left_out_of(*cases, source)) judged->push_back(std::move(one));
  return judged;
}
// Lengths of recorded requests come from the other table, whose data is the same (ShareGPT).
Results judge_gpustack(const EndToEndCommand& command, const ModelSource& weights) {
  const auto recorded = llmservingsim_cases(command.data + "/e2e/llmservingsim_vllm_bench_requests.csv.gz");
  if (!recorded) return recorded.error();
  return judge_runs(
      gpustack_cases(command.data + "/e2e/gpustack_performance_lab.csv.gz", recorded->cases.front().requests),
      "gpustack", weights);
}
Results judge_silicon(const EndToEndCommand& command, const ModelSource& weights) {
  return judge_runs(silicon_cases(command.data + "/aiconfigurator/e2e_silicon_sample.csv.gz"), "silicon", weights);
}

struct Source {
  std::string_view name;
  bool ours;  // reads our own measurements only
  Results (*judge)(const EndToEndCommand& command, const ModelSource& weights);
};
constexpr std::array<Source, 12> kSources = {
    {{"h200", true,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(h200_cases(c.measurements + "/h200_models.csv"), w);
      }},
     {"argonne", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(argonne_cases(c.data + "/e2e/argonne_llm_inference_bench.csv.gz"), w);
      }},
     {"trtllm", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(trtllm_cases(c.data + "/e2e/trtllm_perf_overview.csv.gz"), w);
      }},
     {"synperf", false,
      [](const EndToEndCommand& c, const ModelSource& w) { return judge_with(synperf_cases(c.data + "/synperf"), w); }},
     {"mosaic", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(mosaic_cases(c.data + "/e2e/train_mosaicml_llm_foundry.csv.gz"), w);
      }},
     {"megatron", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(megatron_cases(c.data + "/e2e/train_megatron_lm_ci_golden.csv.gz"), w);
      }},
     {"bridge", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(nemo_cases(c.data + "/e2e/train_megatron_bridge.csv.gz", "bridge"), w);
      }},
     {"nemo", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(nemo_cases(c.data + "/e2e/train_nemo_megatron_readme.csv.gz", "nemo"), w);
      }},
     {"neusight", false, [](const EndToEndCommand& c, const ModelSource&) { return judge_neusight(c); }},
     {"llmservingsim", false,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_runs(llmservingsim_cases(c.data + "/e2e/llmservingsim_vllm_bench_requests.csv.gz"),
                          "llmservingsim", w);
      }},
     {"gpustack", false, judge_gpustack},
     {"silicon", false, judge_silicon}}};

}  // namespace

Result<std::vector<EndToEndResult>> judge_end_to_end(const EndToEndCommand& command) {
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
    auto judged = source.judge(command, weights);
    if (!judged) return judged;
    std::move(judged->begin(), judged->end(), std::back_inserter(results));
  }
  if (!known)
    return Error{"--only", "",
                 "must be h200, argonne, trtllm, synperf, mosaic, megatron, bridge, nemo, neusight, llmservingsim, "
                 "gpustack or silicon, "
                 "not '" +
                     command.only + "'",
                 ""};
  return results;
}

Result<std::string> run_end_to_end(const EndToEndCommand& command) {
  const auto results = judge_end_to_end(command);
  if (!results) return results.error();
  if (!command.predictions.empty())
    if (auto written = write_text_file(command.predictions, end_to_end_csv(*results)); !written)
      return std::move(written).error();
  return command.json ? end_to_end_json(*results) : end_to_end_report(*results);
}

}  // namespace tilecast
