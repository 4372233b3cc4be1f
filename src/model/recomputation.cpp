#include "model/recomputation.h"

#include <algorithm>
#include <set>

#include "kernel/elementwise.h"
#include "kernel/gated_activation.h"
#include "kernel/moe.h"
#include "model/backward.h"
#include "support/text.h"

namespace tilecast {
namespace {

// Whether gradients read something that only running the operator gives: its result, the moments of a norm, a mask.
// Others need their inputs alone, which are there before they run, or nothing.
enum class Needs { nothing, inputs, result };
Needs needs_of(const Operator& op) {
  if (op.shape.is<Gemm>()) return Needs::inputs;
  if (op.shape.is<Copy>() || op.shape.is<Rope>()) return Needs::nothing;
  const auto* pointwise = op.shape.get_if<Elementwise>();
  if (!pointwise || op.spelling == Spelling::dropout) return Needs::result;
  switch (pointwise->op) {
    case PointwiseOp::add:
    case PointwiseOp::copy: return Needs::nothing;
    case PointwiseOp::relu:
    case PointwiseOp::tanh:
    case PointwiseOp::exp: return Needs::result;
    default: return Needs::inputs;
  }
}

// How many of a layer's operators run again when it stops early.
std::size_t until_all_is_there(const Section& layer) {
  for (std::size_t i = layer.operators.size(); i-- > 0;) {
    const Needs needs = needs_of(layer.operators[i]);
    if (needs == Needs::result) return i + 1;
    if (needs == Needs::inputs) return i;
  }
  return 0;
}

bool is_attention(const Operator& op) {
  return op.role == Role::attention || op.role == Role::cross_attention || op.shape.is<AttentionPrefill>() ||
         op.shape.is<MlaPrefill>();
}

// Between the experts' products: one kernel for a gate, or a function and a product with the other half.
bool is_expert_activation(const Operator& op) {
  if (!is_expert(op.role)) return false;
  if (op.shape.is<GatedActivation>()) return true;
  const auto* e = op.shape.get_if<Elementwise>();
  if (!e) return false;
  const bool function = e->op == PointwiseOp::silu || e->op == PointwiseOp::gelu || e->op == PointwiseOp::relu;
  return function || (e->op == PointwiseOp::mul && op.inputs.size() == 2);
}

bool is_latent(const Section& section) {
  return std::any_of(section.operators.begin(), section.operators.end(),
                     [](const Operator& op) { return op.role == Role::latent_up; });
}

bool belongs(const Operator& op, const Section& section, RecomputeModule module) {
  if (op.spelling == Spelling::dropout && !is_attention(op)) return false;  // behind the block, not part of it
  switch (module) {
    case RecomputeModule::core_attn: return is_attention(op);
    case RecomputeModule::layernorm: return op.role == Role::block_norm;
    case RecomputeModule::mla_up_proj:
      return op.role == Role::latent_up || op.role == Role::latent_norm ||
             (op.role == Role::attention_rotation && is_latent(section));
    case RecomputeModule::mlp:
      return op.role == Role::mlp_gate || op.role == Role::mlp_up || op.role == Role::mlp_activation ||
             op.role == Role::mlp_down;
    case RecomputeModule::moe:
      return op.role == Role::router || op.role == Role::expert_choice || is_expert(op.role) ||
             op.role == Role::shared_expert || op.role == Role::shared_gate || op.role == Role::shared_scale ||
             op.role == Role::expert_sum;
    case RecomputeModule::moe_act: return is_expert_activation(op);
    case RecomputeModule::shared_experts: return op.role == Role::shared_expert;
  }
  return false;
}

constexpr bool discards_result(RecomputeModule m) {
  return m == RecomputeModule::layernorm || m == RecomputeModule::mla_up_proj || m == RecomputeModule::moe_act;
}

// The activation of experts that are one kernel, by itself.
Operator activation_of(const Operator& op, const Moe& moe) {
  Operator act = op;
  act.name += ".act";
  const Count rows = std::max<Count>(1, moe.tokens * moe.topk * moe.local_experts() / std::max<Count>(1, moe.experts));
  if (moe.gated) {
    GatedActivation gate;
    gate.rows = rows, gate.cols = moe.local_inter();
    act.shape = gate;
  } else {
    Elementwise function;
    function.elements = rows * moe.local_inter(), function.op = PointwiseOp::gelu;
    act.shape = function;
  }
  return act;
}

}  // namespace

bool is_layer(const Section& section) { return section.repeats > 1 || section.part.kind == SectionKind::layer; }

std::optional<RecomputeModule> module_of(const Operator& op, const Section& section, const Recomputation& recompute) {
  std::optional<RecomputeModule> found;
  for (std::size_t i = 0; i < kRecomputeModuleNames.size() && found != RecomputeModule::moe; ++i)
    if (const auto m = static_cast<RecomputeModule>(i); recompute.runs(m) && belongs(op, section, m)) found = m;
  return found;
}

std::vector<RecomputeModule> modules_in(const ModelSpec& spec) {
  std::set<RecomputeModule> all;
  for (const auto* stack : {&spec.encoder, &spec.decoder}) {
    if (!*stack) continue;
    if ((*stack)->norm != NormKind::none) all.insert(RecomputeModule::layernorm);
    for (const LayerRun& run : (*stack)->layers) {
      const Mixer& mixer = run.layer.mixer;
      const bool latent = std::holds_alternative<MlaSpec>(mixer);
      if (latent || std::holds_alternative<AttentionSpec>(mixer)) all.insert(RecomputeModule::core_attn);
      if (latent) all.insert(RecomputeModule::mla_up_proj);
      if (const auto* moe = std::get_if<MoeSpec>(&run.layer.feed_forward)) {
        all.insert({RecomputeModule::moe, RecomputeModule::moe_act});
        if (moe->shared_inter > 0) all.insert(RecomputeModule::shared_experts);
      } else if (run.layer.feed_forward.index() != 0) {
        all.insert(RecomputeModule::mlp);
      }
    }
  }
  return {all.begin(), all.end()};
}

Recomputation light_recomputation(const ModelSpec& spec) {
  Recomputation light(std::initializer_list<RecomputeModule>{});
  for (const RecomputeModule m : modules_in(spec)) light.modules[static_cast<std::size_t>(m)] = discards_result(m);
  return light;
}

std::string text_of(const Recomputation& recompute) {
  if (recompute.kind == Recompute::alternate && recompute.every != 2)
    return "every " + std::to_string(recompute.every) + " layers";
  if (recompute.kind != Recompute::selective || recompute == Recomputation(Recompute::selective))
    return std::string(name_of(recompute.kind));
  return join(recompute.names(), ",");
}

bool repeats_activation_alone(const Operator& op, const Section& section, const Recomputation& recompute) {
  return is_layer(section) && op.shape.is<Moe>() && recompute.runs(RecomputeModule::moe_act) &&
         module_of(op, section, recompute) != RecomputeModule::moe;
}

std::vector<bool> operators_again(const Section& section, const Recomputation& recompute) {
  std::vector<bool> again(section.operators.size(), false);
  if (!is_layer(section)) return again;
  std::size_t products = 0;
  for (std::size_t i = 0; i < again.size(); ++i) {
    const Operator& op = section.operators[i];
    switch (recompute.kind) {
      case Recompute::none: break;
      case Recompute::full:
      case Recompute::alternate: again[i] = true; break;
      case Recompute::selective: again[i] = module_of(op, section, recompute).has_value(); break;
      case Recompute::operators: {
        const bool second = op.shape.is<Gemm>() && ++products % 2 == 0;
        const bool kept = is_attention(op) || op.shape.is<Moe>() || (op.shape.is<Gemm>() && !second);
        again[i] = !kept;
        break;
      }
    }
  }
  return again;
}

Section section_again(const Section& forward, const Recomputation& recompute, bool stops_early) {
  Section section = emptied(forward);
  const std::vector<bool> repeated = operators_again(forward, recompute);
  const bool whole = recompute.kind == Recompute::selective || !stops_early;
  const std::size_t end = whole ? forward.operators.size() : until_all_is_there(forward);
  for (std::size_t i = 0; i < end; ++i) {
    const Operator& op = forward.operators[i];
    if (repeated[i]) section.operators.push_back(op);
    else if (repeats_activation_alone(op, forward, recompute))
      section.operators.push_back(activation_of(op, op.shape.as<Moe>()));
  }
  if (recompute.kind == Recompute::alternate) section.repeats = forward.repeats / recompute.every;
  if (section.repeats == 0) section.operators.clear();
  section.recomputed = true;
  section.name += kRecomputedMark;
  section.pass = Pass::backward;
  disown(section);
  return section;
}

std::vector<int> kept_tensors(const Section& section, const Recomputation& recompute, bool pointwise_again) {
  const std::vector<bool> again = operators_again(section, recompute);
  std::vector<std::optional<RecomputeModule>> modules;
  for (const Operator& op : section.operators) modules.push_back(module_of(op, section, recompute));
  std::set<int> kept;
  for (int t : saved_tensors(section, pointwise_again)) kept.insert(t);
  for (std::size_t i = 0; i < again.size(); ++i)
    if (again[i]) kept.insert(section.operators[i].inputs.begin(), section.operators[i].inputs.end());
  // What a module hands on, those behind it keep, unless the module discards it.
  const auto read_elsewhere = [&](int tensor, const std::optional<RecomputeModule>& module) {
    for (std::size_t i = 0; i < again.size(); ++i) {
      const std::vector<int>& inputs = section.operators[i].inputs;
      if (modules[i] != module && std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (!again[i]) continue;
    for (int t : section.operators[i].outputs)
      if (!modules[i] || discards_result(*modules[i]) || !read_elsewhere(t, modules[i])) kept.erase(t);
  }
  return {kept.begin(), kept.end()};
}

}  // namespace tilecast
