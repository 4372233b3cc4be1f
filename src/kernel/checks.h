// Checks that shapes share.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct Named {
  std::string_view name;
  Count value;
};

// Every named dimension must be at least one.
inline Status require_positive(std::initializer_list<Named> dims) {
  for (const Named& dim : dims)
    if (dim.value < 1)
      return field_error(std::string(dim.name), fmt::format("must be a positive whole number, not {}", dim.value));
  return Ok{};
}

// The tensors of one kernel must fit in any real address space; catches products of absurd dimensions.
inline Status require_reasonable(double elements) {
  if (elements > 1e15) return error("the tensors of this shape exceed 10^15 elements", "check the dimensions");
  return Ok{};
}

}  // namespace tilecast
