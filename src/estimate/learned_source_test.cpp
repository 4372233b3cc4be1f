#include <gtest/gtest.h>

#include "estimate/learned.h"
#include "gpu/registry.h"

namespace tilecast {
namespace {

// What a training on B200 and H200 might leave.
FamilyModel taught() {
  FamilyModel model;
  model.key = "attention_decode/bf16";
  const auto add = [&](const char* name, float index, Count rows) { model.sources[name] = {{}, 0, index, rows}; };
  add("nvidia/tcgen05/sglang/trtllm_mha", 0, 900);
  add("nvidia/tcgen05/sglang/triton", 1, 300);
  add("nvidia/*/sglang/triton", -1, 300);
  add("nvidia/wgmma/vllm/vllm_flash_attn_fa3", 2, 700);
  add("nvidia/wgmma/pytorch/cudnn", 3, 60);
  return model;
}
std::string_view stands_for(const char* gpu, const char* engine, const char* source) {
  static const FamilyModel model = taught();
  Context context;
  context.engine = Launcher::named(engine), context.kernel_source = KernelSource::named(source);
  return stand_in(model, context, *find_gpu(gpu)).kernel_source.text();
}

TEST(LikeliestSource, AnUnknownNameIsTheEnginesUsualKernelOnSuchACard) {
  EXPECT_EQ(stands_for("B300", "sglang", "sglang"), "trtllm_mha");
  EXPECT_EQ(stands_for("B300", "sglang", ""), "trtllm_mha");
}
TEST(LikeliestSource, AKnownNameStays) {
  EXPECT_EQ(stands_for("B300", "sglang", "triton"), "triton");
  EXPECT_EQ(stands_for("H200-SXM", "sglang", "triton"), "triton");  // seen elsewhere
  EXPECT_EQ(stands_for("H200-SXM", "pytorch", "flash_attention_2"), "flash_attention_2");  // plans know it
}
TEST(LikeliestSource, TheSameKernelUnderAnotherEnginesName) {
  EXPECT_EQ(stands_for("H200-SXM", "pytorch", "flash_attention_3"), "vllm_flash_attn_fa3");
}
TEST(LikeliestSource, NothingStandsInForAnEngineNobodyMeasured) {
  EXPECT_EQ(stands_for("B300", "lmdeploy", "turbomind"), "turbomind");
}

}  // namespace
}  // namespace tilecast
