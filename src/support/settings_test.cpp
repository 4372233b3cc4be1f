#include "support/settings.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Settings, BelongToTheItemBefore) {
  using List = std::vector<std::string>;
  EXPECT_EQ(with_settings({}), List{});
  EXPECT_EQ(with_settings({"bf16", "fp8"}), (List{"bf16", "fp8"}));
  EXPECT_EQ(with_settings({"fp8", "head=bf16", "bf16"}), (List{"fp8,head=bf16", "bf16"}));
  EXPECT_EQ(with_settings({"experts=mxfp4", "attention=bf16"}), (List{"experts=mxfp4,attention=bf16"}));
}

}  // namespace
}  // namespace tilecast
