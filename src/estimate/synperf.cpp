#include "estimate/synperf.h"

#include <algorithm>
#include <cmath>

#include "estimate/learned.h"
#include "kernel/gemm.h"
#include "schedule/schedule.h"

namespace tilecast {
namespace {

// L2 bandwidth is in no data sheet; these are SynPerf's own microbenchmarks (hardware/*.json of its artifact), GB/s.
// Other GPUs use the peak of our description.
struct Measured {
  std::string_view gpu;
  double l2;
};
constexpr std::array<Measured, 11> kL2 = {{{"A100-SXM-80GB", 3235},
                                           {"A40", 2430},
                                           {"L20", 4011},
                                           {"RTX-6000-Ada", 6326},
                                           {"H20", 8815},
                                           {"H800-SXM", 8820},
                                           {"RTX-A6000", 2700},
                                           {"L40", 5647},
                                           {"H100-SXM", 8820},
                                           {"H200-SXM", 10403},
                                           {"RTX-PRO-6000-Blackwell-Server", 7444}}};
constexpr double kSharedPerClock = 128;  // bytes, of every GPU in the paper

// Cycles of bytes at a rate in GB/s. The artifact divides KiB by 1024^2, so GB are taken for GiB: 7 % off, everywhere.
double cycles(double bytes, double rate, double megahertz) {
  return bytes / 1024 / rate / (1024.0 * 1024) * megahertz * 1e6;
}

// vLLM's block-scaled product: tiles of 128 x 128 over the whole sum, CTAs distributed evenly, one byte per element.
// The GPU's bytes are the operands once, the busiest SM's those of its CTAs.
SynperfDemand scaled_product(const Gemm& shape, const MathPath& math, const SynperfDevice& device) {
  constexpr Count kTile = 128;
  const auto m = static_cast<double>(round_up(shape.m, kTile)), n = static_cast<double>(round_up(shape.n, kTile)),
             k = static_cast<double>(round_up(shape.k, kTile));
  const double ctas = m / kTile * (n / kTile), waves = std::ceil(ctas / device.sms);
  SynperfPipe tensor;
  tensor.all_ops = 2 * m * n * k;
  tensor.busiest_ops = 2.0 * kTile * kTile * k * waves;
  tensor.all_cycles = tensor.all_ops / (device.sms * math.ops_per_clock);
  tensor.busiest_cycles = tensor.busiest_ops / math.ops_per_clock;
  const SynperfLoads loads{(m + n) * k, 2.0 * kTile * k * waves};
  return {synperf_features({&tensor, 1}, loads, device), microseconds(tensor.all_cycles / device.megahertz)};
}

bool is_scaled_product(const Kernel& kernel) {
  return kernel.shape.is<Gemm>() &&
         (kernel.format.id == FormatId::fp8_static || kernel.format.id == FormatId::fp8_block);
}

struct Totals {
  SynperfPipe tensor, fma, xu;
  SynperfLoads loads;
  bool product = false, attention = false;
};

void add_pipe(SynperfPipe& pipe, Ops all, Ops busiest, double per_clock, double sms) {
  if (per_clock <= 0) return;
  pipe.all_ops += in_ops(all);
  pipe.busiest_ops += in_ops(busiest);
  pipe.all_cycles += in_ops(all) / (sms * per_clock);
  pipe.busiest_cycles += in_ops(busiest) / per_clock;
}

void add_launch(Totals& totals, const Launch& launch, const Gpu& gpu) {
  const Load load = schedule(launch, gpu);
  const Demand all = launch.total();
  const bool product = launch.character == Character::product;
  const bool attention = launch.character == Character::attention || launch.character == Character::scan;
  totals.product |= product;
  totals.attention |= attention;
  const double fma_rate = gpu.vector_per_clock[static_cast<std::size_t>(launch.vector_type)];
  const double sms = gpu.sms;
  // A product without a tensor pipe (fp32 on NVIDIA) runs its multiply-adds on the vector pipe.
  if (product && launch.math.pipe == Pipe::vector)
    add_pipe(totals.tensor, all.vector, load.busiest.vector, launch.math.ops_per_clock, sms);
  else add_pipe(totals.tensor, all.tensor, load.busiest.tensor, launch.math.ops_per_clock, sms);
  add_pipe(totals.fma, all.vector, load.busiest.vector, fma_rate, sms);
  add_pipe(totals.xu, all.xu, load.busiest.xu, gpu.xu_per_clock, sms);
  double unique = 0;
  for (const Operand& operand : launch.operands)
    if (operand.read) unique += in_bytes(operand.size);
  totals.loads.all_bytes += product ? unique : in_bytes(all.l2_load);
  totals.loads.busiest_bytes += in_bytes(load.busiest.l2_load);
}

}  // namespace

SynperfDevice synperf_device(const Gpu& gpu) {
  SynperfDevice device{static_cast<double>(gpu.sms), in_megahertz(gpu.clock.quoted),
                       in_gigabytes_per_second(gpu.dram.bandwidth),
                       in_gigabytes_per_second(gpu.l2_peak(gpu.clock.quoted))};
  for (const Measured& known : kL2)
    if (known.gpu == gpu.name || (gpu.as_parent && known.gpu == gpu.parent->name)) device.l2 = known.l2;
  return device;
}

std::vector<float> synperf_features(std::span<const SynperfPipe> pipes, const SynperfLoads& loads,
                                    const SynperfDevice& device) {
  std::vector<double> values;
  for (const SynperfPipe& pipe : pipes)
    values.insert(values.end(), {pipe.all_ops, pipe.all_cycles, pipe.busiest_ops, pipe.busiest_cycles});
  const double mhz = device.megahertz;
  values.insert(
      values.end(),
      {loads.all_bytes / 1024, cycles(loads.all_bytes, device.dram, mhz), cycles(loads.all_bytes, device.l2, mhz),
       loads.busiest_bytes / 1024, cycles(loads.busiest_bytes, device.dram / device.sms, mhz),
       loads.busiest_bytes / kSharedPerClock, cycles(loads.busiest_bytes, device.l2 / device.sms, mhz)});
  std::vector<float> features;
  for (const double value : values) features.push_back(static_cast<float>(std::log1p(value)));
  return features;
}

std::optional<SynperfDemand> synperf_demand(const Kernel& kernel, const Plan& plan, const Gpu& gpu) {
  const SynperfDevice device = synperf_device(gpu);
  if (is_scaled_product(kernel)) {
    const auto math = math_path(kernel.format, gpu);
    if (!math) return std::nullopt;
    return scaled_product(kernel.shape.as<Gemm>(), *math, device);
  }
  Totals totals;
  for (const Launch& launch : plan.launches) add_launch(totals, launch, gpu);
  const bool tensor = totals.product || totals.attention;
  std::vector<SynperfPipe> pipes;
  if (tensor) pipes.push_back(totals.tensor);
  else pipes.push_back(totals.fma);
  if (!tensor || totals.attention) pipes.push_back(totals.xu);
  double theoretical = tensor ? totals.tensor.all_cycles : totals.fma.all_cycles + totals.xu.all_cycles;
  // Moves without arithmetic have no counterpart in the paper: the DRAM cycles of their loads stand in.
  if (theoretical <= 0) theoretical = cycles(totals.loads.all_bytes, device.dram, device.megahertz);
  if (theoretical <= 0) return std::nullopt;
  return SynperfDemand{synperf_features(pipes, totals.loads, device), microseconds(theoretical / device.megahertz)};
}

double synperf_efficiency(float output) { return 1 / (1 + std::exp(-static_cast<double>(output))); }

std::optional<Seconds> synperf_forecast(const SynperfWeights& weights, const Kernel& kernel, const Plan& plan,
                                        const Gpu& gpu) {
  const auto model = weights.models.find(model_key(kernel));
  if (model == weights.models.end()) return std::nullopt;
  const auto demand = synperf_demand(kernel, plan, gpu);
  if (!demand || demand->features.size() != model->second.network.inputs()) return std::nullopt;
  return demand->theoretical / synperf_efficiency(model->second.network.forward(demand->features)[0]);
}

std::string to_bytes(const SynperfWeights& weights) {
  PackWriter out;
  out.counts(weights.sources);
  write_trained(out, weights.models);
  return pack(name_of(Method::synperf), out, 1);
}

Result<SynperfWeights> synperf_from_bytes(std::string_view bytes, const std::string& place) {
  const auto plain = unpack(bytes, name_of(Method::synperf), place, kPackVersionOfUnnamed);
  if (!plain) return plain.error();
  PackReader in(*plain);
  SynperfWeights weights;
  weights.sources = in.counts();
  weights.models = read_trained(in, [](const Mlp& m) { return m.outputs() == 1; });
  if (in.bad() || !in.at_end()) return damaged(place, "its contents do not parse");
  return weights;
}

}  // namespace tilecast
