// How long Triton's fused-MoE kernel takes under a configuration, from the card's description and a few constants.
//
// A CTA walks its depth in steps. Where `q` CTAs share an SM, a step takes the longer of what they ask of the SM's
// parts (tensor pipe, shared memory, instruction slots, its share of L2) and of what one CTA waits for: its own chain,
// or the latency of memory over the loads in flight (num_stages - 1). CTAs come in rounds of `q` per SM; beside them
// DRAM moves the weights of the experts in use, once or, where they outlast L2, once for every GROUP_SIZE_M blocks of
// rows.
#pragma once

#include <span>
#include <string_view>

#include "constants/tune.h"
#include "kernel/format.h"
#include "tune/triton_config.h"

namespace tilecast {

// One product of a fused MoE, or a plain product (one expert).
struct TritonProblem {
  std::span<const Count> rows;  // of each expert in use
  Count experts = 1;            // of the rank, idle ones included: the grid is sized for any routing
  Count n = 0, k = 0;
  Count share = 1;           // rows that read the same activation: topk in the first product
  bool weights_cold = true;  // false: launches repeat, and what fits in L2 stays there
};

struct TritonCost {
  Seconds total;
  Seconds sm, dram;  // of the SMs and of DRAM alone
  double ctas = 0, rounds = 0;
  int ctas_per_sm = 0;
  std::string_view limit;  // what a step waits for: "tensor", "shared memory", "instructions", "L2", "latency", "DRAM"
};

// Fitted on H200, bf16, Triton 3.6 (data/measurements/h200_fused_moe*.csv.gz), to the shapes of Mixtral-8x7B and
// Qwen3-30B-A3B alone; docs/tune.md judges them on the others. Cycles are of the SM clock.
struct TritonConstants {
  double warpgroup_shared = constants::triton::kWarpgroupShared;
  double load_slots = constants::triton::kLoadSlots;
  double latency = constants::triton::kLatency;
  double piece = constants::triton::kPiece;
  double prologue = constants::triton::kPrologue;
  double step_norm = constants::triton::kStepNorm;
  double dram_norm = constants::triton::kDramNorm;
  double idle_cta = constants::triton::kIdleCta;
};

// `config` must be legal.
TritonCost triton_cost(const TritonProblem& problem, const TritonConfig& config, const Format& format,
                       const MathPath& math, const Gpu& gpu, const TritonConstants& constants = {});

}  // namespace tilecast
