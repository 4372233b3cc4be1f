#include "cli/plot/canvas.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "cli/plot/png.h"

namespace tilecast {
namespace {

constexpr std::size_t kChannels = 3;
constexpr int kLinesPerPixel = 5;  // lines that are tried through each row of pixels; along a line, covers are exact

struct EdgeCrossing {
  double x = 0;
  int winding = 0;
};

// Where a horizontal line meets the outlines, from left to right.
void find_crossings(const std::vector<Polygon>& outlines, double y, std::vector<EdgeCrossing>& crossings) {
  crossings.clear();
  for (const Polygon& outline : outlines)
    for (std::size_t i = 0; i < outline.size(); ++i) {
      const Point &a = outline[i], &b = outline[(i + 1) % outline.size()];
      if ((a.y <= y) == (b.y <= y)) continue;
      crossings.push_back({a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x), a.y < b.y ? 1 : -1});
    }
  std::sort(crossings.begin(), crossings.end(), [](const EdgeCrossing& a, const EdgeCrossing& b) { return a.x < b.x; });
}

// Adds the part of each pixel between two places of a row.
void add_span(float* row, double from, double to, std::size_t wide, float weight) {
  from = std::clamp(from, 0.0, static_cast<double>(wide));
  to = std::clamp(to, 0.0, static_cast<double>(wide));
  for (auto x = static_cast<std::size_t>(from); x < wide && static_cast<double>(x) < to; ++x) {
    const double left = std::max(from, static_cast<double>(x)), right = std::min(to, static_cast<double>(x) + 1);
    row[x] += weight * static_cast<float>(right - left);
  }
}

Polygon circle(Point centre, double radius) {
  constexpr int kCorners = 24;
  Polygon corners;
  for (int i = 0; i < kCorners; ++i) {
    const double angle = 2 * std::numbers::pi * i / kCorners;
    corners.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
  return corners;
}

// A piece of a line: a rectangle that winds as circles do.
Polygon bar(Point a, Point b, double width) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  if (!(length > 0)) return {};
  const double dx = -(b.y - a.y) / length * width / 2, dy = (b.x - a.x) / length * width / 2;
  return {{a.x - dx, a.y - dy}, {b.x - dx, b.y - dy}, {b.x + dx, b.y + dy}, {a.x + dx, a.y + dy}};
}

}  // namespace

Rgb colour_from(std::string_view hex) {
  std::uint32_t bits = 0;
  if (hex.size() == 7 && hex.front() == '#') std::from_chars(hex.data() + 1, hex.data() + hex.size(), bits, 16);
  const auto channel = [bits](int shift) { return static_cast<double>(bits >> shift & 0xFF) / 255; };
  return {channel(16), channel(8), channel(0)};
}

Canvas::Canvas(double width, double height, double scale)
    : width_(static_cast<std::size_t>(std::lround(width * scale))),
      height_(static_cast<std::size_t>(std::lround(height * scale))),
      scale_(scale),
      pixels_(width_ * height_ * kChannels, 1.0F) {}

Canvas::Cover Canvas::cover_of(const std::vector<Polygon>& outlines) const {
  double left = 1e9, right = 0, top = 1e9, bottom = 0;
  for (const Polygon& outline : outlines)
    for (const Point& p : outline) {
      left = std::min(left, p.x), right = std::max(right, p.x);
      top = std::min(top, p.y), bottom = std::max(bottom, p.y);
    }
  const auto edge = [](double at, std::size_t most) {
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(most)));
  };
  Cover cover;
  cover.left = edge(std::floor(left), width_), cover.top = edge(std::floor(top), height_);
  const std::size_t x_end = edge(std::ceil(right), width_), y_end = edge(std::ceil(bottom), height_);
  if (x_end <= cover.left || y_end <= cover.top) return cover;
  cover.wide = x_end - cover.left, cover.high = y_end - cover.top;
  cover.share.assign(cover.wide * cover.high, 0);
  std::vector<EdgeCrossing> crossings;
  for (std::size_t row = 0; row < cover.high; ++row)
    for (int line = 0; line < kLinesPerPixel; ++line) {
      find_crossings(outlines, static_cast<double>(cover.top + row) + (line + 0.5) / kLinesPerPixel, crossings);
      int winding = 0;
      for (std::size_t i = 0; i + 1 < crossings.size(); ++i) {
        winding += crossings[i].winding;
        if (winding == 0) continue;
        add_span(&cover.share[row * cover.wide], crossings[i].x - static_cast<double>(cover.left),
                 crossings[i + 1].x - static_cast<double>(cover.left), cover.wide, 1.0F / kLinesPerPixel);
      }
    }
  return cover;
}

void Canvas::paint(const Cover& cover, const Rgb& colour, double opacity) {
  for (std::size_t y = 0; y < cover.high; ++y)
    for (std::size_t x = 0; x < cover.wide; ++x) {
      const float share = std::min(cover.share[y * cover.wide + x], 1.0F) * static_cast<float>(opacity);
      float* pixel = &pixels_[((cover.top + y) * width_ + cover.left + x) * kChannels];
      std::size_t c = 0;
      for (const double to : {colour.red, colour.green, colour.blue}) {
        pixel[c] += share * (static_cast<float>(to) - pixel[c]);
        ++c;
      }
    }
}

void Canvas::fill(const std::vector<Polygon>& outlines, const Rgb& colour, double opacity) {
  std::vector<Polygon> scaled = outlines;
  for (Polygon& outline : scaled)
    for (Point& p : outline) p = {p.x * scale_, p.y * scale_};
  paint(cover_of(scaled), colour, opacity);
}

void Canvas::stroke(const Polygon& points, double width, const Rgb& colour) {
  std::vector<Polygon> pieces;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool inner = i > 0 && i + 1 < points.size();
    if (inner) pieces.push_back(circle(points[i], width / 2));
    if (i > 0) pieces.push_back(bar(points[i - 1], points[i], width));
  }
  fill(pieces, colour);
}

std::uint8_t Canvas::pixel(std::size_t x, std::size_t y, std::size_t channel) const {
  const float value = pixels_[(y * width_ + x) * kChannels + channel];
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0F, 1.0F) * 255));
}

std::string Canvas::png() const {
  std::string rows;
  for (std::size_t y = 0; y < height_; ++y) {
    rows += '\0';  // this row is not filtered
    for (std::size_t x = 0; x < width_; ++x)
      for (std::size_t c = 0; c < kChannels; ++c) rows += static_cast<char>(pixel(x, y, c));
  }
  return png_file(width_, height_, rows);
}

}  // namespace tilecast
