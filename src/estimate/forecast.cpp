#include "estimate/forecast.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "constants/product.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

double efficiency_of(const Launch& launch, const Physics& physics) {
  switch (launch.character) {
    case Character::product:
      return launch.math.pipe == Pipe::vector ? physics.simt_efficiency : physics.product_efficiency;
    case Character::attention:
      // Steps given in clocks of the pipes include the time for which softmax delays the products.
      return launch.serial_steps ? physics.product_efficiency : physics.attention_efficiency;
    case Character::scan: return physics.attention_efficiency;
    case Character::streaming:
    case Character::gather: return physics.vector_efficiency;
  }
  return 1;
}

double of(const ResourceTimes& times, Resource r) { return in_seconds(times[static_cast<std::size_t>(r)]); }

}  // namespace

bool has_main_loop(const Launch& launch) {
  return launch.character == Character::product || launch.character == Character::attention;
}

double overlap_exponent(const Launch& launch, const Overlap& overlap) {
  return launch.character == Character::product ? overlap.product : overlap.other;
}

namespace {

// The exposed waits of the busiest SM: its tasks' dependent steps, with as many concurrent tasks as are resident.
Seconds waiting_time(const Launch& launch, const Load& load, double missed, const Gpu& gpu, const Physics& physics) {
  const double tasks = std::max<double>(1, static_cast<double>(load.tasks_busiest));
  const double steps = load.steps_busiest / std::min<double>(load.occupancy, tasks);
  // Attention's CTAs each wait for their own keys: a partly empty last round takes as long as a full one.
  if (launch.character == Character::attention) {
    if (launch.serial_steps) return seconds(load.steps_busiest * physics.step_clocks / gpu.clock.max.base());
    const double rounds = std::ceil(tasks / load.occupancy);
    return seconds(load.steps_busiest / tasks * rounds * physics.step_clocks / gpu.clock.max.base());
  }
  if (has_main_loop(launch)) return seconds(steps * physics.step_clocks / gpu.clock.max.base());
  return steps * (physics.l2_latency + (physics.dram_latency - physics.l2_latency) * missed);
}

// A scan's concurrent CTAs request the same tiles at the same time, and all wait as long as the first.
Bytes read_once(const Launch& launch) {
  Bytes sum{};
  for (const Operand& operand : launch.operands)
    if (operand.read) sum += operand.size;
  return sum;
}

// Prologues and epilogues that tasks add one after another.
Seconds prologue_time(const Launch& launch, const Load& load, const Gpu& gpu, const Physics& physics) {
  const double after = launch.joining_clocks + launch.epilogue_clocks * static_cast<double>(load.tasks_busiest);
  if (!has_main_loop(launch)) return seconds(after / gpu.clock.max.base());
  const double rounds = std::ceil(static_cast<double>(load.tasks_busiest) / load.occupancy);
  const double clocks = physics.task_clocks * (1 + physics.wave_share * std::max(0.0, rounds - 1));
  return seconds((clocks + after) / gpu.clock.max.base());
}

// Bytes per clock that shared memory serves, relative to the data sheet. Products are built around it: their tiles are
// sized so that it keeps up, and asynchronous tensor pipes (wgmma, tcgen05) read operands once for several multipliers.
double shared_reuse(const Launch& launch, const Gpu& gpu, const Physics& physics) {
  if (launch.character == Character::attention) return kAttentionSharedShare;
  if (launch.character != Character::product) return physics.vector_efficiency;
  const TensorGeneration generation = gpu.tensor_generation();
  if (physics.overlap.pipes_in_turn) return kMfmaSharedShare;
  return generation == TensorGeneration::wgmma || generation == TensorGeneration::tcgen05 ? kAsyncSharedReuse : 1.0;
}

Seconds l2_time(const Launch& launch, const Load& load, Bytes missed, const Gpu& gpu, const Physics& physics) {
  const Demand all = launch.total();
  if (has_main_loop(launch) && all.l2_load > bytes(0)) {
    const double hits = std::max(0.0, 1 - missed / (all.l2_load + all.l2_store));
    const Bytes feed = launch.character == Character::product ? physics.product_feed : physics.feed;
    const Seconds port = (load.busiest.l2_load + load.busiest.l2_store) * hits / (feed * gpu.clock.max);
    const Seconds chip = (all.l2_load + all.l2_store) * hits / (gpu.l2_peak(gpu.clock.max) * physics.l2_efficiency);
    return std::max(port, chip);
  }
  const Seconds port = (load.busiest.l2_load + load.busiest.l2_store) / (physics.feed * gpu.clock.max);
  const Seconds chip = (all.l2_load + all.l2_store) / (gpu.l2_peak(gpu.clock.max) * physics.l2_efficiency);
  // CTAs are handed out one after another: those with few bytes are through before enough of them ask for theirs.
  const double clocks =
      gpu.vendor == Vendor::nvidia ? static_cast<double>(launch.ctas) * gpu.tuned(kDispatchClocks) : 0;
  return std::max({port, chip, seconds(clocks / gpu.clock.max.base())});
}

}  // namespace

ResourceTimes sustained_times(const Launch& launch, const Load& load, const Traffic& traffic, const Gpu& gpu,
                              const Physics& physics) {
  ResourceTimes times{};
  const auto put = [&](Resource r, Seconds t) { times[static_cast<std::size_t>(r)] = t; };
  const auto on_sm = [&](double amount, double per_clock) {
    return per_clock > 0 ? seconds(amount / per_clock / gpu.clock.max.base()) : seconds(0);
  };
  const Demand& busiest = load.busiest;
  const bool product = launch.character == Character::product;
  const double math = efficiency_of(launch, physics) * launch.math_share;
  if (launch.math.ops_per_clock > 0 && in_ops(busiest.tensor) > 0)
    put(Resource::tensor, on_sm(in_ops(busiest.tensor), launch.math.ops_per_clock * math));
  const double vector_rate = gpu.vector_per_clock[static_cast<std::size_t>(launch.vector_type)];
  const bool simt = product && launch.math.pipe == Pipe::vector;
  put(Resource::vector, on_sm(in_ops(busiest.vector), vector_rate * (simt ? math : physics.vector_efficiency)));
  put(Resource::xu, on_sm(in_ops(busiest.xu), gpu.xu_per_clock * physics.vector_efficiency));
  put(Resource::shared,
      on_sm(in_bytes(busiest.shared), in_bytes(gpu.shared_memory.per_clock) * shared_reuse(launch, gpu, physics)));
  put(Resource::l2, l2_time(launch, load, traffic.total(), gpu, physics));
  put(Resource::dram, traffic.total() / (gpu.dram.bandwidth * physics.dram_efficiency));
  const Bytes loaded = launch.character == Character::scan ? read_once(launch) : launch.total().l2_load;
  const double missed = loaded > bytes(0) ? std::min(1.0, traffic.load / loaded) : 0;
  put(Resource::latency, waiting_time(launch, load, missed, gpu, physics));
  put(Resource::launch, prologue_time(launch, load, gpu, physics));
  return times;
}

double math_time(const ResourceTimes& times, Character character, const Overlap& overlap) {
  const bool in_turn = overlap.pipes_in_turn && character == Character::product;
  const double tensor = of(times, Resource::tensor), vector = of(times, Resource::vector);
  const double shared = of(times, Resource::shared);
  const double pipes = in_turn ? tensor + vector + shared : std::max({tensor, vector, shared});
  // Attention's exponentials and products partly wait for each other; elsewhere the special-function pipe is hidden.
  const double p = character == Character::attention ? overlap.attention_exp : overlap.exp;
  return p_norm(pipes, of(times, Resource::xu), p);
}

LaunchParts parts_of(const ResourceTimes& times, const Launch& launch, const Overlap& overlap) {
  return {math_time(times, launch.character, overlap), of(times, Resource::l2), of(times, Resource::dram),
          of(times, Resource::latency), of(times, Resource::launch)};
}

Parts<ClockedTime> at_clock(const LaunchParts& p, bool looped, double clock) {
  const auto followed = [&](double time) { return ClockedTime{time / clock, 1}; };
  return {followed(p.math),
          followed(p.l2),
          {p.dram, 0},
          looped ? followed(p.waiting) : ClockedTime{p.waiting, 0},
          followed(p.prologue)};
}

Seconds join_times(const ResourceTimes& times, const Launch& launch, const Overlap& overlap) {
  return seconds(join_parts(parts_of(times, launch, overlap), has_main_loop(launch), overlap_exponent(launch, overlap),
                            overlap.stream));
}

}  // namespace tilecast
