#include "measure/dims.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <iterator>
#include <optional>
#include <type_traits>

namespace tilecast {
namespace {

template <class T>
constexpr bool is_list = std::is_same_v<T, std::vector<Count>>;

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

// False where the slow reader must decide.
template <class T>
bool read_value(std::string_view text, T& out) {
  const char* const last = text.data() + text.size();
  if constexpr (std::is_same_v<T, Count> || std::is_same_v<T, double>) {
    const auto [end, failure] = std::from_chars(text.data(), last, out);
    return failure == std::errc{} && end == last && out >= 0 && out <= static_cast<T>(kMostDimension);
  } else if constexpr (std::is_same_v<T, bool>) {
    out = text == "1";
    return text == "1" || text == "0";
  } else if constexpr (std::is_enum_v<T>) {
    const auto& names = enum_names(T{});
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == text) return out = static_cast<T>(i), true;
    return false;
  } else {
    return false;
  }
}

// Reads "key=value" from the front of `rest` if the key is `name`.
std::optional<std::string_view> take_field(std::string_view& rest, std::string_view name) {
  if (!rest.starts_with(name) || rest.size() <= name.size() || rest[name.size()] != '=') return std::nullopt;
  rest.remove_prefix(name.size() + 1);
  const auto end = std::min(rest.find(';'), rest.size());
  const std::string_view value = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return value;
}

// Fields in declaration order, as append_dims writes them; anything else is left to the slow reader.
template <class S>
std::optional<Shape> read_in_order(std::string_view text) {
  S shape;
  std::string_view rest = text;
  bool ok = !text.ends_with(';');
  S::fields(shape, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
    if (!ok) return;
    const auto value = take_field(rest, name);
    ok = value ? read_value(*value, member) : need == Need::optional;
  });
  if (!ok || !rest.empty() || !shape.check()) return std::nullopt;
  return Shape(std::move(shape));
}

template <class... S>
std::optional<Shape> read_family(std::string_view family, std::string_view text, const std::variant<S...>*) {
  std::optional<Shape> shape;
  (void)((S::kFamily.name == family && (shape = read_in_order<S>(text), true)) || ...);
  return shape;
}

// splitmix64: a full-avalanche mix of 64 bits (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t mix_text(std::uint64_t hash, std::string_view text) {
  for (char c : text) hash = mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

template <class T>
std::uint64_t mix_value(std::uint64_t hash, const T& value) {
  if constexpr (is_list<T>) {
    for (Count item : value) hash = mix(hash ^ static_cast<std::uint64_t>(item));
    return mix(hash);
  } else if constexpr (std::is_same_v<T, double>) {
    return mix(hash ^ std::bit_cast<std::uint64_t>(value));
  } else {
    return mix(hash ^ static_cast<std::uint64_t>(value));
  }
}

}  // namespace

void append_dims(std::string& out, const Shape& shape) {
  std::visit(
      [&](const auto& s) {
        const auto& defaults = default_texts<std::remove_cvref_t<decltype(s)>>();
        bool first = true;
        std::size_t i = 0;
        s.fields(s, [&](std::string_view name, auto& member, std::string_view, Need need = Need::optional) {
          const std::size_t before = out.size();
          if (!first) out += ';';
          out += name;
          out += '=';
          const std::size_t value = out.size();
          append_value(out, member);
          const std::string& usual = defaults[i++];
          if (need == Need::optional && std::string_view(out).substr(value) == usual) out.resize(before);
          else first = false;
        });
      },
      shape);
}

Result<Shape> read_dims(std::string_view family, std::string_view text) {
  if (auto fast = read_family(family, text, static_cast<const Shape*>(nullptr))) return *std::move(fast);
  auto dims = dims_from_text(text);
  if (!dims) return std::move(dims).error();
  return shape_from(family, *dims);
}

std::uint64_t shape_hash(const Shape& shape, std::uint64_t seed) {
  return std::visit(
      [&](const auto& s) {
        using S = std::remove_cvref_t<decltype(s)>;
        std::uint64_t hash = mix_text(mix(seed), S::kFamily.name);
        S::fields(s, [&](std::string_view name, auto& member, std::string_view, Need = Need::optional) {
          hash = mix_value(mix_text(hash, name), member);
        });
        return hash;
      },
      shape);
}

bool held_out(const Shape& shape) { return shape_hash(shape) % 10 == 0; }

}  // namespace tilecast
