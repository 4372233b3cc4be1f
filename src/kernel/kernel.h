// Every kernel family Tilecast knows, as one value type.
//
// Families are only named here, so that a change to one recompiles only what uses it: a source includes the header of
// each family that it makes or reads, and `kernel/shapes.h` if it deals with all of them.
//
// Adding a family is one header and one source beside this file, one line in the list below, one include in
// `kernel/shapes.h`, and one line in `Classify` (model/graph.cpp): its class in breakdowns of models. A family that is
// missing there does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/format.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

template <class... S>
struct FamilyList {
  template <class Sought>
  static constexpr bool has() {
    return (std::is_same_v<Sought, S> || ...);
  }
  template <class Sought>
  static constexpr std::size_t place_of() {
    std::size_t place = 0;
    (void)((std::is_same_v<Sought, S> || (++place, false)) || ...);
    return place;
  }
};

// clang-format off
using KernelFamilies = FamilyList<
    struct Gemm,
    struct Bmm,
    struct Conv2d,
    struct AttentionPrefill,
    struct AttentionDecode,
    struct AttentionBackward,
    struct MlaPrefill,
    struct MlaDecode,
    struct Moe,
    struct RmsNorm,
    struct LayerNorm,
    struct Softmax,
    struct Elementwise,
    struct GatedActivation,
    struct Reduction,
    struct Copy,
    struct Rope,
    struct Embedding,
    struct Quantize,
    struct KvWrite,
    struct CrossEntropy,
    struct Optimizer,
    struct Sampling,
    struct Scan,
    struct Custom>;
// clang-format on

template <class S>
concept FamilyShape = KernelFamilies::has<S>();

// A shape of any one family: a variant that needs none of its alternatives to be complete. It is stored in place,
// without an allocation; copying and destruction are compiled once, in kernel.cpp.
class Shape {
 public:
  Shape();  // of the first family, all fields at their defaults
  template <FamilyShape S>
  Shape(S shape) noexcept : family_(place_of<S>()) {
    static_assert(sizeof(S) <= kSize && alignof(S) <= kAlignment && std::is_nothrow_move_constructible_v<S>);
    ::new (static_cast<void*>(room_)) S(std::move(shape));
  }
  Shape(const Shape&);
  Shape(Shape&&) noexcept;
  Shape& operator=(const Shape&);
  Shape& operator=(Shape&&) noexcept;
  ~Shape();

  template <FamilyShape S>
  bool is() const {
    return family_ == place_of<S>();
  }
  // The shape, which has to be of this family.
  template <FamilyShape S>
  const S& as() const {
    if (!is<S>()) refuse();
    return held<S>();
  }
  template <FamilyShape S>
  S& as() {
    if (!is<S>()) refuse();
    return held<S>();
  }
  // The shape if it is of this family, otherwise null.
  template <FamilyShape S>
  const S* get_if() const {
    return is<S>() ? &held<S>() : nullptr;
  }
  template <FamilyShape S>
  S* get_if() {
    return is<S>() ? &held<S>() : nullptr;
  }
  // Its family's place in the list.
  std::size_t index() const { return family_; }

 private:
  friend struct ShapeVisit;  // kernel/shapes.h
  // What the largest family needs, as kernel.cpp asserts.
  static constexpr std::size_t kSize = 128, kAlignment = alignof(double);

  template <class S>
  static constexpr std::uint8_t place_of() {
    return static_cast<std::uint8_t>(KernelFamilies::place_of<S>());
  }
  template <class S>
  const S& held() const {
    return *std::launder(reinterpret_cast<const S*>(room_));
  }
  template <class S>
  S& held() {
    return *std::launder(reinterpret_cast<S*>(room_));
  }
  [[noreturn]] static void refuse();

  alignas(kAlignment) std::byte room_[kSize];
  std::uint8_t family_;
};

struct Kernel {
  Shape shape;
  Format format;
};

// How a library would run this kernel on this GPU, or why it cannot run there.
Result<Plan> plan(const Kernel& kernel, const Gpu& gpu, const Context& context);

// A field of a family, for help texts.
struct FieldInfo {
  std::string name;
  std::string help;
  Need need = Need::optional;
  std::string kind;  // "count", "number", "yes/no", "list" or the choices "a|b|c"
};
struct Family {
  FamilyInfo info;
  std::vector<FieldInfo> fields;
};

// All families, in the order of the list above.
const std::vector<Family>& families();
// By name; hyphens and underscores are interchangeable. A miss suggests the nearest.
Result<const Family*> find_family(std::string_view name);

using Dims = std::vector<std::pair<std::string, std::string>>;  // field name -> value, as text

// A checked shape from named values: unknown, missing, malformed, negative or contradictory ones are rejected by name.
Result<Shape> shape_from(std::string_view family, const Dims& dims);
std::string_view family_of(const Shape& shape);
// One of every family, all fields at their defaults, in the order of the list above.
std::vector<Shape> default_shapes();
// Whether its fields make sense together, as its family says.
Status check(const Shape& shape);
// Fields that differ from their defaults, in declaration order: the inverse of shape_from.
Dims dims_of(const Shape& shape);
// "m=4096;n=4096;k=4096"
std::string dims_text(const Shape& shape);
Result<Dims> dims_from_text(std::string_view text);

}  // namespace tilecast
