// Streaming CSV with a header line. Fields are views into the line; quotes ("a,b", "say ""x""") are undone. A quoted
// field does not cross lines: none of our tables needs that, and rejecting it keeps a stray quote from swallowing a
// file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/gzip_reader.h"
#include "support/number.h"

namespace tilecast {

class CsvReader {
 public:
  // The header is the first line, or the first that `is_header` recognises: tools print text before their tables.
  static Result<CsvReader> open(const std::string& path, bool (*is_header)(std::string_view) = nullptr,
                                Watch watch = {});

  // Position of a column by its exact name; the error names the column and the file.
  Result<std::size_t> column(std::string_view name) const;
  std::optional<std::size_t> find_column(std::string_view name) const;

  // Moves to the next row that is not blank; false at the end. Errors are the file's (unreadable, truncated). A
  // malformed row is not an error here: see problem().
  Result<bool> next();
  // Why the current row cannot be used, or empty: too few or many fields, an open quote.
  const std::string& problem() const { return problem_; }
  // The problem is only that fields are missing at the end of the row; they read as empty.
  bool cut_short() const { return cut_short_; }

  std::string_view operator[](std::size_t column) const { return fields_[column]; }
  const std::vector<std::string>& header() const { return header_; }
  const std::string& path() const { return lines_.path(); }
  Count line() const { return lines_.line(); }
  std::string place() const;  // "file:line"

 private:
  explicit CsvReader(LineReader lines) : lines_(std::move(lines)) {}
  void split_row(std::string_view line);
  std::size_t quoted_field(std::string_view line, std::size_t at);

  LineReader lines_;
  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;  // text of fields whose doubled quotes were undone
  std::string problem_;
  bool cut_short_ = false;
};

// A field as CSV: quoted only if necessary.
void append_csv(std::string& out, std::string_view field);

}  // namespace tilecast
