#include "kernel/rowwise.h"

#include <algorithm>
#include <bit>

#include "kernel/checks.h"

namespace tilecast {
namespace {

constexpr Count kMostRows = 2147483647;

// Only threads and the CTA limit: registers rarely bind these kernels.
Count resident_ctas(const CtaShape& cta, const Gpu& gpu) {
  const Count by_threads = std::max<Count>(1, gpu.max_threads_per_sm / std::max(cta.threads, 32));
  Count resident = std::min<Count>(by_threads, gpu.max_ctas_per_sm);
  if (in_bytes(cta.shared_memory) > 0)
    resident = std::min(resident, static_cast<Count>(gpu.shared_memory.per_sm / cta.shared_memory));
  return std::max<Count>(1, resident);
}

bool l1_keeps_global_loads(const Gpu& gpu) {
  return gpu.vendor == Vendor::nvidia && gpu.architecture != Architecture::pascal;
}

}  // namespace

Status require_rows(Count rows, Count cols) {
  if (auto positive = require_positive({{"rows", rows}, {"cols", cols}}); !positive) return positive;
  for (const Named& dim : {Named{"rows", rows}, Named{"cols", cols}})
    if (dim.value > kMostRows)
      return field_error(std::string(dim.name), fmt::format("must be at most {}, not {}", kMostRows, dim.value));
  return require_reasonable(4.0 * static_cast<double>(rows) * static_cast<double>(cols));
}

Bytes row_cache(const CtaShape& cta, const Gpu& gpu) {
  if (!l1_keeps_global_loads(gpu)) return bytes(0);
  // Volta and later: one memory serves as L1 and shared memory.
  return gpu.shared_memory.per_sm - cta.shared_memory * static_cast<double>(resident_ctas(cta, gpu));
}

Launch row_launch(const RowKernel& kernel, const Gpu& gpu) {
  Launch launch;
  launch.name = kernel.name;
  launch.character = Character::streaming;
  launch.cta = kernel.cta;
  launch.ctas = ceil_div(kernel.rows, kernel.rows_per_cta);
  launch.vector_type = kernel.vector_type;

  const Count on_sm = std::min(resident_ctas(kernel.cta, gpu), ceil_div(launch.ctas, gpu.sms));
  const Bytes live = kernel.read * static_cast<double>(on_sm * kernel.rows_per_cta) + kernel.parameters;
  const bool fits = live <= row_cache(kernel.cta, gpu);
  const double ctas = static_cast<double>(launch.ctas);
  const double fetches = fits ? std::min(ctas, static_cast<double>(gpu.sms)) : ctas;  // of the parameters
  Demand row;
  row.vector = ops(2 * kernel.slots);
  row.xu = ops(kernel.xu);
  row.shared = kernel.shared;
  row.l2_load = kernel.read + kernel.parameters * (fetches / static_cast<double>(kernel.rows));
  if (!fits) row.l2_load += kernel.reread;
  row.l2_store = kernel.written;
  launch.tasks = tasks_with_tail(kernel.rows, kernel.rows_per_cta, row, kernel.steps);
  return launch;
}

double reduction_slots(int threads, const Gpu& gpu, double combine) {
  const int steps = static_cast<int>(std::bit_width(static_cast<unsigned>(warp_size(gpu)))) - 1;
  return combine * steps * threads;
}

}  // namespace tilecast
