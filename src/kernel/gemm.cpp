#include "kernel/gemm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "constants/product.h"
#include "kernel/checks.h"
#include "kernel/cublas_older.h"
#include "kernel/gemm_traffic.h"
#include "kernel/mfma_tiles.h"
#include "kernel/pipeline.h"
#include "kernel/quantize.h"
#include "kernel/scaled_mm.h"
#include "kernel/streaming.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

Status check_product(Count batch, Count m, Count n, Count k) {
  if (auto positive = require_positive({{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}); !positive) return positive;
  const double b = real(batch), dm = real(m), dn = real(n), dk = real(k);
  return require_reasonable(b * (dm * dk + dn * dk + dm * dn));
}

// Reads and writes of one CTA's shared memory: tiles are written once and read by every instruction group that needs
// them; a group covers reuse_m x reuse_n results.
Bytes shared_traffic(const GemmChoice& choice, double k, double element) {
  const GemmTile& tile = choice.tile;
  const double results = 1.0 * tile.m * tile.n;
  const double x = tile.m + results / std::min(tile.reuse_n, tile.n);
  const double w = choice.direct_weights ? 0.0 : tile.n + results / std::min(tile.reuse_m, tile.m);
  return bytes((x + w) * k * element) + choice.shared_per_result * results;
}

// Adding up the partial sums of split-K: cublasLt's splitKreduce_kernel, CTAs of 32 x 16 threads over 32 columns and as
// many times 16 rows as make about four CTAs per SM (743 of the 767 grids of data/measurements/h200_kernels.csv.gz).
Launch reduce_launch(const GemmProblem& p, const Format& format, int split, const Gpu& gpu) {
  const double results = real(p.batch) * real(p.m) * real(p.n);
  const Count columns = ceil_div(p.n, 32), rows = ceil_div(p.m, 16);
  const double fill = real(columns) * real(rows) / (4.0 * gpu.sms);
  const Count each_rows = std::max<Count>(1, std::llround(fill));
  Launch launch;
  launch.name = "split_k_reduce";
  launch.character = Character::streaming;
  launch.cta = {512, 32, bytes(0)};
  launch.ctas = p.batch * columns * ceil_div(rows, each_rows);
  const double share = results / real(launch.ctas);
  Demand each;
  each.vector = ops(2 * share * split);
  each.l2_load = bytes(4 * share * split);
  each.l2_store = format.output_bytes(share);
  launch.tasks = {{launch.ctas, each, 1}};
  launch.operands.add({"partial sums", bytes(4 * results * split), Operand::Role::workspace, true, false});
  // The result's bytes are counted with the product, whose bound must not depend on an inferred split.
  launch.plan_known = false;  // the library may also reduce in place with semaphores
  return launch;
}

// The kernel that first quantises the activations, if the format needs one.
Result<Plan> quantise_first(const GemmProblem& p, const Format& format, const Gpu& gpu, const Context& context) {
  if (format.quantise != Quantise::dynamic) return Plan{};
  Quantize shape;
  shape.rows = p.batch * p.m;
  shape.cols = p.k;
  if (context.engine == Launcher::sglang && format.id == FormatId::fp8)
    shape.scale = ScaleOf::token;  // sgl_per_token_quant_fp8
  auto plan_of_it = plan(shape, format, gpu, context);
  if (plan_of_it && context.engine == Launcher::vllm && format.id == FormatId::nvfp4) {
    // vllm/_custom_ops.py, create_fp4_scale_tensor: the product reads scales of whole tiles, 128 rows by 4 blocks, and
    // the quantising kernel leaves what is beyond the matrix as it finds it.
    const double scales = real(round_up(shape.rows, 128)) * real(round_up(ceil_div(p.k, 16), 4));
    plan_of_it->launches.insert(
        plan_of_it->launches.begin(),
        streaming_launch(pointwise_stream("zero_scales", scales / 4, bytes(4), gpu), {scratch("scales", scales)}));
  }
  return plan_of_it;
}

// DeepGEMM on tcgen05 takes scales as powers of two, packed, one for every row. The weights' of a checkpoint are fp32,
// one for 128 x 128, and where they were not converted as they were loaded (AIConfigurator's rows of SGLang), every
// call does it (DeepGEMM csrc/utils/layout.hpp, transform_sf_into_required_layout): it counts up the rows, divides the
// counts, spreads the scales over them and packs the result. H100 and H200 read them as they are.
void convert_scales_first(Plan& plan, const GemmProblem& p, const Format& format, const Gpu& gpu,
                          const Context& context) {
  if (format.id != FormatId::fp8_block || context.engine != Launcher::sglang) return;
  if (gpu.tensor_generation() != TensorGeneration::tcgen05) return;
  constexpr Count kScaled = 128;                         // elements with one scale
  constexpr double kIndex = 8, kScale = 4, kPacked = 1;  // bytes
  const double n = real(p.n), blocks = real(ceil_div(p.k, kScaled)), spread = n * blocks;
  const auto add = [&](Stream stream, std::initializer_list<Operand> operands) {
    plan.launches.push_back(streaming_launch(stream, operands));
    plan.launches.back().plan_known = false;  // a layer whose scales were converted once launches none of them
  };
  add(pointwise_stream("count_rows", n, bytes(kIndex), gpu), {scratch("rows", kIndex * n)});
  add(pointwise_stream("divide_rows", n, bytes(kIndex), gpu),
      {rereads("rows", kIndex * n), scratch("rows", kIndex * n)});
  Stream gather = pointwise_stream("spread_scales", spread, bytes(kScale), gpu);
  gather.character = Character::gather;
  add(gather, {rereads("scales", kScale * spread / kScaled), scratch("spread", kScale * spread)});
  add(pointwise_stream("pack_scales", spread, bytes(kScale), gpu),
      {rereads("spread", kScale * spread), scratch("packed", kPacked * spread)});
}

Alignment alignment_of(const GemmProblem& p, Layout layout, const MathPath& math) {
  const int bits = bits_of(math.input);
  if (math.pipe != Pipe::tensor || bits > 32) return Alignment::full;
  const Count inner = layout == Layout::nt || layout == Layout::tt ? p.m : p.k;
  const auto at = [&](int multiple) { return inner * bits % multiple == 0 && p.n * bits % multiple == 0; };
  return at(128) ? Alignment::full : at(32) ? Alignment::half : Alignment::none;
}

// Rows that do not start at multiples of 16 bytes rule out the copy engines and vectors of loads. cuBLAS then falls
// back to older kernels on Hopper and later (kernel/cublas_older.h); cards whose own instructions are closer to those
// lose less.
double alignment_share(Alignment alignment) { return alignment == Alignment::full ? 1 : kMisalignedShareBefore.value; }

// The share of the pipe's usual rate that the choice reaches.
double rate_share(const GemmChoice& choice, const MathPath& math, Alignment alignment, Layout layout, const Gpu& gpu) {
  if (choice.products_per_clock == 0) return alignment_share(alignment);
  const double share = 2 * choice.products_per_clock / (math.ops_per_clock * product_efficiency(gpu));
  // wgmma reads tf32 along k alone: where neither operand lies so, both are turned on their way.
  const bool turned = !choice.reduction_kernel && layout == Layout::nt;
  return turned ? share * kTurnedTf32Share : share;
}

// cuBLAS has separate kernels for one row (gemv2T, gemvx): always for fp32, and for 16-bit types if no other kernel
// accepts the alignment of the rows.
bool is_one_row(const GemmProblem& p, const MathPath& math, Alignment alignment, const Gpu& gpu) {
  if (p.m != 1 || gpu.vendor != Vendor::nvidia) return false;
  return alignment != Alignment::full || (math.pipe == Pipe::vector && math.input == DType::fp32);
}

Launch one_row_launch(const GemmProblem& p, const Format& format, const MathPath& math, bool weights) {
  Launch launch = gemm_requirements(p, format, math, weights);
  launch.character = Character::streaming;
  launch.name = "gemv";
  launch.math = {};
  launch.required.vector += std::exchange(launch.required.tensor, ops(0));
  launch.ctas = p.batch * ceil_div(p.n, kGemvColumns);
  const double n = real(p.batch) * real(p.n) / real(launch.ctas), k = real(p.k);
  Demand each;
  each.vector = ops(2 * n * k);
  each.l2_load = format.weight_bytes(n * k) + format.activation_bytes(k);
  each.l2_store = format.output_bytes(n);
  launch.tasks = {{launch.ctas, each, kGemvSteps}};
  return launch;
}

// Whether an operand's rows lie along k: a step then reads a few elements of each of the tile's rows.
bool reads_rows_of_x(Layout layout) { return layout == Layout::tn || layout == Layout::nn; }
bool reads_rows_of_w(Layout layout) { return layout == Layout::tn || layout == Layout::tt; }

// Pages touched by one step's rows: those of the span, and one more if spans do not begin at a page.
double pages_of(Count rows, Bytes apart) {
  const double span = in_bytes(apart) * real(rows) / in_bytes(mebibytes(kTranslatedPage));
  return span == std::floor(span) ? span : span + 1;
}

// A step of the main loop reads a few elements of every row of its tiles. Pascal fetches no more than those at a time
// and translates few pages: once the rows of a tile lie in more of them, steps wait for translations, all the more as
// CTAs drift apart wave by wave and no longer ask for the same pages together. Later cards fetch and translate more.
double far_rows_share(const GemmProblem& p, Layout layout, const MathPath& math, const GemmChoice& choice,
                      const Gpu& gpu) {
  if (gpu.architecture != Architecture::pascal || math.pipe != Pipe::vector) return 1;
  const Bytes element = size_of(math.input);
  const GemmTile& tile = choice.tile;
  const double pages =
      pages_of(reads_rows_of_x(layout) ? tile.m : choice.tile_k, element * real(reads_rows_of_x(layout) ? p.k : p.m)) +
      pages_of(reads_rows_of_w(layout) ? tile.n : choice.tile_k, element * real(reads_rows_of_w(layout) ? p.k : p.n));
  const double waves = real(grid_of(p, choice).m * grid_of(p, choice).n * p.batch) / real(choice.concurrent);
  const double drift = std::clamp(std::log2(std::max(1.0, waves)) / kFarRowsDrift, 0.0, 1.0);
  const double rows_per_result = 1.0 / tile.m + 1.0 / tile.n;
  return 1 / (1 + kFarRowsCost * rows_per_result * std::max(0.0, 1 - kFarRowsPages / pages) * drift);
}

// Before copies were asynchronous, a step's tiles went through registers to shared memory, in slots of the same
// schedulers; small tiles load more elements per result. Later kernels copy past the registers, but in small tiles
// their threads have fewer results, and read more of shared memory for each.
double loading_share(const MathPath& math, const GemmChoice& choice, const Gpu& gpu) {
  if (math.pipe != Pipe::vector || gpu.vendor != Vendor::nvidia) return 1;
  const GemmTile& tile = choice.tile;
  if (choice.past_registers)
    return 1 / (1 + gpu.tuned(kLaterLoadingSlots) * std::max(0.0, 1.0 / tile.m + 1.0 / tile.n - 2.0 / kLargestSquare));
  const Tunable& slots = gpu.architecture == Architecture::pascal ? kPascalLoadingSlots : kLoadingSlots;
  return 1 / p_norm(1.0, gpu.tuned(slots) * (1.0 / tile.m + 1.0 / tile.n), kLoadingOverlap);
}

Result<Plan> plan_product(const GemmProblem& p, const Format& format, const Gpu& gpu, const Context& context,
                          bool weights, Layout layout) {
  const auto math = math_path(format, gpu);
  if (!math) return math.error();
  auto plan = quantise_first(p, format, gpu, context);
  if (!plan) return plan;
  if (weights) convert_scales_first(*plan, p, format, gpu, context);
  const Alignment alignment = alignment_of(p, layout, *math);
  if (is_one_row(p, *math, alignment, gpu) && format.weight_bits == format.activation_bits) {
    plan->launches.push_back(one_row_launch(p, format, *math, weights));
    return plan;
  }
  const auto scaled = weights ? scaled_kernels(format, gpu, context) : std::nullopt;
  const GemmChoice choice = takes_mfma(*math, gpu) ? choose_mfma(p, format, *math, gpu, context)
                            : scaled               ? choose_scaled_mm(p, *math, gpu, *scaled)
                            : takes_older(*math, gpu, alignment)
                                ? choose_older(p, *math, gpu, alignment, !weights)
                                : choose_gemm(p, *math, gpu, weights ? GemmRoutine::linear : GemmRoutine::batched);
  plan->launches.push_back(gemm_launch(p, format, *math, weights, choice));
  plan->launches.back().math_share = rate_share(choice, *math, alignment, layout, gpu) *
                                     loading_share(*math, choice, gpu) * far_rows_share(p, layout, *math, choice, gpu);
  if (choice.split > 1 && choice.reduction_kernel)
    plan->launches.push_back(reduce_launch(p, format, choice.split, gpu));
  return plan;
}

void add_operands(Launch& launch, const GemmProblem& p, const Format& format, bool weights, const Restreams& again) {
  const double b = real(p.batch), m = real(p.m), n = real(p.n), k = real(p.k);
  const auto weight_role = weights ? Operand::Role::weight : Operand::Role::activation;
  Operand x{"x", format.activation_bytes(b * m * k), Operand::Role::activation, true, false};
  x.passes = again.x.passes;
  x.reuse_distance = again.x.distance;
  Operand w{"w", format.weight_bytes(b * n * k), weight_role, true, false};
  w.passes = again.w.passes;
  w.reuse_distance = again.w.distance;
  launch.operands.add(x);
  launch.operands.add(w);
  launch.operands.add({"y", format.output_bytes(b * m * n), Operand::Role::activation, false, true});
}

// Tiles that are computed. Clusters are whole: the tiles beyond the edge that fill the last ones are computed too
// (512^3 on H200 in tiles of 48 rows and clusters of four counts the operations of 12 rows of tiles, not 11).
Count tasks_of(const GemmProblem& p, const GemmChoice& choice, const TileGrid& grid) {
  return p.batch * round_up(grid.m, choice.cluster_m) * round_up(grid.n, choice.cluster_n) * choice.split;
}

Launch bare_launch(const GemmProblem& p, const MathPath& math) {
  Launch launch;
  launch.name = "gemm";
  launch.character = Character::product;
  launch.math = math;
  launch.plan_known = false;
  const Ops products = ops(2 * real(p.batch) * real(p.m) * real(p.n) * real(p.k));
  (math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) = products;
  launch.vector_type = math.pipe == Pipe::vector ? math.input : DType::fp32;
  return launch;
}

}  // namespace

Status Gemm::check() const { return check_product(1, m, n, k); }
Status Bmm::check() const { return check_product(batch, m, n, k); }

Launch gemm_requirements(const GemmProblem& p, const Format& format, const MathPath& math, bool weights) {
  Launch launch = bare_launch(p, math);
  add_operands(launch, p, format, weights, {});
  return launch;
}

Launch gemm_launch(const GemmProblem& p, const Format& format, const MathPath& math, bool weights,
                   const GemmChoice& choice) {
  Launch launch = bare_launch(p, math);
  const GemmTile& tile = choice.tile;
  const TileGrid grid = grid_of(p, choice);
  const Count tasks = tasks_of(p, choice, grid);
  const Count steps = ceil_div(ceil_div(p.k, choice.tile_k), choice.split);
  const double depth = real(steps) * choice.tile_k;  // k of one CTA, padded
  const double element = std::max(format.activation_bits, bits_of(math.input) * 1.0) / 8;

  launch.tile = {tile.m, tile.n, choice.tile_k};
  launch.split = choice.split;
  launch.stages = choice.stages;
  launch.joining_clocks = choice.joining_clocks;
  launch.epilogue_clocks = choice.epilogue_clocks;
  launch.ctas = choice.persistent ? std::min(tasks, choice.concurrent) : tasks;
  if (choice.persistent) launch.dispatch = Dispatch::persistent;
  // Shared memory that admits just the resident CTAs the tile is known to have.
  launch.cta = {tile.threads, tile.registers,
                bytes(std::min(choice.stages * (tile.m + tile.n) * choice.tile_k * element, 200e3))};
  const double m = real(p.m), n = real(p.n), k = real(p.k);
  const bool partial = choice.split > 1 && choice.reduction_kernel;
  const Bytes results = partial ? bytes(4 * m * n * choice.split) : format.output_bytes(m * n);
  Demand each;
  (math.pipe == Pipe::tensor ? each.tensor : each.vector) = ops(2.0 * tile.m * tile.n * depth);
  if (math.pipe == Pipe::vector && bits_of(math.input) > format.activation_bits)  // one conversion an element read
    each.vector += ops(2.0 * (tile.m + tile.n) * depth);
  if (format.unpack_weights) each.vector += ops(2 * kUnpackSlots * tile.n * depth);
  each.vector += ops(2 * choice.scale_slots * tile.m * tile.n * real(steps));
  each.shared = shared_traffic(choice, depth, element);
  each.l2_load = asked_by_cta(p, format, choice, grid);
  each.l2_store = (choice.split > 1 ? bytes(4 * m * n * choice.split) : results) * real(p.batch) / real(tasks);
  each.vector += ops(2 * choice.result_slots * tile.m * tile.n);
  // A step of a SIMT kernel is shallower; latency is counted in steps of 64 elements (kernel/pipeline.h).
  const double by_depth = math.pipe == Pipe::vector ? choice.tile_k / kReferenceDepth : 1.0;
  const double latency_steps = real(steps) * (choice.latency_steps > 0 ? choice.latency_steps : by_depth);
  launch.tasks = {{tasks, each, latency_steps}};

  const Restreams again =
      restreams_of(grid, choice, {format.activation_bytes(m * k), format.weight_bytes(n * k), results});
  add_operands(launch, p, format, weights, again);
  if (partial) launch.operands.add({"partial sums", results * real(p.batch), Operand::Role::workspace, false, true});
  return launch;
}

Result<Plan> plan(const Gemm& s, const Format& format, const Gpu& gpu, const Context& context) {
  return plan_product({1, s.m, s.n, s.k}, format, gpu, context, true, s.layout);
}
Result<Plan> plan(const Bmm& s, const Format& format, const Gpu& gpu, const Context& context) {
  return plan_product({s.batch, s.m, s.n, s.k}, format, gpu, context, false, s.layout);
}

}  // namespace tilecast
