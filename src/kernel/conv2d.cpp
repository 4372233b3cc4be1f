#include "kernel/conv2d.h"

#include <algorithm>
#include <cmath>

#include "constants/product.h"
#include "kernel/checks.h"
#include "kernel/gemm.h"
#include "kernel/mfma_tiles.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr Count kMostTaps = 1 << 12;

// Results o in [0, results) whose tap `t` meets the input.
Count meets(const Conv2d::Axis& a, Count t) {
  const Count offset = t * a.dilation - a.padding;  // input position of result 0
  const Count first = offset < 0 ? ceil_div(-offset, a.stride) : 0;
  const Count last = offset < a.size ? (a.size - 1 - offset) / a.stride : -1;
  return std::max<Count>(0, std::min(last, a.results() - 1) - first + 1);
}

// Multiplications a result needs at least along an axis, whatever the algorithm: Winograd F(4, 3) takes 6 for 4
// results; transforms of longer filters approach 2 real products per result in two dimensions (half the points of a
// real FFT, four products each). Both need unit steps; libraries do not split strided filters into phases.
double least_products(const Conv2d::Axis& a) {
  const double direct = real(a.products());
  if (a.stride != 1 || a.dilation != 1) return direct;
  const double per_result = a.taps == 1 ? 1 : a.taps <= 3 ? 1.5 : std::sqrt(2.0);
  return std::min(direct, per_result * real(a.results()));
}

// The products that implicit GEMM computes.
GemmProblem implicit_problem(const Conv2d& s) {
  const auto v = s.vertical(), h = s.horizontal();
  const Count in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  const Count results = s.batch * v.results() * h.results();
  switch (s.backward) {
    case ConvBackward::none: return {s.groups, results, out, in * v.taps * h.taps};
    // An input position meets every stride-th tap.
    case ConvBackward::data:
      return {s.groups, s.batch * s.height * s.width, in,
              out * ceil_div(v.taps, v.stride) * ceil_div(h.taps, h.stride)};
    case ConvBackward::weight: return {s.groups, out, in * v.taps * h.taps, results};
  }
  return {};
}

// The tensors of the convolution, with their roles in this direction.
void add_operands(Launch& launch, const Conv2d& s, const Format& format) {
  const auto v = s.vertical(), h = s.horizontal();
  const double image = real(s.batch) * real(s.in_channels);
  const Bytes input = format.activation_bytes(image * real(s.height) * real(s.width));
  const Bytes met = format.activation_bytes(image * real(v.touched()) * real(h.touched()));
  const double filter = real(s.out_channels) * real(s.in_channels / s.groups) * real(v.taps) * real(h.taps);
  const double results = real(s.batch) * real(s.out_channels) * real(v.results()) * real(h.results());
  using Role = Operand::Role;
  switch (s.backward) {
    case ConvBackward::none:
      launch.operands.add({"input", input, Role::activation, true, false, met});
      launch.operands.add({"filter", format.weight_bytes(filter), Role::weight, true, false});
      launch.operands.add({"result", format.output_bytes(results), Role::activation, false, true});
      break;
    case ConvBackward::data:
      launch.operands.add({"result gradient", format.activation_bytes(results), Role::activation, true, false});
      launch.operands.add({"filter", format.weight_bytes(filter), Role::weight, true, false});
      launch.operands.add({"input gradient", input, Role::activation, false, true});
      break;
    case ConvBackward::weight:
      launch.operands.add({"input", input, Role::activation, true, false, met});
      launch.operands.add({"result gradient", format.activation_bytes(results), Role::activation, true, false});
      launch.operands.add({"filter gradient", format.output_bytes(filter), Role::activation, false, true});
      break;
  }
}

// Every direction multiplies each input with each gradient or filter entry it meets: the same count.
Ops required_products(const Conv2d& s) {
  return ops(2 * real(s.batch) * real(s.out_channels) * real(s.in_channels / s.groups) * least_products(s.vertical()) *
             least_products(s.horizontal()));
}

void set_required(Launch& launch, const Conv2d& s) {
  launch.required = {};
  (launch.math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) = required_products(s);
}

// A pass over `elements` results, `threads` per CTA, that reads and writes whole tensors: Winograd's transforms, sums
// of splits.
Launch pass(std::string_view name, double elements, Bytes load, Bytes store, double slots) {
  constexpr int kThreads = 256;
  Launch launch;
  launch.name = name;
  launch.character = Character::streaming;
  launch.cta = {kThreads, 64, bytes(0)};
  launch.ctas = std::max<Count>(1, static_cast<Count>(std::ceil(elements / kThreads)));
  Demand each;
  each.vector = ops(2 * slots * elements / real(launch.ctas));
  each.l2_load = load / real(launch.ctas);
  each.l2_store = store / real(launch.ctas);
  launch.tasks = {{launch.ctas, each, 1}};
  launch.plan_known = false;
  return launch;
}

Operand scratch(std::string_view name, Bytes size, bool written) {
  return {name, size, Operand::Role::workspace, !written, written};
}

Plan implicit_plan(const Conv2d& s, const Format& format, const MathPath& math, const Gpu& gpu) {
  const GemmProblem problem = implicit_problem(s);
  GemmChoice choice =
      takes_mfma(math, gpu) ? choose_mfma(problem, format, math, gpu, {}) : choose_gemm(problem, math, gpu);
  choice.joining_clocks = 0;                                 // a pass of its own sums up
  if (s.backward != ConvBackward::weight) choice.split = 1;  // only filter gradients sum over everything
  Launch launch = gemm_launch(problem, format, math, true, choice);
  launch.name = "implicit_gemm";
  launch.operands = {};
  add_operands(launch, s, format);
  set_required(launch, s);
  Plan plan;
  plan.launches.push_back(launch);
  if (choice.split > 1) {
    const double results = real(problem.batch) * real(problem.m) * real(problem.n);
    const Bytes partial = bytes(4 * results * choice.split);
    plan.launches.front().operands.add(scratch("partial sums", partial, true));
    plan.launches.push_back(pass("split_k_reduce", results, partial, format.output_bytes(results), choice.split));
    plan.launches.back().operands.add(scratch("partial sums", partial, false));
  }
  return plan;
}

// MIOpen's fastest solvers need channels last: tensors in PyTorch's layout (NCHW) are transposed before and after by
// three quarters of the best solvers in its table for the MI300X. A pass reads and writes its tensor once.
Plan between_transposes(Plan product, const Format& format) {
  const Operands operands = product.launches.front().operands;
  Plan plan;
  Plan after;
  for (const Operand& operand : operands) {
    if (operand.role == Operand::Role::workspace) continue;
    const double elements = in_bytes(operand.size) / in_bytes(format.output_bytes(1));
    Launch turn = pass(operand.written ? "transpose_back" : "transpose", elements, operand.size, operand.size, 1);
    turn.operands.add(scratch("turned", operand.size, !operand.written));
    (operand.written ? after : plan).launches.push_back(turn);
  }
  for (Launch& launch : product.launches) plan.launches.push_back(std::move(launch));
  for (Launch& launch : after.launches) plan.launches.push_back(std::move(launch));
  return plan;
}

// Winograd F(t x t, 3 x 3): every t x t block of results costs (t + 2)^2 products per pair of channels, done as that
// many matrix products over all blocks (Lavin and Gray, arXiv 1509.09308). cuDNN fuses F(2x2) into one kernel besides
// the filter's transform, and runs F(4x4) as separate transforms around a batched product (kernel names of NeuSight's
// rows).
Plan winograd_plan(const Conv2d& s, const Format& format, const MathPath& math, const Gpu& gpu, Count block) {
  const bool fused = block == 2;
  const bool data = s.backward == ConvBackward::data;
  const Count in = data ? s.out_channels : s.in_channels, out = data ? s.in_channels : s.out_channels;
  const Count rows = data ? s.height : s.vertical().results(), columns = data ? s.width : s.horizontal().results();
  const Count blocks = s.batch * ceil_div(rows, block) * ceil_div(columns, block);
  const Count points = (block + 2) * (block + 2);
  const GemmProblem problem{points, blocks, out, in};
  GemmChoice choice = choose_gemm(problem, math, gpu);
  choice.split = 1;
  Launch product = gemm_launch(problem, format, math, true, choice);
  product.operands = {};
  set_required(product, s);

  const double pairs = real(in) * real(out), p = real(points);
  const Bytes filter = format.weight_bytes(9 * pairs), turned_filter = format.weight_bytes(p * pairs);
  const Bytes turned_input = format.activation_bytes(p * real(blocks) * real(in));
  const Bytes turned_output = format.output_bytes(p * real(blocks) * real(out));
  Plan plan;
  plan.launches.push_back(pass("winograd_filter", pairs, filter, turned_filter, 2 * p));
  plan.launches.back().operands.add(scratch("transformed filter", turned_filter, true));
  if (fused) {
    product.name = "winograd_fused";
    add_operands(product, s, format);
    product.operands.add(scratch("transformed filter", turned_filter, false));
    plan.launches.push_back(product);
    return plan;
  }
  const double image = real(s.batch) * real(in) * real(s.height) * real(s.width);
  const double results = real(s.batch) * real(out) * real(rows) * real(columns);
  plan.launches.push_back(
      pass("winograd_input", real(blocks) * real(in), format.activation_bytes(image), turned_input, 4 * p));
  plan.launches.back().operands.add(scratch("transformed input", turned_input, true));
  product.name = "winograd_gemm";
  add_operands(product, s, format);
  product.operands.add(scratch("transformed filter", turned_filter, false));
  product.operands.add(scratch("transformed input", turned_input, false));
  product.operands.add(scratch("transformed result", turned_output, true));
  plan.launches.push_back(product);
  plan.launches.push_back(
      pass("winograd_output", real(blocks) * real(out), turned_output, format.output_bytes(results), 4 * p));
  plan.launches.back().operands.add(scratch("transformed result", turned_output, false));
  return plan;
}

// Clocks by which a library's heuristic would rank algorithms: arithmetic in whole waves or memory, launch by launch.
// Shares of peak were read off the algorithms cuDNN 8.9 chose for NeuSight's convolutions (five cards, 59 to 67 % of
// them predicted this way): the fused Winograd kernel transforms between its products, and its transforms as kernels of
// their own stride.
double rank_clocks(const Plan& plan, const MathPath& math, const Gpu& gpu) {
  const double dram_per_clock = gpu.dram.bandwidth.base() / gpu.clock.max.base();
  double clocks = 0;
  for (const Launch& launch : plan.launches) {
    const Demand all = launch.total();
    const double waves = real(ceil_div(launch.ctas, gpu.sms));
    const double share = launch.name == "winograd_fused"  ? kWinogradFusedShare
                         : launch.name == "winograd_gemm" ? kWinogradBatchedShare
                                                          : 1.0;
    const double arithmetic = in_ops(launch.tasks.front().each.vector) * waves / (math.ops_per_clock * share);
    const double l2 = (all.l2_load + all.l2_store) / gpu.l2.per_clock;
    Bytes moved;
    for (const Operand& operand : launch.operands) moved += operand.size;
    const double whole = std::max({arithmetic, l2, in_bytes(moved) / dram_per_clock});
    clocks += whole / (launch.character == Character::streaming ? kWinogradTransformShare : 1.0) + kConvLaunchClocks;
  }
  return clocks;
}

// cuDNN's single-precision SIMT path has Winograd kernels for 3x3 filters with unit steps; tensor-core convolutions
// stay with implicit GEMM.
bool winograd_fits(const Conv2d& s, const MathPath& math, const Gpu& gpu) {
  const auto v = s.vertical(), h = s.horizontal();
  return gpu.vendor == Vendor::nvidia && math.pipe == Pipe::vector && math.input == DType::fp32 && v.taps == 3 &&
         h.taps == 3 && s.stride == 1 && s.dilation == 1 && s.groups == 1 && s.padding <= 1 &&
         s.backward != ConvBackward::weight;
}

}  // namespace

Count Conv2d::Axis::products() const {
  Count sum = 0;
  for (Count t = 0; t < taps; ++t) sum += meets(*this, t);
  return sum;
}

Count Conv2d::Axis::touched() const {
  if (dilation == 1 && stride >= taps) return products();  // no two taps meet the same position
  if (dilation == 1) return std::min(size, (results() - 1) * stride + taps - padding);
  Count most = 0;
  for (Count t = 0; t < taps; ++t) most = std::max(most, meets(*this, t));
  return most;
}

Status Conv2d::check() const {
  const Axis v = vertical(), h = horizontal();
  if (auto positive = require_positive({{"batch", batch},
                                        {"in-channels", in_channels},
                                        {"out-channels", out_channels},
                                        {"height", height},
                                        {"width", width},
                                        {"kernel", v.taps},
                                        {"kernel", h.taps},
                                        {"stride", stride},
                                        {"dilation", dilation},
                                        {"groups", groups}});
      !positive)
    return positive;
  if (in_channels % groups || out_channels % groups)
    return field_error("groups", fmt::format("must divide {} and {} channels", in_channels, out_channels));
  if (std::max(v.taps, h.taps) > kMostTaps) return field_error("kernel", fmt::format("must be at most {}", kMostTaps));
  if (dilation > kMostTaps) return field_error("dilation", fmt::format("must be at most {}", kMostTaps));
  for (const Axis& a : {v, h}) {
    const Count span = a.dilation * (a.taps - 1) + 1;
    if (span > a.size + 2 * a.padding)
      return field_error("kernel",
                         fmt::format("spans {} positions, but the padded input has {}", span, a.size + 2 * a.padding));
    if (a.padding >= span)
      return field_error("padding", fmt::format("must be below the {} positions the filter spans", span));
  }
  const double image = real(batch) * real(in_channels) * real(height) * real(width);
  const double results = real(batch) * real(out_channels) * real(v.results()) * real(h.results());
  const double filter = real(out_channels) * real(in_channels / groups) * real(v.taps) * real(h.taps);
  return require_reasonable(image + results + filter);
}

Result<Plan> plan(const Conv2d& shape, const Format& format, const Gpu& gpu, const Context&) {
  const auto math = math_path(format, gpu);
  if (!math) return math.error();
  Plan best = implicit_plan(shape, format, *math, gpu);
  if (takes_mfma(*math, gpu)) return between_transposes(std::move(best), format);
  if (!winograd_fits(shape, *math, gpu)) return best;
  for (const Count block : {2, 4}) {
    Plan other = winograd_plan(shape, format, *math, gpu, block);
    if (rank_clocks(other, *math, gpu) < rank_clocks(best, *math, gpu)) best = std::move(other);
  }
  return best;
}

}  // namespace tilecast
