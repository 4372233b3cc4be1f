// A part of a drawing with two axes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/svg.h"

namespace tilecast {

// A panel with axes from zero; marks are at round numbers.
class Panel {
 public:
  Panel(Svg& svg, double left, double top, double wide, double high, double most_x, double most_y)
      : svg_(svg), left_(left), top_(top), wide_(wide), high_(high), most_x_(above(most_x)), most_y_(above(most_y)) {}

  double x(double value) const { return left_ + wide_ * std::clamp(value / most_x_, 0.0, 1.0); }
  double y(double value) const { return top_ + high_ * (1 - std::clamp(value / most_y_, 0.0, 1.0)); }

  void axes(std::string_view x_words, std::string_view y_words) const {
    for (double at = 0; at <= most_y_ * 1.0001; at += step(most_y_)) {
      svg_.line(left_, y(at), left_ + wide_, y(at), at == 0 ? colour::kInk : colour::kRule);
      svg_.text(left_ - 6, y(at) + 4, fmt::format("{:g}", at), {.anchor = Anchor::end});
    }
    for (double at = 0; at <= most_x_ * 1.0001; at += step(most_x_))
      svg_.text(x(at), top_ + high_ + 16, fmt::format("{:g}", at), {.anchor = Anchor::middle});
    svg_.text(left_ + wide_ / 2, top_ + high_ + 34, x_words, {.anchor = Anchor::middle});
    svg_.text(left_ - 48, top_ + high_ / 2, y_words, {.anchor = Anchor::middle, .turned = -90});
  }
  void dot(double at_x, double at_y, double size, std::string_view fill) const {
    svg_.rect(x(at_x) - size / 2, y(at_y) - size / 2, size, size, fill);
  }
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view stroke) const {
    std::string path;
    for (const auto& [at_x, at_y] : points)
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : "L", x(at_x), y(at_y));
    if (!path.empty()) svg_.path(path, "none", stroke, 2);
  }
  // A limit across the panel, with its name.
  void limit(double at_y, std::string_view words) const {
    svg_.line(left_, y(at_y), left_ + wide_, y(at_y), colour::kOrange, 1.5, "6 4");
    svg_.text(left_ + wide_ - 4, y(at_y) - 4, words, {.anchor = Anchor::end, .fill = colour::kOrange});
  }

 private:
  static double step(double most) { return most / 5; }
  // The next of 1, 1.5, 2, 2.5, 3, 4, 5, 7.5 times a power of ten.
  static double above(double most) {
    if (!(most > 0) || !std::isfinite(most)) return 1;
    const double power = std::pow(10, std::floor(std::log10(most)));
    for (const double mantissa : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5})
      if (mantissa * power >= most * 0.9999) return mantissa * power;
    return 10 * power;
  }
  Svg& svg_;
  double left_, top_, wide_, high_, most_x_, most_y_;
};

}  // namespace tilecast
