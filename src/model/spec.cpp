#include "model/spec.h"

#include <map>

#include "support/overload.h"

namespace tilecast {
namespace {

Count norm_size(const StackSpec& stack) {
  if (stack.norm == NormKind::none || !stack.norm_scale) return 0;
  return stack.norm_bias ? 2 * stack.hidden : stack.hidden;
}
// Of one over the embeddings' own width, where they are narrower than the layers.
Count table_width(const StackSpec& stack) { return stack.factored ? stack.embedding_dim : stack.hidden; }
Count table_norm_size(const StackSpec& stack) { return norm_size(stack) / stack.hidden * table_width(stack); }

// A feed-forward part without its router: its matrices, and a bias for each of its products.
Count mlp_size(Count hidden, Count inter, bool gated, bool bias) {
  const Count ins = gated ? 2 : 1;
  return (ins + 1) * hidden * inter + (bias ? ins * inter + hidden : 0);
}

Count size_of(const AttentionSpec& a, Count hidden) {
  const Count q = a.heads * a.head_dim * (a.gate ? 2 : 1), k = a.kv_heads * a.head_dim;
  const Count v = a.kv_heads * a.value_dim(), out = a.heads * a.value_dim();
  Count sum = hidden * (q + k + v) + out * hidden;
  if (a.q_bias) sum += q;
  if (a.kv_bias) sum += v + (a.key_bias ? k : 0);
  if (a.out_bias) sum += hidden;
  if (a.qk_norm && a.qk_norm_scale) {
    const Count norms = a.qk_norm_wide || a.qk_norm_each ? a.heads + a.kv_heads : 2;
    sum += (a.qk_norm_bias ? 2 : 1) * norms * a.head_dim;
  }
  if (a.sinks) sum += a.heads;
  return sum;
}

Count size_of(const MlaSpec& m, Count hidden) {
  const Count q = m.heads * (m.nope_dim + m.rope_dim);
  Count sum = m.q_rank > 0 ? hidden * m.q_rank + m.q_rank + m.q_rank * q : hidden * q;  // down, norm, up
  sum += hidden * (m.kv_rank + m.rope_dim) + m.kv_rank + m.kv_rank * m.heads * (m.nope_dim + m.v_dim);
  sum += m.heads * m.v_dim * hidden;
  if (m.index_topk > 0) {
    // The indexer: queries from the latent, one key with a LayerNorm, one weight per head.
    const Count latent = m.q_rank > 0 ? m.q_rank : hidden;
    sum += latent * m.index_heads * m.index_dim + hidden * m.index_dim + 2 * m.index_dim + hidden * m.index_heads;
  }
  return sum;
}

// Channels that pass the short convolution.
Count conv_channels(const ScanSpec& s) { return s.heads * s.head_dim + 2 * s.key_heads * s.key_dim; }

Count size_of(const ScanSpec& s, Count hidden) {
  const Count value = s.heads * s.head_dim, key = s.key_heads * s.key_dim;
  const Count conv = conv_channels(s) * (s.conv_width + (s.conv_bias ? 1 : 0));
  const Count products = hidden * (2 * key + value) + value * hidden;  // queries, keys, values; output
  switch (s.rule) {
    case ScanRule::gated_delta:  // an output gate as wide as the values, two numbers a head; dt, A; norm of a head
      return products + conv + hidden * (value + 2 * s.heads) + 2 * s.heads + s.head_dim;
    case ScanRule::mamba2:  // gate, a step a head; dt, A and D; a norm over all channels
      return products + conv + hidden * (value + s.heads) + 3 * s.heads + value +
             (s.bias ? conv_channels(s) + value + s.heads + hidden : 0);
    case ScanRule::kda:  // decays and gate through a bottleneck of one head's width; a step a head; dt, A; norm
      return products + conv + 2 * hidden * s.head_dim + s.head_dim * (key + value) + hidden * s.heads + key + s.heads +
             s.head_dim;
  }
  return 0;
}

Count size_of(const Mixer& mixer, Count hidden) {
  return std::visit(
      Overload{[](std::monostate) { return Count{0}; }, [&](const auto& m) { return size_of(m, hidden); }}, mixer);
}

// With `visited_only`, of a mixture the experts one token visits.
Count size_of(const FeedForward& part, Count hidden, bool visited_only) {
  return std::visit(Overload{[](std::monostate) { return Count{0}; },
                             [&](const MlpSpec& m) { return mlp_size(hidden, m.inter, m.gated, m.bias); },
                             [&](const MoeSpec& m) {
                               const Count experts = visited_only ? m.topk : m.experts;
                               Count sum = experts * mlp_size(hidden, m.inter, m.gated, m.bias);
                               sum += hidden * m.experts + (m.router_bias ? m.experts : 0);
                               if (m.shared_inter > 0) sum += mlp_size(hidden, m.shared_inter, m.gated, m.bias);
                               return sum + (m.shared_gate ? hidden : 0);
                             }},
                    part);
}

Count norms_of(const LayerSpec& layer, NormPlace place) {
  const Count parts = (layer.mixer.index() != 0 ? 1 : 0) + (layer.cross ? 1 : 0) + (layer.feed_forward.index() != 0);
  if (place == NormPlace::both) return 2 * parts;
  return place == NormPlace::shared ? 1 : layer.mixer_norm ? parts : parts - 1;
}

Count size_of(const LayerSpec& layer, const StackSpec& stack, bool visited_only) {
  if (layer.borrowed) return 0;
  const Count scales = stack.layer_scale ? 2 * stack.hidden : 0;
  return scales + size_of(layer.mixer, stack.hidden) + (layer.cross ? size_of(*layer.cross, stack.hidden) : 0) +
         size_of(layer.feed_forward, stack.hidden, visited_only) + norms_of(layer, stack.place) * norm_size(stack);
}

Count size_of(const StackSpec& stack, bool visited_only) {
  Count sum = relative_table(stack);
  for (const LayerRun& run : stack.layers) sum += run.repeats * size_of(run.layer, stack, visited_only);
  if (stack.final_norm) sum += norm_size(stack);
  if (stack.embedding_norm) sum += table_norm_size(stack);
  if (stack.factored) sum += (stack.embedding_dim + 1) * stack.hidden;
  else if (stack.embedding_dim > 0) sum += 2 * stack.embedding_dim * stack.hidden;
  return sum;
}

// Tables that are looked up, not multiplied.
Count tables_of(const StackSpec& stack) {
  const Count positions = stack.positions == Positions::learned ? stack.max_positions : 0;
  return (positions + stack.token_types) * table_width(stack);
}

const StackSpec* last_stack(const ModelSpec& spec) {
  return spec.decoder ? &*spec.decoder : spec.encoder ? &*spec.encoder : nullptr;
}

Count frontend_size(const ModelSpec& spec) {
  Count sum = 0;
  if (!spec.encoder) return sum;
  const Count hidden = spec.encoder->hidden;
  if (const auto& p = spec.patches)
    sum += p->channels * p->patch * p->patch * hidden + (p->bias ? hidden : 0) + p->learned_tokens() * hidden;
  if (const auto& a = spec.audio) sum += 3 * a->mel_bins * hidden + hidden + 3 * hidden * hidden + hidden;
  return sum;
}

// What follows the last stack, the vocabulary's matrix left out.
Count head_size(const ModelSpec& spec, const StackSpec& last) {
  const Count hidden = last.hidden, square = hidden * hidden + hidden;
  Count sum = 0;
  if (spec.head_transform) sum += (hidden + (spec.transform_bias ? 1 : 0)) * table_width(last) + table_norm_size(last);
  if (spec.lm_head && spec.head_bias) sum += spec.vocab;
  if (spec.pooler) sum += square;
  if (spec.classes > 0) sum += spec.classifiers * (spec.class_tokens * hidden + 1) * spec.classes;
  if (spec.projection > 0) {
    for (const auto* stack : {&spec.encoder, &spec.decoder})
      if (*stack) sum += (*stack)->hidden * spec.projection;
    if (spec.encoder && spec.decoder) sum += 1;  // the scale of the logits
  }
  return sum;
}

Count size_of(const ModelSpec& spec, bool visited_only) {
  const StackSpec* last = last_stack(spec);
  if (!last) return 0;
  Count sum = frontend_size(spec) + head_size(spec, *last);
  for (const auto* stack : {&spec.encoder, &spec.decoder})
    if (*stack) sum += size_of(**stack, visited_only) + (visited_only ? 0 : tables_of(**stack));
  const Count table = spec.vocab * (last->embedding_dim > 0 ? last->embedding_dim : last->hidden);
  const Count heads = spec.lm_head ? 1 : 0;
  if (visited_only) return sum + heads * table;
  return sum + table + (spec.tied_head ? 0 : heads * table);
}

}  // namespace

Count relative_table(const StackSpec& stack) {
  if (stack.layers.empty()) return 0;
  const auto* attention = std::get_if<AttentionSpec>(&stack.layers.front().layer.mixer);
  return attention ? attention->relative_buckets * attention->heads : 0;
}

Count parameters(const ModelSpec& spec) { return size_of(spec, false); }
Count active_parameters(const ModelSpec& spec) { return size_of(spec, true); }

CacheNeed cache_need(const ModelSpec& spec) {
  CacheNeed need;
  if (!spec.decoder) return need;
  std::map<Count, Count> by_window;
  for (const LayerRun& run : spec.decoder->layers) {
    const LayerSpec& layer = run.layer;
    if (const auto* a = std::get_if<AttentionSpec>(&layer.mixer))
      by_window[a->window] += run.repeats * a->kv_heads * (a->head_dim + a->value_dim());
    else if (const auto* m = std::get_if<MlaSpec>(&layer.mixer))
      by_window[0] += run.repeats * (m->kv_rank + m->rope_dim + (m->index_topk > 0 ? m->index_dim : 0));
    else if (const auto* s = std::get_if<ScanSpec>(&layer.mixer))
      need.state += run.repeats * (s->heads * s->head_dim * s->key_dim + conv_channels(*s) * (s->conv_width - 1));
    if (layer.cross)
      need.per_source_token += run.repeats * layer.cross->kv_heads * (layer.cross->head_dim + layer.cross->value_dim());
  }
  for (const auto& [window, per_token] : by_window) need.parts.push_back({per_token, window});
  return need;
}

}  // namespace tilecast
