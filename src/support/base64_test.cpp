#include "support/base64.h"

#include <gtest/gtest.h>

#include <utility>

namespace tilecast {
namespace {

// RFC 4648, section 10.
TEST(Base64, TheStandardsOwnVectors) {
  for (const auto& [bytes, text] : {std::pair("", ""),
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64_text(bytes), text);
    EXPECT_EQ(base64_bytes(text), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string all;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    all += 'x';
    EXPECT_EQ(base64_bytes(base64_text(all)), all);
  }
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* text :
       {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "Zm 9", "Zm9\n", "-_-_", "=m9v", "Zm9vYg==Zm9v"})
    EXPECT_EQ(base64_bytes(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tilecast
