#include "cli/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "cli/plot/axis.h"
#include "cli/plot/series.h"
#include "cli/terminal/units_text.h"

namespace tilecast {
namespace {

constexpr double kWidth = 880, kHeight = 500, kLeft = 84, kTop = 52, kHigh = 364, kLegend = 210;
constexpr double kWide = kWidth - kLeft - kLegend - 26;
// Okabe and Ito's colours, as in support/svg.h, in an order in which neighbours differ most.
constexpr std::array<std::string_view, 8> kColours = {colour::kBlue, colour::kOrange, colour::kGreen, "#cc79a7",
                                                      "#56b4e9",     "#e69f00",       "#222222",      "#a08000"};
constexpr std::size_t kMostInLegend = 20;

// A unit that makes numbers readable: what to multiply by, and its name.
struct ChartUnit {
  double factor = 1;
  std::string name;
};

ChartUnit unit_for(const std::string& column, double most) {
  const auto time = [most](double seconds_each) -> ChartUnit {
    const double s = most * seconds_each;
    if (s >= 1) return {seconds_each, "s"};
    return s >= 1e-3 ? ChartUnit{seconds_each * 1e3, "ms"} : ChartUnit{seconds_each * 1e6, "µs"};
  };
  if (column.ends_with("_us")) return time(1e-6);
  if (column.ends_with("_ms")) return time(1e-3);
  if (column.ends_with("_bytes_per_s")) return {1e-9, "GB/s"};
  if (column.ends_with("_bytes")) {
    constexpr double kKi = 1024;
    if (most >= kKi * kKi * kKi) return {1 / (kKi * kKi * kKi), "GiB"};
    return most >= kKi * kKi ? ChartUnit{1 / (kKi * kKi), "MiB"} : ChartUnit{1 / kKi, "KiB"};
  }
  return {};
}

std::string with_unit(std::string words, const std::string& unit) {
  std::replace(words.begin(), words.end(), '_', ' ');
  return unit.empty() ? words : words + " [" + unit + "]";
}

// As much of a text as has room.
std::string fitted(std::string words, double size, double room) {
  if (text_width(words, size) <= room) return words;
  while (!words.empty() && text_width(words + "…", size) > room) {
    words.pop_back();
    while (!words.empty() && (static_cast<unsigned char>(words.back()) & 0xC0) == 0x80) words.pop_back();
  }
  return words + "…";
}

void draw_y_axis(Picture& picture, const ChartAxis& axis, const std::string& title) {
  for (const ChartAxis::Tick& tick : axis.ticks()) {
    picture.line({{kLeft, tick.at}, {kLeft + kWide, tick.at}}, colour::kRule, 1);
    picture.text(kLeft - 8, tick.at + 4, tick.words, {.anchor = Anchor::end, .fill = colour::kGrey});
  }
  picture.text(24, kTop + kHigh / 2, title, {.size = 12, .anchor = Anchor::middle, .turned = -90});
}

// "64 KiB"
std::string size_words(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t i = 0;
  while (bytes >= 1024 && i + 1 < kUnits.size()) bytes /= 1024, ++i;
  return fmt::format("{:.4g} {}", bytes, kUnits[i]);
}

// Marks at the numbers themselves where they are few, as those are what was asked for.
std::vector<ChartAxis::Tick> x_ticks(const ChartAxis& axis, const std::set<double>& values, bool of_bytes) {
  constexpr std::size_t kFew = 14;
  constexpr double kGap = 12;
  const auto words = [of_bytes](double value) {
    if (of_bytes) return size_words(value);
    return value == std::round(value) && value < 1e6 ? grouped(std::llround(value)) : tick_text(value);
  };
  if (values.size() > kFew && !of_bytes) return axis.ticks();
  std::vector<ChartAxis::Tick> ticks;
  double free = -1e9;
  for (const double value : values) {
    ChartAxis::Tick tick{axis.place(value), words(value)};
    const double half = text_width(tick.words, TextStyle{}.size) / 2;
    if (tick.at - half < free) continue;
    free = tick.at + half + kGap;
    ticks.push_back(std::move(tick));
  }
  return ticks;
}

void draw_x_axis(Picture& picture, const std::vector<ChartAxis::Tick>& ticks, const std::string& title) {
  const double bottom = kTop + kHigh;
  picture.line({{kLeft, bottom}, {kLeft + kWide, bottom}}, colour::kInk, 1);
  for (const ChartAxis::Tick& tick : ticks) {
    picture.line({{tick.at, bottom}, {tick.at, bottom + 4}}, colour::kInk, 1);
    picture.text(tick.at, bottom + 18, tick.words, {.anchor = Anchor::middle, .fill = colour::kGrey});
  }
  picture.text(kLeft + kWide / 2, bottom + 40, title, {.size = 12, .anchor = Anchor::middle});
}

struct Axes {
  const ChartAxis &x, &y;
  double factor = 1;
  Point at(double x_value, double y_value) const { return {x.place(x_value), y.place(y_value * factor)}; }
};

void draw_band(Picture& picture, const ChartSeries& series, const Axes& axes, std::string_view colour) {
  Polygon band;
  for (const ChartPoint& p : series.points) band.push_back(axes.at(p.x, p.high));
  for (auto p = series.points.rbegin(); p != series.points.rend(); ++p) band.push_back(axes.at(p->x, p->low));
  constexpr double kFaint = 0.14;
  if (series.points.size() > 1) picture.fill(std::move(band), colour, kFaint);
  else picture.line(std::move(band), colour, 1);
}

void draw_line(Picture& picture, const ChartSeries& series, const Axes& axes, std::string_view colour) {
  constexpr std::size_t kMostDots = 40;
  Polygon line;
  for (const ChartPoint& p : series.points) line.push_back(axes.at(p.x, p.y));
  if (line.size() > 1) picture.line(line, colour, 2);
  if (line.size() > kMostDots) return;
  for (const ChartPoint& p : series.points)
    picture.disc(axes.at(p.x, p.y), 3.2, p.fits ? colour : colour::kWhite, colour);
}

void draw_legend(Picture& picture, const std::vector<ChartSeries>& series) {
  const double left = kLeft + kWide + 22;
  double top = kTop + 8;
  for (std::size_t i = 0; i < series.size(); ++i, top += 18) {
    if (i == kMostInLegend) {
      picture.text(left, top + 4, fmt::format("and {} more", series.size() - i), {.fill = colour::kGrey});
      return;
    }
    const std::string_view colour = kColours[i % kColours.size()];
    picture.line({{left, top}, {left + 20, top}}, colour, 2);
    picture.disc({left + 10, top}, 3.2, colour, colour);
    picture.text(left + 28, top + 4, fitted(series[i].name, TextStyle{}.size, kLegend - 34));
  }
}

std::string footnote(const ChartData& data) {
  std::string words;
  if (data.has_intervals) words += "Bands hold four of five measured times (80 % intervals).";
  if (!data.all_fit) words += (words.empty() ? "" : " ") + std::string("Hollow points do not fit into memory.");
  return words;
}

}  // namespace

Result<Picture> sweep_chart(const AnswerRows& rows, const ChartView& view) {
  const auto data = chart_data(rows, view.y);
  if (!data) return data.error();
  std::set<double> x_values;
  std::vector<double> y_values;
  double most = 0, least = 1e300;
  for (const ChartSeries& series : data->series)
    for (const ChartPoint& p : series.points) {
      x_values.insert(p.x), y_values.push_back(p.y);
      most = std::max({most, p.y, p.high}), least = std::min({least, p.y, p.low});
    }
  const ChartUnit unit = unit_for(view.y, most);
  const bool log_y = least > 0 && asks_for_logarithm(y_values);
  const bool log_x = asks_for_logarithm({x_values.begin(), x_values.end()});
  const ChartAxis y(log_y ? least * unit.factor : 0, most * unit.factor * (log_y ? 1 : 1.04), log_y, kTop + kHigh,
                    -kHigh);
  const ChartAxis x(*x_values.begin(), *x_values.rbegin(), log_x, kLeft + 12, kWide - 24);
  Picture picture(kWidth, kHeight, fitted(view.title, 15, kWidth - 40));
  const bool of_bytes = data->x_column == "bytes" || data->x_unit == "bytes";
  draw_y_axis(picture, y, with_unit(view.y_title.empty() ? view.y : view.y_title, unit.name));
  draw_x_axis(picture, x_ticks(x, x_values, of_bytes), with_unit(data->x_column, of_bytes ? "" : data->x_unit));
  const Axes axes{x, y, unit.factor};
  for (std::size_t i = 0; i < data->series.size(); ++i)
    if (data->has_intervals) draw_band(picture, data->series[i], axes, kColours[i % kColours.size()]);
  for (std::size_t i = 0; i < data->series.size(); ++i)
    draw_line(picture, data->series[i], axes, kColours[i % kColours.size()]);
  draw_legend(picture, data->series);
  picture.text(kLeft, kHeight - 14, footnote(*data), {.size = 10, .fill = colour::kGrey});
  return picture;
}

}  // namespace tilecast
