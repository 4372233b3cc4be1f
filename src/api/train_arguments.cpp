#include "api/train_arguments.h"

#include <fmt/format.h>

#include "engine/narrow.h"

namespace tilecast {
namespace {

std::vector<Scope> within(const std::vector<Scope>& scopes, Scope more) {
  std::vector<Scope> all = scopes;
  all.push_back(std::move(more));
  return all;
}

// Layers from the end on keep their products wide.
Status widen_last(ModelSpec& spec, Count layers) {
  if (layers == 0) return Ok{};
  StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  if (layers > stack.layer_count())
    return field_error("wide-layers", fmt::format("the model has {} layers", stack.layer_count()), "give fewer");
  std::vector<LayerRun> runs;
  for (auto run = stack.layers.rbegin(); run != stack.layers.rend(); ++run) {
    const Count wide = std::min(layers, run->repeats), rest = run->repeats - wide;
    layers -= wide;
    LayerRun last = *run;
    last.repeats = wide, last.layer.wide = true;
    if (wide > 0) runs.push_back(last);
    run->repeats = rest;
    if (rest > 0) runs.push_back(*run);
  }
  stack.layers.assign(runs.rbegin(), runs.rend());
  return Ok{};
}

}  // namespace

void declare_training(Declare& list, TrainMethod& m, const std::vector<Scope>& scopes) {
  const Scope narrow{"train-precision", {"fp8-delayed", "fp8-current", "fp8-row", "fp8-block", "mxfp8", "nvfp4"}};
  const Scope adapters{"tune", {"lora", "qlora"}};
  constexpr double kMostRank = 1 << 16, kMostLayers = 1e6, kMostHeads = 64;
  list.add(m.precision, {.name = "train-precision",
                         .help = "train: recipe of products narrower than 16 bits; their casts are priced with them",
                         .example = "fp8-current",
                         .scopes = scopes});
  list.add(m.fp8_attention, {.name = "fp8-attention",
                             .help = "train: attention itself reads fp8 (Transformer Engine's fp8 attention)",
                             .scopes = within(scopes, narrow)});
  list.add(m.wide_layers, {.name = "wide-layers",
                           .help = "train: layers at the end whose products stay in 16 bits",
                           .example = "4",
                           .least = 0,
                           .most = kMostLayers,
                           .scopes = within(scopes, narrow)});
  list.add(m.tune, {.name = "tune",
                    .help = "train: which weights learn; lora: adapters beside frozen products, qlora: kept in 4 bits",
                    .example = "lora",
                    .scopes = scopes});
  list.add(m.rank, {.name = "lora-rank",
                    .help = "train: rank of the adapters",
                    .example = "64",
                    .least = 1,
                    .most = kMostRank,
                    .scopes = within(scopes, adapters)});
  list.add(m.targets, {.name = "lora-targets",
                       .help = "train: products with adapters; qv: queries and values",
                       .example = "attention",
                       .scopes = within(scopes, adapters)});
  list.add(m.objective, {.name = "objective",
                         .help = "train: dpo counts pairs of sequences, which a frozen reference reads too",
                         .example = "dpo",
                         .scopes = scopes});
  list.add(m.dispatch, {.name = "token-dispatch",
                        .help = "train, with ep: how tokens reach experts on other ranks; deepep: once for each rank (DeepEP, hybrid-EP); "
                                "deepep-fp8: there in fp8, back in 16 bits",
                        .example = "deepep",
                        .scopes = scopes.empty() ? scopes : within(scopes, {"ep"})});  // plans choose ep themselves
  list.add(m.dispatch_overlap, {.name = "dispatch-overlap",
                                .help = "train, with ep: tokens travel while another micro-batch computes (Megatron's "
                                        "overlap_moe_expert_parallel_comm)",
                                .scopes = scopes.empty() ? scopes : within(scopes, {"ep"})});
  list.add(m.mtp_heads, {.name = "mtp-heads",
                         .help = "train: multi-token prediction, a layer and a loss for each token beyond the next one",
                         .example = "1",
                         .least = 0,
                         .most = kMostHeads,
                         .scopes = scopes});
}

Status apply(const TrainMethod& m, Run& run) {
  auto* spec = std::get_if<ModelSpec>(&run.model);
  if (!spec && (m.tune != FineTune::full || m.wide_layers > 0))
    return field_error(m.tune != FineTune::full ? "tune" : "wide-layers",
                       "needs a model known by its configuration, not a graph of given shapes", "leave it out");
  if (m.precision != TrainPrecision::none) {
    if (run.engine.precision.linear.weight_bits < 16)
      return field_error("train-precision", "casts products of a 16-bit model; the run's are narrower already",
                         "give dtype bf16, or leave one of the two out");
    run.training.options.precision = m.precision;
    if (m.fp8_attention) run.engine.precision.attention = *format_from("fp8_static");
  }
  run.training.token_dispatch = m.dispatch, run.training.dispatch_beside = m.dispatch_overlap;
  if (m.mtp_heads > 0) {
    if (!spec || !spec->decoder || spec->encoder || !spec->lm_head)
      return field_error("mtp-heads", "needs a decoder that predicts tokens, known by its configuration",
                         "leave it out");
    spec->ahead.heads = m.mtp_heads;
  }
  if (spec)
    if (auto fine = widen_last(*spec, m.wide_layers); !fine) return fine;
  if (m.tune != FineTune::full) spec->adapters = AdapterSpec{m.rank, m.targets, m.tune == FineTune::qlora};
  if (m.objective == Objective::dpo) {
    run.training.options.reference = true;
    for (Requests& r : run.workload.requests) r.count *= 2;
  }
  return Ok{};
}

Status check_card(const TrainMethod& m, const Gpu& gpu) {
  const NarrowRecipe* recipe = narrow_recipe(m.precision);
  if (!recipe) return Ok{};
  const bool scales_itself = m.precision == TrainPrecision::mxfp8 || m.precision == TrainPrecision::nvfp4;
  const bool blackwell = gpu.tensor_generation() == TensorGeneration::tcgen05;
  const bool multiplies = gpu.has_tensor(recipe->product.math, DType::fp32);
  if (multiplies && (!scales_itself || blackwell || gpu.vendor == Vendor::amd)) return Ok{};
  return field_error("train-precision", fmt::format("{} does not multiply {}", gpu.name, name_of(m.precision)),
                     multiplies ? "fp8-current or fp8-delayed" : "leave it out");
}

}  // namespace tilecast
