#include "kernel/attention.h"

#include <algorithm>

#include "kernel/checks.h"

namespace tilecast {
namespace {

// Sum of the whole numbers first .. last.
double range_sum(Count first, Count last) {
  return first > last ? 0 : 0.5 * static_cast<double>(first + last) * static_cast<double>(last - first + 1);
}

}  // namespace

Result<AttentionAlgorithm> resolve_algorithm(AttentionAlgorithm wanted, const Gpu& gpu) {
  const TensorGeneration generation = gpu.tensor_generation();
  const bool before_ampere = gpu.vendor == Vendor::nvidia && gpu.architecture < Architecture::ampere;
  switch (wanted) {
    case AttentionAlgorithm::automatic:
      if (generation == TensorGeneration::wgmma) return AttentionAlgorithm::fa3;
      if (generation == TensorGeneration::tcgen05) return AttentionAlgorithm::blackwell;
      if (before_ampere) return AttentionAlgorithm::efficient;
      return gpu.vendor == Vendor::amd ? AttentionAlgorithm::ck : AttentionAlgorithm::fa2;
    case AttentionAlgorithm::fa2:
      if (before_ampere)
        return field_error("algorithm", "FlashAttention 2 is written for Ampere and later, not for " + gpu.name,
                           "choose auto or efficient");
      return gpu.vendor == Vendor::amd ? AttentionAlgorithm::ck : wanted;
    case AttentionAlgorithm::ck:
      if (gpu.vendor == Vendor::amd) return wanted;
      return field_error("algorithm", "Composable Kernel is written for AMD's cards, not for " + gpu.name,
                         "choose auto or fa2");
    case AttentionAlgorithm::aiter:
      if (gpu.cdna3_or_later()) return wanted;
      return field_error("algorithm", "AITER's attention is written for CDNA3 and CDNA4, not for " + gpu.name,
                         "choose auto or fa2");
    case AttentionAlgorithm::efficient: return wanted;
    case AttentionAlgorithm::cudnn:
      if (gpu.vendor != Vendor::nvidia)
        return field_error("algorithm", "cuDNN is NVIDIA's, and " + gpu.name + " is not", "choose auto or fa2");
      if (before_ampere)
        return field_error("algorithm", "cuDNN's attention is written for Ampere and later, not for " + gpu.name,
                           "choose auto or efficient");
      if (generation == TensorGeneration::wgmma) return wanted;
      return generation == TensorGeneration::tcgen05 ? AttentionAlgorithm::blackwell : AttentionAlgorithm::fa2;
    case AttentionAlgorithm::fa3:
      if (generation == TensorGeneration::wgmma) return wanted;
      return field_error("algorithm", "FlashAttention 3 is written for Hopper, not for " + gpu.name,
                         "choose auto or fa2");
    case AttentionAlgorithm::blackwell:
      if (generation == TensorGeneration::tcgen05) return wanted;
      return field_error("algorithm", "this pipeline needs data-centre Blackwell, not " + gpu.name,
                         "choose auto or fa2");
  }
  return wanted;
}

// xFormers' kernels multiply fp32 on the tensor pipes from sm80 on, as three products of tf32 (OpMultiplyAddFastF32 in
// gemm_kernel_utils.h); on an H200 they ran as fmha_cutlassF_f32_aligned_64x64_rf_sm80 (data/measurements,
// h200_programs_kernels.csv.gz).
Result<MathPath> attention_math(const Format& format, AttentionAlgorithm algorithm, const Gpu& gpu) {
  constexpr double kProducts = 3;
  const bool in_parts = algorithm == AttentionAlgorithm::efficient && format.math == DType::fp32 &&
                        gpu.vendor == Vendor::nvidia && gpu.has_tensor(DType::tf32, DType::fp32);
  if (!in_parts) return math_path(format, gpu);
  return MathPath{Pipe::tensor, DType::tf32, DType::fp32, gpu.tensor_rate(DType::tf32, DType::fp32) / kProducts};
}

std::vector<Lengths> gather_lengths(Count batch, Count q, Count kv, const std::vector<Count>& q_lens,
                                    const std::vector<Count>& kv_lens) {
  if (q_lens.empty() && kv_lens.empty()) return {{q, kv > 0 ? kv : q, batch}};
  std::vector<Lengths> all;
  for (std::size_t i = 0; i < std::max(q_lens.size(), kv_lens.size()); ++i) {
    const Count queries = q_lens.empty() ? q : q_lens[i];
    all.push_back({queries, !kv_lens.empty() ? kv_lens[i] : kv > 0 ? kv : queries, 1});
  }
  std::sort(all.begin(), all.end(),
            [](const Lengths& a, const Lengths& b) { return a.kv != b.kv ? a.kv > b.kv : a.q > b.q; });
  std::vector<Lengths> gathered;
  for (const Lengths& l : all) {
    if (!gathered.empty() && gathered.back().q == l.q && gathered.back().kv == l.kv) ++gathered.back().requests;
    else gathered.push_back(l);
  }
  return gathered;
}

double visible_pairs(const Lengths& l, AttentionMask mask, Count window) {
  if (mask == AttentionMask::full) return static_cast<double>(l.q) * static_cast<double>(l.kv);
  const Count first = l.kv - l.q + 1, last = l.kv;  // keys before the window of the first and the last row
  if (window == 0 || window >= last) return range_sum(first, last);
  const Count growing = std::min(last, window - 1);  // rows that see fewer keys than the window
  const Count flat = last - std::max(first, window) + 1;
  return range_sum(first, growing) + static_cast<double>(flat) * static_cast<double>(window);
}

Count touched_keys(const Lengths& l, Count window) { return window > 0 ? std::min(l.kv, l.q + window - 1) : l.kv; }

Status check_heads(const AttentionHeads& heads) {
  if (auto positive = require_positive(
          {{"heads", heads.query}, {"kv-heads", heads.key}, {"head-dim", heads.qk_dim}, {"v-head-dim", heads.v_dim}});
      !positive)
    return positive;
  if (heads.query % heads.key != 0)
    return field_error("kv-heads", fmt::format("must divide the {} heads, and {} does not", heads.query, heads.key));
  if (std::max(heads.qk_dim, heads.v_dim) > 1024) return field_error("head-dim", "must be at most 1024");
  return Ok{};
}

Status check_lists(Count batch, const std::vector<Count>& q_lens, const std::vector<Count>& kv_lens) {
  if (!q_lens.empty() && !kv_lens.empty() && q_lens.size() != kv_lens.size())
    return field_error("kv-lens", fmt::format("has {} entries, lens {}", kv_lens.size(), q_lens.size()));
  const std::size_t requests = std::max(q_lens.size(), kv_lens.size());
  if (requests > 0 && batch != 1 && batch != static_cast<Count>(requests))
    return field_error("batch", fmt::format("is {}, but {} lengths are given", batch, requests), "leave batch out");
  return Ok{};
}

Status check_lengths(const std::vector<Lengths>& lengths, AttentionMask mask, Count window,
                     const AttentionHeads& heads) {
  if (mask == AttentionMask::full && window > 0)
    return field_error("window", "needs a causal mask", "leave it out, or say mask=causal");
  for (const Lengths& l : lengths) {
    if (auto positive = require_positive({{"batch", l.requests}, {"q-len", l.q}, {"kv-len", l.kv}}); !positive)
      return positive;
    if (mask == AttentionMask::causal && l.kv < l.q)
      return field_error("kv-len",
                         fmt::format("must be at least q-len under a causal mask: {} keys for {} queries", l.kv, l.q),
                         "kv-len counts the new tokens too");
  }
  const double q = total_queries(lengths) * static_cast<double>(heads.query * (heads.qk_dim + heads.v_dim));
  const double kv = total_touched_keys(lengths, 0) * static_cast<double>(heads.key * (heads.qk_dim + heads.v_dim));
  return require_reasonable(q + kv);
}

double total_queries(const std::vector<Lengths>& lengths) {
  double sum = 0;
  for (const Lengths& l : lengths) sum += static_cast<double>(l.requests) * static_cast<double>(l.q);
  return sum;
}
double total_touched_keys(const std::vector<Lengths>& lengths, Count window) {
  double sum = 0;
  for (const Lengths& l : lengths)
    sum += static_cast<double>(l.requests) * static_cast<double>(touched_keys(l, window));
  return sum;
}
double total_pairs(const std::vector<Lengths>& lengths, AttentionMask mask, Count window) {
  double sum = 0;
  for (const Lengths& l : lengths) sum += static_cast<double>(l.requests) * visible_pairs(l, mask, window);
  return sum;
}

}  // namespace tilecast
