#include "learn/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "learn/agreement.h"
#include "learn/import.h"

namespace tilecast {
namespace {

template <class... Args>
void line(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  out += '\n';
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string share_of(Count part, Count whole) {
  return whole > 0 ? percent(static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

// Rows judged with the rest, and their outcomes; trapped rows the other way round.
struct Judged {
  std::vector<Measurement> rows;
  std::vector<Outcome> forecast, roofline;
};
Judged select(const std::vector<Measurement>& rows, const std::vector<Outcome>& forecast,
              const std::vector<Outcome>& roofline, bool trapped) {
  Judged chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (trap_of(rows[i]).empty() == trapped) continue;
    chosen.rows.push_back(rows[i]);
    chosen.forecast.push_back(forecast[i]);
    chosen.roofline.push_back(roofline[i]);
  }
  return chosen;
}

void error_table(std::string& out, const Judged& judged, const std::vector<Key>& by, std::string_view head,
                 std::string_view dashes) {
  line(out, "| {} | rows | forecast mean | median | p90 | bias | roofline mean |", head);
  line(out, "|{}---:|---:|---:|---:|---:|---:|", dashes);
  const auto ours = group_errors(judged.rows, judged.forecast, by);
  const auto plain = group_errors(judged.rows, judged.roofline, by);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Group& g = ours[i];
    std::string keys;
    for (const std::string& key : g.keys) keys += "| " + key + " ";
    line(out, "{}| {} | {} | {} | {} | {} | {} |", keys, g.rows, percent(g.mean), percent(g.median), percent(g.p90),
         percent(g.bias), percent(plain[i].mean));
  }
  out += '\n';
}

void violation_table(std::string& out, const Judged& judged, const std::vector<Key>& by, std::string_view head) {
  line(out, "| {} | rows | faster than the bound | share | worst | |", head);
  for (std::size_t i = 0; i < by.size(); ++i) out += "|---";
  line(out, "|---:|---:|---:|---:|---|");
  Count quiet = 0;
  for (const Group& g : group_errors(judged.rows, judged.forecast, by)) {
    if (g.bound_violations == 0 && g.below_bound == 0 && g.failed == 0) {
      ++quiet;
      continue;
    }
    std::string keys, remark;
    for (const std::string& key : g.keys) keys += "| " + key + " ";
    if (g.violation_share() > kMostViolations) remark = "**above 0.5 %**";
    if (g.below_bound > 0) remark += fmt::format(" {} forecasts below their bound", g.below_bound);
    if (g.failed > 0) remark += fmt::format(" {} rows without a plan", g.failed);
    line(out, "{}| {} | {} | {:.2f} % | {:.2f}x | {} |", keys, g.rows, g.bound_violations, 100 * g.violation_share(),
         g.worst_violation, remark);
  }
  line(out, "\nThe other {} groups have none.\n", quiet);
}

void launch_table(std::string& out, const Judged& judged) {
  const auto groups = compare_launches(judged.rows, judged.forecast);
  if (groups.empty()) return;
  line(out, "## Planned against measured launches\n");
  line(out, "| source | family | GPU | rows | grid equal | tile equal | tile and split equal |");
  line(out, "|---|---|---|---:|---:|---:|---:|");
  for (const Agreement& a : groups)
    line(out, "| {} | {} | {} | {} | {} | {} | {} |", a.source, a.family, a.gpu, a.grids,
         share_of(a.grids_equal, a.grids), share_of(a.tiles_equal, a.tiles), share_of(a.splits_equal, a.tiles));
  out += '\n';
}

}  // namespace

std::string error_tables(const std::vector<Measurement>& rows, const std::vector<Outcome>& forecast,
                         const std::vector<Outcome>& roofline) {
  const Judged judged = select(rows, forecast, roofline, false);
  std::string out;
  line(out, "## Error of the analytic forecast beside the plain roofline's, same rows\n");
  error_table(out, judged, {Key::source, Key::family, Key::dtype}, "source | family | dtype", "---|---|---|");
  error_table(out, judged, {Key::source, Key::family, Key::dtype, Key::gpu}, "source | family | dtype | GPU",
              "---|---|---|---|");
  return out;
}

std::string bound_tables(const std::vector<Measurement>& rows, const std::vector<Outcome>& forecast) {
  const Judged judged = select(rows, forecast, forecast, false), trapped = select(rows, forecast, forecast, true);
  std::string out;
  line(out, "## Rows measured faster than their bound\n");
  line(out, "All {} rows of the tables, not a sample.\n", rows.size());
  violation_table(out, judged, {Key::source, Key::gpu, Key::family, Key::dtype}, "source | GPU | family | dtype");
  if (!trapped.rows.empty()) {
    line(out, "### Known traps of the data, judged apart\n");
    violation_table(out, trapped, {Key::trap, Key::gpu, Key::family, Key::dtype}, "trap | GPU | family | dtype");
  }
  launch_table(out, judged);
  return out;
}

Result<std::string> accuracy_report(const std::vector<std::string>& paths, const SampleOptions& sample,
                                    const ReadOptions& read, int threads) {
  Names names;
  auto all = read_sampled(paths, {.rows = 0, .seed = 0}, read, names);
  if (!all) return std::move(all).error();
  auto everything = forecast_rows(all->rows, Method::tilecast, threads);
  if (!everything) return std::move(everything).error();
  Sampler sampler(sample);
  for (const Measurement& row : all->rows) sampler.offer(row);
  const std::vector<Measurement> rows = sampler.take();
  auto forecast = forecast_rows(rows, Method::tilecast, threads);
  if (!forecast) return std::move(forecast).error();
  auto roofline = forecast_rows(rows, Method::roofline, threads);
  if (!roofline) return std::move(roofline).error();
  return error_tables(rows, *forecast, *roofline) + bound_tables(all->rows, *everything);
}

}  // namespace tilecast
