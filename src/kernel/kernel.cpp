#include "kernel/kernel.h"

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

template <class S>
Family family() {
  Family f{S::kFamily, {}};
  const S blank;
  S::fields(blank, [&](std::string_view name, auto& member, std::string_view help, Need need = Need::optional) {
    f.fields.push_back({std::string(name), std::string(help), need, kind_of<std::remove_cvref_t<decltype(member)>>()});
  });
  return f;
}

template <class... S>
std::vector<Family> families_of(const std::variant<S...>*) {
  return {family<S>()...};
}

}  // namespace

Shape::Shape() = default;
Shape::Shape(const Shape&) = default;
Shape::Shape(Shape&&) noexcept = default;
Shape& Shape::operator=(const Shape&) = default;
Shape& Shape::operator=(Shape&&) noexcept = default;
Shape::~Shape() = default;

const std::vector<Family>& families() {
  static const std::vector<Family> all = families_of(static_cast<const Shape*>(nullptr));
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

std::string_view family_of(const Shape& shape) {
  return std::visit([](const auto& s) { return std::remove_cvref_t<decltype(s)>::kFamily.name; }, shape);
}

Result<Plan> plan(const Kernel& kernel, const Gpu& gpu, const Context& context) {
  return std::visit([&](const auto& shape) { return plan(shape, kernel.format, gpu, context); }, kernel.shape);
}

}  // namespace tilecast
