#include "engine/torch_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/attention_prefill.h"

namespace tilecast {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

AttentionForm on(const char* gpu, const char* format, TorchRelease release = {}, Count dim = 128, Count v_dim = 0) {
  AttentionPrefill a;
  a.batch = 1, a.q_len = 128, a.heads = 8, a.head_dim = dim, a.v_head_dim = v_dim;
  return torch_attention(*find_gpu(gpu), a, *format_from(format), release);
}

// FlashAttention 2 is written for Ampere and 16 bits; what is left is the memory-efficient kernel, which has no bf16
// before Ampere.
TEST(TorchAttention, BeforeAmpereAndInFp32TheEfficientKernelRuns) {
  for (const char* gpu : {"T4", "V100-SXM", "P4", "P100-SXM"}) {
    EXPECT_EQ(on(gpu, "fp16"), AttentionForm::xformers) << gpu;
    EXPECT_EQ(on(gpu, "fp32"), AttentionForm::xformers) << gpu;
    EXPECT_EQ(on(gpu, "bf16"), AttentionForm::math) << gpu;
  }
  for (const char* gpu : {"A100-SXM-80GB", "L40S", "H200-SXM", "B200", "RTX-5090"})
    EXPECT_EQ(on(gpu, "fp32"), AttentionForm::xformers) << gpu;
  EXPECT_EQ(on("L40S", "bf16"), AttentionForm::flash2);
  EXPECT_EQ(on("MI300X", "bf16"), AttentionForm::flash2);
}

TEST(TorchAttention, WideAndUnequalHeadsLeaveFlashAttention) {
  EXPECT_EQ(on("A100-SXM-80GB", "bf16", {}, 256), AttentionForm::flash2);
  EXPECT_EQ(on("A100-SXM-80GB", "bf16", {}, 264), AttentionForm::xformers);
  EXPECT_EQ(on("A100-SXM-80GB", "bf16", {}, 192, 128), AttentionForm::xformers);
  EXPECT_EQ(on("A100-SXM-80GB", "bf16", {}, 260), AttentionForm::math);  // not whole vectors of eight
  EXPECT_EQ(on("H200-SXM", "bf16", {}, 192, 128), AttentionForm::cudnn);
  EXPECT_EQ(on("B200", "bf16", {}, 192, 128), AttentionForm::cudnn);
  EXPECT_EQ(on("B200", "bf16", {}, 192), AttentionForm::flash2);
}

TEST(TorchAttention, ReleasesOrderCudnnAndFlash) {
  const auto release = [](const char* text) { return *torch_from(text); };
  for (const char* cudnn : {"2.5", "2.5.0", "2.9", "2.9.1", "2.11", "2.14.1"})
    EXPECT_EQ(on("H100-SXM", "bf16", release(cudnn)), AttentionForm::cudnn) << cudnn;
  for (const char* flash : {"2.0", "2.4.1", "2.5.1", "2.6", "2.8", "2.10"})
    EXPECT_EQ(on("H100-SXM", "bf16", release(flash)), AttentionForm::flash2) << flash;
  EXPECT_EQ(on("A100-SXM-80GB", "bf16", release("2.5.0")), AttentionForm::flash2);
  EXPECT_EQ(on("H100-SXM", "bf16", release("2.5.0"), 256), AttentionForm::flash2);  // cuDNN 9.1: up to 128
  EXPECT_EQ(on("B300", "bf16", release("2.9")), AttentionForm::flash2);             // 10.3 came with 2.10
  EXPECT_EQ(on("B300", "bf16", release("2.11")), AttentionForm::cudnn);
  EXPECT_EQ(torch_of(EngineEra::current), TorchRelease{});
  EXPECT_EQ(on("H100-SXM", "bf16", torch_of(EngineEra::year_2024)), AttentionForm::flash2);
  for (const char* wrong : {"", "2", "2.", "2.x", "1.13", "2.5.0.1", "2.5.0+cu124", "2.-1"})
    EXPECT_FALSE(torch_from(wrong).ok()) << wrong;
}

TEST(TorchAttention, KernelsThatACardLacksAreRefusedWithWhatItHas) {
  const auto line = [](AttentionForm form, const char* gpu, const char* format = "fp16") {
    const Status s = check_attention(form, *find_gpu(gpu), *format_from(format));
    return s ? std::string("fine") : s.error().line();
  };
  EXPECT_THAT(line(AttentionForm::flash2, "T4"),
              AllOf(StartsWith("attention: FlashAttention 2 needs Ampere or later"), HasSubstr("xformers")));
  EXPECT_THAT(line(AttentionForm::cudnn, "T4"), AllOf(HasSubstr("T4"), HasSubstr("xformers")));
  EXPECT_THAT(line(AttentionForm::flash2, "A100-SXM-80GB", "fp32"), HasSubstr("16 bits"));
  EXPECT_THAT(line(AttentionForm::flash3, "A100-SXM-80GB"), HasSubstr("flash2"));
  EXPECT_THAT(line(AttentionForm::flash4, "H100-SXM"), HasSubstr("Blackwell"));
  EXPECT_THAT(line(AttentionForm::cudnn, "MI300X"), HasSubstr("NVIDIA"));
  EXPECT_THAT(line(AttentionForm::aiter, "MI210"), HasSubstr("CDNA3"));
  EXPECT_THAT(line(AttentionForm::ck, "A100-SXM-80GB"), HasSubstr("AMD"));
  EXPECT_THAT(line(AttentionForm::xformers, "V100-SXM", "bf16"), HasSubstr("fp16"));
  EXPECT_EQ(line(AttentionForm::xformers, "P4"), "fine");
  EXPECT_EQ(line(AttentionForm::cudnn, "A100-SXM-80GB"), "fine");
}

}  // namespace
}  // namespace tilecast
