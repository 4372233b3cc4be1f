#include "kernel/shape_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include "kernel/shapes.h"
#include "support/amount.h"
#include "support/append.h"
#include "support/text.h"

namespace tilecast {
namespace {

// "--m 4096 --n 4096" without the command line's dashes: "m 4096, n 4096".
std::string in_fields(std::string_view flags) {
  std::string fields;
  for (std::size_t at = 0; at < flags.size();) {
    const std::size_t next = std::min(flags.find(" --", at), flags.size());
    const std::string_view one = flags.substr(at, next - at);
    fields += (fields.empty() ? "" : ", ") + std::string(one.starts_with("--") ? one.substr(2) : one);
    at = next + 1;
  }
  return fields;
}

// Which of `names` a text means, if any. '-' and '_' are interchangeable: the command line says q-len, tables may say
// q_len. Nearly all match exactly, which is checked without building keys.
template <class Names>
std::optional<std::size_t> place_of(std::string_view text, const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return i;
  const std::string key = name_key(text);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name_key(names[i]) == key) return i;
  return std::nullopt;
}

Status read_value(std::string_view name, std::string_view text, Count& out) {
  const auto value = whole_amount_from(text);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!value && digits)
    return field_error(std::string(name), fmt::format("must be at most {}, not {}", kMostDimension, text),
                       "for example 4096 or 16k");
  if (!value)
    return field_error(std::string(name), fmt::format("must be a whole number, not '{}'", text),
                       amount_remedy(text, "for example 4096 or 16k"));
  out = *value;
  if (out < 0)
    return field_error(std::string(name), fmt::format("must not be negative, and is {}", out),
                       "for example 4096 or 16k");
  if (out > kMostDimension)
    return field_error(std::string(name), fmt::format("must be at most {}, not {}", kMostDimension, out),
                       "for example 4096 or 16k");
  return Ok{};
}

Status read_value(std::string_view name, std::string_view text, double& out) {
  constexpr double kMost = 1e18;
  const auto value = amount_from(text);
  if (!value || *value < 0 || *value > kMost)
    return field_error(std::string(name), fmt::format("must be a finite number, zero or more, not '{}'", text),
                       amount_remedy(text, "for example 0.5"));
  out = *value;
  return Ok{};
}

Status read_value(std::string_view name, std::string_view text, bool& out) {
  const std::string key = name_key(text);
  if (key == "1" || key == "true" || key == "yes" || key.empty()) out = true;
  else if (key == "0" || key == "false" || key == "no") out = false;
  else return field_error(std::string(name), fmt::format("must be yes or no, not '{}'", text), "leave it out for no");
  return Ok{};
}

// "128,256,4x512": a list of counts, NxV repeats V.
Status read_value(std::string_view name, std::string_view text, std::vector<Count>& out) {
  constexpr Count kMostItems = 1 << 20;
  out.clear();
  for (const std::string& part : split(text, ',')) {
    Count repeat = 1, value = 0;
    std::string_view rest = part;
    if (const auto x = rest.find('x'); x != std::string_view::npos) {
      if (auto read = read_value(name, rest.substr(0, x), repeat); !read) return read;
      rest.remove_prefix(x + 1);
    }
    if (auto read = read_value(name, rest, value); !read) return read;
    if (static_cast<Count>(out.size()) + repeat > kMostItems)
      return field_error(std::string(name), fmt::format("has more than {} entries", kMostItems),
                         "128,4x512 is five of them");
    out.insert(out.end(), static_cast<std::size_t>(repeat), value);
  }
  return Ok{};
}

// A field of a shape at run time: templates stop here, so reading and writing are compiled once and not for every
// family.
struct ChoiceField {
  std::span<const std::string_view> names;
  void* member;
  std::size_t (*get)(const void*);
  void (*set)(void*, std::size_t);
};
struct Field {
  std::string_view name;
  Need need;
  std::variant<Count*, double*, bool*, std::vector<Count>*, ChoiceField> member;
};
using Fields = std::vector<Field>;

template <class T>
decltype(Field::member) member_of(T& member) {
  if constexpr (std::is_enum_v<T>)
    return ChoiceField{enum_names(T{}), &member,
                       [](const void* at) { return static_cast<std::size_t>(*static_cast<const T*>(at)); },
                       [](void* at, std::size_t place) { *static_cast<T*>(at) = static_cast<T>(place); }};
  else return &member;
}

template <class S>
Fields fields_of(S& shape) {
  Fields fields;
  S::fields(shape, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
    fields.push_back({name, need, member_of(member)});
  });
  return fields;
}

Status read_value(std::string_view name, std::string_view text, const ChoiceField& out) {
  if (const auto place = place_of(text, out.names)) return out.set(out.member, *place), Ok{};
  return field_error(std::string(name), fmt::format("unknown choice '{}'", text),
                     "one of " + join({out.names.begin(), out.names.end()}, ", "));
}

Status read_field(const Field& field, std::string_view text) {
  return std::visit(
      [&](const auto& member) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(member)>>)
          return read_value(field.name, text, *member);
        else return read_value(field.name, text, member);
      },
      field.member);
}

// A field as given: its name and its value.
using Given = std::pair<std::string_view, std::string_view>;

std::optional<Error> read_fields(std::string_view family, const Fields& fields, std::span<const Given> given) {
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  std::vector<std::optional<std::size_t>> places;  // that each value is for
  for (const Given& one : given) places.push_back(place_of(one.first, names));
  for (std::size_t here = 0; here < fields.size(); ++here) {
    bool found = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (places[i] != here) continue;
      if (found) return field_error(std::string(names[here]), "is given twice", "give it once");
      found = true;
      if (auto read = read_field(fields[here], given[i].second); !read) return std::move(read).error();
    }
    if (!found && fields[here].need == Need::required)
      return field_error(std::string(names[here]), "is missing", fmt::format("{} needs it", family));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (places[i]) continue;
    const std::string name(given[i].first);
    const std::vector<std::string> all(names.begin(), names.end());
    return field_error(name, fmt::format("is no field of {}", family),
                       suggestion(name, all, "it has " + join(all, ", ")));
  }
  return std::nullopt;
}

template <class S>
Result<Shape> read_shape(std::span<const Given> given) {
  S shape;
  if (auto failure = read_fields(S::kFamily.name, fields_of(shape), given)) return *std::move(failure);
  if (auto checked = shape.check(); !checked) {
    Error problem = std::move(checked).error();
    if (problem.remedy.empty()) problem.remedy = "for example " + in_fields(S::kFamily.example);
    return problem;
  }
  return Shape(std::move(shape));
}

// Of the family with exactly this name.
template <class... S>
std::optional<Result<Shape>> read_family(std::string_view family, std::span<const Given> given, FamilyList<S...>) {
  std::optional<Result<Shape>> shape;
  (void)((S::kFamily.name == family && (shape = read_shape<S>(given), true)) || ...);
  return shape;
}

Result<Shape> read_given(std::string_view family, std::span<const Given> given) {
  constexpr KernelFamilies kAll;
  if (auto shape = read_family(family, given, kAll)) return *std::move(shape);
  const auto found = find_family(family);
  if (!found) return found.error();
  return *read_family((*found)->info.name, given, kAll);
}

Result<std::vector<Given>> given_in(std::string_view text) {
  std::vector<Given> given;
  if (text.empty()) return given;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const auto equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return error("'" + std::string(part) + "' is not key=value", "dims look like m=4096;n=4096;k=4096");
    given.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    at = end + 1;
  }
  return given;
}

void append_value(std::string& out, Count value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}
void append_value(std::string& out, double value) { append(out, "{}", value); }
void append_value(std::string& out, bool value) { out += value ? '1' : '0'; }
void append_value(std::string& out, const std::vector<Count>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out += ',';
    append_value(out, values[i]);
  }
}

void append_field(std::string& out, const Field& field) {
  std::visit(
      [&](const auto& member) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(member)>>) append_value(out, *member);
        else out += member.names[member.get(member.member)];
      },
      field.member);
}

// The default of every field as text, in order of declaration.
template <class S>
const std::vector<std::string>& default_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    S blank;
    for (const Field& field : fields_of(blank)) append_field(all.emplace_back(), field);
    return all;
  }();
  return texts;
}

// What to write for a shape: its fields and their defaults. Fields point into the shape, which is not modified.
std::pair<Fields, const std::vector<std::string>*> written(const Shape& shape) {
  return visit([]<class S>(const S& s) { return std::pair(fields_of(const_cast<S&>(s)), &default_texts<S>()); }, shape);
}

// use(name, text) for each field that is required or differs from its default.
template <class Use>
void each_written(const Shape& shape, Use&& use) {
  const auto [fields, defaults] = written(shape);
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text.clear();
    append_field(text, fields[i]);
    if (fields[i].need == Need::required || text != (*defaults)[i]) use(fields[i].name, text);
  }
}

}  // namespace

Result<Shape> shape_from(std::string_view family, const Dims& dims) {
  const std::vector<Given> given(dims.begin(), dims.end());
  return read_given(family, given);
}

Result<Shape> read_dims(std::string_view family, std::string_view text) {
  const auto given = given_in(text);
  if (!given) return given.error();
  return read_given(family, *given);
}

Result<Dims> dims_from_text(std::string_view text) {
  const auto given = given_in(text);
  if (!given) return given.error();
  return Dims(given->begin(), given->end());
}

Dims dims_of(const Shape& shape) {
  Dims dims;
  each_written(shape, [&](std::string_view name, const std::string& value) { dims.emplace_back(name, value); });
  return dims;
}

void append_dims(std::string& out, const Shape& shape) {
  const std::size_t before = out.size();
  each_written(shape, [&](std::string_view name, const std::string& value) {
    if (out.size() > before) out += ';';
    out.append(name).append("=").append(value);
  });
}

std::string dims_text(const Shape& shape) {
  std::string text;
  append_dims(text, shape);
  return text;
}

}  // namespace tilecast
