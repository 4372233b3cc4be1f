// What ranks send each other while a micro-batch passes through a model's sections, and once in a step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/collective.h"
#include "cluster/expert_exchange.h"
#include "engine/run.h"
#include "parallel/layout.h"

namespace tilecast {

// One kind of call in one section of a rank's graph.
struct Exchange {
  std::string name;  // "attention all-reduce"
  Axis axis = Axis::tensor;
  Pass pass = Pass::forward;
  std::size_t section = 0;  // of the rank's forward graph
  Collective call;
  std::optional<ExpertExchange> experts = {};  // by kernels made for it, in place of `call`
  double times = 1;                            // for one micro-batch and one repeat of the section
  bool beside = false;                         // may run while the section computes
  int stride = 1;                              // between the ranks that take part, as they are numbered
};

// Facts about a run that sizes of messages follow from.
struct ExchangeSetting {
  const ModelSpec& spec;  // of the whole model
  const RankLayout& layout;
  const Workload& workload;  // of a data parallel group's micro-batch
  const EngineOptions& engine;
  const TrainingSetup& training;
  int gpus_per_node = 8;
};

// Exchanges of tensor, context and expert parallel ranks. `forward` is the rank's graph (parallel/split.h).
std::vector<Exchange> layer_exchanges(const Graph& forward, const ExchangeSetting& setting);

// Gathering of sharded weights and scattering of gradients that every micro-batch repeats (ZeRO 2 and 3), section by
// section.
std::vector<Exchange> shard_exchanges(const Graph& forward, const ExchangeSetting& setting);

// Bytes of memory that a micro-batch moves of each parameter to make sharded gradients ready for scattering: into one
// buffer, cast to the type they travel in, divided by the ranks (PyTorch 2.0's FSDP, _post_backward_hook).
double bytes_before_scatter(const ExchangeSetting& setting);

// Sums of gradients and gathering of updated weights, once in a step, for `dense` and `experts` parameters of a rank.
std::vector<Exchange> step_exchanges(Count dense, Count experts, const ExchangeSetting& setting);

// Gradients of a table that the first and the last pipeline stage both hold (an embedding that the head, or a head for
// further tokens, shares): summed between the two once all others are (Megatron-Core's
// distributed/finalize_model_grads.py, over the embedding group). `table`: weights of a rank.
Exchange tied_exchange(Count table, const ExchangeSetting& setting);

// Whether one of those runs beside computation: gradients beside the last backward pass, weights beside the next step's
// first forward pass.
inline bool hides(const RankLayout& layout, const Exchange& once) {
  return layout.overlap && (once.pass == Pass::backward || layout.gather_overlap);
}

// A micro-batch's activations between two stages, of one rank.
Collective stage_send(const ExchangeSetting& setting);

}  // namespace tilecast
