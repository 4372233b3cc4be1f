// Whether 80 % intervals hold 80 % of measured rows, table by table, and the widths that they should have
// (src/constants/intervals.h), each source left out in turn.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/width.h"
#include "lab/evidence/endtoend_result.h"
#include "tilecast/units.h"

namespace tilecast {

inline constexpr double kIntervalShare = 0.8;
// A group of fewer rows counts by its rows: a handful of odd runs is no tenth of all there is.
inline constexpr double kFewRows = 30;
inline constexpr std::string_view kPytorchScale = "PyTorch timed by others";  // scales of single kernels
inline constexpr std::string_view kServedSteps = "serving";                   // the scale of served loads' steps

struct CoverageRow {
  std::string kind;          // of width that it calibrates, by the name of its constants; empty: none
  std::string table;         // that it is counted in: "argonne, total"
  std::string source, card;  // rows of one source and card err together
  double error = 0;          // log of measured over forecast
  Width parts;               // of its interval, without its kind's width
  std::string fold = {};     // left out of a width that judges it; empty: its source
  double to_bound = std::numeric_limits<double>::infinity();  // log of forecast over bound: no end lies below it
  std::optional<Width> whole = {};  // as the forecast gives it, where that is not its parts joined
  std::string steps = {};           // kind of run whose scale its parts have: "inference, one GPU"; empty: none
  // Of served requests and rates: the widths of first tokens and of further ones, as far as it follows them.
  struct Lean {
    std::string kind;
    double share = 0;
  };
  std::vector<Lean> leans = {};

  bool served() const { return steps == kServedSteps; }
  const std::string& left_out_with() const { return fold.empty() ? source : fold; }
  // What it is fitted to; one that leans on several widths says nothing of any.
  std::string calibrates() const { return !leans.empty() ? "" : kind.empty() ? steps : kind; }
};
using CoverageRows = std::vector<CoverageRow>;

// Times of whole runs, and rates of serving. Excluded are runs whose cache did not fit, which ran in waves, and the
// step times of Megatron's tests, which are tiny models under a debugger's settings.
CoverageRows coverage_rows(const std::vector<EndToEndResult>& results);

using Widths = std::map<std::string, Width>;  // by kind; of steps of whole models, scales

// The width that leaves half of 1 - share of the rows beyond either end when it joins their parts'. Sources weigh the
// same, however many rows they have beyond 30; where cards are left out in turn, groups of one source and card do.
// Of kernels it is what the source in the middle needs, and of their scales the mean within bounds: a single
// source with altogether different hosts or kernels is no reason to be less sure of all others.
Width fit_width(const CoverageRows& rows, double share = kIntervalShare);
// ... and the factor by which their parts do so, end by end: the quantile of errors over parts.
Width fit_scale(const CoverageRows& rows, double share = kIntervalShare);
// What rows of a kind are left out with: who measured them, or where that is one for all, the table or the card; null
// where there are no others.
using FoldOf = std::string (*)(const CoverageRow&);
FoldOf fold_for(const CoverageRows& rows);
// The scale of served loads' steps, the same at both ends: the one that gives the best intervals of first tokens and
// further ones (by the interval score: width, and ten times what lies beyond) where their widths are fitted without
// those who are judged. Served loads have a width beside their steps', so that a quantile does not tell the two apart.
Width fit_served_scale(const CoverageRows& rows);
// Of every kind in the rows. Steps' scales come first: parts of served loads are scaled by them.
Widths fit_widths(const CoverageRows& rows);
// As compiled in.
Widths shipped_widths();

struct Coverage {
  double held = 0;   // share of rows
  double width = 0;  // mean half-width, a logarithm
};
Coverage coverage_of(const CoverageRows& rows, const Widths& widths);

struct CoverageLine {
  std::string table, kind;
  Count rows = 0, cards = 0;
  double median = 0;  // of its errors: where it is far from zero, no width that suits others holds the table
  Coverage shipped;
  bool others = false;  // others have rows of this kind: another source, or another card where there is but one
  Coverage left_out;    // with widths fitted to those alone
};
std::vector<CoverageLine> coverage_lines(const CoverageRows& rows, const Widths& shipped);

// `widths`: as it is, those compiled in or those that were just fitted. `fitted`: those of these rows.
std::string coverage_report(const CoverageRows& rows, const Widths& widths, const Widths& fitted);
// Those of kernels, and without them, of runs alone.
bool is_of_kernels(std::string_view kind);
Widths widths_of_runs(Widths widths);
// src/constants/intervals.h with these widths in place of its own; kinds that it does not have are skipped.
std::string with_widths(std::string header, const Widths& widths);

}  // namespace tilecast
