#include "engine/narrow.h"

#include <array>
#include <cmath>
#include <memory>
#include <set>

#include "constants/training.h"
#include "engine/rewriter.h"
#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/reduction.h"

namespace tilecast {

using namespace constants;

namespace {

// What a product multiplies if its operands were cast by separate kernels.
constexpr Format ready(std::string_view name, FormatId id, DType math, double bits) {
  return {name, id, math, DType::fp32, bits, bits, DType::bf16, Quantise::none};
}

// Bytes of four: bf16 is read, fp8 written; twice where both ways. Scales of blocks: fp32 for 128 numbers, eight bits
// for 32 (mxfp8) or 16 (nvfp4).
constexpr double written(double bits, int ways) { return (2 + ways * bits / 8) / 4; }
constexpr double kBlockBits = 8 + 32.0 / 128, kMxBits = 8 + 8.0 / 32, kNvBits = 4 + 8.0 / 16;

constexpr std::string_view kTeDocs =
    "Transformer Engine 2.19, features/low_precision_training: performance considerations and the recipe's own page";
// Delayed and current scaling: one kernel casts and, on Hopper, transposes, since only operands that lie along k are
// multiplied there; Blackwell multiplies all layouts of fp8. Current scaling reads the tensor once more for its
// maximum. Blocks, mxfp8 and nvfp4 scale along the sum, so both directions are cast from bf16. nvfp4's second level
// needs the tensor's maximum. Row-wise is torchao's recipe: a cast for each direction, every one from bf16.
constexpr std::array<NarrowRecipe, 6> kRecipes = {{
    {TrainPrecision::fp8_delayed,
     ready("fp8_static", FormatId::fp8_static, DType::fp8, 8),
     {written(8, 1), written(8, 2)},
     1,
     1,
     1,
     kTeDocs},
    {TrainPrecision::fp8_current,
     ready("fp8_static", FormatId::fp8_static, DType::fp8, 8),
     {written(8, 1), written(8, 2), false, true},
     1,
     1,
     1,
     kTeDocs},
    {TrainPrecision::fp8_row,
     ready("fp8_static", FormatId::fp8_static, DType::fp8, 8),
     {written(8, 1), 2 * written(8, 1), true},
     1,
     1,
     1,
     "torchao/float8/config.py, rowwise"},
    {TrainPrecision::fp8_block,
     ready("fp8_static", FormatId::fp8_static, DType::fp8, kBlockBits),
     {written(kBlockBits, 1), written(kBlockBits, 2), true},
     kBlockForward.value,
     kBlockInput.value,
     kBlockWeight.value,
     kTeDocs},
    {TrainPrecision::mxfp8,
     ready("fp8_static", FormatId::fp8_static, DType::fp8, kMxBits),
     {written(kMxBits, 1), written(kMxBits, 2), true},
     1,
     1,
     1,
     kTeDocs},
    {TrainPrecision::nvfp4,
     ready("nvfp4", FormatId::nvfp4, DType::fp4, kNvBits),
     {written(kNvBits, 1), written(kNvBits, 2), true, true},
     1,
     1,
     1,
     kTeDocs},
}};

Count scaled(Count elements, double share) {
  return std::max<Count>(1, static_cast<Count>(std::llround(static_cast<double>(elements) * share)));
}
Shape reduction_of(Count rows, Count cols) {
  Reduction shape;
  shape.rows = rows, shape.cols = cols;
  return shape;
}

// A tensor as a product reads it.
struct CastOperand {
  int tensor = -1;  // of the section; none: a weight
  Count rows = 0, cols = 0;
  Count elements() const { return rows * cols; }
};

// Writes casts before the products that read them, in one code's kernels.
class CastWriter {
 public:
  CastWriter(SectionRewriter& out, const NarrowRecipe& recipe) : out_(out), recipe_(recipe) {}
  virtual ~CastWriter() = default;
  virtual void forward(const Operator& op, const CastOperand& input, const CastOperand& weight) = 0;
  virtual void input_gradient(const Operator& op, const CastOperand& grad, const CastOperand& weight) = 0;
  virtual void weight_gradient(const Operator& op, const CastOperand& grad, const CastOperand& input) = 0;
  // Behind a gradient's product, where scales are applied to its result.
  virtual void after_gradient(const Operator&, Count) {}

 protected:
  std::vector<int> reads(const CastOperand& m) const {
    return m.tensor >= 0 ? std::vector<int>{m.tensor} : std::vector<int>{};
  }
  SectionRewriter& out_;
  const NarrowRecipe& recipe_;
};

// Transformer Engine: a tensor is cast once, for all products that read it. Weights are cast with the step's first
// micro-batch, frozen ones once for all.
class FusedCasts final : public CastWriter {
 public:
  FusedCasts(SectionRewriter& out, const NarrowRecipe& recipe, Count micro_batches)
      : CastWriter(out, recipe), micro_batches_(static_cast<double>(micro_batches)) {}
  void forward(const Operator& op, const CastOperand& input, const CastOperand& weight) override {
    // A frozen product does not need its input later.
    if (done_.insert(input.tensor).second) cast(op.name + ".cast_input", input, !op.weights.frozen, 1);
    const bool cast_before =
        op.weights.matrix == 0;  // what runs again owns nothing: its weights were cast and are kept
    if (!op.weights.frozen && !cast_before) cast(op.name + ".cast_weight", weight, true, 1 / micro_batches_);
  }
  void input_gradient(const Operator& op, const CastOperand& grad, const CastOperand&) override {
    if (done_.insert(grad.tensor).second) cast(op.name + ".cast", grad, !op.weights.frozen, 1);
  }
  void weight_gradient(const Operator& op, const CastOperand& grad, const CastOperand&) override {
    if (done_.insert(grad.tensor).second) cast(op.name + ".cast", grad, true, 1);
  }

 private:
  void cast(const std::string& name, const CastOperand& m, bool both, double share) {
    const CastCost& c = recipe_.cast;
    const Count n = scaled(m.elements(), share);
    if (c.finds) out_.add(name + ".amax", reduction_of(1, n), reads(m), 1);
    const double own = both && c.both_always ? c.both_ways : c.one_way;
    out_.add(name, copy_of(scaled(n, own)), reads(m), n);
    if (!both || c.both_always) return;
    out_.add(name + ".transpose", copy_of(scaled(n, c.both_ways - c.one_way)), reads(m), n);
    out_.last().turns = true;
  }
  double micro_batches_;
  std::set<int> done_;
};

// PyTorch's operators as torchao's recipes call them (data/measurements/README.md): |x|, its maximum, the scale in
// fp64 number by number, x in fp32, times the scale, clamped, narrowed; weights and inputs anew in the backward pass.
// The product itself needs both operands along its sum.
class EagerCasts final : public CastWriter {
 public:
  using CastWriter::CastWriter;
  void forward(const Operator& op, const CastOperand& input, const CastOperand& weight) override {
    cast(op.name + ".input", input, false);
    cast(op.name + ".weight", weight, false);
  }
  void input_gradient(const Operator& op, const CastOperand& grad, const CastOperand& weight) override {
    cast(op.name + ".grad", grad, false);
    cast(op.name + ".weight", weight, rows());
    turn(op.name + ".weight", weight);
  }
  void weight_gradient(const Operator& op, const CastOperand& grad, const CastOperand& input) override {
    if (rows()) cast(op.name + ".grad", grad, true);
    turn(op.name + ".grad", grad);
    cast(op.name + ".input", input, rows());
    turn(op.name + ".input", input);
  }
  // Scales of rows and columns are multiplied and applied after a product without fast accumulation.
  void after_gradient(const Operator& op, Count elements) override {
    if (!rows()) return;
    out_.walking(TorchWalk::strided, out_.pointwise(op.name + ".scales", PointwiseOp::mul, {}, elements));
    out_.in_full_precision();
    // Of two types: reads two and four bytes, writes two, as an fp32 kernel of two thirds of its traffic would.
    out_.walking(TorchWalk::strided,
                 out_.add(op.name + ".rescale", elementwise(PointwiseOp::mul, 1, elements), {}, elements));
    out_.in_full_precision();
  }

 private:
  bool rows() const { return recipe_.precision == TrainPrecision::fp8_row; }
  void cast(const std::string& name, const CastOperand& m, bool columns) {
    constexpr Count kTensorScale = 6, kRowScale = 9;  // kernels over the scales alone
    const Count n = m.elements(), lines = rows() ? (columns ? m.cols : m.rows) : 1;
    const int absolute = out_.pointwise(name + ".abs", PointwiseOp::relu, reads(m), n);
    const int found = out_.add(name + ".amax", reduction_of(lines, n / lines), {absolute}, lines);
    out_.pointwise(name + ".scale", PointwiseOp::mul, {found}, lines);
    out_.last().times = rows() ? kRowScale : kTensorScale;
    int x = out_.walking(TorchWalk::widen, out_.add(name + ".float", copy_of(n), reads(m), n));
    out_.in_full_precision();
    x = out_.walking(TorchWalk::strided, out_.add(name + ".mul", elementwise(PointwiseOp::mul, 1, n), {x}, n));
    out_.in_full_precision();
    x = out_.pointwise(name + ".clamp", PointwiseOp::relu, {x}, n);
    out_.in_full_precision();
    // Five bytes instead of the six of a cast to bf16.
    out_.walking(TorchWalk::narrow, out_.add(name + ".narrow", copy_of(scaled(n, 5.0 / 6)), {x}, n));
  }
  void turn(const std::string& name, const CastOperand& m) {
    Copy copy;
    copy.rows = scaled(m.rows, kEagerTranspose), copy.cols = m.cols, copy.transpose = true;
    out_.add(name + ".turn", copy, {}, m.elements());
  }
};

// Inductor fuses what lies between two maxima, and finds a tensor's maximum once per graph: the forward and backward
// passes are one graph each.
class CompiledCasts final : public CastWriter {
 public:
  using CastWriter::CastWriter;
  void forward(const Operator& op, const CastOperand& input, const CastOperand& weight) override {
    if (done_.insert(input.tensor).second) cast(op.name + ".input", input, 1);
    cast(op.name + ".weight", weight, 1);
  }
  void input_gradient(const Operator& op, const CastOperand& grad, const CastOperand& weight) override {
    both(op.name + ".grad", grad);
    turned(op.name + ".weight", weight);
  }
  void weight_gradient(const Operator& op, const CastOperand& grad, const CastOperand& input) override {
    if (rows()) turned(op.name + ".grad", grad);
    if (done_.insert(input.tensor).second) turned(op.name + ".input", input);
  }
  void after_gradient(const Operator& op, Count elements) override {
    if (rows()) out_.add(op.name + ".rescale", copy_of(scaled(elements, kCompiledRescale)), {}, elements);
  }

 private:
  bool rows() const { return recipe_.precision == TrainPrecision::fp8_row; }
  void find(const std::string& name, const CastOperand& m) {
    if (recipe_.cast.finds) out_.add(name + ".amax", reduction_of(1, m.elements()), reads(m), 1);
  }
  void cast(const std::string& name, const CastOperand& m, double share) {
    find(name, m);
    out_.add(name + ".cast", copy_of(scaled(m.elements(), recipe_.cast.one_way * share)), reads(m), m.elements());
  }
  void turned(const std::string& name, const CastOperand& m) {
    if (rows()) find(name, m);
    out_.add(name + ".turn", copy_of(scaled(m.elements(), recipe_.cast.one_way * kCompiledTurn)), reads(m),
             m.elements());
  }
  void both(const std::string& name, const CastOperand& m) {
    if (rows()) return cast(name, m, 1);
    find(name, m);
    out_.add(name + ".cast", copy_of(scaled(m.elements(), kCompiledBoth)), reads(m), m.elements());
  }
  std::set<int> done_;
};

// One section, its narrow products marked and their casts put before them.
class NarrowSection {
 public:
  NarrowSection(const Section& section, const NarrowRecipe& recipe, CastCode code, Count micro_batches)
      : section_(section), recipe_(recipe), out_(section) {
    switch (code) {
      case CastCode::eager: casts_ = std::make_unique<EagerCasts>(out_, recipe); break;
      case CastCode::compiled: casts_ = std::make_unique<CompiledCasts>(out_, recipe); break;
      case CastCode::fused: casts_ = std::make_unique<FusedCasts>(out_, recipe, micro_batches); break;
    }
  }
  Section write() && {
    for (const Operator& op : section_.operators) {
      if (!runs_narrow(op)) {
        out_.keep(op);
        continue;
      }
      out_.pieces_of(op);
      Operator product = op;
      product.runs_as = &recipe_.product;
      if (const auto* gemm = op.shape.get_if<Gemm>()) place(op, *gemm, product);
      else place_experts(op, op.shape.as<Moe>(), product);
    }
    return std::move(out_).take();
  }

 private:
  // torchao uses fast accumulation for forward products only; Transformer Engine splits its sums in gradients
  // (use_split_accumulator, transformer_engine/pytorch/module/base.py).
  double slow() const {
    const bool blocks = recipe_.precision == TrainPrecision::fp8_block || recipe_.precision == TrainPrecision::mxfp8 ||
                        recipe_.precision == TrainPrecision::nvfp4;
    return blocks ? 1 : kSlowAccumulation.value;
  }
  static int first(const Operator& op, std::size_t i) { return op.inputs.size() > i ? op.inputs[i] : -1; }

  void place(const Operator& op, const Gemm& g, Operator& product) {
    if (section_.pass == Pass::forward || section_.recomputed) {
      product.wgmma_longer = recipe_.forward_longer;
      // Grouped products read the weights of all their experts.
      casts_->forward(op, {first(op, 0), g.m, g.k},
                      {-1, std::max(g.n, op.weights.matrix / std::max<Count>(1, g.k)), g.k});
      return out_.keep(product);
    }
    if (!op.weight_gradient) {  // [m, k] of grads [m, n] and weights [n, k]
      product.wgmma_longer = recipe_.input_longer * slow();
      casts_->input_gradient(op, {first(op, 0), g.m, g.k}, {-1, g.k, g.n});
    } else {  // [n, k] of grads [m, n] and inputs [m, k]
      product.wgmma_longer = recipe_.weight_longer * slow();
      casts_->weight_gradient(op, {first(op, 0), g.k, g.m}, {first(op, 1), g.k, g.n});
    }
    out_.keep(product);
    casts_->after_gradient(op, g.m * g.n);
  }

  // Grouped products: the first reads tokens as they were sent, the second what the activation wrote.
  void place_experts(const Operator& op, const Moe& moe, Operator& product) {
    const Count rows =
        std::max<Count>(1, moe.tokens * moe.topk * moe.local_experts() / std::max<Count>(1, moe.experts));
    const CastOperand tokens{-1, rows, moe.hidden}, inner{-1, rows, moe.local_inter()};
    if (section_.pass == Pass::forward || section_.recomputed) {
      product.wgmma_longer = recipe_.forward_longer;
      experts_cast(op.name, tokens, inner);
    } else if (!op.weight_gradient) {
      product.wgmma_longer = recipe_.input_longer * slow();
      experts_cast(op.name, tokens, {-1, rows, (moe.gated ? 2 : 1) * moe.local_inter()});
    } else {
      product.wgmma_longer = recipe_.weight_longer * slow();
    }
    out_.keep(product);
  }
  void experts_cast(const std::string& name, const CastOperand& first, const CastOperand& second) {
    for (const CastOperand* m : {&first, &second}) {
      if (recipe_.cast.finds) out_.add(name + ".amax", reduction_of(1, m->elements()), {}, 1);
      out_.add(name + ".cast", copy_of(scaled(m->elements(), recipe_.cast.both_ways)), {}, m->elements());
    }
  }

  const Section& section_;
  const NarrowRecipe& recipe_;
  SectionRewriter out_;
  std::unique_ptr<CastWriter> casts_;
};

}  // namespace

std::span<const NarrowRecipe> narrow_recipes() { return kRecipes; }

const NarrowRecipe* narrow_recipe(TrainPrecision precision) {
  for (const NarrowRecipe& recipe : kRecipes)
    if (recipe.precision == precision) return &recipe;
  return nullptr;
}

bool runs_narrow(const Operator& op) {
  if (op.stays_wide || op.unknown || op.role == Role::adapter || op.role == Role::router ||
      op.role == Role::shared_gate)
    return false;
  if (op.shape.is<Moe>()) return true;
  return op.shape.is<Gemm>() && class_of(op) == OpClass::linear;
}

CastCode cast_code(const EngineOptions& engine) {
  if (engine.kind == EngineKind::compile) return CastCode::compiled;
  const bool torch = engine.kind == EngineKind::pytorch || engine.kind == EngineKind::pytorch_graph;
  return torch && !engine.fused_layers ? CastCode::eager : CastCode::fused;
}

Graph with_narrow_products(const Graph& step, const NarrowRecipe& recipe, CastCode code, Count micro_batches) {
  Graph graph{step.name, {}};
  for (const Section& section : step.sections)
    graph.sections.push_back(NarrowSection(section, recipe, code, micro_batches).write());
  return graph;
}

Graph with_unpacking(const Graph& step) {
  Graph graph{step.name, {}};
  for (const Section& section : step.sections) {
    SectionRewriter out(section);
    for (const Operator& op : section.operators) {
      const auto* gemm = op.shape.get_if<Gemm>();
      if (gemm && op.weights.packed) {
        out.pieces_of(op);
        const Count weights =
            section.pass == Pass::backward && !section.recomputed ? gemm->k * gemm->n : gemm->n * gemm->k;
        out.add(op.name + ".unpack", copy_of(scaled(weights, (kNf4Bits / 8 + 2) / 4)), {}, weights);
      }
      out.keep(op);
    }
    graph.sections.push_back(std::move(out).take());
  }
  return graph;
}

}  // namespace tilecast
