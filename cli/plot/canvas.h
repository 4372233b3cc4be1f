// A grid of pixels that shapes are painted on with smooth edges, and the PNG file it makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/plot/letters.h"

namespace tilecast {

struct Rgb {
  double red = 0, green = 0, blue = 0;  // 0 to 1
};

// "#0072b2"; black for what is no such text.
Rgb colour_from(std::string_view hex);

class Canvas {
 public:
  // White, `scale` pixels for one unit of the coordinates.
  Canvas(double width, double height, double scale);

  // The inside of outlines, each closed: where they wind around a point at all (the nonzero rule of SVG and of fonts).
  void fill(const std::vector<Polygon>& outlines, const Rgb& colour, double opacity = 1);
  // A line of this width through the points, round at its joints and ends.
  void stroke(const Polygon& points, double width, const Rgb& colour);

  std::uint8_t pixel(std::size_t x, std::size_t y, std::size_t channel) const;
  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  // 8 bits a channel, red, green and blue.
  std::string png() const;

 private:
  // Pixels of a shape and how much of each it covers.
  struct Cover {
    std::size_t left = 0, top = 0, wide = 0, high = 0;
    std::vector<float> share;
  };
  Cover cover_of(const std::vector<Polygon>& outlines) const;
  void paint(const Cover& cover, const Rgb& colour, double opacity);

  std::size_t width_, height_;
  double scale_;
  std::vector<float> pixels_;
};

}  // namespace tilecast
