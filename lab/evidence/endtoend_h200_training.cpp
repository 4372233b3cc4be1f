// Our own training steps on an H200: bf16 and fp8 after torchao's recipes, recomputation, adapters.
#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/library.h"

namespace tilecast {
namespace h200_training {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"h200_training_steps.csv.gz"};  // of data/measurements
constexpr std::array<SourceColumn, 14> kColumns = {{{"model", "shapes of Llama 3.2 and 3.1", ColumnRole::model},
                                                    {"layers", "the model is cut to"},
                                                    {"batch", "sequences"},
                                                    {"length", "tokens of each"},
                                                    {"precision", "of the blocks' products"},
                                                    {"engine", "eager or compile"},
                                                    {"recompute", "what runs again in the backward pass"},
                                                    {"rank", "of adapters; 0: everything learns"},
                                                    {"targets", "products with adapters"},
                                                    {"vocab", "words"},
                                                    {"latency_ms", "a step among steps back to back"},
                                                    {"peak_bytes", "of PyTorch's allocator in a step"},
                                                    {"issue_ms", "the host's time to issue a step to an idle card"},
                                                    {"add_us", "a plain addition on that host right after"}}};
constexpr std::array<NameRule, 3> kModels = {{{"1b", "Llama-3.2-1B"}, {"3b", "Llama-3.2-3B"}, {"8b", "Llama-3.1-8B"}}};

TrainPrecision precision_named(const std::string& name) {
  if (name == "fp8_tensor") return TrainPrecision::fp8_current;
  return name == "fp8_row" ? TrainPrecision::fp8_row : TrainPrecision::none;
}

std::optional<Recompute> recompute_named(const std::string& name) {
  static const std::map<std::string, Recompute> names = {{"none", Recompute::none},
                                                         {"full", Recompute::full},
                                                         {"attention", Recompute::selective},
                                                         {"ops", Recompute::operators},
                                                         {"alternate", Recompute::alternate}};
  const auto found = names.find(name);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

// Constants and code were chosen with these sizes in view; the others judge them.
bool is_chosen_on(const TableRow& row) {
  return row["model"] == "8b" && row.count("batch") * row.count("length") == 8192;
}

Result<ModelSpec> spec_of(const TableRow& row) {
  const auto name = row.model();
  if (!name) return name.error();
  auto spec = find_model(*name);
  if (!spec) return spec;
  spec->decoder->layers.front().repeats = row.count("layers");
  spec->vocab = row.count("vocab"), spec->tied_head = false;
  if (row.count("rank") > 0)
    spec->adapters = AdapterSpec{row.count("rank"), row["targets"] == "qv" ? AdapterTargets::qv : AdapterTargets::all};
  return spec;
}

Result<EndToEndCase> case_of(const TableRow& row) {
  const auto recompute = recompute_named(row["recompute"]);
  if (!recompute) return left_out_row("recomputation " + in_quotes(row["recompute"]));
  auto spec = spec_of(row);
  if (!spec) return std::move(spec).error();
  auto precision = precision_from("bf16");
  if (!precision) return std::move(precision).error();
  const bool eager = row["engine"] == "eager";
  Run run{*std::move(spec), {.mode = Mode::train, .requests = {{row.count("batch"), row.count("length"), 0}}}, {}, {}};
  run.engine.kind = eager ? EngineKind::pytorch : EngineKind::compile;
  run.engine.precision = *std::move(precision);
  run.engine.fused_norms = true;
  run.training.fused_optimizer = true;
  run.training.options.recompute = *recompute;
  run.training.options.precision = precision_named(row["precision"]);
  EndToEndCase one;
  one.label = {"h200-training", "H200-SXM", row["engine"],      row["model"],
               "train",         "",         row.count("batch"), row.count("length")};
  one.label.mode = row.count("rank") > 0 ? "adapters" : row["recompute"] != "none" ? "recomputation" : row["precision"];
  one.label.detail = fmt::format("{}, {}, {} layers", row["precision"], row["recompute"], row["layers"]);
  if (row.count("rank") > 0) one.label.detail += fmt::format(", rank {} {}", row["rank"], row["targets"]);
  one.label.detail += is_chosen_on(row) ? ", chosen on" : ", judged";
  if (eager) one.pace = HostPace{HostCode::operators, microseconds(row.number("add_us"))};
  constexpr double kMilli = 1e-3, kWaits = 0.85;
  if (row.number("issue_ms") > kWaits * row.number("latency_ms")) one.label.detail += ", host-bound";
  one.runs.push_back(std::move(run));
  one.figures.push_back({"step", row.number("latency_ms") * kMilli, {{0, 1, Part::step}}});
  one.figures.push_back({"memory", row.number("peak_bytes"), {{0, 1, Part::memory}}});
  return one;
}

}  // namespace
}  // namespace h200_training

constexpr SourceMapping kOwnTrainingSource{
    .name = "h200-training",
    .from = "our own, tools/collect/windows/train_steps.py",
    .licence = "as this repository",
    .files = h200_training::kFiles,
    .columns = h200_training::kColumns,
    .models = h200_training::kModels,
    .protocol = {"random weights under PyTorch 2.11, steps back to back for a second"}};

Result<EndToEndCases> h200_training_cases(const std::string& path) {
  return read_cases<EndToEndCase>(kOwnTrainingSource, path, h200_training::case_of);
}

}  // namespace tilecast
