// A drawing as SVG text: just what plots of the documents need. Coordinates are pixels from the top left corner.
//
// The drawing has its own white background, so it looks the same on light and dark pages.
#pragma once

#include <string>
#include <string_view>

namespace tilecast {

// Text escaped for XML and HTML; control characters are dropped.
std::string escaped(std::string_view words);

enum class Anchor : unsigned char { start, middle, end };

// Okabe and Ito's colours, told apart by people of any colour vision (jfly.uni-koeln.de/color), and greys.
namespace colour {
inline constexpr std::string_view kBlue = "#0072b2", kOrange = "#d55e00", kGreen = "#009e73", kInk = "#222222",
                                  kGrey = "#767676", kRule = "#dddddd", kWhite = "#ffffff";
}  // namespace colour

struct TextStyle {
  double size = 11;
  Anchor anchor = Anchor::start;
  std::string_view fill = colour::kInk;
  double turned = 0;  // degrees clockwise about its place
  bool bold = false;
};

class Svg {
 public:
  // The title is shown and read aloud.
  Svg(double width, double height, std::string_view title);

  void rect(double x, double y, double width, double height, std::string_view fill);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1,
            std::string_view dashes = {});
  // `data` as the d attribute takes it.
  void path(std::string_view data, std::string_view fill, std::string_view stroke = "none", double width = 1,
            double opacity = 1);
  // Squares of a grid in one colour: `data` in whole cells of `size` pixels from (x, y), so thousands stay small.
  void cells(double x, double y, double size, std::string_view data, std::string_view fill);
  void text(double x, double y, std::string_view words, const TextStyle& style = {});

  std::string file() const;

 private:
  double width_, height_;
  std::string title_, body_;
};

// A colour between white and a dark blue, the darker the larger; `share` from 0 to 1.
std::string blue_shade(double share);

}  // namespace tilecast
