#include "kernel/shape_text.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <span>
#include <type_traits>

#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

template <class T>
constexpr bool is_list = std::is_same_v<T, std::vector<Count>>;

// Which of `names` a text means, if any. They match with '-' and '_' alike: the command line says q-len, tables may say
// q_len. Nearly all are equal letter for letter, which is seen without building keys.
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
  const auto value = to_count(text);
  if (!value) return field_error(std::string(name), fmt::format("must be a whole number, not '{}'", text));
  out = *value;
  if (out < 0 || out > kMostDimension)
    return field_error(std::string(name), fmt::format("must lie between 0 and {}, not {}", kMostDimension, out));
  return Ok{};
}

Status read_value(std::string_view name, std::string_view text, double& out) {
  const auto value = number_between(text, 0.0, 1e18);
  if (!value)
    return field_error(std::string(name), fmt::format("must be a finite number, zero or more, not '{}'", text));
  out = *value;
  return Ok{};
}

Status read_value(std::string_view name, std::string_view text, bool& out) {
  const std::string key = name_key(text);
  if (key == "1" || key == "true" || key == "yes" || key.empty()) out = true;
  else if (key == "0" || key == "false" || key == "no") out = false;
  else return field_error(std::string(name), fmt::format("must be yes or no, not '{}'", text));
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
      return field_error(std::string(name), fmt::format("has more than {} entries", kMostItems));
    out.insert(out.end(), static_cast<std::size_t>(repeat), value);
  }
  return Ok{};
}

template <class E>
requires std::is_enum_v<E> Status read_value(std::string_view name, std::string_view text, E& out) {
  const auto& names = enum_names(E{});
  if (const auto place = place_of(text, names)) return out = static_cast<E>(*place), Ok{};
  return field_error(std::string(name), fmt::format("unknown choice '{}'", text),
                     "one of " + join({names.begin(), names.end()}, ", "));
}

// A field as given: its name and its value.
using Given = std::pair<std::string_view, std::string_view>;

template <class S>
const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    const S blank;
    S::fields(blank,
              [&](std::string_view name, auto&, std::string_view, Need = Need::optional) { all.emplace_back(name); });
    return all;
  }();
  return names;
}

template <class S>
Result<Shape> read_shape(std::span<const Given> given) {
  S shape;
  std::optional<Error> failure;
  std::vector<std::optional<std::size_t>> fields;  // that each value is for
  for (const Given& one : given) fields.push_back(place_of(one.first, field_names<S>()));
  std::size_t field = 0;
  S::fields(shape, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
    const std::size_t here = field++;
    if (failure) return;
    bool found = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (fields[i] != here) continue;
      if (found) return void(failure = field_error(std::string(name), "is given twice"));
      found = true;
      if (auto read = read_value(name, given[i].second, member); !read) failure = std::move(read).error();
    }
    if (!found && need == Need::required)
      failure = field_error(std::string(name), "is missing", fmt::format("{} needs it", S::kFamily.name));
  });
  for (std::size_t i = 0; i < given.size() && !failure; ++i) {
    if (fields[i]) continue;
    const std::string name(given[i].first);
    failure = field_error(name, fmt::format("is no field of {}", S::kFamily.name),
                          suggestion(name, field_names<S>(), "it has " + join(field_names<S>(), ", ")));
  }
  if (failure) return *std::move(failure);
  if (auto checked = shape.check(); !checked) return std::move(checked).error();
  return Shape(std::move(shape));
}

// Of the family with exactly this name.
template <class... S>
std::optional<Result<Shape>> read_family(std::string_view family, std::span<const Given> given,
                                         const std::variant<S...>*) {
  std::optional<Result<Shape>> shape;
  (void)((S::kFamily.name == family && (shape = read_shape<S>(given), true)) || ...);
  return shape;
}

Result<Shape> read_given(std::string_view family, std::span<const Given> given) {
  constexpr const Shape* kAll = nullptr;
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

template <class T>
void append_value(std::string& out, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    out += enum_names(T{})[static_cast<std::size_t>(value)];
  } else if constexpr (is_list<T>) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i) out += ',';
      append_value(out, value[i]);
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? '1' : '0';
  } else if constexpr (std::is_same_v<T, Count>) {
    const fmt::format_int digits(value);
    out.append(digits.data(), digits.size());
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

// The default of every field as text, in order of declaration.
template <class S>
const std::vector<std::string>& default_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    const S blank;
    S::fields(blank, [&](std::string_view, auto& member, std::string_view, Need = Need::optional) {
      append_value(all.emplace_back(), member);
    });
    return all;
  }();
  return texts;
}

// use(name, text) for each field that is required or differs from its default.
template <class Use>
void each_written(const Shape& shape, Use&& use) {
  std::visit(
      [&](const auto& s) {
        const auto& defaults = default_texts<std::remove_cvref_t<decltype(s)>>();
        std::string text;
        std::size_t i = 0;
        s.fields(s, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
          text.clear();
          append_value(text, member);
          const std::string& usual = defaults[i++];
          if (need == Need::required || text != usual) use(name, text);
        });
      },
      shape);
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
