#include "model/role_names.h"

#include <algorithm>
#include <map>
#include <string>

#include "kernel/elementwise.h"
#include "model/recomputation.h"

namespace tilecast {
namespace {

struct NamedRole {
  std::string_view name;
  Role role;
};

// As model/build.cpp and its parts name them.
constexpr NamedRole kNamed[] = {
    {"embedding.tokens", Role::token_embedding},
    {"embedding.types", Role::type_embedding},
    {"embedding.positions", Role::position_embedding},
    {"embedding.norm", Role::embedding_norm},
    {"embedding.project", Role::embedding_projection},
    {"ahead.norm", Role::ahead_norm},
    {"ahead.join", Role::ahead_join},
    {"ahead.project", Role::ahead_projection},
    {"final_norm", Role::final_norm},
    {"attention.qkv", Role::attention_qkv},
    {"attention.q", Role::attention_query},
    {"attention.k", Role::attention_key},
    {"attention.v", Role::attention_value},
    {"attention.q_norm", Role::attention_norm},
    {"attention.k_norm", Role::attention_norm},
    {"attention.rope", Role::attention_rotation},
    {"attention.kv_write", Role::attention_cache_write},
    {"attention.prefill", Role::attention},
    {"attention.decode", Role::attention},
    {"attention.gate", Role::attention_gate},
    {"attention.out", Role::attention_out},
    {"attention.q_a", Role::latent_down},
    {"attention.kv_a", Role::latent_down},
    {"attention.q_a_norm", Role::latent_norm},
    {"attention.kv_a_norm", Role::latent_norm},
    {"attention.q_b", Role::latent_up},
    {"attention.kv_b", Role::latent_up},
    {"attention.absorb_q", Role::latent_absorb},
    {"attention.absorb_v", Role::latent_absorb},
    {"cross.q", Role::cross_query},
    {"cross.k", Role::cross_key},
    {"cross.v", Role::cross_value},
    {"cross.prefill", Role::cross_attention},
    {"cross.decode", Role::cross_attention},
    {"cross.out", Role::cross_out},
    {"scan.in", Role::scan_in},
    {"scan.in_gate", Role::scan_in},
    {"scan.gates", Role::scan_gates},
    {"scan.decays", Role::scan_gates},
    {"scan.decay_down", Role::scan_bottleneck},
    {"scan.gate_down", Role::scan_bottleneck},
    {"scan.decay_up", Role::scan_spread},
    {"scan.gate_up", Role::scan_spread},
    {"scan.conv", Role::scan_convolution},
    {"scan.rule", Role::scan_rule},
    {"scan.norm", Role::scan_norm},
    {"scan.out", Role::scan_out},
    {"mlp.gate", Role::mlp_gate},
    {"mlp.up", Role::mlp_up},
    {"mlp.act", Role::mlp_activation},
    {"mlp.down", Role::mlp_down},
    {"moe.choose", Role::expert_choice},
    {"moe.experts", Role::experts},
    {"moe.shared_scale", Role::shared_scale},
    {"moe.sum", Role::expert_sum},
    {"pooler", Role::pooler},
    {"pooler.tanh", Role::pooler},
    {"classifier", Role::classifier},
    {"projection", Role::projection},
    {"head.transform", Role::head_transform},
    {"head.act", Role::head_activation},
    {"head.norm", Role::head_norm},
    {"head.project", Role::head_projection},
    {"loss", Role::loss},
    {"sample", Role::sample},
    {"optimizer", Role::optimizer},
};

// Whole groups of names.
constexpr NamedRole kPrefixes[] = {
    {"patches.", Role::patches},          {"audio.", Role::audio},
    {"indexer.", Role::indexer},          {"moe.router", Role::router},
    {"moe.experts", Role::expert_part},   {"moe.shared_gate", Role::shared_gate},
    {"moe.shared.", Role::shared_expert},
};

// "lm_head", "head" or "model.score_head", but not "attention.heads" or "multi_head_attention".
bool names_head(std::string_view name) {
  while (!name.empty()) {
    const std::size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    if (part == "head" || part.ends_with("_head")) return true;
    name = dot == std::string_view::npos ? "" : name.substr(dot + 1);
  }
  return false;
}

bool is_sum(const Shape& shape) {
  const auto* e = shape.get_if<Elementwise>();
  return e && e->op == PointwiseOp::add;
}

Role by_ending(std::string_view name, const Shape& shape) {
  if (is_sum(shape) && name.ends_with("residual")) return Role::residual;
  if (name.ends_with("_add")) return Role::embedding_sum;
  for (const std::string_view block : {"mixer", "cross", "mlp"})
    if (name.starts_with(block)) {
      const std::string_view rest = name.substr(block.size());
      if (rest == "_norm" || rest == "_post_norm") return Role::block_norm;
      if (rest == "_scale") return Role::block_scale;
    }
  return Role::other;
}

}  // namespace

Role role_from_name(std::string_view name, const Shape& shape) {
  const NamedRole* known =
      std::find_if(std::begin(kNamed), std::end(kNamed), [&](const NamedRole& n) { return n.name == name; });
  const Role exact = known == std::end(kNamed) ? Role::other : known->role;
  // Any product of a head is kept as a head's are, whatever else its name says.
  if (shape.is<Gemm>() && names_head(name)) return is_head(exact) ? exact : Role::lm_head;
  if (exact != Role::other) return exact;
  for (const NamedRole& group : kPrefixes)
    if (name.starts_with(group.name)) return group.role;
  return by_ending(name, shape);
}

void label_by_name(Section& section) {
  std::map<std::string, int, std::less<>> blocks;
  for (Operator& op : section.operators) {
    op.role = role_from_name(op.name, op.shape);
    const std::string block = op.role == Role::scan_gates ? "scan gates" : op.name.substr(0, op.name.find('.'));
    if (block != "moe") op.block = blocks.try_emplace(block, static_cast<int>(blocks.size())).first->second;
  }
  section.recomputed = section.name.ends_with(kRecomputedMark);
}

}  // namespace tilecast
