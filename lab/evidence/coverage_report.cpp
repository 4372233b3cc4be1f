// The page docs/accuracy/coverage.md, and src/constants/intervals.h with new widths in it.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "lab/evidence/coverage.h"

namespace tilecast {
namespace {

std::string percent(const Coverage& c) { return fmt::format("{:.0f} %", c.held * 100); }
// Half of a symmetric interval of the same width, as a share.
std::string reach(const Coverage& c) { return fmt::format("±{:.0f} %", std::expm1(c.width) * 100); }

constexpr std::string_view kReportHead = R"(## Coverage

What 80 % intervals hold of measured rows, and how far they reach (the mean half of them). *As it is*: with the widths of
src/constants/intervals.h, which were fitted to these rows. *Left out*: with the same widths fitted to the rows of others alone: to runs
that others measured (InferenceX's are those of AIConfigurator's sample too, our own tables are one), or where one laboratory measured all
of a kind, to its other tables or other cards; where a card or an architecture was left out of a training, to other cards or
architectures. A dash where nothing is fitted, or there are no others: where a card or an architecture was left out, intervals are made in
the training itself, and what they hold as they are is what they hold of cards that nobody saw. Sources weigh the same in a fit, those of
fewer than 30 rows less; a kernel's width is what the source in the middle needs, a scale of PyTorch's kernels the mean of their tables,
none of which counts as more than two.

Steps of whole models reach as far as their kernels, host and exchanges leave open together, times a scale that is fitted. Served loads
have widths of their own beside their steps', of first tokens and of the tokens after them, means and medians apart; the time of a request
and rates of requests are made of both, as far as either takes part in them. Queued loads are those whose requests spend most of the time to their first token waiting.
Kernels at held-out shapes are forecast by the shipped weights, all others by smaller trainings without their source, GPU or
architecture. Steps of Megatron's continuous tests and batches that ran in waves are left out. Host-bound rows are those whose
launches take longer than their kernels.

The median is of measured over forecast time: a table that lies to one side of its forecasts is held rarely, however wide intervals are
that suit the others.

| table | width of | rows | cards | median | as it is | reach | left out | reach |
|---|---|---:|---:|---:|---:|---:|---:|---:|
)";

// Tables of at least this many rows are counted in the summary.
constexpr Count kLargeTable = 100;
constexpr double kFewest = 0.72, kMost = 0.88;

std::string share_within(const std::vector<CoverageLine>& lines) {
  Count large = 0, as_it_is = 0, judged = 0, left_out = 0;
  const auto within = [](const Coverage& c) { return c.held >= kFewest && c.held <= kMost; };
  for (const CoverageLine& l : lines) {
    if (l.rows < kLargeTable) continue;
    ++large, as_it_is += within(l.shipped);
    if (l.others) ++judged, left_out += within(l.left_out);
  }
  return fmt::format(
      "\nOf {} tables of {} rows or more {} hold between {:.0f} and {:.0f} % as they are, and {} of the {} that others "
      "can judge.\n",
      large, kLargeTable, as_it_is, kFewest * 100, kMost * 100, left_out, judged);
}

}  // namespace

std::string coverage_report(const CoverageRows& rows, const Widths& widths, const Widths& fitted) {
  if (rows.empty()) return "";
  const std::vector<CoverageLine> lines = coverage_lines(rows, widths);
  std::string text(kReportHead);
  for (const CoverageLine& l : lines)
    text += fmt::format("| {} | {} | {} | {} | {:+.0f} % | {} | {} | {} | {} |\n", l.table,
                        l.kind.empty() ? "–" : l.kind, l.rows, l.cards, std::expm1(l.median) * 100, percent(l.shipped),
                        reach(l.shipped), l.others ? percent(l.left_out) : "–", l.others ? reach(l.left_out) : "–");
  text += share_within(lines) +
          "\nWidths, as logarithms below and above a forecast; of steps of whole models and of PyTorch's kernels, what "
          "their "
          "parts' and rows' widths are multiplied by:\n\n| of | as it is | fitted to these rows |\n|---|---:|---:|\n";
  for (const auto& [kind, width] : fitted) {
    const auto found = widths.find(kind);
    const Width now = found == widths.end() ? Width{} : found->second;
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
