#include "service/http/rows_answer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "answers/drawings.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Value = nlohmann::json;

constexpr std::array<std::string_view, 3> kTypes = {"text/csv; charset=utf-8", "image/svg+xml", "image/png"};
// What stands in a title without its name.
constexpr std::array<std::string_view, 3> kUnnamed = {"family", "model", "op"};

bool is_unnamed(std::string_view member) {
  return std::find(kUnnamed.begin(), kUnnamed.end(), member) != kUnnamed.end();
}

// A value in a few words: descriptions and files by their names.
std::string words_of(const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object())
    return value.contains("name") && value["name"].is_string() ? value["name"].get<std::string>() : "";
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Value& part : value) parts.push_back(words_of(part));
  return join(parts, ",");
}

// "predict Llama-3.1-8B, batch 1..64*2, gpu H100-SXM": what was asked, as the command line heads its charts.
std::string title_of(std::string_view question, std::string_view query) {
  const Value members = Value::parse(query, nullptr, false);
  std::string title(question);
  if (!members.is_object()) return title;
  for (const auto& [name, value] : members.items())
    if (is_unnamed(name)) title += " " + words_of(value);
  for (const auto& [name, value] : members.items()) {
    if (is_unnamed(name) || value.is_null() || value == false) continue;
    title += ", " + name;
    if (value != true) title += " " + words_of(value);
  }
  return title;
}

}  // namespace

std::optional<RowsForm> rows_form(std::string_view accept) {
  for (const std::string& part : split(accept, ',')) {
    std::string_view type = std::string_view(part).substr(0, part.find(';'));
    while (type.starts_with(' ')) type.remove_prefix(1);
    while (type.ends_with(' ')) type.remove_suffix(1);
    if (type == "text/csv") return RowsForm::csv;
    if (type == "image/svg+xml") return RowsForm::svg;
    if (type == "image/png") return RowsForm::png;
    if (type == "application/json" || type == "*/*") return std::nullopt;
  }
  return std::nullopt;
}

Result<HttpResponse> rows_response(RowsForm form, const AnswerRows& rows, std::string_view question,
                                   std::string_view query, const std::string& plot_y, const AnswerDrawings* drawings) {
  const std::string type(kTypes[static_cast<std::size_t>(form)]);
  if (form == RowsForm::csv) return text_response(csv_text(rows), type);
  if (!drawings || !drawings->chart) return error("this service draws no charts", "ask for text/csv or JSON");
  auto chart = drawings->chart(rows, {std::string(question), title_of(question, query), plot_y, form == RowsForm::png});
  if (chart) return text_response(*std::move(chart), type);
  Error problem = std::move(chart).error();
  if (problem.field == "plot")
    problem.field.clear(), problem.remedy = R"(give a range, for example "batch": "1..64*2")";
  if (problem.field == "plot-y") problem.field = "plot_y", problem.remedy = "the first line of text/csv names them all";
  return problem;
}

}  // namespace tilecast
