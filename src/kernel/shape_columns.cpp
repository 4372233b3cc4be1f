#include "kernel/shape_columns.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "kernel/shapes.h"
#include "support/text.h"

namespace tilecast {
namespace {

template <class Member>
constexpr bool is_count = std::is_same_v<std::remove_cvref_t<Member>, Count>;

}  // namespace

Result<ShapeColumns> ShapeColumns::make(Shape pattern, std::span<const std::string> names) {
  ShapeColumns columns;
  std::vector<bool> used(names.size(), false);
  std::vector<std::string> known;
  visit(
      [&](auto& shape) {
        using S = std::remove_cvref_t<decltype(shape)>;
        S::fields(shape, [&](std::string_view field, auto& member, std::string_view, Need = Need::optional) {
          int column = -1;
          if constexpr (is_count<decltype(member)>) {
            known.emplace_back(field);
            for (std::size_t i = 0; i < names.size(); ++i)
              if (name_key(names[i]) == name_key(field)) column = static_cast<int>(i), used[i] = true;
          }
          columns.column_of_field_.push_back(column);
        });
      },
      pattern);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!used[i])
      return field_error(names[i], "is no whole-number field of " + std::string(family_of(pattern)),
                         suggestion(names[i], known, "it has " + join(known, ", ")));
  columns.shape_ = std::move(pattern);
  return columns;
}

Result<const Shape*> ShapeColumns::with(std::span<const Count> values) {
  std::optional<Error> failure;
  visit(
      [&](auto& shape) {
        using S = std::remove_cvref_t<decltype(shape)>;
        std::size_t at = 0;
        S::fields(shape, [&](std::string_view field, auto& member, std::string_view, Need = Need::optional) {
          const int column = column_of_field_[at++];
          if constexpr (is_count<decltype(member)>) {
            if (column < 0) return;
            member = values[static_cast<std::size_t>(column)];
            if (member < 0 || member > kMostDimension)
              failure = field_error(std::string(field), "must lie between 0 and " + std::to_string(kMostDimension));
          }
        });
        if (failure) return;
        if (auto checked = shape.check(); !checked) failure = std::move(checked).error();
      },
      shape_);
  if (failure) return *std::move(failure);
  return &shape_;
}

}  // namespace tilecast
