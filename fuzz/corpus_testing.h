// Runs a target over its corpus, without libFuzzer. A crash that was found and fixed leaves its input there.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "targets.h"
#include "test_paths.h"

namespace tilecast {

inline int run_corpus(const char* name, std::string (*target)(std::string_view)) {
  int inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TILECAST_SOURCE_DIR "/fuzz/corpus/") + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(target(text), "") << entry.path();
    // Cut anywhere it must still end well.
    for (std::size_t length = 0; length < text.size(); length += 1 + text.size() / 64)
      EXPECT_EQ(target(std::string_view(text).substr(0, length)), "") << entry.path() << " cut to " << length;
    ++inputs;
  }
  return inputs;
}

}  // namespace tilecast
