#include "parallel/framework.h"

#include <algorithm>

#include "constants/training.h"

namespace tilecast {
namespace {

// Megatron-Core's layers are Transformer Engine's: cuDNN's attention from Hopper on, norms, rotations and gates one
// kernel each, gradients of weights added to fp32 buffers in the product's epilogue (gradient_accumulation_fusion), a
// loss over the divided vocabulary in place. With sequence parallelism layers.py gathers inputs and scatters gradients
// beside the backward products.
constexpr FrameworkRecipe megatron_core() {
  FrameworkRecipe r;
  r.attention = AttentionForm::cudnn;
  r.fused_norms = r.fused_layers = r.merged_projections = true;
  r.loss = LossForm::in_place;
  r.fused_optimizer = r.wide_gradients = true;
  r.gradient_sum = GradientSum::in_product;
  r.stops_early = false;  // megatron/core/tensor_parallel/random.py, CheckpointFunction
  r.sharding = Sharding::optimizer;
  r.sequence_parallel = true;
  r.tensor_overlap = TensorOverlap::backward;
  return r;
}

constexpr FrameworkRecipe megatron() {
  FrameworkRecipe r = megatron_core();
  r.framework = Framework::megatron;
  r.release = "Megatron-LM core_r0.13.0";
  r.page = "megatron/core/distributed/distributed_data_parallel_config.py, megatron/core/tensor_parallel/layers.py";
  // Both overlaps and the distributed optimizer are flags that are off by default.
  r.sharding = Sharding::none, r.overlap = r.gather_overlap = r.sequence_parallel = false;
  return r;
}

constexpr FrameworkRecipe nemo() {
  FrameworkRecipe r = megatron_core();
  r.framework = Framework::nemo;
  r.release = "NeMo 2, 25.09";
  r.page = "docs.nvidia.com/nemo-framework/user-guide/25.09, communication overlap";
  r.engine = EngineKind::cudagraph;
  r.tensor_overlap = TensorOverlap::pipelined;
  return r;
}

constexpr FrameworkRecipe bridge() {
  FrameworkRecipe r = nemo();
  r.framework = Framework::bridge;
  r.release = "Megatron-Bridge 0.4.0";
  r.page = "docs.nvidia.com/nemo/megatron-bridge/0.4.0, communication overlap";
  return r;
}

constexpr FrameworkRecipe torchtitan() {
  FrameworkRecipe r;
  r.framework = Framework::torchtitan;
  r.release = "torchtitan 0.1, commit 000204a";
  r.page = "torchtitan/config/job_config.py";
  r.engine = EngineKind::pytorch, r.attention = AttentionForm::fused;
  r.fused_norms = true, r.fused_optimizer = true;
  // fp32 shards, gathered in bf16; gradients reduced in fp32 (mixed_precision_param and _reduce).
  r.mixed = MixedPrecision::master, r.wide_gradients = true;
  r.sharding = Sharding::parameters, r.sequence_parallel = true;
  r.tensor_overlap = TensorOverlap::none;
  r.recompute = Recompute::alternate;  // mode selective, option 2
  return r;
}

constexpr FrameworkRecipe deepspeed() {
  FrameworkRecipe r;
  r.framework = Framework::deepspeed;
  r.release = "DeepSpeed 0.16";
  r.page = "deepspeed.ai/docs/config-json";
  r.fused_optimizer = true;  // FusedAdam
  r.stops_early = false;     // runtime/activation_checkpointing/checkpointing.py, CheckpointFunction
  r.mixed = MixedPrecision::master;
  r.tensor_overlap = TensorOverlap::none;
  r.overlap = r.gather_overlap = false, r.shard_overlap = true;  // overlap_comm, off but for stage 3
  return r;
}

constexpr FrameworkRecipe nanotron() {
  FrameworkRecipe r;
  r.framework = Framework::nanotron;
  r.release = "nanotron, commit 2411b02 (the Ultra-Scale benchmarks')";
  r.page = "src/nanotron/models/llama.py, parallel/tensor_parallel/functional.py, optim/gradient_accumulator.py";
  r.attention = AttentionForm::flash2;
  r.fused_norms = true;                                            // TritonRMSNorm
  r.merged_projections = true;                                     // qkv_proj, gate_up_proj
  r.loss = LossForm::shifted;                                      // sharded_cross_entropy over fp32 logits
  r.fused_optimizer = true;                                        // torch_adam_is_fused
  r.wide_gradients = true, r.gradient_sum = GradientSum::widened;  // fp32_grad.add_(half_param.grad) after each pass
  r.sequence_parallel = true;                                      // tp_mode REDUCE_SCATTER
  r.tensor_overlap = TensorOverlap::backward;                      // tp_linear_async_communication
  // DDP's hook starts the sums beside the last backward pass, but with CUDA_DEVICE_MAX_CONNECTIONS=1 they stand in one
  // line with its kernels; weights are gathered behind the optimizer (all_gather_coalesced).
  r.overlap = r.gather_overlap = false;
  r.balanced_stages = true;  // get_block_compute_costs
  r.longer = constants::kNanotronKernels.value;
  return r;
}

constexpr FrameworkRecipe composer() {
  FrameworkRecipe r;
  r.framework = Framework::composer;
  r.release = "Composer 0.13 and llm-foundry 0.2";
  r.page = "composer/trainer/dist_strategy.py; docs.mosaicml.com, FSDPConfig";
  r.era = EngineEra::year_2023;
  r.fused_norms = true, r.narrow_norms = true;  // torch.nn's, low_precision_layernorm
  r.loss = LossForm::fused;                     // flash-attn's
  // "amp": parameters gathered in fp32 and cast by autocast; gradients travel in bf16.
  r.mixed = MixedPrecision::autocast, r.narrow_exchange = true;
  // Whichever release of PyTorch it ran on: with recomputation to the end of each layer, rows that recompute come out 6
  // to 9 % slower beside the others (A100 80 GB and the H100 rows that choices are made on).
  r.stops_early = true;
  r.sharding = Sharding::parameters;
  r.tensor_overlap = TensorOverlap::none;
  return r;
}

constexpr std::array<FrameworkRecipe, kFrameworkNames.size()> kRecipes = {
    megatron(), nemo(), bridge(), torchtitan(), deepspeed(), nanotron(), composer()};

}  // namespace

std::vector<int> layers_by_cost(const ModelSpec& spec, int stages) {
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  std::vector<double> costs;
  ModelSpec none = spec;  // products alone: norms count for nothing
  StackSpec& bare = none.decoder ? *none.decoder : *none.encoder;
  bare.norm = NormKind::none;
  bare.layers.clear();
  for (const LayerRun& run : stack.layers) {
    ModelSpec one = none;
    (one.decoder ? *one.decoder : *one.encoder).layers = {{run.layer, 1}};
    costs.insert(costs.end(), static_cast<std::size_t>(run.repeats),
                 static_cast<double>(parameters(one) - parameters(none)));
  }
  double all = spec.lm_head ? static_cast<double>(spec.vocab * stack.hidden) : 0;
  for (const double c : costs) all += c;
  std::vector<int> layers(static_cast<std::size_t>(stages), 0);
  std::size_t stage = 0;
  double sum = 0;
  for (const double c : costs) {
    ++layers[std::min(stage, layers.size() - 1)];
    sum += c;
    if (sum > all * static_cast<double>(stage + 1) / stages) ++stage;
  }
  return layers;
}

const FrameworkRecipe& recipe_of(Framework framework) { return kRecipes[static_cast<std::size_t>(framework)]; }

void apply(const FrameworkRecipe& r, Run& run, RankLayout& layout) {
  EngineOptions& engine = run.engine;
  engine.kind = r.engine, engine.era = r.era, engine.attention = r.attention, engine.loss = r.loss;
  engine.fused_norms = r.fused_norms, engine.fused_layers = r.fused_layers, engine.narrow_norms = r.narrow_norms;
  engine.merged_projections = r.merged_projections;
  engine.precision.mixed = r.mixed;
  TrainingSetup& training = run.training;
  training.fused_optimizer = r.fused_optimizer, training.longer = r.longer;
  training.wide_gradients = r.wide_gradients, training.narrow_exchange = r.narrow_exchange;
  training.options.gradient_sum = r.gradient_sum, training.options.recompute = r.recompute;
  training.options.stops_early = r.stops_early;
  layout.sharding = layout.replicas() > 1 ? r.sharding : Sharding::none;
  layout.sequence_parallel = r.sequence_parallel && layout.tp > 1;
  layout.tensor_overlap = r.tensor_overlap;
  layout.overlap = r.overlap, layout.gather_overlap = r.gather_overlap;
  const auto* spec = std::get_if<ModelSpec>(&run.model);
  if (r.balanced_stages && layout.pp > 1 && layout.stage_layers.empty() && spec && !(spec->encoder && spec->decoder))
    layout.stage_layers = layers_by_cost(*spec, layout.virtual_stages());
}

}  // namespace tilecast
