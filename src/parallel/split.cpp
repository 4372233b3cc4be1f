#include "parallel/split.h"

#include <algorithm>

#include "constants/training.h"
#include "kernel/shapes.h"
#include "model/build.h"
#include "support/arithmetic.h"
#include "support/overload.h"

namespace tilecast {
namespace {

void divide(AttentionSpec& a, Count tp) {
  a.heads /= tp;
  a.kv_heads = std::max<Count>(1, a.kv_heads / tp);  // fewer key heads than ranks: each rank has a copy of one
}

void divide(LayerSpec& layer, const RankLayout& layout) {
  const Count tp = layout.tp;
  std::visit(
      Overload{[](std::monostate) {}, [&](AttentionSpec& a) { divide(a, tp); }, [&](MlaSpec& a) { a.heads /= tp; },
               [&](ScanSpec& s) {
                 s.heads /= tp;
                 s.key_heads = std::max<Count>(1, s.key_heads / tp);
               }},
      layer.mixer);
  if (layer.cross) divide(*layer.cross, tp);
  std::visit(Overload{[](std::monostate) {}, [&](MlpSpec& m) { m.inter /= tp; },
                      [&](MoeSpec& m) {
                        m.shared_inter /= tp;
                        m.ep = layout.ep, m.tp = layout.expert_width();
                        m.gathered = static_cast<double>(layout.ep * layout.expert_width()) / static_cast<double>(tp);
                      }},
             layer.feed_forward);
}

// A rank's part of every sequence under context parallelism.
Workload divided(Workload w, const RankLayout& layout) {
  for (Requests& r : w.requests) r.new_tokens = ceil_div(r.new_tokens, static_cast<Count>(layout.cp));
  return w;
}

// Its queries still see all keys. Causal work is shared out by giving each rank one piece from the front of the
// sequence and one from the back (zigzag; Llama 3, Megatron): whichever the pair, the sum is the same.
template <class Prefill>
void see_all_keys(Prefill& a, bool causal, Count cp) {
  std::vector<Count> queries, keys;
  for (const Lengths& l : a.lengths()) {
    const Count cached = l.kv - l.q, all = l.q * cp + cached, front = causal ? l.q / 2 : 0;
    for (Count i = 0; i < l.requests; ++i) {
      if (front > 0) queries.push_back(front), keys.push_back(front + cached);
      queries.push_back(l.q - front), keys.push_back(all);
    }
  }
  a.batch = static_cast<Count>(queries.size());
  a.q_len = a.kv_len = 0;
  a.lens = std::move(queries), a.kv_lens = std::move(keys);
}

void share_context(Graph& graph, Count cp) {
  for (Section& section : graph.sections)
    for (Operator& op : section.operators) {
      if (auto* a = op.shape.get_if<AttentionPrefill>())
        see_all_keys(*a, a->mask == AttentionMask::causal && a->window == 0, cp);
      if (auto* a = op.shape.get_if<MlaPrefill>()) see_all_keys(*a, true, cp);
    }
}

// Rounds of a ring are kernels of their own, whose results are weighed by their softmax' sums and added up, as
// gradients of queries are (Transformer Engine): that traffic, half of it in either pass, stands in front of attention.
void add_up_rounds(Graph& graph, Count cp) {
  const double moved = (constants::kRingOnce.value + constants::kRingRound.value * real(cp)) / 2;
  constexpr double kCopied = 2 + 2;  // bytes a number of a copy, read and written
  for (Section& section : graph.sections)
    for (std::size_t i = 0; i < section.operators.size(); ++i) {
      Operator& attention = section.operators[i];
      const bool prefill = attention.shape.is<AttentionPrefill>() || attention.shape.is<MlaPrefill>();
      if (!prefill || attention.inputs.empty() || attention.outputs.empty()) continue;
      const Count result = section.tensors[static_cast<std::size_t>(attention.outputs.front())].elements;
      Operator rounds;
      rounds.name = "attention.rounds", rounds.role = Role::attention;
      Copy copy;
      copy.elements = std::max<Count>(1, static_cast<Count>(real(result) * moved / kCopied));
      rounds.shape = copy;
      const auto queries = static_cast<std::size_t>(attention.inputs.front());
      section.tensors.push_back({rounds.name, section.tensors[queries].elements, section.tensors[queries].kind});
      const int added = static_cast<int>(section.tensors.size()) - 1;
      rounds.inputs = {attention.inputs.front()}, rounds.outputs = {added};
      attention.inputs.front() = added;
      section.operators.insert(section.operators.begin() + static_cast<std::ptrdiff_t>(i), std::move(rounds));
      ++i;
    }
}

// Works token by token on the residual stream, outside the blocks that tensor parallelism divides.
bool on_stream(const Operator& op) {
  switch (op.role) {
    case Role::block_norm:
    case Role::block_scale:
    case Role::residual:
    case Role::final_norm:
    case Role::embedding_sum:
    case Role::embedding_norm:
    case Role::ahead_norm:
    case Role::ahead_join:
    case Role::router:
    case Role::expert_choice:
    case Role::expert_sum:
    case Role::shared_gate:
    case Role::shared_scale: return true;
    default: return false;
  }
}

// Not divided by tensor parallelism: every rank has all of the weights and does all of the work.
bool undivided(const Operator& op) {
  switch (op.role) {
    case Role::type_embedding:
    case Role::position_embedding:
    case Role::embedding_projection:
    case Role::patches:
    case Role::audio:
    case Role::latent_down:
    case Role::latent_norm:
    case Role::indexer:
    case Role::scan_bottleneck:
    case Role::pooler:
    case Role::classifier:
    case Role::projection:
    case Role::head_transform:
    case Role::head_projection: return true;
    default: return false;
  }
}

Count shared(Count n, Count tp) { return n > 0 ? ceil_div(n, tp) : n; }

void share_tokens(Operator& op, Count tp) {
  visit(Overload{[&](RmsNorm& s) { s.rows = shared(s.rows, tp); }, [&](LayerNorm& s) { s.rows = shared(s.rows, tp); },
                 [&](Softmax& s) { s.rows = shared(s.rows, tp); }, [&](Gemm& s) { s.m = shared(s.m, tp); },
                 [&](Copy& s) { s.elements = shared(s.elements, tp); },
                 [&](Elementwise& s) {
                   s.elements = shared(s.elements, tp);
                   s.rows = shared(s.rows, tp);
                 },
                 [](auto&) {}},
        op.shape);
}

void share_stream(Graph& graph, Count tp) {
  for (Section& section : graph.sections) {
    std::vector<bool> smaller(section.tensors.size(), false);
    if (!section.tensors.empty() && section.tensors.front().kind == TensorKind::activation) smaller[0] = true;
    for (Operator& op : section.operators) {
      if (!on_stream(op)) continue;
      share_tokens(op, tp);
      for (int t : op.outputs) smaller[static_cast<std::size_t>(t)] = true;
    }
    for (std::size_t i = 0; i < section.tensors.size(); ++i)
      if (smaller[i]) section.tensors[i].elements = shared(section.tensors[i].elements, tp);
  }
}

}  // namespace

ModelSpec rank_spec(const ModelSpec& spec, const RankLayout& layout) {
  ModelSpec rank = spec;
  for (auto* stack : {rank.encoder ? &*rank.encoder : nullptr, rank.decoder ? &*rank.decoder : nullptr})
    if (stack)
      for (LayerRun& run : stack->layers) divide(run.layer, layout);
  rank.ahead.parts = layout.tp;
  // Engines pad the vocabulary so that it divides.
  if (rank.vocab > 0) rank.vocab = ceil_div(rank.vocab, static_cast<Count>(layout.tp));
  return rank;
}

Result<Graph> rank_graph(const ModelSpec& spec, const RankLayout& layout, const Workload& workload) {
  auto graph = build(rank_spec(spec, layout), divided(workload, layout));
  if (!graph) return graph;
  if (layout.cp > 1) share_context(*graph, layout.cp);
  if (layout.cp > 1 && layout.context == ContextScheme::ring && workload.mode == Mode::train)
    add_up_rounds(*graph, layout.cp);
  if (layout.sequence_parallel) share_stream(*graph, layout.tp);
  return graph;
}

bool is_repeated(const Operator& op, const RankLayout& layout) {
  if (layout.tp == 1) return false;
  if (on_stream(op)) return !layout.sequence_parallel;
  return undivided(op);
}

}  // namespace tilecast
