#include "measure/traps.h"

#include <string_view>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/scan.h"

namespace tilecast {
namespace {
// DeepSeek-V3's router may pick experts from four of eight groups only. vLLM and SGLang apply that limit to the
// benchmark's balanced scores, and half of the 256 experts are never touched: from 32 to 256 tokens the rows stay at
// the time of 128 experts' weights, where TensorRT-LLM's take twice as long.
bool group_limited(const Measurement& row) {
  const auto* moe = row.kernel.shape.get_if<Moe>();
  return moe && moe->distribution == ExpertDistribution::balanced && moe->hidden == 7168 && moe->inter == 2048 &&
         moe->experts == 256 && moe->topk == 8 && (row.engine == "vllm" || row.engine == "sglang");
}
// AIConfigurator's collector of SGLang 0.5.10 (the A100 rows) kept all pairs of the tokens that visit the rank and
// moved those of other ranks to its first expert: 16,384 tokens of 128 experts take 57.8, 57.5, 57.0 and 57.5 ms on 1,
// 2, 4 and 8 ranks.
bool counts_remote_pairs(const Measurement& row) {
  const auto* moe = row.kernel.shape.get_if<Moe>();
  return moe && moe->ep > 1 && row.engine == "sglang" && row.engine_version == "0.5.10";
}
// The collectors of vLLM 0.14 and TensorRT-LLM 1.0 (A100) gave the rows that rounding a power law leaves over to
// experts side by side, hence to one rank; later ones deal them to the ranks in turn. With no more rows than experts
// that is nearly all of them: one token of eight experts takes 488 us on 1 and on 16 ranks.
bool leaves_rows_on_one_rank(const Measurement& row) {
  const auto* moe = row.kernel.shape.get_if<Moe>();
  return moe && moe->ep > 1 && moe->distribution == ExpertDistribution::power_law &&
         moe->tokens * moe->topk <= moe->experts &&
         ((row.engine == "vllm" && row.engine_version == "0.14.0") ||
          (row.engine == "trtllm" && row.engine_version == "1.0.0"));
}
// vLLM's KDA collector convolves outside a graph, and the convolution without its metadata copies lengths to the host
// and lists chunks there: one token takes 0.42 ms on H100 and B200, 0.77 on H200 and L40S, 1.4 beside Grace, where
// SGLang's same three kernels take 13 us.
bool host_bound(const Measurement& row) {
  const auto* scan = row.kernel.shape.get_if<Scan>();
  return scan && row.engine == "vllm" && row.kernel_source == "causal_conv1d_fn_qkv3";
}
// One row in vLLM's fp8 product on data-centre Blackwell takes 10 to 18 us more than two rows, from 5 us kernels to 400
// us ones: on GB200 at every size, on B200 at nine sizes in ten and not at the others. The kernel is the same one, and
// no other engine or format knows this: something beside it waits.
bool waits_beside_one_row(const Measurement& row) {
  const auto* gemm = row.kernel.shape.get_if<Gemm>();
  return gemm && gemm->m == 1 && row.engine == "vllm" && row.kernel.format.id == FormatId::fp8 &&
         (row.gpu == "B200" || row.gpu == "GB200");
}
}  // namespace

std::string_view trap_of(const Measurement& row) {
  if (row.source == "aiconfigurator-difference") return "compute_scale is a difference of timings";
  if (row.source == "aiconfigurator-power") return "steady state under the power limit";
  const std::string_view family = family_of(row.kernel.shape);
  // The same kernels reach 0.6 of the peak on P100, and P4's own batched products reach 0.8 of it.
  if (row.source == "neusight-train" && row.gpu == "P4" && family == "gemm")
    return "P4's linear layers ran at a quarter of their kernels' rate";
  if (row.source != "aiconfigurator") return {};
  if (row.gpu.starts_with("A100") && row.engine == "trtllm" && (family == "attention_decode" || family == "mla_decode"))
    return "A100 TRT-LLM decode beats DRAM";
  if (waits_beside_one_row(row)) return "vLLM's fp8 product of one row waits on Blackwell";
  if (host_bound(row)) return "vLLM's KDA convolution waits for the host";
  if (counts_remote_pairs(row)) return "SGLang 0.5.10 computes the pairs of other ranks";
  if (leaves_rows_on_one_rank(row)) return "old collectors route few rows to one rank";
  if (group_limited(row)) return "DeepSeek's router touches half of the experts";
  return {};
}

}  // namespace tilecast
