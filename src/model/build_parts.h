// The pieces a layer is built from (model/build.cpp).
#pragma once

#include "model/section_builder.h"
#include "model/spec.h"
#include "model/workload.h"

namespace tilecast {

// What the operators of a stack have in common.
struct StackContext {
  const StackSpec& stack;
  const Workload& workload;  // of this stack: an encoder's requests are whole sources
  Count tokens = 0;
  const Workload* source = nullptr;  // what cross-attention looks at
};

int build_norm(SectionBuilder& b, Role role, const std::string& name, int x, Count rows, const StackSpec& stack);

// Each returns what is added to the stream.
int build_attention(SectionBuilder& b, const AttentionSpec& a, int x, const StackContext& at, Spelling spelling);
int build_cross_attention(SectionBuilder& b, const AttentionSpec& a, int x, const StackContext& at, Spelling spelling);
int build_mla(SectionBuilder& b, const MlaSpec& a, int x, const StackContext& at);
int build_scan(SectionBuilder& b, const ScanSpec& s, int x, const StackContext& at);
// The roles of a feed-forward block's operators.
struct MlpRoles {
  Role gate = Role::mlp_gate, up = Role::mlp_up, activation = Role::mlp_activation, down = Role::mlp_down;
};
int build_mlp(SectionBuilder& b, const std::string& name, const MlpSpec& m, int x, Count rows, Count hidden,
              const MlpRoles& roles = {});
int build_moe(SectionBuilder& b, const MoeSpec& m, int x, const StackContext& at);

}  // namespace tilecast
