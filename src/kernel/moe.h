// Fused mixture of experts on one rank: both expert products, the activation between them, and the moves around them.
#pragma once

#include <array>
#include <vector>

#include "kernel/context.h"
#include "kernel/expert_distribution.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

enum class MoeStyle : std::uint8_t {
  automatic,  // the engines' default for this format and GPU
  grouped,    // permuted tokens, grouped products of CUTLASS, DeepGEMM or TensorRT-LLM, tiles tuned per shape
  triton,     // the fused_moe kernel of vLLM and SGLang: tokens gathered, each expert padded to BLOCK_SIZE_M
};
inline constexpr std::array<std::string_view, 3> kMoeStyleNames = {"auto", "grouped", "triton"};
constexpr const auto& enum_names(MoeStyle) { return kMoeStyleNames; }

// Whole, or one of its two products alone, as a profiler times it.
enum class MoePass : std::uint8_t { both, up, down };
inline constexpr std::array<std::string_view, 3> kMoePassNames = {"both", "up", "down"};
constexpr const auto& enum_names(MoePass) { return kMoePassNames; }

struct Moe {
  static constexpr FamilyInfo kFamily{"moe",
                                      "both expert products of a mixture of experts and their activation, one rank",
                                      "--tokens 4096 --hidden 4096 --inter 1536 --experts 128 --topk 8"};
  Count tokens = 0;  // before routing, of all ranks together
  Count hidden = 0;
  Count inter = 0;  // of the whole expert, before tensor parallelism divides it
  Count experts = 0;
  Count topk = 0;
  Count tp = 1, ep = 1;
  ExpertDistribution distribution = ExpertDistribution::balanced;
  double alpha = 1.2;
  std::vector<Count> counts;
  bool gated = true;
  MoeStyle style = MoeStyle::automatic;
  MoePass pass = MoePass::both;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("tokens", s.tokens, "tokens before routing, of all ranks together", Need::required);
    visit("hidden", s.hidden, "width of the model", Need::required);
    visit("inter", s.inter, "width of a whole expert; --tp divides it", Need::required);
    visit("experts", s.experts, "experts of all ranks; --ep divides them", Need::required);
    visit("topk", s.topk, "experts each token visits", Need::required);
    visit("tp", s.tp, "ranks that share an expert's width (default 1)");
    visit("ep", s.ep, "ranks that share the experts (default 1); the busiest one is forecast");
    visit("distribution", s.distribution, "how tokens spread over experts (default balanced)");
    visit("alpha", s.alpha, "exponent of the power law (default 1.2)");
    visit("counts", s.counts, "tokens of each expert on this rank, for --distribution given");
    visit("gated", s.gated, "three matrices (gate, up, down) instead of two (default yes)");
    visit("style", s.style, "kind of kernel (default auto)");
    visit("pass", s.pass, "both products and what is around them, or one product alone (default both)");
  }
  Status check() const;

  Count local_experts() const { return ceil_div(experts, ep); }
  Count local_inter() const { return ceil_div(inter, tp); }
};

Result<Plan> plan(const Moe& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
