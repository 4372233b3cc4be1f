// A file of data/ as compiled in by cmake/embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace tilecast {

struct EmbeddedFile {
  std::string_view name;  // "h100-sxm.json"
  std::string_view text;
};

}  // namespace tilecast
