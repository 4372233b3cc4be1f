// A drawing as data, from which an SVG and a PNG file are made alike. Coordinates are pixels from the top left corner.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/plot/letters.h"
#include "support/svg.h"

namespace tilecast {

class Picture {
 public:
  // The title is shown and read aloud.
  Picture(double width, double height, std::string title);

  void fill(Polygon outline, std::string_view colour, double opacity = 1);
  void line(Polygon points, std::string_view colour, double width);
  void dashed(Point from, Point to, std::string_view colour, double width);
  // A filled circle with a rim.
  void disc(Point centre, double radius, std::string_view fill, std::string_view rim);
  void text(double x, double y, std::string words, TextStyle style = {});

  std::string svg() const;
  std::string png() const;  // two pixels for one, for dense screens and for paper

 private:
  // Colours live as long as the program: those of support/svg.h and of the chart's own list.
  struct Shape {
    Polygon points;
    std::string_view fill, rim;  // empty: none
    double width = 1, opacity = 1;
    bool closed = false;
  };
  struct Words {
    double x = 0, y = 0;
    std::string words;
    TextStyle style;
  };
  double width_, height_;
  std::string title_;
  std::vector<std::variant<Shape, Words>> parts_;
};

}  // namespace tilecast
