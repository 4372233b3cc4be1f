#include "lab/train/fit_terms.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "measure/dims.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

using Rows = std::vector<const PlannedRow*>;
using Facts = std::map<std::string, SourceFacts, std::less<>>;

double law(const PlannedRow& row) { return floor_law(*row.gpu); }
double measured_us(const PlannedRow& row) { return in_microseconds(row.kernel_time()); }
bool hosted(const PlannedRow* row) { return row->own.has_value(); }

double middle_or_zero(std::vector<double> values) { return values.empty() ? 0 : upper_median(std::move(values)); }

// Rows that a level needs before its factors are fitted to it.
constexpr std::size_t kLeastRows = 100;
// Rows that suffice to fit eight factors; taken by the hash of their shapes.
constexpr std::size_t kMostRows = 2000;

Rows thinned(const Rows& rows) {
  if (rows.size() <= kMostRows) return rows;
  const std::uint64_t limit = ~std::uint64_t{0} / rows.size() * kMostRows;
  Rows few;
  for (const PlannedRow* row : rows)
    if (shape_hash(row->measured->kernel.shape, 7) < limit) few.push_back(row);
  return few;
}

// Coordinate descent on the mean of |log(measured / tuned)|, every GPU counting the same, held near `prior`.
class Fit {
 public:
  Fit(const Rows& rows, const std::map<const PlannedRow*, float>& floors, const Tuning& prior, double hold)
      : rows_(thinned(rows)), prior_(prior), hold_(hold) {
    std::map<const Gpu*, double> counts;
    for (const PlannedRow* row : rows_) counts[row->gpu] += row->weight;
    for (const PlannedRow* row : rows_) {
      weights_.push_back(row->weight / (counts[row->gpu] * static_cast<double>(counts.size())));
      floors_.push_back(floors.at(row) * law(*row));
      logs_.push_back(std::log(measured_us(*row)));
    }
  }

  // `floor_scale` multiplies the rows' extra floors; fitted too where it is given.
  Tuning run(Tuning start, float* floor_scale) {
    Tuning best = start;
    double scale = 0, least = loss(best, scale);
    for (const float step : {0.4f, 0.2f, 0.1f, 0.05f, 0.025f})
      for (bool better = true, first = true; better || first; first = false) {
        better = false;
        for (std::size_t i = 0; i < best.log_factors.size() + (floor_scale ? 1 : 0); ++i)
          for (const float way : {step, -step}) {
            Tuning next = best;
            double next_scale = scale;
            if (i < best.log_factors.size()) next.log_factors[i] += way;
            else next_scale += way;
            if (const double value = loss(next, next_scale); value < least - 1e-6) {
              least = value, best = next, scale = next_scale, better = true;
              break;
            }
          }
      }
    if (floor_scale) *floor_scale = static_cast<float>(std::exp(scale));
    return best;
  }

 private:
  double loss(const Tuning& tuning, double scale) const {
    double held = 0;
    for (std::size_t i = 0; i < tuning.log_factors.size(); ++i) {
      const double moved = tuning.log_factors[i] - prior_.log_factors[i];
      held += moved * moved;
      if (std::abs(tuning.log_factors[i]) > 3) return 1e9;
    }
    double sum = hold_ * held + 0.02 * scale * scale;
    TunedRates rates = tuned_rates(tuning, 1);
    const double factor = std::exp(scale);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rates.extra_floor_us = floors_[i] * factor;
      sum += weights_[i] * std::abs(logs_[i] - std::log(tuned_time(rows_[i]->input.terms, rates)));
    }
    return sum;
  }

  Rows rows_;
  std::vector<double> weights_, floors_, logs_;  // one a row; floors on its card
  Tuning prior_;
  double hold_;
};

// How firmly a level's factors are held near those of the level above. Not tuned further: one value of each was tried.
constexpr double kHoldVendor = 0.002, kHoldGeneration = 0.02, kHoldSource = 0.02;

// What one card shows may be the card's own: its level is held more firmly, one of two cards somewhat. Of five cards
// with fp8 products left out in turn RTX PRO 6000 gains (20.1 to 15.5 %: the L40S is then the only other one of its
// generation), the others stay within 0.3. One pair of values was tried.
double hold_of(double hold, const Rows& rows) {
  std::set<const Gpu*> cards;
  for (const PlannedRow* row : rows) cards.insert(row->gpu);
  return hold * (cards.size() == 1 ? 5.0 : cards.size() == 2 ? 2.0 : 1.0);
}

class SourceFit {
 public:
  explicit SourceFit(std::span<const PlannedRow* const> rows) {
    for (const PlannedRow* row : rows) {
      const SourceNames names = source_names(row->measured->whole_context(), *row->gpu);
      vendors_[names.vendor].push_back(row);
      generations_[names.generation].push_back(row);
      kernels_[names.kernel].push_back(row);
      anywhere_[names.kernel_anywhere].push_back(row);
      engines_[names.engine].push_back(row);
      floors_[row] = 0;
    }
  }

  Facts run() {
    // Floors and factors depend on each other; two rounds settle both.
    for (int round = 0; round < 2; ++round) {
      fit_floors();
      for (const auto& [name, rows] : vendors_) tune(name, rows, Tuning{}, kHoldVendor);
      for (const auto& [name, rows] : generations_) tune(name, rows, facts_.at(above(name)).tuning, kHoldGeneration);
    }
    fit_floors();
    fit_codes();
    fit_kernels();
    tell_hosts();
    return std::move(facts_);
  }

 private:
  static std::string above(const std::string& name) { return name.substr(0, name.rfind('/')); }

  void tune(const std::string& name, const Rows& rows, const Tuning& prior, double hold) {
    SourceFacts& facts = facts_[name];
    facts.rows = static_cast<Count>(rows.size());
    facts.tuning =
        rows.size() < kLeastRows ? prior : Fit(rows, floors_, prior, hold_of(hold, rows)).run(prior, nullptr);
  }

  const Tuning& tuning_of(const PlannedRow& row) const {
    static const Tuning untuned;
    const auto found = facts_.find(source_names(row.measured->context, *row.gpu).generation);
    return found == facts_.end() ? untuned : found->second.tuning;
  }

  // Floor of a kernel source: what its shortest rows, a GPU's fastest twentieth, lack beyond the tuned forecast; the
  // median over GPUs. What rows lack that a host launched is more likely its gap, which is known to a few microseconds.
  void fit_floors() {
    for (const auto& [name, rows] : anywhere_) {
      std::map<const Gpu*, Rows> by_gpu;
      for (const PlannedRow* row : rows) by_gpu[row->gpu].push_back(row);
      std::vector<double> lacks;
      for (auto& [gpu, own] : by_gpu) {
        if (std::all_of(own.begin(), own.end(), hosted)) continue;
        std::sort(own.begin(), own.end(), [](auto* a, auto* b) { return a->kernel_time() < b->kernel_time(); });
        std::vector<double> gaps;
        for (std::size_t i = 0; i < std::max<std::size_t>(1, own.size() / 20); ++i) {
          Tuning tuning = tuning_of(*own[i]);
          tuning.extra_floor_us = 0;
          gaps.push_back((measured_us(*own[i]) - tuned_time(own[i]->input.terms, tuning, law(*own[i]))) / law(*own[i]));
        }
        lacks.push_back(middle_or_zero(std::move(gaps)));
      }
      const auto floor = static_cast<float>(std::max(0.0, middle_or_zero(std::move(lacks))));
      facts_[name].tuning.extra_floor_us = floor;
      facts_[name].rows = static_cast<Count>(rows.size());
      for (const PlannedRow* row : rows) floors_[row] = floor;
    }
    for (const auto* level : {&engines_, &generations_, &vendors_})
      for (const auto& [name, rows] : *level) {
        std::vector<double> floors;
        for (const PlannedRow* row : rows) floors.push_back(floors_.at(row));
        facts_[name].tuning.extra_floor_us = static_cast<float>(middle_or_zero(std::move(floors)));
        facts_[name].rows = static_cast<Count>(rows.size());
      }
  }

  void fit_codes() {
    for (const auto* level : {&anywhere_, &engines_, &generations_, &vendors_})
      for (const auto& [name, rows] : *level) {
        std::vector<double> residuals;
        for (const PlannedRow* row : rows) {
          Tuning tuning = facts_.at(source_names(row->measured->context, *row->gpu).vendor).tuning;
          tuning.extra_floor_us = floors_.at(row);
          residuals.push_back(std::log(measured_us(*row) / tuned_time(row->input.terms, tuning, law(*row))));
        }
        facts_[name].code = static_cast<float>(middle_or_zero(std::move(residuals)));
      }
  }

  void fit_kernels() {
    float index = 0;
    for (const auto& [name, rows] : kernels_) {
      const SourceNames names = source_names(rows.front()->measured->whole_context(), *rows.front()->gpu);
      const SourceFacts& anywhere = facts_.at(names.kernel_anywhere);
      SourceFacts facts = facts_.at(names.generation);
      facts.rows = static_cast<Count>(rows.size());
      facts.code = anywhere.code;
      facts.index = index++;
      float scale = 1;
      if (rows.size() >= kLeastRows)
        facts.tuning = Fit(rows, floors_, facts.tuning, hold_of(kHoldSource, rows)).run(facts.tuning, &scale);
      facts.tuning.extra_floor_us = anywhere.tuning.extra_floor_us * scale;
      facts_[name] = facts;
    }
  }

  void tell_hosts() {
    for (const auto* level : {&kernels_, &anywhere_, &engines_, &generations_, &vendors_})
      for (const auto& [name, rows] : *level)
        facts_[name].hosted =
            2 * std::count_if(rows.begin(), rows.end(), hosted) > static_cast<std::ptrdiff_t>(rows.size());
  }

  std::map<std::string, Rows> vendors_, generations_, kernels_, anywhere_, engines_;
  std::map<const PlannedRow*, float> floors_;
  Facts facts_;
};

}  // namespace

Facts fit_sources(std::span<const PlannedRow* const> rows) { return SourceFit(rows).run(); }

}  // namespace tilecast
