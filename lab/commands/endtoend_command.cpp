#include "lab/commands/endtoend_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "lab/commands/shared.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_report.h"
#include "lab/evidence/serving.h"
#include "lab/evidence/serving_halves.h"
#include "support/file.h"
#include "support/input.h"
#include "support/printable.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Results = Result<std::vector<EndToEndResult>>;

// Printed before the judging starts, which can take minutes.
void say_left_out(std::string_view source, const LeftOutRows& left_out) {
  for (const auto& [why, rows] : left_out)
    fmt::print(stderr, "{}: {} rows left out: {}\n", source, rows, printable(why));
}
void add_counts(std::vector<EndToEndResult>& results, std::string_view source, Count judged,
                const LeftOutRows& left_out) {
  for (EndToEndResult& one : row_counts(std::string(source), judged, left_out)) results.push_back(std::move(one));
}

// A source none of whose rows can be judged is the wrong file, or one that Tilecast does not understand.
Error nothing_judged(const SourceMapping& source, const LeftOutRows& left_out) {
  const auto most = std::max_element(left_out.begin(), left_out.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return Error{
      std::string(source.name), "", "has no row that can be judged",
      most == left_out.end() ? "is it the right file?" : fmt::format("{} rows: {}", most->second, most->first)};
}

template <class Case, class Judge>
Results judge_read(const SourceMapping& source, const Result<ReadCases<Case>>& read, const ModelSource& weights,
                   const Judge& judge) {
  if (!read) return read.error();
  say_left_out(source.name, read->left_out);
  LeftOutRows without;
  auto judged = judge(read->cases, Method::tilecast, &weights, &without);
  if (!judged) return judged;
  say_left_out(source.name, without);
  LeftOutRows left_out = read->left_out;
  Count rows = read->rows;
  for (const auto& [why, cases] : without) leave_out(left_out, why, cases), rows -= cases;
  if (judged->empty()) return nothing_judged(source, left_out);
  add_counts(*judged, source.name, rows, left_out);
  return judged;
}
Results judge_with(const SourceMapping& source, const Result<EndToEndCases>& read, const ModelSource& weights) {
  return judge_read(source, read, weights, judge_cases);
}

std::string file_of(const SourceMapping& source, const std::string& folder) {
  return folder + "/" + std::string(source.files.front());
}

// The weights that NeuSight's experiment allows: read if they were kept, otherwise trained and kept.
Result<Weights> neusight_weights(const EndToEndCommand& command, Vendor vendor) {
  const std::string kept =
      command.keep.empty() ? "" : command.keep + (vendor == Vendor::amd ? "/amd.weights" : "/nvidia.weights");
  if (!kept.empty() && something_at(kept)) return load_weights(kept);
  auto weights = train_for_neusight(command.data, vendor, kThreads, terminal_progress());
  if (!weights || kept.empty()) return weights;
  if (auto saved = save_weights(*weights, kept); !saved) return std::move(saved).error();
  return weights;
}

// The same cases as users are told them, beside the experiment's forecasts.
Status add_shipped(Results& results, const std::vector<EndToEndCase>& cases, const ModelSource& shipped) {
  LeftOutRows without;
  const auto judged = judge_cases(cases, Method::tilecast, &shipped, &without);
  if (!judged) return judged.error();
  for (std::size_t i = 0; i < std::min(results->size(), judged->size()); ++i)
    (*results)[i].others.emplace_back("shipped", (*judged)[i].forecast);
  return Ok{};
}

// NVIDIA's rows are judged by weights trained on NVIDIA's rows alone, AMD's by weights trained on AMD's.
Results judge_neusight(const EndToEndCommand& command, const ModelSource& shipped) {
  const std::string folder = command.data + "/neusight";
  const auto read = neusight_cases(folder);
  if (!read) return read.error();
  const auto timings = eager_timings(command.data);
  if (!timings) return timings.error();
  std::vector<EndToEndResult> all;
  LeftOutRows left_out = read->left_out, operators_left_out;
  for (const Vendor vendor : {Vendor::nvidia, Vendor::amd}) {
    std::vector<EndToEndCase> own;
    for (const EndToEndCase& one : read->cases)
      if (one.label.detail == (vendor == Vendor::amd ? "AMD" : "NVIDIA")) own.push_back(one);
    const auto weights = neusight_weights(command, vendor);
    if (!weights) return weights.error();
    auto judged = judge_cases(own, Method::tilecast, &*weights, &left_out);
    if (!judged) return judged;
    if (auto added = add_shipped(judged, own, shipped); !added) return std::move(added).error();
    std::move(judged->begin(), judged->end(), std::back_inserter(all));
    auto alone = judge_neusight_operators(folder, vendor, *timings, *weights);
    if (!alone) return std::move(alone).error();
    std::move(alone->results.begin(), alone->results.end(), std::back_inserter(all));
    for (const auto& [why, rows] : alone->left_out) leave_out(operators_left_out, why, rows);
  }
  add_counts(all, "neusight", read->rows, left_out);
  say_left_out("neusight", left_out);
  say_left_out("neusight-operators", operators_left_out);
  return all;
}

// The served runs of a table that were asked for; the others do not count as left-out rows.
Results judge_runs(const EndToEndCommand& command, const SourceMapping& source, Result<ServingCases> read,
                   const ModelSource& weights) {
  if (!read) return std::move(read).error();
  Count at = 0;
  std::erase_if(read->cases, [&](const ServingCase& one) {
    const bool judged = half_of(one.label) == ServingHalf::judged_on;
    if (!command.half.empty() && judged != (command.half == "judged")) return true;
    return at++ % command.every != 0;
  });
  if (command.every > 1 || !command.half.empty()) {
    read->rows = static_cast<Count>(read->cases.size());
    if (read->cases.empty()) return std::vector<EndToEndResult>();
  }
  return judge_read(source, read, weights, judge_serving);
}
Results judge_gpustack(const EndToEndCommand& command, const ModelSource& weights) {
  return judge_runs(command, kGpustackSource,
                    gpustack_cases(file_of(kGpustackSource, command.data), sharegpt_lengths()), weights);
}

struct JudgedSource {
  const SourceMapping* mapping;
  Results (*judge)(const EndToEndCommand& command, const ModelSource& weights);
  bool ours = false;  // reads our own measurements only
};
// A source whose table is read by a function of its path.
template <const SourceMapping& source, auto read>
Results judge_table(const EndToEndCommand& command, const ModelSource& weights) {
  auto cases = read(file_of(source, command.data));
  if constexpr (std::is_same_v<decltype(cases), Result<ServingCases>>)
    return judge_runs(command, source, std::move(cases), weights);
  else return judge_with(source, cases, weights);
}
Result<EndToEndCases> bridge_cases(const std::string& path) { return nemo_cases(path, kBridgeSource); }
Result<EndToEndCases> nemo_only_cases(const std::string& path) { return nemo_cases(path, kNemoSource); }
// Runs of thousands of requests are slow: a third of them takes four CPU minutes.
Result<ServingCases> overview_sample(const std::string& path) { return overview_cases(path, 3); }

constexpr std::array<JudgedSource, 18> kJudgedSources = {
    {{&kOwnModelsSource,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(kOwnModelsSource, h200_cases(file_of(kOwnModelsSource, c.measurements)), w);
      },
      true},
     {&kOwnStepsSource,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(kOwnStepsSource, h200_step_cases(c.measurements), w);
      },
      true},
     {&kOwnTrainingSource,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(kOwnTrainingSource, h200_training_cases(file_of(kOwnTrainingSource, c.measurements)), w);
      },
      true},
     {&kArgonneSource, judge_table<kArgonneSource, argonne_cases>},
     {&kTrtllmSource, judge_table<kTrtllmSource, trtllm_cases>},
     {&kSynperfModelsSource,
      [](const EndToEndCommand& c, const ModelSource& w) {
        return judge_with(kSynperfModelsSource, synperf_cases(c.data + "/synperf"), w);
      }},
     {&kMosaicSource, judge_table<kMosaicSource, mosaic_cases>},
     {&kMegatronSource, judge_table<kMegatronSource, megatron_cases>},
     {&kBridgeSource, judge_table<kBridgeSource, bridge_cases>},
     {&kNemoSource, judge_table<kNemoSource, nemo_only_cases>},
     {&kUltrascaleSource, judge_table<kUltrascaleSource, ultrascale_cases>},
     {&kMlperfTrainingSource, judge_table<kMlperfTrainingSource, mlperf_cases>},
     {&kNeusightModelsSource, judge_neusight},
     {&kLlmservingsimSource, judge_table<kLlmservingsimSource, llmservingsim_cases>},
     {&kGpustackSource, judge_gpustack},
     {&kSiliconSource, judge_table<kSiliconSource, silicon_cases>},
     {&kInferencexSource, judge_table<kInferencexSource, inferencex_cases>},
     {&kOverviewSource, judge_table<kOverviewSource, overview_sample>}}};

}  // namespace

std::string end_to_end_sources() {
  std::string names;
  for (const JudgedSource& source : kJudgedSources)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", source.mapping->name);
  return names;
}

Result<std::vector<EndToEndResult>> judge_end_to_end(const EndToEndCommand& command) {
  std::optional<Weights> given;
  if (!command.weights.empty()) {
    auto loaded = load_weights(command.weights);
    if (!loaded) return std::move(loaded).error();
    given = *std::move(loaded);
  }
  const ModelSource& weights = given ? static_cast<const ModelSource&>(*given) : shipped_models();
  if (command.every < 1) return Error{"", "every", "must be at least 1", "--every 8"};
  if (!command.half.empty() && command.half != "chosen" && command.half != "judged")
    return Error{"", "half", "must be chosen or judged, not '" + command.half + "'", "leave it out for both"};
  std::vector<std::string> wanted;
  if (!command.only.empty()) wanted = split(command.only, ',');
  for (const std::string& name : wanted)
    if (std::none_of(kJudgedSources.begin(), kJudgedSources.end(),
                     [&](const JudgedSource& source) { return source.mapping->name == name; }))
      return Error{"", "only",
                   fmt::format("must be one of {}, or several of them, not '{}'", end_to_end_sources(), name),
                   "leave it out for all of them"};
  std::vector<EndToEndResult> results;
  for (const JudgedSource& source : kJudgedSources) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), source.mapping->name) == wanted.end()) continue;
    if (!source.ours && command.data.empty()) {
      if (command.only.empty()) continue;
      return Error{"", "data", "is missing: the folder with e2e/, synperf/ and neusight/",
                   "for example --data ../data"};
    }
    auto judged = source.judge(command, weights);
    if (!judged) return judged;
    std::move(judged->begin(), judged->end(), std::back_inserter(results));
  }
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
