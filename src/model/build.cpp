#include "model/build.h"

#include <fmt/format.h>

#include "kernel/conv2d.h"
#include "kernel/copy.h"
#include "kernel/cross_entropy.h"
#include "kernel/elementwise.h"
#include "kernel/embedding.h"
#include "kernel/sampling.h"
#include "model/adapters.h"
#include "model/build_parts.h"

namespace tilecast {
namespace {

// How Hugging Face's code writes attention, by architecture (transformers 4.2x, whose traces NeuSight measured).
Spelling attention_spelling(const ModelSpec& spec) {
  const auto starts = [&](std::string_view prefix) { return spec.architecture.starts_with(prefix); };
  if (starts("GPT2")) return Spelling::masked_where;
  if (starts("OPT")) return Spelling::clamped;
  if (starts("T5") || starts("Switch") || starts("MT5")) return Spelling::unscaled;
  return Spelling::masked_add;
}

int build_mixer(SectionBuilder& b, const Mixer& mixer, int x, const StackContext& at, Spelling spelling) {
  if (const auto* a = std::get_if<AttentionSpec>(&mixer)) return build_attention(b, *a, x, at, spelling);
  if (const auto* a = std::get_if<MlaSpec>(&mixer)) return build_mla(b, *a, x, at);
  return build_scan(b, std::get<ScanSpec>(mixer), x, at);
}
int build_feed_forward(SectionBuilder& b, const FeedForward& f, int x, const StackContext& at) {
  if (const auto* m = std::get_if<MlpSpec>(&f)) return build_mlp(b, "mlp", *m, x, at.tokens, at.stack.hidden);
  return build_moe(b, std::get<MoeSpec>(f), x, at);
}

// A block of a layer with the norms around it, added to the stream.
template <class Block>
int with_norms(SectionBuilder& b, const std::string& name, int x, const StackContext& at, Block block,
               bool normed = true) {
  const NormPlace place = at.stack.place;
  const bool before = normed && (place == NormPlace::before || place == NormPlace::both);
  int y = block(before ? build_norm(b, Role::block_norm, name + "_norm", x, at.tokens, at.stack) : x);
  if (place == NormPlace::both || place == NormPlace::after_only)
    y = build_norm(b, Role::block_norm, name + "_post_norm", y, at.tokens, at.stack);
  if (at.stack.layer_scale) {
    y = b.pointwise(Role::block_scale, name + "_scale", PointwiseOp::mul, {y}, b.elements(x));
    b.last().weights.vector = at.stack.hidden;
  }
  int sum = b.pointwise(Role::residual, name + "_residual", PointwiseOp::add, {x, y}, b.elements(x));
  if (place == NormPlace::after) sum = build_norm(b, Role::block_norm, name + "_norm", sum, at.tokens, at.stack);
  return sum;
}

// Weights that another layer owns and counts; they are still read here.
void lend(Section& section) {
  for (Operator& op : section.operators) op.weights.tied = true, op.weights.vector = 0;
}

Section build_layer(const LayerSpec& layer, Count repeats, const std::string& name, SectionPart part,
                    const StackContext& at, Spelling spelling) {
  SectionBuilder b(name, repeats, part);
  int x = b.tensor("stream", at.tokens * at.stack.hidden);
  const NormPlace place = at.stack.place;
  const bool has_mixer = layer.mixer.index() != 0, has_ffn = layer.feed_forward.index() != 0;
  if (place == NormPlace::shared || place == NormPlace::parallel) {
    const int normed = build_norm(b, Role::block_norm, "mixer_norm", x, at.tokens, at.stack);
    const int mixed = build_mixer(b, layer.mixer, normed, at, spelling);
    const int other =
        place == NormPlace::shared ? normed : build_norm(b, Role::block_norm, "mlp_norm", x, at.tokens, at.stack);
    const int fed = build_feed_forward(b, layer.feed_forward, other, at);
    b.pointwise(Role::residual, "residual", PointwiseOp::add, {x, mixed, fed}, b.elements(x));
    return std::move(b).finish();
  }
  if (has_mixer)
    x = with_norms(
        b, "mixer", x, at, [&](int y) { return build_mixer(b, layer.mixer, y, at, spelling); }, layer.mixer_norm);
  if (layer.cross)
    x = with_norms(b, "cross", x, at, [&](int y) { return build_cross_attention(b, *layer.cross, y, at, spelling); });
  if (has_ffn) with_norms(b, "mlp", x, at, [&](int y) { return build_feed_forward(b, layer.feed_forward, y, at); });
  return std::move(b).finish();
}

int table(SectionBuilder& b, Role role, const std::string& name, int ids, Count tokens, Count rows, Count cols) {
  Embedding shape;
  shape.tokens = tokens, shape.vocab = rows, shape.cols = cols;
  return b.add(role, name, shape, {ids}, tokens * cols, {.matrix = rows * cols, .table = true});
}

// A stack's sections: their names, and which of a model's stacks it is.
struct StackName {
  std::string prefix;
  bool encoder = false;
};

// Tokens, positions and types to the stream.
Section build_embedding(const ModelSpec& spec, const StackContext& at, const StackName& name, bool shared_table) {
  const StackSpec& stack = at.stack;
  SectionBuilder b(name.prefix + "embedding", 1, {SectionKind::embedding, name.encoder});
  const int ids = b.tensor("ids", at.tokens, TensorKind::index);
  const Count width = stack.embedding_dim > 0 ? stack.embedding_dim : stack.hidden;
  int x = table(b, Role::token_embedding, "embedding.tokens", ids, at.tokens, spec.vocab, width);
  b.last().weights.tied = shared_table;
  if (stack.embedding_dim > 0 && !stack.factored)
    x = b.linear(Role::embedding_projection, "embedding.project", x, at.tokens, stack.embedding_dim, stack.hidden,
                 false);
  const auto add_table = [&](Role role, const std::string& called, Count rows) {
    const Count cols = stack.factored ? width : stack.hidden;
    const int more = table(b, role, called, ids, at.tokens, rows, cols);
    x = b.pointwise(Role::embedding_sum, called + "_add", PointwiseOp::add, {x, more}, at.tokens * cols);
  };
  if (stack.token_types > 0) add_table(Role::type_embedding, "embedding.types", stack.token_types);
  if (stack.positions == Positions::learned)
    add_table(Role::position_embedding, "embedding.positions", stack.max_positions);
  if (stack.embedding_norm) x = build_norm(b, Role::embedding_norm, "embedding.norm", x, at.tokens, stack);
  if (stack.factored)
    b.linear(Role::embedding_projection, "embedding.project", x, at.tokens, width, stack.hidden, true);
  b.last().weights.vector += relative_table(stack);
  return std::move(b).finish();
}

// Images to patches: a convolution whose stride is its size, as a product; a class token and positions are added.
Section build_patches(const PatchFrontend& p, const StackContext& at) {
  SectionBuilder b("patches", 1, {SectionKind::front_end, true});
  const Count images = at.workload.sequences(), side = p.image / p.patch, hidden = at.stack.hidden;
  const int pixels = b.tensor("image", images * p.channels * p.image * p.image);
  Conv2d conv;
  conv.batch = images, conv.in_channels = p.channels, conv.out_channels = hidden;
  conv.height = conv.width = p.image;
  conv.kernel = conv.stride = p.patch;
  int x = b.add(Role::patches, "patches.project", conv, {pixels}, images * side * side * hidden,
                {.matrix = p.channels * p.patch * p.patch * hidden, .vector = p.bias ? hidden : 0});
  const Count elements = at.tokens * hidden;
  if (p.learned_tokens() > 0) {
    Copy cat;
    cat.elements = elements;
    x = b.add(Role::patches, "patches.flatten", cat, {x}, elements, {.vector = p.learned_tokens() * hidden});
  }
  x = b.pointwise(Role::patches, "patches.positions", PointwiseOp::add, {x}, elements);
  b.last().weights.vector = p.positions() * hidden;
  if (at.stack.embedding_norm) build_norm(b, Role::patches, "patches.norm", x, at.tokens, at.stack);
  return std::move(b).finish();
}

Conv2d audio_convolution(Count clips, Count channels, Count hidden, Count frames, Count stride) {
  Conv2d conv;
  conv.batch = clips, conv.in_channels = channels, conv.out_channels = hidden;
  conv.height = 1, conv.width = frames + 2;  // padded by one frame at either end
  conv.kernel_h = 1, conv.kernel_w = 3, conv.stride = stride;
  return conv;
}

Section build_audio(const AudioFrontend& a, const StackContext& at) {
  SectionBuilder b("audio", 1, {SectionKind::front_end, true});
  const Count clips = at.workload.sequences(), hidden = at.stack.hidden;
  int x = b.tensor("mel", clips * a.mel_bins * a.frames);
  x = b.add(Role::audio, "audio.conv1", audio_convolution(clips, a.mel_bins, hidden, a.frames, 1), {x},
            clips * a.frames * hidden, {.matrix = 3 * a.mel_bins * hidden, .vector = hidden});
  x = b.pointwise(Role::audio, "audio.act1", PointwiseOp::gelu, {x}, clips * a.frames * hidden);
  x = b.add(Role::audio, "audio.conv2", audio_convolution(clips, hidden, hidden, a.frames, 2), {x}, at.tokens * hidden,
            {.matrix = 3 * hidden * hidden, .vector = hidden});
  x = b.pointwise(Role::audio, "audio.act2", PointwiseOp::gelu, {x}, at.tokens * hidden);
  b.pointwise(Role::audio, "audio.positions", PointwiseOp::add, {x}, at.tokens * hidden);
  b.last().weights.vector = at.stack.max_positions * hidden;
  return std::move(b).finish();
}

// The pooled token, and what a classifier makes of it or of every token.
void build_classifier(SectionBuilder& b, const ModelSpec& spec, int x, const StackContext& at) {
  const Count rows = spec.token_classes ? at.tokens : at.workload.sequences(), hidden = at.stack.hidden;
  if (spec.pooler) {
    x = b.linear(Role::pooler, "pooler", x, rows, hidden, hidden, true);
    x = b.pointwise(Role::pooler, "pooler.tanh", PointwiseOp::tanh, {x}, rows * hidden);
  }
  if (spec.classes > 0)  // several classifiers are one product as wide
    b.linear(Role::classifier, "classifier", x, rows, spec.class_tokens * hidden, spec.classifiers * spec.classes,
             true);
}

// After the last layer: norm, head, and what the mode does with the logits.
Section build_head(const ModelSpec& spec, const StackContext& at) {
  const StackSpec& stack = at.stack;
  SectionBuilder b("head", 1, {SectionKind::head, !spec.decoder});
  int x = b.tensor("stream", at.tokens * stack.hidden);
  if (stack.final_norm) x = build_norm(b, Role::final_norm, "final_norm", x, at.tokens, stack);
  build_classifier(b, spec, x, at);
  if (spec.projection > 0) {
    b.linear(Role::projection, "projection", x, at.workload.sequences(), stack.hidden, spec.projection, false);
    if (spec.encoder && spec.decoder) b.last().weights.vector += 1;  // the scale of the logits
  }
  if (!spec.lm_head) return std::move(b).finish();
  const bool train = at.workload.mode == Mode::train;
  const Count rows = train || at.workload.all_logits ? at.tokens : at.workload.sequences();
  Count width = stack.hidden;
  if (spec.head_transform) {
    const Count out = stack.factored ? stack.embedding_dim : width;
    x = b.linear(Role::head_transform, "head.transform", x, rows, width, out, spec.transform_bias);
    width = out;
    x = b.pointwise(Role::head_activation, "head.act", PointwiseOp::gelu, {x}, rows * width);
    x = build_norm(b, Role::head_norm, "head.norm", x, rows, stack);
  }
  if (stack.embedding_dim > 0 && !stack.factored) {
    x = b.linear(Role::head_projection, "head.project", x, rows, stack.hidden, stack.embedding_dim, false);
    width = stack.embedding_dim;
  }
  x = b.linear(Role::lm_head, "lm_head", x, rows, width, spec.vocab, spec.head_bias);
  b.last().weights.tied = spec.tied_head;
  b.set_kind(x, TensorKind::logits);
  if (train) {
    CrossEntropy loss;
    loss.rows = rows, loss.cols = spec.vocab;
    b.add(Role::loss, "loss", loss, {x}, rows);
  } else if (!at.workload.all_logits) {
    Sampling sample;
    sample.rows = rows, sample.cols = spec.vocab;
    b.add(Role::sample, "sample", sample, {x}, rows);
  }
  return std::move(b).finish();
}

// Multi-token prediction as DeepSeek-V3 trains it (arXiv 2412.19437, section 2.2) and Megatron-Core's
// multi_token_prediction.py runs it: for each token beyond the next one, the stream and the embeddings of the tokens
// that follow are normalised, concatenated and projected back to one width; a layer of the model's last kind and the
// shared head turn them into logits, whose loss is added.
Section build_ahead(const ModelSpec& spec, const StackContext& at) {
  const Count hidden = at.stack.hidden;
  SectionBuilder b("mtp.join", spec.ahead.heads, {SectionKind::ahead});
  const int stream = b.tensor("stream", at.tokens * hidden);
  const int ids = b.tensor("ids", at.tokens, TensorKind::index);
  const int next = table(b, Role::token_embedding, "embedding.tokens", ids, at.tokens, spec.vocab, hidden);
  // The table is the model's own. On another rank than the first one copy of it is needed for all these heads, which a
  // tied head is already.
  b.last().weights.tied = true;
  b.last().weights.matrix = spec.tied_head ? 0 : b.last().weights.matrix / spec.ahead.heads;
  const int left = build_norm(b, Role::ahead_norm, "ahead.norm", next, at.tokens, at.stack);
  const int right = build_norm(b, Role::ahead_norm, "ahead.norm", stream, at.tokens, at.stack);
  Copy side_by_side;
  side_by_side.elements = 2 * at.tokens * hidden;
  const int both = b.add(Role::ahead_join, "ahead.join", side_by_side, {left, right}, side_by_side.elements);
  b.linear(Role::ahead_projection, "ahead.project", both, at.tokens, 2 * hidden, ceil_div(hidden, spec.ahead.parts),
           false);
  return std::move(b).finish();
}
void add_ahead(Graph& graph, const ModelSpec& spec, const StackContext& at, Spelling spelling) {
  const LayerKinds kinds = layer_kinds(at.stack);
  const SectionPart last{SectionKind::layer, false, kinds.order.back()};
  graph.sections.push_back(build_ahead(spec, at));
  const LayerSpec& layer = kinds.kinds[static_cast<std::size_t>(kinds.order.back())].layer;
  graph.sections.push_back(build_layer(layer, spec.ahead.heads, "mtp.layer", last, at, spelling));
  Section head = build_head(spec, at);
  head.name = "mtp.head", head.repeats = spec.ahead.heads;
  for (Operator& op : head.operators)
    if (op.role == Role::lm_head) op.weights = {};  // that of the head itself
  graph.sections.push_back(std::move(head));
}

// Identical layers become one section, whatever lies between them: order does not change a step's time.
void add_stack(Graph& graph, const StackSpec& stack, const Workload& workload, const Workload* source,
               const StackName& stack_name, Spelling spelling) {
  const std::vector<LayerRun> kinds = layer_kinds(stack).kinds;
  const StackContext at{stack, workload, workload.tokens(), source};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string name =
        kinds.size() == 1 ? stack_name.prefix + "layer" : fmt::format("{}layer {}", stack_name.prefix, i + 1);
    const SectionPart part{SectionKind::layer, stack_name.encoder, static_cast<int>(i)};
    graph.sections.push_back(build_layer(kinds[i].layer, kinds[i].repeats, name, part, at, spelling));
    if (kinds[i].layer.borrowed) lend(graph.sections.back());
    graph.sections.back().unquantised = kinds[i].layer.unquantised;
    for (Operator& op : graph.sections.back().operators) op.stays_wide = kinds[i].layer.wide;
  }
}

Status check(const ModelSpec& spec, const Workload& workload) {
  if (workload.requests.empty() || workload.tokens() <= 0)
    return error("the workload has no tokens", "give batch and seq");
  const bool generates = spec.decoder && spec.lm_head;
  if ((workload.mode == Mode::decode || workload.mode == Mode::mixed) && !generates)
    return error(spec.name + " does not generate tokens", "use mode prefill for its one pass");
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  if (stack.positions != Positions::learned || spec.patches || stack.max_positions == 0) return Ok{};
  for (const Requests& r : workload.requests)
    if (r.new_tokens + r.cached > stack.max_positions)
      return error(fmt::format("{} has {} learned positions, fewer than {} tokens", spec.name, stack.max_positions,
                               r.new_tokens + r.cached),
                   "give a shorter seq or context");
  return Ok{};
}

// What the encoder runs on: of a model of its own, the workload; before a decoder, sources of the same requests.
Workload encoder_workload(const ModelSpec& spec, const Workload& workload) {
  Workload own = workload;
  own.keep_cache = false;
  if (own.mode != Mode::train) own.mode = Mode::prefill;
  for (Requests& r : own.requests) {
    r.cached = 0;
    if (spec.patches) r.new_tokens = spec.patches->tokens();
    else if (spec.audio) r.new_tokens = spec.audio->frames / 2;
    else if (spec.decoder && workload.source_len > 0) r.new_tokens = workload.source_len;
  }
  return own;
}

}  // namespace

LayerKinds layer_kinds(const StackSpec& stack) {
  LayerKinds found;
  for (const LayerRun& run : stack.layers) {
    auto same =
        std::find_if(found.kinds.begin(), found.kinds.end(), [&](const LayerRun& k) { return k.layer == run.layer; });
    if (same == found.kinds.end()) same = found.kinds.insert(same, {run.layer, 0});
    same->repeats += run.repeats;
    found.order.insert(found.order.end(), static_cast<std::size_t>(run.repeats),
                       static_cast<int>(same - found.kinds.begin()));
  }
  return found;
}

Result<Graph> build(const ModelSpec& spec, const Workload& workload) {
  if (auto fine = check(spec, workload); !fine) return std::move(fine).error();
  Graph graph;
  graph.name = spec.name;
  const Spelling spelling = attention_spelling(spec);
  Workload source;
  if (spec.encoder) {
    source = encoder_workload(spec, workload);
    const StackContext at{*spec.encoder, source, source.tokens(), nullptr};
    const StackName name{spec.decoder ? "encoder." : "", true};
    // A decoder's later steps find the encoder's result in the cache.
    if (!spec.decoder || workload.mode != Mode::decode) {
      if (spec.patches) graph.sections.push_back(build_patches(*spec.patches, at));
      else if (spec.audio) graph.sections.push_back(build_audio(*spec.audio, at));
      else graph.sections.push_back(build_embedding(spec, at, name, false));
      add_stack(graph, *spec.encoder, source, nullptr, name, spelling);
      if (spec.decoder && (spec.encoder->final_norm || spec.projection > 0)) {
        SectionBuilder b("encoder.norm", 1, {SectionKind::norm, true});
        const int stream = b.tensor("stream", at.tokens * spec.encoder->hidden);
        const int normed = build_norm(b, Role::final_norm, "final_norm", stream, at.tokens, *spec.encoder);
        if (spec.projection > 0)  // of one token an image
          b.linear(Role::projection, "projection", normed, source.sequences(), spec.encoder->hidden, spec.projection,
                   false);
        graph.sections.push_back(std::move(b).finish());
      }
    }
  }
  if (spec.decoder) {
    const StackContext at{*spec.decoder, workload, workload.tokens(), spec.encoder ? &source : nullptr};
    const StackName name{spec.encoder ? "decoder." : "", false};
    graph.sections.push_back(build_embedding(spec, at, name, spec.encoder && !spec.audio && !spec.patches));
    add_stack(graph, *spec.decoder, workload, at.source, name, spelling);
    graph.sections.push_back(build_head(spec, at));
    if (spec.ahead.heads > 0 && workload.mode == Mode::train) add_ahead(graph, spec, at, spelling);
  } else {
    graph.sections.push_back(build_head(spec, {*spec.encoder, source, source.tokens(), nullptr}));
  }
  if (spec.adapters) return with_adapters(graph, *spec.adapters);
  return graph;
}

}  // namespace tilecast
