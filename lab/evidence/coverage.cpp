#include "lab/evidence/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "constants/intervals.h"
#include "constants/registry.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

// Widths of whole runs and of kernels, by what the constants' `of` says.
constexpr std::array<std::string_view, 4> kDown = {"width.run_down", "width.run_scale_down", "width.kernel_down",
                                                   "width.kernel_scale_down"},
                                          kUp = {"width.run_up", "width.run_scale_up", "width.kernel_up",
                                                 "width.kernel_scale_up"};

bool is_rate(const EndToEndResult& r) { return r.quantity == "throughput"; }

bool is_served(const EndToEndResult& r) { return r.kind.find("serving") != std::string::npos; }

// Who measured: tables with runs of the same laboratory are left out together.
std::string measurer_of(const EndToEndLabel& label) {
  if (label.source.starts_with("h200")) return "tilecast";
  return label.measured_by.empty() ? label.source : label.measured_by;
}

constexpr std::string_view kOneGpu = "one GPU";
// Steps of inference and of training on one GPU err alike by what their kernels leave open.
std::string scale_of(const std::string& kind) { return kind.ends_with(kOneGpu) ? std::string(kOneGpu) : kind; }

void add_served(CoverageRow& row, const EndToEndResult& r) {
  row.steps = kServedSteps;
  if (!r.kind.ends_with("requests")) {
    row.kind = r.kind;
    return;
  }
  const std::string load = r.kind.substr(0, r.kind.rfind(' ') + 1);
  row.leans = {{load + "median first token", r.of_first}, {load + "median token", r.of_further}};
}

CoverageRow row_of(const EndToEndResult& r) {
  CoverageRow row;
  const std::string& by = r.label.measured_by;
  row.source = by.empty() ? r.label.source : r.label.source + " of " + by;
  row.fold = measurer_of(r.label);
  row.table = row.source + ", " + r.quantity, row.card = r.label.gpu;
  if (r.kind == kHostKind) row.table += ", host-bound";
  if (r.kind.starts_with("queued")) row.table += ", queued";
  row.error = std::log(r.measured / r.forecast);
  row.parts = {std::max(0.0, std::log(r.forecast / r.parts_low)), std::max(0.0, std::log(r.parts_high / r.forecast))};
  // A rate is a time upside down.
  if (is_rate(r)) {
    row.error = -row.error;
    std::swap(row.parts.down, row.parts.up);
  }
  if (is_served(r)) add_served(row, r);
  else if (r.kind == kHostKind) row.kind = r.kind, row.parts = {};  // its width is part of its interval already
  else row.steps = scale_of(r.kind);
  return row;
}

double without(double whole, double part) { return std::sqrt(std::max(0.0, whole * whole - part * part)); }

// How far a row lies from its forecast, to one side.
double beyond(const CoverageRow& row, bool up) { return up ? row.error : std::min(-row.error, row.to_bound); }
double end_of(const Width& width, bool up) { return up ? width.up : width.down; }

// The width at one end that a row would need of its kind.
double needed(const CoverageRow& row, bool up) {
  const double reach = beyond(row, up), parts = end_of(row.parts, up);
  return reach > parts ? without(reach, parts) : 0;
}
constexpr Width kNoise{constants::kNoiseWidth, constants::kNoiseWidth};
// ... and of the scale of its kind of step.
double factor(const CoverageRow& row, bool up) {
  return std::max(0.0, beyond(row, up)) / end_of(wider(row.parts, kNoise), up);
}

double weighted_quantile(std::vector<std::pair<double, double>> values, double share) {
  std::sort(values.begin(), values.end());
  double all = 0, so_far = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values)
    if ((so_far += weight) >= share * all * (1 - 1e-12)) return value;
  return 0;
}

bool holds(const CoverageRow& row, const Width& whole) {
  return row.error >= -std::min(whole.down, row.to_bound) && row.error <= whole.up;
}

Width width_in(const Widths& widths, const std::string& kind, const Width& none = {}) {
  const auto found = widths.find(kind);
  return found == widths.end() ? none : found->second;
}

Width scaled(const CoverageRow& row, const Widths& widths) {
  if (row.steps.empty()) return row.parts;
  const Width scale = width_in(widths, row.steps, {1, 1});
  const Width open = row.served() ? row.parts : wider(row.parts, kNoise);
  return {open.down * scale.down, open.up * scale.up};
}

// Of a row's interval with these widths and scales.
Width whole_of(const CoverageRow& row, const Widths& widths) {
  Width own = width_in(widths, row.kind);
  for (const CoverageRow::Lean& lean : row.leans) {
    const Width of = width_in(widths, lean.kind);
    own = joined(own, {lean.share * of.down, lean.share * of.up});
  }
  const Width whole = joined(scaled(row, widths), own);
  return row.steps.empty() ? whole : wider(whole, kNoise);
}

}  // namespace

CoverageRows coverage_rows(const std::vector<EndToEndResult>& results) {
  CoverageRows rows;
  for (const EndToEndResult& r : results) {
    const bool tests = r.label.source == "megatron" && r.quantity == "step";
    if (r.fits && !tests && r.high > 0 && r.measured > 0 && r.parts_low > 0) rows.push_back(row_of(r));
  }
  return rows;
}

namespace {

// What weighs as one group: a source or, where cards are left out, its rows of one card.
std::string group_of(const CoverageRow& row) {
  const bool by_card = row.steps.empty() && !row.fold.empty() && row.fold != row.source;
  return by_card ? row.source + "|" + row.card : row.source;
}

using Asked = double (*)(const CoverageRow&, bool up);

// What leaves half of 1 - share of the rows beyond one end, groups weighing the same.
double pooled(const CoverageRows& rows, double share, Asked asked, bool up) {
  std::map<std::string, double> groups;
  for (const CoverageRow& row : rows) ++groups[group_of(row)];
  std::vector<std::pair<double, double>> all;
  for (const CoverageRow& row : rows) all.emplace_back(asked(row, up), 1 / std::max(kFewRows, groups[group_of(row)]));
  return weighted_quantile(std::move(all), (1 + share) / 2);
}

// The same for each group alone, and how much it counts: those of few rows less.
std::vector<std::pair<double, double>> by_group(const CoverageRows& rows, double share, Asked asked, bool up) {
  std::map<std::string, std::vector<std::pair<double, double>>> groups;
  for (const CoverageRow& row : rows) groups[group_of(row)].emplace_back(asked(row, up), 1);
  std::vector<std::pair<double, double>> all;
  for (auto& [group, own] : groups) {
    const double weight = std::min(1.0, static_cast<double>(own.size()) / kFewRows);
    all.emplace_back(weighted_quantile(std::move(own), (1 + share) / 2), weight);
  }
  return all;
}

// What the group in the middle needs; between two, their mean.
double middle(const CoverageRows& rows, double share, Asked asked, bool up) {
  std::vector<std::pair<double, double>> below = by_group(rows, share, asked, up), above = below;
  for (auto& [value, weight] : above) value = -value;
  return (weighted_quantile(std::move(below), 0.5) - weighted_quantile(std::move(above), 0.5)) / 2;
}

// The mean of what groups need of a scale. None counts with less than its own rows' intervals, nor with more than twice
// as much: such a group is off by something other than how it was timed.
double mean_scale(const CoverageRows& rows, double share, Asked asked, bool up) {
  constexpr double kMostScale = 2;
  double sum = 0, weights = 0;
  for (const auto& [value, weight] : by_group(rows, share, asked, up))
    sum += weight * std::log(std::clamp(value, 1.0, kMostScale)), weights += weight;
  return weights > 0 ? std::exp(sum / weights) : 1;
}

using End = double (*)(const CoverageRows&, double share, Asked, bool up);
Width fit(const CoverageRows& rows, double share, Asked asked, End end) {
  return {end(rows, share, asked, false), end(rows, share, asked, true)};
}
bool of_kernels(const CoverageRows& rows) { return !rows.empty() && is_of_kernels(rows.front().calibrates()); }

// Rows of a kind, with what they calibrate fitted: a scale where they have no width of their own.
Width fit_kind(const CoverageRows& rows) { return rows.front().kind.empty() ? fit_scale(rows) : fit_width(rows); }

std::map<std::string, CoverageRows> by_kind(const CoverageRows& rows) {
  std::map<std::string, CoverageRows> kinds;
  for (const CoverageRow& row : rows)
    if (!row.calibrates().empty()) kinds[row.calibrates()].push_back(row);
  return kinds;
}

// A forecast over several GPUs is never surer than one of a single GPU.
void widen_over_gpus(Widths& widths) {
  const auto one = widths.find(std::string(kOneGpu));
  for (auto& [kind, width] : widths)
    if (one != widths.end() && kind.ends_with("several GPUs")) width = wider(width, one->second);
}

Widths scales_of(const CoverageRows& rows) {
  Widths widths;
  for (const auto& [kind, own] : by_kind(rows))
    if (own.front().kind.empty()) widths[kind] = fit_scale(own);
  widen_over_gpus(widths);
  if (std::any_of(rows.begin(), rows.end(), [](const CoverageRow& row) { return row.served(); }))
    widths[std::string(kServedSteps)] = fit_served_scale(rows);
  return widths;
}

// With parts of served loads as wide as their steps' scale makes them.
CoverageRows with_scaled_parts(CoverageRows rows, const Widths& scales) {
  for (CoverageRow& row : rows)
    if (row.served()) row.parts = scaled(row, scales);
  return rows;
}

}  // namespace

Width fit_width(const CoverageRows& rows, double share) {
  return fit(rows, share, needed, of_kernels(rows) ? middle : pooled);
}
Width fit_scale(const CoverageRows& rows, double share) {
  return fit(rows, share, factor, of_kernels(rows) ? mean_scale : pooled);
}

Widths fit_widths(const CoverageRows& rows) {
  Widths widths = scales_of(rows);
  for (const auto& [kind, own] : by_kind(with_scaled_parts(rows, widths)))
    if (!own.front().kind.empty()) widths[kind] = fit_width(own);
  return widths;
}

FoldOf fold_for(const CoverageRows& rows) {
  constexpr std::array<FoldOf, 3> kFolds = {[](const CoverageRow& row) { return row.left_out_with(); },
                                            [](const CoverageRow& row) { return row.source; },
                                            [](const CoverageRow& row) { return row.card; }};
  for (const FoldOf fold_of : kFolds)
    if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return fold_of(row) != fold_of(rows.front()); }))
      return fold_of;
  return nullptr;
}

bool is_of_kernels(std::string_view kind) { return kind.starts_with("another ") || kind.starts_with(kPytorchScale); }

Widths widths_of_runs(Widths widths) {
  std::erase_if(widths, [](const auto& width) { return is_of_kernels(width.first); });
  return widths;
}

Widths shipped_widths() {
  Widths widths;
  for (const Constant* c : all_constants()) {
    if (std::find(std::begin(kDown), std::end(kDown), c->name) != std::end(kDown))
      widths[std::string(c->of)].down = c->value;
    if (std::find(std::begin(kUp), std::end(kUp), c->name) != std::end(kUp)) widths[std::string(c->of)].up = c->value;
  }
  return widths;
}

namespace {

Coverage coverage_of(const std::vector<const CoverageRow*>& rows,
                     const std::function<Width(const CoverageRow&)>& whole) {
  Coverage c;
  const auto n = static_cast<double>(rows.size());
  for (const CoverageRow* row : rows) {
    const Width w = whole(*row);
    c.held += holds(*row, w) / n;
    c.width += (std::min(w.down, row->to_bound) + w.up) / 2 / n;
  }
  return c;
}

Width width_as_it_is(const CoverageRow& row, const Widths& widths) {
  return row.whole ? *row.whole : whole_of(row, widths);
}

// Widths of a kind fitted to the rows that were not left out, by what was.
struct LeftOutWidths {
  FoldOf fold_of = nullptr;
  std::map<std::string, Width> by_fold;
  Width all;  // nobody left out
  Width without(const CoverageRow& row) const {
    const auto found = by_fold.find(fold_of(row));
    return found == by_fold.end() ? all : found->second;
  }
};
LeftOutWidths widths_without(const CoverageRows& rows) {
  LeftOutWidths widths;
  widths.all = fit_kind(rows);
  widths.fold_of = fold_for(rows);
  if (!widths.fold_of) return widths;
  std::set<std::string> folds;
  for (const CoverageRow& row : rows) folds.insert(widths.fold_of(row));
  for (const std::string& fold : folds) {
    CoverageRows others;
    for (const CoverageRow& row : rows)
      if (widths.fold_of(row) != fold) others.push_back(row);
    widths.by_fold[fold] = fit_kind(others);
  }
  return widths;
}

// The kinds of width that a row's interval is made of, beside its steps' scale.
std::vector<std::string> kinds_of(const CoverageRow& row) {
  std::vector<std::string> kinds;
  for (const CoverageRow::Lean& lean : row.leans) kinds.push_back(lean.kind);
  if (kinds.empty() && !row.calibrates().empty()) kinds.push_back(row.calibrates());
  return kinds;
}

}  // namespace

Coverage coverage_of(const CoverageRows& rows, const Widths& widths) {
  std::vector<const CoverageRow*> all;
  for (const CoverageRow& row : rows) all.push_back(&row);
  return coverage_of(all, [&](const CoverageRow& row) { return whole_of(row, widths); });
}

std::vector<CoverageLine> coverage_lines(const CoverageRows& rows, const Widths& shipped) {
  std::map<std::pair<std::string, std::string>, std::vector<const CoverageRow*>> tables;
  for (const CoverageRow& row : rows) tables[{row.table, row.calibrates()}].push_back(&row);
  const Widths scales = scales_of(rows);
  std::map<std::string, LeftOutWidths> fitted;
  for (const auto& [kind, own] : by_kind(with_scaled_parts(rows, scales))) fitted[kind] = widths_without(own);
  std::vector<CoverageLine> lines;
  for (const auto& [name, own] : tables) {
    CoverageLine line;
    line.table = name.first, line.kind = own.front()->leans.empty() ? name.second : "first tokens and further ones";
    line.rows = static_cast<Count>(own.size());
    std::set<std::string> cards;
    for (const CoverageRow* row : own) cards.insert(row->card);
    line.cards = static_cast<Count>(cards.size());
    std::vector<double> errors;
    for (const CoverageRow* row : own) errors.push_back(row->error);
    line.median = upper_median(std::move(errors));
    line.shipped = coverage_of(own, [&](const CoverageRow& row) { return width_as_it_is(row, shipped); });
    const std::vector<std::string> kinds = kinds_of(*own.front());
    const auto judged = [&](const std::string& kind) {
      const auto found = fitted.find(kind);
      return found != fitted.end() && found->second.fold_of;
    };
    line.others = !kinds.empty() && std::all_of(kinds.begin(), kinds.end(), judged);
    if (line.others)
      line.left_out = coverage_of(own, [&](const CoverageRow& row) {
        Widths widths = scales;
        for (const std::string& kind : kinds) widths[kind] = fitted[kind].without(row);
        widen_over_gpus(widths);
        return whole_of(row, widths);
      });
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tilecast
