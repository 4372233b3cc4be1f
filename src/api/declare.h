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

// The enumeration itself, or that of an optional one.
template <class T>
struct DeclaredEnum {
  using type = T;
};
template <class T>
struct DeclaredEnum<std::optional<T>> {
  using type = T;
};
template <class T>
using declared_enum = typename DeclaredEnum<T>::type;
template <class T>
inline constexpr bool is_optional = !std::is_same_v<T, declared_enum<T>>;

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
  BoundArgument bound;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
    about.kind = ArgumentKind::yes_no;
    bound.get = [&field]() -> std::string {
      if constexpr (std::is_same_v<T, bool>) return field ? "yes" : "no";
      else return !field ? "" : *field ? "yes" : "no";
    };
    bound.set = [&field, about](std::string_view text) -> Status {
      const auto value = yes_no_value(about, text);
      if (!value) return value.error();
      return field = *value, Ok{};
    };
  } else if constexpr (std::is_same_v<T, Count> || std::is_same_v<T, int> || std::is_same_v<T, std::optional<Count>>) {
    about.kind = ArgumentKind::count;
    bound.get = [&field]() -> std::string {
      if constexpr (std::is_same_v<T, std::optional<Count>>) return field ? std::to_string(*field) : "";
      else return std::to_string(field);
    };
    bound.set = [&field, about](std::string_view text) -> Status {
      const auto value = count_value(about, text);
      if (!value) return value.error();
      if constexpr (std::is_same_v<T, int>) field = static_cast<int>(*value);
      else field = *value;
      return Ok{};
    };
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) {
    about.kind = ArgumentKind::number;
    bound.get = [&field]() -> std::string {
      if constexpr (std::is_same_v<T, double>) return number_text(field);
      else return field ? number_text(*field) : "";
    };
    bound.set = [&field, about](std::string_view text) -> Status {
      const auto value = number_value(about, text);
      if (!value) return value.error();
      return field = *value, Ok{};
    };
  } else if constexpr (std::is_same_v<T, std::optional<Bytes>>) {
    about.kind = ArgumentKind::size;
    bound.get = [&field]() -> std::string { return field ? size_text(*field) : ""; };
    bound.set = [&field, about](std::string_view text) -> Status {
      const auto value = size_value(about, text);
      if (!value) return value.error();
      return field = *value, Ok{};
    };
  } else if constexpr (std::is_enum_v<declared_enum<T>>) {
    using Enum = declared_enum<T>;
    about.kind = ArgumentKind::choice;
    if (about.choices.empty())
      for (std::string_view name : enum_names(Enum{})) about.choices.emplace_back(name);
    bound.get = [&field]() -> std::string {
      if constexpr (std::is_enum_v<T>) return std::string(enum_names(Enum{})[static_cast<std::size_t>(field)]);
      else return field ? std::string(enum_names(Enum{})[static_cast<std::size_t>(*field)]) : "";
    };
    bound.set = [&field, about](std::string_view text) -> Status {
      Argument whole = about;
      whole.choices.clear();
      for (std::string_view name : enum_names(Enum{})) whole.choices.emplace_back(name);
      const auto chosen = choice_value(whole, text);
      if (!chosen) return chosen.error();
      return field = static_cast<Enum>(*chosen), Ok{};
    };
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!about.choices.empty()) about.kind = ArgumentKind::choice;
    bound.get = [&field] { return field; };
    bound.set = [&field, about](std::string_view text) -> Status {
      if (about.kind == ArgumentKind::choice)
        if (const auto chosen = choice_value(about, text); !chosen) return chosen.error();
      return field = std::string(text), Ok{};
    };
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    about.kind = ArgumentKind::list;
    bound.get = [&field] { return joined(field); };
    bound.set = [&field, about](std::string_view text) -> Status {
      std::vector<std::string> parts = parts_of(text);
      for (std::string& part : parts) {
        if (about.choices.empty()) continue;
        const auto chosen = choice_value(about, part);
        if (!chosen) return chosen.error();
        part = about.choices[*chosen];
      }
      if (!about.repeated) field.clear();
      for (std::string& part : parts) field.push_back(std::move(part));
      return Ok{};
    };
  } else {
    static_assert(std::is_same_v<T, std::vector<Count>>, "no argument takes this type");
    about.kind = ArgumentKind::counts;
    bound.get = [&field] {
      std::vector<std::string> parts;
      for (const Count value : field) parts.push_back(std::to_string(value));
      return joined(parts);
    };
    bound.set = [&field, about](std::string_view text) -> Status {
      std::vector<Count> values;
      for (const std::string& part : parts_of(text)) {
        const auto value = count_value(about, part);
        if (!value) return value.error();
        values.push_back(*value);
      }
      return field = std::move(values), Ok{};
    };
  }
  // No text, no value: what `get` says of a field that is not given reads back as such.
  if constexpr (is_optional<T> || std::is_same_v<T, std::vector<std::string>>)
    bound.set = [&field, set = std::move(bound.set), repeated = about.repeated](std::string_view text) -> Status {
      if (!text.empty()) return set(text);
      if (!repeated) field = T{};
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
