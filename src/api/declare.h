// Declaring the arguments of a query: a line per field, from which every face is made (tilecast/arguments.h).
//
//   std::vector<BoundArgument> arguments_of(KernelQuery& q) {
//     Declare list;
//     list.add(q.dtype, {.name = "dtype", .help = "number format", .example = "fp8", .choices = format_names()});
//     list.add(q.weight_copies, {.name = "weight-copies", .help = "...", .least = 1, .most = 1e6});
//     return list.take();
//   }
//
// The kind follows from the field's type, the default from its value at the time of declaring.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/units.h"

namespace tilecast {

inline constexpr double kMostCount = 1 << 30;  // counts fit an int

// Readers of one value, in the one grammar of support/amount.h; errors name the argument.
Result<Count> count_value(const Argument& about, std::string_view text);
Result<double> number_value(const Argument& about, std::string_view text);
Result<Bytes> size_value(const Argument& about, std::string_view text);
Result<bool> yes_no_value(const Argument& about, std::string_view text);
Result<std::size_t> choice_value(const Argument& about, std::string_view text);  // index into its choices
std::string number_text(double value);
std::string size_text(Bytes size);                          // that reads back as the same
std::string joined(const std::vector<std::string>& parts);  // with commas
std::vector<std::string> parts_of(std::string_view text);   // at commas

// A field's type, or that of an optional one.
template <class T>
struct DeclaredValue {
  using type = T;
};
template <class T>
struct DeclaredValue<std::optional<T>> {
  using type = T;
};
template <class T>
using declared_value = typename DeclaredValue<T>::type;
template <class T>
inline constexpr bool is_optional = !std::is_same_v<T, declared_value<T>>;

// What a type of fields is among arguments: its kind, a value's text, and the value of a text.
template <class T, class = void>
struct FieldForm;

template <>
struct FieldForm<bool> {
  static constexpr ArgumentKind kKind = ArgumentKind::yes_no;
  static std::string text(bool value) { return value ? "yes" : "no"; }
  static Result<bool> value(const Argument& about, std::string_view text) { return yes_no_value(about, text); }
};
template <>
struct FieldForm<Count> {
  static constexpr ArgumentKind kKind = ArgumentKind::count;
  static std::string text(Count value) { return std::to_string(value); }
  static Result<Count> value(const Argument& about, std::string_view text) { return count_value(about, text); }
};
template <>
struct FieldForm<int> {
  static constexpr ArgumentKind kKind = ArgumentKind::count;
  static std::string text(int value) { return std::to_string(value); }
  static Result<int> value(const Argument& about, std::string_view text) {
    const auto value = count_value(about, text);
    if (!value) return value.error();
    return static_cast<int>(*value);
  }
};
template <>
struct FieldForm<double> {
  static constexpr ArgumentKind kKind = ArgumentKind::number;
  static std::string text(double value) { return number_text(value); }
  static Result<double> value(const Argument& about, std::string_view text) { return number_value(about, text); }
};
template <>
struct FieldForm<Bytes> {
  static constexpr ArgumentKind kKind = ArgumentKind::size;
  static std::string text(Bytes value) { return size_text(value); }
  static Result<Bytes> value(const Argument& about, std::string_view text) { return size_value(about, text); }
};
template <class Enum>
struct FieldForm<Enum, std::enable_if_t<std::is_enum_v<Enum>>> {
  static constexpr ArgumentKind kKind = ArgumentKind::choice;
  static std::string text(Enum value) { return std::string(enum_names(Enum{})[static_cast<std::size_t>(value)]); }
  static std::vector<std::string> names() { return {enum_names(Enum{}).begin(), enum_names(Enum{}).end()}; }
  // Of all names: a declaration may tell people of some alone.
  static Result<Enum> value(const Argument& about, std::string_view text) {
    Argument whole = about;
    whole.choices = names();
    const auto chosen = choice_value(whole, text);
    if (!chosen) return chosen.error();
    return static_cast<Enum>(*chosen);
  }
};
template <>
struct FieldForm<std::string> {
  static std::string text(const std::string& value) { return value; }
  static Result<std::string> value(const Argument& about, std::string_view text) {
    if (about.kind == ArgumentKind::choice)
      if (const auto chosen = choice_value(about, text); !chosen) return chosen.error();
    return std::string(text);
  }
};
template <>
struct FieldForm<std::vector<std::string>> {
  static constexpr ArgumentKind kKind = ArgumentKind::list;
  static std::string text(const std::vector<std::string>& value) { return joined(value); }
  static Result<std::vector<std::string>> value(const Argument& about, std::string_view text) {
    std::vector<std::string> parts = parts_of(text);
    if (about.choices.empty()) return parts;
    for (std::string& part : parts) {
      const auto chosen = choice_value(about, part);
      if (!chosen) return chosen.error();
      part = about.choices[*chosen];
    }
    return parts;
  }
};
template <>
struct FieldForm<std::vector<Count>> {
  static constexpr ArgumentKind kKind = ArgumentKind::counts;
  static std::string text(const std::vector<Count>& value) {
    std::vector<std::string> parts;
    parts.reserve(value.size());
    for (const Count one : value) parts.push_back(std::to_string(one));
    return joined(parts);
  }
  static Result<std::vector<Count>> value(const Argument& about, std::string_view text) {
    std::vector<Count> values;
    for (const std::string& part : parts_of(text)) {
      const auto value = count_value(about, part);
      if (!value) return value.error();
      values.push_back(*value);
    }
    return values;
  }
};

class Declare {
 public:
  template <class T>
  void add(T& field, Argument about);
  // An argument that switches off what the field says: "no-overlap" of `overlap`.
  void add_opposite(bool& field, Argument about);
  // One that reads its text in its own way.
  void add(BoundArgument argument) { list_.push_back(std::move(argument)); }
  std::vector<BoundArgument> take() { return std::move(list_); }

 private:
  std::vector<BoundArgument> list_;
};

template <class T>
void Declare::add(T& field, Argument about) {
  using Value = declared_value<T>;
  using Form = FieldForm<Value>;
  if constexpr (std::is_enum_v<Value>)
    if (about.choices.empty()) about.choices = Form::names();
  if constexpr (!std::is_same_v<Value, std::string>) about.kind = Form::kKind;
  else if (!about.choices.empty()) about.kind = ArgumentKind::choice;  // else text, or what its declaration says
  BoundArgument bound;
  bound.get = [&field]() -> std::string {
    if constexpr (is_optional<T>) return field ? Form::text(*field) : "";
    else return Form::text(field);
  };
  bound.set = [&field, about](std::string_view text) -> Status {
    // No text, no value: what `get` says of a field that is not given reads back as such.
    if constexpr (is_optional<T> || std::is_same_v<T, std::vector<std::string>>)
      if (text.empty()) {
        if (!about.repeated) field = T{};
        return Ok{};
      }
    auto value = Form::value(about, text);
    if (!value) return std::move(value).error();
    if constexpr (std::is_same_v<T, std::vector<std::string>>)
      if (about.repeated) {
        for (std::string& part : *value) field.push_back(std::move(part));
        return Ok{};
      }
    field = *std::move(value);
    return Ok{};
  };
  if (about.fallback.empty() && about.kind != ArgumentKind::yes_no && !about.required) about.fallback = bound.get();
  bound.about = std::move(about);
  list_.push_back(std::move(bound));
}

inline void Declare::add_opposite(bool& field, Argument about) {
  about.kind = ArgumentKind::yes_no;
  BoundArgument bound;
  bound.get = [&field] { return field ? "no" : "yes"; };
  bound.set = [&field, about](std::string_view text) -> Status {
    const auto off = yes_no_value(about, text);
    if (!off) return off.error();
    return field = !*off, Ok{};
  };
  bound.about = std::move(about);
  list_.push_back(std::move(bound));
}

// Every value of a query against its argument: what was assigned to a field must pass what a text for it has to.
// Empty texts mean nothing was given.
template <class Query>
Status check_arguments(Query query) {
  for (const BoundArgument& argument : arguments_of(query)) {
    const std::string text = argument.get();
    if (text.empty() && argument.about.required)
      return field_error(argument.about.name, "is missing",
                         argument.about.example.empty() ? "" : "for example " + argument.about.example);
    if (text.empty()) continue;
    if (auto fine = argument.set(text); !fine) return fine;
  }
  return Ok{};
}

// Values that arguments have once everything left open is filled in, and facts that scopes refer to beside them:
// {"engine", "vllm"}.
using Effective = std::map<std::string, std::string, std::less<>>;

// Refuses arguments that were given where they mean nothing; `defaults` are those of a query nobody touched.
Status check_scopes(const std::vector<BoundArgument>& arguments, const std::vector<std::string>& defaults,
                    const Effective& effective);

template <class Query>
Status check_scopes(Query query, const Effective& effective = {}) {
  static const std::vector<std::string> defaults = [] {
    Query untouched;
    std::vector<std::string> texts;
    for (const BoundArgument& argument : arguments_of(untouched)) texts.push_back(argument.get());
    return texts;
  }();
  return check_scopes(arguments_of(query), defaults, effective);
}

// An error that names neither place nor field is about this one.
inline Error in_field(Error problem, std::string field) {
  if (problem.place.empty() && problem.field.empty()) problem.field = std::move(field);
  return problem;
}

}  // namespace tilecast
