#include "kernel/mla_prefill.h"

#include "constants/mla.h"
#include "kernel/flash_forward.h"
#include "kernel/mla_sources.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {
constexpr Count kLatentDim = 512;
constexpr double kBytes = 2;  // of an element
}  // namespace

Status MlaPrefill::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, lens, kv_lens); !fit) return fit;
  return check_lengths(lengths(), AttentionMask::causal, 0, geometry());
}

namespace {

// The engines' helper kernels around the attention, as passes over its tensors.
void add_helpers(Plan& plan, const MlaPrefill& s, bool narrow, const Context& context) {
  if (context.engine.empty()) return;  // the kernel by itself
  const AttentionHeads heads = s.geometry();
  const double tokens = total_queries(s.lengths()), rows = tokens * real(s.heads);
  const double latent = tokens * real(kLatentDim + s.rope_dim) * kBytes, queries = rows * real(heads.qk_dim) * kBytes;
  const double keys = rows * real(heads.qk_dim) * kBytes, values = rows * real(heads.v_dim) * kBytes;
  const double rotated = real(s.rope_dim) / real(heads.qk_dim);
  if (absorbed_prefill(context)) {
    plan.launches.push_back(mla_copy("store", latent, latent, kMlaHelperTrips));
  } else {  // TensorRT-LLM rotates queries in place, unfolds the rotated keys to all heads and stores the latent
    const double moved = rotated * queries;
    plan.launches.push_back(mla_copy("rotate_and_store", moved + latent, moved + rotated * keys, kMlaHelperTrips));
  }
  const int others = absorbed_prefill(context) ? kMlaDecodeHelpers + 1 : kMlaPrefillHelpers - 1;
  for (int i = 0; i < others; ++i) plan.launches.push_back(mla_copy("lengths", 0, kBytes, kMlaHelperTrips));
  const double all = queries + keys + values;
  if (narrow) plan.launches.push_back(mla_copy("narrow", all, all / 2, kMlaHelperTrips));
}

// vLLM's layer expands keys and values from the latent and appends the rotated part (forward_mha).
void add_layer(Plan& plan, const MlaPrefill& s, const MathPath& math) {
  const double tokens = total_queries(s.lengths()), rows = tokens * real(s.heads);
  const double unfolded = rows * real(s.nope_dim + s.v_dim) * kBytes;
  const double weights = real(s.heads) * real((s.nope_dim + s.v_dim) * kLatentDim) * kBytes;
  Launch unfold = mla_copy("unfold", tokens * real(kLatentDim) * kBytes + weights, unfolded, kMlaHelperTrips);
  unfold.math = math;
  unfold.tasks[0].each.tensor = ops(2 * rows * real(s.nope_dim + s.v_dim) * real(kLatentDim) / real(unfold.ctas));
  plan.launches.push_back(std::move(unfold));
  const double keys = rows * real(s.nope_dim + s.rope_dim) * kBytes;
  plan.launches.push_back(mla_copy("concatenate", keys, keys, kMlaHelperTrips));
}

}  // namespace

Result<Plan> plan(const MlaPrefill& s, const Format& format, const Gpu& gpu, const Context& context) {
  // Over an fp8 cache kernels of Hopper and Blackwell quantise what they multiply and run in fp8: long prompts of
  // TRT-LLM and SGLang take 0.64 to 0.95 of the time there, on A100 and L40S exactly as long as over bf16.
  const bool layer = whole_layer(context), absorbed = absorbed_prefill(context);
  const bool in_fp8 = s.kv_dtype == CacheType::fp8 && gpu.has_tensor(DType::fp8, DType::fp32) &&
                      gpu.tensor_generation() != TensorGeneration::mma && !layer && !absorbed;
  const auto fp8 = format_from("fp8");
  Context named = context;
  if (layer) named.kernel_source = {};  // prompts run through FlashAttention, whatever decodes
  AttentionHeads heads = absorbed ? AttentionHeads{s.heads, 1, kLatentDim + s.rope_dim, kLatentDim} : s.geometry();
  // FlashAttention 2 has one dimension for keys and values: vLLM pads the values.
  if (layer && gpu.tensor_generation() == TensorGeneration::mma) heads.v_dim = heads.qk_dim;
  auto planned = plan_forward({"mla_prefill", heads, s.lengths(), AttentionMask::causal, 0, s.algorithm},
                              in_fp8 && fp8 ? *fp8 : format, gpu, named);
  if (!planned) return planned;
  add_helpers(*planned, s, in_fp8, context);
  if (layer) add_layer(*planned, s, planned->launches[0].math);
  return planned;
}

}  // namespace tilecast
