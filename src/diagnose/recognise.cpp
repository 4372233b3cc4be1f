#include "diagnose/recognise.h"

#include <algorithm>
#include <array>

namespace tilecast {
namespace {

using F = WorkFamily;

struct Rule {
  std::string_view pattern;  // a part of the name, or its beginning after '^'
  F family;
  std::string_view library;
};

// The first rule that matches speaks. Kernels whose names hold the words of others (fused ones, epilogues) stand before
// them. Names as the libraries' sources have them in 2024 to 2026, and as an H200 showed them under PyTorch 2.11
// (data/measurements/h200_models_kernels.csv.gz).
constexpr Rule kRules[] = {
    // Copies and fills by the driver.
    {"^Memcpy", F::transfer, "driver"},
    {"^Memset", F::fill, "driver"},
    // Between GPUs.
    {"^nccl", F::collective, "NCCL"},
    {"ncclDevKernel", F::collective, "NCCL"},
    {"ncclKernel", F::collective, "NCCL"},
    {"cross_device_reduce", F::collective, "vLLM"},
    {"multimem_all_reduce", F::collective, "PyTorch"},
    {"one_shot_all_reduce", F::collective, "PyTorch"},
    {"two_shot_all_reduce", F::collective, "PyTorch"},
    {"allreduce_fusion_kernel", F::collective, "TensorRT-LLM"},
    {"oneShotAllReduce", F::collective, "TensorRT-LLM"},
    {"twoShotAllReduce", F::collective, "TensorRT-LLM"},
    {"deep_ep::", F::collective, "DeepEP"},
    {"nvshmem", F::collective, "NVSHMEM"},
    // TorchInductor: its names list the operators that were fused, so they stand before all others.
    {"^triton_tem_fused_flex", F::attention, "Triton"},
    {"^triton_tem_fused", F::gemm, "Triton"},
    {"^triton_mm", F::gemm, "Triton"},
    {"^triton_bmm", F::gemm, "Triton"},
    {"^triton_poi_", F::fused, "Triton"},
    {"^triton_red_", F::fused, "Triton"},
    {"^triton_per_", F::fused, "Triton"},
    {"^triton_for_", F::optimizer, "Triton"},
    {"^triton_", F::fused, "Triton"},
    // Mixtures of experts: their products are GEMMs by name, so they come first.
    {"fused_moe_kernel", F::moe, "Triton"},
    {"moe_align_block_size", F::moe, "vLLM"},
    {"moe_sum", F::moe, "vLLM"},
    {"topkGatingSoftmax", F::moe, "vLLM"},
    {"topk_softmax", F::moe, "vLLM"},
    {"grouped_topk", F::moe, "vLLM"},
    {"moeTopK", F::moe, "TensorRT-LLM"},
    {"moe_permute", F::moe, "vLLM"},
    {"expandInputRows", F::moe, "TensorRT-LLM"},
    {"finalizeMoe", F::moe, "TensorRT-LLM"},
    {"MoeGemm", F::moe, "TensorRT-LLM"},
    {"moe_gemm", F::moe, "TensorRT-LLM"},
    {"count_and_sort_expert", F::moe, "SGLang"},
    {"routingIndices", F::moe, "FlashInfer"},
    {"routingMain", F::moe, "FlashInfer"},
    {"moe::", F::moe, ""},
    {"Moe", F::moe, ""},
    // Attention.
    {"FlashAttn", F::attention, "FlashAttention 3"},
    {"prepare_varlen_num_blocks", F::attention, "FlashAttention 3"},
    {"flash_fwd", F::attention, "FlashAttention"},
    {"flash_bwd", F::attention, "FlashAttention"},
    {"flash::", F::attention, "FlashAttention"},
    {"FlashMLA", F::attention, "FlashMLA"},
    {"flash_mla", F::attention, "FlashMLA"},
    {"BatchPrefillWith", F::attention, "FlashInfer"},
    {"BatchDecodeWith", F::attention, "FlashInfer"},
    {"SinglePrefillWith", F::attention, "FlashInfer"},
    {"SingleDecodeWith", F::attention, "FlashInfer"},
    {"BatchMLA", F::attention, "FlashInfer"},
    {"VariableLengthMergeStates", F::attention, "FlashInfer"},
    {"PersistentVariableLength", F::attention, "FlashInfer"},
    {"MergeState", F::attention, "FlashInfer"},
    {"merge_attn_states", F::attention, "vLLM"},
    {"paged_attention", F::attention, "vLLM"},
    {"unified_attention", F::attention, "vLLM"},
    {"fmhaSm", F::attention, "TensorRT-LLM"},
    {"fmha_", F::attention, "CUTLASS"},
    {"fmha::", F::attention, "CUTLASS"},
    {"AttentionKernel<", F::attention, "PyTorch"},
    {"AttentionBackwardKernel<", F::attention, "PyTorch"},
    {"mha_varlen", F::attention, "FlashAttention"},
    {"masked_multihead_attention", F::attention, "TensorRT-LLM"},
    {"sdpa", F::attention, "cuDNN"},
    {"attention", F::attention, ""},
    {"_attn_fwd", F::attention, "Triton"},
    {"_attn_bwd", F::attention, "Triton"},
    {"_fwd_grouped_kernel_stage", F::attention, "Triton"},
    {"_fwd_kernel_stage", F::attention, "Triton"},
    {"flex_attention", F::attention, "Triton"},
    {"ck_tile::FmhaFwd", F::attention, "Composable Kernel"},
    // State-space and linear attention.
    {"selective_scan", F::scan, "Mamba"},
    {"causal_conv1d", F::scan, "Mamba"},
    {"_chunk_scan_fwd", F::scan, "Mamba"},
    {"_chunk_state_", F::scan, "Mamba"},
    {"_state_passing_", F::scan, "Mamba"},
    {"gated_delta", F::scan, "Triton"},
    {"chunk_fwd_kernel", F::scan, "Triton"},
    // Convolutions before products: cuDNN names both alike.
    {"implicit_gemm", F::convolution, "cuDNN"},
    {"fprop", F::convolution, "cuDNN"},
    {"dgrad", F::convolution, "cuDNN"},
    {"wgrad", F::convolution, "cuDNN"},
    {"winograd", F::convolution, "cuDNN"},
    {"convolve_sgemm", F::convolution, "cuDNN"},
    {"conv2d", F::convolution, ""},
    {"conv_depthwise", F::convolution, "PyTorch"},
    {"cudnn::bn", F::norm, "cuDNN"},
    {"nchwToNhwc", F::layout, "cuDNN"},
    {"nhwcToNchw", F::layout, "cuDNN"},
    {"nchwToFold", F::layout, "cuDNN"},
    {"cudnn::", F::convolution, "cuDNN"},
    {"im2col", F::convolution, "PyTorch"},
    {"pool2d", F::reduction, "PyTorch"},
    {"max_pool", F::reduction, "PyTorch"},
    {"avg_pool", F::reduction, "PyTorch"},
    // Products.
    {"nvjet_", F::gemm, "cuBLAS"},
    {"splitKreduce_kernel", F::gemm, "cuBLAS"},
    {"gemv", F::gemm, "cuBLAS"},
    {"gemmk1_kernel", F::gemm, "cuBLAS"},
    {"dot_kernel", F::gemm, "cuBLAS"},
    {"reduce_1Block_kernel", F::gemm, "cuBLAS"},
    {"cublas", F::gemm, "cuBLAS"},
    {"_xmma_gemm", F::gemm, "cuBLAS"},
    {"xmma", F::gemm, "cuBLAS"},
    {"volta_", F::gemm, "cuBLAS"},
    {"turing_", F::gemm, "cuBLAS"},
    {"ampere_", F::gemm, "cuBLAS"},
    {"hopper_", F::gemm, "cuBLAS"},
    {"maxwell_", F::gemm, "cuBLAS"},
    {"deep_gemm", F::gemm, "DeepGEMM"},
    {"fp8_gemm", F::gemm, "DeepGEMM"},
    {"bmm_Bfloat16", F::gemm, "TensorRT-LLM"},
    {"bmm_E4m3", F::gemm, "TensorRT-LLM"},
    {"marlin", F::gemm, "Marlin"},
    {"Marlin", F::gemm, "Marlin"},
    {"machete", F::gemm, "Machete"},
    {"w8a8_block", F::gemm, "Triton"},
    {"awq_gemm", F::gemm, "AWQ"},
    {"gptq", F::gemm, "GPTQ"},
    {"dequantize", F::quantize, ""},
    {"Cijk_", F::gemm, "hipBLASLt"},
    {"cutlass", F::gemm, "CUTLASS"},
    {"matmul", F::gemm, "Triton"},
    {"gemm", F::gemm, ""},
    {"Gemm", F::gemm, ""},
    // Quantisation of activations.
    {"scaled_fp8_quant", F::quantize, "vLLM"},
    {"per_token_group_quant", F::quantize, "vLLM"},
    {"scaled_int8_quant", F::quantize, "vLLM"},
    {"cvt_fp16_to_fp4", F::quantize, "vLLM"},
    {"quant", F::quantize, ""},
    {"segmented_max_reduction", F::quantize, "vLLM"},
    // Normalisation.
    {"fused_add_rms_norm", F::norm, "vLLM"},
    {"rms_norm", F::norm, "vLLM"},
    {"RMSNorm", F::norm, "FlashInfer"},
    {"rmsnorm", F::norm, ""},
    {"_head_norm", F::norm, "Triton"},
    {"ln_fwd", F::norm, "Transformer Engine"},
    {"ln_bwd", F::norm, "Transformer Engine"},
    {"layer_norm", F::norm, "PyTorch"},
    {"LayerNorm", F::norm, "PyTorch"},
    {"GammaBeta", F::norm, "PyTorch"},
    {"RowwiseMoments", F::norm, "PyTorch"},
    {"ComputeInternalGradients", F::norm, "PyTorch"},
    {"ComputeGradientFusedParams", F::norm, "PyTorch"},
    {"batch_norm", F::norm, "PyTorch"},
    {"group_norm", F::norm, "PyTorch"},
    {"GroupNorm", F::norm, "PyTorch"},
    // Rotary embedding and the cache.
    {"rotary", F::rope, "vLLM"},
    {"RotaryPosIds", F::rope, "FlashInfer"},
    {"Rotary", F::rope, ""},
    {"_rope", F::rope, ""},
    {"rope_", F::rope, ""},
    {"Rope", F::rope, ""},
    {"reshape_and_cache", F::cache, "vLLM"},
    {"AppendPagedKVCache", F::cache, "FlashInfer"},
    {"concat_and_cache", F::cache, "vLLM"},
    {"copy_blocks", F::cache, "vLLM"},
    {"set_mla_kv_buffer", F::cache, "SGLang"},
    {"store_kvcache", F::cache, "SGLang"},
    {"kv_write", F::cache, "Triton"},
    {"kv_indices", F::cache, "SGLang"},
    // Activations with a gate.
    {"act_and_mul", F::pointwise, "vLLM"},
    {"silu_and_mul", F::pointwise, "vLLM"},
    {"silu_mul", F::pointwise, "Triton"},
    {"swiglu", F::pointwise, "Triton"},
    // Losses and choices.
    {"nll_loss", F::loss, "PyTorch"},
    {"cross_entropy", F::loss, ""},
    {"SoftMax", F::softmax, "PyTorch"},
    {"softmax", F::softmax, "PyTorch"},
    {"Softmax", F::softmax, ""},
    {"TopKTopP", F::sampling, "FlashInfer"},
    {"TopPSampling", F::sampling, "FlashInfer"},
    {"TopKSampling", F::sampling, "FlashInfer"},
    {"SamplingFrom", F::sampling, "FlashInfer"},
    {"ArgMaxOps", F::sampling, "PyTorch"},
    {"gatherTopK", F::sampling, "PyTorch"},
    {"topk", F::sampling, ""},
    {"multinomial", F::sampling, "PyTorch"},
    {"apply_penalties", F::sampling, "vLLM"},
    {"apply_repetition", F::sampling, "vLLM"},
    // Optimisers and lists of tensors.
    {"FusedAdam", F::optimizer, "PyTorch"},
    {"FusedOptimizer", F::optimizer, "PyTorch"},
    {"FusedSgd", F::optimizer, "PyTorch"},
    {"multi_tensor_apply", F::optimizer, "PyTorch"},
    {"LpNormFunctor", F::optimizer, "PyTorch"},
    {"lpnorm", F::optimizer, "PyTorch"},
    {"adam_", F::optimizer, ""},
    {"Adam", F::optimizer, ""},
    // Tables and indices.
    {"embedding", F::gather, "PyTorch"},
    {"gather_kernel", F::gather, "PyTorch"},
    {"indexSelect", F::gather, "PyTorch"},
    {"index_elementwise", F::gather, "PyTorch"},
    {"index_put", F::gather, "PyTorch"},
    {"indexing_backward", F::gather, "PyTorch"},
    {"indexFunc", F::gather, "PyTorch"},
    {"index_kernel", F::gather, "PyTorch"},
    {"scatter", F::gather, "PyTorch"},
    {"compute_grad_weight", F::gather, "PyTorch"},
    {"compute_num_of_partial", F::gather, "PyTorch"},
    {"krn_partial", F::gather, "PyTorch"},
    {"krn_partials", F::gather, "PyTorch"},
    {"write_num_of_segments", F::gather, "PyTorch"},
    {"partial_segment_offset", F::gather, "PyTorch"},
    // Moving tensors about.
    {"CatArray", F::layout, "PyTorch"},
    {"split_with_sizes", F::layout, "PyTorch"},
    {"chunk_cat", F::layout, "PyTorch"},
    {"transpose", F::layout, ""},
    {"direct_copy_kernel", F::layout, "PyTorch"},
    {"copy_kernel", F::layout, "PyTorch"},
    {"tril_", F::layout, "PyTorch"},
    {"triu_", F::layout, "PyTorch"},
    {"roll_cuda", F::layout, "PyTorch"},
    {"flip_cuda", F::layout, "PyTorch"},
    // Random numbers.
    {"distribution_", F::random, "PyTorch"},
    {"dropout", F::random, "PyTorch"},
    {"curand", F::random, "cuRAND"},
    {"philox", F::random, ""},
    // Sums and sorts.
    {"reduce_kernel", F::reduction, "PyTorch"},
    {"DeviceReduce", F::reduction, "CUB"},
    {"DeviceSegmentedReduce", F::reduction, "CUB"},
    {"tensor_kernel_scan", F::sort, "PyTorch"},
    {"searchsorted", F::sort, "PyTorch"},
    {"DeviceScan", F::sort, "CUB"},
    {"DeviceRadixSort", F::sort, "CUB"},
    {"DeviceSegmentedRadixSort", F::sort, "CUB"},
    {"radixSort", F::sort, "PyTorch"},
    {"bitonicSort", F::sort, "PyTorch"},
    {"DeviceUniqueByKey", F::sort, "CUB"},
    {"DeviceSelect", F::sort, "CUB"},
    {"DeviceCompact", F::sort, "CUB"},
    {"cub::", F::sort, "CUB"},
    {"kernelHistogram", F::sort, "PyTorch"},
    {"fill_reverse_indices", F::sort, "PyTorch"},
    {"compute_cuda_kernel", F::layout, "PyTorch"},  // repeat_interleave
    {"thrust::", F::pointwise, "Thrust"},
    {"FillFunctor", F::fill, "PyTorch"},
    {"elementwise_kernel", F::pointwise, "PyTorch"},
    {"arange", F::pointwise, "PyTorch"},
    {"gelu", F::pointwise, ""},
    {"silu", F::pointwise, ""},
    {"act_fn", F::pointwise, ""},
    {"add_bias", F::pointwise, ""},
};

struct FamilyText {
  F family;
  std::string_view name, words;
};
constexpr FamilyText kFamilies[] = {
    {F::gemm, "gemm", "matrix products"},
    {F::convolution, "convolution", "convolutions"},
    {F::attention, "attention", "attention"},
    {F::moe, "moe", "mixture of experts"},
    {F::norm, "norm", "normalisation"},
    {F::softmax, "softmax", "softmax"},
    {F::pointwise, "pointwise", "pointwise"},
    {F::fused, "fused", "fused by a compiler"},
    {F::reduction, "reduction", "sums and maxima"},
    {F::layout, "layout", "copies, casts, concatenations"},
    {F::gather, "gather", "look-ups and scatters"},
    {F::rope, "rope", "rotary embedding"},
    {F::cache, "cache", "writes to the cache"},
    {F::quantize, "quantize", "quantisation"},
    {F::loss, "loss", "losses"},
    {F::optimizer, "optimizer", "optimizer"},
    {F::sampling, "sampling", "choice of tokens"},
    {F::sort, "sort", "sorts and scans"},
    {F::random, "random", "random numbers"},
    {F::scan, "scan", "state space, linear attention"},
    {F::collective, "collective", "between GPUs"},
    {F::transfer, "transfer", "copies by the driver"},
    {F::fill, "fill", "fills"},
    {F::unknown, "unknown", "not recognised"},
};
static_assert(std::size(kFamilies) == static_cast<std::size_t>(F::unknown) + 1);

const FamilyText& text_of(F family) { return kFamilies[static_cast<std::size_t>(family)]; }

std::string_view without_return_type(std::string_view name) {
  for (const std::string_view prefix : {"void ", "std::enable_if<!(false), void>::type "})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.front() == '^') return without_return_type(name).starts_with(pattern.substr(1));
  return name.find(pattern) != std::string_view::npos;
}

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The word in a template list that says what is computed: a functor or the function a lambda was written in.
std::string_view what_is_computed(std::string_view arguments) {
  for (const std::string_view mark : {"Functor", "_kernel_cuda", "KernelImpl", "_kernel_impl", "_kernel(", "Ops<",
                                      "_functor", "launch_clamp", "Epilogue"}) {
    for (auto at = arguments.find(mark); at != std::string_view::npos; at = arguments.find(mark, at + 1)) {
      std::size_t from = at, to = at;
      while (from > 0 && is_identifier(arguments[from - 1])) --from;
      while (to < arguments.size() && is_identifier(arguments[to])) ++to;
      const std::string_view word = arguments.substr(from, to - from);
      // These wrap the functor that matters.
      if (word == "BinaryFunctor" || word == "AUnaryFunctor" || word == "BUnaryFunctor" || word == "gpu_kernel_impl" ||
          word == "gpu_kernel_impl_nocast" || word == "func_wrapper_t")
        continue;
      return word;
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(WorkFamily family) { return text_of(family).name; }
std::string_view describe(WorkFamily family) { return text_of(family).words; }

Recognised recognise(const WorkKind& kind, const OperatorCall* op) {
  if (kind.activity == Activity::copy) return {F::transfer, "driver"};
  if (kind.activity == Activity::fill) return {F::fill, "driver"};
  for (const Rule& rule : kRules)
    if (matches(kind.name, rule.pattern)) return {rule.family, rule.library};
  if (!op) return {};
  const F family = family_of_operator(op->name);
  return {family, "", family != F::unknown};
}

std::string short_name(std::string_view name) {
  name = without_return_type(name);
  // The kernel's own name ends at its template list or its parameters, outside any "(anonymous namespace)".
  std::size_t end = 0, last = 0;
  while (end < name.size()) {
    if (name.substr(end).starts_with("(anonymous namespace)")) end += 21;
    else if (name.substr(end).starts_with("<unnamed>")) end += 9;
    else if (name[end] == '<' || name[end] == '(') break;
    else if (name.substr(end).starts_with("::")) last = end += 2;
    else ++end;
  }
  std::string_view own = name.substr(last, end - last);
  const std::string_view arguments = end < name.size() && name[end] == '<' ? name.substr(end) : std::string_view();
  std::string text(own.empty() ? name.substr(0, 48) : own);
  if (arguments.size() > 1 && (own == "Kernel2" || own == "Kernel" || own == "device_kernel" || own == "kernel")) {
    const auto to = std::min<std::size_t>(arguments.find_first_of(">(,", 1), 61);
    return std::string(arguments.substr(1, to - 1));
  }
  if (const auto word = what_is_computed(arguments); !word.empty()) text += "<" + std::string(word) + ">";
  return text;
}

}  // namespace tilecast
