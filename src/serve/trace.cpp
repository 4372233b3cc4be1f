#include "serve/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "support/gzip_reader.h"
#include "support/json.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

enum class Field : std::uint8_t { arrival, input, output, prefix, prefix_tokens };
constexpr std::size_t kFields = 5;
constexpr std::array<std::string_view, kFields> kFieldNames = {"arrival", "input", "output", "prefix", "prefix_tokens"};

struct Known {
  std::string_view key;  // as name_key() makes it
  Field field;
  double unit = 1;  // seconds
};
constexpr std::array<Known, 22> kKnown = {{{"arrival", Field::arrival},
                                           {"arrivals", Field::arrival},
                                           {"arrivedat", Field::arrival},
                                           {"arrivaltime", Field::arrival},
                                           {"arrivalms", Field::arrival, 1e-3},
                                           {"arrivaltimens", Field::arrival, 1e-9},
                                           {"timestamp", Field::arrival},
                                           {"timestampms", Field::arrival, 1e-3},
                                           {"input", Field::input},
                                           {"inputtokens", Field::input},
                                           {"inputlength", Field::input},
                                           {"inputtoks", Field::input},
                                           {"prompttokens", Field::input},
                                           {"contexttokens", Field::input},
                                           {"numprefilltokens", Field::input},
                                           {"output", Field::output},
                                           {"outputtokens", Field::output},
                                           {"outputlength", Field::output},
                                           {"outputtoks", Field::output},
                                           {"generatedtokens", Field::output},
                                           {"numdecodetokens", Field::output},
                                           {"prefixtokens", Field::prefix_tokens}}};

const Known* known(std::string_view name) {
  static constexpr Known kPrefix{"prefix", Field::prefix};
  const std::string key = name_key(name);
  if (key == kPrefix.key) return &kPrefix;
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.key == key; });
  return found == kKnown.end() ? nullptr : &*found;
}

// The largest token count and the latest arrival that make sense: 2^30 tokens, a hundred years.
constexpr double kMostTraceTokens = 1 << 30, kMostSeconds = 3.2e9;

// Days since 1970 of a date of the Gregorian calendar.
double days_of(int year, int month, int day) {
  const int y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
  const int era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
  const int of_year = (153 * m + 2) / 5 + day - 1;
  const int leap_days = of_era / 4 - of_era / 100;
  return era * 146097.0 + of_era * 365 + leap_days + of_year - 719468;
}

// "2023-11-16 18:17:03.9799600": seconds since 1970.
std::optional<double> date(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const auto part = [&](std::size_t at, std::size_t length) { return finite_number(text.substr(at, length)); };
  std::string_view rest = text.substr(17);
  if (const auto zone = rest.find_first_of("Z+"); zone != std::string_view::npos) rest = rest.substr(0, zone);
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2), hour = part(11, 2), minute = part(14, 2);
  const auto second = finite_number(rest);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (*month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 61)
    return std::nullopt;
  return days_of(static_cast<int>(*year), static_cast<int>(*month), static_cast<int>(*day)) * 86400 + *hour * 3600 +
         *minute * 60 + *second;
}

// The values of one line, as they come.
struct Line {
  std::array<std::optional<double>, kFields> values;

  Status set(const Known& column, std::string_view text) {
    const auto field = static_cast<std::size_t>(column.field);
    auto value = finite_number(text);
    if (!value && column.field == Field::arrival) value = date(text);
    if (!value)
      return field_error(std::string(kFieldNames[field]), fmt::format("'{}' is no number", text.substr(0, 40)));
    values[field] = *value * column.unit;
    return Ok{};
  }
  Result<double> get(Field field, double least, double most, std::optional<double> otherwise) const {
    const auto i = static_cast<std::size_t>(field);
    const std::string name(kFieldNames[i]);
    if (!values[i] && !otherwise) return field_error(name, "is missing");
    const double value = values[i].value_or(otherwise.value_or(0));
    if (!(value >= least) || value > most)
      return field_error(name, fmt::format("must lie between {} and {}, not {}", least, most, value));
    if (field != Field::arrival && value != std::floor(value))
      return field_error(name, fmt::format("must be a whole number, not {}", value));
    return value;
  }
  Result<Request> request() const {
    Request r;
    const auto arrival = get(Field::arrival, 0, kMostSeconds, {});
    if (!arrival) return arrival.error();
    const auto input = get(Field::input, 1, kMostTraceTokens, {}), output = get(Field::output, 1, kMostTraceTokens, {});
    if (!input) return input.error();
    if (!output) return output.error();
    const auto prefix = get(Field::prefix, -1, 1e15, -1);
    if (!prefix) return prefix.error();
    const auto shared = get(Field::prefix_tokens, 0, *input, 0);
    if (!shared) return shared.error();
    r.arrival = seconds(*arrival);
    r.input = static_cast<Count>(*input), r.output = static_cast<Count>(*output);
    r.prefix = static_cast<Count>(*prefix);
    r.prefix_tokens = r.prefix >= 0 ? static_cast<Count>(*shared) : 0;
    return r;
  }
};

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
    std::array<bool, kFields> seen{};
    auto fine = each_field(line, [&](std::size_t, std::string_view name) -> Status {
      columns_.push_back(known(name));
      if (!columns_.back()) return Ok{};
      bool& again = seen[static_cast<std::size_t>(columns_.back()->field)];
      if (again) return field_error(std::string(name), "is given by two columns", "leave one of them out");
      again = true;
      return Ok{};
    });
    if (!fine) return fine;
    for (std::size_t i = 0; i < 3; ++i)
      if (!seen[i])
        return field_error(std::string(kFieldNames[i]), "the header has no such column",
                           "for example: arrival,input,output");
    return Ok{};
  }
  Result<Request> request(std::string_view text) const {
    Line line;
    std::size_t fields = 0;
    auto fine = each_field(text, [&](std::size_t i, std::string_view field) -> Status {
      ++fields;
      return i < columns_.size() && columns_[i] ? line.set(*columns_[i], field) : Status(Ok{});
    });
    if (!fine) return fine.error();
    if (fields != columns_.size()) return error(fmt::format("has {} fields, the header {}", fields, columns_.size()));
    return line.request();
  }

 private:
  std::vector<const Known*> columns_;
};

Result<Request> request_from_json(std::string_view text) {
  const auto parsed = parse_json_object(text, "", "");
  if (!parsed) return error("is no JSON object", "one a line: {\"arrival\": 0, \"input\": 9, \"output\": 5}");
  const auto& json = *parsed;
  Line line;
  for (const auto& [name, value] : json.items()) {
    const Known* column = known(name);
    if (!column || value.is_null()) continue;
    Known in = *column;
    if (name == "timestamp" && json.contains("hash_ids")) in.unit = 1e-3;
    Status fine = Ok{};
    if (value.is_number()) fine = line.set(in, fmt::format("{}", value.get<double>()));
    else if (value.is_string()) fine = line.set(in, value.get_ref<const std::string&>());
    else fine = field_error(name, "must be a number");
    if (!fine) return fine.error();
  }
  return line.request();
}

void put_in_order(Trace& trace) {
  const auto earlier = [](const Request& a, const Request& b) { return a.arrival < b.arrival; };
  if (!std::is_sorted(trace.requests.begin(), trace.requests.end(), earlier)) {
    std::stable_sort(trace.requests.begin(), trace.requests.end(), earlier);
    trace.notes.emplace_back("arrivals were not in order: sorted");
  }
  if (trace.requests.empty()) return;
  const Seconds first = trace.requests.front().arrival;
  for (Request& r : trace.requests) r.arrival -= first;
}

}  // namespace

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return std::move(lines).error();
  Trace trace;
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
    if (static_cast<Count>(trace.requests.size()) >= options.most) {
      trace.notes.push_back(fmt::format("only the first {} requests were read", options.most));
      break;
    }
    auto request = csv ? csv->request(line) : request_from_json(line);
    if (!request) {
      Error problem = std::move(request).error().at(here());
      if (problem.remedy.empty()) problem.remedy = "docs/serving.md has the columns";
      return problem;
    }
    trace.requests.push_back(*request);
  }
  if (!begun) return Error{path, "", "is empty", "a trace has one request a line: docs/serving.md"};
  put_in_order(trace);
  return trace;
}

}  // namespace tilecast
