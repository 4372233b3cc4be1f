// Appends formatted text to another: append(out, "{} of {}", i, n). fmt::format_to would compile the whole of fmt into
// every source that calls it.
#pragma once

#include <fmt/core.h>

#include <string>

namespace tilecast {

void append_formatted(std::string& out, fmt::string_view form, fmt::format_args args);

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> form, Args&&... args) {
  append_formatted(out, form, fmt::make_format_args(args...));
}

}  // namespace tilecast
