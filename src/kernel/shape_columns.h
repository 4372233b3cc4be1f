// Many shapes of one family that differ only in whole-number fields, made from columns of numbers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace tilecast {

class ShapeColumns {
 public:
  // `pattern` holds the fields that do not differ. Names that are not whole-number fields of it are rejected.
  static Result<ShapeColumns> make(Shape pattern, std::span<const std::string> names);
  // The pattern with these values, one per name, checked; valid until the next call.
  Result<const Shape*> with(std::span<const Count> values);

 private:
  Shape shape_;
  std::vector<int> column_of_field_;  // by the field's place in the family's list; -1: as in the pattern
};

}  // namespace tilecast
