#include "kernel/moe.h"

#include <algorithm>
#include <numeric>

#include "constants/attention.h"
#include "constants/product.h"
#include "kernel/checks.h"
#include "kernel/grouped_gemm.h"
#include "kernel/moe_loads.h"
#include "kernel/moe_tiles.h"
#include "kernel/pipeline.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

// Power-law loads are built expert by expert.
constexpr Count kMostExperts = 1 << 16;

MoeStyle style_of(const Moe& s, const Format& format, const Gpu& gpu, const Context& context) {
  if (s.style != MoeStyle::automatic) return s.style;
  // AITER's experts are grouped products; vLLM uses them only if an environment variable says so.
  const bool cdna3 = gpu.cdna3_or_later();
  if (cdna3 && context.engine != Launcher::vllm) return MoeStyle::grouped;
  // vLLM 0.24 and SGLang 0.5 use their Triton kernel up to Hopper; trtllm-gen or CUTLASS on Blackwell and for fp4;
  // Marlin for weight-only formats (kernel sources of the AIConfigurator rows).
  const bool grouped = gpu.tensor_generation() == TensorGeneration::tcgen05 || format.math == DType::fp4 ||
                       format.unpack_weights || format.math == DType::fp64;
  return grouped ? MoeStyle::grouped : MoeStyle::triton;
}

// A kernel with one CTA per row that moves `load` and `store` bytes of it.
Launch row_kernel(std::string_view name, Count rows, Bytes load, Bytes store, Ops vector, Ops xu) {
  Launch launch;
  launch.name = name;
  launch.character = Character::streaming;
  launch.cta = {256, 32, bytes(0)};
  launch.ctas = rows;
  Demand each;
  each.vector = vector;
  each.xu = xu;
  each.l2_load = load;
  each.l2_store = store;
  launch.tasks = {{rows, each, 1}};
  launch.plan_known = false;
  return launch;
}

// One rank's work, named as the launches use it.
struct Rank {
  const Moe& shape;
  const Format& format;
  MathPath math;
  MoeLoads loads;
  bool triton = false;
  bool bare = false;  // both products alone, the activation inside the first: AITER's kernels as its tables time them

  Count tokens() const { return std::min(shape.tokens, loads.total); }  // with rows here, at most
  // (token, expert) pairs that the kernels between and after the products pass over. The Triton style keeps the pairs
  // of other ranks in place: the products write zeros for them, and activation and sum read those.
  Count pairs() const { return triton ? std::max(loads.total, shape.tokens * shape.topk) : loads.total; }
  double first_columns() const { return real(shape.local_inter()) * (shape.gated ? 2 : 1); }

  Operand input() const {
    const double h = real(shape.hidden);
    if (bare)
      return {"tokens",
              format.activation_bytes(real(tokens()) * h),
              Operand::Role::activation,
              true,
              false,
              format.activation_bytes(real(std::min(tokens(), loads.certain_tokens)) * h)};
    return {"tokens",
            format.output_bytes(real(tokens()) * h),
            Operand::Role::activation,
            true,
            false,
            format.output_bytes(real(std::min(tokens(), loads.certain_tokens)) * h)};
  }
  // `overfetch`: DRAM traffic over their size when they come from DRAM.
  Operand weights(std::string_view name, double n, double k, double overfetch) const {
    const Bytes size = format.weight_bytes(real(static_cast<Count>(loads.rows.size())) * n * k);
    Operand w{name, size, Operand::Role::weight, true, false, format.weight_bytes(real(loads.certain_experts) * n * k)};
    w.assumed = format.weight_bytes(real(loads.assumed_experts) * n * k);
    w.passes = overfetch;
    w.reuse_distance = size;
    return w;
  }
  // Between two launches of the plan; a fused kernel need not have it.
  static Operand between(std::string_view name, Bytes size, bool written) {
    return {name, size, Operand::Role::workspace, !written, written};
  }
};

// Sorting the (token, expert) pairs by expert: moe_align_block_size, or the prologue of the permutation. Few CTAs, many
// small dependent steps, hardly any bytes.
Launch align_launch(const Rank& r) {
  constexpr double kPairBytes = 4 + 4;  // expert id read, sorted position written
  constexpr Count kThreads = 1024;
  const double pairs = real(r.shape.tokens * r.shape.topk);  // of all ranks: each sorts out its own
  Launch launch =
      row_kernel("moe_align", 1, bytes(kPairBytes / 2 * pairs), bytes(kPairBytes / 2 * pairs), ops(8 * pairs), ops(0));
  launch.cta.threads = kThreads;
  launch.operands.add(Rank::between("sorted pairs", bytes(kPairBytes * pairs), true));
  return launch;
}

// Grouped style copies tokens into expert order, quantising on the way; the Triton kernel gathers them itself and only
// quantises before, once per token.
Launch permute_launch(const Rank& r) {
  const double h = real(r.shape.hidden);
  const Count rows = r.triton ? r.tokens() : r.loads.total;
  const double slots = r.format.quantise == Quantise::dynamic ? 4 : 0;  // |x|, max, scale, convert
  Launch launch = row_kernel(r.triton ? "moe_quantise" : "moe_permute", rows, r.format.output_bytes(h),
                             r.format.activation_bytes(h), ops(2 * slots * h), ops(0));
  launch.character = r.triton ? Character::streaming : Character::gather;
  launch.operands.add(r.input());
  launch.operands.add(Rank::between("rows", r.format.activation_bytes(real(rows) * h), true));
  return launch;
}

Launch activation_launch(const Rank& r) {
  const double inter = real(r.shape.local_inter());
  // SiLU and its product: exp, reciprocal, and about six slots; quantising adds four.
  const double slots = 6 + (r.format.quantise == Quantise::dynamic ? 4 : 0);
  Launch launch = row_kernel("moe_activation", r.pairs(), r.format.output_bytes(r.first_columns()),
                             r.format.activation_bytes(inter), ops(2 * slots * inter), ops(2 * inter));
  launch.operands.add(Rank::between("gate and up", r.format.output_bytes(real(r.pairs()) * r.first_columns()), false));
  launch.operands.add(Rank::between("hidden", r.format.activation_bytes(real(r.pairs()) * inter), true));
  return launch;
}

// Adds the rows of each token, weighted; tokens without rows here get zeros.
Launch combine_launch(const Rank& r) {
  const double h = real(r.shape.hidden), rows = real(r.pairs()), tokens = real(r.shape.tokens);
  Launch launch = row_kernel("moe_combine", r.shape.tokens, r.format.output_bytes(rows * h / tokens),
                             r.format.output_bytes(h), ops(2 * rows * h / tokens), ops(0));
  launch.character = Character::gather;
  launch.operands.add(Rank::between("expert results", r.format.output_bytes(rows * h), false));
  launch.operands.add({"result", r.format.output_bytes(tokens * h), Operand::Role::activation, false, true,
                       r.format.output_bytes(real(std::min(r.tokens(), r.loads.certain_tokens)) * h)});
  return launch;
}

// Main-loop steps of a task as latency counts them, for a task of `steps` steps. A plain product's constants are too
// optimistic for MoE kernels on Hopper and Blackwell:
// - Tiles of fewer rows than one wgmma run on mma.sync or leave most of it idle, and indirect rows (gathered, or behind
// an expert's descriptor)
//   add to each load. Slopes over the width of the model at one or two tokens: 350 clocks per 64 elements on A100 and
//   H200 (Triton; 420 CUTLASS), 180 to 275 on GB200.
// - A CTA finds its expert, its rows and its descriptors before the first step, and tasks follow each other without
//   overlap: 5,000 to 6,000 clocks each, as on A100, where plain products cost that too (H200 and GB200 with experts of
//   a few dozen columns, whose second product has one step per task).
// Triton's kernels wait about as long for a step of 32 elements as for one of 64 or 128, on every generation: rows are
// gathered, and no step starts before the last one's addresses are known.
double latency_steps(double steps, const GroupedProblem& problem, const GemmChoice& choice, bool triton,
                     const Gpu& gpu) {
  constexpr int kWgmmaRows = 64;
  const double step_clocks = pipeline_latency(gpu).step_clocks;
  if (triton && gpu.vendor == Vendor::nvidia && choice.tile_k > 0)
    steps = std::max(steps, real(ceil_div(problem.k, choice.tile_k)) * kTritonExpertStepClocks / step_clocks);
  const TensorGeneration generation = gpu.tensor_generation();
  if (generation != TensorGeneration::wgmma && generation != TensorGeneration::tcgen05) return steps;
  const double stretch = generation == TensorGeneration::wgmma ? gpu.tuned(kMmaSyncSteps) : gpu.tuned(kGroupedSteps);
  const bool stretched = !triton && std::min(choice.tile.m, choice.tile.n) < kWgmmaRows;
  return steps * (stretched ? stretch : 1) + gpu.tuned(kExpertTaskClocks) / step_clocks;
}

// Time of tensor work relative to the full rate. Triton multiplies blocks of fewer than 64 rows with mma.sync, which
// reaches about half of Hopper's pipe (H20: 77 of 148 TFLOP/s with 32 rows, 142 with 64; SynPerf's rows).
double mma_sync_cost(const GemmChoice& choice, const Gpu& gpu) {
  const bool mma_sync = gpu.tensor_generation() == TensorGeneration::wgmma && choice.tile.m < 64;
  return mma_sync ? gpu.tuned(kMmaSyncCost) : 1;
}

// Blocks of pairs that belong to other ranks: they only write zeros.
void add_zero_blocks(Launch& launch, const Rank& r, const GemmTile& tile, Count n) {
  const Count blocks = ceil_div(r.pairs() - r.loads.total, tile.m) * ceil_div(n, tile.n);
  if (blocks == 0) return;
  Demand each;
  each.l2_store = r.format.output_bytes(real(r.pairs() - r.loads.total) * real(n)) / real(blocks);
  launch.tasks.push_back({blocks, each, 0});
}

// The activation inside the first product halves what a gated one writes; the second adds weighted rows to the result.
void fuse_ends(Launch& launch, const Rank& r, bool down) {
  const double share = down ? 1.0 : real(r.shape.local_inter()) / r.first_columns();
  for (TaskGroup& group : launch.tasks) group.each.l2_store = group.each.l2_store * share;
  const double rows = real(r.loads.total), inter = real(r.shape.local_inter()), h = real(r.shape.hidden);
  if (!down) {
    launch.operands.add(r.input());
    launch.operands.add(Rank::between("hidden", r.format.output_bytes(rows * inter), true));
    return;
  }
  launch.operands.add(Rank::between("hidden", r.format.activation_bytes(rows * inter), false));
  launch.operands.add({"result", r.format.output_bytes(real(r.tokens()) * h), Operand::Role::activation, false, true,
                       r.format.output_bytes(real(std::min(r.tokens(), r.loads.certain_tokens)) * h)});
}

// Share of the tensor pipe's rate that the kernel's instructions reach. Marlin, and TensorRT-LLM's CUTLASS experts over
// packed weights and 16-bit rows, multiply with mma.sync, of which Hopper's and Blackwell's pipes make less than of
// their own instructions.
double instruction_share(const Format& format, const Gpu& gpu, const Context& context) {
  const bool marlin = context.kernel_source.says(KernelSource::Word::marlin);
  const bool packed = context.kernel_source == KernelSource::moe_torch_flow && format.unpack_weights;
  if (!marlin && !packed) return 1;
  switch (gpu.tensor_generation()) {
    case TensorGeneration::wgmma: return kMmaSyncShare;
    case TensorGeneration::tcgen05: return kMmaSyncShareTcgen;
    default: return 1;
  }
}

Launch product_launch(const Rank& r, const Gpu& gpu, const Context& context, bool down) {
  const Count n = down ? r.shape.hidden : static_cast<Count>(r.first_columns());
  const Count k = down ? r.shape.local_inter() : r.shape.hidden;
  const GroupedProblem problem{r.loads.rows, n, k};
  const GemmChoice choice = r.triton ? triton_moe_choice(r.shape, problem, r.format, r.math, gpu, context)
                                     : grouped_moe_choice(problem, r.format, r.math, gpu, context);
  const double slower = r.triton ? mma_sync_cost(choice, gpu) : 1;
  const PieceCost pieces = r.triton ? piece_cost(choice, r.format, gpu) : PieceCost{};
  Launch launch = grouped_launch(problem, r.format, r.math, choice);
  for (TaskGroup& group : launch.tasks) {
    group.steps = latency_steps(group.steps, problem, choice, r.triton, gpu);
    group.each.l2_load = group.each.l2_load * pieces.l2;
    group.each.tensor *= slower;
  }
  launch.math_share = instruction_share(r.format, gpu, context);
  launch.name = down ? "moe_down" : "moe_gate_up";
  launch.plan_known = false;  // tuned files and autotuners decide, not the default
  (r.math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) =
      ops(2 * real(r.loads.certain_rows) * real(n) * real(k));
  launch.operands.add(r.weights(down ? "w2" : "w13", real(n), real(k), pieces.dram));
  if (r.bare) return fuse_ends(launch, r, down), launch;
  add_zero_blocks(launch, r, choice.tile, n);
  const double rows = real(r.loads.total);
  const bool gathers = r.triton && !down && r.format.quantise == Quantise::none;
  if (gathers) launch.operands.add(r.input());
  else launch.operands.add(Rank::between("rows", r.format.activation_bytes(rows * real(k)), false));
  launch.operands.add(Rank::between("results", r.format.output_bytes(real(r.pairs()) * real(n)), true));
  if (r.triton) {
    // The grid is sized before the loads are known: room for a partly filled block per expert. The rest return at once.
    const Count room = std::min(r.pairs() * choice.tile.m, r.pairs() + r.shape.local_experts() * (choice.tile.m - 1));
    launch.ctas = ceil_div(room, choice.tile.m) * ceil_div(n, choice.tile.n);
  }
  return launch;
}

bool named(const Context& context, KernelSource::Word part) { return context.kernel_source.says(part); }

// SGLang's Triton experts have no fp4: it widens mxfp4 weights to bf16 when it loads them. Its rows on H100, H200 and
// L40S take four times what the packed weights would.
bool widened(const Format& format, const Context& context) {
  return format.id == FormatId::w4a16_mxfp4 && named(context, KernelSource::Word::sglang_fused_moe_triton);
}

bool narrow(const Format& format) { return format.weight_bits < 8 || format.id == FormatId::fp8_block; }

int helpers_of(const Format& format, const Context& context) {
  if (!narrow(format) || context.kernel_source.empty()) return 0;
  using Word = KernelSource::Word;
  if (named(context, Word::cutlass)) return format.weight_bits < 8 ? kCutlassFp4Helpers : 0;
  const bool generated = named(context, Word::flashinfer_trtllm) || named(context, Word::min_latency);
  return generated ? kGeneratedHelpers : kOtherNarrowHelpers;
}

// Few bytes and one CTA each: their time is that of their dependent loads.
void add_helpers(Plan& plan, const Format& format, const Context& context) {
  for (int i = 0; i < helpers_of(format, context); ++i) {
    Launch launch = row_kernel("moe_helper", 1, bytes(0), bytes(0), ops(0), ops(0));
    launch.tasks[0].steps = kMoeHelperTrips;
    plan.launches.push_back(std::move(launch));
  }
}

Status check_counts(const Moe& s) {
  if (static_cast<Count>(s.counts.size()) != s.local_experts())
    return field_error("counts", fmt::format("must name {} experts, not {}", s.local_experts(), s.counts.size()),
                       "one count for every expert of this rank: experts / ep");
  const Count sum = std::accumulate(s.counts.begin(), s.counts.end(), Count{0});
  for (const Count count : s.counts)
    if (count > s.tokens)
      return field_error("counts", fmt::format("{} exceeds the {} tokens", count, s.tokens),
                         "a token visits an expert once");
  if (sum == 0) return field_error("counts", "are all zero", "give at least one token to an expert");
  if (sum > s.tokens * s.topk || (s.ep == 1 && sum != s.tokens * s.topk))
    return field_error("counts", fmt::format("sum to {}, but tokens x topk is {}", sum, s.tokens * s.topk));
  return Ok{};
}

}  // namespace

Status Moe::check() const {
  if (auto positive = require_positive({{"tokens", tokens},
                                        {"hidden", hidden},
                                        {"inter", inter},
                                        {"experts", experts},
                                        {"topk", topk},
                                        {"tp", tp},
                                        {"ep", ep}});
      !positive)
    return positive;
  if (topk > experts) return field_error("topk", fmt::format("must be at most the {} experts", experts));
  if (experts > kMostExperts) return field_error("experts", fmt::format("must be at most {}", kMostExperts));
  if (ep > experts) return field_error("ep", fmt::format("must be at most the {} experts", experts));
  if (tp > inter) return field_error("tp", fmt::format("must be at most the width {}", inter));
  if (alpha < 0.1 || alpha > 10) return field_error("alpha", "must lie between 0.1 and 10");
  if (distribution != ExpertDistribution::given && !counts.empty())
    return field_error("counts", "are only read with distribution given");
  const double rows = static_cast<double>(tokens) * static_cast<double>(topk);
  const double h = static_cast<double>(hidden), i = static_cast<double>(inter);
  if (auto reasonable = require_reasonable(3 * static_cast<double>(experts) * h * i + rows * (h + 2 * i)); !reasonable)
    return reasonable;
  return distribution == ExpertDistribution::given ? check_counts(*this) : Status(Ok{});
}

Result<Plan> plan(const Moe& shape, const Format& stored, const Gpu& gpu, const Context& context) {
  const auto bf16 = format_from("bf16");
  const Format format = widened(stored, context) && bf16 ? *bf16 : stored;
  const auto math = math_path(format, gpu);
  if (!math) return math.error();
  const bool triton = style_of(shape, format, gpu, context) == MoeStyle::triton;
  const bool bare = context.engine == Launcher::aiter;
  const Rank rank{shape, format, *math, bare ? random_moe_loads(shape) : moe_loads(shape), triton, bare};
  Plan plan;
  if (shape.pass != MoePass::both) {
    plan.launches.push_back(product_launch(rank, gpu, context, shape.pass == MoePass::down));
    return plan;
  }
  if (bare) {
    plan.launches.push_back(product_launch(rank, gpu, context, false));
    plan.launches.push_back(product_launch(rank, gpu, context, true));
    return plan;
  }
  plan.launches.push_back(align_launch(rank));
  if (!triton || format.quantise == Quantise::dynamic) plan.launches.push_back(permute_launch(rank));
  plan.launches.push_back(product_launch(rank, gpu, context, false));
  plan.launches.push_back(activation_launch(rank));
  plan.launches.push_back(product_launch(rank, gpu, context, true));
  plan.launches.push_back(combine_launch(rank));
  add_helpers(plan, stored, context);
  return plan;
}

}  // namespace tilecast
