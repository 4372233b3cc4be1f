#include "kernel/torch_release.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(TorchRelease, OfVersionsAsTablesHaveThem) {
  EXPECT_EQ(torch_release("2.1.0"), TorchRelease::v2_1);
  EXPECT_EQ(torch_release("1.13"), TorchRelease::v2_1);
  EXPECT_EQ(torch_release("2.4.1"), TorchRelease::v2_4);
  EXPECT_EQ(torch_release("2.6"), TorchRelease::v2_4);
  EXPECT_EQ(torch_release("2.7.0"), TorchRelease::current);
  EXPECT_EQ(torch_release("2.11.0+cu130"), TorchRelease::current);
  EXPECT_EQ(torch_release("3.0"), TorchRelease::current);
}

TEST(TorchRelease, WhatIsNoVersionIsCurrent) {
  EXPECT_EQ(torch_release(""), TorchRelease::current);
  EXPECT_EQ(torch_release("main"), TorchRelease::current);
  EXPECT_EQ(torch_release("2"), TorchRelease::current);
}

}  // namespace
}  // namespace tilecast
