#include "calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr std::size_t kParts = 5;
// An interval is not made narrower or wider than this, whatever few rows say.
constexpr double kNarrowest = 0.25, kWidest = 3;
constexpr std::size_t kLeastSpreadRows = 20;

struct Judged {
  const CalibrationRow* row;
  double calibrated_us;
};

// Every row forecast by a calibration that has not seen it.
Result<std::vector<Judged>> cross_validated(std::span<const CalibrationRow> rows, const Watch& watch) {
  std::vector<Judged> judged;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (!watch.go_on(static_cast<double>(part) / kParts)) return stopped();
    std::vector<const CalibrationRow*> rest;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (i % kParts != part) rest.push_back(&rows[i]);
    const Calibration calibration = fit_calibration(rest);
    for (std::size_t i = part; i < rows.size(); i += kParts)
      judged.push_back({&rows[i], calibrated_us(calibration, rows[i])});
  }
  return judged;
}

// Where a measured time lies in its forecast's interval: 1 at the end of it.
double reached(const CalibrationRow& row, double forecast_us) {
  const double off = std::log(row.measured_us / forecast_us);
  const double width = off > 0 ? std::log(row.high_us / row.forecast_us) : std::log(row.forecast_us / row.low_us);
  return std::abs(off) / std::max(0.005, width);
}

// The factor on intervals that makes them hold four rows in five.
double spread_of(std::vector<double> reached) {
  if (reached.size() < kLeastSpreadRows) return 1;
  const std::size_t rank = reached.size() * 4 / 5;
  return std::clamp(value_of_rank(std::move(reached), rank), kNarrowest, kWidest);
}

CalibrationGain gain_of(const std::string& key, std::span<const Judged> judged) {
  CalibrationGain gain{key, static_cast<Count>(judged.size())};
  for (const Judged& j : judged) {
    const double plain = j.row->plain_us > 0 ? j.row->plain_us : j.row->forecast_us;
    gain.before += error_of(plain, *j.row) / static_cast<double>(judged.size());
    gain.uncorrected += error_of(j.row->forecast_us, *j.row) / static_cast<double>(judged.size());
    gain.after += error_of(j.calibrated_us, *j.row) / static_cast<double>(judged.size());
  }
  gain.kept = gain.after < gain.uncorrected;
  return gain;
}

std::map<std::string, std::vector<Judged>> by_family(std::span<const Judged> judged) {
  std::map<std::string, std::vector<Judged>> families;
  for (const Judged& j : judged) families[j.row->key].push_back(j);
  return families;
}

// Rows that tell of the card; of a family that has none, the others.
std::vector<CalibrationRow> without_hosts(std::span<const CalibrationRow> rows) {
  std::set<std::string_view> graphs;
  for (const CalibrationRow& row : rows)
    if (!is_eager(row.variant)) graphs.insert(row.key);
  std::vector<CalibrationRow> kept;
  for (const CalibrationRow& row : rows)
    if (!is_eager(row.variant) || !graphs.contains(row.key)) kept.push_back(row);
  return kept;
}

}  // namespace

CalibrationRow calibration_row(const FamilyModel* model, const PlannedRow& row) {
  const Context context = row.measured->whole_context();
  CalibrationRow made;
  made.key = model ? model->key : model_key(row.measured->kernel);
  made.variant = calibration_variant(row.measured->kernel, context);
  made.measured_us = in_microseconds(row.measured->latency);
  made.bound_us = in_microseconds(row.analytic.bound);
  made.learned = model != nullptr;
  made.terms = row.input.terms;
  LearnedTime t{row.analytic.forecast, row.analytic.low, row.analytic.high, row.analytic.bound};
  Standing standing;
  standing.rates = tuned_rates(Tuning{}, 1);
  if (model) {
    standing = standing_of(*model, context, *row.gpu);
    standing.calibration = nullptr;  // a card may be calibrated again
    t = learned_time(*model, row.input, standing);
  }
  const Prepared p = prepare(row.input, standing);
  made.rates = standing.rates;
  made.forecast_us = in_microseconds(t.median);
  made.low_us = in_microseconds(t.low), made.high_us = in_microseconds(t.high);
  made.place = calibration_place(p.features, p.base);
  return made;
}

std::vector<Measurement> other_shapes(std::vector<Measurement> rows, const std::vector<Measurement>& fitted) {
  const auto text = [](const Measurement& row) { return model_key(row.kernel) + " " + dims_text(row.kernel.shape); };
  std::set<std::string> taken;
  for (const Measurement& row : fitted) taken.insert(text(row));
  std::erase_if(rows, [&](const Measurement& row) { return taken.contains(text(row)); });
  return rows;
}

double calibrated_us(const Calibration& calibration, const CalibrationRow& row) {
  const LogCorrection log =
      log_correction(calibration_standing(&calibration, row.key, row.variant), row.terms, row.rates, row.place);
  return std::max(row.forecast_us * std::exp(log.whole()), row.bound_us);
}

double error_of(double forecast_us, const CalibrationRow& row) {
  return std::abs(forecast_us - row.measured_us) / row.measured_us;
}

CalibrationGain over_all(std::span<const CalibrationGain> gains, bool checked) {
  CalibrationGain all;
  for (const CalibrationGain& gain : gains) {
    const auto rows = static_cast<double>(gain.rows);
    all.rows += gain.rows;
    all.before += gain.before * rows;
    all.after += (checked && !gain.kept ? gain.uncorrected : gain.after) * rows;
  }
  if (all.rows == 0) return all;
  all.before /= static_cast<double>(all.rows), all.after /= static_cast<double>(all.rows);
  return all;
}

std::vector<CalibrationGain> judge_calibration(const Calibration& calibration, std::span<const CalibrationRow> rows) {
  std::vector<Judged> judged;
  for (const CalibrationRow& row : rows) judged.push_back({&row, calibrated_us(calibration, row)});
  std::vector<CalibrationGain> gains;
  for (const auto& [key, own] : by_family(judged)) gains.push_back(gain_of(key, own));
  return gains;
}

Result<CheckedCalibration> calibrate(std::span<const CalibrationRow> given, const Watch& watch) {
  const std::vector<CalibrationRow> rows = without_hosts(given);
  CheckedCalibration out;
  std::vector<const CalibrationRow*> all;
  for (const CalibrationRow& row : rows) all.push_back(&row);
  out.calibration = fit_calibration(all);
  const auto unseen = cross_validated(rows, watch.part(1.0 / (kParts + 1), 1));
  if (!unseen) return unseen.error();
  std::vector<Judged> lasting;
  for (auto& [key, judged] : by_family(*unseen)) {
    CalibrationGain gain = gain_of(key, judged);
    FamilyCalibration& family = out.calibration.families[key];
    if (!gain.kept) {
      family = {};
      family.rows = gain.rows;
      for (std::size_t t = 0; t < family.factors.size(); ++t) family.factors[t] = -out.calibration.factors[t];
    }
    std::vector<double> where;
    for (const Judged& j : judged) where.push_back(reached(*j.row, gain.kept ? j.calibrated_us : j.row->forecast_us));
    family.spread = static_cast<float>(spread_of(std::move(where)));
    for (Judged& j : judged) {
      if (!gain.kept) j.calibrated_us = j.row->forecast_us;
      if (is_sustained(j.row->variant)) lasting.push_back(j);
    }
    out.gains.push_back(std::move(gain));
  }
  if (!lasting.empty()) out.sustained = gain_of("sustained", lasting);
  return out;
}

}  // namespace tilecast
