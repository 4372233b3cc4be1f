#include "support/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/append.h"

namespace tilecast {

std::string escaped(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

namespace {

constexpr std::string_view name_of(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title) : width_(width), height_(height), title_(escaped(title)) {
  rect(0, 0, width, height, colour::kWhite);
  text(16, 26, title, {.size = 15, .bold = true});
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill) {
  append(body_, "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\" fill=\"{}\"/>\n", x, y, width,
         height, fill);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width,
               std::string_view dashes) {
  append(body_, "<line x1=\"{:.6g}\" y1=\"{:.6g}\" x2=\"{:.6g}\" y2=\"{:.6g}\" stroke=\"{}\" stroke-width=\"{:.3g}\"",
         x1, y1, x2, y2, stroke, width);
  if (!dashes.empty()) append(body_, " stroke-dasharray=\"{}\"", dashes);
  body_ += "/>\n";
}

void Svg::path(std::string_view data, std::string_view fill, std::string_view stroke, double width, double opacity) {
  append(body_, "<path d=\"{}\" fill=\"{}\"", data, fill);
  if (opacity < 1) append(body_, " fill-opacity=\"{:.3g}\"", opacity);
  if (stroke != "none") append(body_, " stroke=\"{}\" stroke-width=\"{:.3g}\"", stroke, width);
  body_ += "/>\n";
}

void Svg::cells(double x, double y, double size, std::string_view data, std::string_view fill) {
  append(body_, "<path transform=\"translate({:.6g} {:.6g}) scale({:.6g})\" d=\"{}\" fill=\"{}\"/>\n", x, y, size, data,
         fill);
}

void Svg::text(double x, double y, std::string_view words, const TextStyle& style) {
  append(body_, "<text x=\"{:.6g}\" y=\"{:.6g}\" font-size=\"{:.3g}\" text-anchor=\"{}\" fill=\"{}\"", x, y, style.size,
         name_of(style.anchor), style.fill);
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (style.turned != 0) append(body_, " transform=\"rotate({:.4g} {:.6g} {:.6g})\"", style.turned, x, y);
  append(body_, ">{}</text>\n", escaped(words));
}

std::string Svg::file() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.6g}\" height=\"{1:.6g}\" viewBox=\"0 0 {0:.6g} {1:.6g}\" "
      "role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>{2}</title>\n{3}</svg>\n",
      width_, height_, title_, body_);
}

std::string blue_shade(double share) {
  // From nearly white to a deep blue, in even steps of lightness.
  constexpr std::array<double, 3> kLight = {240, 246, 252}, kDark = {8, 48, 107};
  const double at = std::clamp(share, 0.0, 1.0);
  const auto mixed = [&](std::size_t c) {
    return static_cast<int>(std::lround(kLight[c] + (kDark[c] - kLight[c]) * at));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2));
}

}  // namespace tilecast
