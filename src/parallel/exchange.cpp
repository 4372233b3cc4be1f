#include "parallel/exchange.h"

#include <algorithm>
#include <cmath>

#include "model/build.h"
#include "support/arithmetic.h"

namespace tilecast {
namespace {

CommLibrary library_of(EngineKind kind) {
  switch (kind) {
    case EngineKind::vllm: return CommLibrary::vllm;
    case EngineKind::sglang: return CommLibrary::sglang;
    case EngineKind::trtllm: return CommLibrary::trtllm;
    default: return CommLibrary::nccl;
  }
}

// How often the exchanges of a block's forward pass happen again, of a layer that repeats so often; `modules`: those of
// selective recomputation that the block is part of. By operators, what was gathered is gathered again, and sums are
// kept.
double share_again(const Recomputation& recompute, Count repeats, std::initializer_list<RecomputeModule> modules) {
  switch (recompute.kind) {
    case Recompute::none: return 0;
    case Recompute::selective:
      return std::any_of(modules.begin(), modules.end(), [&](RecomputeModule m) { return recompute.runs(m); }) ? 1 : 0;
    case Recompute::alternate: return real(repeats / recompute.every) / real(repeats);
    case Recompute::operators:
    case Recompute::full: return 1;
  }
  return 0;
}

// Writes the exchanges of one section after the other.
class ExchangeWriter {
 public:
  explicit ExchangeWriter(const ExchangeSetting& setting)
      : at_(setting),
        trains_(setting.workload.mode == Mode::train),
        element_(setting.engine.precision.activation.activation_bits / 8) {}

  void start(std::size_t section, double hidden, double tokens, Count repeats = 1) {
    section_ = section, hidden_ = hidden, tokens_ = tokens, repeats_ = repeats;
  }
  // The residual stream of all tokens that tensor parallel ranks work on together.
  double stream() const { return tokens_ * hidden_ * element_; }

  // Around a block whose work tensor parallel ranks share: they start from the same tokens and sum what they get.
  // `last`: nothing of the layer follows it, so that a layer that stops early sums nothing there again.
  // `modules`: those of selective recomputation that it is part of.
  void around_block(const std::string& name, bool last, std::initializer_list<RecomputeModule> modules) {
    const double rerun = again(modules);
    const bool by_module = at_.training.options.recompute.kind == Recompute::selective;  // which run to their end
    const bool sums_again = keeps_no_sums() && (by_module || !(last && at_.training.options.stops_early));
    if (at_.layout.sequence_parallel) return around_pieces(name, rerun, sums_again);
    add(name + " sum", Axis::tensor, CollectiveOp::all_reduce, stream(), Pass::forward);
    // The gradient of a block's input is summed while those of its weights are computed.
    const bool hidden = at_.layout.tensor_overlap >= TensorOverlap::backward;
    if (trains_)
      add(name + " gradient sum", Axis::tensor, CollectiveOp::all_reduce, stream(), Pass::backward, 1, hidden);
    if (rerun > 0 && sums_again)
      add(name + " sum again", Axis::tensor, CollectiveOp::all_reduce, stream(), Pass::backward, rerun);
  }

  // ... of which each has its own tokens between blocks.
  void around_pieces(const std::string& name, double rerun, bool sums_again) {
    const TensorOverlap overlap = at_.layout.tensor_overlap;
    in_pieces(name + " gather", CollectiveOp::all_gather, Pass::forward, 1);
    in_pieces(name + " scatter", CollectiveOp::reduce_scatter, Pass::forward, 1);
    if (!trains_) return;
    in_pieces(name + " gradient gather", CollectiveOp::all_gather, Pass::backward, 1);
    add(name + " gradient scatter", Axis::tensor, CollectiveOp::reduce_scatter, stream(), Pass::backward, 1,
        overlap >= TensorOverlap::backward);
    // The block's input was kept in pieces; gradients of weights need it whole (Megatron's layers.py gathers it while
    // gradients of the input are computed).
    if (!at_.layout.keep_gathered)
      add(name + " input gather", Axis::tensor, CollectiveOp::all_gather, stream(), Pass::backward, 1,
          overlap >= TensorOverlap::inputs);
    if (!(rerun > 0)) return;
    in_pieces(name + " gather again", CollectiveOp::all_gather, Pass::backward, rerun);
    if (sums_again) in_pieces(name + " scatter again", CollectiveOp::reduce_scatter, Pass::backward, rerun);
  }

  // A norm over all heads of queries and keys asks for the squares of other ranks' heads too: engines add up two sums
  // of each token in fp32 (MiniMaxText01RMSNormTP.forward_qk of vLLM, its counterpart in SGLang's minimax_m2.py) or
  // gather the heads (vLLM's olmo2.py, TensorRT-LLM's MiniMax), which is one exchange as well.
  void norm_of_all_heads() {
    constexpr double kSums = 2, kFp32 = 4;
    add("query and key norm sum", Axis::tensor, CollectiveOp::all_reduce, kSums * kFp32 * tokens_, Pass::forward);
  }

  // Keys and values of other ranks' tokens.
  void context(double kv_width, double query_width) {
    if (at_.layout.cp == 1) return;
    const int cp = at_.layout.cp;
    const double own = tokens_ * kv_width * element_;
    if (at_.layout.context == ContextScheme::ring) {
      add("keys and values", Axis::context, CollectiveOp::send_recv, own, Pass::forward, cp - 1, true);
      if (!trains_) return;
      // Backward, the keys travel the ring again, and their gradients with them: those of the last round are known when
      // attention ends, and the projections wait for them.
      add("keys and values again", Axis::context, CollectiveOp::send_recv, own, Pass::backward, cp - 1, true);
      if (cp > 2) add("key gradients", Axis::context, CollectiveOp::send_recv, own, Pass::backward, cp - 2, true);
      add("last key gradients", Axis::context, CollectiveOp::send_recv, own, Pass::backward);
      return;
    }
    if (at_.layout.context == ContextScheme::all_to_all) return by_heads(own, query_width * tokens_ * element_);
    add("keys and values", Axis::context, CollectiveOp::all_gather, own * cp, Pass::forward);
    if (!trains_) return;
    add("keys and values again", Axis::context, CollectiveOp::all_gather, own * cp, Pass::backward);
    add("key gradients", Axis::context, CollectiveOp::reduce_scatter, own * cp, Pass::backward);
  }

  // All tokens of some heads to each rank, and what attention made of them back; gradients the other way.
  void by_heads(double keys, double queries) {
    add("heads", Axis::context, CollectiveOp::all_to_all, keys + queries, Pass::forward);
    add("attended heads", Axis::context, CollectiveOp::all_to_all, queries, Pass::forward);
    if (!trains_) return;
    add("head gradients", Axis::context, CollectiveOp::all_to_all, queries, Pass::backward);
    add("token gradients", Axis::context, CollectiveOp::all_to_all, keys + queries, Pass::backward);
  }

  // Every token to every rank, which computes what its experts have of it, and the sums back to where it came from:
  // vLLM's and SGLang's way unless they are told another one (vLLM: all2all_backend allgather_reducescatter, "default
  // backend" in its documentation of expert parallel deployment, 0.12 and later; SGLang: moe_a2a_backend none). Tensor
  // parallel ranks send a part of their tokens each, and gather them afterwards. Experts over several nodes are taken
  // to be served as both documentations advise there, with DeepEP.
  void gathered_experts() {
    const int tp = at_.layout.tp, groups = at_.layout.ep * at_.layout.expert_width() / tp;
    add("expert gather", Axis::expert, CollectiveOp::all_gather, groups * stream(), Pass::forward);
    add("expert scatter", Axis::expert, CollectiveOp::reduce_scatter, groups * stream(), Pass::forward);
    if (tp > 1) add("token gather", Axis::tensor, CollectiveOp::all_gather, stream(), Pass::forward);
  }
  bool gathers_experts() const {
    const EngineKind kind = at_.engine.kind;
    const bool told = at_.engine.transport != ExpertTransport::usual;
    const bool one_node = at_.layout.ep * at_.layout.expert_width() <= at_.gpus_per_node;
    return !trains_ && !told && one_node && (kind == EngineKind::vllm || kind == EngineKind::sglang);
  }

  // Tokens to the ranks of their experts and back.
  void experts(const MoeSpec& moe) {
    if (gathers_experts()) return gathered_experts();
    const int tp = at_.layout.tp, width = at_.layout.expert_width();
    // Tensor parallel ranks have the same tokens: each sends its share of them, a copy for every expert.
    const double own = tokens_ / tp * static_cast<double>(moe.topk) * hidden_ * element_;
    const double passes = 1 + again({RecomputeModule::moe});
    for (const char* way : {"dispatch", "combine"}) {
      const bool there = way == std::string_view("dispatch"), beside = trains_ && at_.training.dispatch_beside;
      add(way, Axis::expert, CollectiveOp::all_to_all, own, Pass::forward, 1, beside);
      if (!trains_) serve_experts(moe, tokens_ / tp, there);
      else dispatch_tokens(moe, tokens_ / tp, there);
      if (trains_) {
        add(std::string(way) + " gradients", Axis::expert, CollectiveOp::all_to_all, own, Pass::backward, passes,
            beside);
        dispatch_tokens(moe, tokens_ / tp, !there);  // gradients go the other way
      }
    }
    if (width == 1) return;
    // Ranks that share an expert's width work on the same tokens.
    for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
      const std::string name = "expert " + std::string(name_of(op));
      add_group(name, Axis::tensor, op, own * width, Pass::forward, 1, {width, 0});
      if (trains_) add_group(name + " gradients", Axis::tensor, op, own * width, Pass::backward, passes, {width, 0});
    }
  }

  void add(std::string name, Axis axis, CollectiveOp op, double size, Pass pass, double times = 1,
           bool beside = false) {
    RankGroup group = group_of(at_.layout, axis, at_.gpus_per_node);
    if (op == CollectiveOp::send_recv)  // neighbours; where the ring crosses nodes, the crossing sets the pace
      group = {2, group.local > 0 && group.ranks > group.local ? 1 : 0, group.stride};
    add_group(std::move(name), axis, op, size, pass, times, group, beside);
  }
  std::vector<Exchange> finish() && { return std::move(exchanges_); }
  bool trains() const { return trains_; }
  double element() const { return element_; }

 private:
  // Serving engines have kernels for it: DeepEP's for throughput in prefill, for latency in decode (vLLM's and SGLang's
  // deepep backends), TensorRT-LLM's own over NVLink.
  void serve_experts(const MoeSpec& moe, double tokens, bool there) {
    if (!exchanges_experts()) return;
    ExpertExchange e = exchange_of(moe, tokens, there);
    const bool one_sided = at_.engine.kind == EngineKind::trtllm || at_.engine.transport == ExpertTransport::one_sided;
    e.kind = one_sided                           ? ExchangeKind::trtllm_one_sided
             : at_.workload.mode == Mode::decode ? ExchangeKind::deepep_ll
                                                 : ExchangeKind::deepep;
    const Format& format = at_.engine.precision.experts;
    // Tokens for mxfp4 experts travel as they are and are quantised where they arrive, if at all.
    const double bits = format.id == FormatId::mxfp4 ? 16 : format.activation_bits;
    e.element_bytes = !there || bits >= 16 ? kBf16Element : bits >= 8 ? kFp8Element : kNvfp4Element;
    exchanges_.back().experts = e;
  }

  // Training: DeepEP's kernels for throughput. Sums come back in 16 bits; what goes there may be fp8 (DeepSeek-V3).
  void dispatch_tokens(const MoeSpec& moe, double tokens, bool there) {
    const TokenDispatch way = at_.training.token_dispatch;
    if (way == TokenDispatch::all_to_all || !exchanges_experts()) return;
    ExpertExchange e = exchange_of(moe, tokens, there);
    e.element_bytes = there && way == TokenDispatch::deepep_fp8 ? kFp8Element : element_;
    exchanges_.back().experts = e;
  }

  bool exchanges_experts() const {  // else one rank has them all
    return !exchanges_.empty() && exchanges_.back().axis == Axis::expert;
  }
  ExpertExchange exchange_of(const MoeSpec& moe, double tokens, bool there) const {
    ExpertExchange e;
    e.op = there ? ExchangeOp::dispatch : ExchangeOp::combine;
    e.tokens = std::max(1, static_cast<int>(std::ceil(tokens)));
    e.hidden = static_cast<int>(hidden_), e.topk = static_cast<int>(moe.topk);
    e.experts = static_cast<int>(moe.experts), e.ranks = at_.layout.ep;
    e.most_nodes = nodes_of_groups(moe);
    return e;
  }
  // Nodes that a token's groups of experts lie on, at most; 0: all.
  int nodes_of_groups(const MoeSpec& moe) const {
    const Count nodes = ceil_div(static_cast<Count>(at_.layout.ep), static_cast<Count>(at_.gpus_per_node));
    if (moe.topk_groups >= moe.groups || nodes <= 1) return 0;
    return static_cast<int>(std::min(nodes, moe.topk_groups * ceil_div(nodes, moe.groups)));
  }

  void add_group(std::string name, Axis axis, CollectiveOp op, double size, Pass pass, double times, RankGroup group,
                 bool beside = false) {
    if (group.ranks <= 1 || !(size > 0)) return;
    Exchange e;
    e.name = std::move(name), e.axis = axis, e.pass = pass, e.section = section_, e.times = times, e.beside = beside;
    e.stride = group.stride;
    e.call.op = op, e.call.bytes = bytes(size), e.call.ranks = group.ranks, e.call.local = group.local;
    e.call.library = library_of(at_.engine.kind);
    exchanges_.push_back(std::move(e));
  }

  const ExchangeSetting& at_;
  // Cut into as many pieces as there are ranks, all but one run beside the product they feed or come from.
  void in_pieces(const std::string& name, CollectiveOp op, Pass pass, double times) {
    if (at_.layout.tensor_overlap != TensorOverlap::pipelined || at_.layout.tp <= 1)
      return add(name, Axis::tensor, op, stream(), pass, times);
    const double first = 1.0 / at_.layout.tp;
    add(name, Axis::tensor, op, stream(), pass, times * first);
    add(name + " in pieces", Axis::tensor, op, stream(), pass, times * (1 - first), true);
  }
  double again(std::initializer_list<RecomputeModule> modules) const {
    return trains_ ? share_again(at_.training.options.recompute, repeats_, modules) : 0;
  }
  bool keeps_no_sums() const { return at_.training.options.recompute != Recompute::operators; }

  bool trains_;
  double element_;
  std::size_t section_ = 0;
  double hidden_ = 0, tokens_ = 0;
  Count repeats_ = 1;
  std::vector<Exchange> exchanges_;
};

// Width of the keys and values a rank has of a token.
double kv_width(const Mixer& mixer, int tp) {
  if (const auto* a = std::get_if<AttentionSpec>(&mixer))
    return real(std::max<Count>(1, a->kv_heads / tp) * (a->head_dim + a->value_dim()));
  if (const auto* a = std::get_if<MlaSpec>(&mixer)) return real(a->heads / tp * (a->nope_dim + a->rope_dim + a->v_dim));
  return 0;
}

double query_width(const Mixer& mixer, int tp) {
  if (const auto* a = std::get_if<AttentionSpec>(&mixer)) return real(a->heads / tp * a->head_dim);
  if (const auto* a = std::get_if<MlaSpec>(&mixer)) return real(a->heads / tp * (a->nope_dim + a->rope_dim));
  return 0;
}

// Every rank has the same tokens and its own experts: it computes what it has, and the sum of the block adds up the
// rest. So vLLM and SGLang serve with tensor parallel attention alone.
bool experts_by_sum(const ExchangeSetting& at) {
  return at.workload.mode != Mode::train && at.layout.dp == 1 && at.layout.cp == 1 &&
         at.layout.ep * at.layout.expert_width() == at.layout.tp;
}

void write_layer(ExchangeWriter& out, const LayerSpec& layer, NormPlace place, const ExchangeSetting& at) {
  const bool together = place == NormPlace::shared || place == NormPlace::parallel;
  out.context(kv_width(layer.mixer, at.layout.tp), query_width(layer.mixer, at.layout.tp));
  const auto* attention = std::get_if<AttentionSpec>(&layer.mixer);
  if (attention && attention->qk_norm_wide && !out.trains()) out.norm_of_all_heads();
  const auto* moe = std::get_if<MoeSpec>(&layer.feed_forward);
  const bool dispatch = moe && at.layout.ep > 1 && !experts_by_sum(at);
  const bool dense = layer.feed_forward.index() != 0 && (!dispatch || moe->shared_inter > 0);
  // A norm behind the last block keeps its moments, so that the block is summed again.
  const bool bare = (place == NormPlace::before || together) && !dispatch;
  if (layer.mixer.index() != 0 && !(together && dense))
    out.around_block("attention", bare && !dense && !layer.cross, {});
  if (layer.cross) out.around_block("cross attention", bare && !dense, {});
  if (dense && !moe) out.around_block("feed-forward", bare, {RecomputeModule::mlp});
  if (dense && moe && !dispatch) out.around_block("feed-forward", bare, {RecomputeModule::moe});
  if (dense && moe && dispatch)
    out.around_block("feed-forward", bare, {RecomputeModule::moe, RecomputeModule::shared_experts});
  if (dispatch) out.experts(*moe);
}

// Which stack and which kind of layer a section is of.
struct SectionPlace {
  const StackSpec* stack = nullptr;
  const LayerRun* layer = nullptr;
};

class SectionPlaces {
 public:
  explicit SectionPlaces(const ModelSpec& spec) : spec_(spec) {
    if (spec.encoder) encoder_ = layer_kinds(*spec.encoder);
    if (spec.decoder) decoder_ = layer_kinds(*spec.decoder);
  }
  SectionPlace of(const SectionPart& part) const {
    SectionPlace place;
    place.stack = part.encoder ? &*spec_.encoder : &*spec_.decoder;
    if (part.kind == SectionKind::layer)
      place.layer = &(part.encoder ? encoder_ : decoder_).kinds.at(static_cast<std::size_t>(part.layer));
    return place;
  }

 private:
  const ModelSpec& spec_;
  LayerKinds encoder_, decoder_;
};

// Weights of a section's experts, or of all else.
struct SectionWeights {
  Count all = 0, trained = 0;
};
SectionWeights weights_in(const Section& section, bool experts) {
  SectionWeights n;
  for (const Operator& op : section.operators)
    if (op.shape.is<Moe>() == experts) n.all += op.weights.total(), n.trained += op.weights.trained();
  return n;
}

// Bytes of a weight as it travels, and of a gradient: under autocast both are fp32.
double weight_size(const EngineOptions& engine) {
  return engine.precision.mixed == MixedPrecision::autocast ? 4 : engine.precision.activation.activation_bits / 8;
}
double gradient_size(const ExchangeSetting& at) {
  const bool wide = at.training.wide_gradients || at.engine.precision.mixed == MixedPrecision::autocast;
  return wide && !at.training.narrow_exchange ? 4 : at.engine.precision.activation.activation_bits / 8;
}

}  // namespace

std::vector<Exchange> layer_exchanges(const Graph& forward, const ExchangeSetting& at) {
  ExchangeWriter out(at);
  const SectionPlaces places(at.spec);
  const double tokens = real(at.workload.tokens()) / at.layout.cp;
  for (std::size_t i = 0; i < forward.sections.size(); ++i) {
    const Section& section = forward.sections[i];
    const SectionPlace place = places.of(section.part);
    out.start(i, real(place.stack->hidden), tokens, section.repeats);
    if (place.layer) write_layer(out, place.layer->layer, place.stack->place, at);
    // Each rank looks up the part of the vocabulary it has.
    const bool ahead = section.part.kind == SectionKind::ahead;
    if ((section.part.kind == SectionKind::embedding || ahead) && at.spec.vocab > 0) {
      const bool scattered = at.layout.sequence_parallel;
      out.add("embedding sum", Axis::tensor, scattered ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce,
              out.stream(), Pass::forward);
      if (out.trains() && scattered)
        out.add("embedding gradient gather", Axis::tensor, CollectiveOp::all_gather, out.stream(), Pass::backward);
    }
    // Its product gives every rank some of the columns: they are put together, and their gradients are shared out
    // again.
    if (ahead) {
      out.add("mtp gather", Axis::tensor, CollectiveOp::all_gather, out.stream(), Pass::forward);
      out.add("mtp gradient", Axis::tensor, CollectiveOp::reduce_scatter, out.stream(), Pass::backward);
    }
    if (section.part.kind != SectionKind::head || !at.spec.lm_head) continue;
    if (!out.trains()) {
      const double rows = real(at.workload.all_logits ? at.workload.tokens() : at.workload.sequences());
      out.add("logits gather", Axis::tensor, CollectiveOp::all_gather, rows * real(at.spec.vocab) * out.element(),
              Pass::forward);
      continue;
    }
    if (at.layout.sequence_parallel)
      out.add("head gather", Axis::tensor, CollectiveOp::all_gather, out.stream(), Pass::forward);
    out.add("head gradient", Axis::tensor,
            at.layout.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce, out.stream(),
            Pass::backward);
    // The loss over a divided vocabulary: largest logit, the target's, and the sum of exponentials, in fp32
    // (Megatron's cross_entropy.py).
    out.add("loss sums", Axis::tensor, CollectiveOp::all_reduce, 4 * tokens, Pass::forward, 3);
  }
  return std::move(out).finish();
}

std::vector<Exchange> shard_exchanges(const Graph& forward, const ExchangeSetting& at) {
  if (at.layout.sharding != Sharding::parameters && at.layout.sharding != Sharding::gradients) return {};
  const bool parameters = at.layout.sharding == Sharding::parameters;
  const bool beside = at.layout.overlap;
  RankLayout sharded = at.layout;  // hybrid: copies are gathered within a group of ranks
  if (at.layout.shard_group > 0) sharded.dp = std::max(1, at.layout.shard_group / at.layout.cp);
  ExchangeSetting within{at.spec, sharded, at.workload, at.engine, at.training, at.gpus_per_node};
  ExchangeWriter writer(within);
  for (std::size_t i = 0; i < forward.sections.size(); ++i) {
    const Section& section = forward.sections[i];
    writer.start(i, 0, 0);
    const auto exchange = [&](Axis axis, const SectionWeights& own) {
      const double weights = real(own.all) * weight_size(at.engine), gradients = real(own.trained) * gradient_size(at);
      if (parameters) {
        writer.add("weights gather", axis, CollectiveOp::all_gather, weights, Pass::forward, 1, beside);
        if (writer.trains())
          writer.add("weights gather again", axis, CollectiveOp::all_gather, weights, Pass::backward, 1, beside);
      }
      if (writer.trains())
        writer.add("gradients scatter", axis, CollectiveOp::reduce_scatter, gradients, Pass::backward, 1, beside);
    };
    exchange(Axis::data, weights_in(section, false));
    exchange(Axis::expert_data, weights_in(section, true));
  }
  return std::move(writer).finish();
}

double bytes_before_scatter(const ExchangeSetting& at) {
  const bool sharded = at.layout.sharding == Sharding::parameters || at.layout.sharding == Sharding::gradients;
  if (!sharded || at.workload.mode != Mode::train || at.layout.shards() <= 1) return 0;
  const double own = weight_size(at.engine), sent = gradient_size(at);
  return 2 * own + (own == sent ? 0 : own + sent) + 2 * sent;
}

std::vector<Exchange> step_exchanges(Count dense, Count experts, const ExchangeSetting& at) {
  ExchangeWriter out(at);
  if (!out.trains()) return {};
  for (const auto& [axis, params] : {std::pair(Axis::data, real(dense)), {Axis::expert_data, real(experts)}}) {
    const double gradients = params * gradient_size(at), weights = params * weight_size(at.engine);
    switch (at.layout.sharding) {
      case Sharding::none: out.add("gradients sum", axis, CollectiveOp::all_reduce, gradients, Pass::backward); break;
      case Sharding::optimizer:
        out.add("gradients scatter", axis, CollectiveOp::reduce_scatter, gradients, Pass::backward);
        out.add("weights gather", axis, CollectiveOp::all_gather, weights, Pass::forward);
        break;
      case Sharding::gradients:
        out.add("weights gather", axis, CollectiveOp::all_gather, weights, Pass::forward);
        break;
      case Sharding::parameters: break;
    }
  }
  // Hybrid sharding: copies of a shard are summed over the groups that hold one each.
  const int copies = at.layout.replicas() / at.layout.shards();
  if (at.layout.shard_group > 0 && copies > 1 && at.layout.sharding == Sharding::parameters) {
    RankLayout across = at.layout;
    across.dp = copies, across.cp = 1, across.tp = at.layout.tp * at.layout.shards();  // that far apart
    ExchangeSetting between{at.spec, across, at.workload, at.engine, at.training, at.gpus_per_node};
    ExchangeWriter more(between);
    more.add("shard sum", Axis::data, CollectiveOp::all_reduce,
             real(dense + experts) * gradient_size(at) / at.layout.shards(), Pass::backward);
    std::vector<Exchange> all = std::move(out).finish();
    for (Exchange& e : std::move(more).finish()) all.push_back(std::move(e));
    return all;
  }
  return std::move(out).finish();
}

Exchange tied_exchange(Count table, const ExchangeSetting& at) {
  const int stage = at.layout.tp * at.layout.cp * at.layout.dp;
  Exchange e;
  e.name = "tied embedding sum", e.axis = Axis::pipeline, e.pass = Pass::backward;
  e.stride = stage * (at.layout.pp - 1);
  e.call.op = CollectiveOp::all_reduce, e.call.bytes = bytes(real(table) * gradient_size(at)), e.call.ranks = 2;
  e.call.local = at.layout.ranks() > at.gpus_per_node ? 1 : 0;
  return e;
}

Collective stage_send(const ExchangeSetting& at) {
  const StackSpec& stack = at.spec.decoder ? *at.spec.decoder : *at.spec.encoder;
  const double tokens = real(at.workload.tokens()) / at.layout.cp / (at.layout.sequence_parallel ? at.layout.tp : 1);
  Collective call;
  call.op = CollectiveOp::send_recv;
  call.bytes = bytes(tokens * real(stack.hidden) * at.engine.precision.activation.activation_bits / 8);
  const RankGroup group = group_of(at.layout, Axis::pipeline, at.gpus_per_node);
  call.ranks = group.ranks, call.local = group.local == 1 ? 1 : 0;
  return call;
}

}  // namespace tilecast
