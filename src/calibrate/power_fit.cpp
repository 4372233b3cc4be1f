#include "calibrate/power_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/calibrate.h"
#include "measure/planned_rows.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr int kPlanThreads = 2;
// Chips of one kind differ by some percent in what they draw; rows of one kernel by about three from their forecast.
constexpr double kPowerPrior = 0.1, kNoise = 0.03;
constexpr double kLongTail = 2;  // times the noise: rows beyond count as if they lay nearer
constexpr double kFurthest = 0.3, kFirstStep = 0.06, kLastStep = 0.01;
constexpr double kFollows = 0.002;  // by which a forecast changes with a factor, at least, to have a say in it

struct PowerRegime {
  RunLength run;
  double CardPower::*factor;
};

double log_error(const CalibrationRow& row) { return std::log(row.measured_us / row.forecast_us); }

double cost_of(double error) {
  const double far = std::abs(error) / kNoise;
  return far < kLongTail ? far * far / 2 : kLongTail * (far - kLongTail / 2);
}

// Rows of one regime that have a plan.
std::vector<Measurement> planned(const std::vector<Measurement>& rows, const Gpu& gpu, RunLength run) {
  std::vector<Measurement> own, kept;
  for (const Measurement& row : rows)
    if (row.context.run == run && row.context.runtime == Runtime::graph) own.push_back(row);
  for (const PlannedRow& row : plan_rows_on(gpu, own, kPlanThreads))
    if (!row.analytic.failed) kept.push_back(*row.measured);
  return kept;
}

class PowerFit {
 public:
  PowerFit(const std::vector<Measurement>& rows, const Gpu& gpu, const ModelSource& weights, CardPower start,
           PowerRegime regime)
      : gpu_(gpu), weights_(weights), start_(start), regime_(regime) {
    const std::vector<Measurement> own = planned(rows, gpu, regime.run);
    const auto low = forecasts(own, -kFirstStep), high = forecasts(own, kFirstStep);
    for (std::size_t i = 0; i < own.size(); ++i)
      if (std::abs(std::log(high[i].forecast_us / low[i].forecast_us)) > kFollows) rows_.push_back(own[i]);
  }

  // `usual`: what a family's rows are off by whatever the power.
  Result<double> run(const std::map<std::string, double>& usual, const Watch& watch) const {
    if (rows_.empty()) return 0.0;
    double best = 0, least = cost(0, usual);
    for (double step = kFirstStep; step >= kLastStep; step /= 2)
      for (bool moved = true; moved;) {
        moved = false;
        for (const double next : {best - step, best + step}) {
          if (std::abs(next) > kFurthest) continue;
          if (!watch.go_on(std::log2(kFirstStep / step) / std::log2(2 * kFirstStep / kLastStep))) return stopped();
          if (const double here = cost(next, usual); here < least) best = next, least = here, moved = true;
        }
      }
    return best;
  }

 private:
  std::vector<CalibrationRow> forecasts(const std::vector<Measurement>& rows, double change) const {
    CardPower power = start_;
    power.*regime_.factor += change;
    return calibration_rows(rows, gpu_, power, weights_);
  }
  double cost(double change, const std::map<std::string, double>& usual) const {
    double sum = change * change / (2 * kPowerPrior * kPowerPrior);
    for (const CalibrationRow& row : forecasts(rows_, change)) {
      const auto off = usual.find(row.key);
      sum += cost_of(log_error(row) - (off == usual.end() ? 0 : off->second));
    }
    return sum;
  }

  const Gpu& gpu_;
  const ModelSource& weights_;
  CardPower start_;
  PowerRegime regime_;
  std::vector<Measurement> rows_;
};

// Median error of a family's bursts.
std::map<std::string, double> usual_errors(const std::vector<Measurement>& rows, const Gpu& gpu,
                                           const ModelSource& weights) {
  constexpr std::size_t kFewest = 5;
  const std::vector<Measurement> bursts = planned(rows, gpu, RunLength::burst);
  std::map<std::string, std::vector<double>> errors;
  for (const CalibrationRow& row : calibration_rows(bursts, gpu, {}, weights))
    errors[row.key].push_back(log_error(row));
  std::map<std::string, double> usual;
  for (auto& [key, list] : errors)
    if (list.size() >= kFewest) usual[key] = upper_median(std::move(list));
  return usual;
}

}  // namespace

std::vector<CalibrationRow> calibration_rows(const std::vector<Measurement>& rows, const Gpu& gpu,
                                             const CardPower& power, const ModelSource& weights, Count* unplanned) {
  Gpu card = gpu;
  card.constants = constants_of(power);
  std::vector<CalibrationRow> usable;
  for (const PlannedRow& row : plan_rows_on(card, rows, kPlanThreads)) {
    if (!row.analytic.failed) usable.push_back(calibration_row(weights.find(row.measured->kernel), row));
    else if (unplanned) ++*unplanned;
  }
  return usable;
}

Result<CardPower> fit_power(const std::vector<Measurement>& rows, const Gpu& gpu, const ModelSource& weights,
                            const Watch& watch) {
  CardPower power;
  double done = 0;
  const auto usual = usual_errors(rows, gpu, weights);
  for (const PowerRegime regime :
       {PowerRegime{RunLength::sustained, &CardPower::energy}, PowerRegime{RunLength::burst, &CardPower::burst}}) {
    const auto factor = PowerFit(rows, gpu, weights, power, regime).run(usual, watch.part(done / 2, (done + 1) / 2));
    if (!factor) return factor.error();
    power.*regime.factor = *factor;
    ++done;
  }
  return power;
}

}  // namespace tilecast
