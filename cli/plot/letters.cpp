#include "cli/plot/letters.h"

#include <charconv>
#include <map>
#include <string>

namespace tilecast {
namespace {

struct Letter {
  double width = 0;
  std::vector<Polygon> outlines;  // y upwards
};

struct Letters {
  double em = 1;
  std::map<char32_t, Letter> by_code;

  const Letter& of(char32_t code) const {
    const auto found = by_code.find(code);
    return found == by_code.end() ? by_code.at('?') : found->second;
  }
};

double next_number(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  double value = 0;
  const char* end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

Point next_point(std::string_view& text) {
  const double x = next_number(text);
  return {x, next_number(text)};
}

// A quadratic curve as lines; eight of them are round at the sizes that plots have.
void add_curve(Polygon& line, Point control, Point end) {
  constexpr int kPieces = 8;
  const Point begin = line.back();
  for (int i = 1; i <= kPieces; ++i) {
    const double t = static_cast<double>(i) / kPieces, a = (1 - t) * (1 - t), b = 2 * t * (1 - t), c = t * t;
    line.push_back({a * begin.x + b * control.x + c * end.x, a * begin.y + b * control.y + c * end.y});
  }
}

std::vector<Polygon> outlines_from(std::string_view path) {
  std::vector<Polygon> outlines;
  while (!path.empty()) {
    const char step = path.front();
    path.remove_prefix(1);
    if (step == 'M') outlines.push_back({next_point(path)});
    else if (step == 'L') outlines.back().push_back(next_point(path));
    else if (step == 'Q') {
      const Point control = next_point(path);
      add_curve(outlines.back(), control, next_point(path));
    }
  }
  return outlines;
}

// "41 1401 M16 0L...": a letter's code in hexadecimal, its width, its outline.
Letters letters_from(std::string_view text) {
  Letters letters;
  letters.em = next_number(text);
  while (text.size() > 1) {
    text.remove_prefix(1);  // the end of the line before
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size());
    std::uint32_t code = 0;
    const char* end = std::from_chars(line.data(), line.data() + line.size(), code, 16).ptr;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    Letter& letter = letters.by_code[code];
    letter.width = next_number(line);
    letter.outlines = outlines_from(line.substr(std::min(line.find('M'), line.size())));
  }
  return letters;
}

const Letters& letters() {
  static const Letters all = letters_from(embedded_font_files().front().text);
  return all;
}

// The characters of a UTF-8 text.
std::u32string characters_of(std::string_view words) {
  std::u32string all;
  for (const char byte : words) {
    const auto b = static_cast<unsigned char>(byte);
    if ((b & 0xC0) != 0x80) all.push_back(b < 0x80 ? b : b < 0xE0 ? b & 0x1F : b < 0xF0 ? b & 0x0F : b & 0x07);
    else if (!all.empty()) all.back() = all.back() << 6 | (b & 0x3F);
  }
  return all;
}

}  // namespace

double text_width(std::string_view words, double size) {
  double width = 0;
  for (const char32_t code : characters_of(words)) width += letters().of(code).width;
  return width * size / letters().em;
}

std::vector<Polygon> text_outlines(std::string_view words, double size) {
  std::vector<Polygon> all;
  const double scale = size / letters().em;
  double x = 0;
  for (const char32_t code : characters_of(words)) {
    const Letter& letter = letters().of(code);
    for (Polygon outline : letter.outlines) {
      for (Point& p : outline) p = {(x + p.x) * scale, -p.y * scale};
      all.push_back(std::move(outline));
    }
    x += letter.width;
  }
  return all;
}

}  // namespace tilecast
