// Layouts that only serving engines have, on top of parallel/layout.h: copies of busy experts, and the keys of a
// sequence shared out over tensor parallel ranks while it decodes.
#pragma once

#include "engine/engine.h"
#include "parallel/exchange.h"
#include "serve/step_cost.h"

namespace tilecast {

struct RankVariants {
  // Copies of experts beside one of each (vLLM's --eplb-config num_redundant_experts, SGLang's
  // --ep-num-redundant-experts).
  Count redundant = 0;
  int decode_cp = 1;  // vLLM's --decode-context-parallel-size, SGLang's --dcp-size
};

// Copies need experts over ranks, as many on each; keys are shared out where ranks would hold the same ones.
Status check(const RankVariants& variants, const RankLayout& layout, const ModelSpec& model);

// The model with so many experts as ranks keep: for the memory they take.
ModelSpec with_copies(ModelSpec model, Count redundant);
// A rank's program with copies of experts. `routing`: as the engine was told.
Status spread_copies(Program& program, Count redundant, const std::optional<Routing>& routing);

// A rank's program where each of `ranks` keeps a part of a sequence's keys: it attends to them with the queries of all.
void share_keys(Program& program, int ranks);
// What they send each other for it, one layer after the other: queries gathered, sums of exponentials gathered, outputs
// summed and scattered (vllm/v1/attention/ops, cp_lse_ag_out_rs); of prompts, the keys of the tokens before them.
Status add_key_exchanges(const Graph& graph, const ExchangeSetting& setting, int ranks, const Cluster& cluster,
                         std::vector<CallTime>& calls);

}  // namespace tilecast
