#include "serve/trace.h"

#include <fmt/format.h>

#include <optional>

#include "serve/trace_forms.h"
#include "support/gzip_reader.h"

namespace tilecast {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '"'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Calls visit(index, field) for each field between commas. No trace has commas inside its fields.
template <class Visit>
Status each_field(std::string_view line, Visit visit) {
  for (std::size_t i = 0;; ++i) {
    const auto comma = line.find(',');
    if (auto fine = visit(i, trimmed(line.substr(0, comma))); !fine) return fine;
    if (comma == std::string_view::npos) return Ok{};
    line.remove_prefix(comma + 1);
  }
}

class CsvTrace {
 public:
  Status header(std::string_view line) {
    std::array<bool, kTraceFields> seen{};
    auto fine = each_field(line, [&](std::size_t, std::string_view name) -> Status {
      if (is_conversation(name)) conversation_ = columns_.size();
      columns_.push_back(trace_column(name));
      if (!columns_.back()) return Ok{};
      bool& again = seen[static_cast<std::size_t>(columns_.back()->field)];
      if (again) return field_error(std::string(name), "is given by two columns", "leave one of them out");
      again = true;
      return Ok{};
    });
    if (!fine) return fine;
    for (std::size_t i = 0; i < 3; ++i)
      if (!seen[i] &&
          !(i == static_cast<std::size_t>(TraceField::input) && seen[static_cast<std::size_t>(TraceField::fresh)]))
        return field_error(std::string(name_of(static_cast<TraceField>(i))), "the header has no such column",
                           "for example: arrival,input,output");
    return Ok{};
  }
  Result<TraceLine> line(std::string_view text) const {
    TraceLine line;
    std::size_t fields = 0;
    auto fine = each_field(text, [&](std::size_t i, std::string_view field) -> Status {
      ++fields;
      if (i == conversation_) line.conversation = std::string(field);
      // A first turn has no pause, a later one need not have an arrival.
      if (field.empty() && i < columns_.size() && columns_[i] && conversation_ < columns_.size()) return Ok{};
      return i < columns_.size() && columns_[i] ? line.set(*columns_[i], field) : Status(Ok{});
    });
    if (!fine) return fine.error();
    if (fields != columns_.size()) return error(fmt::format("has {} fields, the header {}", fields, columns_.size()));
    return line;
  }

 private:
  std::vector<const TraceColumn*> columns_;
  std::size_t conversation_ = static_cast<std::size_t>(-1);  // which column names it
};

Status add_line(TraceRequests& requests, const std::optional<CsvTrace>& csv, std::string_view text, bool& guessed) {
  if (csv) {
    const auto line = csv->line(text);
    if (!line) return line.error();
    return requests.add(*line);
  }
  const auto lines = trace_lines(text, guessed);
  if (!lines) return lines.error();
  for (const TraceLine& line : *lines)
    if (auto fine = requests.add(line); !fine) return fine;
  return Ok{};
}

}  // namespace

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return std::move(lines).error();
  TraceRequests requests(options);
  bool guessed = false;  // lengths of texts
  std::optional<CsvTrace> csv;
  bool begun = false;
  while (true) {
    auto next = lines->next();
    if (!next) return std::move(next).error();
    if (!*next) break;
    std::string_view line = **next;
    const auto here = [&] { return fmt::format("{}:{}", path, lines->line()); };
    if (!begun && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (trimmed(line).empty()) continue;
    if (!begun) {
      begun = true;
      if (trimmed(line).front() != '{') {
        if (auto fine = csv.emplace().header(line); !fine) return Error(fine.error()).at(here());
        continue;
      }
    }
    if (requests.size() >= options.most) {
      requests.note(fmt::format("only the first {} requests were read", options.most));
      break;
    }
    if (auto fine = add_line(requests, csv, line, guessed); !fine) {
      Error problem = Error(fine.error()).at(here());
      if (problem.remedy.empty()) problem.remedy = "docs/serving.md has the columns";
      return problem;
    }
  }
  if (!begun) return Error{path, "", "is empty", "a trace has one request a line: docs/serving.md"};
  if (guessed) requests.note("texts are counted as a token every four characters");
  return requests.take();
}

}  // namespace tilecast
