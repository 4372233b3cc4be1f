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
    case Role::latent_up: return 0;
    case Role::cross_query:
    case Role::cross_key:
    case Role::cross_value:
    case Role::cross_out: return 1;
    case Role::indexer: return 2;
    case Role::scan_in:
    case Role::scan_gates:
    case Role::scan_bottleneck:
    case Role::scan_spread:
    case Role::scan_out: return 3;
    case Role::mlp_gate:
    case Role::mlp_up:
    case Role::mlp_down: return 4;
    default: return kNoBlock;
  }
}

}  // namespace tilecast
