#include "estimate/bound.h"

#include <algorithm>

namespace tilecast {
namespace {

Seconds& at(ResourceTimes& times, Resource r) { return times[static_cast<std::size_t>(r)]; }

// Time one SM needs for a demand when it alone has the pipe.
Seconds on_sm(double amount, double per_clock, Hertz clock) {
  return per_clock > 0 ? seconds(amount / per_clock / clock.base()) : seconds(0);
}

}  // namespace

ResourceTimes peak_times(const Launch& launch, const Load& load, const Traffic& least, const Gpu& gpu, Given given) {
  ResourceTimes times{};
  const Hertz clock = gpu.clock.max;
  const double vector_rate = gpu.vector_per_clock[static_cast<std::size_t>(launch.vector_type)];
  const double sms = gpu.sms;

  const Demand& need = launch.required;
  at(times, Resource::tensor) = on_sm(in_ops(need.tensor) / sms, launch.math.ops_per_clock, clock);
  at(times, Resource::vector) = on_sm(in_ops(need.vector) / sms, vector_rate, clock);
  at(times, Resource::xu) = on_sm(in_ops(need.xu) / sms, gpu.xu_per_clock, clock);

  // Every byte of every operand passes L2 at least once.
  Bytes through_l2;
  for (const Operand& operand : launch.operands)
    if (operand.role != Operand::Role::workspace)
      through_l2 += (given == Given::shape ? operand.least() : operand.least_assumed()) *
                    ((operand.read ? 1.0 : 0.0) + (operand.written ? 1.0 : 0.0));
  at(times, Resource::l2) = through_l2 / gpu.l2_peak(clock);
  at(times, Resource::dram) = least.total() / gpu.dram.bandwidth;

  // An even share is not the busiest SM's share. With equal tasks, some SM runs the rounded-up number; unequal ones can
  // be distributed in ways a simulation does not foresee, so there only the heaviest single task is certain. Vector and
  // special-function operations of a plan are counted from source, not from the instructions, so they do not raise the
  // bound.
  if (launch.plan_known && !launch.tasks.empty()) {
    const auto raise = [&](Resource r, double amount, double rate) {
      at(times, r) = std::max(at(times, r), on_sm(amount, rate, clock));
    };
    const double shared_rate = in_bytes(gpu.shared_memory.per_clock);
    if (launch.tasks.size() == 1) {
      raise(Resource::tensor, in_ops(load.busiest.tensor), launch.math.ops_per_clock);
      raise(Resource::shared, in_bytes(load.busiest.shared), shared_rate);
    }
    for (const TaskGroup& group : launch.tasks) {
      raise(Resource::tensor, in_ops(group.each.tensor), launch.math.ops_per_clock);
      raise(Resource::shared, in_bytes(group.each.shared), shared_rate);
    }
    const Demand total = launch.total();
    raise(Resource::tensor, in_ops(total.tensor) / sms, launch.math.ops_per_clock);
    raise(Resource::shared, in_bytes(total.shared) / sms, shared_rate);
  }
  return times;
}

Resource largest_resource(const ResourceTimes& times) {
  return static_cast<Resource>(std::max_element(times.begin(), times.end()) - times.begin());
}
Seconds largest(const ResourceTimes& times) { return *std::max_element(times.begin(), times.end()); }

}  // namespace tilecast
