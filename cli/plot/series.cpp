#include "cli/plot/series.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 9> kNames = {"gpu",    "cluster", "model",   "program", "engine",
                                                    "dtype",  "op",      "library", "load"};
// Numbers that some questions take lists of, beside those that are swept.
constexpr std::array<std::string_view, 2> kListed = {"bytes", "tokens"};

std::size_t distinct(const AnswerRows& rows, std::size_t column) {
  std::set<std::string_view> values;
  for (const auto& row : rows.rows)
    if (!row[column].text.empty()) values.insert(row[column].text);
  return values.size();
}

// Columns that may be the x, those swept first.
std::vector<std::size_t> number_columns(const AnswerRows& rows) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < rows.swept; ++i) columns.push_back(i);
  for (const std::string_view name : kListed)
    if (const auto at = rows.find(name); at && *at >= rows.swept && distinct(rows, *at) > 1) columns.push_back(*at);
  return columns;
}

// "GPU, fp8, context 4096": what tells a row's line from the others.
std::string series_name(const AnswerRows& rows, const std::vector<std::size_t>& columns, std::size_t row) {
  std::vector<std::string> words;
  for (const std::size_t at : columns) {
    const RowCell& cell = rows.rows[row][at];
    words.push_back(cell.number ? rows.columns[at] + " " + cell.text : cell.text);
  }
  return join(words, ", ");
}

std::vector<std::size_t> telling_columns(const AnswerRows& rows, std::size_t x) {
  std::vector<std::size_t> columns;
  std::optional<std::size_t> only;
  for (const std::string_view name : kNames) {
    const auto at = rows.find(name);
    if (!at) continue;
    const std::size_t values = distinct(rows, *at);
    if (values > 1 && !(name == "load" && rows.swept > 0)) columns.push_back(*at);
    if (values == 1 && !only) only = *at;
  }
  for (const std::size_t at : number_columns(rows))
    if (at != x) columns.push_back(at);
  if (columns.empty() && only) columns.push_back(*only);
  return columns;
}

// The columns with the ends of a column's interval.
struct Ends {
  std::size_t low = 0, high = 0;
};
std::optional<Ends> interval_columns(const AnswerRows& rows, const std::string& y) {
  const std::size_t unit = y.rfind('_');
  const std::string stem = y.substr(0, unit), ending = unit == std::string::npos ? "" : y.substr(unit);
  const bool main = stem == "latency" || stem == "step";
  const std::array<std::pair<std::string, std::string>, 3> names = {
      std::pair{stem + "_interval_low" + ending, stem + "_interval_high" + ending},
      {main ? "interval_low" + ending : "", main ? "interval_high" + ending : ""},
      {"fast_" + y, "slow_" + y}};
  for (const auto& [low, high] : names) {
    const auto from = rows.find(low), to = rows.find(high);
    if (from && to) return Ends{*from, *to};
  }
  return std::nullopt;
}

}  // namespace

Result<ChartData> chart_data(const AnswerRows& rows, const std::string& y_column) {
  const std::vector<std::size_t> numbers = number_columns(rows);
  if (numbers.empty())
    return field_error("plot", "has nothing to draw over: no number is a range", "for example --batch 1..64*2");
  const std::size_t x = *std::max_element(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) {
    return distinct(rows, a) < distinct(rows, b);
  });
  const auto y = rows.find(y_column);
  const auto ends = interval_columns(rows, y_column);
  const auto in_memory = rows.find("memory_fits"), fits = in_memory ? in_memory : rows.find("fits");
  const std::vector<std::size_t> telling = telling_columns(rows, x);
  ChartData data{rows.columns[x], x < rows.units.size() ? rows.units[x] : "", {}, ends.has_value(), true};
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; y && i < rows.rows.size(); ++i) {
    const auto& row = rows.rows[i];
    if (!row[x].number || !row[*y].number) continue;
    ChartPoint point{*row[x].number, *row[*y].number, *row[*y].number, *row[*y].number, true};
    if (ends && row[ends->low].number && row[ends->high].number) {
      point.low = std::min(*row[ends->low].number, *row[ends->high].number);
      point.high = std::max(*row[ends->low].number, *row[ends->high].number);
    }
    point.fits = !fits || row[*fits].text != "false";
    data.all_fit = data.all_fit && point.fits;
    const std::string name = series_name(rows, telling, i);
    const auto [place, fresh] = places.try_emplace(name, data.series.size());
    if (fresh) data.series.push_back({name, {}});
    data.series[place->second].points.push_back(point);
  }
  if (data.series.empty())
    return field_error("plot", "has no numbers to draw in the column '" + y_column + "'", "--plot-y names another");
  for (ChartSeries& series : data.series)
    std::stable_sort(series.points.begin(), series.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  return data;
}

}  // namespace tilecast
