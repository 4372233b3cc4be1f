#include "engine/path.h"

#include <gmock/gmock.h>

#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/scan.h"
#include "model/library.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

Precision of(const std::string& model, std::string_view dtype = {}) { return *precision_of(*find_model(model), dtype); }

TEST(Precision, ACheckpointsPartsAreItsOwn) {
  const Precision oss = of("gpt-oss-120b");
  EXPECT_EQ(oss.experts.name, "mxfp4");
  for (const Format* f : {&oss.linear, &oss.projections, &oss.head, &oss.attention}) EXPECT_EQ(f->name, "bf16");
  EXPECT_EQ(text_of(oss), "bf16, experts mxfp4");
  const Precision kimi = of("Kimi-K2-Thinking");
  EXPECT_DOUBLE_EQ(kimi.experts.weight_bits, 4.5);  // a scale of 16 bits for 32 weights
  EXPECT_EQ(kimi.shared.name, "bf16");
  EXPECT_EQ(of("DeepSeek-V3").projections.name, "fp8_block");
  EXPECT_EQ(of("DeepSeek-V3").head.name, "bf16");
}

TEST(Precision, PartsAreSaidOneByOne) {
  const Precision p = *precision_from("fp8,experts=nvfp4,head=fp8");
  EXPECT_EQ(p.linear.name, "fp8");
  EXPECT_EQ(p.experts.name, "nvfp4");
  EXPECT_EQ(p.head.name, "fp8");
  EXPECT_EQ(p.activation.name, "bf16");
  // A list that begins with a part changes the checkpoint there.
  const Precision oss = of("gpt-oss-120b", "attention=fp8");
  EXPECT_EQ(oss.projections.name, "fp8");
  EXPECT_EQ(oss.experts.name, "mxfp4");
  EXPECT_EQ(of("gpt-oss-120b", "fp8").projections.name, "fp8");
  for (const char* wrong : {"fp7", "fp8,heads=bf16", "experts=fp7", "experts=bf16,fp8", "experts="})
    EXPECT_EQ(precision_from(wrong).error().field, "dtype") << wrong;
}

TEST(Path, VllmsScansAreFusedWhereFlashInferIs) {
  const auto fused = [](const char* gpu, Launcher engine, ScanKind kind) {
    Scan s;
    s.kind = kind;
    return scan_that_runs(*find_gpu(gpu), engine, s).as<Scan>().fused;
  };
  for (const ScanKind kind : {ScanKind::chunk_gated_delta, ScanKind::chunk_kda}) {
    EXPECT_TRUE(fused("H200-SXM", Launcher::vllm, kind));
    EXPECT_TRUE(fused("B200", Launcher::vllm, kind));
    EXPECT_FALSE(fused("L40S", Launcher::vllm, kind));
    EXPECT_FALSE(fused("H200-SXM", Launcher::sglang, kind));
  }
  EXPECT_FALSE(fused("H200-SXM", Launcher::vllm, ScanKind::ssd_chunk));
}

TEST(Path, Mxfp4ByCard) {
  const Kernel experts{Moe{}, *format_from("mxfp4")};
  const auto on = [&](const char* gpu, Launcher engine) { return path_on(*find_gpu(gpu), experts, engine); };
  for (const Launcher engine : {Launcher::vllm, Launcher::sglang, Launcher::trtllm}) {
    EXPECT_EQ(on("B200", engine).format.name, "w4a8_mxfp4_mxfp8");
    EXPECT_EQ(on("H200-SXM", engine).format.name, "w4a16_mxfp4");
    EXPECT_TRUE(on("H200-SXM", engine).kernel_source.says(KernelSource::Word::triton));
    EXPECT_EQ(on("L40S", engine).format.name, "w4a16_mxfp4");
    EXPECT_TRUE(runs_on(*find_gpu("A100-SXM-80GB"), of("gpt-oss-120b"), true, EngineKind::vllm));
  }
  EXPECT_EQ(on("B200", Launcher::pytorch).format.name, "w4a16_mxfp4");
}

TEST(Path, NobodyServesWithTheSlowOne) {
  const auto path = [](const char* gpu, const char* format, Launcher engine) {
    return path_on(*find_gpu(gpu), Kernel{Moe{}, *format_from(format)}, engine);
  };
  EXPECT_EQ(path("H100-SXM", "fp8", Launcher::vllm).format.name, "fp8_block");
  EXPECT_EQ(path("H100-SXM", "fp8", Launcher::sglang).format.name, "fp8");
  EXPECT_EQ(path("B200", "fp8", Launcher::vllm).format.name, "fp8");
  EXPECT_EQ(path("B200", "nvfp4", Launcher::trtllm).kernel_source, KernelSource::moe_torch_flow_min_latency);
  EXPECT_EQ(path("H100-SXM", "nvfp4", Launcher::vllm).format.name, "w4a16_mxfp4");
  EXPECT_EQ(path("H100-SXM", "bf16", Launcher::vllm).format.name, "bf16");
  // Dense products that a server tunes as it starts, and the collector did not.
  const auto product = [](const char* gpu, const char* format) {
    return path_on(*find_gpu(gpu), Kernel{Gemm{}, *format_from(format)}, Launcher::trtllm).engine;
  };
  EXPECT_EQ(product("B200", "nvfp4"), Launcher::vllm);
  EXPECT_EQ(product("B200", "fp8"), Launcher::trtllm);
  EXPECT_EQ(product("RTX-PRO-6000-Blackwell-Server", "nvfp4"), Launcher::trtllm);
}

TEST(Path, NotesSayWhatRunsAndWhatIsFaster) {
  const auto notes = path_notes(of("gpt-oss-120b"), true, *find_gpu("B200"), EngineKind::vllm);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("mxfp4 is priced as w4a8_mxfp4_mxfp8 on B200"));
  EXPECT_TRUE(path_notes(of("Llama-3.1-8B"), false, *find_gpu("B200"), EngineKind::vllm).empty());
  const Precision fp8 = *precision_from("fp8"), block = *precision_from("fp8_block"), bf16 = *precision_from("bf16");
  EXPECT_EQ(slower_than_wider({fp8, milliseconds(10)}, {{bf16, milliseconds(12)}, {block, milliseconds(9)}}), "");
  EXPECT_EQ(slower_than_wider({fp8, milliseconds(44.9)}, {{bf16, milliseconds(26)}, {block, milliseconds(17.2)}}),
            "fp8 is forecast slower than bf16: 44.9 against 26 ms; fp8_block is fastest, 17.2 ms");
  EXPECT_EQ(slower_than_wider({fp8, milliseconds(44.9)}, {{bf16, milliseconds(26), {"A=0", "B=1"}}}),
            "fp8 is forecast slower than bf16 with A=0, B=1: 44.9 against 26 ms");
  EXPECT_TRUE(wider_formats(bf16, false, *find_gpu("H100-SXM"), EngineKind::vllm).empty());
  EXPECT_EQ(wider_formats(fp8, false, *find_gpu("A100-SXM-80GB"), EngineKind::trtllm).size(), 1u);  // bf16 alone
}

// Marlin's kernels unpack them; TensorRT-LLM has none, and no engine has any before Turing.
TEST(Path, Fp8IsReadAsWeightsAloneWhereTheCardHasNoSuchProducts) {
  const auto fp8 = [](std::string_view format, Shape shape) { return Kernel{std::move(shape), *format_from(format)}; };
  const Gpu a100 = *find_gpu("A100-SXM-80GB");
  for (const std::string_view format : {"fp8", "fp8_static", "fp8_block"})
    for (const Launcher engine : {Launcher::vllm, Launcher::sglang})
      for (const Shape& shape : {Shape(Gemm{}), Shape(Moe{})}) {
        const Format runs_as = path_on(a100, fp8(format, shape), engine).format;
        EXPECT_EQ(runs_as.name, "int8_wo") << format;
        EXPECT_DOUBLE_EQ(runs_as.weight_bits, format_from(format)->weight_bits);
      }
  const Precision all = *precision_from("fp8");
  EXPECT_TRUE(runs_on(a100, all, true, EngineKind::vllm));
  EXPECT_TRUE(runs_on(*find_gpu("T4"), all, false, EngineKind::vllm));
  EXPECT_FALSE(runs_on(a100, all, false, EngineKind::trtllm));
  EXPECT_FALSE(runs_on(*find_gpu("V100-SXM"), all, false, EngineKind::vllm));
  EXPECT_EQ(path_on(*find_gpu("L40S"), fp8("fp8", Gemm{}), Launcher::vllm).format.name, "fp8");
  EXPECT_THAT(path_notes(all, false, a100, EngineKind::vllm),
              testing::ElementsAre(HasSubstr("fp8 is priced as int8_wo on A100-SXM-80GB")));
}

TEST(Path, FourBitFloatsNeedACardOfTuringOrLater) {
  const Precision four = *precision_from("nvfp4"), mx = *precision_from("mxfp4");
  for (const Precision& p : {four, mx}) {
    EXPECT_FALSE(runs_on(*find_gpu("V100-SXM"), p, true, EngineKind::vllm));
    EXPECT_TRUE(runs_on(*find_gpu("T4"), p, true, EngineKind::vllm));
    EXPECT_TRUE(runs_on(*find_gpu("A10"), p, true, EngineKind::vllm));
  }
  EXPECT_THAT(path_notes(four, false, *find_gpu("T4"), EngineKind::vllm), testing::ElementsAre(HasSubstr("Turing")));
}

TEST(Path, CardsWithoutBf16AreToldApart) {
  EXPECT_THAT(emulated_note(of("Llama-3.1-8B"), *find_gpu("T4")), HasSubstr("T4 has no tensor cores for bf16"));
  EXPECT_EQ(emulated_note(of("Llama-3.1-8B", "fp16"), *find_gpu("T4")), "");
  EXPECT_EQ(emulated_note(of("Llama-3.1-8B"), *find_gpu("A10")), "");
  EXPECT_EQ(emulated_note(of("Llama-3.1-8B"), *find_gpu("P100-PCIe")), "");  // nor for fp16
}

TEST(Path, ExpertsOfBlocksHaveWholeOnesOnEveryRank) {
  // Qwen3-235B-A22B-FP8's experts are 1,536 wide: 192 on eight ranks, 384 on four.
  const auto over = [](const char* model, Count tp, EngineKind engine) {
    ModelSpec rank = *find_model(model);
    for (LayerRun& run : rank.decoder->layers)
      if (auto* moe = std::get_if<MoeSpec>(&run.layer.feed_forward)) moe->tp = tp;
    return refused_blocks(rank, of(model), engine);
  };
  EXPECT_THAT(over("Qwen3-235B-A22B-FP8", 8, EngineKind::vllm), HasSubstr("1536 over 8 ranks is 192"));
  EXPECT_THAT(over("Qwen3-235B-A22B-FP8", 8, EngineKind::sglang), HasSubstr("sglang refuses it"));
  EXPECT_EQ(over("Qwen3-235B-A22B-FP8", 4, EngineKind::vllm), "");
  EXPECT_EQ(over("Qwen3-235B-A22B", 8, EngineKind::vllm), "");  // bf16 has no blocks
  EXPECT_EQ(over("DeepSeek-V3", 8, EngineKind::vllm), "");      // 2,048 over eight are two
}

TEST(Path, SaysWhatTheEngineHasToBeTold) {
  const Gpu b200 = *find_gpu("B200"), h200 = *find_gpu("H200-SXM");
  const std::vector<std::string> none, mxfp8 = {"VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1"};
  EXPECT_EQ(path_flags(of("gpt-oss-120b"), true, b200, EngineKind::vllm), mxfp8);
  EXPECT_EQ(path_flags(of("gpt-oss-120b"), true, b200, EngineKind::sglang), none);
  EXPECT_EQ(path_flags(of("gpt-oss-120b"), true, h200, EngineKind::vllm), none);
  EXPECT_EQ(path_flags(of("Llama-3.1-8B"), false, b200, EngineKind::vllm), none);
  const std::vector<std::string> own = {"moe_config.backend: TRTLLM"};
  EXPECT_EQ(path_flags(*precision_from("bf16,experts=nvfp4"), true, b200, EngineKind::trtllm), own);
  EXPECT_EQ(path_flags(of("DeepSeek-V3"), true, b200, EngineKind::trtllm), own);
  EXPECT_EQ(path_flags(of("DeepSeek-V3"), true, h200, EngineKind::trtllm), none);
  EXPECT_EQ(path_flags(of("gpt-oss-120b"), true, b200, EngineKind::trtllm), own);
  const std::vector<std::string> triton = {"moe_config.backend: TRITON"};
  EXPECT_EQ(path_flags(of("gpt-oss-120b"), true, h200, EngineKind::trtllm), triton);
}

}  // namespace
}  // namespace tilecast
