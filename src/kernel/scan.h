// Linear attention and state-space kernels: causal convolution, the (gated) delta rule of GDN and KDA, Mamba-2's SSD,
// each in its prefill and its decode form.
//
// All of them carry a state of key-dim x head-dim per head. Decode reads and writes it once per token; prefill walks
// chunks of tokens with matrix products inside a chunk and across them.
//
// The tables of aiconfigurator map onto fields as follows (collector/*/collect_{gdn,kda,mamba2}.py):
//   heads = num_v_heads or nheads, head-dim = head_v_dim or head_dim, key-heads = num_k_heads or n_groups,
//   key-dim = head_k_dim or d_state, conv-width = d_conv, chunk = chunk_size, phase, batch and seq-len as they are;
//   causal_conv1d_fn, causal_conv1d_update -> kind conv1d; TRT-LLM's gdn rows convolve the keys only:
//     channels = num_k_heads * head_k_dim; KDA convolves queries, keys and values apart: convolutions = 3
//   chunk_gated_delta_rule(_triton) -> chunk_gated_delta, ..._flashinfer -> the same, fused; TRT-LLM: carry = 0
//   fused_recurrent_gated_delta_rule(_packed_decode) -> recurrent_gated_delta
//   chunk_kda, chunk_kda_with_fused_gate -> chunk_kda, flashkda_fwd -> the same, fused
//   fused_recurrent_kda(_packed_decode), fused_sigmoid_gating_delta_rule_update -> recurrent_kda
//   fused_kda_decode, kda_fused_decode, fused_kda_decode_mtp_dspark -> fused_kda_decode
//   state = fp32, but bf16 for GDN in TRT-LLM and SGLang 0.5.10, whose decode still leaves it in fp32.
// A trap: vLLM's KDA collector gives its first sequence state slot 0, the engine's null block, whose convolution
// returns at once; causal_conv1d_fn_qkv3 rows of one sequence time (almost) nothing and beat DRAM three times over.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

enum class ScanKind : std::uint8_t {
  conv1d,                 // depthwise causal convolution with SiLU
  chunk_gated_delta,      // gated delta rule, chunked (prefill)
  recurrent_gated_delta,  // the same, token by token (decode)
  chunk_kda,              // delta rule with a gate per key channel, chunked
  recurrent_kda,
  fused_kda_decode,  // convolution, recurrence and gated norm in one kernel
  ssd_chunk,         // Mamba-2 chunked scan
  state_update,      // Mamba-2 selective state update
};
inline constexpr std::array<std::string_view, 8> kScanKindNames = {
    "conv1d",           "chunk_gated_delta", "recurrent_gated_delta", "chunk_kda", "recurrent_kda",
    "fused_kda_decode", "ssd_chunk",         "state_update"};
constexpr const auto& enum_names(ScanKind) { return kScanKindNames; }

enum class ScanPhase : std::uint8_t {
  context,     // whole sequences
  generation,  // one token per sequence
  verify,      // seq-len draft tokens per sequence, keeping the state after each
};
inline constexpr std::array<std::string_view, 3> kScanPhaseNames = {"context", "generation", "verify"};
constexpr const auto& enum_names(ScanPhase) { return kScanPhaseNames; }

enum class StateType : std::uint8_t { fp32, bf16 };
inline constexpr std::array<std::string_view, 2> kStateTypeNames = {"fp32", "bf16"};
constexpr const auto& enum_names(StateType) { return kStateTypeNames; }

struct Scan {
  static constexpr FamilyInfo kFamily{
      "scan", "linear-attention and state-space kernels (GDN, KDA, Mamba-2), one at a time",
      "--kind chunk_gated_delta --batch 1 --seq-len 8192 --heads 32 --key-heads 16 --head-dim 128 --key-dim 128"};
  ScanKind kind = ScanKind::chunk_gated_delta;
  ScanPhase phase = ScanPhase::context;
  Count batch = 0;
  Count seq_len = 1;
  Count heads = 0;
  Count head_dim = 128;
  Count key_heads = 0;  // 0: as many as heads
  Count key_dim = 0;    // 0: as head_dim
  Count conv_width = 4;
  Count chunk = 0;     // 0: 64 for delta rules, 256 for SSD
  Count channels = 0;  // 0: queries, keys and values together
  Count convolutions = 1;
  bool fused = false;
  bool carry = true;
  StateType state = StateType::fp32;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("kind", s.kind, "the kernel (default chunk_gated_delta)", Need::required);
    visit("phase", s.phase, "whole sequences, one token each, or draft tokens to verify (default context)");
    visit("batch", s.batch, "sequences", Need::required);
    visit("seq-len", s.seq_len, "tokens of a sequence (default 1)");
    visit("heads", s.heads, "value heads", Need::required);
    visit("head-dim", s.head_dim, "elements of a value head (default 128)");
    visit("key-heads", s.key_heads, "query and key heads, groups in Mamba-2 (default: as heads)");
    visit("key-dim", s.key_dim, "elements of a key head, the state dimension in Mamba-2 (default: as head-dim)");
    visit("conv-width", s.conv_width, "taps of the convolution (default 4)");
    visit("chunk", s.chunk, "tokens of a chunk (default 64; 256 for ssd_chunk)");
    visit("channels", s.channels, "channels convolved (default: queries, keys and values)");
    visit("convolutions", s.convolutions, "launches the channels are split over (default 1)");
    visit("fused", s.fused, "one kernel instead of one per stage (FlashInfer, FlashKDA)");
    visit("carry", s.carry, "an initial state is read and the final one written (default yes)");
    visit("state", s.state, "type of the state (default fp32)");
  }
  Status check() const;

  bool chunked() const {
    return kind == ScanKind::chunk_gated_delta || kind == ScanKind::chunk_kda || kind == ScanKind::ssd_chunk;
  }
  bool kda() const {
    return kind == ScanKind::chunk_kda || kind == ScanKind::recurrent_kda || kind == ScanKind::fused_kda_decode;
  }
};

Result<Plan> plan(const Scan& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
