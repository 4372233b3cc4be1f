#include "answers/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "support/json.h"
#include "support/text.h"
#include "support/workers.h"

namespace tilecast {
namespace {

using Value = nlohmann::json;

std::string with_hyphens(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// What a member says, as one text; nothing where it is no number, text or list of those.
std::optional<std::string> member_text(const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
  if (!value.is_array() || value.empty()) return std::nullopt;
  std::vector<std::string> parts;
  for (const Value& part : value) {
    if (part.is_array()) return std::nullopt;
    auto text = member_text(part);
    if (!text) return std::nullopt;
    parts.push_back(*std::move(text));
  }
  return join(parts, ",");
}

bool is_named(const Argument& about, const std::string& member) {
  const std::string name = with_hyphens(member);
  return name == about.name || std::find(about.aliases.begin(), about.aliases.end(), name) != about.aliases.end();
}

}  // namespace

bool may_sweep(const Value& query) {
  if (!query.is_object()) return false;
  return std::any_of(query.begin(), query.end(), [](const Value& member) {
    return member.is_array() || (member.is_string() && is_range(member.get_ref<const std::string&>()));
  });
}

QuerySweep QuerySweep::none(Value query) {
  QuerySweep sweep;
  sweep.query_ = std::move(query);
  return sweep;
}

Result<QuerySweep> QuerySweep::from(Value query, const std::vector<Argument>& arguments, const std::vector<std::string>& lists) {
  QuerySweep sweep;
  for (const Argument& about : arguments) {
    if (!takes_range(about) || !query.is_object()) continue;
    for (auto& [name, member] : query.items()) {
      if (!is_named(about, name)) continue;
      const auto text = member_text(member);
      if (!text || !is_range(*text)) continue;
      if (std::find(lists.begin(), lists.end(), about.name) != lists.end()) {
        const auto list = spelled_out(about, split(*text, ','));
        if (!list) return list.error();
        member = *list;
        continue;
      }
      auto values = range_of(about, *text);
      if (!values) return std::move(values).error();
      if (values->size() == 1) member = range_text(values->front());
      else sweep.axes_.push_back({name, *std::move(values), about.unit});
    }
  }
  for (const SweepAxis& axis : sweep.axes_) {
    sweep.size_ *= axis.values.size();
    if (sweep.size_ > kMostCombinations)
      return field_error(with_hyphens(axis.name),
                         fmt::format("makes more than {} combinations of what is swept", kMostCombinations),
                         "fewer values, or fewer ranges at once");
  }
  if (!sweep.axes_.empty())
    for (const auto& [name, member] : query.items())
      if (member == "-")
        return field_error(with_hyphens(name), "standard input can be read once, not for every combination",
                           "name a file");
  sweep.query_ = std::move(query);
  return sweep;
}

double QuerySweep::value(std::size_t combination, std::size_t axis) const {
  for (std::size_t i = axes_.size() - 1; i > axis; --i) combination /= axes_[i].values.size();
  return axes_[axis].values[combination % axes_[axis].values.size()];
}

Value QuerySweep::query(std::size_t combination) const {
  Value one = query_;
  for (std::size_t i = 0; i < axes_.size(); ++i) one[axes_[i].name] = range_text(value(combination, i));
  return one;
}

nlohmann::ordered_json QuerySweep::arguments(std::size_t combination) const {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    std::string name = axes_[i].name;
    std::replace(name.begin(), name.end(), '-', '_');
    values[name] = plain_number(value(combination, i));
  }
  return values;
}

Result<QuerySweep::Answers> QuerySweep::ask_all(const AskOne& ask, int threads,
                                      const std::function<void(double)>& progress) const {
  Answers answers(size_, Result<std::string>(std::string()));
  std::atomic<std::size_t> done = 0;
  Workers workers(std::min(threads, static_cast<int>(size_)));
  workers.each(size_, [&](std::size_t i) {
    answers[i] = ask(query(i));
    if (progress) progress(static_cast<double>(++done) / static_cast<double>(size_));
  });
  if (std::none_of(answers.begin(), answers.end(), [](const auto& answer) { return answer.ok(); }))
    return answers.front().error();
  return answers;
}

std::string QuerySweep::document(const Answers& answers) const {
  using Ordered = nlohmann::ordered_json;
  Ordered list = Ordered::array();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Ordered parts = Ordered::array();
    if (!answers[i]) parts.push_back({{"error", answers[i].error().line()}});
    else if (auto one = Ordered::parse(*answers[i]); one.is_array()) parts = std::move(one);
    else parts.push_back(std::move(one));
    for (Ordered& part : parts) {
      Ordered object{{"arguments", arguments(i)}};
      for (auto& [name, value] : part.items()) object[name] = std::move(value);
      list.push_back(std::move(object));
    }
  }
  return json_text(list);
}

AnswerRows QuerySweep::rows(std::string_view question, const Answers& answers) const {
  AnswerRows all;
  for (const SweepAxis& axis : axes_) all.units.push_back(axis.unit);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) add_error(all, answers[i].error(), arguments(i), i);
    else add_rows(all, question, nlohmann::ordered_json::parse(*answers[i]), arguments(i), i);
  }
  return all;
}

nlohmann::ordered_json plain_number(double value) {
  constexpr double kMostWhole = 9e15;  // beyond, not every whole number is a double
  if (value == std::round(value) && std::abs(value) < kMostWhole) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace tilecast
