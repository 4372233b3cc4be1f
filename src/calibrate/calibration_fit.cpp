#include "calibrate/calibration_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "estimate/calibration_levels.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

using Rows = std::vector<const CalibrationRow*>;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// How far from zero each part is expected, as logarithms, before the rows speak; the evidence of the rows scales these.
struct Prior {
  double card = 0.06, family = 0.1, offset = 0.1, source = 0.1;
};
constexpr Prior kPrior;
// Analytic forecasts err about three times as much as learned ones (docs/accuracy.md).
constexpr double kUnlearned = 3;

// Rows beyond so many times the noise count as if they lay there: timings have long tails.
constexpr double kHuber = 2;

constexpr std::size_t kMostPoints = 200;       // of the smooth part, a family
constexpr std::size_t kLeastSmoothRows = 12;   // a family with fewer has none
constexpr Eigen::Index kScaleRows = 250;       // suffice to choose the smooth part's scales
constexpr std::size_t kMostSmoothRows = 1500;  // of a family

double log_error(const CalibrationRow& row, const CalibrationStanding& standing) {
  return std::log(row.measured_us / row.forecast_us) -
         log_correction(standing, row.terms, row.rates, row.place).whole();
}

double log_error(const CalibrationRow& row, const Calibration& so_far) {
  return log_error(row, calibration_standing(&so_far, row.key, row.variant));
}

std::map<std::string, Rows> by_family(std::span<const CalibrationRow* const> rows) {
  std::map<std::string, Rows> families;
  for (const CalibrationRow* row : rows) families[row->key].push_back(row);
  return families;
}

// The first step. Its unknowns in one vector: the card's factors, then of each family its factors, its offset and its
// sources' offsets.
class PhysicalFit {
 public:
  explicit PhysicalFit(std::span<const CalibrationRow* const> rows) : rows_(rows) {
    const auto expect = [&](double size, bool offset) { expected_.push_back(size), offsets_.push_back(offset); };
    for (int t = 0; t < kCardTerms; ++t) expect(kPrior.card, false);
    for (const CalibrationRow* row : rows) {
      if (!families_.try_emplace(row->key, expected_.size()).second) continue;
      const double wider = row->learned ? 1 : kUnlearned;
      for (int t = 0; t < kCardTerms; ++t) expect(kPrior.family * wider, false);
      expect(kPrior.offset * wider, true);
    }
    for (const CalibrationRow* row : rows)
      for (const std::string& level : variant_levels(row->variant))
        if (sources_.try_emplace({row->key, level}, expected_.size()).second)
          expect(kPrior.source * (row->learned ? 1 : kUnlearned), true);
  }

  // Gauss and Newton's steps: the times are nearly linear in the factors, so few suffice.
  Calibration run() {
    VectorXd x = VectorXd::Zero(size());
    for (int round = 0; round < 4; ++round) {
      const Linear linear = linearised(x, round > 0);
      if (round < 2) choose_scales(linear);
      x = solved(linear);
    }
    return calibration_of(x);
  }

 private:
  // Sums over the rows: all that the solution and the evidence need.
  struct Linear {
    MatrixXd products;  // J^T J
    VectorXd right;     // J^T y
    double squares = 0, rows = 0;
  };

  Eigen::Index size() const { return static_cast<Eigen::Index>(expected_.size()); }

  Calibration calibration_of(const VectorXd& x) const {
    const auto at = [&](std::size_t i) { return static_cast<float>(x[static_cast<Eigen::Index>(i)]); };
    Calibration c;
    for (std::size_t t = 0; t < kCardTerms; ++t) c.factors[t] = at(t);
    for (const auto& [key, first] : families_) {
      FamilyCalibration& family = c.families[key];
      for (std::size_t t = 0; t < kCardTerms; ++t) family.factors[t] = at(first + t);
      family.offset = at(first + kCardTerms);
    }
    for (const auto& [name, index] : sources_) c.families[name.first].sources[name.second] = at(index);
    return c;
  }

  Linear linearised(const VectorXd& x, bool robust) const {
    const Calibration now = calibration_of(x);
    Linear sums{MatrixXd::Zero(size(), size()), VectorXd::Zero(size())};
    std::vector<std::pair<Eigen::Index, double>> slopes;
    for (const CalibrationRow* row : rows_) {
      const CalibrationStanding standing = calibration_standing(&now, row->key, row->variant);
      slopes.clear();
      const auto add = [&](std::size_t at, double slope) { slopes.emplace_back(static_cast<Eigen::Index>(at), slope); };
      const std::size_t family = families_.at(row->key);
      for (std::size_t t = 0; t < kCardTerms; ++t) {
        const double slope = slope_of(*row, standing, t);
        add(t, slope);
        add(family + t, slope);
      }
      add(family + kCardTerms, 1);
      for (const std::string& level : variant_levels(row->variant)) add(sources_.at({row->key, level}), 1);
      double target = log_error(*row, standing);
      const double weight = robust ? std::min(1.0, kHuber * noise_ / std::max(1e-9, std::abs(target))) : 1;
      for (const auto& [i, slope] : slopes) target += slope * x[i];  // what x itself explains
      for (const auto& [i, slope] : slopes) {
        sums.right[i] += weight * slope * target;
        for (const auto& [j, other] : slopes) sums.products(i, j) += weight * slope * other;
      }
      sums.squares += weight * target * target;
      sums.rows += 1;
    }
    return sums;
  }

  VectorXd expected(double factors, double offsets) const {
    VectorXd e(size());
    for (Eigen::Index i = 0; i < size(); ++i)
      e[i] = expected_[static_cast<std::size_t>(i)] * (offsets_[static_cast<std::size_t>(i)] ? offsets : factors);
    return e;
  }

  // Noise and scales of the prior under which the rows are most likely.
  void choose_scales(const Linear& linear) {
    double best = -1e300;
    for (const double factors : {0.1, 0.25, 0.5, 1.0, 2.0})
      for (const double offsets : {0.1, 0.25, 0.5, 1.0, 2.0}) {
        const VectorXd scale = expected(factors, offsets);
        const MatrixXd scaled = scale.asDiagonal() * linear.products * scale.asDiagonal();
        const VectorXd right = scale.cwiseProduct(linear.right);
        for (const double noise : {0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22}) {
          MatrixXd inner = scaled / (noise * noise);
          inner.diagonal().array() += 1;
          const Eigen::LLT<MatrixXd> cholesky(inner);
          const VectorXd half = cholesky.matrixL().solve(right);
          const double fit = (linear.squares - half.squaredNorm() / (noise * noise)) / (noise * noise);
          const double value =
              -linear.rows * std::log(noise) - cholesky.matrixLLT().diagonal().array().log().sum() - 0.5 * fit;
          if (value > best) best = value, factors_ = factors, scale_offsets_ = offsets, noise_ = noise;
        }
      }
  }

  VectorXd solved(const Linear& linear) const {
    MatrixXd normal = linear.products;
    normal.diagonal().array() += (noise_ / expected(factors_, scale_offsets_).array()).square();
    return normal.ldlt().solve(linear.right);
  }

  // Share of the time that grows with a term.
  static double slope_of(const CalibrationRow& row, const CalibrationStanding& standing, std::size_t term) {
    constexpr float kStep = 0.01f;
    CardFactors up = standing.factors, down = standing.factors;
    up[term] += kStep, down[term] -= kStep;
    return std::log(tuned_time(row.terms, with_factors(row.rates, up)) /
                    tuned_time(row.terms, with_factors(row.rates, down))) /
           (2 * static_cast<double>(kStep));
  }

  std::span<const CalibrationRow* const> rows_;
  std::vector<double> expected_;  // how far each unknown is expected from zero
  std::vector<bool> offsets_;     // which are offsets
  std::map<std::string, std::size_t> families_;
  std::map<std::pair<std::string, std::string>, std::size_t> sources_;
  double factors_ = 1, scale_offsets_ = 1, noise_ = 0.08;
};

// The second step, for one family.
class SmoothFit {
 public:
  SmoothFit(Rows rows, const Calibration& so_far) : rows_(std::move(rows)) {
    left_.resize(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) left_[static_cast<Eigen::Index>(i)] = log_error(*rows_[i], so_far);
    // Long tails again.
    std::vector<double> sizes;
    for (const double v : left_) sizes.push_back(std::abs(v));
    const double limit = 4 * std::max(0.005, upper_median(std::move(sizes)));
    left_ = left_.cwiseMax(-limit).cwiseMin(limit);
  }

  void run(FamilyCalibration& family) {
    const Eigen::Index few = std::min(kScaleRows, left_.size());
    double best = -1e300, smooth = 0, noise = 0;
    for (const double n : kNoises) best = std::max(best, log_likelihood(MatrixXd::Zero(few, few), 0, n));
    for (const double reach : {0.5, 1.0, 2.0, 4.0, 8.0}) {
      const MatrixXd alike = likenesses(reach, few);
      for (const double s : {0.03, 0.06, 0.12, 0.24})
        for (const double n : kNoises)
          if (const double value = log_likelihood(alike, s, n); value > best)
            best = value, family.reach = static_cast<float>(reach), smooth = s, noise = n;
    }
    if (smooth > 0) keep_points(family, smooth, noise);  // else the rows are as likely without
  }

 private:
  static constexpr std::array<double, 4> kNoises = {0.02, 0.04, 0.08, 0.16};

  // Of the first n rows.
  MatrixXd likenesses(double reach, Eigen::Index n) const {
    MatrixXd alike(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j) {
        const CalibrationRow &a = *rows_[static_cast<std::size_t>(i)], &b = *rows_[static_cast<std::size_t>(j)];
        alike(i, j) = alike(j, i) = likeness(a.place, a.variant, b.place, b.variant, reach);
      }
    return alike;
  }

  double log_likelihood(const MatrixXd& alike, double smooth, double noise) const {
    MatrixXd covariance = smooth * smooth * alike;
    covariance.diagonal().array() += noise * noise;
    const Eigen::LLT<MatrixXd> cholesky(covariance);
    if (cholesky.info() != Eigen::Success) return -1e300;
    const VectorXd whitened = cholesky.matrixL().solve(left_.head(alike.rows()));
    return -0.5 * whitened.squaredNorm() - cholesky.matrixLLT().diagonal().array().log().sum();
  }

  // Rows that span what all rows span, found one by one where most is unexplained; the process projected on them.
  void keep_points(FamilyCalibration& family, double smooth, double noise) const {
    const MatrixXd alike = likenesses(static_cast<double>(family.reach), left_.size());
    const std::vector<Eigen::Index> chosen = pivots(alike);
    const auto m = static_cast<Eigen::Index>(chosen.size());
    MatrixXd between(alike.rows(), m), among(m, m);
    for (Eigen::Index j = 0; j < m; ++j) {
      between.col(j) = alike.col(chosen[static_cast<std::size_t>(j)]);
      for (Eigen::Index i = 0; i < m; ++i)
        among(i, j) = alike(chosen[static_cast<std::size_t>(i)], chosen[static_cast<std::size_t>(j)]);
    }
    const double ratio = noise * noise / (smooth * smooth);
    MatrixXd normal = between.transpose() * between + ratio * among;
    normal.diagonal().array() += 1e-8 * static_cast<double>(alike.rows());
    const VectorXd weights = normal.ldlt().solve(between.transpose() * left_);
    for (Eigen::Index j = 0; j < m; ++j) {
      const CalibrationRow& row = *rows_[static_cast<std::size_t>(chosen[static_cast<std::size_t>(j)])];
      family.points.push_back({row.place, row.variant, static_cast<float>(weights[j])});
    }
  }

  static std::vector<Eigen::Index> pivots(const MatrixXd& alike) {
    const Eigen::Index n = alike.rows();
    VectorXd unexplained = alike.diagonal();
    std::vector<VectorXd> columns;
    std::vector<Eigen::Index> chosen;
    while (chosen.size() < kMostPoints && static_cast<Eigen::Index>(chosen.size()) < n) {
      Eigen::Index pivot = 0;
      if (unexplained.maxCoeff(&pivot) < 1e-3) break;
      VectorXd column = alike.col(pivot);
      for (const VectorXd& other : columns) column -= other[pivot] * other;
      column /= std::sqrt(unexplained[pivot]);
      unexplained -= column.cwiseAbs2();
      unexplained[pivot] = 0;
      columns.push_back(std::move(column));
      chosen.push_back(pivot);
    }
    return chosen;
  }

  Rows rows_;
  VectorXd left_;
};

}  // namespace

Calibration fit_calibration(std::span<const CalibrationRow* const> rows) {
  Calibration calibration = PhysicalFit(rows).run();
  calibration.rows = static_cast<Count>(rows.size());
  for (const auto& [key, own] : by_family(rows)) {
    FamilyCalibration& family = calibration.families[key];
    family.rows = static_cast<Count>(own.size());
    if (own.size() < kLeastSmoothRows) continue;
    Rows few(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(std::min(own.size(), kMostSmoothRows)));
    FamilyCalibration smooth;
    SmoothFit(std::move(few), calibration).run(smooth);
    family.reach = smooth.reach;
    family.points = std::move(smooth.points);
  }
  return calibration;
}

}  // namespace tilecast
