#include "cli/commands/calibrate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "estimate/shipped_weights.h"
#include "gpu/calibration_file.h"
#include "gpu/registry.h"
#include "calibrate/calibrate.h"
#include "measure/dims.h"
#include "measure/measurement.h"
#include "measure/traps.h"
#include "measure/sample.h"
#include "support/file.h"
#include "support/json.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

constexpr Count kMostRows =
    1500;  // of every table, engine, family and format: more teach nothing that the fit can hold
constexpr int kPlanThreads = 2;
constexpr std::size_t kMostDescription = 64u << 20;

// Rows of the card, in an order that mixes shapes. A card's own file may name it as it likes while its rows bear the
// name of the model: rows of one other name will do where none bears the card's.
Result<std::vector<Measurement>> rows_of(const std::vector<std::string>& paths, const Gpu& gpu, Names& names) {
  Sampler own({kMostRows, 0}), foreign({kMostRows, 0});
  std::set<std::string> others;
  for (const std::string& path : paths) {
    auto read = read_measurements(path, names, {}, [&](const Measurement& row) -> Status {
      const bool named = name_key(row.gpu) == name_key(gpu.name);
      if (!named) others.emplace(row.gpu);
      if (trap_of(row).empty()) (named ? own : foreign).offer(row);
      return Ok{};
    });
    if (!read) return std::move(read).error();
  }
  std::vector<Measurement> rows = own.take();
  if (rows.empty() && !gpu.built_in && others.size() == 1) rows = foreign.take();
  if (rows.empty()) {
    const std::string whose = others.empty() ? "no rows" : "rows of " + join({others.begin(), others.end()}, ", ");
    return Error{join(paths, ", "), "", "holds " + whose + ", not of " + gpu.name,
                 "give --gpu the card they were measured on"};
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Measurement& a, const Measurement& b) {
    return shape_hash(a.kernel.shape, 3) < shape_hash(b.kernel.shape, 3);
  });
  return rows;
}

// The description the calibration is added to: a file's own fields, or "like" a built-in card.
Result<Json> description(const CalibrateCommand& command, const Gpu& gpu) {
  if (gpu.built_in) return Json{{"like", gpu.name}, {"name", gpu.name}};
  auto text = read_text_file(command.gpu, kMostDescription);
  if (!text) return std::move(text).error();
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return Error{command.gpu, "", "is no JSON object", ""};
  json.erase("calibration");
  return json;
}

std::string percent(float log) { return fmt::format("{:.0f} %", 100 * std::abs(std::expm1(log))); }

// "bytes from DRAM take 6 % longer than forecast"
std::string factor_words(std::size_t term, float log) {
  constexpr std::array<std::string_view, kCardTerms> kWhat = {
      "arithmetic takes", "bytes through L2 take", "bytes to and from DRAM take",
      "dependent steps, prologues and epilogues take", "being launched takes"};
  const std::string what(kWhat[term]);
  if (std::abs(std::expm1(log)) < 0.015) return what + " what was forecast";
  return fmt::format("{} {} {} than forecast", what, percent(log), log > 0 ? "longer" : "less");
}

struct Made {
  CheckedCalibration checked;
  std::string gpu, out;
  std::string judge = {};                    // table
  std::vector<CalibrationGain> judged = {};  // by it
  double seconds = 0;
  Count unplanned = 0;
};

std::string gains_table(const Calibration& c, const std::vector<CalibrationGain>& gains, bool fitted) {
  std::vector<Table::Column> columns = {{"family", Align::left}, {"rows"}, {"before"}, {"after"}};
  if (fitted) columns.insert(columns.end(), {{"points"}, {"", Align::left}});
  Table table(std::move(columns));
  const auto errors = [](const std::string& name, Count rows, double before, double after) {
    return std::vector<std::string>{name, std::to_string(rows), fmt::format("{:.1f} %", 100 * before),
                                    fmt::format("{:.1f} %", 100 * after)};
  };
  for (const CalibrationGain& gain : gains) {
    std::vector<std::string> cells = errors(gain.key, gain.rows, gain.before, gain.after);
    if (fitted)
      cells.insert(cells.end(), {std::to_string(c.families.at(gain.key).points.size()),
                                 gain.kept ? "" : "no better: left as it was"});
    table.add(std::move(cells));
  }
  const CalibrationGain all = over_all(gains, fitted);
  std::vector<std::string> cells = errors("all rows", all.rows, all.before, all.after);
  if (fitted) cells.insert(cells.end(), {"", ""});
  table.add(std::move(cells));
  return table.text(2);
}

std::string text_of(const Made& made) {
  const Calibration& c = made.checked.calibration;
  std::string out = fmt::format("{}: {} measured rows, {} families and formats, fitted in {:.1f} s\n\n", made.gpu,
                                c.rows, c.families.size(), made.seconds);
  out += "What they say of the card, in all families:\n";
  for (std::size_t t = 0; t < c.factors.size(); ++t) out += "  " + factor_words(t, c.factors[t]) + "\n";
  out += "\nError of rows that the fit had not seen, five times a fifth of them left out:\n";
  out += gains_table(c, made.checked.gains, true);
  if (!made.judge.empty())
    out += fmt::format("\nError of the rows of {}, shapes fitted to left out:\n", made.judge) +
           gains_table(c, made.judged, false);
  if (made.unplanned > 0) out += fmt::format("\n{} rows were not used: no plan for them on this GPU\n", made.unplanned);
  out += fmt::format("\n{} written; every command takes it:\n  tilecast predict Llama-3.1-8B --gpu {}\n", made.out,
                     made.out);
  return out;
}

Json gains_json(const std::vector<CalibrationGain>& gains) {
  Json list = Json::array();
  for (const CalibrationGain& gain : gains)
    list.push_back({{"family", gain.key},
                    {"rows", gain.rows},
                    {"error_before", gain.before},
                    {"error_after", gain.after},
                    {"kept", gain.kept}});
  return list;
}

std::string json_of(const Made& made) {
  const Calibration& c = made.checked.calibration;
  Json factors = Json::object();
  for (std::size_t t = 0; t < c.factors.size(); ++t) factors[std::string(kCardTermNames[t])] = std::exp(c.factors[t]);
  const CalibrationGain all = over_all(made.checked.gains, true);
  Json json = {{"gpu", made.gpu},
               {"rows", c.rows},
               {"rows_without_plan", made.unplanned},
               {"seconds", made.seconds},
               {"time_factors", factors},
               {"error_before", all.before},
               {"error_after", all.after},
               {"families", gains_json(made.checked.gains)},
               {"written", made.out}};
  if (!made.judge.empty()) json["judged"] = {{"table", made.judge}, {"families", gains_json(made.judged)}};
  return json_text(json);
}

// Rows beside their forecasts; `unplanned` counts those that have none.
std::vector<CalibrationRow> calibration_rows(const std::vector<Measurement>& rows, const Gpu& gpu,
                                             const ModelSource& weights, Count& unplanned) {
  std::vector<CalibrationRow> usable;
  for (const PlannedRow& row : plan_rows_on(gpu, rows, kPlanThreads)) {
    if (row.analytic.failed) ++unplanned;
    else usable.push_back(calibration_row(weights.find(row.measured->kernel), row));
  }
  return usable;
}

}  // namespace

Result<std::string> run_calibrate(const CalibrateCommand& command) {
  const auto began = std::chrono::steady_clock::now();
  if (auto fine = check_writable(command.out); !fine) return std::move(fine).error();
  auto gpu = load_gpu(command.gpu);
  if (!gpu) return std::move(gpu).error();
  auto file = description(command, *gpu);
  if (!file) return std::move(file).error();
  gpu->calibration = nullptr;  // measured anew, not on top of an older one
  Weights own;
  if (!command.weights.empty()) {
    auto read = load_weights(command.weights);
    if (!read) return std::move(read).error();
    own = *std::move(read);
  }
  const ModelSource& weights = command.weights.empty() ? shipped_models() : own;
  Names names;
  const auto rows = rows_of(command.data, *gpu, names);
  if (!rows) return rows.error();
  Made made;
  made.gpu = gpu->name;
  made.out = command.out;
  const std::vector<CalibrationRow> usable = calibration_rows(*rows, *gpu, weights, made.unplanned);
  if (usable.size() < kLeastCalibrationRows)
    return Error{
        "--data", "",
        fmt::format("{} rows that can be forecast say nothing that would hold for another", usable.size()),
        fmt::format("give {} or more; a minute of tools/collect measures over a thousand", kLeastCalibrationRows)};
  made.checked = calibrate(usable);
  made.checked.calibration.data = join(command.data, ", ");
  if (!command.judge.empty()) {
    auto others = rows_of({command.judge}, *gpu, names);
    if (!others) return std::move(others).error();
    Count none = 0;
    made.judge = command.judge;
    made.judged = judge_calibration(made.checked.calibration,
                                    calibration_rows(other_shapes(*std::move(others), *rows), *gpu, weights, none));
  }
  (*file)["calibration"] = calibration_json(made.checked.calibration);
  if (auto saved = write_text_file(command.out, json_text(*file, 1)); !saved) return std::move(saved).error();
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return command.json ? json_of(made) : text_of(made);
}

}  // namespace tilecast
