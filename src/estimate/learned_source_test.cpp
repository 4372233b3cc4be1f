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
TEST(LikeliestSource, AnEnginesOwnNameSaysNothingThoughATableHasIt) {
  FamilyModel model = taught();
  model.sources["nvidia/mma/sglang/sglang"] = {{}, 0, 4, 500};
  model.sources["nvidia/*/sglang/sglang"] = {{}, 0, -1, 500};
  Context context;
  context.engine = Launcher::sglang, context.kernel_source = KernelSource::named("sglang");
  EXPECT_EQ(stand_in(model, context, *find_gpu("B300")).kernel_source.text(), "trtllm_mha");
  EXPECT_EQ(stand_in(model, context, *find_gpu("A100-SXM-80GB")).kernel_source.text(), "sglang");  // measured there
}
TEST(LikeliestSource, AKnownNameStays) {
  EXPECT_EQ(stands_for("B300", "sglang", "triton"), "triton");
  EXPECT_EQ(stands_for("H200-SXM", "sglang", "triton"), "triton");                         // seen elsewhere
  EXPECT_EQ(stands_for("H200-SXM", "pytorch", "flash_attention_2"), "flash_attention_2");  // plans know it
}
TEST(LikeliestSource, TheSameKernelUnderAnotherEnginesName) {
  EXPECT_EQ(stands_for("H200-SXM", "pytorch", "flash_attention_3"), "vllm_flash_attn_fa3");
}
TEST(LikeliestSource, NothingStandsInForAnEngineNobodyMeasured) {
  EXPECT_EQ(stands_for("B300", "lmdeploy", "turbomind"), "turbomind");
}

// An architecture that nobody measured is forecast by cards that feed their tensor pipe alike, else by all.
TEST(Kin, TheNearestForestThatThereIs) {
  FamilyModel model = taught();
  EXPECT_EQ(kin_key(*find_gpu("L40S")), kin_key(*find_gpu("RTX-PRO-6000-Blackwell-Server")));
  EXPECT_NE(kin_key(*find_gpu("L40S")), kin_key(*find_gpu("B200")));
  const auto forest = [&](const char* gpu) { return standing_of(model, {}, *find_gpu(gpu)).forest; };
  EXPECT_EQ(forest("L40S"), &model.general);
  const Forest& kin = model.siblings["*/mma"];
  EXPECT_EQ(forest("L40S"), &kin);
  EXPECT_EQ(standing_of(model, {}, *find_gpu("L40S")).card_index, Standing{}.card_index);
  EXPECT_EQ(forest("B200"), &model.general);
  const Forest& own = model.siblings["ada/mma"];
  EXPECT_EQ(forest("L40S"), &own);
  EXPECT_EQ(forest("A100-SXM-80GB"), &kin);
}

// Factors on a generation's own constants stay with it; where two were seen, what they share holds for a third.
TEST(AcrossGenerations, FactorsOfOneGenerationAreItsOwn) {
  FamilyModel model;
  Tuning tuning;
  tuning.log_factors.fill(0.5f);
  for (const char* name : {"nvidia", "nvidia/tcgen05", "nvidia/tcgen05/vllm"}) model.sources[name].tuning = tuning;
  const auto factors = [&](const char* gpu) { return standing_of(model, {}, *find_gpu(gpu)).tuning.log_factors; };
  EXPECT_EQ(factors("B200"), tuning.log_factors);
  EXPECT_EQ(factors("L40S")[Tuning::prologue], 0);
  EXPECT_EQ(factors("L40S")[Tuning::waiting], 0);
  EXPECT_EQ(factors("L40S")[Tuning::math], 0);
  EXPECT_EQ(factors("L40S")[Tuning::dram], 0.5f);
  model.sources["nvidia/wgmma"].tuning = tuning;
  EXPECT_EQ(factors("L40S"), tuning.log_factors);
}

}  // namespace
}  // namespace tilecast
