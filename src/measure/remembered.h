// A look-up that remembers its last question: tables repeat the same name for thousands of rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

template <class T>
struct Remembered {
  std::string text;
  std::optional<Result<T>> value;

  template <class Find>
  const Result<T>& get(std::string_view wanted, Find&& find) {
    if (!value || text != wanted) {
      text = wanted;
      value.emplace(find(wanted));
    }
    return *value;
  }
};

}  // namespace tilecast
