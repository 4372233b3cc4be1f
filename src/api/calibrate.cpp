#include "tilecast/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/declare.h"
#include "calibrate/calibrate.h"
#include "calibrate/power_fit.h"
#include "estimate/shipped_weights.h"
#include "gpu/calibration_file.h"
#include "gpu/registry.h"
#include "measure/dims.h"
#include "measure/measurement.h"
#include "measure/sample.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr Count kMostRows =
    1500;  // of every table, engine, family and format: more teach nothing that the fit can hold
constexpr std::size_t kMostDescription = 64u << 20;
constexpr double kPowerFitted = 0.4;  // share of the whole time after which the card's power is known

// Rows of the card, in an order that mixes shapes. A card's own file may name it as it likes while its rows bear the
// name of the model: rows of one other name will do where none bears the card's.
Result<std::vector<Measurement>> rows_of(const std::vector<std::string>& paths, const Gpu& gpu, Names& names,
                                         const Watch& watch = {}) {
  Sampler own({kMostRows, 0}), foreign({kMostRows, 0});
  std::set<std::string> others;
  for (const std::string& path : paths) {
    auto read = read_measurements(path, names, {}, [&](const Measurement& row) -> Status {
      const bool named = name_key(row.gpu) == name_key(gpu.name);
      if (!named) others.emplace(row.gpu);
      if (trap_of(row).empty()) (named ? own : foreign).offer(row);
      return watch.go_on(0) ? Status(Ok{}) : Status(stopped());
    });
    if (!read) return std::move(read).error();
  }
  std::vector<Measurement> rows = own.take();
  if (rows.empty() && !gpu.built_in && others.size() == 1) rows = foreign.take();
  if (rows.empty()) {
    const std::string whose = others.empty() ? "no rows" : "rows of " + join({others.begin(), others.end()}, ", ");
    return Error{join(paths, ", "), "", "holds " + whose + ", not of " + gpu.name,
                 "name the card they were measured on"};
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Measurement& a, const Measurement& b) {
    return shape_hash(a.kernel.shape, 3) < shape_hash(b.kernel.shape, 3);
  });
  return rows;
}

// The description the calibration is added to: a file's own fields, or "like" a built-in card.
Result<std::string> own_description(const std::string& given, const Gpu& gpu) {
  if (gpu.built_in) return like_description(gpu.name);
  if (is_object_text(given)) return given;
  return read_text_file(given, kMostDescription);
}

// Rows beside their forecasts, with the card's own power and without.
std::vector<CalibrationRow> both_forecasts(const std::vector<Measurement>& rows, const Gpu& gpu, const CardPower& power,
                                           const ModelSource& weights, Count& unplanned) {
  std::vector<CalibrationRow> own = calibration_rows(rows, gpu, power, weights, &unplanned);
  const std::vector<CalibrationRow> plain = calibration_rows(rows, gpu, {}, weights);
  for (std::size_t i = 0; i < own.size() && plain.size() == own.size(); ++i) own[i].plain_us = plain[i].forecast_us;
  return own;
}

std::vector<CalibratedFamily> families_of(const std::vector<CalibrationGain>& gains, const Calibration& calibration) {
  std::vector<CalibratedFamily> all;
  for (const CalibrationGain& gain : gains) {
    const auto family = calibration.families.find(gain.key);
    const std::size_t points = family == calibration.families.end() ? 0 : family->second.points.size();
    all.push_back({gain.key, gain.rows, gain.before, gain.after, gain.kept, static_cast<Count>(points)});
  }
  return all;
}

void say_fit(CalibrationReport& report, const CheckedCalibration& checked, const CardPower& power) {
  const Calibration& c = checked.calibration;
  report.rows = c.rows;
  for (std::size_t t = 0; t < c.factors.size(); ++t)
    report.time_factors.push_back({std::string(kCardTermNames[t]), std::exp(c.factors[t])});
  report.energy_factor = std::exp(power.energy);
  report.burst_factor = std::exp(power.burst);
  report.sustained_rows = checked.sustained.rows;
  report.sustained_before = checked.sustained.before, report.sustained_after = checked.sustained.after;
  report.families = families_of(checked.gains, c);
  const CalibrationGain all = over_all(checked.gains, true);
  report.error_before = all.before, report.error_after = all.after;
}

// What a calibration starts from.
struct Start {
  Gpu gpu;
  std::string description;
  Weights own;
  bool shipped = true;
  const ModelSource& weights() const { return shipped ? shipped_models() : own; }
};

Result<Start> start_of(const CalibrateQuery& query) {
  auto gpu = load_gpu(query.gpu);
  if (!gpu) return in_field(std::move(gpu).error(), "gpu");
  auto text = own_description(query.gpu, *gpu);
  if (!text) return std::move(text).error();
  gpu->calibration = nullptr, gpu->constants = nullptr;  // measured anew, not on top of an older one
  Start start{*std::move(gpu), *std::move(text), {}, query.weights.empty()};
  if (start.shipped) return start;
  auto read = load_weights(query.weights);
  if (!read) return std::move(read).error();
  start.own = *std::move(read);
  return start;
}

// Read before anything is fitted, so that a table of another card is refused at once.
Result<std::vector<Measurement>> rows_to_judge(const std::string& table, const std::vector<Measurement>& fitted,
                                               const Gpu& gpu, Names& names) {
  if (table.empty()) return std::vector<Measurement>{};
  auto others = rows_of({table}, gpu, names);
  if (!others) return std::move(others).error();
  return other_shapes(*std::move(others), fitted);
}

struct Fitted {
  Calibration calibration;
  CardPower power;
};

void judge(CalibrationReport& report, const std::vector<Measurement>& rows, const Fitted& fit, const Start& start) {
  Count none = 0;
  std::vector<CalibrationRow> all_rows = both_forecasts(rows, start.gpu, fit.power, start.weights(), none);
  const auto gains = judge_calibration(fit.calibration, all_rows);
  report.judged = families_of(gains, fit.calibration);
  const CalibrationGain all = over_all(gains, false);
  report.judged_rows = all.rows, report.judged_before = all.before, report.judged_after = all.after;
  std::erase_if(all_rows, [](const CalibrationRow& row) { return !is_sustained(row.variant); });
  const CalibrationGain lasting = over_all(judge_calibration(fit.calibration, all_rows), false);
  report.judged_sustained_rows = lasting.rows;
  report.judged_sustained_before = lasting.before, report.judged_sustained_after = lasting.after;
}

}  // namespace

Result<CalibrationReport> calibrate(const CalibrateQuery& query, const Watch& watch) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto start = start_of(query);
  if (!start) return start.error();
  Names names;
  const auto rows = rows_of(query.data, start->gpu, names, watch);
  if (!rows) return rows.error();
  auto others = rows_to_judge(query.judge, *rows, start->gpu, names);
  if (!others) return std::move(others).error();
  CalibrationReport report;
  report.gpu = start->gpu.name;
  const auto fitted = fit_power(*rows, start->gpu, start->weights(), watch.part(0, kPowerFitted));
  if (!fitted) return fitted.error();
  const CardPower& power = *fitted;
  const std::vector<CalibrationRow> usable =
      both_forecasts(*rows, start->gpu, power, start->weights(), report.rows_without_plan);
  if (usable.size() < kLeastCalibrationRows)
    return field_error(
        "data", fmt::format("{} rows that can be forecast say nothing that would hold for another", usable.size()),
        fmt::format("give {} or more; a minute of tools/collect measures over a thousand", kLeastCalibrationRows));
  auto found = calibrate(usable, watch.part(kPowerFitted, 1));
  if (!found) return std::move(found).error();
  CheckedCalibration& checked = *found;
  checked.calibration.data = join(query.data, ", ");
  say_fit(report, checked, power);
  if (!query.judge.empty()) judge(report, *others, {checked.calibration, power}, *start);
  auto text = with_calibration(start->description, query.gpu, checked.calibration, power);
  if (!text) return std::move(text).error();
  report.description = *std::move(text);
  return report;
}

const Question& calibrate_question() {
  static const Question question{
      "calibrate",
      "correct the forecasts of a card with measurements of it",
      {"calibrate --gpu H200-SXM --data data/measurements/h200_quick.csv.gz -o my-gpu.json"}};
  return question;
}

std::vector<BoundArgument> arguments_of(CalibrateQuery& q) {
  Declare list;
  list.add(q.gpu, {.name = "gpu",
                   .help = "the card: a name, or a description file (tools/collect writes one)",
                   .example = "H200-SXM",
                   .required = true,
                   .touches = Touches::gpu});
  list.add(q.data,
           {.name = "data",
            .help = "tables of its measured rows, in Tilecast's own form (`tilecast-lab import` converts others)",
            .example = "quick.csv.gz",
            .required = true,
            .touches = Touches::file});
  list.add(q.judge, {.name = "judge",
                     .help = "also judge the result on this table's rows, except shapes that the fit has seen",
                     .example = "sweep.csv.gz",
                     .touches = Touches::file});
  list.add(q.weights, {.name = "weights",
                       .help = "weights to correct (default: the shipped ones)",
                       .example = "my.weights",
                       .touches = Touches::file});
  return list.take();
}

}  // namespace tilecast
