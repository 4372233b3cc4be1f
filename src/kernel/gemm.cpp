#include "kernel/gemm.h"

#include <algorithm>

#include "kernel/checks.h"

namespace tilecast {
namespace {

double as_double(Count n) { return static_cast<double>(n); }

Status check_product(Count batch, Count m, Count n, Count k) {
  if (auto positive = require_positive({{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}); !positive) return positive;
  const double b = as_double(batch), dm = as_double(m), dn = as_double(n), dk = as_double(k);
  return require_reasonable(b * (dm * dk + dn * dk + dm * dn));
}

// Reading and writing of one CTA's shared memory: tiles are written once and read by every instruction group that needs
// them; a group covers reuse_m x reuse_n results.
Bytes shared_traffic(const GemmTile& tile, double k, double element) {
  const double fill = (tile.m + tile.n) * k * element;
  const double reads = 1.0 * tile.m * tile.n * k * element *
                       (1.0 / std::min(tile.reuse_m, tile.m) + 1.0 / std::min(tile.reuse_n, tile.n));
  return bytes(fill + reads);
}

// Adding up the partial sums of split-K.
Launch reduce_launch(const GemmProblem& p, const Format& format, int split) {
  constexpr int kThreads = 256;
  const double results = as_double(p.batch) * as_double(p.m) * as_double(p.n);
  Launch launch;
  launch.name = "split_k_reduce";
  launch.character = Character::streaming;
  launch.cta = {kThreads, 32, bytes(0)};
  launch.ctas = std::max<Count>(1, ceil_div(p.batch * p.m * p.n, kThreads * 4));
  const double share = results / as_double(launch.ctas);
  Demand each;
  each.vector = ops(2 * share * split);
  each.l2_load = bytes(4 * share * split);
  each.l2_store = format.output_bytes(share);
  launch.tasks = {{launch.ctas, each, 1}};
  launch.operands.add({"partial sums", bytes(4 * results * split), Operand::Role::workspace, true, false});
  launch.plan_known = false;  // the library may also reduce in place with semaphores
  return launch;
}

// Unpacking a weight of a weight-only format: shift, mask, scale; about three slots (Marlin, TRT-LLM fpA_intB).
constexpr double kUnpackSlots = 3;

Result<Plan> plan_product(const GemmProblem& p, const Format& format, const Gpu& gpu, bool weights) {
  const auto math = math_path(format, gpu);
  if (!math) return math.error();
  const GemmChoice choice = choose_gemm(p, *math, gpu, weights ? GemmRoutine::linear : GemmRoutine::batched);
  Plan plan;
  plan.launches.push_back(gemm_launch(p, format, *math, weights, choice));
  if (choice.split > 1 && choice.reduction_kernel) plan.launches.push_back(reduce_launch(p, format, choice.split));
  return plan;
}

}  // namespace

Status Gemm::check() const { return check_product(1, m, n, k); }
Status Bmm::check() const { return check_product(batch, m, n, k); }

Launch gemm_requirements(const GemmProblem& p, const Format& format, const MathPath& math, bool weights) {
  const double b = as_double(p.batch), m = as_double(p.m), n = as_double(p.n), k = as_double(p.k);
  Launch launch;
  launch.name = "gemm";
  launch.character = Character::product;
  launch.math = math;
  launch.plan_known = false;
  const Ops products = ops(2 * b * m * n * k);
  (math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) = products;
  launch.vector_type = math.pipe == Pipe::vector ? math.input : DType::fp32;
  launch.operands.add({"x", format.activation_bytes(b * m * k), Operand::Role::activation, true, false});
  launch.operands.add({"w", format.weight_bytes(b * n * k),
                       weights ? Operand::Role::weight : Operand::Role::activation, true, false});
  launch.operands.add({"y", format.output_bytes(b * m * n), Operand::Role::activation, false, true});
  return launch;
}

Launch gemm_launch(const GemmProblem& p, const Format& format, const MathPath& math, bool weights,
                   const GemmChoice& choice) {
  Launch launch = gemm_requirements(p, format, math, weights);
  const GemmTile& tile = choice.tile;
  const Count tiles_m = ceil_div(p.m, tile.m), tiles_n = ceil_div(p.n, tile.n);
  const Count steps = ceil_div(ceil_div(p.k, choice.tile_k), choice.split);
  const double depth = as_double(steps) * choice.tile_k;  // k of one CTA, padded
  const double element = std::max(format.activation_bits, bits_of(math.input) * 1.0) / 8;

  launch.tile = {tile.m, tile.n, choice.tile_k};
  launch.split = choice.split;
  launch.stages = choice.stages;
  launch.ctas = p.batch * tiles_m * tiles_n * choice.split;
  // Shared memory that admits just the resident CTAs the tile is known to have.
  launch.cta = {tile.threads, tile.registers,
                bytes(std::min(choice.stages * (tile.m + tile.n) * choice.tile_k * element, 200e3))};
  const double ctas = as_double(launch.ctas);
  const double b = as_double(p.batch), m = as_double(p.m), n = as_double(p.n), k = as_double(p.k);
  Demand each;
  (math.pipe == Pipe::tensor ? each.tensor : each.vector) = ops(2.0 * tile.m * tile.n * depth);
  if (format.unpack_weights) each.vector += ops(2 * kUnpackSlots * tile.n * depth);
  each.shared = shared_traffic(tile, depth, element);
  // Rows of x are read once per column of tiles and the other way round; rows beyond the edge are not read.
  each.l2_load = (format.activation_bytes(b * m * k) * as_double(tiles_n) +
                  format.weight_bytes(b * n * k) * as_double(tiles_m)) / ctas;
  each.l2_store = choice.split > 1 ? bytes(4 * b * m * n * choice.split / ctas)
                                   : format.output_bytes(b * m * n) / ctas;
  // A step of a SIMT kernel is shallower; latency is counted in steps of 64 elements (kernel/pipeline.h).
  const double latency_steps = as_double(steps) * (math.pipe == Pipe::vector ? choice.tile_k / 64.0 : 1.0);
  launch.tasks = {{launch.ctas, each, latency_steps}};
  if (choice.split > 1 && choice.reduction_kernel)
    launch.operands.add({"partial sums", bytes(4 * b * m * n * choice.split), Operand::Role::workspace, false, true});
  return launch;
}

Result<Plan> plan(const Gemm& s, const Format& format, const Gpu& gpu, const Context&) {
  return plan_product({1, s.m, s.n, s.k}, format, gpu, true);
}
Result<Plan> plan(const Bmm& s, const Format& format, const Gpu& gpu, const Context&) {
  return plan_product({s.batch, s.m, s.n, s.k}, format, gpu, false);
}

}  // namespace tilecast
