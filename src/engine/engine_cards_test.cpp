#include "engine/engine_cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string why_not(EngineKind engine, const char* gpu) { return why_not_on(engine, *find_gpu(gpu)); }

TEST(EngineCards, NoEngineIsSaidToRunWhereItDoesNot) {
  for (const char* gpu : {"MI300X", "MI250", "Arc-Pro-B60"})
    EXPECT_THAT(why_not(EngineKind::trtllm, gpu), HasSubstr("NVIDIA's cards alone")) << gpu;
  for (const char* gpu : {"P4", "T4", "V100-SXM"})
    EXPECT_THAT(why_not(EngineKind::trtllm, gpu), HasSubstr("8.0 (Ampere)")) << gpu;
  for (const char* gpu : {"A100-SXM-80GB", "A10", "L4", "H100-SXM", "B200", "RTX-5090"})
    EXPECT_THAT(why_not(EngineKind::trtllm, gpu), IsEmpty()) << gpu;
  EXPECT_THAT(why_not(EngineKind::vllm, "P100-PCIe"), HasSubstr("7.0 (Volta)"));
  EXPECT_THAT(why_not(EngineKind::vllm, "MI100"), HasSubstr("MI200"));
  EXPECT_THAT(why_not(EngineKind::sglang, "V100-SXM"), HasSubstr("7.5 (Turing)"));
  for (const char* gpu : {"V100-SXM", "T4", "MI250", "MI300X", "Arc-Pro-B60", "H100-SXM"})
    EXPECT_THAT(why_not(EngineKind::vllm, gpu), IsEmpty()) << gpu;
  for (const char* gpu : {"T4", "MI250", "MI300X", "H100-SXM"})
    EXPECT_THAT(why_not(EngineKind::sglang, gpu), IsEmpty()) << gpu;
  // Frameworks are no engines that serve.
  EXPECT_THAT(why_not(EngineKind::pytorch, "P4"), IsEmpty());
  EXPECT_FALSE(check_card_of(EngineKind::trtllm, *find_gpu("T4")).ok());
  EXPECT_TRUE(check_card_of(EngineKind::trtllm, *find_gpu("A30")).ok());
}

}  // namespace
}  // namespace tilecast
