#include "kernel/mla_prefill.h"

#include "kernel/flash_forward.h"

namespace tilecast {

Status MlaPrefill::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, lens, kv_lens); !fit) return fit;
  return check_lengths(lengths(), AttentionMask::causal, 0, geometry());
}

Result<Plan> plan(const MlaPrefill& s, const Format& format, const Gpu& gpu, const Context& context) {
  // Over an fp8 cache kernels of Hopper and Blackwell quantise what they multiply and run in fp8: long prompts of
  // TRT-LLM and SGLang take 0.64 to 0.95 of the time there, on A100 and L40S exactly as long as over bf16.
  const bool in_fp8 = s.kv_dtype == CacheType::fp8 && gpu.has_tensor(DType::fp8, DType::fp32) &&
                      gpu.tensor_generation() != TensorGeneration::mma;
  const auto fp8 = format_from("fp8");
  return plan_forward({"mla_prefill", s.geometry(), s.lengths(), AttentionMask::causal, 0, s.algorithm},
                      in_fp8 && fp8 ? *fp8 : format, gpu, context);
}

}  // namespace tilecast
