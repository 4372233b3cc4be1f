// Tokens per expert on the rank a mixture-of-experts forecast is about: the busiest one.
#pragma once

#include <vector>

#include "kernel/moe.h"

namespace tilecast {

struct MoeLoads {
  std::vector<Count> rows;  // expected rows (token, expert pairs) of each touched expert, descending; no zeros
  Count total = 0;          // their sum

  // What holds for every routing of this many tokens, unless their routing is given. A token visits an expert at most
  // once, so `r` rows touch at least ceil(r / tokens) experts, and come from at least ceil(r / min(topk, experts here))
  // tokens.
  Count certain_rows = 0;
  Count certain_experts = 0;
  Count certain_tokens = 0;
  Count assumed_experts = 0;  // touched if the distribution is as named; a `balanced` one is an assumption
};

// balanced   rows as even as possible over experts, experts over ranks.
// power_law  The load of an expert is a draw of a bounded power law, density ~ x^-alpha on [1, 0.8 tokens], or on
//            [0.01, 2] when there are no more rows than experts; scaled so that the loads sum to tokens * topk, rounded
//            and capped at `tokens`. Rows that are then missing go one by one to the lightest expert, those too many
//            come from the heaviest; ranks take turns (the construction of the public AIConfigurator collector,
//            power_law_logits_v3). Instead of random draws we take the draws' quantiles (i + 1/2) / experts, so the
//            loads are near the expected ones and always the same. Experts fall on ranks at random and the busiest rank
//            is forecast, in the mean of a fixed sequence of deals.
// given      `counts`.
MoeLoads moe_loads(const Moe& shape);

// Loads of tokens that choose their experts evenly but at random, as a benchmark of random scores measures: an expert's
// rows are a draw of a binomial distribution, and we take its quantiles (i + 1/2) / experts. What is certain for
// `balanced` loads is certain for these.
MoeLoads random_moe_loads(const Moe& shape);

}  // namespace tilecast
