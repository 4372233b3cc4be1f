// The tables of counters.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/evidence/counters.h"
#include "support/append.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

struct Line {
  Count launches = 0, equal = 0, tensor_right = 0;
  std::vector<double> tensor, l2, dram, clock;

  void add(const CounterRow& row, const PlannedCounters& planned) {
    ++launches;
    if (planned.ctas == row.ctas) ++equal;
    if (row.tensor > ops(0)) {
      tensor.push_back(relative_error(in_ops(planned.tensor), in_ops(row.tensor)));
      if (tensor.back() <= 0.01) ++tensor_right;
    }
    l2.push_back(relative_error(in_bytes(planned.l2), in_bytes(measured_l2(row))));
    dram.push_back(relative_error(in_bytes(planned.dram), in_bytes(measured_dram(row))));
    // Clock ratios of launches under 5 us are inexact.
    if (row.time >= microseconds(5)) clock.push_back(in_megahertz(row.clock));
  }
};

std::string percent(const std::vector<double>& errors) {
  return errors.empty() ? "-" : fmt::format("{:.1f} %", 100 * median(errors));
}

void append_line(std::string& out, const std::string& name, const Line& line) {
  const std::string within = line.tensor.empty() ? "-" : fmt::format("{} of {}", line.tensor_right, line.tensor.size());
  const std::string clock = line.clock.empty() ? "-" : fmt::format("{:.0f} MHz", median(line.clock));
  append(out, "| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, line.launches, line.equal, percent(line.tensor),
         within, percent(line.l2), percent(line.dram), clock);
}

}  // namespace

std::string counter_tables(const std::vector<CounterComparison>& compared) {
  std::map<std::string, Line> lines;
  Line known, all;
  for (const CounterComparison& c : compared) {
    lines[c.family + (c.plan_known ? "" : " (inferred)")].add(c.row, c.planned);
    if (c.imposed) lines[c.family + " (measured tile)"].add(c.row, *c.imposed);
    all.add(c.row, c.planned);
    if (c.plan_known) known.add(c.row, c.planned);
  }
  std::string out =
      "| family | launches | CTAs equal | tensor operations, median error | within 1 % | L2 bytes, median error "
      "| DRAM bytes, median error | SM clock, median |\n|---|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const auto& [name, line] : lines) append_line(out, name, line);
  append_line(out, "**plan known**", known);
  append_line(out, "**all**", all);
  return out;
}

}  // namespace tilecast
