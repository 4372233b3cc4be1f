#include "estimate/forecast.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

double& put(std::array<double, kResourceCount>& clocks, Resource r) { return clocks[static_cast<std::size_t>(r)]; }

double efficiency_of(const Launch& launch, const Physics& physics) {
  switch (launch.character) {
    case Character::product: return physics.product_efficiency;
    case Character::attention:
    case Character::scan: return physics.attention_efficiency;
    case Character::streaming:
    case Character::gather: return physics.vector_efficiency;
  }
  return 1;
}

// p-norm of two times: 1 adds them, large takes the longer.
Seconds norm(Seconds a, Seconds b, double p) {
  if (a <= seconds(0)) return b;
  if (b <= seconds(0)) return a;
  return seconds(std::pow(std::pow(a.base(), p) + std::pow(b.base(), p), 1 / p));
}

Seconds of(const ResourceTimes& times, Resource r) { return times[static_cast<std::size_t>(r)]; }

}  // namespace

ResourceTimes sustained_times(const Launch& launch, const Load& load, const Traffic& traffic, const Gpu& gpu,
                              const Physics& physics) {
  const Demand& busiest = load.busiest;
  const double vector_rate = gpu.vector_per_clock[static_cast<std::size_t>(launch.vector_type)];
  std::array<double, kResourceCount> clocks{};
  double math = efficiency_of(launch, physics);
  if (launch.math.ops_per_clock > 0 && in_ops(busiest.tensor) > 0) {
    const OpsPerSecond rate = ops(launch.math.ops_per_clock * math * gpu.sms) * gpu.clock.max;
    math *= power_share(physics, launch, rate, launch.total().tensor / rate);
    put(clocks, Resource::tensor) = in_ops(busiest.tensor) / (launch.math.ops_per_clock * math);
  }
  if (vector_rate > 0) put(clocks, Resource::vector) = in_ops(busiest.vector) / (vector_rate * physics.vector_efficiency);
  put(clocks, Resource::xu) = in_ops(busiest.xu) / (gpu.xu_per_clock * physics.vector_efficiency);
  put(clocks, Resource::shared) = busiest.shared / (gpu.shared_memory.per_clock * physics.vector_efficiency);
  // Latency the busiest SM cannot hide: the steps of its tasks, as many side by side as are resident, plus each task's
  // own prologue.
  const double rounds = std::ceil(static_cast<double>(load.tasks_busiest) / load.occupancy);
  const bool looped = launch.character == Character::product || launch.character == Character::attention ||
                      launch.character == Character::scan;
  if (looped) {
    const double steps = load.steps_busiest / std::min<double>(load.occupancy, std::max<double>(1, static_cast<double>(load.tasks_busiest)));
    put(clocks, Resource::latency) = steps * physics.step_clocks;
    put(clocks, Resource::launch) = physics.task_clocks * (1 + physics.wave_share * std::max(0.0, rounds - 1));
  }
  ResourceTimes times{};
  for (std::size_t r = 0; r < times.size(); ++r) times[r] = seconds(clocks[r] / gpu.clock.max.base());
  const Demand all = launch.total();
  const Seconds port = (busiest.l2_load + busiest.l2_store) / (physics.feed * gpu.clock.max);
  const Seconds chip = (all.l2_load + all.l2_store) / (gpu.l2_peak(gpu.clock.max) * physics.l2_efficiency);
  times[static_cast<std::size_t>(Resource::l2)] = std::max(port, chip);
  if (traffic.total() > bytes(0)) {
    const Seconds stream = traffic.total() / (gpu.dram.bandwidth * physics.dram_efficiency);
    times[static_cast<std::size_t>(Resource::dram)] = stream + physics.memory_latency * (stream / (stream + microseconds(2)));
  }
  return times;
}

Seconds join_times(const ResourceTimes& times, const Launch& launch) {
  const Seconds pipes = std::max({of(times, Resource::tensor), of(times, Resource::vector), of(times, Resource::shared),
                                  of(times, Resource::latency)});
  // exp and the products of attention wait for each other in part; elsewhere the special-function pipe hides.
  const Seconds math = norm(pipes, of(times, Resource::xu), launch.character == Character::attention ? 2.0 : 4.0);
  const Seconds sm = math + of(times, Resource::launch);
  const Seconds memory = std::max(of(times, Resource::dram), of(times, Resource::l2));
  // 1.55 fitted to bf16 GEMM (physics.md section 3); streaming kernels overlap better.
  return norm(sm, memory, launch.character == Character::product ? 1.55 : 2.0);
}

}  // namespace tilecast
