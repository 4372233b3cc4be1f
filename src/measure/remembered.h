// A look-up that remembers its last question: tables repeat the same name for thousands of rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernel/source.h"
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

// The same for kernel sources, every one of which has a meaning. Names are interned: as good as their addresses.
struct RememberedSource {
  KernelSource source;

  const KernelSource& get(std::string_view interned) {
    if (source.text() != interned) source = KernelSource::named(interned);
    return source;
  }
};

}  // namespace tilecast
