#include "kernel/kernel.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "kernel/shapes.h"
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
std::vector<Family> families_of(FamilyList<S...>) {
  return {family<S>()...};
}

template <class... S>
std::vector<Shape> default_shapes_of(FamilyList<S...>) {
  return {S{}...};
}

template <class... S>
constexpr std::size_t largest_of(FamilyList<S...>) {
  return std::max({sizeof(S)...});
}
template <class... S>
constexpr std::size_t strictest_of(FamilyList<S...>) {
  return std::max({alignof(S)...});
}

}  // namespace

Shape::Shape() : Shape(Gemm{}) {}

Shape::Shape(const Shape& other) : family_(other.family_) {
  static_assert(kSize == largest_of(KernelFamilies{}), "Shape::kSize in kernel.h must be the largest family's");
  static_assert(kAlignment == strictest_of(KernelFamilies{}), "Shape::kAlignment in kernel.h must be the strictest");
  visit([&]<class S>(const S& shape) { ::new (static_cast<void*>(room_)) S(shape); }, other);
}

Shape::Shape(Shape&& other) noexcept : family_(other.family_) {
  visit([&]<class S>(S& shape) { ::new (static_cast<void*>(room_)) S(std::move(shape)); }, other);
}

Shape& Shape::operator=(const Shape& other) {
  if (family_ != other.family_) return *this = Shape(other);
  visit([&]<class S>(const S& shape) { held<S>() = shape; }, other);
  return *this;
}

Shape& Shape::operator=(Shape&& other) noexcept {
  if (family_ == other.family_) {
    visit([&]<class S>(S& shape) { held<S>() = std::move(shape); }, other);
    return *this;
  }
  this->~Shape();
  return *::new (static_cast<void*>(this)) Shape(std::move(other));
}

Shape::~Shape() {
  visit([]<class S>(S& shape) { shape.~S(); }, *this);
}

void Shape::refuse() { throw std::bad_variant_access(); }

const std::vector<Family>& families() {
  static const std::vector<Family> all = families_of(KernelFamilies{});
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
  return visit([]<class S>(const S&) { return S::kFamily.name; }, shape);
}

std::vector<Shape> default_shapes() { return default_shapes_of(KernelFamilies{}); }

Status check(const Shape& shape) {
  return visit([](const auto& s) { return s.check(); }, shape);
}

Result<Plan> plan(const Kernel& kernel, const Gpu& gpu, const Context& context) {
  return visit([&](const auto& shape) { return plan(shape, kernel.format, gpu, context); }, kernel.shape);
}

}  // namespace tilecast
