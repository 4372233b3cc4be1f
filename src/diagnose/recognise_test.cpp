#include "diagnose/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "diagnose/result_dims.h"
#include "kernel/elementwise.h"
#include "support/csv.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using F = WorkFamily;

WorkKind kernel(std::string name) {
  WorkKind kind;
  kind.name = std::move(name);
  return kind;
}
OperatorCall call(std::string name, std::vector<std::vector<Count>> dims, std::string type = "c10::BFloat16") {
  OperatorCall op;
  op.name = std::move(name);
  op.types.assign(dims.size(), type);
  op.dims = std::move(dims);
  return op;
}

// Names as the libraries' sources spell them; those an H200 showed are checked in whole below.
TEST(Recognise, KnowsTheLibrariesByName) {
  const std::vector<std::tuple<std::string, F, std::string>> cases = {
      {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_tensor16x8x16_kernel", F::gemm,
       "cuBLAS"},
      {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_tn", F::gemm, "cuBLAS"},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8>(...)", F::gemm,
       "CUTLASS"},
      {"Cijk_Alik_Bljk_BBS_BH_MT128x128x64_MI16x16x16x1_SN", F::gemm, "hipBLASLt"},
      {"void marlin::Marlin<__nv_bfloat16, 1, 8, 8, 4>(...)", F::gemm, "Marlin"},
      {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u>(...)", F::gemm, "DeepGEMM"},
      {"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(...)", F::attention,
       "FlashAttention"},
      {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<...>>>(...)", F::attention,
       "FlashAttention 3"},
      {"triton_poi_fused__scaled_dot_product_flash_attention__to_copy_2", F::fused, "Triton"},
      {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<...>(...)", F::attention, "FlashInfer"},
      {"void vllm::paged_attention_v2_kernel<__nv_bfloat16, ...>(...)", F::attention, "vLLM"},
      {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<...>::Params)", F::attention,
       "CUTLASS"},
      {"fused_moe_kernel", F::moe, "Triton"},
      {"void vllm::moe::topkGatingSoftmax<8, 128, 4, 16>(...)", F::moe, "vLLM"},
      {"void vllm::rms_norm_kernel<c10::BFloat16>(...)", F::norm, "vLLM"},
      {"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(...)", F::norm, "vLLM"},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(...)", F::rope, "vLLM"},
      {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(...)", F::cache, "vLLM"},
      {"void vllm::act_and_mul_kernel<c10::BFloat16, &(...silu_kernel...), true>(...)", F::pointwise, "vLLM"},
      {"void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>(...)", F::quantize, "vLLM"},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)", F::collective, "vLLM"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", F::collective, "NCCL"},
      {"triton_poi_fused_add_mul_silu_3", F::fused, "Triton"},
      {"triton_tem_fused_mm_12", F::gemm, "Triton"},
      {"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32", F::convolution, "cuDNN"},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(...)", F::softmax, "PyTorch"},
      {"void at::<unnamed>::cunn_SoftMaxForward<8, c10::BFloat16>(T4 *)", F::softmax, "PyTorch"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(...)", F::fill, "PyTorch"},
      {"void selective_scan_fwd_kernel<...>(...)", F::scan, "Mamba"},
  };
  for (const auto& [name, family, library] : cases) {
    const Recognised found = recognise(kernel(name), nullptr);
    EXPECT_EQ(name_of(found.family), name_of(family)) << name;
    EXPECT_EQ(found.library, library) << name;
  }
  EXPECT_EQ(recognise(kernel("my_own_kernel"), nullptr).family, F::unknown);
  const OperatorCall mm = call("aten::mm", {{8, 8}, {8, 8}});
  const Recognised by_op = recognise(kernel("my_own_kernel"), &mm);
  EXPECT_EQ(by_op.family, F::gemm);
  EXPECT_TRUE(by_op.by_operator);
  const OperatorCall other = call("aten::_fft_c2c", {{8, 8}});
  EXPECT_EQ(recognise(kernel("my_own_kernel"), &other).family, F::unknown);
}

std::string measurements(const char* file) { return std::string(TILECAST_SOURCE_DIR "/data/measurements/") + file; }

// Every kernel that the H200 ran for a family of the sweep belongs to it, or is one of the helpers named here.
TEST(Recognise, AgreesWithTheFamiliesOfTheSweep) {
  const std::map<std::string, std::vector<F>> allowed = {
      {"gemm", {F::gemm, F::fill}},
      {"bmm", {F::gemm, F::fill}},
      {"attention_decode", {F::attention}},
      {"attention_prefill", {F::attention, F::fill, F::reduction}},  // sums of grouped heads
      {"copy", {F::transfer, F::layout}},
      {"transpose", {F::layout}},
      {"cross_entropy", {F::loss, F::softmax, F::fill}},
      {"elementwise", {F::pointwise}},
      {"embedding", {F::gather, F::sort, F::fill, F::pointwise}},
      {"gated_activation", {F::pointwise}},
      {"layernorm", {F::norm}},
      {"rmsnorm", {F::norm}},
      {"optimizer", {F::optimizer, F::pointwise}},
      {"reduction", {F::reduction, F::fill}},
      {"rope", {F::rope}},
      {"softmax", {F::softmax, F::pointwise}},
  };
  auto table = CsvReader::open(measurements("h200_kernels.csv.gz"));
  ASSERT_TRUE(table) << table.error().line();
  const std::size_t family = *table->column("family"), name = *table->column("kernel");
  Count rows = 0, wrong = 0;
  while (*table->next()) {
    const auto known = allowed.find(std::string((*table)[family]));
    if (known == allowed.end()) continue;
    ++rows;
    const F found = recognise(kernel(std::string((*table)[name])), nullptr).family;
    if (std::find(known->second.begin(), known->second.end(), found) != known->second.end()) continue;
    if (wrong++ < 5) ADD_FAILURE() << known->first << " as " << name_of(found) << ": " << (*table)[name];
  }
  EXPECT_GT(rows, 15000);
  EXPECT_EQ(wrong, 0);
}

TEST(Recognise, KnowsEveryKernelOfTheMeasuredModels) {
  auto table = CsvReader::open(measurements("h200_models_kernels.csv.gz"));
  ASSERT_TRUE(table) << table.error().line();
  const std::size_t name = *table->column("kernel"), time = *table->column("total_us");
  double all = 0, known = 0;
  while (*table->next()) {
    const double t = to_double((*table)[time]).value_or(0);
    all += t;
    if (recognise(kernel(std::string((*table)[name])), nullptr).family != F::unknown) known += t;
  }
  EXPECT_GT(all, 1e6);
  EXPECT_GT(known / all, 0.999);
}

std::string shape_text(const OperatorCall& op, std::string_view kernel_name = "") {
  const auto shape = shape_of_operator(op, kernel_name);
  if (!shape) return "none";
  return std::string(family_of(shape->shape.kernel.shape)) + " " + std::string(shape->shape.kernel.format.name) + " " +
         dims_text(shape->shape.kernel.shape);
}

TEST(Shapes, ComeFromOperatorDims) {
  EXPECT_EQ(shape_text(call("aten::mm", {{512, 4096}, {4096, 6144}})), "gemm bf16 m=512;n=6144;k=4096");
  EXPECT_EQ(shape_text(call("aten::addmm", {{6144}, {512, 4096}, {4096, 6144}}, "c10::Half")),
            "gemm fp16 m=512;n=6144;k=4096");
  EXPECT_EQ(shape_text(call("aten::bmm", {{8, 16, 64}, {8, 64, 32}})), "bmm bf16 batch=8;m=16;n=32;k=64");
  EXPECT_EQ(shape_text(call("aten::mm", {{512, 4096}, {512, 6144}})), "none");
  EXPECT_EQ(shape_text(call("aten::mm", {{64, 64}, {64, 64}}, "float"), "sm80_xmma_gemm_f32f32_f32f32_f32_tn"),
            "gemm fp32 m=64;n=64;k=64");
  EXPECT_EQ(shape_text(call("aten::mm", {{64, 64}, {64, 64}}, "float"), "sm90_xmma_gemm_f32f32_tf32f32_f32_tn"),
            "gemm tf32 m=64;n=64;k=64");
  EXPECT_EQ(shape_text(call("aten::native_layer_norm", {{4, 512, 1024}, {}, {1024}, {1024}})),
            "layernorm bf16 rows=2048;cols=1024");
  EXPECT_EQ(shape_text(call("aten::_softmax", {{2, 12, 128, 128}, {}, {}}, "float")),
            "softmax fp32 rows=3072;cols=128");
  EXPECT_EQ(shape_text(call("aten::add", {{4, 1024}, {4, 1024}, {}})), "elementwise bf16 elements=4096;inputs=2");
  EXPECT_EQ(shape_text(call("aten::mul", {{64, 1024}, {1024}})), "elementwise bf16 elements=65536;op=mul");
  EXPECT_EQ(shape_text(call("aten::copy_", {{4, 1024}, {4, 1024}, {}})), "copy bf16 elements=4096");
  EXPECT_EQ(shape_text(call("aten::index_select", {{32000, 4096}, {}, {17}})),
            "embedding bf16 tokens=17;vocab=32000;cols=4096");
  EXPECT_EQ(shape_text(call("_C::silu_and_mul", {{64, 1024}, {64, 2048}})), "gated_activation bf16 rows=64;cols=1024");
  EXPECT_EQ(shape_text(call("tilecast::fused_moe", {{64, 2048}, {128, 1536, 2048}, {128, 2048, 768}, {64, 8}, {64, 8}}),
                       "fused_moe_kernel"),
            "moe bf16 tokens=64;hidden=2048;inter=768;experts=128;topk=8;style=triton");
  EXPECT_EQ(shape_text(call("aten::mm", {{0, 4096}, {4096, 6144}})), "none");  // an empty batch
  EXPECT_EQ(shape_text(call("my::op", {{4, 4}})), "none");
}

// DeepSeek-V3 over 8 ranks in SGLang, weights scaled in blocks of 128 x 128.
TEST(Shapes, ExpertsInFp8TellTheirScales) {
  OperatorCall experts = call("sglang::inplace_fused_experts",
                              {{64, 7168}, {257, 512, 7168}, {257, 7168, 256}, {64, 9}, {64, 9}, {257, 4, 56}});
  experts.types = {"c10::BFloat16", "c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "int", "float"};
  const std::string dims = " tokens=64;hidden=7168;inter=256;experts=257;topk=9;style=triton";
  EXPECT_EQ(shape_text(experts, "fused_moe_kernel"), "moe fp8_block" + dims);
  experts.dims[5] = {257};  // one scale an expert
  EXPECT_EQ(shape_text(experts, "fused_moe_kernel"), "moe fp8_static" + dims);
}

TEST(Shapes, ACastCountsBothWidths) {
  OperatorCall cast = call("aten::copy_", {{1 << 20}, {1 << 20}});
  cast.types = {"c10::BFloat16", "float"};
  EXPECT_EQ(shape_text(cast), "elementwise bf16 elements=1048576;inputs=2;op=copy");  // 2 + 4 bytes an element
}

TEST(Shapes, AttentionKnowsItsMaskAndDecoding) {
  OperatorCall flash =
      call("aten::_flash_attention_forward", {{1, 2048, 32, 128}, {1, 2048, 8, 128}, {1, 2048, 8, 128}});
  flash.scalars = {"", "", "", "", "", "2048", "2048", "0.", "True"};
  EXPECT_EQ(shape_text(flash), "attention_prefill bf16 q-len=2048;kv-len=2048;heads=32;kv-heads=8");
  EXPECT_EQ(shape_text(flash, "void pytorch_flash::flash_fwd_kernel<...>"),
            "attention_prefill bf16 q-len=2048;kv-len=2048;heads=32;kv-heads=8;algorithm=fa2");
  flash.scalars.back() = "False";
  EXPECT_EQ(shape_text(flash), "attention_prefill bf16 q-len=2048;kv-len=2048;heads=32;kv-heads=8;mask=full");
  const OperatorCall decode =
      call("aten::_flash_attention_forward", {{8, 1, 32, 128}, {8, 2048, 8, 128}, {8, 2048, 8, 128}});
  EXPECT_EQ(shape_text(decode), "attention_decode bf16 batch=8;kv-len=2048;heads=32;kv-heads=8;page-size=0");
  OperatorCall backward =
      call("aten::_flash_attention_backward", {{2, 64, 4, 64}, {2, 64, 4, 64}, {2, 64, 4, 64}, {2, 64, 4, 64}});
  backward.scalars = std::vector<std::string>(12);
  backward.scalars[11] = "True";
  EXPECT_EQ(shape_text(backward), "attention_backward bf16 batch=2;q-len=64;kv-len=64;heads=4;kv-heads=4;head-dim=64");
  // Packed sequences do not tell their lengths.
  EXPECT_EQ(shape_text(call("aten::_flash_attention_forward", {{4096, 32, 128}, {4096, 8, 128}, {4096, 8, 128}})),
            "none");
}

TEST(Shapes, AConvolutionWithoutItsStrideIsNoShape) {
  OperatorCall patches = call("aten::cudnn_convolution", {{32, 3, 384, 384}, {1024, 3, 16, 16}});
  EXPECT_EQ(shape_text(patches), "none");
  const std::string known =
      "conv2d bf16 batch=32;in-channels=3;out-channels=1024;height=384;width=384;kernel-h=16;kernel-w=16;stride=16";
  OperatorCall told = patches;
  told.result = {32, 1024, 24, 24};
  EXPECT_EQ(shape_text(told), known);
  told.result = {32, 1024, 24, 12};  // no one stride gives that
  EXPECT_EQ(shape_text(told), "none");
  patches.scalars = {"", "", "[0, 0]", "[16, 16]", "[1, 1]", "1"};
  EXPECT_EQ(shape_text(patches), known);
  // Groups are told by the weights.
  OperatorCall depthwise = call("aten::cudnn_convolution", {{8, 64, 56, 56}, {64, 1, 3, 3}});
  depthwise.result = {8, 64, 28, 28};
  EXPECT_EQ(
      shape_text(depthwise),
      "conv2d bf16 "
      "batch=8;in-channels=64;out-channels=64;height=56;width=56;kernel-h=3;kernel-w=3;stride=2;padding=1;groups=64");
  EXPECT_EQ(shape_text(call("aten::cudnn_convolution", {{8, 64, 56, 56}, {64, 48, 3, 3}})), "none");
}

TEST(Shapes, ABiasTellsTheResultOfItsConvolutionOnlyWhereItCanBeNoOthers) {
  const OperatorCall patches = call("aten::cudnn_convolution", {{32, 3, 384, 384}, {1024, 3, 16, 16}});
  const OperatorCall bias = call("aten::add_", {{32, 1024, 24, 24}, {1, 1024, 1, 1}, {}});
  EXPECT_EQ(with_results({patches, bias})[0].result, (std::vector<Count>{32, 1024, 24, 24}));
  OperatorCall around = patches;  // calls the other
  around.name = "aten::convolution";
  EXPECT_EQ(with_results({around, patches, bias})[1].result, (std::vector<Count>{32, 1024, 24, 24}));
  EXPECT_TRUE(with_results({patches})[0].result.empty());
  const OperatorCall other = call("aten::cudnn_convolution", {{32, 1024, 24, 24}, {1024, 1024, 3, 3}});
  EXPECT_TRUE(with_results({patches, other, bias})[0].result.empty());
  const OperatorCall second = call("aten::add_", {{32, 1024, 12, 12}, {1, 1024, 1, 1}, {}});
  EXPECT_TRUE(with_results({patches, bias, second})[0].result.empty());
  EXPECT_TRUE(with_results({patches, call("aten::add_", {{32, 1024, 24, 24}, {32, 1024, 24, 24}})})[0].result.empty());
}

// Grids of PyTorch's pointwise kernels, as the H200 ran them, tell their elements to a CTA.
TEST(Shapes, ALaunchTellsElements) {
  auto table = CsvReader::open(measurements("h200_kernels.csv.gz"));
  ASSERT_TRUE(table) << table.error().line();
  const std::size_t family = *table->column("family"), name = *table->column("kernel"), grid = *table->column("grid"),
                    dims = *table->column("dims");
  int rows = 0;
  while (*table->next()) {
    if ((*table)[family] != "elementwise") continue;
    WorkKind kind = kernel(std::string((*table)[name]));
    kind.launch.grid = {static_cast<std::int32_t>(std::stol(std::string((*table)[grid]))), 1, 1};
    const auto shape = shape_of_launch(kind);
    if (!shape) continue;
    const std::string text((*table)[dims]);
    const auto at = text.find("elements=");
    if (at == std::string::npos) continue;
    const Count elements = std::stoll(text.substr(at + 9));
    const auto& read = shape->kernel.shape.as<Elementwise>();
    EXPECT_GE(read.elements, elements) << text;
    EXPECT_LT(read.elements - elements, 1024) << text;
    ++rows;
  }
  EXPECT_GT(rows, 100);
}

TEST(Shapes, AFlashGridTellsAPrompt) {
  WorkKind kind = kernel(
      "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
      "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, false, "
      "true, true, false, false>(pytorch_flash::Flash_fwd_params)");
  kind.launch.grid = {64, 1, 32};
  const auto shape = shape_of_launch(kind);
  ASSERT_TRUE(shape);
  EXPECT_EQ(dims_text(shape->kernel.shape), "q-len=8192;kv-len=8192;heads=32;kv-heads=32;algorithm=fa2");
  kind.launch.grid = {1, 8, 32};  // one block of rows: one token or a hundred
  EXPECT_FALSE(shape_of_launch(kind));
}

TEST(Shapes, TextsOfOurOwnTables) {
  const auto shape = shape_of_text("gemm bf16 m=512;n=6144;k=4096");
  ASSERT_TRUE(shape) << shape.error().line();
  EXPECT_EQ(dims_text(shape->kernel.shape), "m=512;n=6144;k=4096");
  for (const char* bad : {"", "gemm", "gemm bf16", "gemm bf16 m=1", "gemm bf17 m=1;n=1;k=1", "gem bf16 m=1;n=1;k=1"})
    EXPECT_FALSE(shape_of_text(bad)) << bad;
}

TEST(ShortName, IsWhatPeopleCallAKernel) {
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
                       "std::array<char*, 3ul> >(int)"),
            "vectorized_elementwise_kernel<CUDAFunctor_add>");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*)"),
            "cunn_SoftMaxForward");
  EXPECT_EQ(short_name("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT"),
            "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT");
  EXPECT_EQ(short_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80::Params)"),
            "cutlass_80_simt_sgemm_256x128_8x4_nn_align1");
  EXPECT_EQ(short_name(""), "");
  EXPECT_EQ(short_name("<"), "<");
  EXPECT_EQ(short_name("Kernel2"), "Kernel2");
}

}  // namespace
}  // namespace tilecast
