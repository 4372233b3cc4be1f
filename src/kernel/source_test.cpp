#include "kernel/source.h"

#include <gtest/gtest.h>

#include "kernel/attention_sources.h"
#include "kernel/torch_walk.h"

namespace tilecast {
namespace {

using Word = KernelSource::Word;

TEST(Launcher, NamesAndEnumeratorsAreTheSame) {
  for (const Launcher::Known known :
       {Launcher::vllm, Launcher::sglang, Launcher::trtllm, Launcher::pytorch, Launcher::aiter})
    EXPECT_EQ(Launcher::named(Launcher(known).text()), known);
  EXPECT_TRUE(Launcher().empty());
  EXPECT_EQ(Launcher::named(""), Launcher());
  EXPECT_EQ(Launcher(Launcher::other), Launcher::nobody);  // a name is what makes an unknown one
}

TEST(Launcher, OthersKeepTheirNames) {
  const Launcher lmdeploy = Launcher::named("lmdeploy");
  EXPECT_EQ(lmdeploy, Launcher::other);
  EXPECT_FALSE(lmdeploy.empty());
  EXPECT_EQ(lmdeploy.text(), "lmdeploy");
  EXPECT_NE(lmdeploy, Launcher::named("vidur"));
  EXPECT_EQ(Launcher::named("VLLM"), Launcher::other);  // tables write them small
  EXPECT_TRUE(Launcher::named("pytorch_2.9").of_pytorch());
  EXPECT_TRUE(Launcher(Launcher::pytorch).of_pytorch());
  EXPECT_FALSE(lmdeploy.of_pytorch());
}

TEST(KernelSource, EveryEnumeratorHasItsOwnName) {
  for (int i = 0; i < KernelSource::other; ++i) {
    const KernelSource source = static_cast<KernelSource::Known>(i);
    EXPECT_EQ(source.text().empty(), i == KernelSource::unsaid);
    EXPECT_EQ(KernelSource::named(source.text()), source) << source.text();
    EXPECT_EQ(KernelSource::named(source.text()).known(), i) << source.text();
  }
}

TEST(KernelSource, AnyNameIsASource) {
  const KernelSource source = KernelSource::named("a_kernel_of_tomorrow_triton");
  EXPECT_EQ(source, KernelSource::other);
  EXPECT_EQ(source.text(), "a_kernel_of_tomorrow_triton");
  EXPECT_TRUE(source.says(Word::triton));
  EXPECT_FALSE(source.says(Word::fa3));
  EXPECT_NE(source, KernelSource::named("another"));
  EXPECT_TRUE(KernelSource().empty());
  EXPECT_EQ(KernelSource(KernelSource::other), KernelSource::unsaid);
}

TEST(KernelSource, WordsAreReadOffTheName) {
  const KernelSource cutlass = KernelSource::named("vllm_flashinfer_cutlass_fp8");
  EXPECT_TRUE(cutlass.says(Word::flashinfer) && cutlass.says(Word::cutlass) && cutlass.says(Word::flashinfer_cutlass));
  EXPECT_FALSE(cutlass.says(Word::flashinfer_trtllm) || cutlass.says(Word::trtllm));
  EXPECT_TRUE(KernelSource::named("batched_gemm").says(Word::batched));
  EXPECT_FALSE(KernelSource::named("gemm_batched").says(Word::batched));  // at the start alone
  EXPECT_TRUE(KernelSource(KernelSource::flash_attention_3).says(Word::kin_of_fa3));
  EXPECT_TRUE(KernelSource(KernelSource::vllm_flash_attn_fa3).says(Word::kin_of_fa3));
  EXPECT_TRUE(KernelSource::named("flex_attention").says(Word::kin_of_triton));
  EXPECT_FALSE(KernelSource::named("flex_attention").says(Word::triton));
  EXPECT_TRUE(KernelSource(KernelSource::moe_torch_flow_min_latency).says(Word::min_latency));
}

TEST(KernelSource, RenamedKernelsAreKeptUnderOneName) {
  EXPECT_EQ(kept_as(KernelSource::vllm_flash_attn), KernelSource::vllm_flash_attn_fa2);
  EXPECT_EQ(kept_as(KernelSource::flash_attention), KernelSource::fa3);
  EXPECT_EQ(kept_as(KernelSource::named("some")).text(), "some");
}

TEST(KernelSource, WalksAreSources) {
  for (int i = 0; i <= static_cast<int>(TorchWalk::index); ++i) {
    Context context;
    context.kernel_source = source_of(static_cast<TorchWalk>(i));
    EXPECT_EQ(torch_walk(context), static_cast<TorchWalk>(i));
  }
  EXPECT_EQ(source_of(TorchWalk::strided_widen).text(), "torch_strided_widen");
}

}  // namespace
}  // namespace tilecast
