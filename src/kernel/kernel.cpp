#include "kernel/kernel.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <type_traits>

#include "support/text.h"

namespace tilecast {
namespace {

template <class T>
constexpr bool is_list = std::is_same_v<T, std::vector<Count>>;

template <class E>
std::vector<std::string> choices() {
  std::vector<std::string> names;
  for (std::string_view name : enum_names(E{})) names.emplace_back(name);
  return names;
}

template <class T>
std::string kind_of() {
  if constexpr (std::is_same_v<T, Count>) return "count";
  else if constexpr (std::is_same_v<T, double>) return "number";
  else if constexpr (std::is_same_v<T, bool>) return "yes/no";
  else if constexpr (is_list<T>) return "list";
  else return join(choices<T>(), "|");
}

Status read_value(const std::string& name, std::string_view text, Count& out) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc{} || end != text.data() + text.size())
    return field_error(name, fmt::format("must be a whole number, not '{}'", text));
  if (out < 0 || out > kMostDimension)
    return field_error(name, fmt::format("must lie between 0 and {}, not {}", kMostDimension, out));
  return Ok{};
}

[[maybe_unused]] Status read_value(const std::string& name, std::string_view text, double& out) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(out) || out < 0 || out > 1e18)
    return field_error(name, fmt::format("must be a finite number, zero or more, not '{}'", text));
  return Ok{};
}

[[maybe_unused]] Status read_value(const std::string& name, std::string_view text, bool& out) {
  const std::string key = name_key(text);
  if (key == "1" || key == "true" || key == "yes" || key.empty()) out = true;
  else if (key == "0" || key == "false" || key == "no") out = false;
  else return field_error(name, fmt::format("must be yes or no, not '{}'", text));
  return Ok{};
}

// "128,256,4x512": a list of counts, NxV repeats V.
[[maybe_unused]] Status read_value(const std::string& name, std::string_view text, std::vector<Count>& out) {
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
      return field_error(name, fmt::format("has more than {} entries", kMostItems));
    out.insert(out.end(), static_cast<std::size_t>(repeat), value);
  }
  return Ok{};
}

template <class E>
requires std::is_enum_v<E> Status read_value(const std::string& name, std::string_view text, E& out) {
  const auto& names = enum_names(E{});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name_key(names[i]) == name_key(text)) return out = static_cast<E>(i), Ok{};
  return field_error(name, fmt::format("unknown choice '{}'", text), "one of " + join(choices<E>(), ", "));
}

template <class T>
std::string value_text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(enum_names(T{})[static_cast<std::size_t>(value)]);
  } else if constexpr (is_list<T>) {
    std::vector<std::string> parts;
    for (Count item : value) parts.push_back(std::to_string(item));
    return join(parts, ",");
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else {
    return fmt::format("{}", value);
  }
}

// Field names are matched with '-' and '_' alike: the command line says q-len, tables may say q_len.
template <class S>
Result<Shape> read_shape(const Dims& dims) {
  S shape;
  std::vector<std::string> known;
  std::vector<bool> used(dims.size(), false);
  std::optional<Error> failure;
  S::fields(shape, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
    known.emplace_back(name);
    if (failure) return;
    bool given = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (name_key(dims[i].first) != name_key(name)) continue;
      if (given) return void(failure = field_error(std::string(name), "is given twice"));
      given = used[i] = true;
      if (auto read = read_value(std::string(name), dims[i].second, member); !read) failure = std::move(read).error();
    }
    if (!given && need == Need::required)
      failure = field_error(std::string(name), "is missing", fmt::format("{} needs it", S::kFamily.name));
  });
  for (std::size_t i = 0; i < dims.size() && !failure; ++i)
    if (!used[i])
      failure = field_error(dims[i].first, fmt::format("is no field of {}", S::kFamily.name),
                            suggestion(dims[i].first, known, "it has " + join(known, ", ")));
  if (failure) return *std::move(failure);
  if (auto checked = shape.check(); !checked) return std::move(checked).error();
  return Shape(std::move(shape));
}

struct Entry {
  Family family;
  Result<Shape> (*read)(const Dims&);
};

template <class S>
Entry entry() {
  Entry e{{S::kFamily, {}}, &read_shape<S>};
  S shape;
  S::fields(shape, [&](std::string_view name, auto& member, std::string_view help, Need need = Need::optional) {
    e.family.fields.push_back(
        {std::string(name), std::string(help), need, kind_of<std::remove_cvref_t<decltype(member)>>()});
  });
  return e;
}

template <class... S>
std::vector<Entry> entries(const std::variant<S...>*) {
  return {entry<S>()...};
}

const std::vector<Entry>& all_entries() {
  static const std::vector<Entry> all = entries(static_cast<const Shape*>(nullptr));
  return all;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list;
    for (const Entry& e : all_entries()) list.push_back(e.family);
    return list;
  }();
  return all;
}

Result<const Family*> find_family(std::string_view name) {
  std::vector<std::string> names;
  for (const Family& family : families()) {
    if (name_key(family.info.name) == name_key(name)) return &family;
    names.emplace_back(family.info.name);
  }
  return error("unknown kernel family '" + std::string(name) + "'",
               suggestion(name, names, "known: " + join(names, ", ")));
}

Result<Shape> shape_from(std::string_view family, const Dims& dims) {
  auto found = find_family(family);
  if (!found) return std::move(found).error();
  for (const Entry& e : all_entries())
    if (e.family.info.name == (*found)->info.name) return e.read(dims);
  return error("family list is inconsistent");
}

std::string_view family_of(const Shape& shape) {
  return std::visit([](const auto& s) { return std::remove_cvref_t<decltype(s)>::kFamily.name; }, shape);
}

Dims dims_of(const Shape& shape) {
  Dims dims;
  std::visit(
      [&](const auto& s) {
        using S = std::remove_cvref_t<decltype(s)>;
        Dims defaults;
        S blank;
        S::fields(blank, [&](std::string_view name, auto& member, std::string_view, Need = Need::optional) {
          defaults.emplace_back(name, value_text(member));
        });
        std::size_t i = 0;
        S::fields(s, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
          std::string text = value_text(member);
          if (need == Need::required || text != defaults[i].second) dims.emplace_back(name, std::move(text));
          ++i;
        });
      },
      shape);
  return dims;
}

std::string dims_text(const Shape& shape) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : dims_of(shape)) parts.push_back(name + "=" + value);
  return join(parts, ";");
}

Result<Dims> dims_from_text(std::string_view text) {
  Dims dims;
  if (text.empty()) return dims;
  for (const std::string& part : split(text, ';')) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      return error("'" + part + "' is not key=value", "dims look like m=4096;n=4096;k=4096");
    dims.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return dims;
}

Result<Plan> plan(const Kernel& kernel, const Gpu& gpu, const Context& context) {
  return std::visit([&](const auto& shape) { return plan(shape, kernel.format, gpu, context); }, kernel.shape);
}

}  // namespace tilecast
