// Letters as outlines, for pictures that have no font to ask for: those of data/fonts, compiled in.
#pragma once

#include <string_view>
#include <vector>

#include "support/embedded.h"

namespace tilecast {

struct Point {
  double x = 0, y = 0;
};
using Polygon = std::vector<Point>;

std::span<const EmbeddedFile> embedded_font_files();

// How wide a line of text of this size is, in the same unit as the size.
double text_width(std::string_view words, double size);

// The outlines of a line of text that begins at the origin, y downwards; curves are drawn as short lines. A letter
// without an outline is a question mark.
std::vector<Polygon> text_outlines(std::string_view words, double size);

}  // namespace tilecast
