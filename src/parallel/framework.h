// How frameworks train, as values: which kernels, what is kept in which width, what runs beside what. A recipe sets
// defaults; whatever a caller says explicitly stands.
#pragma once

#include "engine/run.h"
#include "tilecast/framework.h"
#include "tilecast/layout.h"

namespace tilecast {

struct FrameworkRecipe {
  Framework framework = Framework::megatron;
  std::string_view release, page;  // whose defaults these are, and where they were read

  // Kernels
  EngineKind engine = EngineKind::pytorch;
  EngineEra era = EngineEra::current;
  AttentionForm attention = AttentionForm::fused;
  bool fused_norms = false, fused_layers = false, merged_projections = false, narrow_norms = false;
  LossForm loss = LossForm::separate;
  bool fused_optimizer = false;
  double longer = 1;  // than the kernels that all this makes, as it was measured to be

  // State
  MixedPrecision mixed = MixedPrecision::master;
  bool wide_gradients = false;   // summed and kept in fp32
  bool narrow_exchange = false;  // ... but sent in the products' format
  GradientSum gradient_sum = GradientSum::apart;
  Recomputation recompute = {};
  bool stops_early = true;  // layers run again as torch.utils.checkpoint does it; false: to their end

  // Ranks
  Sharding sharding = Sharding::none;
  bool sequence_parallel = false;  // where there are tensor parallel ranks
  TensorOverlap tensor_overlap = TensorOverlap::inputs;
  bool overlap = true;           // gradients are exchanged beside the backward pass
  bool gather_overlap = true;    // updated weights are gathered beside the next forward pass
  bool shard_overlap = false;    // both, where weights are sharded, whatever they are otherwise
  bool balanced_stages = false;  // layers are shared out so that the head counts as what it costs
};

const FrameworkRecipe& recipe_of(Framework framework);

// Layers of each pipeline stage where blocks are dealt out by their products' sizes, the head's among them: a stage
// takes blocks until its share of the cost is exceeded (nanotron's build_model).
std::vector<int> layers_by_cost(const ModelSpec& spec, int stages);

// Everything the recipe says of a run and its layout. What is changed afterwards overrides it.
void apply(const FrameworkRecipe& recipe, Run& run, RankLayout& layout);

}  // namespace tilecast
