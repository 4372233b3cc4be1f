#include "cli/terminal/fold.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "support/marks.h"
#include "support/table.h"

namespace tilecast {
namespace {

// What stands at each column of a line: a character with the marks before it, and behind it those that end there.
using Places = std::vector<std::string>;

Places places_of(std::string_view line) {
  Places places;
  std::string opening;
  for (std::size_t i = 0; i < line.size();) {
    if (is_mark_at(line, i)) {
      const std::string_view mark = line.substr(i, kMarkLength);
      const bool closes = mark == mark_text(Mark::end) || mark == mark_text(Mark::rows_end);
      (closes && !places.empty() ? places.back() : opening) += mark;
      i += kMarkLength;
      continue;
    }
    std::size_t end = i + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) ++end;
    places.push_back(opening + std::string(line.substr(i, end - i)));
    opening.clear();
    i = end;
  }
  return places;
}

struct Span {
  std::size_t begin = 0, end = 0;
  std::size_t width() const { return end - begin; }
};

// Columns are parted by two places or more at which every line is empty.
std::vector<Span> columns_of(const std::vector<Places>& lines) {
  std::size_t width = 0;
  for (const Places& line : lines) width = std::max(width, line.size());
  const auto empty = [&](std::size_t at) {
    return std::all_of(lines.begin(), lines.end(),
                       [at](const Places& line) { return at >= line.size() || line[at] == " "; });
  };
  std::vector<Span> columns;
  for (std::size_t at = 0; at < width; ++at) {
    if (empty(at)) continue;
    if (!columns.empty() && at - columns.back().end < 2) columns.back().end = at + 1;
    else columns.push_back({at, at + 1});
  }
  return columns;
}

// The places of one span, and as many spaces as it is short of them.
std::string cell_of(const Places& line, const Span& span) {
  std::string cell;
  for (std::size_t at = span.begin; at < span.end; ++at) cell += at < line.size() ? line[at] : " ";
  return cell;
}

void append_part(std::string& out, const std::vector<Places>& lines, const std::vector<Span>& columns) {
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::string text(columns.front().begin, ' ');  // the table's indent
    for (const Span& column : columns) text += (&column == &columns.front() ? "" : "  ") + cell_of(lines[l], column);
    text.erase(text.find_last_not_of(' ') + 1);
    out += (l == 0 ? marked(Mark::heading, text) : text) + "\n";
  }
}

// A table, heading first. Its parts take as many columns as fit.
std::string parts_of(const std::vector<Places>& lines, std::size_t width) {
  const std::vector<Span> columns = columns_of(lines);
  std::string out;
  for (std::size_t next = 1; next < columns.size();) {
    std::vector<Span> part = {columns.front()};
    std::size_t taken = columns.front().end;
    for (; next < columns.size() && taken + 2 + columns[next].width() <= width; ++next) {
      part.push_back(columns[next]);
      taken += 2 + columns[next].width();
    }
    if (part.size() == 1) return "";  // not even one more beside the first
    if (!out.empty()) out += "\n";
    append_part(out, lines, part);
  }
  return out;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The heading without the marks around it; none: the line is not a table's heading.
std::string_view heading_in(std::string_view line) {
  const std::string begin = mark_text(Mark::heading), end = mark_text(Mark::end);
  if (!line.starts_with(begin) || !line.ends_with(end) || line.size() < begin.size() + end.size()) return {};
  return line.substr(begin.size(), line.size() - begin.size() - end.size());
}

// The table that begins with this heading and ends at the mark in `rest`, if it is too wide and can be cut.
std::string folded_table(std::string_view heading, std::string_view& rest, std::size_t width) {
  const std::size_t end = rest.find(mark_text(Mark::rows_end));
  if (end == std::string_view::npos) return "";
  std::string_view body = rest.substr(0, end);
  std::vector<Places> lines = {places_of(heading)};
  std::size_t widest = lines.front().size();
  while (!body.empty()) {
    const std::string_view line = take_line(body);
    if (!heading_in(line).empty()) return "";  // the mark is another table's
    lines.push_back(places_of(line));
    widest = std::max(widest, lines.back().size());
  }
  std::string parts = widest > width ? parts_of(lines, width) : "";
  if (!parts.empty()) rest.remove_prefix(std::min(end + kMarkLength + 1, rest.size()));
  return parts;
}

// Where the words of an entry's description begin: behind its name and two spaces or more.
std::size_t description_of(std::string_view line) {
  const std::size_t name = line.find_first_not_of(' ');
  const std::size_t gap = name == 0 ? std::string_view::npos : line.find("  ", name);
  return gap == std::string_view::npos ? name : line.find_first_not_of(' ', gap);
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  winsize size{};
  return isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string folded(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const bool ends = text.find('\n') != std::string_view::npos;
    const std::string_view line = take_line(text);
    const std::string_view heading = heading_in(line);
    const std::string table = heading.empty() ? "" : folded_table(heading, text, width);
    out += table.empty() ? std::string(line) + (ends ? "\n" : "") : table;
  }
  return out;
}

std::string wrapped_help(std::string_view help, std::size_t width) {
  // Narrower than this, a description would be a column of single words.
  constexpr std::size_t kRoom = 30;
  std::string out;
  while (!help.empty()) {
    std::string_view line = take_line(help);
    const bool command = line.starts_with("  tilecast ");  // an example, to be copied
    std::size_t indent = line.empty() || command ? 0 : description_of(line);
    if (indent == std::string_view::npos || indent + kRoom > width) indent = 0;
    std::size_t room = width;  // of the first line; those after it are indented
    std::string margin;
    while (width > 0 && !command && display_width(std::string(line)) > room) {
      std::size_t cut = line.rfind(' ', room);
      if (cut == std::string_view::npos || (margin.empty() && cut < indent)) cut = line.find(' ', room);
      if (cut == std::string_view::npos) break;
      out += margin + std::string(line.substr(0, cut)) + "\n";
      line.remove_prefix(cut + 1);
      margin.assign(indent, ' '), room = width - indent;
    }
    out += margin + std::string(line) + "\n";
  }
  return out;
}

}  // namespace tilecast
