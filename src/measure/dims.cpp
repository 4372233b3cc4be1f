#include "measure/dims.h"

#include <bit>
#include <type_traits>

#include "kernel/shapes.h"
#include "support/random.h"

namespace tilecast {
namespace {

template <class T>
constexpr bool is_list = std::is_same_v<T, std::vector<Count>>;

template <class T>
std::uint64_t mix_value(std::uint64_t hash, const T& value) {
  if constexpr (is_list<T>) {
    for (Count item : value) hash = mixed(hash ^ static_cast<std::uint64_t>(item));
    return mixed(hash);
  } else if constexpr (std::is_same_v<T, double>) {
    return mixed(hash ^ std::bit_cast<std::uint64_t>(value));
  } else {
    return mixed(hash ^ static_cast<std::uint64_t>(value));
  }
}

}  // namespace

std::uint64_t shape_hash(const Shape& shape, std::uint64_t seed) {
  return visit(
      [&](const auto& s) {
        using S = std::remove_cvref_t<decltype(s)>;
        std::uint64_t hash = mixed(mixed(seed), S::kFamily.name);
        S::fields(s, [&](std::string_view name, auto& member, std::string_view, Need = Need::optional) {
          hash = mix_value(mixed(hash, name), member);
        });
        return hash;
      },
      shape);
}

bool held_out(const Shape& shape) { return shape_hash(shape) % 10 == 0; }

}  // namespace tilecast
