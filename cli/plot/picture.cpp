#include "cli/plot/picture.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "cli/plot/canvas.h"

namespace tilecast {
namespace {

constexpr double kTitleX = 16, kTitleY = 26, kTitleSize = 15;  // where Svg puts its title

std::string path_data(const Polygon& points, bool closed) {
  std::string data;
  for (const Point& p : points) data += fmt::format("{}{:.2f},{:.2f}", data.empty() ? "M" : "L", p.x, p.y);
  return closed ? data + "Z" : data;
}

double shift_of(Anchor anchor, double width) {
  return anchor == Anchor::start ? 0 : anchor == Anchor::middle ? -width / 2 : -width;
}

void write_words(Canvas& canvas, double x, double y, std::string_view words, const TextStyle& style) {
  std::vector<Polygon> outlines = text_outlines(words, style.size);
  const double shift = shift_of(style.anchor, text_width(words, style.size));
  const double angle = style.turned * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  for (Polygon& outline : outlines)
    for (Point& p : outline) {
      p.x += shift;
      p = {x + c * p.x - s * p.y, y + s * p.x + c * p.y};
    }
  canvas.fill(outlines, colour_from(style.fill));
  if (!style.bold) return;
  constexpr double kBolder = 0.035;  // of the size: strokes that much wider look bold
  for (const Polygon& outline : outlines) {
    Polygon closed = outline;
    closed.push_back(outline.front());
    canvas.stroke(closed, style.size * kBolder, colour_from(style.fill));
  }
}

}  // namespace

Picture::Picture(double width, double height, std::string title)
    : width_(width), height_(height), title_(std::move(title)) {}

void Picture::fill(Polygon outline, std::string_view colour, double opacity) {
  parts_.emplace_back(Shape{std::move(outline), colour, {}, 1, opacity, true});
}

void Picture::line(Polygon points, std::string_view colour, double width) {
  parts_.emplace_back(Shape{std::move(points), {}, colour, width, 1, false});
}

void Picture::dashed(Point from, Point to, std::string_view colour, double width) {
  constexpr double kDash = 6, kPeriod = 10;
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const auto at = [&](double along) {
    const double share = along / length;
    return Point{from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share};
  };
  for (double along = 0; along < length; along += kPeriod)
    line({at(along), at(std::min(along + kDash, length))}, colour, width);
}

void Picture::disc(Point centre, double radius, std::string_view fill, std::string_view rim) {
  constexpr int kCorners = 20;
  Polygon corners;
  for (int i = 0; i < kCorners; ++i) {
    const double angle = 2 * std::numbers::pi * i / kCorners;
    corners.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
  parts_.emplace_back(Shape{std::move(corners), fill, rim, 1.5, 1, true});
}

void Picture::text(double x, double y, std::string words, TextStyle style) {
  parts_.emplace_back(Words{x, y, std::move(words), style});
}

std::string Picture::svg() const {
  Svg svg(width_, height_, title_);
  for (const auto& part : parts_) {
    if (const auto* words = std::get_if<Words>(&part)) {
      svg.text(words->x, words->y, words->words, words->style);
      continue;
    }
    const Shape& shape = std::get<Shape>(part);
    svg.path(path_data(shape.points, shape.closed), shape.fill.empty() ? "none" : shape.fill,
             shape.rim.empty() ? "none" : shape.rim, shape.width, shape.opacity);
  }
  return svg.file();
}

std::string Picture::png() const {
  constexpr double kScale = 2;
  Canvas canvas(width_, height_, kScale);
  write_words(canvas, kTitleX, kTitleY, title_, {.size = kTitleSize, .bold = true});
  for (const auto& part : parts_) {
    if (const auto* words = std::get_if<Words>(&part)) {
      write_words(canvas, words->x, words->y, words->words, words->style);
      continue;
    }
    const Shape& shape = std::get<Shape>(part);
    if (!shape.fill.empty()) canvas.fill({shape.points}, colour_from(shape.fill), shape.opacity);
    if (shape.rim.empty()) continue;
    Polygon rim = shape.points;
    if (shape.closed) rim.push_back(shape.points.front());
    canvas.stroke(rim, shape.width, colour_from(shape.rim));
  }
  return canvas.png();
}

}  // namespace tilecast
