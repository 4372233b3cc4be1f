// For tests over all families only: their examples as values.
#pragma once

#include <string>

#include "kernel/kernel.h"
#include "support/text.h"

namespace tilecast {

struct Example {
  Dims dims;
  std::string dtype = "bf16";
};

// "--m 4096 --transpose --dtype fp32" taken apart.
inline Example example_of(const Family& family) {
  Example example;
  for (const std::string& word : split(family.info.example, ' ')) {
    if (word.starts_with("--")) example.dims.emplace_back(word.substr(2), "");
    else example.dims.back().second = word;
  }
  std::erase_if(example.dims,
                [&](const auto& dim) { return dim.first == "dtype" && (example.dtype = dim.second, true); });
  return example;
}

}  // namespace tilecast
