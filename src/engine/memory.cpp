#include "engine/memory.h"

#include <algorithm>
#include <set>

#include "constants/engine.h"
#include "constants/training.h"
#include "engine/expert_padding.h"
#include "engine/narrow.h"
#include "kernel/attention_prefill.h"
#include "kernel/cross_entropy.h"
#include "kernel/elementwise.h"
#include "kernel/moe.h"
#include "model/recomputation.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

double bits_of(TensorKind kind, const Precision& p) {
  switch (kind) {
    case TensorKind::activation: return p.activation.activation_bits;
    case TensorKind::index: return 64;
    case TensorKind::logits: return p.activation.activation_bits;
    case TensorKind::mask: return 8;
    case TensorKind::statistic:
    case TensorKind::wide: return 32;
  }
  return 32;
}
Bytes size_of(const Tensor& t, const Precision& p) {
  return bytes(static_cast<double>(t.elements) * bits_of(t.kind, p) / 8);
}

bool is_expert(const Operator& op) { return op.shape.is<Moe>() || is_expert(op.role); }

// Parameters and their bytes.
struct ParameterSum {
  double count = 0, bytes = 0;
  double trained = 0;  // of them
};
struct OwnWeights {
  ParameterSum dense, experts;
};
// Frozen weights of narrow products are kept as they are multiplied.
OwnWeights weights_of(const Graph& graph, const EngineOptions& engine, const NarrowRecipe* narrow, const Gpu& gpu) {
  const Precision& p = engine.precision;
  const double plain_bits = p.mixed == MixedPrecision::autocast ? 32 : p.activation.weight_bits;
  OwnWeights sum;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators) {
      const bool product = op.shape.is<Gemm>() && !op.weights.table;
      double matrix_bits = plain_bits;
      if (p.mixed != MixedPrecision::autocast && (product || op.shape.is<Moe>()))
        matrix_bits = product_format(op, p, section.unquantised).weight_bits;
      const auto repeats = static_cast<double>(section.repeats);
      const double matrix = repeats * static_cast<double>(op.weights.tied ? 0 : op.weights.matrix);
      const double vector = repeats * static_cast<double>(op.weights.vector);
      ParameterSum& own = is_expert(op) ? sum.experts : sum.dense;
      if (narrow && op.weights.frozen && runs_narrow(op)) matrix_bits = narrow->product.weight_bits;
      if (op.weights.packed) matrix_bits = kNf4Bits;
      if (const Moe* moe = op.shape.get_if<Moe>(); moe && p.mixed != MixedPrecision::autocast)
        matrix_bits *= padded_experts(*moe, product_format(op, p, section.unquantised), engine.kind, gpu);
      own.count += matrix + vector;
      if (!op.weights.frozen) own.trained += matrix + vector;
      own.bytes += (matrix * matrix_bits + vector * plain_bits) / 8;
    }
  return sum;
}

// Most bytes alive at once while a section runs forward: a tensor lives from the operator that writes it to the last
// that reads it. `narrow_logits`: logits in fp32 are counted with what is kept, and overwritten.
Bytes peak_alive(const Section& section, const Precision& p, bool narrow_logits = false) {
  const auto size = [&](std::size_t t) {
    const Tensor& tensor = section.tensors[t];
    return narrow_logits && tensor.kind == TensorKind::wide ? bytes(0) : size_of(tensor, p);
  };
  std::vector<std::size_t> last(section.tensors.size(), 0);
  for (std::size_t i = 0; i < section.operators.size(); ++i) {
    for (int t : section.operators[i].inputs) last[static_cast<std::size_t>(t)] = i;
    for (int t : section.operators[i].outputs)
      last[static_cast<std::size_t>(t)] = std::max(last[static_cast<std::size_t>(t)], i);
  }
  Bytes alive = section.tensors.empty() ? bytes(0) : size(0), peak = alive;
  std::set<int> born = {0};
  for (std::size_t i = 0; i < section.operators.size(); ++i) {
    for (int t : section.operators[i].outputs)
      if (born.insert(t).second) alive += size(static_cast<std::size_t>(t));
    peak = std::max(peak, alive);
    for (int t : born)
      if (last[static_cast<std::size_t>(t)] == i) alive = alive - size(static_cast<std::size_t>(t));
    std::erase_if(born, [&](int t) { return last[static_cast<std::size_t>(t)] == i; });
  }
  return peak;
}

// Operators that run several times in a row (experts one by one) write as many tensors.
std::vector<double> copies_of_tensors(const Section& section) {
  std::vector<double> copies(section.tensors.size(), 1);
  for (const Operator& op : section.operators)
    for (int t : op.outputs)
      if (op.times > 1) copies[static_cast<std::size_t>(t)] = static_cast<double>(op.times);
  return copies;
}

// The properties of a run that determine how much of its tensors is kept.
struct Keeping {
  const Precision& precision;
  bool compiled = false;
  const NarrowRecipe* narrow = nullptr;  // inputs of products are kept as they were cast
  bool weighs_inside = false;  // experts' weights are multiplied with their activations, not with their results
};
Keeping keeping_of(const EngineOptions& engine, const NarrowRecipe* narrow) {
  // Megatron-Core's TEGroupedMLP: weighted_bias_swiglu_impl.
  return {engine.precision, engine.kind == EngineKind::compile, narrow, engine.fused_layers};
}

// Experts as one kernel keep what their products read and what came out, of every token sent to the rank: tokens
// as they were sorted, the first product's result, the activation's, the second product's where it is weighed.
// `without_activation`: the activation's runs again.
Bytes saved_by_experts(const Moe& moe, const Keeping& how, bool without_activation) {
  const Precision& p = how.precision;
  const double rows = static_cast<double>(moe.tokens * moe.topk) * static_cast<double>(moe.local_experts()) /
                      static_cast<double>(moe.experts);
  const auto inter = static_cast<double>(moe.local_inter());
  const auto hidden = static_cast<double>(moe.hidden);
  const double cast = how.narrow ? how.narrow->product.activation_bits / p.activation.activation_bits : 1;
  const double read = cast * (hidden + (without_activation ? 0 : inter));
  const double width = read + (moe.gated ? 2 : 1) * inter + (how.weighs_inside ? 0 : hidden);
  return bytes(rows * width * p.activation.activation_bits / 8);
}

// The width of what is kept relative to the type of activations: what only narrow products read is cast before it is
// kept.
std::vector<double> kept_widths(const Section& section, const Precision& p, const NarrowRecipe* narrow) {
  std::vector<double> widths(section.tensors.size(), 1);
  if (!narrow) return widths;
  std::vector<bool> wide(section.tensors.size(), false);
  for (const Operator& op : section.operators) {
    const bool casts = runs_narrow(op) && op.shape.is<Gemm>();
    for (int t : op.inputs) {
      if (casts) widths[static_cast<std::size_t>(t)] = narrow->product.activation_bits / p.activation.activation_bits;
      else wide[static_cast<std::size_t>(t)] = true;
    }
    if (op.shape.is<AttentionPrefill>() || op.shape.is<MlaPrefill>())
      for (int t : op.outputs) wide[static_cast<std::size_t>(t)] = true;
  }
  for (std::size_t t = 0; t < widths.size(); ++t)
    if (wide[t]) widths[t] = 1;
  return widths;
}

// What one run of a section keeps for its gradients, without what is recomputed.
Bytes saved_bytes(const Section& section, const Keeping& how, const Recomputation& recompute = {}) {
  const Precision& p = how.precision;
  Bytes sum = bytes(0);
  const std::vector<double> copies = copies_of_tensors(section), widths = kept_widths(section, p, how.narrow);
  for (int t : kept_tensors(section, recompute, how.compiled))
    sum += size_of(section.tensors[static_cast<std::size_t>(t)], p) * copies[static_cast<std::size_t>(t)] *
           widths[static_cast<std::size_t>(t)];
  const std::vector<bool> again = operators_again(section, recompute);
  for (std::size_t i = 0; i < section.operators.size(); ++i) {
    const Operator& op = section.operators[i];
    if (again[i]) continue;
    if (op.spelling == Spelling::dropout) sum += bytes(static_cast<double>(op.shape.as<Elementwise>().count()));
    if (const auto* a = op.shape.get_if<AttentionPrefill>())  // the softmax's logarithms, one a query and head
      sum += bytes(4.0 * static_cast<double>(a->heads * (a->lens.empty() ? a->batch * a->q_len : 0)));
    if (const auto* moe = op.shape.get_if<Moe>())
      sum += saved_by_experts(*moe, how, repeats_activation_alone(op, section, recompute));
    if (const auto* loss = op.shape.get_if<CrossEntropy>(); loss && op.spelling != Spelling::in_place_loss)
      sum += bytes(4.0 * static_cast<double>(loss->rows * loss->cols));  // log-softmax in fp32
    if (p.mixed == MixedPrecision::autocast && op.shape.is<Gemm>())      // the cast weights are kept
      sum += bytes(static_cast<double>(op.weights.matrix) * product_format(op, p).weight_bits / 8);
  }
  return sum;
}

// What training holds at once besides parameters and the optimizer's states.
struct TrainingPeak {
  Bytes forward;   // when the forward pass ends: everything kept for gradients, and the last section's own
  Bytes backward;  // beside all gradients, when those of the first layers are computed
};

bool has_loss(const Section& section) {
  return std::any_of(section.operators.begin(), section.operators.end(), [](const Operator& op) {
    return op.shape.is<CrossEntropy>() || op.spelling == Spelling::fused_loss;
  });
}
bool overwrites_logits(const Section& section) {
  return std::any_of(section.operators.begin(), section.operators.end(),
                     [](const Operator& op) { return op.spelling == Spelling::in_place_loss; });
}

// A loss' gradient follows at once, whatever the schedule, so only one micro-batch of it exists at a time.
TrainingPeak training_peak(const Graph& graph, const Keeping& how, const Recomputation& recompute, double micro_batches,
                           bool offloaded) {
  const Precision& p = how.precision;
  Bytes kept = bytes(0), transient = bytes(0), layer = bytes(0);
  for (const Section& section : graph.sections) {
    const bool again = recompute != Recompute::none && is_layer(section);
    const Bytes saved = saved_bytes(section, how);
    const Bytes input = section.tensors.empty() ? bytes(0) : size_of(section.tensors.front(), p);
    const auto every = static_cast<double>(recompute.every);
    const Bytes left = !again                              ? saved
                       : recompute.kind == Recompute::full ? input
                       : recompute.kind == Recompute::alternate
                           ? (input + saved * (every - 1)) / every  // one in so many
                           : saved_bytes(section, how, recompute);
    // Of what the host holds, the current layer and its neighbour are on the card.
    const double runs = has_loss(section) ? 1 : static_cast<double>(section.repeats) * micro_batches;
    kept += left * (offloaded && section.repeats > 1 ? std::min(2.0, runs) : runs);
    // While a section's gradients run, its own tensors' gradients are held in addition to what is saved; a recomputed
    // section's saved tensors exist again for a while.
    const bool in_part = recompute.kind == Recompute::selective || recompute.kind == Recompute::operators;
    const Bytes back = !again ? bytes(0) : in_part ? std::max(bytes(0), saved - left) : saved;
    const Bytes own = peak_alive(section, p, overwrites_logits(section)) + back;
    transient = std::max(transient, own);
    if (section.repeats > 1) layer = std::max(layer, own);
  }
  return {kept + transient, layer};
}

}  // namespace

std::vector<Bytes> kept_by_section(const Graph& graph, const EngineOptions& engine, const Recomputation& recompute) {
  std::vector<Bytes> kept;
  kept.reserve(graph.sections.size());
  for (const Section& section : graph.sections)
    kept.push_back(saved_bytes(section, keeping_of(engine, nullptr), recompute));
  return kept;
}

namespace {

Bytes optimizer_bytes(OptimizerKind kind, double params, const Precision& p) {
  const double parameter_bytes = p.mixed == MixedPrecision::autocast ? 4 : p.activation.weight_bits / 8;
  const double state =
      p.mixed == MixedPrecision::none ? parameter_bytes : 4;  // PyTorch's states take the parameters' type
  const double states = kind == OptimizerKind::sgd ? 0 : 2;
  return bytes(params * (states * state + (p.mixed == MixedPrecision::master ? 4 : 0)));
}

// cuBLAS keeps 32 MiB on Hopper and later, 8 MiB before (PyTorch's default workspace configuration); PyTorch's
// allocator does not report the driver's context, so it is left out here too (serving_memory.h).
Bytes library_workspace(const Gpu& gpu) {
  const bool recent = gpu.architecture == Architecture::hopper || gpu.architecture == Architecture::blackwell;
  return mebibytes(recent ? kWorkspace : kWorkspaceBefore);
}

}  // namespace

Bytes checkpoint_bytes(OptimizerKind kind, double params, const Precision& p) {
  const double parameter = p.mixed == MixedPrecision::none ? p.activation.weight_bits / 8 : 4;
  const double states = kind == OptimizerKind::sgd ? 0 : 2;
  return bytes(params * parameter * (1 + states));
}

namespace {

double cache_element(const Precision& p) { return p.cache == CacheType::fp8 ? 1 : p.activation.activation_bits / 8; }

// Keys and values of cross-attention that one request keeps, as long as its source.
Bytes source_bytes(const CacheNeed& need, const Workload& workload, const Requests& r, const Precision& precision) {
  const Count tokens = workload.source_len > 0 ? workload.source_len : r.new_tokens;
  return bytes(cache_element(precision) * real(need.per_source_token) * real(tokens));
}

}  // namespace

Bytes cache_bytes(const CacheNeed& need, Count tokens, const Precision& precision) {
  const double element = cache_element(precision);
  double sum = 4.0 * static_cast<double>(need.state);
  for (const CachePart& part : need.parts) {
    const Count kept = part.window > 0 ? std::min(tokens, part.window) : tokens;
    sum += element * static_cast<double>(part.per_token * kept);
  }
  return bytes(sum);
}

Bytes cache_bytes(const CacheNeed& need, const Workload& workload, const Precision& precision) {
  Bytes sum;
  if (!workload.keep_cache) return sum;
  for (const Requests& r : workload.requests)
    sum += (cache_bytes(need, r.cached + r.new_tokens, precision) + source_bytes(need, workload, r, precision)) *
           real(r.count);
  return sum;
}

MemoryNeed memory_need(const Graph& arranged, const Workload& workload, const EngineOptions& engine,
                       const std::optional<CacheNeed>& cache, const TrainingSetup& training, const Gpu& gpu,
                       const StateShares& shares) {
  const Precision& p = engine.precision;
  MemoryNeed need;
  const NarrowRecipe* narrow = workload.mode == Mode::train ? narrow_recipe(training.options.precision) : nullptr;
  const OwnWeights own = weights_of(arranged, engine, narrow, gpu);
  need.weights = bytes(own.dense.bytes * shares.dense.parameters + own.experts.bytes * shares.experts.parameters);
  need.workspace = library_workspace(gpu);
  if (workload.mode == Mode::train) {
    const bool wide = p.mixed == MixedPrecision::autocast || training.wide_gradients;
    const double own_width = p.activation.weight_bits / 8;
    // Gradients that are added to fp32 buffers after a pass are held in addition until then.
    const bool twice = wide && training.options.gradient_sum == GradientSum::widened;
    const double gradient_bytes = wide ? 4 + (twice ? own_width : 0) : own_width;
    need.gradients = bytes(
        gradient_bytes * (own.dense.trained * shares.dense.gradients + own.experts.trained * shares.experts.gradients));
    if (training.update && !offloads_optimizer(training.offload))
      need.optimizer = optimizer_bytes(
          training.optimizer,
          own.dense.trained * shares.dense.optimizer + own.experts.trained * shares.experts.optimizer, p);
    // A separate reference, if it is not the same weights without adapters.
    if (training.options.reference && own.dense.trained + own.experts.trained == own.dense.count + own.experts.count)
      need.weights += need.weights;
    // torchao keeps what it cast in bf16, and casts it again.
    const bool keeps_cast = cast_code(engine) == CastCode::fused;
    const TrainingPeak peak =
        training_peak(arranged, keeping_of(engine, keeps_cast ? narrow : nullptr), training.options.recompute,
                      shares.micro_batches, offloads_activations(training.offload));
    need.activations = peak.forward;
    // Permanent gradient buffers (Megatron) reuse no activation's memory.
    if (training.accumulation == 1 && !training.options.accumulate && !training.wide_gradients)
      need.handed_over = need.activations + need.gradients - std::max(peak.forward, need.gradients + peak.backward);
    return need;
  }
  for (const Section& section : arranged.sections)
    need.activations = std::max(need.activations, peak_alive(section, p));
  if (cache) need.cache = cache_bytes(*cache, workload, p);
  return need;
}

}  // namespace tilecast
