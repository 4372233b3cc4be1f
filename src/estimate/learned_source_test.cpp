#include <gtest/gtest.h>

#include <cmath>

#include "constants/carry.h"
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
// Most measured copies may be strided; a copy of which nothing is said is a plain one.
TEST(LikeliestSource, NoNameMeansNoTensorsThatLieApart) {
  FamilyModel model;
  model.key = "copy/bf16";
  model.sources["nvidia/wgmma/pytorch/torch_strided"] = {{}, 0, 0, 900};
  model.sources["nvidia/wgmma/pytorch/torch_narrow"] = {{}, 0, 1, 400};
  model.sources["nvidia/wgmma/pytorch/torch"] = {{}, 0, 2, 30};
  Context context;
  context.engine = Launcher::pytorch;
  EXPECT_EQ(stand_in(model, context, *find_gpu("H200-SXM")).kernel_source.text(), "torch");
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

// A kernel that was measured on another generation alone is itself there too, not a mixture of all kernels.
TEST(AcrossGenerations, AKernelIsForecastByItsOwnRowsElsewhere) {
  FamilyModel model;
  const auto add = [&](const char* name, float factor, float index, Count rows) {
    model.sources[name].tuning.log_factors.fill(factor);
    model.sources[name].index = index, model.sources[name].rows = rows;
  };
  add("nvidia", 0.4f, -1, 300);
  add("nvidia/wgmma", 0.4f, -1, 300);
  add("nvidia/wgmma/pytorch/eager", 0.7f, 0, 200);
  add("nvidia/wgmma/pytorch/triton_fused", 0.1f, 1, 100);
  add("nvidia/*/pytorch/triton_fused", 0, -1, 100);
  Context context;
  context.engine = Launcher::pytorch, context.kernel_source = KernelSource::named("triton_fused");
  const auto dram = [&] { return standing_of(model, context, *find_gpu("L40S")).tuning.log_factors[Tuning::dram]; };
  EXPECT_FLOAT_EQ(dram(), 0.1f);
  EXPECT_EQ(standing_of(model, context, *find_gpu("L40S")).tuning.log_factors[Tuning::math], 0);
  context.kernel_source = KernelSource::named("unheard_of");
  EXPECT_FLOAT_EQ(dram(), 0.4f);
  add("nvidia/mma", 0.2f, -1, 50);  // rows of its own generation say more
  context.kernel_source = KernelSource::named("triton_fused");
  EXPECT_FLOAT_EQ(dram(), 0.2f);
}

// What was learned of one chip holds on the same chip with other memory, and in part on others of its architecture.
TEST(Carried, UnseenCardsKeepAShareByLikeness) {
  FamilyModel model;
  model.seen["P100-PCIe"] = model.seen["H100-SXM"] = 100;
  const auto share = [&](const char* gpu) { return standing_of(model, {}, *find_gpu(gpu)).share; };
  EXPECT_EQ(share("P4"), 1) << "files of earlier versions carry all";
  model.carry["nvidia"] = {0.9f, 0.25f};
  EXPECT_EQ(share("P100-PCIe"), 1) << "seen";
  EXPECT_NEAR(share("H200-SXM"), 0.9, 0.05);
  EXPECT_NEAR(share("P4"), 0.25, 0.01) << "another chip";
  EXPECT_FLOAT_EQ(share("T4"), 0.25f) << "another architecture";
  EXPECT_EQ(share("MI300X"), 1) << "another vendor";
}

TEST(Carried, BetweenThePhysicsAndWhatWasLearned) {
  FamilyModel model;
  model.key = "gemm/bf16";
  model.sources["nvidia"].tuning.log_factors.fill(0.1f);
  model.sources["nvidia/mma"] = model.sources["nvidia"];
  model.general = model.ceiling = Forest::constant(kFeatureCount, 0.1f);
  model.unseen_spread = model.sibling_spread =
      model.seen_spread = {Forest::constant(kFeatureCount, -0.1f), Forest::constant(kFeatureCount, 0.1f)};
  model.seen["A100-SXM-80GB"] = 100;
  const Gpu& card = *built_in_gpu("L40S");
  const Kernel kernel{Gemm{4096, 4096, 4096}, *format_from("bf16")};
  const auto planned = plan(kernel, card, {});
  const LearnedInput input = learned_input(kernel, *planned, estimate(*planned, card, {}, Method::analytic), card, {});
  const auto time = [&](float far) {
    model.carry["nvidia"] = {1, far};
    const Standing standing = standing_of(model, {}, card);
    std::array<Seconds, 1> batch;
    learned_times(std::span(&input, 1), standing, batch);
    const LearnedTime t = learned_time(model, input, standing);
    EXPECT_DOUBLE_EQ(in_seconds(batch[0]), in_seconds(t.median));
    EXPECT_LE(t.ceiling, t.median);
    return in_seconds(t.median);
  };
  EXPECT_NEAR(time(0) / in_seconds(untuned_time(input)), 1, 1e-5);
  EXPECT_NEAR(time(0.5f), std::sqrt(time(0) * time(1)), 1e-5 * time(1));
  EXPECT_GT(time(1), 1.15 * time(0));
  model.general = Forest::constant(kFeatureCount, 1.0f);
  EXPECT_NEAR(time(0) / time(1), std::exp(-constants::kMostGivenBack), 1e-5) << "no farther from what was learned";
}

}  // namespace
}  // namespace tilecast
