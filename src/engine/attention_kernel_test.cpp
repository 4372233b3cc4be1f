#include "engine/attention_kernel.h"

#include <gtest/gtest.h>

#include "engine/host.h"
#include "gpu/registry.h"
#include "kernel/attention.h"
#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

AttentionDecode decode(Count kv, Count window) {
  AttentionDecode a;
  a.batch = 4, a.kv_len = kv, a.heads = 32, a.kv_heads = 8, a.head_dim = 128, a.window = window;
  return a;
}
AttentionDecode as(EngineKind kind, EngineEra era, const AttentionDecode& a) {
  return attention_as(a, kind, era).as<AttentionDecode>();
}

TEST(AttentionKernel, TensorRtDropsAWindowThatDoesNotBind) {
  using enum EngineKind;
  EXPECT_EQ(as(trtllm, EngineEra::current, decode(4096, 4096)).window, 0);
  EXPECT_EQ(as(trtllm, EngineEra::current, decode(4097, 4096)).window, 4096);
  EXPECT_EQ(as(vllm, EngineEra::current, decode(1000, 4096)).window, 4096);
  EXPECT_EQ(as(vllm, EngineEra::year_2024, decode(1000, 4096)).window, 0);
  AttentionDecode ragged = decode(0, 4096);
  ragged.lens = {10, 5000};
  EXPECT_EQ(as(trtllm, EngineEra::current, ragged).window, 4096);
  AttentionPrefill prompt;
  prompt.batch = 1, prompt.q_len = 2048, prompt.heads = 32, prompt.head_dim = 128, prompt.window = 4096;
  EXPECT_EQ(attention_as(prompt, trtllm, EngineEra::current).as<AttentionPrefill>().window, 0);
}

TEST(AttentionKernel, PyTorchChoosesByTheCard) {
  using enum EngineKind;
  AttentionPrefill forward;
  const auto whose = [&](EngineEra era, AttentionForm form) {
    return attention_as(forward, pytorch, era, form).as<AttentionPrefill>().algorithm;
  };
  EXPECT_EQ(whose(EngineEra::current, AttentionForm::fused), AttentionAlgorithm::automatic);
  EXPECT_EQ(whose(EngineEra::year_2024, AttentionForm::fused), AttentionAlgorithm::automatic);
  EXPECT_EQ(whose(EngineEra::current, AttentionForm::cudnn), AttentionAlgorithm::cudnn);
  const auto on = [&](const char* gpu, Count dim) {
    forward.head_dim = dim;
    return attention_source_on(*find_gpu(gpu), forward, Launcher::pytorch, *format_from("bf16")).text();
  };
  EXPECT_EQ(on("H200-SXM", 72), "cudnn");
  EXPECT_EQ(on("H200-SXM", 256), "cudnn");
  EXPECT_EQ(on("B200", 128), "cudnn");
  EXPECT_EQ(on("B200", 256), "flash_attention_2");
  EXPECT_EQ(on("H200-SXM", 288), "efficient_attention");
  EXPECT_EQ(on("H200-SXM", 70), "flash_attention_2");
  EXPECT_EQ(on("A100-SXM-80GB", 128), "flash_attention_2");
  EXPECT_EQ(on("L40S", 64), "flash_attention_2");
  EXPECT_EQ(as(vllm, EngineEra::current, decode(100, 0)).algorithm, AttentionAlgorithm::automatic);
  EXPECT_EQ(as(vllm, EngineEra::year_2024, decode(100, 0)).algorithm, AttentionAlgorithm::fa2);
  const Shape backward = attention_as(AttentionBackward{forward}, cudagraph, EngineEra::current, AttentionForm::flash2);
  EXPECT_EQ(backward.as<AttentionBackward>().forward.algorithm, AttentionAlgorithm::fa2);
  EXPECT_EQ(attention_source(decode(100, 0), compile, EngineEra::current).text(), "");
  EXPECT_EQ(attention_source(decode(100, 0), compile, EngineEra::current, AttentionForm::flash2).text(),
            "flash_attention_2");
  EXPECT_EQ(attention_source(Gemm{1, 1, 1}, compile, EngineEra::current).text(), "");
}

TEST(AttentionKernel, PytorchsOnlyFusedKernelOfFullPrecisionIsTheEfficientOne) {
  const auto on = [](const char* gpu, const Shape& shape, Launcher engine) {
    return attention_source_on(*find_gpu(gpu), shape, engine, *format_from("fp32"));
  };
  EXPECT_EQ(on("A100-SXM-80GB", AttentionPrefill{}, Launcher::pytorch), KernelSource::efficient_attention);
  EXPECT_EQ(on("H200-SXM", AttentionBackward{}, Launcher::pytorch), KernelSource::efficient_attention);
  EXPECT_TRUE(on("MI300X", AttentionPrefill{}, Launcher::pytorch).empty());
  EXPECT_TRUE(on("A100-SXM-80GB", AttentionPrefill{}, Launcher::vllm).empty());
  EXPECT_TRUE(on("A100-SXM-80GB", Gemm{1, 1, 1}, Launcher::pytorch).empty());
}

TEST(AttentionKernel, NamesThatPeopleWriteMeanTheKernelTheySay) {
  const auto named = [](const char* name, Launcher engine, bool decode = false) {
    return attention_source_named(KernelSource::named(name), engine, decode);
  };
  for (const char* name : {"flash3", "fa3", "flash_attn_3", "FlashAttention-3", "flash_attention_3"}) {
    EXPECT_EQ(named(name, Launcher::pytorch), KernelSource::flash_attention_3) << name;
    EXPECT_EQ(named(name, Launcher::vllm), KernelSource::vllm_flash_attn_fa3) << name;
    EXPECT_EQ(named(name, Launcher::sglang), KernelSource::fa3) << name;
  }
  for (const char* name : {"efficient", "xformers", "mem_efficient", "efficient_attention"})
    EXPECT_EQ(named(name, Launcher::pytorch), KernelSource::efficient_attention) << name;
  EXPECT_EQ(named("fa2", Launcher::pytorch), KernelSource::flash_attention_2);
  EXPECT_EQ(named("trtllm", Launcher::vllm, true), KernelSource::vllm_flashinfer_decode);
  EXPECT_EQ(named("trtllm", Launcher::sglang), KernelSource::trtllm_mha);
  EXPECT_EQ(named("sglang", Launcher::sglang).text(), "sglang");
  EXPECT_EQ(named("turbomind", Launcher::pytorch).text(), "turbomind");
  EXPECT_EQ(named("trtllm", Launcher::trtllm).text(), "trtllm");
}

TEST(AttentionKernel, EnginesChooseByTheCard) {
  const auto on = [](const char* gpu, const char* engine) {
    return attention_source_on(*find_gpu(gpu), decode(100, 0), Launcher::named(engine), *format_from("bf16")).text();
  };
  EXPECT_EQ(on("H100-SXM", "vllm"), "vllm_flash_attn_fa3");
  EXPECT_EQ(on("L40S", "vllm"), "vllm_flash_attn_fa2");
  EXPECT_EQ(on("B200", "vllm"), "vllm_flashinfer_trtllmdecode");
  EXPECT_EQ(on("A40", "sglang"), "flashinfer");
  EXPECT_EQ(on("H20", "sglang"), "fa3");
  EXPECT_EQ(on("A100-SXM-80GB", "trtllm"), "torch_flow");
  EXPECT_EQ(on("A100-SXM-80GB", "pytorch"), "flash_attention_2");
  EXPECT_EQ(on("MI300X", "vllm"), "rocm_paged_attention");
  EXPECT_EQ(on("MI300X", "sglang"), "aiter_paged_attention");
  EXPECT_EQ(on("T4", "vllm"), "triton");
  EXPECT_EQ(on("MI355X", "sglang"), "aiter_paged_attention");
  EXPECT_EQ(on("MI250", "sglang"), "triton");  // which AITER is not built for
  EXPECT_EQ(attention_source_on(*find_gpu("MI210"), AttentionPrefill{}, Launcher::sglang, *format_from("bf16")),
            KernelSource::triton);
  EXPECT_EQ(attention_source_on(*find_gpu("MI300X"), AttentionPrefill{}, Launcher::vllm, *format_from("bf16")),
            KernelSource::rocm_triton_attention);
  EXPECT_EQ(attention_source(AttentionPrefill{}, EngineKind::pytorch, EngineEra::current, AttentionForm::aiter),
            KernelSource::aiter_flash_attention);
  EXPECT_EQ(attention_source_on(*find_gpu("H20"), Gemm{1, 1, 1}, Launcher::sglang, *format_from("bf16")).text(), "");
}

// Composer's Triton kernels: 1.6 times as long as FlashAttention 2, 2.15 times where products are asynchronous.
TEST(AttentionKernel, TritonOf2023IsSlowerOnHopper) {
  const auto both = [](const Shape& shape, EngineKind kind, EngineEra era) {
    return attention_longer(shape, kind, era) * attention_longer_on_hopper(shape, kind, era);
  };
  for (const Shape& shape : {Shape(AttentionPrefill{}), Shape(AttentionBackward{})}) {
    EXPECT_DOUBLE_EQ(attention_longer(shape, EngineKind::pytorch, EngineEra::year_2023), 1.6);
    EXPECT_DOUBLE_EQ(both(shape, EngineKind::pytorch, EngineEra::year_2023), 2.15);
    EXPECT_EQ(both(shape, EngineKind::pytorch, EngineEra::current), 1);
    EXPECT_EQ(both(shape, EngineKind::vllm, EngineEra::year_2023), 1);
  }
  EXPECT_EQ(both(Gemm{1, 1, 1}, EngineKind::pytorch, EngineEra::year_2023), 1);
}

TEST(HostCost, SchedulersOf2024WaitedBetweenSteps) {
  for (const EngineKind kind : {EngineKind::vllm, EngineKind::trtllm}) {
    EXPECT_EQ(host_cost(kind).per_sequence, seconds(0)) << name_of(kind);
    EXPECT_GT(host_cost(kind, EngineEra::year_2024).per_sequence, seconds(0)) << name_of(kind);
  }
  EXPECT_EQ(host_cost(EngineKind::pytorch, EngineEra::year_2024).per_launch, host_cost(EngineKind::pytorch).per_launch);
}

}  // namespace
}  // namespace tilecast
