#include "lab/evidence/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "constants/registry.h"

namespace tilecast {
namespace {

// Widths of whole runs and of kernels, by what the constants' `of` says.
constexpr std::string_view kDown[] = {"width.run_down", "width.kernel_down"},
                           kUp[] = {"width.run_up", "width.kernel_up"};

bool is_rate(const EndToEndResult& r) { return r.quantity == "throughput"; }

CoverageRow row_of(const EndToEndResult& r) {
  CoverageRow row;
  row.kind = r.kind, row.table = r.label.source + ", " + r.quantity;
  row.source = r.label.source, row.card = r.label.gpu;
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

CoverageRow row_of(const Measurement& m, const Outcome& o) {
  const std::string_view family = family_of(m.kernel.shape);
  const MainLoop loop = loop_of(family);
  CoverageRow row;
  if (!o.kernel_known) row.kind = "another kernel, " + std::string(name_of(loop));
  row.table = fmt::format("{}, {}", m.source, name_of(loop));
  row.source = m.source, row.card = m.gpu;
  row.error = std::log(m.latency / o.forecast);
  const Width whole = width_of({o.low, o.high}, o.forecast);
  const Width known = shared_width(loop, o.doubt, true);
  row.parts =
      o.kernel_known ? whole : joined({without(whole.down, o.shared.down), without(whole.up, o.shared.up)}, known);
  return row;
}

// What a row asks of its kind's width at one end.
double needed(const CoverageRow& row, bool up) {
  const double beyond = up ? row.error : -row.error, parts = up ? row.parts.up : row.parts.down;
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

bool holds(const CoverageRow& row, const Width& width) {
  const Width whole = joined(row.parts, width);
  return row.error >= -whole.down && row.error <= whole.up;
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

CoverageRows coverage_rows(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes,
                           const Weights& weights) {
  CoverageRows all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FamilyModel* model = weights.find(rows[i].kernel);
    if (model && !outcomes[i].failed && !model->trained_on.contains(std::string(rows[i].source)))
      all.push_back(row_of(rows[i], outcomes[i]));
  }
  return all;
}

CoverageRows left_out_rows(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes) {
  CoverageRows all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!outcomes[i].failed && outcomes[i].shared.up > 0) all.push_back(row_of(rows[i], outcomes[i]));
  return all;
}

Width fit_width(const CoverageRows& rows, double share) {
  std::map<std::pair<std::string, std::string>, double> groups;
  for (const CoverageRow& row : rows) ++groups[{row.source, row.card}];
  std::vector<std::pair<double, double>> down, up;
  for (const CoverageRow& row : rows) {
    const double weight = 1 / groups[{row.source, row.card}];
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

Coverage coverage_of(const CoverageRows& rows, const Widths& widths) {
  Coverage c;
  if (rows.empty()) return c;
  const auto n = static_cast<double>(rows.size());
  for (const CoverageRow& row : rows) {
    const Width own = width_in(widths, row.kind), whole = joined(row.parts, own);
    c.held += holds(row, own) / n;
    c.width += (whole.down + whole.up) / 2 / n;
  }
  return c;
}

std::vector<CoverageLine> coverage_lines(const CoverageRows& rows, const Widths& shipped) {
  std::map<std::pair<std::string, std::string>, CoverageRows> tables;
  std::map<std::string, std::map<std::string, CoverageRows>> by_source;  // kind, source
  for (const CoverageRow& row : rows) {
    tables[{row.table, row.kind}].push_back(row);
    by_source[row.kind][row.source].push_back(row);
  }
  std::vector<CoverageLine> lines;
  for (const auto& [name, own] : tables) {
    CoverageLine line;
    line.table = name.first, line.kind = name.second;
    line.rows = static_cast<Count>(own.size());
    std::set<std::string> cards;
    for (const CoverageRow& row : own) cards.insert(row.card);
    line.cards = static_cast<Count>(cards.size());
    line.shipped = coverage_of(own, shipped);
    CoverageRows others;
    for (const auto& [source, theirs] : by_source[line.kind])
      if (source != own.front().source) others.insert(others.end(), theirs.begin(), theirs.end());
    line.others = !others.empty() && !line.kind.empty();
    if (line.others) line.left_out = coverage_of(own, {{line.kind, fit_width(others)}});
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string coverage_report(const CoverageRows& rows) {
  if (rows.empty()) return "";
  const Widths shipped = shipped_widths(), fitted = fit_widths(rows);
  std::string text =
      "## Coverage\n\nWhat 80 % intervals hold of rows that others measured, and how far they reach (the mean half of "
      "them). *As it is*: with the\nwidths of src/constants/intervals.h, which know all of these rows. *Source left "
      "out*: with the same widths fitted to the other\nsources alone; a dash where a kind of run has no other. Groups "
      "of one source and card weigh the same in a fit. Step times of\nMegatron's continuous tests and batches that "
      "ran in waves are left out. Host-bound rows are those whose launches take longer\nthan their kernels.\n\n"
      "| table | width of | rows | cards | as it is | reach | source left out | reach |\n"
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
