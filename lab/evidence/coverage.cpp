#include "lab/evidence/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "constants/registry.h"

namespace tilecast {
namespace {

// Widths of whole runs and of kernels, by what the constants' `of` says.
constexpr std::string_view kDown[] = {"width.run_down", "width.kernel_down"},
                           kUp[] = {"width.run_up", "width.kernel_up"};

// A group of fewer rows counts by its rows: a handful of odd runs is no tenth of all there is.
constexpr double kFewRows = 30;

bool is_rate(const EndToEndResult& r) { return r.quantity == "throughput"; }

CoverageRow row_of(const EndToEndResult& r) {
  CoverageRow row;
  const std::string& by = r.label.measured_by;
  row.source = by.empty() ? r.label.source : r.label.source + " of " + by;
  row.kind = r.kind, row.table = row.source + ", " + r.quantity, row.card = r.label.gpu;
  if (r.kind == kHostKind) row.table += ", host-bound";
  row.error = std::log(r.measured / r.forecast);
  row.parts = {std::max(0.0, std::log(r.forecast / r.parts_low)), std::max(0.0, std::log(r.parts_high / r.forecast))};
  // A step's rate is its time upside down; the host's width is part of its interval already.
  if (is_rate(r) && !r.kind.starts_with("serving")) {
    row.error = -row.error;
    std::swap(row.parts.down, row.parts.up);
  }
  if (r.kind == kHostKind) row.parts = {};
  return row;
}

double without(double whole, double part) { return std::sqrt(std::max(0.0, whole * whole - part * part)); }

// What a row asks of its kind's width at one end.
double needed(const CoverageRow& row, bool up) {
  const double beyond = up ? row.error : std::min(-row.error, row.to_bound), parts = up ? row.parts.up : row.parts.down;
  return beyond > parts ? without(beyond, parts) : 0;
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

Width width_in(const Widths& widths, const std::string& kind) {
  const auto found = widths.find(kind);
  return found == widths.end() ? Width{} : found->second;
}

std::string percent(const Coverage& c) { return fmt::format("{:.0f} %", c.held * 100); }
// Half of a symmetric interval of the same width, as a share.
std::string reach(const Coverage& c) { return fmt::format("±{:.0f} %", std::expm1(c.width) * 100); }

}  // namespace

CoverageRows coverage_rows(const std::vector<EndToEndResult>& results) {
  CoverageRows rows;
  for (const EndToEndResult& r : results) {
    const bool tests = r.label.source == "megatron" && r.quantity == "step";
    if (r.fits && !tests && r.high > 0 && r.measured > 0 && r.parts_low > 0) rows.push_back(row_of(r));
  }
  return rows;
}

Width fit_width(const CoverageRows& rows, double share) {
  std::map<std::pair<std::string, std::string>, double> groups;
  for (const CoverageRow& row : rows) ++groups[{row.source, row.card}];
  std::vector<std::pair<double, double>> down, up;
  for (const CoverageRow& row : rows) {
    const double weight = 1 / std::max(kFewRows, groups[{row.source, row.card}]);
    down.emplace_back(needed(row, false), weight);
    up.emplace_back(needed(row, true), weight);
  }
  const double each = (1 + share) / 2;
  return {weighted_quantile(std::move(down), each), weighted_quantile(std::move(up), each)};
}

Widths fit_widths(const CoverageRows& rows) {
  std::map<std::string, CoverageRows> kinds;
  for (const CoverageRow& row : rows)
    if (!row.kind.empty()) kinds[row.kind].push_back(row);
  Widths widths;
  for (const auto& [kind, own] : kinds) widths[kind] = fit_width(own);
  // Several GPUs are never surer than one.
  for (const std::string what : {"inference", "training"}) {
    const auto one = widths.find(what + ", one GPU"), several = widths.find(what + ", several GPUs");
    if (one != widths.end() && several != widths.end()) several->second = wider(several->second, one->second);
  }
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

Width shipped_whole(const CoverageRow& row, const Widths& shipped) {
  return row.whole ? *row.whole : joined(row.parts, width_in(shipped, row.kind));
}

// Widths fitted to the rows of a kind that were not left out, by what was.
std::map<std::string, Width> widths_without(const std::vector<const CoverageRow*>& rows) {
  std::set<std::string> folds;
  for (const CoverageRow* row : rows) folds.insert(row->left_out_with());
  std::map<std::string, Width> widths;
  if (folds.size() < 2) return widths;
  for (const std::string& fold : folds) {
    CoverageRows others;
    for (const CoverageRow* row : rows)
      if (row->left_out_with() != fold) others.push_back(*row);
    widths[fold] = fit_width(others);
  }
  return widths;
}

}  // namespace

Coverage coverage_of(const CoverageRows& rows, const Widths& widths) {
  std::vector<const CoverageRow*> all;
  for (const CoverageRow& row : rows) all.push_back(&row);
  return coverage_of(all, [&](const CoverageRow& row) { return joined(row.parts, width_in(widths, row.kind)); });
}

std::vector<CoverageLine> coverage_lines(const CoverageRows& rows, const Widths& shipped) {
  std::map<std::pair<std::string, std::string>, std::vector<const CoverageRow*>> tables;
  std::map<std::string, std::vector<const CoverageRow*>> kinds;
  for (const CoverageRow& row : rows) tables[{row.table, row.kind}].push_back(&row), kinds[row.kind].push_back(&row);
  std::map<std::string, std::map<std::string, Width>> fitted;
  for (const auto& [kind, own] : kinds)
    if (!kind.empty()) fitted[kind] = widths_without(own);
  std::vector<CoverageLine> lines;
  for (const auto& [name, own] : tables) {
    CoverageLine line;
    line.table = name.first, line.kind = name.second;
    line.rows = static_cast<Count>(own.size());
    std::set<std::string> cards;
    for (const CoverageRow* row : own) cards.insert(row->card);
    line.cards = static_cast<Count>(cards.size());
    line.shipped = coverage_of(own, [&](const CoverageRow& row) { return shipped_whole(row, shipped); });
    const auto& without = fitted[line.kind];
    line.others = !without.empty();
    if (line.others)
      line.left_out =
          coverage_of(own, [&](const CoverageRow& row) { return joined(row.parts, without.at(row.left_out_with())); });
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string coverage_report(const CoverageRows& rows) {
  if (rows.empty()) return "";
  const Widths shipped = shipped_widths(), fitted = fit_widths(rows);
  std::string text =
      "## Coverage\n\nWhat 80 % intervals hold of measured rows, and how far they reach (the mean half of them). *As "
      "it "
      "is*: with the widths of\nsrc/constants/intervals.h, which were fitted to these rows. *Left out*: with the same "
      "widths fitted to the rows of others alone: other\nsources, or where a card or an architecture was left out, "
      "other cards or architectures; a dash where nothing is fitted, or there are no\nothers. Groups of one source and "
      "card weigh the same in a fit, those of fewer than 30 rows less.\n\nKernels at held-out shapes are forecast by "
      "the shipped weights, all others by "
      "smaller trainings without their source, GPU or\narchitecture. Steps of Megatron's continuous tests and batches "
      "that ran in waves are left out. Host-bound rows are those whose\nlaunches take longer than their kernels.\n\n"
      "| table | width of | rows | cards | as it is | reach | left out | reach |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const CoverageLine& l : coverage_lines(rows, shipped))
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", l.table, l.kind.empty() ? "–" : l.kind, l.rows,
                        l.cards, percent(l.shipped), reach(l.shipped), l.others ? percent(l.left_out) : "–",
                        l.others ? reach(l.left_out) : "–");
  text +=
      "\nWidths, as logarithms below and above a forecast:\n\n| of | as it is | fitted to these rows "
      "|\n|---|---:|---:|\n";
  for (const auto& [kind, width] : fitted) {
    const Width now = width_in(shipped, kind);
    text += fmt::format("| {} | {:.2f}, {:.2f} | {:.2f}, {:.2f} |\n", kind, now.down, now.up, width.down, width.up);
  }
  return text + "\n";
}

std::string with_widths(std::string header, const Widths& widths) {
  for (const auto& [kind, width] : widths) {
    const std::string before = "(\"" + kind + "\", ";
    const auto at = header.find(before);
    if (at == std::string::npos) continue;
    const auto from = at + before.size(), to = header.find(')', from);
    if (to != std::string::npos) header.replace(from, to - from, fmt::format("{:.2f}, {:.2f}", width.down, width.up));
  }
  return header;
}

}  // namespace tilecast
