#include "answers/rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

using RowValue = nlohmann::ordered_json;
using Cells = std::vector<std::pair<std::string, RowCell>>;

// Where a question's rows stand in a document that is an object, and which of the plain members beside them stand in
// every row: those of this list, or all.
struct RowPlace {
  std::string_view question, member, shared;
  bool shares(std::string_view name) const { return shared == "all" || contains(shared, name); }
};
constexpr std::array kPlaces = {
    RowPlace{"simulate", "loads", "all"},
    RowPlace{"plan serve", "finalists", "all"},
    RowPlace{"plan train", "ranked", "model cluster gpus tokens"},  // the rest is about the first of them
    RowPlace{"diagnose", "kernels", ""},
    RowPlace{"retime", "kernels", ""},
    RowPlace{"tune fused-moe", "tuned", "all"},
    RowPlace{"tune gemm", "best", "all"},
    RowPlace{"gpu", "constants", "all"},
    RowPlace{"models", "classes", ""},
    RowPlace{"calibrate", "families", ""},
};

// Members that group others without saying more about them.
constexpr std::array<std::string_view, 4> kGroups = {"arguments", "kernel", "metrics", "simulated"};
constexpr std::array<std::string_view, 14> kUnits = {"_us",    "_ms",     "_s",   "_bytes", "_mhz", "_w",   "_tflops",
                                                     "_share", "_tokens", "_gib", "_days",  "_j",   "_usd", "_hours"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string_view unit_of(std::string_view name) {
  for (const std::string_view unit : kUnits)
    if (name.ends_with(unit)) return unit;
  return {};
}

// Letters, digits and underscores alone: "tensor fp16/fp32" is tensor_fp16_fp32.
std::string column_name(std::string_view name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

// A member's name behind that of the object it stands in, whose unit goes to the end where it has none itself.
std::string joined_name(const std::string& outer, const std::string& name, bool number) {
  if (outer.empty()) return column_name(name);
  const std::string_view unit = unit_of(outer);
  const std::string stem = outer.substr(0, outer.size() - unit.size());
  const bool takes_unit = number && unit_of(name).empty();
  return stem + "_" + column_name(name) + (takes_unit ? std::string(unit) : "");
}

bool is_plain(const RowValue& value) { return !value.is_object() && !value.is_array(); }

RowCell cell_of(const RowValue& value) {
  if (value.is_string()) return {value.get<std::string>(), {}, false};
  if (value.is_boolean()) return {value.get<bool>() ? "true" : "false", {}, true};
  if (value.is_number()) return {value.dump(), value.get<double>(), false};
  return {};
}

// "m=8 n=4096"
std::string pairs_text(const RowValue& object) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : object.items()) parts.push_back(name + "=" + cell_of(value).text);
  return join(parts, " ");
}

void add_cells(Cells& cells, const std::string& outer, const std::string& name, const RowValue& value);

void add_members(Cells& cells, const std::string& outer, const RowValue& object) {
  for (const auto& [name, value] : object.items()) add_cells(cells, outer, name, value);
}

void add_list(Cells& cells, const std::string& outer, const std::string& name, const RowValue& list) {
  const auto at = name.find("interval");
  if (at != std::string::npos && list.size() == 2 && list[0].is_number()) {
    for (const auto& [end, value] : {std::pair("interval_low", &list[0]), {"interval_high", &list[1]}}) {
      std::string column = name;
      column.replace(at, std::string_view("interval").size(), end);
      cells.emplace_back(joined_name(outer, column, true), cell_of(*value));
    }
    return;
  }
  if (name == "best" && !list.empty() && list[0].is_object()) return add_members(cells, "best", list[0]);
  std::vector<std::string> parts;
  for (const RowValue& part : list) {
    if (!is_plain(part)) return;
    parts.push_back(cell_of(part).text);
  }
  cells.emplace_back(joined_name(outer, name, false), RowCell{join(parts, "; "), {}, false});
}

void add_cells(Cells& cells, const std::string& outer, const std::string& name, const RowValue& value) {
  if (is_plain(value)) cells.emplace_back(joined_name(outer, name, value.is_number()), cell_of(value));
  else if (value.is_array()) add_list(cells, outer, name, value);
  else if (name == "dims") cells.emplace_back(joined_name(outer, name, false), RowCell{pairs_text(value), {}, false});
  else if (holds(kGroups, name)) add_members(cells, outer, value);
  else add_members(cells, joined_name(outer, name, true), value);
}

// Columns that are new stand behind the others, and are empty in the rows before.
void add_row(AnswerRows& rows, const RowValue& arguments, const Cells& cells, std::size_t combination) {
  std::vector<RowCell> row(rows.columns.size());
  const auto put = [&](const std::string& column, const RowCell& cell) {
    const auto at = rows.find(column);
    if (!at) {
      rows.columns.push_back(column);
      for (auto& other : rows.rows) other.emplace_back();
      row.push_back(cell);
    } else if (row[*at].text.empty()) {
      row[*at] = cell;
    }
  };
  for (const auto& [name, value] : arguments.items()) put(name, cell_of(value));
  rows.swept = arguments.size();
  for (const auto& [column, cell] : cells) put(column, cell);
  rows.rows.push_back(std::move(row));
  rows.combination.push_back(combination);
}

Cells cells_of(const RowValue& row) {
  Cells cells;
  if (row.is_object()) add_members(cells, "", row);
  else cells.emplace_back("name", cell_of(row));
  return cells;
}

// A row's own cells say more than those it shares.
Cells joined_cells(Cells shared, Cells own) {
  for (auto& cell : own) {
    const auto same = std::find_if(shared.begin(), shared.end(), [&](const auto& s) { return s.first == cell.first; });
    if (same != shared.end()) same->second = std::move(cell.second);
    else shared.push_back(std::move(cell));
  }
  return shared;
}

}  // namespace

std::optional<std::size_t> AnswerRows::find(std::string_view column) const {
  const auto at = std::find(columns.begin(), columns.end(), column);
  if (at == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns.begin());
}

AnswerRows AnswerRows::first_of_each() const {
  AnswerRows first{columns, {}, swept, units, {}, unmet};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && combination[i] == combination[i - 1]) continue;
    first.rows.push_back(rows[i]), first.combination.push_back(combination[i]);
  }
  return first;
}

void add_rows(AnswerRows& rows, std::string_view question, const RowValue& document, const RowValue& arguments,
              std::size_t combination) {
  if (document.is_object() && document.contains("problem") && !document.contains("best"))
    rows.unmet = error(document["problem"].get<std::string>(), "the rows say what comes nearest");
  if (document.is_array()) {
    for (const RowValue& row : document) add_row(rows, arguments, cells_of(row), combination);
    return;
  }
  const auto place = std::find_if(kPlaces.begin(), kPlaces.end(), [&](const RowPlace& p) {
    return p.question == question && document.contains(p.member);
  });
  if (place == kPlaces.end()) return add_row(rows, arguments, cells_of(document), combination);
  Cells shared;
  for (const auto& [name, value] : document.items())
    if (is_plain(value) && place->shares(name)) add_cells(shared, "", name, value);
  const RowValue& list = document[std::string(place->member)];
  for (const RowValue& row : list) {
    add_row(rows, arguments, joined_cells(shared, cells_of(row)), combination);
  }
  if (list.empty() && !shared.empty()) add_row(rows, arguments, shared, combination);
}

void add_error(AnswerRows& rows, const Error& problem, const RowValue& arguments, std::size_t combination) {
  add_row(rows, arguments, {{"error", {problem.line(), {}, false}}}, combination);
}

std::string csv_text(const AnswerRows& rows) {
  std::string out;
  const auto line = [&out](const auto& fields, const auto& text) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out += ',';
      append_csv(out, text(fields[i]));
    }
    out += '\n';
  };
  line(rows.columns, [](const std::string& name) -> const std::string& { return name; });
  for (const auto& row : rows.rows) line(row, [](const RowCell& cell) -> const std::string& { return cell.text; });
  return out;
}

}  // namespace tilecast
