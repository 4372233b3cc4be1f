#include "engine/engine.h"

#include <algorithm>

#include "engine/arrange.h"
#include "engine/attention_kernel.h"
#include "engine/host_units.h"
#include "engine/megatron_layers.h"
#include "engine/narrow.h"
#include "kernel/shapes.h"
#include "support/overload.h"
#include "support/text.h"

namespace tilecast {
namespace {

// PyTorch's own kernels are known by how they walk their tensors; contiguous ones are the ordinary case.
KernelSource pointwise_source(const Operator& op) {
  return op.walk == TorchWalk::vectorized ? KernelSource() : source_of(op.walk);
}

// A compiled or serving engine's gate is one kernel that reads both halves once: Inductor's, in vLLM's V1 too,
// FlashInfer's in SGLang and TensorRT-LLM. Those were not measured separately; the fused one in our own tables is of
// their kind (4.3 of 4.8 TB/s on an H200), PyTorch's pair of kernels beside it is not. vLLM's kernel of 2024 was slow
// (Vidur's rows: 1.0 of 2.0 TB/s on an A100) and is left to what is learned about both.
bool is_fused_gate(const Operator& op, const EngineOptions& options) {
  const bool serves =
      options.kind == EngineKind::vllm || options.kind == EngineKind::sglang || options.kind == EngineKind::trtllm;
  const bool generated = options.kind == EngineKind::compile || (serves && options.era == EngineEra::current);
  return generated && op.shape.is<GatedActivation>();
}

const Format& format_for(const Operator& op, const Section& section, const Precision& p) {
  static const Format kFull = full_precision();
  if (op.runs_as) return *op.runs_as;
  const bool statistic = !op.outputs.empty() &&
                         section.tensors[static_cast<std::size_t>(op.outputs.front())].kind == TensorKind::statistic;
  const bool widens = op.walk == TorchWalk::widen || op.walk == TorchWalk::strided_widen;
  if (statistic && !widens) return kFull;  // a conversion is known by what it reads
  return visit(Overload{
                   [&](const Gemm&) -> const Format& { return product_format(op, p, section.unquantised); },
                   [&](const Moe&) -> const Format& { return product_format(op, p, section.unquantised); },
                   [&](const Bmm&) -> const Format& { return p.attention; },
                   [&](const AttentionPrefill&) -> const Format& { return p.attention; },
                   [&](const AttentionDecode&) -> const Format& { return p.attention; },
                   [&](const AttentionBackward&) -> const Format& { return p.attention; },
                   [&](const MlaPrefill&) -> const Format& { return p.attention; },
                   [&](const MlaDecode&) -> const Format& { return p.attention; },
                   [&](const CrossEntropy&) -> const Format& { return kFull; },  // logits are cast up first
                   [&](const Sampling&) -> const Format& { return kFull; },
                   [&](const Optimizer&) -> const Format& {  // in the type of the parameters
                     return p.mixed == MixedPrecision::autocast ? kFull : p.activation;
                   },
                   [&](const auto&) -> const Format& { return p.activation; },
               },
               op.shape);
}

Shape with_cache(Shape shape, CacheType cache) {
  if (auto* a = shape.get_if<AttentionDecode>()) a->kv_dtype = cache;
  if (auto* a = shape.get_if<MlaDecode>()) a->kv_dtype = cache;
  if (auto* a = shape.get_if<AttentionPrefill>()) a->kv_dtype = cache;
  return shape;
}

// Inductor pads products whose rows would not start at multiples of 16 bytes.
Shape padded(Shape shape, const EngineOptions& options) {
  auto* g = shape.get_if<Gemm>();
  if (!g || options.kind != EngineKind::compile) return shape;
  const auto up = [](Count n) { return (n + 7) / 8 * 8; };
  g->n = up(g->n), g->k = up(g->k);
  if (g->layout == Layout::nt) g->m = up(g->m);
  return shape;
}

}  // namespace

Result<EngineKind> engine_from(std::string_view name) {
  for (std::size_t i = 0; i < kEngineNames.size(); ++i)
    if (name == kEngineNames[i]) return static_cast<EngineKind>(i);
  std::vector<std::string> names(kEngineNames.begin(), kEngineNames.end());
  return field_error("engine", "is unknown: '" + std::string(name) + "'", "one of " + join(names, ", "));
}

Launcher measured_as(EngineKind kind) {
  switch (kind) {
    case EngineKind::vllm: return Launcher::vllm;
    case EngineKind::sglang: return Launcher::sglang;
    case EngineKind::trtllm: return Launcher::trtllm;
    default: return Launcher::pytorch;
  }
}

Count Program::launches() const {
  Count n = 0;
  for (const KernelCall& call : calls) n += call.times;
  return n;
}

namespace {

bool has_experts(const Graph& graph) {
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      if (op.shape.is<Moe>()) return true;
  return false;
}
bool has_packed(const Graph& graph) {
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      if (op.weights.packed) return true;
  return false;
}

// What training adds to a step once its kernels are known.
Graph finished(Graph step, const EngineOptions& options, const TrainingOptions* training) {
  if (!training) return step;
  if (cast_code(options) == CastCode::fused) step = with_head_norm_gradients(step);
  if (const NarrowRecipe* recipe = narrow_recipe(training->precision))
    step = with_narrow_products(step, *recipe, cast_code(options), training->micro_batches);
  return has_packed(step) ? with_unpacking(step) : step;
}

Graph arranged_kernels(const Graph& graph, const EngineOptions& options, const TrainingOptions* training) {
  const Precision& p = options.precision;
  const SpellingOptions spelling{
      .eager_attention = options.eager_attention,
      .math_attention = options.math_attention,
      .dropout = options.dropout,
      .low_precision = p.activation.activation_bits < 32,
      .static_cache = options.static_cache || options.kind == EngineKind::compile,
      .fused_norm = options.fused_norms || options.fused_layers || options.kind == EngineKind::compile,
      .fused_layers = options.fused_layers,
      .compiled = options.kind == EngineKind::compile,
      .merged_projections = options.merged_projections,
      .wide_rotation = options.wide_rotation,
      // Inductor's cross-entropy reads the logits as they are, once for the loss and once for their gradient.
      .loss = options.kind == EngineKind::compile ? LossForm::fused : options.loss};
  const auto differentiated = [&](Graph forward) {
    if (p.mixed == MixedPrecision::autocast) forward = with_autocast(forward, options.narrow_norms);
    return training ? with_backward(forward, *training) : forward;
  };
  const auto spelled = [&] {
    const bool merges = options.merged_projections;
    return differentiated(spelled_out(merges ? merged_projections(graph) : graph, spelling));
  };
  switch (options.kind) {
    case EngineKind::pytorch:
    case EngineKind::pytorch_graph: return spelled();
    case EngineKind::compile: return fused_pointwise(spelled());
    case EngineKind::trtllm: return fused_rope_write(fused_residual_norms(merged_projections(graph)));
    case EngineKind::cudagraph:
      if (training) return differentiated(merged_projections(graph));
      return fused_residual_norms(merged_projections(graph));
    case EngineKind::vllm: return fused_residual_norms(merged_projections(graph));
    // Qwen 3.5's linear attention calls each of its four products (models/qwen3_5.py) up to release 0.5.9; pull request
    // 21019 of March 2026 merged them in two.
    case EngineKind::sglang: return fused_residual_norms(merged_projections(graph, options.merged_scans));
  }
  return graph;
}

}  // namespace

Graph arranged(const Graph& graph, const EngineOptions& options, const TrainingOptions* training) {
  // Narrow experts are grouped products whose operands were cast. Loads that were given are those of one kernel for all
  // experts.
  const bool narrow = training && training->precision != TrainPrecision::none;
  if (narrow && cast_code(options) == CastCode::fused && !options.routing && has_experts(graph))
    return finished(arranged_kernels(with_grouped_products(graph), options, training), options, training);
  return finished(arranged_kernels(graph, options, training), options, training);
}

Seconds launch_unit(const EngineOptions& options) {
  return options.addition > seconds(0) ? options.addition : host_cost(EngineKind::pytorch).per_launch;
}

Program lower(const Graph& graph, const EngineOptions& options) {
  Program program;
  program.host = host_cost(options.kind, options.era);
  program.engine = options.kind, program.era = options.era;
  program.torch = options.torch.value_or(torch_of(options.era));
  Context context;  // launches never wait for each other's host call: the host's stream is priced apart
  const Launcher launcher = measured_as(options.kind);
  for (const Section& section : graph.sections) {
    program.sections.push_back(
        {section.name, section.repeats, section.pass, section.part, section.forward, section.recomputed});
    for (const Operator& op : section.operators) {
      const bool fused_gate = is_fused_gate(op, options);
      context.engine = fused_gate ? Launcher(Launcher::pytorch) : launcher;
      // The serving engines call one kernel, DeepGEMM's, which reads a key once for all heads; how each of them attends
      // says nothing about it, and FlashAttention's kernels of vLLM come nearest.
      const bool scores = op.role == Role::indexer && is_attention(op.shape);
      if (scores && serves(options.kind)) context.engine = Launcher::vllm;
      context.kernel_source = attention_source(op.shape, options.kind, options.era, options.attention);
      if (context.kernel_source.empty()) context.kernel_source = pointwise_source(op);
      if (fused_gate) context.kernel_source = KernelSource::named("triton_fused");
      program.calls.push_back(
          {op.name, program.sections.size() - 1, class_of(op),
           Kernel{padded(with_cache(attention_as(op.shape, options.kind, options.era, options.attention),
                                    options.precision.cache),
                         options),
                  format_for(op, section, options.precision)},
           context, op.times * section.repeats, section.recomputed ? 0 : model_flops(op), op.unknown,
           attention_longer(op.shape, options.kind, options.era), op.role, op.weight_gradient, op.runs_as != nullptr,
           op.wgmma_longer * attention_longer_on_hopper(op.shape, options.kind, options.era), op.turns});
    }
  }
  if (options.kind == EngineKind::pytorch)
    program.host.per_launch = launch_time(program, HostCode::modules, launch_unit(options));
  return program;
}

}  // namespace tilecast
