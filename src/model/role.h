// What an operator is in a network. Sharding, fusing and pricing use it; names are for people.
#pragma once

#include <cstdint>

namespace tilecast {

enum class Role : std::uint8_t {
  other,  // of an imported graph: nothing is known but the kernel
  // Operators that create the stream from tokens, images or sound.
  token_embedding,
  type_embedding,
  position_embedding,
  embedding_sum,  // positions or types added to the stream
  embedding_norm,
  embedding_projection,
  ahead_norm,
  ahead_join,
  ahead_projection,
  patches,
  audio,
  // On the stream, around the blocks of a layer.
  block_norm,
  block_scale,
  residual,
  final_norm,
  // Softmax attention, plain and latent.
  attention_qkv,
  attention_query,
  attention_key,
  attention_value,
  attention_norm,  // of queries or keys, head by head
  attention_rotation,
  attention_cache_write,
  attention,
  attention_gate,
  attention_out,
  latent_down,  // to the latent vectors of queries, or of keys and values
  latent_norm,
  latent_up,      // from them to heads
  latent_absorb,  // the up-projection, taken on by queries or results
  indexer,
  cross_query,
  cross_key,
  cross_value,
  cross_attention,
  cross_out,
  // Linear attention and state spaces.
  scan_in,
  scan_gates,
  scan_bottleneck,  // down to as little as a head ...
  scan_spread,      // ... and up again
  scan_convolution,
  scan_rule,
  scan_norm,
  scan_out,
  // Feed-forward blocks and mixtures of experts.
  mlp_gate,
  mlp_up,
  mlp_activation,
  mlp_down,
  router,
  expert_choice,
  experts,
  expert_part,  // of experts that run one by one
  shared_expert,
  shared_gate,
  shared_scale,
  expert_sum,
  adapter,  // of low rank, beside a frozen product
  // Operators at the end of the stream.
  pooler,
  classifier,
  projection,
  head_transform,
  head_activation,
  head_norm,
  head_projection,
  lm_head,
  loss,
  sample,
  optimizer,
};

// What the pieces of an operator are that is written out as several.
Role part_of(Role whole);

// A product that turns the stream into logits, or one on the way there: kept in the type of activations.
bool is_head(Role role);
bool is_expert(Role role);

// Products of one block that read the same input can run as one (queries, keys and values; gate and up).
// Imported graphs have blocks without a name besides: theirs are only told apart.
inline constexpr int kNoBlock = -1;
enum Block : int { attention_block, cross_attention_block, indexer_block, scan_block, scan_gates_block, mlp_block };
int block_of(Role role);

// Products of the blocks that let tokens see each other, attention and scans, by what they do there.
enum class MixerProduct : std::uint8_t {
  none,    // another operator
  in,      // from the stream
  beside,  // small ones beside those: a scan's gates and decays
  index,
  up,  // from latent vectors to heads
  cross,
  out,  // to the stream
};
MixerProduct mixer_product(Role role);

enum class SectionKind : std::uint8_t {
  other,
  embedding,  // tokens
  front_end,  // images or sound
  layer,
  ahead,  // joins the stream with the tokens that follow, in front of a head for the token after the next one
  norm,   // after an encoder's last layer
  head,
  optimizer,
};

// Which part of a model a section is.
struct SectionPart {
  SectionKind kind = SectionKind::other;
  bool encoder = false;  // of the encoder's stack, not the decoder's
  int layer = 0;         // which of the stack's kinds of layers (layer_kinds)
};

}  // namespace tilecast
