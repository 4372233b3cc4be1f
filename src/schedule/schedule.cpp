#include "schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tilecast {
namespace {

// Clocks a task keeps an SM busy at peak rates: its largest share of any pipe.
double weight_of(const Demand& d, const Launch& launch, const Gpu& gpu) {
  const double vector_rate = gpu.vector_per_clock[static_cast<std::size_t>(launch.vector_type)];
  const double l2_share = in_bytes(gpu.l2.per_clock) / gpu.sms;
  double clocks = (in_bytes(d.l2_load) + in_bytes(d.l2_store)) / l2_share;
  if (launch.math.ops_per_clock > 0) clocks = std::max(clocks, in_ops(d.tensor) / launch.math.ops_per_clock);
  if (vector_rate > 0) clocks = std::max(clocks, in_ops(d.vector) / vector_rate);
  clocks = std::max(clocks, in_ops(d.xu) / gpu.xu_per_clock);
  return std::max(clocks, d.shared / gpu.shared_memory.per_clock);
}

// Loads of SMs while tasks are handed out. SMs with the same history are one entry, so that handing out a group of equal
// tasks costs a few steps, not one per task.
struct Bin {
  double finish;  // clocks of work assigned so far
  Count sms;      // SMs with exactly this history
  Demand demand;
  double steps;
  Count tasks;
};

bool later(const Bin& a, const Bin& b) { return a.finish > b.finish; }

// Greedy hand-out in order: each task goes to the SM that is free first. This is both the hardware's refill on
// retirement and a software heap; they differ in the order of the tasks.
std::vector<Bin> hand_out_groups(const std::vector<TaskGroup>& groups, const std::vector<double>& weights, Count sms) {
  std::vector<Bin> heap = {{0, sms, {}, 0, 0}};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Count left = groups[g].count;
    // Whole rounds over all SMs keep their differences, so they can be dealt at once.
    if (const Count rounds = left / sms - 1; rounds > 0 && heap.size() <= 2) {
      for (Bin& bin : heap) {
        bin.finish += weights[g] * static_cast<double>(rounds);
        bin.demand += groups[g].each * static_cast<double>(rounds);
        bin.steps += groups[g].steps * static_cast<double>(rounds);
        bin.tasks += rounds;
      }
      left -= rounds * sms;
    }
    while (left > 0) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Bin bin = heap.back();
      heap.pop_back();
      // Gather every SM that is free at the same moment with the same history length.
      const Count take = std::min(left, bin.sms);
      if (take < bin.sms) {
        Bin rest = bin;
        rest.sms -= take;
        heap.push_back(rest);
        std::push_heap(heap.begin(), heap.end(), later);
      }
      bin.sms = take;
      bin.finish += weights[g];
      bin.demand += groups[g].each;
      bin.steps += groups[g].steps;
      ++bin.tasks;
      heap.push_back(bin);
      std::push_heap(heap.begin(), heap.end(), later);
      left -= take;
    }
  }
  return heap;
}

// One task of each group in turn: no two neighbours are equal, so SMs are followed one by one. Each SM runs `resident`
// tasks side by side, which share its pipes: a slot finishes its task `resident` times later than alone.
std::vector<Bin> hand_out_interleaved(const std::vector<TaskGroup>& groups, const std::vector<double>& weights, Count sms,
                                      int resident) {
  struct Slot {
    double finish;
    std::uint32_t sm;
  };
  const auto after = [](const Slot& a, const Slot& b) { return a.finish > b.finish; };
  std::vector<Bin> bins(static_cast<std::size_t>(sms), Bin{0, 1, {}, 0, 0});
  std::vector<Slot> heap;
  heap.reserve(static_cast<std::size_t>(sms * resident));
  // Breadth first: every SM gets one CTA before any gets a second.
  for (int r = 0; r < resident; ++r)
    for (Count s = 0; s < sms; ++s) heap.push_back({0, static_cast<std::uint32_t>(s)});
  std::vector<Count> left(groups.size());
  // Times each SM ran a task of each group; demands are summed once at the end.
  std::vector<std::uint32_t> runs(static_cast<std::size_t>(sms) * groups.size(), 0);
  Count most = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) most = std::max(most, left[g] = groups[g].count);
  std::size_t fresh = 0;  // slots that have not been used yet, taken in order
  std::vector<Slot> busy;
  busy.reserve(heap.size());
  for (Count round = 0; round < most; ++round) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (left[g] == 0) continue;
      --left[g];
      Slot slot;
      if (fresh < heap.size()) {
        slot = heap[fresh++];
      } else {
        std::pop_heap(busy.begin(), busy.end(), after);
        slot = busy.back();
        busy.pop_back();
      }
      slot.finish += weights[g] * resident;
      ++runs[slot.sm * groups.size() + g];
      busy.push_back(slot);
      std::push_heap(busy.begin(), busy.end(), after);
    }
  }
  for (std::size_t s = 0; s < bins.size(); ++s)
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (const double n = runs[s * groups.size() + g]; n > 0) {
        bins[s].finish += weights[g] * n;
        bins[s].demand += groups[g].each * n;
        bins[s].steps += groups[g].steps * n;
        bins[s].tasks += static_cast<Count>(n);
      }
  return bins;
}

// Handing tasks out one by one is exact but linear; beyond this many the differences average out.
constexpr Count kMostSimulated = 1 << 16;

}  // namespace

Load schedule(const Launch& launch, const Gpu& gpu) {
  Load load;
  load.occupancy = std::max(1, occupancy(launch.cta, gpu));
  const Count tasks = launch.task_count();
  const Count sms = gpu.sms;
  load.waves = ceil_div(std::max<Count>(launch.ctas, 1), sms * load.occupancy);
  load.sms_used = std::min(tasks, sms);

  if (launch.tasks.size() == 1) {  // equal tasks need no simulation
    const TaskGroup& group = launch.tasks.front();
    load.tasks_busiest = ceil_div(group.count, sms);
    load.busiest = group.each * static_cast<double>(load.tasks_busiest);
    load.steps_busiest = group.steps * static_cast<double>(load.tasks_busiest);
    load.balance = static_cast<double>(group.count) / static_cast<double>(load.tasks_busiest * sms);
    return load;
  }

  std::vector<TaskGroup> groups = launch.tasks;
  std::vector<double> weights;
  if (launch.dispatch == Dispatch::longest_first)
    std::stable_sort(groups.begin(), groups.end(), [&](const TaskGroup& a, const TaskGroup& b) {
      return weight_of(a.each, launch, gpu) > weight_of(b.each, launch, gpu);
    });
  double sum = 0;
  for (const TaskGroup& group : groups) {
    weights.push_back(weight_of(group.each, launch, gpu));
    sum += weights.back() * static_cast<double>(group.count);
  }
  const bool one_by_one = launch.order == Order::interleaved && launch.dispatch == Dispatch::waves && tasks <= kMostSimulated;
  const std::vector<Bin> bins = one_by_one ? hand_out_interleaved(groups, weights, sms, load.occupancy)
                                           : hand_out_groups(groups, weights, sms);
  const Bin& busiest = *std::max_element(bins.begin(), bins.end(), [](auto& a, auto& b) { return a.finish < b.finish; });
  load.tasks_busiest = busiest.tasks;
  load.busiest = busiest.demand;
  load.steps_busiest = busiest.steps;
  load.balance = busiest.finish > 0 ? sum / static_cast<double>(sms) / busiest.finish : 1;
  return load;
}

}  // namespace tilecast
