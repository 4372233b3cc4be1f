#include "model/role.h"

namespace tilecast {

Role part_of(Role whole) {
  switch (whole) {
    case Role::experts: return Role::expert_part;
    case Role::residual:
    case Role::embedding_sum: return Role::other;  // a piece of a sum is no sum
    default: return whole;
  }
}

bool is_head(Role role) {
  return role == Role::lm_head || role == Role::head_transform || role == Role::head_projection;
}

bool is_expert(Role role) { return role == Role::experts || role == Role::expert_part; }

int block_of(Role role) {
  switch (role) {
    case Role::attention_qkv:
    case Role::attention_query:
    case Role::attention_key:
    case Role::attention_value:
    case Role::attention_out:
    case Role::latent_down:
    case Role::latent_up: return attention_block;
    case Role::cross_query:
    case Role::cross_key:
    case Role::cross_value:
    case Role::cross_out: return cross_attention_block;
    case Role::indexer: return indexer_block;
    case Role::scan_gates: return scan_gates_block;  // never quantised, and a product apart in every engine
    case Role::scan_in:
    case Role::scan_bottleneck:
    case Role::scan_spread:
    case Role::scan_out: return scan_block;
    case Role::mlp_gate:
    case Role::mlp_up:
    case Role::mlp_down: return mlp_block;
    default: return kNoBlock;
  }
}

MixerProduct mixer_product(Role role) {
  switch (role) {
    case Role::attention_qkv:
    case Role::attention_query:
    case Role::attention_key:
    case Role::attention_value:
    case Role::attention_gate:
    case Role::latent_down:
    case Role::scan_in: return MixerProduct::in;
    case Role::scan_gates:
    case Role::scan_bottleneck:
    case Role::scan_spread: return MixerProduct::beside;
    case Role::indexer: return MixerProduct::index;
    case Role::latent_up: return MixerProduct::up;
    case Role::cross_query:
    case Role::cross_key:
    case Role::cross_value:
    case Role::cross_out: return MixerProduct::cross;
    case Role::attention_out:
    case Role::scan_out: return MixerProduct::out;
    default: return MixerProduct::none;
  }
}

}  // namespace tilecast
