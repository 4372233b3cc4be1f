#include "estimate/roofline.h"

namespace tilecast {

ResourceTimes roofline_times(const Launch& launch, const Gpu& gpu) {
  ResourceTimes times{};
  const auto put = [&](Resource r, Seconds t) { times[static_cast<std::size_t>(r)] = t; };
  const double sms = gpu.sms;
  if (launch.math.ops_per_clock > 0)
    put(Resource::tensor, launch.required.tensor / (ops(launch.math.ops_per_clock * sms) * gpu.clock.quoted));
  if (const OpsPerSecond peak = gpu.vector_peak(launch.vector_type, gpu.clock.quoted_vector); peak.base() > 0)
    put(Resource::vector, launch.required.vector / peak);
  Bytes moved;
  for (const Operand& operand : launch.operands)
    if (operand.role != Operand::Role::workspace)
      moved += operand.size * ((operand.read ? 1.0 : 0.0) + (operand.written ? 1.0 : 0.0));
  put(Resource::dram, moved / gpu.dram.bandwidth);
  return times;
}

}  // namespace tilecast
