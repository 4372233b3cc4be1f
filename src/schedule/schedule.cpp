#include "schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "schedule/hand_out.h"

namespace tilecast {
namespace {

// Clocks a task keeps an SM busy at peak rates: its largest share of any pipe.
double weight_of(const Demand& d, const Launch& launch, const Gpu& gpu) {
  const double vector_rate = gpu.vector_per_clock[static_cast<std::size_t>(launch.vector_type)];
  const double l2_share = in_bytes(gpu.l2.per_clock) / gpu.sms;
  double clocks = (in_bytes(d.l2_load) + in_bytes(d.l2_store)) / l2_share;
  if (launch.math.ops_per_clock > 0) clocks = std::max(clocks, in_ops(d.tensor) / launch.math.ops_per_clock);
  if (vector_rate > 0) clocks = std::max(clocks, in_ops(d.vector) / vector_rate);
  if (gpu.xu_per_clock > 0) clocks = std::max(clocks, in_ops(d.xu) / gpu.xu_per_clock);
  return std::max(clocks, d.shared / gpu.shared_memory.per_clock);
}

Busiest hand_out(const Launch& launch, std::span<const Batch> batches, Count sms, int resident) {
  switch (launch.dispatch) {
    case Dispatch::persistent: return hand_out_strided(batches, sms, launch.order);
    case Dispatch::waves:
      if (launch.order == Order::interleaved) return hand_out_interleaved(batches, sms, resident);
      return hand_out_grouped(batches, sms);
    case Dispatch::longest_first: return hand_out_grouped(batches, sms);
  }
  return {};
}

// Equal tasks need no simulation.
void load_equal(Load& load, const TaskGroup& group, Count sms) {
  load.tasks_busiest = ceil_div(group.count, sms);
  load.busiest = group.each * static_cast<double>(load.tasks_busiest);
  load.steps_busiest = group.steps * static_cast<double>(load.tasks_busiest);
  if (load.tasks_busiest > 0)
    load.balance = static_cast<double>(group.count) / static_cast<double>(load.tasks_busiest * sms);
}

}  // namespace

Load schedule(const Launch& launch, const Gpu& gpu) {
  Load load;
  load.occupancy = std::max(1, occupancy(launch.cta, gpu));
  const Count sms = gpu.sms;
  load.waves = ceil_div(std::max<Count>(launch.ctas, 1), sms * load.occupancy);
  load.sms_used = std::min(launch.task_count(), sms);
  if (launch.tasks.empty()) return load;
  if (launch.tasks.size() == 1) {
    load_equal(load, launch.tasks.front(), sms);
    return load;
  }

  std::vector<double> weights;
  weights.reserve(launch.tasks.size());
  for (const TaskGroup& group : launch.tasks) weights.push_back(weight_of(group.each, launch, gpu));
  std::vector<std::size_t> order(launch.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (launch.dispatch == Dispatch::longest_first)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  std::vector<Batch> batches;
  batches.reserve(order.size());
  double sum = 0;
  for (std::size_t g : order) {
    batches.push_back({launch.tasks[g].count, weights[g]});
    sum += weights[g] * static_cast<double>(launch.tasks[g].count);
  }

  const Busiest busiest = hand_out(launch, batches, sms, load.occupancy);
  double tasks = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (busiest.runs[i] <= 0) continue;
    const TaskGroup& group = launch.tasks[order[i]];
    load.busiest += group.each * busiest.runs[i];
    load.steps_busiest += group.steps * busiest.runs[i];
    tasks += busiest.runs[i];
  }
  load.tasks_busiest = static_cast<Count>(std::llround(tasks));
  load.balance = busiest.weight > 0 ? std::min(1.0, sum / static_cast<double>(sms) / busiest.weight) : 1;
  return load;
}

}  // namespace tilecast
